//! The table of costs: servers side by side, or one below the other if there are too many.

use std::iter;

use prony_model::CostUnit;
use prony_present::number::{self, NO_BREAK, share};
use prony_present::table::{Cell, Head, Row, Table};
use prony_present::terminal::Paint;
use prony_present::words::plural;
use prony_stats::Estimate;

use crate::explain::cost_row::{CostRow, rows};
use crate::explain::costs::ServerCosts;
use crate::explain::summary::WorkloadCosts;

/// Where a table is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Medium {
    /// A terminal with lines of at most this many characters.
    Terminal(usize),
    Markdown,
    Page,
}

/// The most servers that Markdown and pages show side by side.
const MOST_IN_MARKDOWN: usize = 6;
const MOST_IN_A_PAGE: usize = 10;

pub(super) fn table(workload: &WorkloadCosts<'_>, medium: Medium) -> Table {
    let servers = workload.servers.len();
    let table = side_by_side(workload, medium);
    let has_room = match medium {
        Medium::Markdown => servers <= MOST_IN_MARKDOWN,
        Medium::Page => servers <= MOST_IN_A_PAGE,
        // Two servers are easier to compare in a line, even in two blocks.
        Medium::Terminal(width) => servers <= 2 || fits(&table, width),
    };
    if has_room {
        table
    } else {
        one_below_the_other(workload, medium)
    }
}

fn fits(table: &Table, width: usize) -> bool {
    let lines = table.terminal(usize::MAX / 2, Paint { colour: false });
    lines.iter().all(|line| line.chars().count() <= width)
}

fn side_by_side(workload: &WorkloadCosts<'_>, medium: Medium) -> Table {
    let figures = rows(workload);
    let servers = workload.servers.iter().map(|server| Head {
        // Only terminals show it.
        detail: Some(("±", 0)),
        ..Head::figure(server.server().to_owned())
    });
    let lines = figures.iter().map(|row| {
        let cells = workload.servers.iter();
        let cells = cells.map(|server| cell(row, server, medium));
        Row::of(iter::once(name(row)).chain(cells)).begins_group(row.begins_group())
    });
    let heads = iter::once(Head::words(per(workload.unit))).chain(servers);
    Table::with(heads, lines).whole()
}

fn one_below_the_other(workload: &WorkloadCosts<'_>, medium: Medium) -> Table {
    let figures = rows(workload);
    let heads = figures.iter().map(|row| {
        let drop = match medium {
            Medium::Markdown => row.drop(),
            Medium::Terminal(_) | Medium::Page => 0,
        };
        Head::figure(row.title()).hint(row.hint()).drop(drop)
    });
    let lines = workload.servers.iter().map(|server| {
        let cells = figures.iter();
        let cells = cells.map(|row| within(cell(row, server, medium), medium));
        Row::of(iter::once(Cell::text(server.server())).chain(cells))
    });
    let heads = iter::once(Head::words(per(workload.unit))).chain(heads);
    Table::with(heads, lines)
}

/// What figures are divided by.
pub(super) fn per(unit: CostUnit) -> &'static str {
    match unit {
        CostUnit::Request => "per request",
        CostUnit::Event => "per event",
    }
}

/// The name of a row; a part of the row above is indented.
pub(super) fn name(row: &CostRow<'_>) -> Cell {
    let indent = if row.is_part() {
        NO_BREAK.repeat(2)
    } else {
        String::new()
    };
    Cell::text(indent + &row.title()).tip(row.hint())
}

/// A server's figure with its interval, and on a page with each round.
fn cell(row: &CostRow<'_>, server: &ServerCosts<'_>, medium: Medium) -> Cell {
    let Some(estimate) = row.of(server) else {
        return Cell::default();
    };
    let shown = row.shown();
    let cell = Cell::text(shown(estimate.median)).order(estimate.median);
    match medium {
        Medium::Terminal(_) => cell.with(reach(&estimate)),
        Medium::Markdown => cell.with(interval(&estimate, shown)),
        Medium::Page => {
            let cell = cell.with(interval(&estimate, shown));
            cell.tip(each_round(row, server))
        }
    }
}

/// In a terminal the interval stays with its figure.
fn within(cell: Cell, medium: Medium) -> Cell {
    match (medium, cell.detail.is_empty()) {
        (Medium::Terminal(_), false) => Cell {
            text: format!("{} ±{}", cell.text, cell.detail),
            detail: String::new(),
            ..cell
        },
        _ => cell,
    }
}

/// Half the interval's width as a share of the figure.
fn reach(estimate: &Estimate) -> Option<String> {
    let half = estimate.half_width_share()?;
    Some(share(if half < SAME { 0.0 } else { half }))
}

/// Rounds that are all the same have an interval of zero width, apart from rounding: a smaller share of the figure.
const SAME: f64 = 1e-9;

/// Both ends of the interval, if they differ.
pub(super) fn interval(estimate: &Estimate, shown: fn(f64) -> String) -> Option<String> {
    let differ = estimate.high - estimate.low > SAME * estimate.median.abs();
    let ends = || number::interval(estimate.low, estimate.high, shown);
    // A dash before a sign reads as another sign.
    (estimate.n > 1 && differ).then(|| ends().replace("–+", " to +").replace("–−", " to −"))
}

fn each_round(row: &CostRow<'_>, server: &ServerCosts<'_>) -> String {
    let shown = row.shown();
    let rounds = row.in_rounds(server.of).into_iter().flatten();
    let rounds: Vec<String> = rounds.map(|value| shown(value * row.scale())).collect();
    format!("{}: {}", plural(rounds.len(), "round"), rounds.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::explain::summary::ExplanationSummary;
    use crate::explain::testing::Builder;
    use prony_model::{CostFigure, Explanation};
    use prony_testkit::contains;

    fn server(id: &str) -> Explanation {
        let builder = Builder::server(id).with(CostFigure::Cpu, 2e-5);
        builder.call("read", 1.0).done()
    }

    fn of(count: usize, medium: Medium) -> Table {
        let servers = (0..count).map(|i| server(&format!("server-{i}")));
        let servers: Vec<Explanation> = servers.collect();
        table(&ExplanationSummary::of(&servers).workloads[0], medium)
    }

    #[test]
    fn servers_are_columns_while_they_fit_and_else_rows() {
        for (servers, medium, are_columns) in [
            (3, Medium::Terminal(80), true),
            (9, Medium::Terminal(80), false),
            (9, Medium::Terminal(200), true),
            (2, Medium::Terminal(40), true),
            (6, Medium::Markdown, true),
            (7, Medium::Markdown, false),
            (10, Medium::Page, true),
            (11, Medium::Page, false),
        ] {
            let heads = of(servers, medium).heads;
            let found = heads.iter().any(|head| head.title == "server-0");
            assert_eq!(found, are_columns, "{servers}");
        }
    }

    #[test]
    fn no_line_is_longer_than_the_terminal() {
        for (servers, width) in [(1, 40), (2, 40), (3, 60), (9, 80), (20, 100)] {
            let table = of(servers, Medium::Terminal(width));
            for line in table.terminal(width, Paint { colour: false }) {
                assert!(line.chars().count() <= width, "{servers} {width} {line}");
            }
        }
    }

    #[test]
    fn a_single_round_has_no_interval() {
        let mut one = server("a");
        one.rounds.truncate(1);
        let one = [one];
        let summary = ExplanationSummary::of(&one);
        let markdown = table(&summary.workloads[0], Medium::Markdown).markdown();
        contains(&markdown, "| CPU time | 20.0\u{a0}µs |");
    }
}
