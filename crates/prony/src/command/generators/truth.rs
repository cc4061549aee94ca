//! The true latency on a server that freezes.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use prony_reference::script::{self, Latencies, Script, even_arrivals};

use crate::arguments;

/// A server that responds nothing for a while at the end of every period, the first of which begins
/// with the first request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Freeze {
    /// How long it is frozen.
    pub frozen: Duration,
    /// How long from the end of one freeze to the end of the next.
    pub period: Duration,
    script: script::Freeze,
}

impl FromStr for Freeze {
    type Err = String;

    /// `1s/10s`.
    fn from_str(text: &str) -> Result<Self, String> {
        let wrong =
            || format!("`{text}` is no freeze; write for instance 1s/10s: 1 s of every 10 s");
        let (frozen, period) = text.split_once('/').ok_or_else(wrong)?;
        let frozen = arguments::some_duration(frozen)?;
        let period = arguments::some_duration(period)?;
        match script::Freeze::new(frozen, period) {
            Ok(script) => Ok(Freeze {
                frozen,
                period,
                script,
            }),
            Err(error) => Err(format!("`{text}`: {error}")),
        }
    }
}

impl fmt::Display for Freeze {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = humantime::format_duration;
        write!(f, "{}/{}", text(self.frozen), text(self.period))
    }
}

impl Freeze {
    /// The first number of whole seconds from `asked` on that ends between two freezes and has at
    /// least one in it: a load that ended in a freeze would not have the responses to those it met.
    pub fn duration_of_whole_freezes(self, asked: Duration) -> Duration {
        let first = asked.max(self.period).as_secs_f64().ceil() as u64;
        let middle = (self.period - self.frozen) / 2;
        let ends_well = |seconds: &u64| {
            let into = self.into_period(Duration::from_secs(*seconds));
            into + self.frozen.min(middle) / 2 < self.period - self.frozen && into >= middle / 2
        };
        let found = (first..first + 60).find(ends_well);
        // A period that no whole second ends well in: the middle of the next one, whatever it is.
        found.map_or(self.period * 2 + middle, Duration::from_secs)
    }

    fn into_period(self, at: Duration) -> Duration {
        Duration::from_nanos((at.as_nanos() % self.period.as_nanos()) as u64)
    }

    /// The true latencies where arrivals come evenly at `rate_per_s` for `duration` and the server takes
    /// no time but its freezes.
    pub fn true_latencies(self, rate_per_s: f64, duration: Duration) -> Latencies {
        let arrivals = (rate_per_s * duration.as_secs_f64()).round().max(1.0) as u64;
        let script = Script {
            freeze: Some(self.script),
            ..Script::default()
        };
        script.latencies(even_arrivals(rate_per_s, arrivals))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn freeze(text: &str) -> Freeze {
        text.parse().unwrap()
    }

    #[test]
    fn a_freeze_is_read() {
        assert_eq!(freeze("200ms/2s").frozen, Duration::from_millis(200));
        assert_eq!(freeze("200ms/2s").to_string(), "200ms/2s");
        for wrong in ["1s", "2s/1s", "0s/1s", "a/b"] {
            assert!(wrong.parse::<Freeze>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_tenth_frozen_puts_the_99th_percentile_at_nine_tenths_of_the_freeze() {
        let latencies = freeze("1s/10s").true_latencies(1000.0, Duration::from_secs(10));
        let latency = |share| latencies.at(share).as_secs_f64();
        assert_eq!(latency(0.5), 0.0);
        // A wait is even between 0 and 1 s; the first of the 1000 waits the whole second.
        assert!((latency(0.99) - 0.9).abs() < 0.002, "{}", latency(0.99));
        assert!((latency(0.999) - 0.99).abs() < 0.002);
        assert_eq!(latency(1.0), 1.0);
    }

    #[test]
    fn a_load_has_whole_freezes_and_ends_between_two() {
        for text in ["1s/10s", "200ms/2s", "1s/3s", "100ms/1s", "5s/7s"] {
            let freeze = freeze(text);
            for asked in [1, 2, 9, 10, 25] {
                let asked = Duration::from_secs(asked);
                let duration = freeze.duration_of_whole_freezes(asked);
                assert!(duration >= asked.min(freeze.period * 2) && duration >= freeze.period);
                assert_eq!(
                    freeze.script.end_of(duration, Duration::ZERO),
                    duration,
                    "{text}"
                );
            }
        }
        let tenth = freeze("1s/10s").duration_of_whole_freezes(Duration::from_secs(2));
        assert_eq!(tenth, Duration::from_secs(13));
    }
}
