//! How much a load got done in what time: the one estimator of its rates.

use crate::{LoadResult, Outcome};

/// What a load completed, and the time that counts for it.
///
/// Of a closed loop that is every ok response in the time measured. Of an open loop it is what was due in the measured
/// time and was ok, however long each took: a server that responds to all that is due has the rate of the schedule. The
/// wait for the last responses does not count, and neither do responses to requests of the warm-up, or to those that only
/// began in that wait because every connection had been busy.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Throughput {
    /// How many ok responses, or flows, count.
    pub completed: u64,
    /// The time that counts, in seconds.
    pub seconds: f64,
}

impl Throughput {
    /// The rate; 0 if no time counts.
    pub fn per_s(&self) -> f64 {
        if self.seconds > 0.0 {
            self.completed as f64 / self.seconds
        } else {
            0.0
        }
    }

    /// Adds that of another load.
    pub fn merge(&mut self, other: &Self) {
        self.completed += other.completed;
        self.seconds += other.seconds;
    }
}

impl LoadResult {
    /// That of its ok responses.
    pub fn throughput(&self) -> Throughput {
        let open = self.open.as_ref().filter(|open| open.due_s > 0.0);
        match open {
            Some(open) => Throughput {
                completed: open.completed,
                seconds: open.due_s,
            },
            None => Throughput {
                completed: self.outcomes[Outcome::Ok],
                seconds: self.duration_s,
            },
        }
    }

    /// How much there was per second of what `count` ok responses brought, or had among them: bytes, or events. It is to
    /// the rate as `count` is to all ok responses.
    pub fn per_s(&self, count: u64) -> f64 {
        let throughput = self.throughput();
        let ok = self.outcomes[Outcome::Ok];
        if throughput.seconds <= 0.0 {
            return 0.0;
        }
        let share = match ok {
            0 => 1.0,
            ok => throughput.completed as f64 / ok as f64,
        };
        count as f64 * share / throughput.seconds
    }

    /// How long an open loop waited for responses after the last request was due, in seconds; 0 for a closed loop.
    pub fn waited_s(&self) -> f64 {
        (self.duration_s - self.throughput().seconds).max(0.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{OpenLoop, sample};

    /// 8 s, with this many ok responses.
    fn load(ok: u64, open: Option<OpenLoop>) -> LoadResult {
        let mut load = sample::load_result();
        (load.duration_s, load.open) = (8.0, open);
        load.outcomes[Outcome::Ok] = ok;
        load
    }

    fn due(completed: u64, due_s: f64) -> Option<OpenLoop> {
        Some(OpenLoop {
            completed,
            due_s,
            ..OpenLoop::default()
        })
    }

    #[test]
    fn a_rate_counts_what_was_due_and_not_the_wait_for_it() {
        for (case, ok, open, rate, waited_s) in [
            ("a closed loop", 600, None, 75.0, 0.0),
            ("all that was due", 600, due(600, 6.0), 100.0, 2.0),
            ("some of the warm-up's", 800, due(600, 6.0), 100.0, 2.0),
            ("the last due after the end", 80, due(80, 10.0), 8.0, 0.0),
            ("an older record", 600, due(0, 0.0), 75.0, 0.0),
            ("nothing ok", 0, due(0, 6.0), 0.0, 2.0),
        ] {
            let load = load(ok, open);
            assert_eq!(load.throughput().per_s(), rate, "{case}");
            assert_eq!(load.waited_s(), waited_s, "{case}");
            if ok > 0 {
                let each = load.per_s(3 * ok) / rate;
                assert!((each - 3.0).abs() < 1e-9, "{case}: three events each");
            }
        }
        assert_eq!(load(0, due(0, 6.0)).per_s(600), 100.0, "nothing ok");
        assert_eq!(Throughput::default().per_s(), 0.0);
    }
}
