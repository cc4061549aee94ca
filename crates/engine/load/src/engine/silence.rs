//! When the server did not respond.
//!
//! A closed loop hides it: connections that are refused pause, so a dead server costs few requests, and one that hangs costs
//! none. Counts of requests therefore miss it, and a worker looks at the time between its ok responses.

use std::ops::RangeInclusive;

use prony_model::{Outage, Outcome};
use serde::{Deserialize, Serialize};

use super::clock::{Nanoseconds, seconds};
use super::tally::Tally;

/// Shorter silences are not kept. A worker that does not look for that long stands still itself.
const SHORTEST: Nanoseconds = 100_000_000;
/// How many silences are kept: the longest ones.
const MOST: usize = 100;
/// An outage takes at least half of the measured time, within these bounds: a busy machine stops a server for a moment.
const SHORTEST_OUTAGE: RangeInclusive<Nanoseconds> = 500_000_000..=1_000_000_000;
/// An outage takes at least this many times the 99th percentile: otherwise it is one more slow response, which the latency
/// shows.
const TIMES_P99: Nanoseconds = 3;

/// A time, since the start of the load, without an ok response.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Silence {
    during: Span,
    /// From the first to the last instant in it at which a response was wanted.
    wanted: Span,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Span {
    from: Nanoseconds,
    to: Nanoseconds,
}

impl Span {
    /// Contains nothing, and the [hull](Self::hull) of it and another is the other.
    const NONE: Self = Self {
        from: Nanoseconds::MAX,
        to: 0,
    };

    fn length(self) -> Nanoseconds {
        self.to.saturating_sub(self.from)
    }

    fn within(self, other: Self) -> Self {
        let both = Self {
            from: self.from.max(other.from),
            to: self.to.min(other.to),
        };
        if both.length() > 0 { both } else { Self::NONE }
    }

    fn hull(self, other: Self) -> Self {
        Self {
            from: self.from.min(other.from),
            to: self.to.max(other.to),
        }
    }
}

impl Silence {
    /// Has no end yet.
    fn from(from: Nanoseconds) -> Self {
        Self {
            during: Span {
                from,
                to: Nanoseconds::MAX,
            },
            wanted: Span::NONE,
        }
    }

    /// The time in which neither of two workers had an ok response.
    fn common(self, other: Self) -> Self {
        let during = self.during.within(other.during);
        let wanted = [self.wanted, other.wanted].map(|wanted| wanted.within(during));
        Self {
            during,
            wanted: wanted[0].hull(wanted[1]),
        }
    }
}

/// Looks for the silences of one worker. That takes no work per response: it compares what the tally has counted.
#[derive(Debug)]
pub(super) struct SilenceRecorder {
    began: Nanoseconds,
    /// The last look.
    looked: Nanoseconds,
    ok: u64,
    errors: u64,
    /// Since the last ok response.
    current: Silence,
    ended: Vec<Silence>,
}

impl SilenceRecorder {
    /// Starts with the load, or again with its measured part at `now`.
    pub(super) fn begin(began: Nanoseconds, now: Nanoseconds) -> Self {
        Self {
            began,
            looked: now.saturating_sub(began),
            ok: 0,
            errors: 0,
            // Before it began it had no response either, and other workers may begin earlier.
            current: Silence::from(0),
            ended: Vec::new(),
        }
    }

    /// Looks at what was counted until `now`. `is_waiting` says whether a request is in flight, or a connection waits to be
    /// tried again.
    #[inline]
    pub(super) fn look(&mut self, now: Nanoseconds, tally: &Tally, is_waiting: bool) {
        let now = now.saturating_sub(self.began);
        let ok = tally.outcomes[Outcome::Ok];
        let stood_still = now.saturating_sub(self.looked) >= SHORTEST;
        if ok != self.ok || stood_still {
            self.ok = ok;
            // At the last look: since then responses may have waited for the worker.
            self.current.during.to = self.looked;
            if self.current.during.length() >= SHORTEST {
                self.keep();
            }
            self.current = Silence::from(now);
        } else if is_waiting || self.has_failed(tally) {
            let since = Span {
                from: self.looked,
                to: now,
            };
            self.current.wanted = self.current.wanted.hull(since);
        }
        self.looked = now;
    }

    /// Whether there was an error since this was last called.
    fn has_failed(&mut self, tally: &Tally) -> bool {
        let before = std::mem::replace(&mut self.errors, tally.errors());
        self.errors != before
    }

    #[cold]
    fn keep(&mut self) {
        self.ended.push(self.current);
        if self.ended.len() > MOST {
            keep_longest(&mut self.ended);
        }
    }

    /// Ends with the load.
    pub(super) fn end(mut self) -> Silences {
        // Other workers may go on.
        self.ended.push(self.current);
        keep_longest(&mut self.ended);
        Silences(self.ended)
    }
}

fn keep_longest(silences: &mut Vec<Silence>) {
    while silences.len() > MOST {
        let lengths = silences.iter().map(|one| one.during.length()).enumerate();
        if let Some((shortest, _)) = lengths.min_by_key(|(_, length)| *length) {
            silences.remove(shortest);
        }
    }
}

/// The silences of a worker, or those that all workers of an agent or a load have in common, in order.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub(super) struct Silences(#[serde(deserialize_with = "few")] Vec<Silence>);

fn few<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Vec<Silence>, D::Error> {
    let silences = Vec::<Silence>::deserialize(deserializer)?;
    if silences.len() > MOST {
        return Err(serde::de::Error::custom("there are too many silences"));
    }
    Ok(silences)
}

impl Silences {
    /// The times in which none of several workers, or agents, had an ok response. They started together.
    pub(super) fn common(all: impl IntoIterator<Item = Self>) -> Self {
        let common = all
            .into_iter()
            .reduce(|one, other| one.in_common_with(&other));
        common.unwrap_or(Self(Vec::new()))
    }

    fn in_common_with(&self, other: &Self) -> Self {
        let with_others = |one: &Silence| {
            let one = *one;
            other.0.iter().map(move |two| one.common(*two))
        };
        let pairs = self.0.iter().flat_map(with_others);
        let mut common: Vec<_> = pairs.filter(|it| it.during.length() >= SHORTEST).collect();
        keep_longest(&mut common);
        Self(common)
    }

    /// Those in which the server should have responded, in a load whose measured part began at `measured_from`.
    pub(super) fn outages(
        &self,
        measured_from: Nanoseconds,
        measured: &Tally,
        duration: Nanoseconds,
    ) -> Vec<Outage> {
        // Without an ok response the server did not stop: it never responded, which the outcomes say.
        let Some(latency) = measured.latency.summary() else {
            return Vec::new();
        };
        let half = (duration / 2).clamp(*SHORTEST_OUTAGE.start(), *SHORTEST_OUTAGE.end());
        let least = half.max(latency.p99.saturating_mul(TIMES_P99));
        let long = self.0.iter().filter(|one| one.wanted.length() >= least);
        // Workers look about once in 10 ms.
        let hundredths = |time: Nanoseconds| (seconds(time) * 100.0).round() / 100.0;
        long.map(|one| Outage {
            from_s: hundredths(one.wanted.from.saturating_sub(measured_from)),
            length_s: hundredths(one.wanted.length()),
        })
        .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Nanoseconds = 1_000_000;
    const S: Nanoseconds = 1000 * MS;
    const BEGAN: Nanoseconds = 5 * MS;

    /// What a worker sees at a time.
    enum Seen {
        Ok,
        Error,
        Waiting,
        Nothing,
    }
    use Seen::*;

    /// A worker that looks every 10 ms, and sees this from each of the times on, until the end at the last.
    fn worker(course: &[(Nanoseconds, Seen)]) -> Silences {
        let mut recorder = SilenceRecorder::begin(BEGAN, BEGAN);
        let mut tally = Tally::default();
        for two in course.windows(2) {
            for at in (two[0].0..two[1].0).step_by(10 * MS as usize) {
                match two[0].1 {
                    Ok => tally.ok(MS, true, &[]),
                    Error => tally.outcomes[Outcome::Refused] += 1,
                    Waiting | Nothing => {}
                }
                let is_waiting = matches!(two[0].1, Waiting);
                recorder.look(BEGAN + at, &tally, is_waiting);
            }
        }
        recorder.end()
    }

    /// Where the outages of a load of 12 s begin, and how long they last, in tenths of a second.
    fn outages(silences: &Silences, latency: Nanoseconds) -> Vec<(u64, u64)> {
        let mut tally = Tally::default();
        tally.ok(latency, true, &[]);
        let tenths = |seconds: f64| (seconds * 10.0).round() as u64;
        let outages = silences.outages(0, &tally, 12 * S).into_iter();
        outages
            .map(|it| (tenths(it.from_s), tenths(it.length_s)))
            .collect()
    }

    #[test]
    fn an_outage_is_a_time_without_an_ok_response_in_which_one_was_wanted() {
        let end = || (12 * S, Nothing);
        for (what, course, expected) in [
            (
                "dead until the end",
                vec![(0, Ok), (3 * S, Error), end()],
                vec![(30, 90)],
            ),
            (
                "hangs",
                vec![(0, Ok), (3 * S, Waiting), (5 * S, Ok), end()],
                vec![(30, 20)],
            ),
            (
                "short",
                vec![(0, Ok), (3 * S, Error), (3900 * MS, Ok), end()],
                vec![],
            ),
            (
                "late",
                vec![(0, Waiting), (2 * S, Ok), end()],
                vec![(0, 20)],
            ),
            (
                "idle",
                vec![(0, Ok), (3 * S, Nothing), (9 * S, Ok), end()],
                vec![],
            ),
            (
                "idle, and then dead",
                vec![
                    (0, Ok),
                    (3 * S, Nothing),
                    (5 * S, Error),
                    (7 * S, Nothing),
                    (9 * S, Ok),
                    end(),
                ],
                vec![(50, 20)],
            ),
            (
                "a request now and then, and all fail",
                vec![
                    (0, Ok),
                    (S, Nothing),
                    (2 * S, Error),
                    (2010 * MS, Nothing),
                    (8 * S, Error),
                    (8010 * MS, Nothing),
                    end(),
                ],
                vec![(20, 60)],
            ),
            (
                "twice",
                vec![
                    (0, Ok),
                    (2 * S, Error),
                    (4 * S, Ok),
                    (6 * S, Waiting),
                    (9 * S, Ok),
                    end(),
                ],
                vec![(20, 20), (60, 30)],
            ),
        ] {
            assert_eq!(outages(&worker(&course), MS), expected, "{what}");
        }
    }

    #[test]
    fn what_may_be_one_more_slow_response_is_no_outage() {
        let silences = worker(&[(0, Ok), (3 * S, Waiting), (12 * S, Nothing)]);
        assert_eq!(outages(&silences, 2900 * MS), [(30, 90)]);
        assert_eq!(outages(&silences, 3100 * MS), []);
    }

    #[test]
    fn a_worker_that_stands_still_does_not_blame_the_server() {
        let mut recorder = SilenceRecorder::begin(BEGAN, BEGAN);
        let mut tally = Tally::default();
        for at in [0, 10 * MS, 6 * S, 6010 * MS] {
            recorder.look(BEGAN + at, &tally, true);
            // The server stood still, too.
            tally.ok(MS, true, &[]);
        }
        assert_eq!(outages(&recorder.end(), MS), []);
    }

    #[test]
    fn workers_share_an_outage_only_while_none_has_an_ok_response() {
        let dead = || worker(&[(0, Ok), (3 * S, Error), (12 * S, Nothing)]);
        let later = worker(&[(0, Ok), (5 * S, Waiting), (12 * S, Nothing)]);
        let idle = worker(&[(0, Nothing), (12 * S, Nothing)]);
        let ended = worker(&[(0, Ok), (S, Nothing)]);
        let alive = worker(&[(0, Ok), (12 * S, Nothing)]);
        for (others, expected) in [
            (vec![], vec![(30, 90)]),
            (vec![later.clone(), idle.clone()], vec![(50, 70)]),
            (vec![idle, ended], vec![(30, 90)]),
            (vec![later, alive], vec![]),
        ] {
            let all = Silences::common(others.into_iter().chain([dead()]));
            let text = serde_json::to_string(&all).unwrap();
            assert_eq!(serde_json::from_str::<Silences>(&text).unwrap(), all);
            assert_eq!(outages(&all, MS), expected);
        }
        assert_eq!(outages(&Silences::common([]), MS), []);
    }

    #[test]
    fn the_longest_silences_are_kept() {
        let mut course = Vec::new();
        for number in 0..300 {
            let length = if number == 7 { 9 * S } else { 3 * S };
            course.extend([
                (number * 10 * S, Ok),
                ((number + 1) * 10 * S - length, Waiting),
            ]);
        }
        course.push((3000 * S, Nothing));
        let silences = worker(&course);
        assert_eq!(silences.0.len(), MOST);
        assert!(outages(&silences, MS).contains(&(710, 90)));
        let many = serde_json::to_string(&vec![silences.0[0]; MOST + 1]).unwrap();
        assert!(serde_json::from_str::<Silences>(&many).is_err());
    }
}
