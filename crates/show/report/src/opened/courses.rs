//! The small curves of an open row: how the round nearest to the median went, and its latencies.

use prony_model::LatencySummary;
use prony_present::chart::{Axis, Scale, Spark, percentile};
use prony_present::load;
use prony_present::number::{count, duration, seconds};
use prony_present::page::Block;
use prony_present::words::{Joined, capital};

use crate::charts::points_of;
use crate::figures::{OverTime, Percentile};
use crate::table::{ResultTable, ServerRow};

/// How many ticks an axis has at most.
const TICKS: usize = 2;

/// The curves of a row; `None` if it has none.
pub(super) fn sparks(table: &ResultTable, row: &ServerRow) -> Option<Block> {
    let over_time = row.figures.over_time.as_ref().map(over_time);
    let sparks: Vec<Spark> = over_time.into_iter().chain(latency(table, row)).collect();
    (!sparks.is_empty()).then_some(Block::Sparks(sparks))
}

fn over_time(course: &OverTime) -> Spark {
    let highest = course.points.iter().map(|(_, rate)| *rate);
    let highest = highest.fold(0.0, f64::max);
    Spark {
        words: words_over_time(course),
        x: Axis::new("time", Scale::linear(course.ended_s, TICKS), time),
        y: Axis::new("requests/s", Scale::linear(highest, TICKS), rate),
        points: course.points.clone(),
        shaded: (course.measured_from_s > 0.0).then_some((0.0, course.measured_from_s)),
        underlined: Some((course.measured_from_s, course.ended_s)),
    }
}

/// A tick in words; the beginning needs none.
fn time(at_s: f64) -> String {
    match at_s {
        0.0 => String::new(),
        at_s => seconds(at_s),
    }
}

fn rate(per_second: f64) -> String {
    match per_second {
        0.0 => String::new(),
        per_second => count(per_second),
    }
}

/// `Round 2, nearest to the median: 48.1 k req/s while measured. Shaded: 2.62 s of load before it, to warm up. Underlined: the
/// measured 600 ms.`
fn words_over_time(course: &OverTime) -> String {
    let time = |seconds: f64| duration(seconds * 1e9);
    let which = match course.of_rounds {
        1 => "",
        _ => ", nearest to the median",
    };
    let before = match course.measured_from_s {
        0.0 => String::new(),
        before => format!(
            " Shaded: {} of load before it, to warm up{}.",
            time(before),
            searched(course)
        ),
    };
    format!(
        "Round {}{which}: {} req/s while measured.{before} Underlined: the measured {}.",
        course.round,
        count(course.measured_per_s),
        time(course.ended_s - course.measured_from_s)
    )
}

/// Which part of the warm-up was of an earlier round, if one was.
fn searched(course: &OverTime) -> String {
    match course.search.filter(|search| search.round != course.round) {
        Some(search) => format!(
            ", of which {} in round {}",
            duration(search.lasted_s * 1e9),
            search.round
        ),
        None => String::new(),
    }
}

fn latency(table: &ResultTable, row: &ServerRow) -> Option<Spark> {
    let latency = row.figures.latency.as_ref()?;
    let points = &row.figures.spectrum;
    let ends = [points.first()?, points.last()?].map(|point| point.latency_ns as f64);
    Some(Spark {
        words: words_of_latency(table, row, latency),
        x: Axis::new(
            "percentile",
            Scale::percentiles(points.iter().map(|point| point.beyond)),
            percent,
        ),
        y: Axis::new("latency", Scale::log(ends), duration),
        points: points_of(points),
        ..Spark::default()
    })
}

/// `Latency: p50 716 µs, p90 884 µs, p99 1.48 ms, p99.9 11.0 ms, max 11.4 ms.`
fn words_of_latency(table: &ResultTable, row: &ServerRow, latency: &LatencySummary) -> String {
    let what = capital(load::latency_name(&table.load));
    let known = Percentile::ALL.iter().filter_map(|percentile| {
        let value = row.figures.percentile(*percentile)?;
        Some(format!("{} {}", percentile.name(), duration(value)))
    });
    let known = known.chain([format!("max {}", duration(latency.max as f64))]);
    format!("{what}, all rounds: {}.", known.joined(", "))
}

/// `p99.9`.
fn percent(nines: f64) -> String {
    format!("p{}", percentile(nines))
}
