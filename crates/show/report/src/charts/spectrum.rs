//! Latency against percentile, a line for each server.

use prony_present::chart::{Axis, Curve, CurveChart, Frame, Line, Scale, nines, percentile};
use prony_present::words::{Joined, capital, counted};
use prony_present::{load, number};

use super::parts::what_counts;
use crate::figures::{Percentile, SpectrumPoint};
use crate::table::{ResultTable, ServerRow};

/// A line needs points to join.
const LEAST_POINTS: usize = 2;

fn has_line(row: &&ServerRow) -> bool {
    row.figures.spectrum.len() >= LEAST_POINTS
}

/// Whether a server has enough responses for a line.
pub(super) fn has_data(table: &ResultTable) -> bool {
    table.rows.iter().any(|row| has_line(&row))
}

/// The servers of the chart, in the order of the table: as many as can be told apart, and in grey those that are not comparable.
fn shown(table: &ResultTable) -> Vec<(Line, &ServerRow)> {
    let (servers, others): (Vec<_>, Vec<_>) = table
        .rows
        .iter()
        .filter(has_line)
        .partition(|row| row.is_comparable());
    let servers = servers.into_iter().enumerate().take(Line::MOST);
    let others = others.into_iter().map(|row| (Line::Grey, row));
    servers
        .map(|(n, row)| (Line::Nth(n), row))
        .chain(others)
        .collect()
}

pub(super) fn spectrum(table: &ResultTable) -> CurveChart {
    let shown = shown(table);
    let curve = |(style, row): &(Line, &ServerRow)| Curve {
        name: row.server.id.clone(),
        style: *style,
        points: points_of(&row.figures.spectrum),
    };
    let curves: Vec<Curve> = shown.iter().map(curve).collect();
    let points = || shown.iter().flat_map(|(_, row)| &row.figures.spectrum);
    let beyond = points().map(|point| point.beyond);
    let what = load::latency_name(&table.load);
    CurveChart {
        title: format!(
            "{} by percentile, {}: {}",
            capital(what),
            load::latency(&table.load),
            table.name()
        ),
        subtitle: format!(
            "{}A line ends where fewer than ten {} are slower.",
            left_out(table, &shown),
            what_counts(table)
        ),
        description: description(table, &shown),
        frame: Frame::Narrow,
        x: Axis::new(
            "percentile (log scale of the slower share)",
            Scale::percentiles(beyond),
            percentile,
        ),
        y: Axis::new(
            what,
            Scale::log(points().map(|point| point.latency_ns as f64)),
            number::duration,
        ),
        curves,
        ..CurveChart::default()
    }
}

/// The points of a latency over its percentiles.
pub(crate) fn points_of(spectrum: &[SpectrumPoint]) -> Vec<(f64, f64)> {
    let point = |point: &SpectrumPoint| (nines(point.beyond), point.latency_ns as f64);
    spectrum.iter().map(point).collect()
}

/// Which servers have no line, although the table has them.
fn left_out(table: &ResultTable, shown: &[(Line, &ServerRow)]) -> String {
    let all = table.rows.iter().filter(has_line).count();
    match all - shown.len() {
        0 => String::new(),
        left => format!(
            "The first {} servers of the table with enough {}; {} only there. ",
            Line::MOST,
            what_counts(table),
            counted(left as u64, "more is", "more are")
        ),
    }
}

fn description(table: &ResultTable, shown: &[(Line, &ServerRow)]) -> String {
    let of = |(_, row): &(Line, &ServerRow)| {
        let percentile = |percentile: Percentile| {
            let value = row.figures.percentile(percentile)?;
            Some(format!("{} {}", percentile.name(), number::duration(value)))
        };
        let known = [Percentile::P50, Percentile::P99, Percentile::P999];
        let known = known.into_iter().filter_map(percentile).joined(" ");
        format!("{} {known}", row.server.id)
    };
    let lines = shown.iter().map(of).joined("; ");
    let left_out = left_out(table, shown);
    format!("Histograms of all rounds merged. {left_out}{lines}.")
}
