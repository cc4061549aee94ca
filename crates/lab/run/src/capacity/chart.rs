//! Latency against rate as a chart: the curve, the bounds of the objective, the capacity and the knee.

use prony_model::LatencySummary;
use prony_model::objective::Objective;
use prony_present::chart::{Axis, Band, Curve, CurveChart, Dot, Frame, Level, Line, Scale};
use prony_present::number::{self, duration};
use prony_present::words::plural;

use crate::capacity::attempt::RateAttempt;
use crate::capacity::curve::supports;
use crate::capacity::result::CapacityResult;
use crate::capacity::search::Found;
use crate::capacity::unit::Unit;

/// A curve: its name, percentile, value and style.
type Percentile = (&'static str, f64, fn(&LatencySummary) -> u64, Dot);

const CURVES: [Percentile; 4] = [
    ("p50", 0.5, |latency| latency.p50, Dot::P50),
    ("p90", 0.9, |latency| latency.p90, Dot::P90),
    ("p99", 0.99, |latency| latency.p99, Dot::P99),
    ("p99.9", 0.999, |latency| latency.p999, Dot::P999),
];

/// The chart as an SVG document; `None` if there is no curve.
pub fn chart_svg(result: &CapacityResult) -> Option<String> {
    let rates = result.curve.iter().map(|attempt| attempt.rate_per_s);
    let highest = rates.reduce(f64::max).filter(|rate| *rate > 0.0)?;
    let quiet = result.curve.iter().filter(|attempt| !attempt.is_noisy());
    let curves = CURVES.map(|(name, quantile, value, style)| {
        let point = |attempt: &RateAttempt| {
            let latency = attempt
                .latency_ns
                .as_ref()
                .filter(|_| supports(attempt.ok, quantile))?;
            Some((attempt.rate_per_s, value(latency) as f64))
        };
        Curve {
            name: name.to_owned(),
            style: Line::Measured(style),
            points: quiet.clone().filter_map(point).collect(),
        }
    });
    let levels = result
        .objectives
        .all()
        .iter()
        .filter_map(|objective| match objective {
            Objective::Latency { .. } => Some(Level {
                at: objective.limit(),
                name: objective.to_string(),
            }),
            Objective::Errors { .. } | Objective::Rate { .. } => None,
        });
    let levels: Vec<Level> = levels.collect();
    let points = curves
        .iter()
        .flat_map(|curve| &curve.points)
        .map(|(_, latency)| *latency);
    let shown: Vec<f64> = points.chain(levels.iter().map(|level| level.at)).collect();
    if shown.is_empty() {
        return None;
    }
    let unit = Unit::of(&result.load);
    let band = band(&result.found, unit);
    let known = band
        .as_ref()
        .map_or("no capacity was found", |band| &band.name);
    let left_out = match result.curve.len() - quiet.count() {
        0 => String::new(),
        noisy => format!("; without {}", plural(noisy, "noisy rate")),
    };
    let chart = CurveChart {
        title: format!("Latency against rate: {}", result.target.url),
        subtitle: format!("objective: {}{left_out}", result.objectives),
        description: format!(
            "Percentiles of latency at rates up to {}; {known}.",
            unit.rate(highest)
        ),
        frame: Frame::Wide,
        x: Axis::new(
            &format!("{} due per second", unit.plural()),
            Scale::linear(highest, 6),
            number::count,
        ),
        y: Axis::new(
            match unit {
                Unit::Requests => "latency from the scheduled arrival",
                Unit::Flows => "latency of the requests",
            },
            Scale::log(shown),
            duration,
        ),
        curves: curves.into(),
        levels,
        band,
        point: result
            .knee_per_s
            .map(|rate| (rate, format!("knee {}", unit.rate(rate)))),
    };
    Some(chart.draw().document())
}

fn band(found: &Found, unit: Unit) -> Option<Band> {
    match found {
        Found::Capacity {
            per_s,
            low_per_s,
            high_per_s,
            ..
        } => Some(Band {
            at: *per_s,
            interval: Some((*low_per_s, *high_per_s)),
            name: format!("capacity {}", unit.rate(*per_s)),
        }),
        Found::AtLeast {
            per_s: Some(per_s), ..
        } => Some(Band {
            at: *per_s,
            interval: None,
            name: format!(
                "capacity at least {} (generator's limit)",
                unit.rate(*per_s)
            ),
        }),
        _ => None,
    }
}
