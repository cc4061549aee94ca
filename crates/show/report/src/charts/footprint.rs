//! Throughput against peak memory, a point for each server.

use prony_present::chart::{Axis, Scale, ScatterChart, ScatterPoint};
use prony_present::number;

use super::parts::{MOST_DESCRIBED, TICKS, in_order, listed, spread, what_counts};
use crate::table::{ResultTable, ServerRow};

/// Fewer servers are read from the bars of both figures.
const LEAST_SERVERS: usize = 2;

/// Whether at least two servers have both figures. In an open loop the rate is the offered one.
pub(super) fn has_data(table: &ResultTable) -> bool {
    let mut known = table.rows.iter().filter_map(memory);
    !table.is_open() && known.nth(LEAST_SERVERS - 1).is_some()
}

fn memory(row: &ServerRow) -> Option<f64> {
    let peak = row.figures.peak_memory_bytes? as f64;
    (peak > 0.0).then_some(peak)
}

pub(super) fn footprint(table: &ResultTable) -> ScatterChart {
    let of_what = what_counts(table);
    let point = |row: &ServerRow| {
        Some(ScatterPoint {
            name: row.server.id.clone(),
            x: memory(row)?,
            y: row.figures.rate.median,
            interval: spread(row.figures.rate),
            is_grey: !row.is_comparable(),
        })
    };
    let points: Vec<ScatterPoint> = in_order(table).into_iter().filter_map(point).collect();
    let highest = points
        .iter()
        .map(|point| point.interval.map_or(point.y, |(_, high)| high));
    let line = |point: &ScatterPoint| {
        format!(
            "{} {} at {}",
            point.name,
            number::count(point.y),
            number::bytes(point.x)
        )
    };
    ScatterChart {
        title: format!("Throughput and memory: {}", table.name()),
        description: format!(
            "Ok {of_what} per second, the median of the rounds with its 95 % interval, against peak memory; up and left is better: {}.",
            listed(points.iter().map(line), points.len(), MOST_DESCRIBED)
        ),
        x: Axis::new(
            "peak memory",
            Scale::log_binary(points.iter().map(|point| point.x)),
            number::bytes,
        ),
        y: Axis::new(
            &format!("ok {of_what} per second, median and 95 % interval"),
            Scale::linear(highest.fold(0.0, f64::max), TICKS),
            number::count,
        ),
        points,
    }
}
