//! Scales: from a figure to a position on an axis, with ticks at round figures.

/// Maps figures to positions between 0 and 1, and has the ticks.
#[derive(Clone, Debug, PartialEq)]
pub struct Scale {
    kind: Kind,
    low: f64,
    high: f64,
    /// The ticks in ascending order; all are on the scale.
    pub ticks: Vec<f64>,
}

/// How far a linear scale extends beyond the largest figure.
const HEADROOM: f64 = 1.04;

const MOST_LOG_TICKS: usize = 6;

#[derive(Clone, Copy, Debug, PartialEq)]
enum Kind {
    Linear,
    Log,
}

impl Scale {
    fn of(kind: Kind, [low, high]: [f64; 2], ticks: impl IntoIterator<Item = f64>) -> Self {
        Self {
            kind,
            low,
            high,
            ticks: ticks.into_iter().collect(),
        }
    }

    /// From 0 to a little above `max`, with about `count` ticks at decimal steps.
    pub fn linear(max: f64, count: usize) -> Scale {
        Self::stepped(max, nice_step, count)
    }

    /// The same for bytes, with powers of two as steps.
    pub fn binary(max: f64, count: usize) -> Scale {
        Self::stepped(max, |raw| 2f64.powf(raw.log2().ceil()), count)
    }

    /// Around these values, with about `count` ticks at decimal steps: for points, whose changes an axis from 0 would hide.
    /// It starts at 0 if that is near.
    pub fn around(values: impl IntoIterator<Item = f64>, count: usize) -> Scale {
        let (min, max) = range(values.into_iter().filter(|value| value.is_finite()));
        // Values that hardly differ would fill the chart with their noise.
        let span = (max - min).max(max.abs() * 0.1);
        if !span.is_finite() || span <= 0.0 || min - span / 2.0 <= 0.0 {
            return Self::linear(max, count);
        }
        let middle = f64::midpoint(min, max);
        let step = nice_step(span / count.max(1) as f64);
        let low = ((middle - span / 2.0) / step - 1e-9).floor() * step;
        let high = ((middle + span / 2.0) / step + 1e-9).ceil() * step;
        let steps = ((high - low) / step).round() as usize;
        Self::of(
            Kind::Linear,
            [low, high],
            (0..=steps).map(|i| low + i as f64 * step),
        )
    }

    pub fn high(&self) -> f64 {
        self.high
    }

    pub fn starts_at_zero(&self) -> bool {
        self.low == 0.0
    }

    fn stepped(max: f64, step_of: impl Fn(f64) -> f64, count: usize) -> Scale {
        let max = positive_or_1(max);
        let step = step_of(max / count.max(1) as f64);
        let high = max * HEADROOM;
        Self::of(
            Kind::Linear,
            [0.0, high],
            (0..=(high / step) as usize).map(|i| i as f64 * step),
        )
    }

    /// A logarithmic scale for all positive `values`; it ends at 1, 2 or 5 times a power of ten and
    /// has its ticks there, or only at powers of ten if there would be too many.
    pub fn log(values: impl IntoIterator<Item = f64>) -> Scale {
        let (mut min, mut max) = range(values.into_iter().filter(is_positive));
        if min > max {
            (min, max) = (1.0, 10.0);
        }
        let decades = (min.log10().floor() as i32)..=(max.log10().ceil() as i32 + 1);
        let marks: Vec<f64> = decades
            .flat_map(|decade| [1.0, 2.0, 5.0].map(|mark| mark * 10f64.powi(decade)))
            .collect();
        let tolerance = 1.0 + 1e-9;
        let first = marks.iter().rposition(|mark| *mark <= min * tolerance);
        let first = first.unwrap_or(0);
        let last = marks
            .iter()
            .skip(first + 1)
            .position(|mark| mark * tolerance >= max);
        let last = last.map_or(marks.len() - 1, |position| first + 1 + position);
        let marks = &marks[first..=last];
        let decade = |mark: &f64| (mark.log10() - mark.log10().round()).abs() < 1e-9;
        let ticks = if marks.len() <= MOST_LOG_TICKS {
            marks.to_vec()
        } else {
            marks.iter().copied().filter(decade).collect()
        };
        Self::of(Kind::Log, [marks[0], marks[marks.len() - 1]], ticks)
    }

    /// HdrHistogram's axis of percentiles, from the lowest to the highest of these, each by the share (0 to 1) of all that lies
    /// beyond it. Its figures are [`nines`]. It has p50 and p90 in any case.
    pub fn percentiles(beyond: impl IntoIterator<Item = f64>) -> Scale {
        let (low, high) = range(beyond.into_iter().map(nines).chain([nines(0.5), 1.0]));
        let decades = (1..=high as usize).map(|decade| decade as f64);
        Self::of(
            Kind::Linear,
            [low, high],
            [nines(0.5)].into_iter().chain(decades),
        )
    }

    /// Around 0, as far below as above, with a tick at either end.
    pub fn around_zero(most: f64) -> Scale {
        let most = positive_or_1(most);
        let step = nice_step(most / 5.0);
        let high = (most / step - 1e-9).ceil() * step;
        Self::of(Kind::Linear, [-high, high], vec![-high, high])
    }

    /// A logarithmic scale for all positive sizes in bytes, with ticks at powers of two.
    pub fn log_binary(values: impl IntoIterator<Item = f64>) -> Scale {
        let (least, most) = range(values.into_iter().filter(is_positive).map(f64::log2));
        let (first, last) = if least > most {
            (0, 1)
        } else {
            (least.floor() as i32, most.ceil() as i32)
        };
        let last = last.max(first + 1);
        let step = (last - first) as usize / MOST_LOG_TICKS + 1;
        Self::of(
            Kind::Log,
            [2f64.powi(first), 2f64.powi(last)],
            (first..=last).step_by(step).map(|at| 2f64.powi(at)),
        )
    }

    /// From 1 to a number, with about `count` ticks at whole numbers.
    pub fn numbered(last: usize, count: usize) -> Scale {
        let last = last.max(2);
        let step = last.div_ceil(count.max(1));
        Self::of(
            Kind::Linear,
            [1.0, last as f64],
            (1..=last).step_by(step).map(|at| at as f64),
        )
    }

    pub(crate) fn is_log(&self) -> bool {
        self.kind == Kind::Log
    }

    /// The position of a figure: 0 at the low end, 1 at the high end; figures beyond an end are placed at it.
    pub fn place(&self, value: f64) -> f64 {
        let place = match self.kind {
            Kind::Linear => (value - self.low) / (self.high - self.low),
            Kind::Log => (value.max(self.low) / self.low).ln() / (self.high / self.low).ln(),
        };
        if place.is_finite() {
            place.clamp(0.0, 1.0)
        } else {
            0.0
        }
    }
}

/// The nines of a percentile that this share (0 to 1) lies beyond: 0 for p0, 1 for p90, 2 for p99, 3 for p99.9.
pub fn nines(beyond: f64) -> f64 {
    // Not -0.
    0.0 - beyond.log10()
}

/// A percentile by its [`nines`]: `90`, `99.9`.
pub fn percentile(nines: f64) -> String {
    let digits = (nines.ceil() as usize).saturating_sub(2);
    format!("{:.digits$}", 100.0 * (1.0 - 10f64.powf(-nines)))
}

fn is_positive(value: &f64) -> bool {
    value.is_finite() && *value > 0.0
}

fn positive_or_1(most: f64) -> f64 {
    if is_positive(&most) { most } else { 1.0 }
}

/// The smallest and the largest value; from infinity to minus infinity if there are none.
fn range(values: impl Iterator<Item = f64>) -> (f64, f64) {
    values.fold((f64::INFINITY, f64::NEG_INFINITY), |(min, max), value| {
        (min.min(value), max.max(value))
    })
}

/// The smallest of 1, 2, 2.5, 5 or 10 × a power of ten that is at least `raw`.
fn nice_step(raw: f64) -> f64 {
    let power = 10f64.powf(raw.log10().floor());
    [1.0, 2.0, 2.5, 5.0]
        .into_iter()
        .map(|mantissa| mantissa * power)
        .find(|step| *step >= raw * (1.0 - 1e-9))
        .unwrap_or(10.0 * power)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn linear_ticks_are_round() {
        let scale = Scale::linear(170_000.0, 4);
        assert_eq!(scale.ticks, [0.0, 50_000.0, 100_000.0, 150_000.0]);
        assert_eq!(Scale::linear(9.9, 4).ticks, [0.0, 2.5, 5.0, 7.5, 10.0]);
        assert_eq!(Scale::linear(0.0, 4).ticks.len(), 5);
    }

    #[test]
    fn log_ticks_enclose_few_values_and_thin_out_to_decades() {
        let scale = Scale::log([300_000.0, 4_200_000.0]);
        assert_eq!(scale.ticks, [200_000.0, 500_000.0, 1e6, 2e6, 5e6]);
        assert_eq!(Scale::log([2e3, 9e5]).ticks, [1e4, 1e5, 1e6]);
        assert_eq!(Scale::log([2e3, 9e5]).place(2e3), 0.0);
        assert_eq!(Scale::log([]).ticks, [1.0, 2.0, 5.0, 10.0]);
        assert!((Scale::log([1e3, 1e5]).place(1e4) - 0.5).abs() < 1e-9);
    }

    #[test]
    fn a_scale_around_values_shows_small_changes_and_says_where_it_starts() {
        let scale = Scale::around([98e3, 112e3], 4);
        assert_eq!(scale.ticks, [95e3, 100e3, 105e3, 110e3, 115e3]);
        assert!(!scale.starts_at_zero());
        for values in [&[10.0, 112.0][..], &[], &[f64::NAN, 0.0]] {
            let scale = Scale::around(values.iter().copied(), 4);
            assert!(scale.starts_at_zero(), "{values:?}");
        }
        let one = Scale::around([100.0], 4);
        assert!(one.place(100.0) > 0.3 && one.place(100.0) < 0.7);
    }

    #[test]
    fn percentiles_are_as_far_apart_as_their_nines() {
        let scale = Scale::percentiles([0.63, 0.1, 0.000_2]);
        let names: Vec<String> = scale.ticks.iter().map(|tick| percentile(*tick)).collect();
        assert_eq!(names, ["50", "90", "99", "99.9"]);
        assert_eq!(scale.place(nines(0.63)), 0.0);
        assert_eq!(scale.place(nines(0.000_2)), 1.0);
        let gap = |from: f64, to: f64| scale.place(nines(to)) - scale.place(nines(from));
        assert!((gap(0.1, 0.01) - gap(0.01, 0.001)).abs() < 1e-9);
        assert_eq!(Scale::percentiles([0.8]).ticks.len(), 2, "at least to p90");
    }

    #[test]
    fn sizes_have_ticks_at_powers_of_two_and_numbers_at_whole_ones() {
        let mib = f64::from(1 << 20);
        let mibs = |ticks: &[f64]| -> Vec<f64> { ticks.iter().map(|tick| tick * mib).collect() };
        let linear = Scale::binary(50.0 * mib, 4);
        assert_eq!(linear.ticks, mibs(&[0.0, 16.0, 32.0, 48.0]));
        let log = Scale::log_binary([3.0 * mib, 48.0 * mib]);
        assert_eq!(log.ticks, mibs(&[2.0, 4.0, 8.0, 16.0, 32.0, 64.0]));
        assert_eq!(Scale::log_binary([mib, 900.0 * mib]).ticks.len(), 6);
        assert_eq!(Scale::log_binary([]).ticks.len(), 2);
        assert_eq!(Scale::numbered(5, 5).ticks, [1.0, 2.0, 3.0, 4.0, 5.0]);
        assert_eq!(Scale::numbered(12, 4).ticks, [1.0, 4.0, 7.0, 10.0]);
        assert_eq!(Scale::numbered(12, 4).place(1.0), 0.0);
    }

    #[test]
    fn a_scale_around_zero_is_symmetric() {
        assert_eq!(Scale::around_zero(0.32).ticks, [-0.4, 0.4]);
        assert_eq!(Scale::around_zero(0.05).ticks, [-0.05, 0.05]);
        assert_eq!(Scale::around_zero(0.07).place(0.0), 0.5);
        assert!(Scale::around_zero(0.0).place(0.0).is_finite());
    }

    proptest! {
        #[test]
        fn every_value_is_on_the_scale_and_in_order(
            values in prop::collection::vec(1e-3f64..1e12, 2..20), count in 2usize..8,
        ) {
            let max = values.iter().copied().fold(0.0, f64::max);
            let log = Scale::log(values.clone());
            let around = Scale::around(values.clone(), count);
            let sizes = Scale::log_binary(values.clone());
            for scale in [Scale::linear(max, count), Scale::binary(max, count), log, sizes, around] {
                let ticks = &scale.ticks;
                prop_assert!(!ticks.is_empty() && ticks.len() <= 16, "{ticks:?}");
                prop_assert!(ticks.windows(2).all(|pair| pair[0] < pair[1]));
                prop_assert!(scale.low <= ticks[0] && ticks[ticks.len() - 1] <= scale.high);
                prop_assert!(scale.high >= max * (1.0 - 1e-6));
                prop_assert_eq!((scale.place(scale.low), scale.place(scale.high)), (0.0, 1.0));
                for pair in values.windows(2) {
                    let (low, high) = (pair[0].min(pair[1]), pair[0].max(pair[1]));
                    prop_assert!(scale.place(low) <= scale.place(high));
                }
            }
        }
    }
}
