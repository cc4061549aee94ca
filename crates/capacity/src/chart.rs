//! Latency against rate as an SVG: the curve, the bounds asked for, the capacity and the knee.

use maud::{Markup, PreEscaped, html};
use prony_model::LatencySummary;

use crate::attempt::Attempt;
use crate::curve::supports;
use crate::format::{count, per_second};
use crate::result::CapacityResult;
use crate::search::Found;
use crate::slo::{Clause, Statistic};

const WIDTH: f64 = 760.0;
const HEIGHT: f64 = 420.0;
const LEFT: f64 = 80.0;
const RIGHT: f64 = 690.0;
const TOP: f64 = 50.0;
const BOTTOM: f64 = 350.0;

/// The lines: name, percentile, its value, colour (told apart by the colour-blind too).
const LINES: [Line; 4] = [
    ("p50", 0.5, |latency| latency.p50, "#0072b2"),
    ("p90", 0.9, |latency| latency.p90, "#009e73"),
    ("p99", 0.99, |latency| latency.p99, "#d55e00"),
    ("p99.9", 0.999, |latency| latency.p999, "#aa4499"),
];
type Line = (&'static str, f64, fn(&LatencySummary) -> u64, &'static str);

const STYLE: &str = "text{font:12px system-ui,sans-serif;fill:#222}\
.title{font-size:15px;font-weight:600}.grid{stroke:#ddd}.axis{stroke:#555}\
.line{fill:none;stroke-width:2}.slo{stroke:#c00;stroke-dasharray:6 4}\
.capacity{stroke:#222}.band{fill:#222;opacity:.1}.knee{fill:none;stroke:#222;stroke-width:2}";

/// The chart; `None` where there is no curve.
pub fn chart_svg(result: &CapacityResult) -> Option<String> {
    let axes = Axes::of(result)?;
    let svg = html! {
        svg xmlns="http://www.w3.org/2000/svg" viewBox=(format!("0 0 {WIDTH} {HEIGHT}"))
            role="img" aria-label="Latency against rate" {
            style { (PreEscaped(STYLE)) }
            rect width=(WIDTH) height=(HEIGHT) fill="#fff" {}
            text class="title" x=(LEFT) y="20" { "Latency against rate: " (result.target.url) }
            text x=(LEFT) y="38" { "asked: " (result.slo) }
            (axes.grid())
            (capacity(&axes, &result.found))
            (bounds(&axes, result))
            @for line in &LINES { (curve(&axes, &result.curve, line)) }
            (names(&axes, &result.curve))
            @if let Some(knee) = result.knee_per_s { (knee_mark(&axes, knee)) }
        }
    };
    Some(svg.into_string() + "\n")
}

/// Rates from 0 on the one axis; latencies on the other by their logarithm, from one power of ten to another.
struct Axes {
    most_rate: f64,
    least_power: i32,
    most_power: i32,
}

impl Axes {
    fn of(result: &CapacityResult) -> Option<Self> {
        let most_rate = result
            .curve
            .iter()
            .map(|attempt| attempt.rate_per_s)
            .fold(0.0, f64::max);
        let bounds = result
            .slo
            .clauses()
            .iter()
            .filter_map(|clause| match clause {
                Clause::Latency { below, .. } => Some(below.as_nanos() as f64),
                Clause::Errors { .. } => None,
            });
        let shown: Vec<f64> = LINES
            .iter()
            .flat_map(|line| points(&result.curve, line))
            .map(|(_, latency)| latency)
            .chain(bounds)
            .collect();
        let least = shown.iter().copied().reduce(f64::min)?.max(1.0);
        let most = shown.iter().copied().reduce(f64::max)?.max(1.0);
        (most_rate > 0.0).then(|| {
            let least_power = least.log10().floor() as i32;
            Self {
                most_rate,
                least_power,
                most_power: (most.log10().ceil() as i32).max(least_power + 1),
            }
        })
    }

    fn x(&self, rate: f64) -> f64 {
        tenth(LEFT + (RIGHT - LEFT) * rate / self.most_rate)
    }

    fn y(&self, nanoseconds: f64) -> f64 {
        let (least, most) = (f64::from(self.least_power), f64::from(self.most_power));
        let share = (nanoseconds.max(1.0).log10() - least) / (most - least);
        tenth(BOTTOM - (BOTTOM - TOP) * share.clamp(0.0, 1.0))
    }

    /// Round rates, six at the most besides 0.
    fn ticks(&self) -> Vec<f64> {
        let power = 10f64.powf((self.most_rate / 6.0).log10().floor());
        let step = [1.0, 2.0, 5.0, 10.0]
            .map(|times| times * power)
            .into_iter()
            .find(|step| self.most_rate / step <= 6.0)
            .unwrap_or(10.0 * power);
        (0..=6)
            .map(|tick| f64::from(tick) * step)
            .filter(|rate| *rate <= self.most_rate)
            .collect()
    }

    fn grid(&self) -> Markup {
        html! {
            @for power in self.least_power..=self.most_power {
                @let y = self.y(10f64.powi(power));
                line class="grid" x1=(LEFT) x2=(RIGHT) y1=(y) y2=(y) {}
                text x=(LEFT - 8.0) y=(y + 4.0) text-anchor="end" { (power_of_ten(power)) }
            }
            @for rate in self.ticks() {
                line class="axis" x1=(self.x(rate)) x2=(self.x(rate)) y1=(BOTTOM) y2=(BOTTOM + 5.0) {}
                text x=(self.x(rate)) y=(BOTTOM + 20.0) text-anchor="middle" { (count(rate)) }
            }
            line class="axis" x1=(LEFT) x2=(RIGHT) y1=(BOTTOM) y2=(BOTTOM) {}
            text x=((LEFT + RIGHT) / 2.0) y=(BOTTOM + 42.0) text-anchor="middle" {
                "requests due a second; latency from the scheduled arrival"
            }
        }
    }
}

/// The points of a line that enough responses support.
fn points(curve: &[Attempt], (_, quantile, value, _): &Line) -> Vec<(f64, f64)> {
    curve
        .iter()
        .filter(|attempt| supports(attempt.ok, *quantile))
        .filter_map(|attempt| {
            let latency = attempt.latency_ns.as_ref()?;
            Some((attempt.rate_per_s, value(latency) as f64))
        })
        .collect()
}

fn curve(axes: &Axes, attempts: &[Attempt], line: &Line) -> Markup {
    let colour = line.3;
    let points: Vec<(f64, f64)> = points(attempts, line)
        .into_iter()
        .map(|(rate, latency)| (axes.x(rate), axes.y(latency)))
        .collect();
    let path: Vec<String> = points.iter().map(|(x, y)| format!("{x},{y}")).collect();
    html! {
        @if !points.is_empty() {
            polyline class="line" stroke=(colour) points=(path.join(" ")) {}
            @for (x, y) in &points { circle cx=(x) cy=(y) r="3" fill=(colour) {} }
        }
    }
}

/// The names of the lines at their ends, from the highest down and none over another.
fn names(axes: &Axes, attempts: &[Attempt]) -> Markup {
    let mut lowest = 0.0_f64;
    let names: Vec<(&str, &str, f64, f64)> = LINES
        .iter()
        .rev()
        .filter_map(|line| {
            let &(rate, latency) = points(attempts, line).last()?;
            lowest = (axes.y(latency) + 4.0).max(lowest + 13.0);
            Some((line.0, line.3, axes.x(rate), lowest))
        })
        .collect();
    html! {
        @for (name, colour, x, y) in names {
            text x=(x + 8.0) y=(tenth(y)) style=(format!("fill:{colour}")) { (name) }
        }
    }
}

fn bounds(axes: &Axes, result: &CapacityResult) -> Markup {
    let bounds = result
        .slo
        .clauses()
        .iter()
        .filter_map(|clause| match clause {
            Clause::Latency {
                statistic: Statistic::Quantile(_) | Statistic::Mean | Statistic::Max,
                below,
            } => Some((clause, axes.y(below.as_nanos() as f64))),
            Clause::Errors { .. } => None,
        });
    html! {
        @for (clause, y) in bounds {
            line class="slo" x1=(LEFT) x2=(RIGHT) y1=(y) y2=(y) {}
            text x=(LEFT + 6.0) y=(y - 5.0) style="fill:#c00" { (clause) }
        }
    }
}

fn capacity(axes: &Axes, found: &Found) -> Markup {
    let line = |rate: f64, words: String| {
        let x = axes.x(rate);
        html! {
            line class="capacity" x1=(x) x2=(x) y1=(TOP) y2=(BOTTOM) {}
            text x=(x - 5.0) y=(TOP + 12.0) text-anchor="end" { (words) }
        }
    };
    match found {
        Found::Capacity {
            per_s,
            low_per_s,
            high_per_s,
            ..
        } => {
            let (low, high) = (axes.x(*low_per_s), axes.x(*high_per_s));
            html! {
                rect class="band" x=(low) y=(TOP) width=(tenth(high - low)) height=(BOTTOM - TOP) {}
                (line(*per_s, format!("capacity {}", per_second(*per_s))))
            }
        }
        Found::AtLeast {
            per_s: Some(per_s), ..
        } => line(
            *per_s,
            format!("at least {}: the generator's limit", per_second(*per_s)),
        ),
        _ => html! {},
    }
}

fn knee_mark(axes: &Axes, rate: f64) -> Markup {
    let x = axes.x(rate);
    html! {
        path class="knee" d=(format!("M{} {}L{x} {BOTTOM}L{} {}", x - 6.0, BOTTOM - 10.0, x + 6.0, BOTTOM - 10.0)) {}
        text x=(x) y=(BOTTOM - 16.0) text-anchor="middle" { "knee " (per_second(rate)) }
    }
}

fn tenth(value: f64) -> f64 {
    (value * 10.0).round() / 10.0
}

/// Of nanoseconds: `10 µs`.
fn power_of_ten(power: i32) -> String {
    let (unit, of_unit) = match power {
        ..3 => ("ns", power),
        3..6 => ("µs", power - 3),
        6..9 => ("ms", power - 6),
        _ => ("s", power - 9),
    };
    format!("{} {unit}", 10f64.powi(of_unit))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::attempt::Purpose;
    use crate::judge::Judgement;
    use crate::result::Ended;
    use crate::testing::load;
    use prony_model::LoadSpec;

    fn point(rate_per_s: f64, latency_ms: u64, responses: usize) -> Attempt {
        let load = load(vec![latency_ms * 1_000_000; responses], 0);
        Attempt {
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

    fn result(curve: Vec<Attempt>) -> CapacityResult {
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
    fn higher_is_longer_and_farther_right_is_more() {
        let axes = Axes::of(&result(vec![point(100.0, 1, 100), point(200.0, 100, 100)])).unwrap();
        assert!(axes.y(1e8) < axes.y(1e6) && axes.x(200.0) > axes.x(100.0));
        assert_eq!((axes.x(0.0), axes.x(200.0)), (LEFT, RIGHT));
        assert_eq!(axes.y(1e6), BOTTOM);
        assert_eq!(axes.ticks(), [0.0, 50.0, 100.0, 150.0, 200.0]);
    }

    #[test]
    fn times_are_written_for_people() {
        assert_eq!(
            [2, 3, 5, 8, 9, 10].map(power_of_ten),
            ["100 ns", "1 µs", "100 µs", "100 ms", "1 s", "10 s"]
        );
    }
}
