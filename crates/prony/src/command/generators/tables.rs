//! The results as a page: a table for each case.

use prony_driver::{DriverResult, RateLatency, Tool};
use prony_present::number;
use prony_present::page::{Block, Page, Section};
use prony_present::table::{Cell, Column, Row, Table};
use prony_present::words::plural;
use prony_stats::median;

use super::rounds::{CaseResult, ToolResult};

/// The tool that the others are compared with: the first of these that ran.
const BASELINES: [&str; 2] = ["wrk", "h2load"];

/// The results under these conditions.
pub fn page(results: &[CaseResult], tools: &[Tool], conditions: &str) -> Page {
    let cases = results.iter().filter_map(|result| section(result, tools));
    let notes = tools.iter().filter_map(|tool| {
        let notes = tool.manifest.notes.as_ref()?;
        Some(format!("{}: {notes}", tool.manifest.title))
    });
    let notes: Vec<String> = notes.collect();
    let notes = (!notes.is_empty()).then(|| Section {
        title: "Notes".into(),
        blocks: vec![Block::List(notes)],
        ..Section::default()
    });
    Page {
        title: "Load generators".into(),
        intro: vec![Block::Text(format!(
            "{conditions} Medians over the rounds; ratios within each round: median (lowest–highest)."
        ))],
        sections: cases.chain(notes).collect(),
        ..Page::default()
    }
}

/// The table of a case, and notes on tools that did not run or failed; `None` if nothing of it was measured.
fn section(result: &CaseResult, tools: &[Tool]) -> Option<Section> {
    let measured = |part: &&ToolResult| part.rounds.iter().flatten().next().is_some();
    let parts = || result.tools.iter().filter(measured);
    let baseline = BASELINES
        .iter()
        .find_map(|id| parts().find(|part| part.tool == *id))
        .or_else(|| parts().next())?;
    let view = CaseView {
        result,
        tools,
        baseline: (!result.case.is_frozen).then_some(baseline),
    };
    let rounds = parts().map(|part| part.rounds.iter().flatten().count());
    let duration = result.load.duration_s.map(number::seconds);
    let (rounds, duration) = (plural(rounds.max()?, "round"), duration.unwrap_or_default());
    let mut blocks = vec![Block::Table(view.table(parts()))];
    blocks.extend(
        Some(view.notes())
            .filter(|notes| !notes.is_empty())
            .map(Block::List),
    );
    Some(Section {
        title: result.case.to_string(),
        lead: format!("{rounds} of {duration}"),
        blocks,
        ..Section::default()
    })
}

/// A case and its tools.
struct CaseView<'a> {
    result: &'a CaseResult,
    tools: &'a [Tool],
    /// The tool that ratios are taken to.
    baseline: Option<&'a ToolResult>,
}

/// A row of a case: a tool, or the truth about its latency.
struct ToolRow<'a> {
    view: &'a CaseView<'a>,
    part: Option<&'a ToolResult>,
}

type Figure = fn(&DriverResult) -> Option<f64>;

const RATE: Figure = |one| Some(one.reported.rate_per_s());
const CPU: Figure = DriverResult::cpu_ns_per_request;
const CYCLES: Figure = DriverResult::cycles_per_request;
const INSTRUCTIONS: Figure = DriverResult::instructions_per_request;

/// In the order of the true ones.
const PERCENTILES: [Figure; 4] = [
    |one| one.reported.latency.p50_ns,
    |one| one.reported.latency.p90_ns,
    |one| one.reported.latency.p99_ns,
    |one| one.reported.latency.p999_ns,
];

/// The title of ratios, before the baseline's name is added.
const OF: &str = "of ";

/// A column that says nothing about a case is blank in all its rows.
fn columns<'a>() -> [Column<ToolRow<'a>>; 16] {
    let ratio = |cell: fn(&ToolRow<'a>) -> Cell| Column::figure(OF, cell).detail("range", 1);
    let latency =
        |title, cell: fn(&ToolRow<'a>) -> Cell| Column::figure(title, cell).detail("error", 1);
    [
        Column::words("generator", ToolRow::name),
        Column::figure("requests/s", ToolRow::rate),
        ratio(|row| match row.view.result.case.rate() {
            Some(_) => Cell::default(),
            None => row.ratio(RATE),
        }),
        Column::figure("CPU/request", |row| row.cost(CPU, number::duration)),
        ratio(|row| row.ratio(CPU)),
        Column::figure("in kernel", |row| {
            row.cost(DriverResult::kernel_share, number::share)
        }),
        Column::figure("cycles", |row| row.cost(CYCLES, number::count)),
        ratio(|row| row.ratio(CYCLES)),
        Column::figure("instructions", |row| row.cost(INSTRUCTIONS, number::count)),
        ratio(|row| row.ratio(INSTRUCTIONS)),
        Column::figure("latency from", ToolRow::latency_from),
        latency("p50", |row| row.percentile(0)),
        latency("p90", |row| row.percentile_in_freezes(1)),
        latency("p99", |row| row.percentile(2)),
        latency("p99.9", |row| row.percentile_in_freezes(3)),
        Column::figure("not ok", ToolRow::not_ok),
    ]
}

impl<'a> ToolRow<'a> {
    fn measured(&self) -> impl Iterator<Item = &'a DriverResult> {
        self.part
            .into_iter()
            .flat_map(|part| part.rounds.iter().flatten())
    }

    /// The median of the rounds.
    fn median(&self, figure: Figure) -> Option<f64> {
        median(&self.measured().filter_map(figure).collect::<Vec<_>>())
    }

    fn name(&self) -> Cell {
        let name = |part: &ToolResult| match self.view.tool(&part.tool) {
            Some(tool) => tool.name_and_version(),
            None => part.tool.clone(),
        };
        Cell::text(self.part.map_or("(true latency)".to_owned(), name))
    }

    fn rate(&self) -> Cell {
        let cell = Cell::optional(self.median(RATE), number::count);
        match self.part {
            Some(part) if self.view.result.case.is_frozen && !part.open_loop => {
                Cell::text(format!("{}, closed loop", cell.text))
            }
            _ => cell,
        }
    }

    /// What a request costs the tool. A server that freezes is about latency alone.
    fn cost(&self, figure: Figure, shown: fn(f64) -> String) -> Cell {
        match self.view.result.case.is_frozen {
            true => Cell::default(),
            false => Cell::optional(self.median(figure), shown),
        }
    }

    /// The ratio to the baseline, taken within each round: the median, and the lowest and highest as details.
    fn ratio(&self, figure: Figure) -> Cell {
        let (Some(part), Some(baseline)) = (self.part, self.view.baseline) else {
            return Cell::default();
        };
        let pairs = part.rounds.iter().zip(&baseline.rounds);
        let ratios = pairs.filter_map(|(mine, theirs)| {
            let ratio = figure(mine.as_ref()?)? / figure(theirs.as_ref()?)?;
            ratio.is_finite().then_some(ratio)
        });
        let mut ratios: Vec<f64> = ratios.collect();
        ratios.sort_by(f64::total_cmp);
        let range = match &ratios[..] {
            [_, ..] if part.tool == baseline.tool => return Cell::text("1"),
            [lowest, .., highest] => {
                let [lowest, highest] = [lowest, highest].map(|ratio| number::ratio(*ratio));
                Some(format!("{lowest}–{highest}"))
            }
            _ => None,
        };
        Cell::optional(median(&ratios), number::ratio).with(range)
    }

    fn not_ok(&self) -> Cell {
        let failures = self.measured().map(|one| one.reported.failures());
        match self.part {
            Some(_) => Cell::text(number::exact(failures.sum())),
            None => Cell::default(),
        }
    }

    /// From when on the tool measures latency, if it is of interest: at a rate.
    fn latency_from(&self) -> Cell {
        let Some(part) = self.part.filter(|_| self.view.result.case.rate().is_some()) else {
            return Cell::default();
        };
        let tool = self.view.tool(&part.tool);
        let from = tool.and_then(|tool| tool.manifest.output().rate_latency_from());
        Cell::text(match from {
            Some(RateLatency::Schedule) if part.open_loop => "schedule",
            _ => "send",
        })
    }

    fn percentile_in_freezes(&self, number: usize) -> Cell {
        match self.view.result.case.is_frozen {
            true => self.percentile(number),
            false => Cell::default(),
        }
    }

    /// A percentile as the tool reports it, with its distance from the true one, if that is known. In a closed loop it is of
    /// no interest.
    fn percentile(&self, number: usize) -> Cell {
        let truth = self.view.result.truth_ns.map(|truth| truth[number]);
        if self.part.is_none() {
            return Cell::optional(truth, number::duration);
        }
        if self.view.result.case.rate().is_none() {
            return Cell::default();
        }
        let coarse = |one: &DriverResult| one.reported.latency.resolution_ns;
        let reported = self.median(PERCENTILES[number]);
        let resolution = self.measured().find_map(coarse);
        if let (Some(0.0), Some(resolution), None) = (reported, resolution, truth) {
            return Cell::text(format!("< {}", number::duration(resolution)));
        }
        let off = reported.zip(truth).map(|(reported, truth)| {
            let sign = if reported < truth { '−' } else { '+' };
            format!("{sign}{}", number::duration((reported - truth).abs()))
        });
        Cell::optional(reported, number::duration).with(off)
    }
}

/// The first two lines that are not empty, as one.
fn first_lines(text: &str) -> String {
    let lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    lines.take(2).collect::<Vec<_>>().join(" ")
}

impl<'a> CaseView<'a> {
    fn table(&self, parts: impl Iterator<Item = &'a ToolResult>) -> Table {
        let truth = self.result.truth_ns.map(|_| None);
        let parts = truth.into_iter().chain(parts.map(Some));
        let rows: Vec<ToolRow<'_>> = parts.map(|part| ToolRow { view: self, part }).collect();
        let rows = rows.iter().map(|row| (row, Row::default()));
        let mut table = Table::of(&columns(), rows);
        let baseline = self.baseline.map_or("", |part| self.title(&part.tool));
        let ratios = table.heads.iter_mut().filter(|head| head.title == OF);
        ratios.for_each(|head| head.title = format!("{OF}{baseline}").into());
        Table {
            is_whole: true,
            ..table
        }
    }

    fn tool(&self, id: &str) -> Option<&Tool> {
        self.tools.iter().find(|tool| tool.id == id)
    }

    fn title<'b>(&'b self, id: &'b str) -> &'b str {
        self.tool(id)
            .map_or(id, |tool| tool.manifest.title.as_str())
    }

    /// Which tools did not run or failed, and why.
    fn notes(&self) -> Vec<String> {
        let notes = self.result.tools.iter().filter_map(|part| {
            let why = part.failure.as_ref();
            let why = why.map(|why| format!("failed: {}", first_lines(why)));
            let why = why.or_else(|| part.cannot.clone())?;
            Some(format!("{}: {why}", self.title(&part.tool)))
        });
        notes.collect()
    }
}
