//! A server that stands still at the end of every period.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use crate::error::ScriptError;

/// The server stands still for some time at the end of every period. The first period begins with the first arrival.
///
/// Requests in flight continue when the freeze is over. A response that is due exactly when a freeze begins still leaves;
/// a request that arrives at that instant waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Freeze {
    length: Duration,
    period: Duration,
}

/// Longer than any load.
const LONGEST_PERIOD: Duration = Duration::from_secs(24 * 3600);

impl Freeze {
    /// Frozen for `length` at the end of every `period`.
    ///
    /// # Errors
    /// If it takes no time, or the whole period, or the period is longer than a day.
    pub fn new(length: Duration, period: Duration) -> Result<Self, ScriptError> {
        if Duration::ZERO < length && length < period && period <= LONGEST_PERIOD {
            Ok(Self { length, period })
        } else {
            Err(ScriptError::FreezeLength)
        }
    }

    /// The least whole number of seconds, from `asked` on, that contains a freeze and ends between two: a load that ended
    /// in a freeze would miss the responses to its last requests.
    pub fn duration_of_whole_freezes(&self, asked: Duration) -> Duration {
        let awake = self.period - self.length;
        let middle = awake / 2;
        let first = asked.max(self.period).as_secs_f64().ceil() as u64;
        let ends_well = |seconds: &u64| {
            let at = Duration::from_secs(*seconds).as_nanos();
            let into_period = nanoseconds(at % self.period.as_nanos());
            into_period >= middle / 2 && into_period + self.length.min(middle) / 2 < awake
        };
        let found = (first..first + 60).find(ends_well);
        // If no whole second is suitable, the middle of the time between two freezes.
        found.map_or(self.period * 2 + middle, Duration::from_secs)
    }

    /// When `work` that is started at `start` is done.
    pub(crate) fn end_of(&self, start: Duration, work: Duration) -> Duration {
        let (period, start) = (self.period.as_nanos(), start.as_nanos());
        let awake = period - self.length.as_nanos();
        let into_period = start % period;
        // Work started in a freeze begins at its end.
        let (start, left) = if into_period < awake {
            (start, awake - into_period)
        } else {
            (start - into_period + period, awake)
        };
        let work = work.as_nanos();
        if work <= left {
            return nanoseconds(start + work);
        }
        let next_period = start - start % period + period;
        let rest = work - left;
        // A rest that fills whole periods exactly is done before the freeze of the last one.
        let whole_periods = (rest - 1) / awake;
        nanoseconds(next_period + whole_periods * period + (rest - whole_periods * awake))
    }
}

/// At most 584 years.
fn nanoseconds(count: u128) -> Duration {
    Duration::from_nanos(u64::try_from(count).unwrap_or(u64::MAX))
}

impl FromStr for Freeze {
    type Err = ScriptError;

    /// Reads `1s/10s`: 1 s at the end of every 10 s.
    fn from_str(text: &str) -> Result<Self, ScriptError> {
        let parts = text.split_once('/').and_then(|(length, period)| {
            Some((
                humantime::parse_duration(length).ok()?,
                humantime::parse_duration(period).ok()?,
            ))
        });
        let (length, period) = parts.ok_or_else(|| ScriptError::Freeze(text.into()))?;
        Self::new(length, period)
    }
}

impl fmt::Display for Freeze {
    /// As [`FromStr`] reads it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = humantime::format_duration;
        write!(f, "{}/{}", text(self.length), text(self.period))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const fn ms(count: u64) -> Duration {
        Duration::from_millis(count)
    }

    #[test]
    fn work_stands_still_in_a_freeze() {
        let freeze = Freeze::new(ms(200), ms(1000)).unwrap();
        for (start, work, end) in [
            (0, 0, 0),
            (0, 800, 800),
            (0, 801, 1001),
            (799, 0, 799),
            (800, 0, 1000),
            (900, 5, 1005),
            (999, 0, 1000),
            (1000, 0, 1000),
            (700, 150, 1050),
            (700, 900, 1800),
            (700, 901, 2001),
            (900, 1600, 2800),
            (900, 1601, 3001),
        ] {
            let found = freeze.end_of(ms(start), ms(work));
            assert_eq!(found, ms(end), "{start} {work}");
        }
    }

    #[test]
    fn a_freeze_is_parsed_from_two_durations() {
        let freeze: Freeze = "1s/10s".parse().unwrap();
        assert_eq!(freeze, Freeze::new(ms(1000), ms(10_000)).unwrap());
        assert_eq!(freeze.to_string(), "1s/10s");
        for text in ["", "1s", "1s/", "1s/soon", "1/10", "-1s/10s"] {
            let error = text.parse::<Freeze>().unwrap_err().to_string();
            assert!(error.contains("for instance 1s/10s"), "{error}");
        }
        for text in ["10s/10s", "11s/10s", "0s/10s", "1s/2d"] {
            let error = text.parse::<Freeze>().unwrap_err();
            assert!(matches!(error, ScriptError::FreezeLength), "{text}");
        }
    }

    #[test]
    fn a_load_has_whole_freezes_and_ends_between_two() {
        for text in ["1s/10s", "200ms/2s", "1s/3s", "100ms/1s", "5s/7s"] {
            let freeze: Freeze = text.parse().unwrap();
            for asked in [1, 2, 9, 10, 25] {
                let asked = Duration::from_secs(asked);
                let duration = freeze.duration_of_whole_freezes(asked);
                assert!(duration >= asked.min(freeze.period * 2) && duration >= freeze.period);
                assert_eq!(freeze.end_of(duration, Duration::ZERO), duration, "{text}");
            }
        }
        let tenth = Freeze::new(ms(1000), ms(10_000)).unwrap();
        assert_eq!(tenth.duration_of_whole_freezes(ms(2000)), ms(13_000));
    }

    /// The end of the work, found one nanosecond at a time.
    fn step_by_step(length: u64, period: u64, start: u64, mut work: u64) -> u64 {
        let is_frozen = |at: u64| at % period >= period - length;
        let mut at = start;
        while is_frozen(at) {
            at += 1;
        }
        while work > 0 {
            work -= u64::from(!is_frozen(at));
            at += 1;
        }
        at
    }

    proptest! {
        #[test]
        fn the_end_agrees_with_counting_nanoseconds(
            (length, period) in (1u64..20).prop_flat_map(|length| (Just(length), length + 1..40)),
            start in 0u64..200,
            work in 0u64..200,
        ) {
            let freeze =
                Freeze::new(Duration::from_nanos(length), Duration::from_nanos(period)).unwrap();
            let end = freeze.end_of(Duration::from_nanos(start), Duration::from_nanos(work));
            prop_assert_eq!(end.as_nanos(), step_by_step(length, period, start, work).into());
        }
    }
}
