//! Combines the rounds of a figure: medians, ratios within rounds, merged histograms, and the worst round.

use std::collections::BTreeMap;

use prony_model::{LatencyHistogram, LatencySummary, LoadResult, Measurement};
use prony_stats::{Estimate, Ratio, bootstrap, common_rounds};

/// The estimate over the rounds that have the figure.
pub(super) fn over(
    rounds: &[&Measurement],
    figure: impl Fn(&Measurement) -> Option<f64>,
) -> Option<Estimate> {
    let values = rounds.iter().filter_map(|round| figure(round));
    let values: Vec<f64> = values.filter(|value| value.is_finite()).collect();
    Estimate::of(&values)
}

/// The estimate of a figure by round.
pub(crate) fn estimate(by_round: &BTreeMap<u32, f64>) -> Option<Estimate> {
    Estimate::of(&by_round.values().copied().collect::<Vec<_>>())
}

/// A figure as a ratio to another server's, within the rounds that both have.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Relative {
    /// The ratio: 0.79 for 79 % of the other's.
    pub ratio: f64,
    /// Its 95 % interval; `None` for a single round.
    pub interval: Option<(f64, f64)>,
    /// The rounds that both have.
    pub rounds: usize,
}

impl Relative {
    /// Computes the ratio of two figures by round; `None` if they have no round in common, or a value is not positive.
    pub(crate) fn of(own: &BTreeMap<u32, f64>, base: &BTreeMap<u32, f64>) -> Option<Self> {
        let pairs = common_rounds(own, base);
        if let [(own, base)] = pairs[..] {
            let ratio = own / base;
            return (ratio.is_finite() && ratio > 0.0).then_some(Self {
                ratio,
                interval: None,
                rounds: 1,
            });
        }
        let ratio = Ratio::paired(&pairs)?;
        Some(Self {
            ratio: ratio.ratio,
            interval: Some((ratio.low, ratio.high)),
            rounds: ratio.n,
        })
    }
}

/// Percentiles of a time without a histogram on record, so rounds cannot be merged: each is of the round with the
/// greatest one, which is on the safe side.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct WorstRound {
    /// The median, in nanoseconds.
    pub p50_ns: f64,
    /// The 99th percentile, in nanoseconds.
    pub p99_ns: f64,
}

impl WorstRound {
    /// `None` if no round has the time.
    pub(super) fn of(
        rounds: &[&Measurement],
        time: impl Fn(&LoadResult) -> Option<&LatencySummary>,
    ) -> Option<Self> {
        let times = rounds.iter().filter_map(|round| time(&round.load));
        let worst = |of: fn(&LatencySummary) -> u64| times.clone().map(of).max();
        Some(Self {
            p50_ns: worst(|time| time.p50)? as f64,
            p99_ns: worst(|time| time.p99)? as f64,
        })
    }
}

/// The merged histograms of all rounds.
pub(super) struct Merged {
    pub(crate) histogram: LatencyHistogram,
    /// Rounds whose histogram could not be read, and so is missing.
    pub(crate) unreadable: usize,
    /// For each readable round: its values, ascending, with their counts.
    rounds: Vec<Vec<(u64, u64)>>,
}

impl Merged {
    /// Merges histograms in HdrHistogram's V2 encoding in base64.
    pub(super) fn of<'a>(encoded: impl IntoIterator<Item = &'a str>) -> Self {
        let mut merged = Self {
            histogram: LatencyHistogram::new(),
            unreadable: 0,
            rounds: Vec::new(),
        };
        for text in encoded {
            match LatencyHistogram::from_base64(text) {
                Ok(histogram) => {
                    merged.histogram.merge(&histogram);
                    merged.rounds.push(histogram.counted().collect());
                }
                Err(_) => merged.unreadable += 1,
            }
        }
        merged
    }

    /// Prepares the percentiles of resampled rounds.
    pub(super) fn draws(&self) -> Draws {
        let mut values: Vec<u64> = self
            .rounds
            .iter()
            .flatten()
            .map(|(value, _)| *value)
            .collect();
        values.sort_unstable();
        values.dedup();
        let rounds = self.rounds.iter();
        Draws {
            up_to: rounds.map(|round| running_sum(&values, round)).collect(),
            values,
        }
    }
}

/// For every value of any round: how many responses of one round did not exceed it.
fn running_sum(values: &[u64], round: &[(u64, u64)]) -> Vec<u64> {
    let mut counted = round.iter().peekable();
    let mut sum = 0;
    let up_to = |value: &u64| {
        while let Some((_, count)) = counted.next_if(|(counted, _)| counted <= value) {
            sum += count;
        }
        sum
    };
    values.iter().map(up_to).collect()
}

/// Rounds laid out so that a percentile of any resample of them takes a few additions, without merging histograms again.
pub(super) struct Draws {
    /// Every value of any round, ascending.
    values: Vec<u64>,
    /// For each round and value: how many of its responses did not exceed it.
    up_to: Vec<Vec<u64>>,
}

impl Draws {
    /// The 95 % intervals of quantiles (0 to 1, ascending) of all rounds merged, over the rounds; `None` for fewer than two
    /// rounds.
    ///
    /// No quantile is below a lower one. So its interval does not begin below that of a lower one, nor end above that of a
    /// higher one: a p99 of few rounds is uncertain, but not whether it is above the p50.
    pub(super) fn intervals<const N: usize>(&self, quantiles: [f64; N]) -> [Option<(f64, f64)>; N] {
        let mut intervals =
            quantiles.map(|of| bootstrap(self.up_to.len(), |drawn| self.value_at(of, drawn)));
        let mut lowest = f64::NEG_INFINITY;
        for (low, _) in intervals.iter_mut().flatten() {
            *low = low.max(lowest);
            lowest = *low;
        }
        let mut highest = f64::INFINITY;
        for (_, high) in intervals.iter_mut().rev().flatten() {
            *high = high.min(highest);
            highest = *high;
        }
        intervals
    }

    /// The least value that at least `quantile` of the resampled rounds' responses do not exceed.
    fn value_at(&self, quantile: f64, drawn: &[usize]) -> Option<f64> {
        let sum_at = |place: usize| -> u64 { drawn.iter().map(|&it| self.up_to[it][place]).sum() };
        let total = sum_at(self.values.len().checked_sub(1)?);
        if total == 0 {
            return None;
        }
        let wanted = ((quantile * total as f64).ceil() as u64).max(1);
        let (mut low, mut high) = (0, self.values.len() - 1);
        while low < high {
            let middle = (low + high) / 2;
            if sum_at(middle) >= wanted {
                high = middle;
            } else {
                low = middle + 1;
            }
        }
        Some(self.values[low] as f64)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn encoded(values: &[u64]) -> String {
        let mut histogram = LatencyHistogram::new();
        values.iter().for_each(|value| histogram.record(*value));
        histogram.to_base64()
    }

    proptest! {
        #[test]
        fn each_round_drawn_once_gives_the_merged_percentile(
            rounds in prop::collection::vec(prop::collection::vec(1u64..1_000_000_000, 1..60), 1..6),
            quantile in 0.0f64..1.0,
        ) {
            let texts: Vec<String> = rounds.iter().map(|round| encoded(round)).collect();
            let merged = Merged::of(texts.iter().map(String::as_str));
            let all: Vec<usize> = (0..rounds.len()).collect();
            let drawn = merged.draws().value_at(quantile, &all);
            prop_assert_eq!(drawn, Some(merged.histogram.value_at(quantile) as f64));
        }

        #[test]
        fn intervals_of_quantiles_are_in_their_order(
            rounds in prop::collection::vec(prop::collection::vec(1u64..1_000_000_000, 1..20), 2..6),
        ) {
            let texts: Vec<String> = rounds.iter().map(|round| encoded(round)).collect();
            let draws = Merged::of(texts.iter().map(String::as_str)).draws();
            let [p50, p99] = draws.intervals([0.5, 0.99]).map(Option::unwrap);
            prop_assert!(p50.0 <= p99.0 && p50.1 <= p99.1, "{:?} {:?}", p50, p99);
            prop_assert!(p50.0 <= p50.1 && p99.0 <= p99.1, "{:?} {:?}", p50, p99);
        }

        #[test]
        fn a_round_drawn_twice_counts_twice(
            one in prop::collection::vec(1u64..1_000_000, 1..60),
            other in prop::collection::vec(1u64..1_000_000, 1..60),
        ) {
            let texts = [encoded(&one), encoded(&other)];
            let draws = Merged::of(texts.iter().map(String::as_str)).draws();
            let again = [&texts[0], &texts[0], &texts[1]].map(String::as_str);
            let merged = Merged::of(again).histogram;
            prop_assert_eq!(draws.value_at(0.99, &[0, 0, 1]), Some(merged.value_at(0.99) as f64));
        }
    }

    #[test]
    fn rounds_without_responses_have_no_percentile() {
        let nothing = encoded(&[]);
        let merged = Merged::of([nothing.as_str(), nothing.as_str(), "none"]);
        assert_eq!(merged.draws().value_at(0.5, &[0, 1]), None);
        assert_eq!(
            (merged.draws().intervals([0.5]), merged.unreadable),
            ([None], 1)
        );
    }
}
