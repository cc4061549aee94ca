//! What the rounds say, as tables.

use prony_driver::{DriverResult, Latency, RateLatency, Tool};
use prony_report::format;
use prony_stats::median;

use super::grid::Grid;
use super::rounds::{CaseResult, ToolResult};

/// The tool that the others are held against, where it took part.
const BASELINE: &str = "wrk";

/// A case and its tools.
struct View<'a> {
    result: &'a CaseResult,
    tools: &'a [Tool],
    /// What the ratios are to.
    baseline: Option<&'a ToolResult>,
}

/// The table of a case; `None` where nothing of it was measured.
pub fn table(result: &CaseResult, tools: &[Tool]) -> Option<Grid> {
    let measured = |part: &&ToolResult| part.rounds.iter().flatten().next().is_some();
    let parts = || result.tools.iter().filter(measured);
    let baseline = parts()
        .find(|part| part.tool == BASELINE)
        .or_else(|| parts().next())?;
    let view = View {
        result,
        tools,
        baseline: (!result.case.is_frozen()).then_some(baseline),
    };
    let rounds = parts()
        .map(|part| part.rounds.iter().flatten().count())
        .max()?;
    let columns = match (result.truth_ns.is_some(), result.case.rate().is_some()) {
        (true, _) => view.frozen_columns(),
        (false, true) => view.rate_columns(),
        (false, false) => view.closed_columns(),
    };
    let mut rows: Vec<Vec<String>> = Vec::new();
    if let Some(truth) = result.truth_ns {
        let cells = truth.map(format::duration);
        rows.push(
            [
                vec!["the truth".into(), String::new(), String::new()],
                cells.into(),
            ]
            .concat(),
        );
    }
    for part in parts() {
        let cells = columns.iter().map(|column| (column.cell)(&view, part));
        rows.push(std::iter::once(view.name(part)).chain(cells).collect());
    }
    let headings = columns.iter().map(|column| column.heading.clone());
    Some(Grid {
        title: format!(
            "{}; {} of {} s each",
            result.case,
            crate::view::plural(rounds, "round"),
            result.duration_s
        ),
        headings: std::iter::once("generator".to_owned())
            .chain(headings)
            .collect(),
        rows,
        notes: view.notes(),
    })
}

type Figure = fn(&DriverResult) -> Option<f64>;

/// What stands in a column for a tool.
type Cell = dyn Fn(&View<'_>, &ToolResult) -> String;

struct Column {
    heading: String,
    cell: Box<Cell>,
}

/// A column of medians.
fn medians(heading: &str, figure: Figure, shown: fn(f64) -> String) -> Column {
    Column {
        heading: heading.to_owned(),
        cell: Box::new(move |_, part| {
            median(&figures(part, figure)).map_or(format::NONE.to_owned(), shown)
        }),
    }
}

/// A column of ratios to the baseline, each taken within a round: their median, lowest and highest.
fn ratios(heading: String, figure: Figure) -> Column {
    Column {
        heading,
        cell: Box::new(move |view, part| match view.baseline {
            Some(baseline) if baseline.tool != part.tool => ratio(part, baseline, figure),
            Some(_) => "1".to_owned(),
            None => format::NONE.to_owned(),
        }),
    }
}

fn ratio(part: &ToolResult, baseline: &ToolResult, figure: Figure) -> String {
    let pairs = part.rounds.iter().zip(&baseline.rounds);
    let mut ratios: Vec<f64> = pairs
        .filter_map(|(mine, theirs)| {
            let ratio = figure(mine.as_ref()?)? / figure(theirs.as_ref()?)?;
            ratio.is_finite().then_some(ratio)
        })
        .collect();
    ratios.sort_by(f64::total_cmp);
    match (median(&ratios), &ratios[..]) {
        (Some(_), [only]) => format::ratio(*only),
        (Some(median), [lowest, .., highest]) => format!(
            "{} ({}–{})",
            format::ratio(median),
            format::ratio(*lowest),
            format::ratio(*highest)
        ),
        _ => format::NONE.to_owned(),
    }
}

fn figures(part: &ToolResult, figure: Figure) -> Vec<f64> {
    part.rounds.iter().flatten().filter_map(figure).collect()
}

fn not_ok() -> Column {
    Column {
        heading: "not ok".to_owned(),
        cell: Box::new(|_, part| {
            let failures = part.rounds.iter().flatten();
            format::exact(failures.map(|one| one.reported.failures()).sum())
        }),
    }
}

fn latency_from() -> Column {
    Column {
        heading: "latency from".to_owned(),
        cell: Box::new(|view, part| view.latency_from(part).to_owned()),
    }
}

/// A column of a percentile as the tools tell it; with its distance from the truth, where that is
/// known.
fn percentile(heading: &str, figure: Figure, truth: Option<f64>) -> Column {
    Column {
        heading: heading.to_owned(),
        cell: Box::new(move |_, part| {
            let coarse = |one: &DriverResult| one.reported.latency.resolution_ns;
            let resolution = part.rounds.iter().flatten().find_map(coarse);
            match (median(&figures(part, figure)), resolution, truth) {
                (None, ..) => format::NONE.to_owned(),
                (Some(0.0), Some(resolution), None) => {
                    format!("< {}", format::duration(resolution))
                }
                (Some(told), _, None) => format::duration(told),
                (Some(told), _, Some(truth)) => {
                    let sign = if told < truth { '−' } else { '+' };
                    let off = format::duration((told - truth).abs());
                    format!("{} ({sign}{off})", format::duration(told))
                }
            }
        }),
    }
}

fn latency(pick: fn(&Latency) -> Option<f64>, one: &DriverResult) -> Option<f64> {
    pick(&one.reported.latency)
}

const P50: Figure = |one| latency(|all| all.p50_ns, one);
const P90: Figure = |one| latency(|all| all.p90_ns, one);
const P99: Figure = |one| latency(|all| all.p99_ns, one);
const P999: Figure = |one| latency(|all| all.p999_ns, one);

/// The first two lines that say something, as one.
fn first_lines(text: &str) -> String {
    let lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    lines.take(2).collect::<Vec<_>>().join(" ")
}

impl View<'_> {
    fn closed_columns(&self) -> Vec<Column> {
        let of = self.of_baseline();
        let mut columns = vec![
            medians(
                "requests/s",
                |one| Some(one.reported.rate_per_s()),
                format::count,
            ),
            ratios(of.clone(), |one| Some(one.reported.rate_per_s())),
        ];
        columns.extend(self.cost_columns());
        columns.push(not_ok());
        columns
    }

    fn rate_columns(&self) -> Vec<Column> {
        let mut columns = vec![medians(
            "requests/s made",
            |one| Some(one.reported.rate_per_s()),
            format::count,
        )];
        columns.extend(self.cost_columns());
        columns.extend([
            latency_from(),
            percentile("p50", P50, None),
            percentile("p99", P99, None),
            not_ok(),
        ]);
        columns
    }

    fn frozen_columns(&self) -> Vec<Column> {
        let truth = self.result.truth_ns.map(|truth| truth.map(Some));
        let [p50, p90, p99, p999] = truth.unwrap_or_default();
        vec![
            Column {
                heading: "requests/s made".to_owned(),
                cell: Box::new(|_, part| {
                    let rates = figures(part, |one| Some(one.reported.rate_per_s()));
                    let rate = median(&rates).map_or(format::NONE.to_owned(), format::count);
                    match part.open_loop {
                        true => rate,
                        false => format!("{rate}, closed loop"),
                    }
                }),
            },
            latency_from(),
            percentile("p50", P50, p50),
            percentile("p90", P90, p90),
            percentile("p99", P99, p99),
            percentile("p99.9", P999, p999),
            not_ok(),
        ]
    }

    /// What a request costs the generator: CPU time, and cycles and instructions where they were
    /// counted.
    fn cost_columns(&self) -> Vec<Column> {
        let of = self.of_baseline();
        let mut columns = vec![
            medians(
                "CPU a request",
                DriverResult::cpu_ns_per_request,
                format::duration,
            ),
            ratios(of.clone(), DriverResult::cpu_ns_per_request),
            medians("in the kernel", DriverResult::kernel_share, format::share),
        ];
        let mut all = self
            .result
            .tools
            .iter()
            .flat_map(|part| part.rounds.iter().flatten());
        if all.any(|one| one.counts.is_some()) {
            columns.extend([
                medians("cycles", DriverResult::cycles_per_request, format::count),
                ratios(of.clone(), DriverResult::cycles_per_request),
                medians(
                    "instructions",
                    DriverResult::instructions_per_request,
                    format::count,
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
            Some(RateLatency::Schedule) if part.open_loop => "the schedule",
            _ => "the send",
        }
    }

    /// Who took no part, or failed, and why.
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
