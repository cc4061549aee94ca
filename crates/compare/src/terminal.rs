//! The comparison in a terminal.

use prony_stats::Better;

use crate::comparison::Comparison;
use crate::finding::Finding;
use crate::row::{Basis, Case, Row, What};
use crate::text;

/// The comparison as text. `colour` allows ANSI colours.
pub fn terminal(comparison: &Comparison, colour: bool) -> String {
    let mut lines = vec![
        format!("BASE  {}", text::side(&comparison.base)),
        format!("NEW   {}", text::side(&comparison.new)),
        String::new(),
    ];
    let named = comparison.names_servers();
    for case in &comparison.cases {
        lines.push(text::case(case, named));
        lines.extend(table(case, colour));
        lines.push(String::new());
    }
    for basis in bases(&comparison.cases) {
        lines.push(text::basis(basis).to_owned());
    }
    lines.push(comparison.noise.sentence());
    told(&mut lines, "not compared", &comparison.left_out);
    told(&mut lines, "only in NEW", &comparison.only_new);
    told(&mut lines, "differs", &comparison.differences);
    told(&mut lines, "warning", &comparison.warnings);
    lines.push(format!("result: {}", text::tally(&comparison.tally)));
    lines.join("\n") + "\n"
}

fn told(lines: &mut Vec<String>, what: &str, texts: &[String]) {
    lines.extend(texts.iter().map(|text| format!("{what}: {text}")));
}

/// How the rounds were compared, each way once.
pub(crate) fn bases(cases: &[Case]) -> Vec<Basis> {
    let mut bases: Vec<Basis> = Vec::new();
    let rows = cases.iter().flat_map(|case| &case.rows);
    for basis in rows.filter_map(|row| Some(row.change.as_ref()?.basis)) {
        if !bases.contains(&basis) {
            bases.push(basis);
        }
    }
    bases
}

fn table(case: &Case, colour: bool) -> Vec<String> {
    let cells: Vec<[String; 6]> = case.rows.iter().map(cells).collect();
    let width = |column: usize| {
        let lengths = cells.iter().map(|row| row[column].chars().count());
        lengths.max().unwrap_or(0)
    };
    let mut lines = Vec::new();
    for (row, cells) in case.rows.iter().zip(&cells) {
        let finding = painted(row.finding, &cells[0], width(0), colour);
        let mut line = format!("  {finding}");
        for (column, cell) in cells.iter().enumerate().skip(1) {
            line += &format!("  {cell:<width$}", width = width(column));
        }
        lines.push(line.trim_end().to_owned());
        lines.extend(row.notes.iter().map(|note| format!("      {note}")));
    }
    lines
}

fn cells(row: &Row) -> [String; 6] {
    let change = row.change.as_ref();
    [
        row.finding.words().to_owned(),
        name(row.what),
        format!(
            "{} → {}",
            text::figure(row, row.base),
            text::figure(row, row.new)
        ),
        change.map_or_else(String::new, |change| text::percent(change.ratio)),
        change.map_or_else(String::new, |change| {
            format!("({})", text::interval(change.low, change.high))
        }),
        change.map_or_else(String::new, text::grounds),
    ]
}

/// The metric, with the way that is better where one might wonder.
fn name(what: What) -> String {
    match what {
        What::Metric(metric) if metric.better() == Better::Higher => format!("{metric} ↑"),
        What::Metric(metric) => format!("{metric} ↓"),
        other => other.name().to_owned(),
    }
}

fn painted(finding: Finding, words: &str, width: usize, colour: bool) -> String {
    let padded = format!("{words:<width$}");
    let code = match finding {
        Finding::Worse => "1;31",
        Finding::Improved => "1;32",
        Finding::TooNoisy | Finding::Limited => "33",
        Finding::NoChangeSeen => "2",
    };
    match colour {
        true => format!("\x1b[{code}m{padded}\x1b[0m"),
        false => padded,
    }
}
