//! How long a rate is tried.

use std::time::Duration;

use prony_stats::LEAST_BEYOND;

/// At a rate so low that a percentile needs more time, a trial may take this many times the requested duration.
const LONGEST: u32 = 6;

/// How long each rate is tried.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lengths {
    /// The warm-up.
    pub warmup: Duration,
    /// The measured part, at least.
    pub measured: Duration,
}

impl Lengths {
    /// How long each rate is tried by default: the search then takes about 80 s, its curve included, if the server sustains more
    /// than about 1,000 requests per second.
    pub const USUAL: Self = Self {
        warmup: Duration::from_millis(400),
        measured: Duration::from_millis(1500),
    };
    /// The default time limit of a search.
    pub const USUAL_BUDGET: Duration = Duration::from_secs(90);

    /// How long to measure a rate so that [`LEAST_BEYOND`] responses lie beyond a percentile (a share, 0 to 1): at
    /// most six times the requested duration.
    pub fn at(&self, per_s: f64, quantile: Option<f64>) -> Duration {
        let needed = LEAST_BEYOND / (1.0 - quantile.unwrap_or(0.0)) / per_s;
        let needed = Duration::try_from_secs_f64(needed).unwrap_or(Duration::MAX);
        needed.clamp(self.measured, self.measured * LONGEST)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_low_rate_is_measured_for_longer_up_to_a_bound() {
        let lengths = Lengths {
            warmup: Duration::ZERO,
            measured: Duration::from_secs(5),
        };
        let seconds = |per_s, quantile| lengths.at(per_s, quantile).as_secs_f64();
        assert_eq!(seconds(1000.0, Some(0.99)), 5.0);
        assert!((seconds(100.0, Some(0.99)) - 10.0).abs() < 1e-6);
        assert!((seconds(1000.0, Some(0.999)) - 10.0).abs() < 1e-6);
        assert_eq!(seconds(1.0, Some(0.99)), 30.0);
        assert_eq!(seconds(100.0, None), 5.0);
    }
}
