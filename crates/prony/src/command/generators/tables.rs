//! The results as a page: a table for each case.

use prony_model::{
    CountedRounds, LatencyFrom, Measurement, Outcome, Run, ServerRecord, TrialRecord,
};
use prony_present::number;
use prony_present::page::{Block, Page, Section};
use prony_present::table::{Cell, Column, Row, Table};
use prony_present::words::plural;
use prony_stats::{common_rounds, median};

use super::rounds::PlannedCase;

/// The tool that the others are compared with: the first of these that ran.
const BASELINES: [&str; 2] = ["wrk", "h2load"];

/// The results under these conditions.
pub(super) fn page(
    run: &Run,
    cases: &[PlannedCase],
    trials: &[TrialRecord],
    conditions: &str,
) -> Page {
    let sections = cases.iter().filter_map(|case| section(run, case, trials));
    let notes = (!run.notes.is_empty()).then(|| Section {
        title: "Notes".into(),
        blocks: vec![Block::List(run.notes.clone())],
        ..Section::default()
    });
    Page {
        title: run.title.clone(),
        intro: vec![Block::Text(format!(
            "{conditions} Medians over the rounds; ratios within each round: median (lowest–highest)."
        ))],
        sections: sections.chain(notes).collect(),
        ..Page::default()
    }
}

/// The table of a case, and notes on tools that did not run or failed; `None` if nothing of it was measured.
fn section(run: &Run, planned: &PlannedCase, trials: &[TrialRecord]) -> Option<Section> {
    let (name, load) = (&planned.case.name, &planned.load);
    let part = |tool| Part {
        tool,
        rounds: CountedRounds::among(trials, &tool.id, name, load),
    };
    let parts: Vec<Part<'_>> = run.servers.iter().map(part).collect();
    let measured = || {
        parts
            .iter()
            .filter(|part| part.rounds.measured().next().is_some())
    };
    let baseline = BASELINES
        .iter()
        .find_map(|id| measured().find(|part| part.tool.id == *id))
        .or_else(|| measured().next())?;
    let view = CaseView {
        planned,
        baseline: (!planned.case.is_frozen).then_some(baseline),
    };
    let rounds = measured().map(|part| part.rounds.measured().count());
    let duration = load.duration.map(|it| number::seconds(it.as_secs_f64()));
    let (rounds, duration) = (plural(rounds.max()?, "round"), duration.unwrap_or_default());
    let notes: Vec<String> = parts.iter().filter_map(|part| view.note(part)).collect();
    let notes = (!notes.is_empty()).then_some(Block::List(notes));
    let table = Block::Table(view.table(measured()));
    Some(Section {
        title: planned.case.to_string(),
        lead: format!("{rounds} of {duration}"),
        blocks: std::iter::once(table).chain(notes).collect(),
        ..Section::default()
    })
}

/// A tool in a case.
struct Part<'a> {
    tool: &'a ServerRecord,
    rounds: CountedRounds<'a>,
}

/// A case and the tool that ratios are taken to.
struct CaseView<'a> {
    planned: &'a PlannedCase,
    baseline: Option<&'a Part<'a>>,
}

/// A row of a case: a tool, or the truth about its latency.
struct ToolRow<'a> {
    view: &'a CaseView<'a>,
    part: Option<&'a Part<'a>>,
}

type Figure = fn(&Measurement) -> Option<f64>;

const RATE: Figure = |one| Some(one.load.rate_per_s);
const CPU: Figure = |one| per_ok(one, Some(cpu_s(one) * 1e9));
const IN_KERNEL: Figure = |one| Some(one.load.generator.cpu_system_s / cpu_s(one));
const CYCLES: Figure = |one| per_ok(one, one.load.generator.cycles.map(|count| count as f64));
const INSTRUCTIONS: Figure = |one| {
    per_ok(
        one,
        one.load.generator.instructions.map(|count| count as f64),
    )
};

/// In the order of the true ones.
const PERCENTILES: [Figure; 4] = [
    |one| one.load.tool.as_ref()?.latency.p50_ns,
    |one| one.load.tool.as_ref()?.latency.p90_ns,
    |one| one.load.tool.as_ref()?.latency.p99_ns,
    |one| one.load.tool.as_ref()?.latency.p999_ns,
];

fn cpu_s(one: &Measurement) -> f64 {
    one.load.generator.cpu_user_s + one.load.generator.cpu_system_s
}

fn per_ok(one: &Measurement, whole: Option<f64>) -> Option<f64> {
    Some(whole? / one.load.outcomes[Outcome::Ok] as f64)
}

/// The title of ratios, before the baseline's name is added.
const OF: &str = "of ";

/// A column without figures for a case is blank in all its rows.
fn columns<'a>() -> [Column<ToolRow<'a>>; 16] {
    let ratio = |cell: fn(&ToolRow<'a>) -> Cell| Column::figure(OF, cell).detail("range", 1);
    let latency =
        |title, cell: fn(&ToolRow<'a>) -> Cell| Column::figure(title, cell).detail("error", 1);
    [
        Column::words("generator", ToolRow::name),
        Column::figure("requests/s", ToolRow::rate),
        ratio(|row| match row.view.planned.case.rate() {
            Some(_) => Cell::default(),
            None => row.ratio(RATE),
        }),
        Column::figure("CPU/request", |row| row.cost(CPU, number::duration)),
        ratio(|row| row.ratio(CPU)),
        Column::figure("in kernel", |row| row.cost(IN_KERNEL, number::share)),
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
    fn measured(&self) -> impl Iterator<Item = &'a Measurement> {
        let part = self.part.into_iter();
        part.flat_map(|part| part.rounds.measurements())
    }

    /// The median of the rounds.
    fn median(&self, figure: Figure) -> Option<f64> {
        let by_round = self.part?.rounds.by_round(figure);
        median(&by_round.into_values().collect::<Vec<_>>())
    }

    fn name(&self) -> Cell {
        let name = self.part.map(|part| part.tool.title());
        Cell::text(name.unwrap_or("(true latency)".to_owned()))
    }

    fn rate(&self) -> Cell {
        let cell = Cell::optional(self.median(RATE), number::count);
        let mut loads = self.measured().map(|one| &one.load.load.shape);
        if self.view.planned.case.is_frozen && loads.any(|shape| !shape.is_open()) {
            Cell::text(format!("{}, closed loop", cell.text))
        } else {
            cell
        }
    }

    /// What a request costs the tool. A server that freezes is about latency alone.
    fn cost(&self, figure: Figure, shown: fn(f64) -> String) -> Cell {
        if self.view.planned.case.is_frozen {
            Cell::default()
        } else {
            Cell::optional(self.median(figure), shown)
        }
    }

    /// The ratio to the baseline, taken within each round: the median, and the lowest and highest as details.
    fn ratio(&self, figure: Figure) -> Cell {
        let (Some(part), Some(baseline)) = (self.part, self.view.baseline) else {
            return Cell::default();
        };
        let [mine, theirs] = [part, baseline].map(|part| part.rounds.by_round(figure));
        let ratios = common_rounds(&mine, &theirs).into_iter();
        let ratios = ratios.map(|(mine, theirs)| mine / theirs);
        let mut ratios: Vec<f64> = ratios.filter(|ratio| ratio.is_finite()).collect();
        ratios.sort_by(f64::total_cmp);
        let range = match &ratios[..] {
            [_, ..] if part.tool.id == baseline.tool.id => return Cell::text("1"),
            [lowest, .., highest] => {
                let [lowest, highest] = [lowest, highest].map(|ratio| number::ratio(*ratio));
                Some(format!("{lowest}–{highest}"))
            }
            _ => None,
        };
        Cell::optional(median(&ratios), number::ratio).with(range)
    }

    fn not_ok(&self) -> Cell {
        let outcomes = self.measured().flat_map(|one| one.load.outcomes.iter());
        let failures = outcomes.filter(|(outcome, _)| outcome.is_error());
        let failures = failures.map(|(_, count)| count);
        match self.part {
            Some(_) => Cell::text(number::exact(failures.sum())),
            None => Cell::default(),
        }
    }

    /// From when on the tool measures latency, if it is of interest: at a rate.
    fn latency_from(&self) -> Cell {
        let reported = self.measured().find_map(|one| one.load.tool.as_ref());
        match reported.filter(|_| self.view.planned.case.rate().is_some()) {
            Some(reported) => Cell::text(match reported.latency.from {
                LatencyFrom::Schedule => "schedule",
                LatencyFrom::Send => "send",
            }),
            None => Cell::default(),
        }
    }

    fn percentile_in_freezes(&self, number: usize) -> Cell {
        if self.view.planned.case.is_frozen {
            self.percentile(number)
        } else {
            Cell::default()
        }
    }

    /// A percentile as the tool reports it, with its distance from the true one, if that is known. In a closed loop it is of
    /// no interest.
    fn percentile(&self, number: usize) -> Cell {
        let truth = self.view.planned.truth_ns.map(|truth| truth[number]);
        if self.part.is_none() {
            return Cell::optional(truth, number::duration);
        }
        if self.view.planned.case.rate().is_none() {
            return Cell::default();
        }
        let coarse = |one: &Measurement| one.load.tool.as_ref()?.latency.resolution_ns;
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
    fn table(&'a self, parts: impl Iterator<Item = &'a Part<'a>>) -> Table {
        let truth = self.planned.truth_ns.map(|_| None);
        let parts = truth.into_iter().chain(parts.map(Some));
        let rows: Vec<ToolRow<'_>> = parts.map(|part| ToolRow { view: self, part }).collect();
        let rows = rows.iter().map(|row| (row, Row::default()));
        let mut table = Table::of(&columns(), rows);
        let baseline = self.baseline.map_or("", |part| &part.tool.language);
        let ratios = table.heads.iter_mut().filter(|head| head.title == OF);
        ratios.for_each(|head| head.title = format!("{OF}{baseline}").into());
        Table {
            is_whole: true,
            ..table
        }
    }

    /// Why a tool did not run, or failed.
    fn note(&self, part: &Part<'_>) -> Option<String> {
        let failed = part.rounds.failed().next();
        let failed = failed.map(|(_, why)| format!("failed: {}", first_lines(why)));
        let why = failed.or_else(|| self.planned.cannot.get(&part.tool.id).cloned())?;
        Some(format!("{}: {why}", part.tool.language))
    }
}
