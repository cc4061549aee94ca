//! Latencies as they truly are, and their percentiles.

use std::time::Duration;

/// The latency of every request of a load; there may be none.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Latencies {
    ascending: Vec<Duration>,
}

impl Latencies {
    /// The least latency that at least `quantile` (0 to 1) of all do not exceed: exact, not
    /// interpolated. Zero where there is none.
    pub fn at(&self, quantile: f64) -> Duration {
        let count = self.ascending.len();
        // 0.9 × 10 is a hair above 9 in floating point, and means 9.
        let rank = (quantile * count as f64 - 1e-6).ceil() as usize;
        let index = rank.clamp(1, count.max(1)) - 1;
        self.ascending.get(index).copied().unwrap_or_default()
    }

    /// The arithmetic mean. Zero where there is none.
    pub fn mean(&self) -> Duration {
        let total: u128 = self.ascending.iter().map(Duration::as_nanos).sum();
        let mean = total / self.ascending.len().max(1) as u128;
        Duration::from_nanos(u64::try_from(mean).unwrap_or(u64::MAX))
    }

    /// All of them, the shortest first.
    pub fn ascending(&self) -> &[Duration] {
        &self.ascending
    }
}

impl FromIterator<Duration> for Latencies {
    fn from_iter<I: IntoIterator<Item = Duration>>(latencies: I) -> Self {
        let mut ascending: Vec<Duration> = latencies.into_iter().collect();
        ascending.sort_unstable();
        Self { ascending }
    }
}

/// The arrivals of an even rate (a second): the first at once, the last one `count` - 1 gaps later.
pub fn even_arrivals(per_s: f64, count: u64) -> impl Iterator<Item = Duration> {
    (0..count).map(move |number| Duration::from_secs_f64(number as f64 / per_s))
}

/// Arrivals at random at a rate (a second), each independent of the others: a Poisson process. They never
/// end; the same seed makes the same ones.
pub fn poisson_arrivals(per_s: f64, seed: u64) -> impl Iterator<Item = Duration> {
    let mut random = fastrand::Rng::with_seed(seed);
    let mut now_s = 0.0;
    std::iter::repeat_with(move || {
        // 1 - f64() lies above 0 and up to 1, so its logarithm is finite.
        now_s -= (1.0 - random.f64()).ln() / per_s;
        Duration::try_from_secs_f64(now_s).unwrap_or(Duration::MAX)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn ms(count: u64) -> Duration {
        Duration::from_millis(count)
    }

    #[test]
    fn percentiles_are_values_of_the_list() {
        let ten: Latencies = (1..=10).rev().map(ms).collect();
        for (quantile, value) in [
            (0.0, 1),
            (0.1, 1),
            (0.11, 2),
            (0.5, 5),
            (0.9, 9),
            (0.901, 10),
            (0.999, 10),
            (1.0, 10),
        ] {
            assert_eq!(ten.at(quantile), ms(value), "{quantile}");
        }
        assert_eq!(ten.mean(), ms(55) / 10);
    }

    #[test]
    fn of_no_latency_there_is_none() {
        let none = Latencies::from_iter([]);
        assert_eq!((none.at(0.5), none.mean()), (ms(0), ms(0)));
    }

    #[test]
    fn even_arrivals_are_exact_however_many() {
        let last = even_arrivals(1000.0, 100_001).last();
        assert_eq!(last, Some(Duration::from_secs(100)));
        assert_eq!(even_arrivals(3.0, 4).last(), Some(Duration::from_secs(1)));
    }

    #[test]
    fn random_arrivals_have_their_rate_and_the_gaps_of_a_poisson_process() {
        let arrivals: Vec<f64> = poisson_arrivals(500.0, 3)
            .take(200_000)
            .map(|arrival| arrival.as_secs_f64())
            .collect();
        let mean = arrivals[arrivals.len() - 1] / arrivals.len() as f64;
        assert!((mean * 500.0 - 1.0).abs() < 0.01, "{mean}");
        // More than a mean apart are 1/e of them.
        let long = arrivals.windows(2).filter(|pair| pair[1] - pair[0] > 0.002);
        let share = long.count() as f64 / arrivals.len() as f64;
        assert!((share - (-1.0_f64).exp()).abs() < 0.01, "{share}");
        let first = |seed| poisson_arrivals(500.0, seed).take(5).collect::<Vec<_>>();
        assert_eq!(first(3), first(3));
        assert_ne!(first(3), first(4));
    }
}
