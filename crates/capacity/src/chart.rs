//! Latency against rate as a chart: the curve, the bounds asked for, the capacity and the knee.

use prony_model::LatencySummary;
use prony_present::chart::{Axis, Band, Curve, CurveChart, Dot, Level, Scale};
use prony_present::number::{self, duration, exact_rate};

use crate::attempt::RateAttempt;
use crate::curve::supports;
use crate::result::CapacityResult;
use crate::search::Found;
use crate::slo::Clause;

/// The curves: name, percentile, its value and how it looks.
const CURVES: [(&str, f64, fn(&LatencySummary) -> u64, Dot); 4] = [
    ("p50", 0.5, |latency| latency.p50, Dot::P50),
    ("p90", 0.9, |latency| latency.p90, Dot::P90),
    ("p99", 0.99, |latency| latency.p99, Dot::P99),
    ("p99.9", 0.999, |latency| latency.p999, Dot::P999),
];

/// The chart as an SVG document; `None` if there is no curve.
pub fn chart_svg(result: &CapacityResult) -> Option<String> {
    let rates = result.curve.iter().map(|attempt| attempt.rate_per_s);
    let highest = rates.reduce(f64::max).filter(|rate| *rate > 0.0)?;
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
            style,
            points: result.curve.iter().filter_map(point).collect(),
        }
    });
    let levels = result
        .slo
        .clauses()
        .iter()
        .filter_map(|clause| match clause {
            Clause::Latency { below, .. } => Some(Level {
                at: below.as_nanos() as f64,
                name: clause.to_string(),
            }),
            Clause::Errors { .. } => None,
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
    let band = band(&result.found);
    let known = band
        .as_ref()
        .map_or("no capacity was found", |band| &band.name);
    let chart = CurveChart {
        title: format!("Latency against rate: {}", result.target.url),
        subtitle: format!("objective: {}", result.slo),
        description: format!(
            "Percentiles of latency at rates up to {}; {known}.",
            exact_rate(highest)
        ),
        x: Axis::new(
            "requests due per second",
            Scale::linear(highest, 6),
            number::count,
        ),
        y: Axis::new(
            "latency from the scheduled arrival",
            Scale::log(shown),
            duration,
        ),
        curves: curves.into(),
        levels,
        band,
        point: result
            .knee_per_s
            .map(|rate| (rate, format!("knee {}", exact_rate(rate)))),
    };
    Some(chart.draw().document())
}

fn band(found: &Found) -> Option<Band> {
    match found {
        Found::Capacity {
            per_s,
            low_per_s,
            high_per_s,
            ..
        } => Some(Band {
            at: *per_s,
            interval: Some((*low_per_s, *high_per_s)),
            name: format!("capacity {}", exact_rate(*per_s)),
        }),
        Found::AtLeast {
            per_s: Some(per_s), ..
        } => Some(Band {
            at: *per_s,
            interval: None,
            name: format!("at least {}: the generator's limit", exact_rate(*per_s)),
        }),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::judge::Judgement;
    use crate::result::Ended;
    use crate::search::Purpose;
    use crate::tests::load;
    use prony_model::LoadSpec;

    fn point(rate_per_s: f64, latency_ms: u64, responses: usize) -> RateAttempt {
        let load = load(vec![latency_ms * 1_000_000; responses], 0);
        RateAttempt {
            purpose: Purpose::Curve,
            run: 1,
            rate_per_s,
            seed: 1,
            duration_s: 5.0,
            cut_short: false,
            judgement: Judgement::Held,
            requests: load.requests,
            ok: load.requests,
            errors: 0.0,
            sent: 1.0,
            latency_ns: load.latency_ns,
            histogram: load.histogram,
            generator_busy: 0.1,
            noise: None,
            tcp: None,
            slow_because: None,
        }
    }

    fn result(curve: Vec<RateAttempt>) -> CapacityResult {
        CapacityResult {
            target: load([1], 0).target,
            load: LoadSpec::default(),
            slo: "p99<10ms".parse().unwrap(),
            precision: 0.1,
            resolution: 0.02,
            repeats: 6,
            budget_s: 60.0,
            seed: 1,
            guess_per_s: 100.0,
            ended: Ended::Complete,
            found: Found::Capacity {
                per_s: 1000.0,
                low_per_s: 990.0,
                high_per_s: 1010.0,
                coverage: 0.97,
                findings_per_s: vec![990.0, 1000.0, 1010.0],
                confirmed: true,
            },
            attempts: Vec::new(),
            curve,
            knee_per_s: Some(900.0),
            duration_s: 50.0,
        }
    }

    #[test]
    fn it_has_the_lines_that_responds_support_and_the_marks() {
        let svg = chart_svg(&result(vec![
            point(500.0, 2, 2000),
            point(1000.0, 5, 2000),
            point(1100.0, 90, 2000),
        ]))
        .unwrap();
        for part in [
            "capacity 1,000/s",
            "knee 900/s",
            "p99&lt;10ms",
            ">p99<",
            ">10 ms<",
            "objective: p99&lt;10ms,errors&lt;0.1%",
        ] {
            assert!(svg.contains(part), "{part}: {svg}");
        }
        assert!(!svg.contains(">p99.9<"), "2000 responses do not support it");
        assert_eq!(svg.matches("<polyline").count(), 3);
    }

    #[test]
    fn without_a_curve_there_is_no_chart() {
        assert_eq!(chart_svg(&result(Vec::new())), None);
    }
}
