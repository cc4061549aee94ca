//! The results of a case as a table.

use std::borrow::Cow;

use prony_driver::{DriverResult, RateLatency, Tool};
use prony_present::number;
use prony_present::table::{Cell, Head, Row, Table};
use prony_present::words::plural;
use prony_stats::median;

use super::rounds::{CaseResult, ToolResult};

/// The tool that the others are compared with: the first of these that ran.
const BASELINES: [&str; 2] = ["wrk", "h2load"];

/// A table, and notes on tools that did not run or failed.
pub struct CaseTable {
    pub table: Table,
    pub notes: Vec<String>,
}

/// A case and its tools.
struct CaseView<'a> {
    result: &'a CaseResult,
    tools: &'a [Tool],
    /// The tool that ratios are taken to.
    baseline: Option<&'a ToolResult>,
}

/// The table of a case; `None` if nothing of it was measured.
pub fn table(result: &CaseResult, tools: &[Tool]) -> Option<CaseTable> {
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
    let rounds = parts()
        .map(|part| part.rounds.iter().flatten().count())
        .max()?;
    let columns = match (result.truth_ns.is_some(), result.case.rate().is_some()) {
        (true, _) => view.frozen_columns(),
        (false, true) => view.rate_columns(),
        (false, false) => view.closed_columns(),
    };
    let row = |name: String, cells: Vec<Cell>| Row {
        cells: std::iter::once(Cell::text(name)).chain(cells).collect(),
        ..Row::default()
    };
    let truth = result.truth_ns.map(|truth| {
        let unknown = [Cell::default(), Cell::default()].into_iter();
        let cells = truth.map(|ns| Cell::text(number::duration(ns)));
        row("(true latency)".into(), unknown.chain(cells).collect())
    });
    let rows = parts().map(|part| {
        let cells = columns.iter().map(|column| (column.cell)(&view, part));
        row(view.name(part), cells.collect())
    });
    let table = Table {
        caption: format!(
            "{}; {} of {}",
            result.case,
            plural(rounds, "round"),
            result
                .load
                .duration_s
                .map_or_else(String::new, number::seconds)
        ),
        rows: truth.into_iter().chain(rows).collect(),
        heads: std::iter::once(Head::words("generator"))
            .chain(columns.into_iter().map(|column| column.head))
            .collect(),
        is_whole: true,
    };
    let notes = view.notes();
    Some(CaseTable { table, notes })
}

type Figure = fn(&DriverResult) -> Option<f64>;

/// The cell of a tool in a column.
type ToolCell = dyn Fn(&CaseView<'_>, &ToolResult) -> Cell;

struct ToolColumn {
    head: Head,
    cell: Box<ToolCell>,
}

fn column(
    title: impl Into<Cow<'static, str>>,
    cell: impl Fn(&CaseView<'_>, &ToolResult) -> Cell + 'static,
) -> ToolColumn {
    ToolColumn {
        head: Head::figure(title),
        cell: Box::new(cell),
    }
}

/// A column of medians.
fn medians(title: &'static str, figure: Figure, shown: fn(f64) -> String) -> ToolColumn {
    column(title, move |_, part| {
        Cell::optional(median(&figures(part, figure)), shown)
    })
}

/// A column of ratios to the baseline, each taken within a round: their median, and the lowest and highest as details.
fn ratios(title: String, figure: Figure) -> ToolColumn {
    let mut column = column(title, move |view, part| match view.baseline {
        Some(baseline) if baseline.tool != part.tool => ratio(part, baseline, figure),
        Some(_) => Cell::text("1"),
        None => Cell::default(),
    });
    column.head.detail = Some(("range", 1));
    column
}

fn ratio(part: &ToolResult, baseline: &ToolResult, figure: Figure) -> Cell {
    let pairs = part.rounds.iter().zip(&baseline.rounds);
    let mut ratios: Vec<f64> = pairs
        .filter_map(|(mine, theirs)| {
            let ratio = figure(mine.as_ref()?)? / figure(theirs.as_ref()?)?;
            ratio.is_finite().then_some(ratio)
        })
        .collect();
    ratios.sort_by(f64::total_cmp);
    let range = match &ratios[..] {
        [lowest, .., highest] => {
            let [lowest, highest] = [lowest, highest].map(|ratio| number::ratio(*ratio));
            Some(format!("{lowest}–{highest}"))
        }
        _ => None,
    };
    Cell::optional(median(&ratios), number::ratio).with(range)
}

fn figures(part: &ToolResult, figure: Figure) -> Vec<f64> {
    part.rounds.iter().flatten().filter_map(figure).collect()
}

fn not_ok() -> ToolColumn {
    column("not ok", |_, part| {
        let failures = part.rounds.iter().flatten();
        Cell::text(number::exact(
            failures.map(|one| one.reported.failures()).sum(),
        ))
    })
}

fn latency_from() -> ToolColumn {
    column("latency from", |view, part| {
        Cell::text(view.latency_from(part))
    })
}

/// A column of a percentile as the tools report it, with its distance from the true one, if that is known.
fn percentile(title: &'static str, figure: Figure, truth: Option<f64>) -> ToolColumn {
    let mut column = column(title, move |_, part| {
        let coarse = |one: &DriverResult| one.reported.latency.resolution_ns;
        let resolution = part.rounds.iter().flatten().find_map(coarse);
        let reported = median(&figures(part, figure));
        if let (Some(0.0), Some(resolution), None) = (reported, resolution, truth) {
            return Cell::text(format!("< {}", number::duration(resolution)));
        }
        let off = reported.zip(truth).map(|(reported, truth)| {
            let sign = if reported < truth { '−' } else { '+' };
            format!("{sign}{}", number::duration((reported - truth).abs()))
        });
        Cell::optional(reported, number::duration).with(off)
    });
    column.head.detail = Some(("error", 1));
    column
}

fn rate(one: &DriverResult) -> Option<f64> {
    Some(one.reported.rate_per_s())
}

const P50: Figure = |one| one.reported.latency.p50_ns;
const P90: Figure = |one| one.reported.latency.p90_ns;
const P99: Figure = |one| one.reported.latency.p99_ns;
const P999: Figure = |one| one.reported.latency.p999_ns;

/// The first two lines that are not empty, as one.
fn first_lines(text: &str) -> String {
    let lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    lines.take(2).collect::<Vec<_>>().join(" ")
}

impl CaseView<'_> {
    fn closed_columns(&self) -> Vec<ToolColumn> {
        let mut columns = vec![
            medians("requests/s", rate, number::count),
            ratios(self.of_baseline(), rate),
        ];
        columns.extend(self.cost_columns());
        columns.push(not_ok());
        columns
    }

    fn rate_columns(&self) -> Vec<ToolColumn> {
        let mut columns = vec![medians("requests/s", rate, number::count)];
        columns.extend(self.cost_columns());
        columns.extend([
            latency_from(),
            percentile("p50", P50, None),
            percentile("p99", P99, None),
            not_ok(),
        ]);
        columns
    }

    fn frozen_columns(&self) -> Vec<ToolColumn> {
        let truth = self.result.truth_ns.map(|truth| truth.map(Some));
        let [p50, p90, p99, p999] = truth.unwrap_or_default();
        vec![
            column("requests/s", |_, part| {
                let cell = Cell::optional(median(&figures(part, rate)), number::count);
                match part.open_loop {
                    true => cell,
                    false => Cell::text(format!("{}, closed loop", cell.text)),
                }
            }),
            latency_from(),
            percentile("p50", P50, p50),
            percentile("p90", P90, p90),
            percentile("p99", P99, p99),
            percentile("p99.9", P999, p999),
            not_ok(),
        ]
    }

    /// What a request costs the generator: CPU time, and cycles and instructions if they were counted.
    fn cost_columns(&self) -> Vec<ToolColumn> {
        let of = self.of_baseline();
        let mut columns = vec![
            medians(
                "CPU/request",
                DriverResult::cpu_ns_per_request,
                number::duration,
            ),
            ratios(of.clone(), DriverResult::cpu_ns_per_request),
            medians("in kernel", DriverResult::kernel_share, number::share),
        ];
        let mut all = self
            .result
            .tools
            .iter()
            .flat_map(|part| part.rounds.iter().flatten());
        if all.any(|one| one.usage.cycles.is_some()) {
            columns.extend([
                medians("cycles", DriverResult::cycles_per_request, number::count),
                ratios(of.clone(), DriverResult::cycles_per_request),
                medians(
                    "instructions",
                    DriverResult::instructions_per_request,
                    number::count,
                ),
                ratios(of, DriverResult::instructions_per_request),
            ]);
        }
        columns
    }

    fn of_baseline(&self) -> String {
        let title = self.baseline.map_or("", |part| self.title(&part.tool));
        format!("of {title}")
    }

    fn tool(&self, id: &str) -> Option<&Tool> {
        self.tools.iter().find(|tool| tool.id == id)
    }

    fn title<'b>(&'b self, id: &'b str) -> &'b str {
        self.tool(id)
            .map_or(id, |tool| tool.manifest.title.as_str())
    }

    fn name(&self, part: &ToolResult) -> String {
        match self.tool(&part.tool) {
            Some(tool) => tool.name_and_version(),
            None => part.tool.clone(),
        }
    }

    fn latency_from(&self, part: &ToolResult) -> &'static str {
        let tool = self.tool(&part.tool);
        let from = tool.and_then(|tool| tool.manifest.output().rate_latency_from());
        match from {
            Some(RateLatency::Schedule) if part.open_loop => "schedule",
            _ => "send",
        }
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
