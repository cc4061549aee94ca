//! Histograms of all rounds in one, and intervals of their percentiles.

use prony_model::LatencyHistogram;
use prony_stats::bootstrap;

/// The histograms of all rounds in one.
pub(super) struct Merged {
    pub histogram: LatencyHistogram,
    /// Rounds whose histogram could not be read, and so is not in it.
    pub unreadable: usize,
    /// Of each round that could be read: its values, ascending, with how often each was counted.
    rounds: Vec<Vec<(u64, u64)>>,
}

impl Merged {
    /// Of histograms in HdrHistogram's V2 encoding in base64.
    pub fn of<'a>(encoded: impl IntoIterator<Item = &'a str>) -> Self {
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

    /// How the percentiles of drawn rounds are found.
    pub fn draws(&self) -> Draws {
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

/// For every value of any round: how many responses of one round were no greater.
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

/// Rounds laid out so that a percentile of any draw of them is found by a few additions, without merging histograms
/// anew.
pub(super) struct Draws {
    /// Every value of any round, ascending.
    values: Vec<u64>,
    /// For each round and value: how many of its responses were no greater.
    up_to: Vec<Vec<u64>>,
}

impl Draws {
    /// The 95 % interval of a quantile (0 to 1) of all rounds merged, over the rounds; `None` for fewer than two.
    pub fn interval(&self, quantile: f64) -> Option<(f64, f64)> {
        bootstrap(self.up_to.len(), |drawn| self.value_at(quantile, drawn))
    }

    /// The least value that at least `quantile` of the drawn rounds' responses do not exceed.
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
            match sum_at(middle) >= wanted {
                true => high = middle,
                false => low = middle + 1,
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
        fn all_rounds_drawn_once_give_the_merged_histogram_s_percentile(
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
        assert_eq!((merged.draws().interval(0.5), merged.unreadable), (None, 1));
    }
}
