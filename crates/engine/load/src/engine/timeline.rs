//! The course of a load over time.

use prony_model::{Outcome, SlowResponses, Timeline};
use serde::{Deserialize, Serialize};

use super::clock::{Nanoseconds, seconds};
use super::tally::Tally;
use crate::plan::MOST_SLOW;

/// The initial length of an interval: short enough to see a server warm up in half a second.
const FIRST_INTERVAL: Nanoseconds = 10_000_000;
/// The most intervals. Beyond these each pair of adjacent ones merges, and all become twice as long.
const MOST_INTERVALS: usize = 512;

/// One worker's responses, interval by interval from the start of the load.
///
/// This takes no work per response: at the end of each interval it takes the difference in what the tally has counted.
#[derive(Debug)]
pub(super) struct TimelineRecorder {
    began: Nanoseconds,
    interval: Nanoseconds,
    /// When the last interval ends.
    ends: Nanoseconds,
    /// The last one is still running.
    intervals: Vec<Responses>,
    /// What the tally had counted at the last look.
    seen: Responses,
}

/// The responses of some period.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Responses {
    /// Ok ones.
    count: u64,
    /// The sum of their latencies. A tally's sum may wrap around; that of an interval is too short to.
    latency: Nanoseconds,
    /// Requests that ended with an error.
    errors: u64,
    /// Of the ok responses, those that were slow, for each latency that the plan names.
    slow: [u64; MOST_SLOW],
}

impl Responses {
    fn of(tally: &Tally) -> Self {
        Self {
            count: tally.outcomes[Outcome::Ok],
            latency: tally.latency_sum,
            errors: tally.errors(),
            slow: tally.slow,
        }
    }

    fn since(self, earlier: Self) -> Self {
        Self {
            count: self.count - earlier.count,
            latency: self.latency.wrapping_sub(earlier.latency),
            errors: self.errors - earlier.errors,
            slow: std::array::from_fn(|index| self.slow[index] - earlier.slow[index]),
        }
    }

    fn add(&mut self, other: Self) {
        self.count = self.count.saturating_add(other.count);
        self.latency = self.latency.wrapping_add(other.latency);
        self.errors = self.errors.saturating_add(other.errors);
        for (mine, theirs) in self.slow.iter_mut().zip(other.slow) {
            *mine = mine.saturating_add(theirs);
        }
    }

    fn mean_latency(&self) -> f64 {
        match self.count {
            0 => 0.0,
            count => self.latency as f64 / count as f64,
        }
    }
}

impl TimelineRecorder {
    /// Starts with the load.
    pub(super) fn begin(began: Nanoseconds) -> Self {
        let mut intervals = Vec::with_capacity(MOST_INTERVALS);
        intervals.push(Responses::default());
        Self {
            began,
            interval: FIRST_INTERVAL,
            ends: began + FIRST_INTERVAL,
            intervals,
            seen: Responses::default(),
        }
    }

    /// Whether an interval has ended by `now`: then [take](Self::take) what was counted.
    #[inline]
    pub(super) fn is_over(&self, now: Nanoseconds) -> bool {
        now >= self.ends
    }

    /// Takes what was counted before `now`, and starts the interval of `now`.
    #[cold]
    pub(super) fn take(&mut self, now: Nanoseconds, tally: &Tally) {
        self.add_counted(Responses::of(tally));
        while now >= self.ends {
            if self.intervals.len() == MOST_INTERVALS {
                self.interval *= 2;
                halve(&mut self.intervals);
            }
            self.intervals.push(Responses::default());
            self.ends = self.began + self.interval * self.intervals.len() as u64;
        }
    }

    /// Takes what was counted by a tally that an empty one now follows.
    pub(super) fn take_last_of(&mut self, tally: &Tally) {
        self.add_counted(Responses::of(tally));
        self.seen = Responses::default();
    }

    fn add_counted(&mut self, counted: Responses) {
        if let Some(last) = self.intervals.last_mut() {
            last.add(counted.since(self.seen));
        }
        self.seen = counted;
    }

    /// Ends with the load.
    pub(super) fn end(mut self, now: Nanoseconds, tally: &Tally) -> WorkerTimeline {
        self.take(now, tally);
        WorkerTimeline {
            interval: self.interval,
            lasted: now.saturating_sub(self.began),
            intervals: self.intervals,
        }
    }
}

/// What one worker, or all workers of an agent, recorded.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(into = "Columns", try_from = "Columns")]
pub(super) struct WorkerTimeline {
    interval: Nanoseconds,
    lasted: Nanoseconds,
    /// The last one was incomplete when the load ended.
    intervals: Vec<Responses>,
}

impl WorkerTimeline {
    fn coarsen_to(&mut self, interval: Nanoseconds) {
        while self.interval < interval {
            self.interval *= 2;
            halve(&mut self.intervals);
        }
    }

    /// Merges what workers, or agents, recorded, in intervals of the longest. They started together; one that ended
    /// earlier adds nothing from then on.
    pub(super) fn merged(recorded: impl IntoIterator<Item = Self>) -> Self {
        let mut sum = Self {
            interval: FIRST_INTERVAL,
            lasted: 0,
            intervals: Vec::new(),
        };
        recorded.into_iter().for_each(|it| sum.add(it));
        sum
    }

    fn add(&mut self, mut other: Self) {
        let interval = self.interval.max(other.interval);
        self.coarsen_to(interval);
        other.coarsen_to(interval);
        self.lasted = self.lasted.max(other.lasted);
        let length = self.intervals.len().max(other.intervals.len());
        self.intervals.resize(length, Responses::default());
        for (sum, responses) in self.intervals.iter_mut().zip(other.intervals) {
            sum.add(responses);
        }
    }

    /// In the form of the result, without the last, incomplete interval.
    pub(super) fn result(&self, measured_from: Nanoseconds, slow_from_ns: &[u64]) -> Timeline {
        let whole = (self.lasted / self.interval) as usize;
        let all = &self.intervals[..whole.min(self.intervals.len())];
        Timeline {
            interval_s: seconds(self.interval),
            measured_from_s: seconds(measured_from),
            ok: all.iter().map(|responses| responses.count).collect(),
            latency_mean_ns: all.iter().map(Responses::mean_latency).collect(),
            errors: if all.iter().any(|responses| responses.errors > 0) {
                all.iter().map(|responses| responses.errors).collect()
            } else {
                Vec::new()
            },
            slow: slow(all, slow_from_ns),
            seconds: Vec::new(),
        }
    }
}

/// A timeline as other processes read it: a list for each kind of number, without those that are all 0.
#[derive(Serialize, Deserialize)]
struct Columns {
    interval: Nanoseconds,
    lasted: Nanoseconds,
    count: Vec<u64>,
    latency: Vec<u64>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    errors: Vec<u64>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    slow: Vec<Vec<u64>>,
}

impl From<WorkerTimeline> for Columns {
    fn from(timeline: WorkerTimeline) -> Self {
        let all = &timeline.intervals;
        let column = |of: &dyn Fn(&Responses) -> u64| -> Vec<u64> { all.iter().map(of).collect() };
        let is_any = |column: &[u64]| column.iter().any(|&count| count > 0);
        let errors = column(&|it| it.errors);
        let mut slow: Vec<_> = (0..MOST_SLOW).map(|at| column(&|it| it.slow[at])).collect();
        while slow.last().is_some_and(|last| !is_any(last)) {
            slow.pop();
        }
        Self {
            interval: timeline.interval,
            lasted: timeline.lasted,
            count: column(&|it| it.count),
            latency: column(&|it| it.latency),
            errors: if is_any(&errors) { errors } else { Vec::new() },
            slow,
        }
    }
}

impl TryFrom<Columns> for WorkerTimeline {
    type Error = &'static str;

    fn try_from(columns: Columns) -> Result<Self, Self::Error> {
        let length = columns.count.len();
        let steps = columns.interval / FIRST_INTERVAL;
        let fits = |column: &Vec<u64>| column.is_empty() || column.len() == length;
        let is_possible = columns.interval.is_multiple_of(FIRST_INTERVAL)
            && steps.is_power_of_two()
            && columns.lasted / columns.interval <= length as u64
            && length <= MOST_INTERVALS
            && columns.slow.len() <= MOST_SLOW
            && [&columns.latency, &columns.errors].into_iter().all(fits)
            && columns.slow.iter().all(fits);
        if !is_possible {
            return Err("the timeline has intervals that no load records");
        }
        let at = |column: &[u64], index: usize| column.get(index).copied().unwrap_or(0);
        let at_slow = |slow: usize, index| {
            let column = columns.slow.get(slow);
            column.map_or(0, |column| at(column, index))
        };
        let responses = |index| Responses {
            count: at(&columns.count, index),
            latency: at(&columns.latency, index),
            errors: at(&columns.errors, index),
            slow: std::array::from_fn(|slow| at_slow(slow, index)),
        };
        Ok(Self {
            interval: columns.interval,
            lasted: columns.lasted,
            intervals: (0..length).map(responses).collect(),
        })
    }
}

fn slow(all: &[Responses], slow_from_ns: &[u64]) -> Vec<SlowResponses> {
    let of = |(index, &from_ns): (usize, &u64)| SlowResponses {
        from_ns,
        count: all.iter().map(|responses| responses.slow[index]).collect(),
    };
    slow_from_ns
        .iter()
        .take(MOST_SLOW)
        .enumerate()
        .map(of)
        .collect()
}

/// Merges each pair of adjacent intervals.
fn halve(intervals: &mut Vec<Responses>) {
    let half = intervals.len().div_ceil(2);
    for at in 0..half {
        let mut merged = intervals[2 * at];
        if let Some(next) = intervals.get(2 * at + 1) {
            merged.add(*next);
        }
        intervals[at] = merged;
    }
    intervals.truncate(half);
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Nanoseconds = 1_000_000;
    const BEGAN: Nanoseconds = 5 * MS;
    const SLOW_FROM: [Nanoseconds; 2] = [50, 100];

    struct Load {
        recorder: TimelineRecorder,
        tally: Tally,
    }

    impl Load {
        fn begin() -> Self {
            Self {
                recorder: TimelineRecorder::begin(BEGAN),
                tally: Tally::default(),
            }
        }

        /// Responses that arrive a time after the start, with their latencies, as a worker counts them.
        fn responses(&mut self, responses: impl IntoIterator<Item = (Nanoseconds, Nanoseconds)>) {
            for (after, latency) in responses {
                let now = BEGAN + after;
                if self.recorder.is_over(now) {
                    self.recorder.take(now, &self.tally);
                }
                self.tally.ok(latency, true, &SLOW_FROM);
            }
        }

        fn end(self, after: Nanoseconds) -> WorkerTimeline {
            self.recorder.end(BEGAN + after, &self.tally)
        }
    }

    /// As the result has it after it went through JSON.
    fn merge(recorded: Vec<WorkerTimeline>, measured_from: Nanoseconds, slow: &[u64]) -> Timeline {
        let merged = WorkerTimeline::merged(recorded);
        let text = serde_json::to_string(&merged).unwrap();
        let read: WorkerTimeline = serde_json::from_str(&text).unwrap();
        assert_eq!(read, merged);
        read.result(measured_from, slow)
    }

    #[test]
    fn impossible_timelines_are_refused() {
        let read = |text: &str| serde_json::from_str::<WorkerTimeline>(text);
        let of = |interval: u64, lasted: u64, length: usize| {
            let counts = vec![1; length];
            format!(
                r#"{{"interval":{interval},"lasted":{lasted},"count":{counts:?},"latency":{counts:?}}}"#
            )
        };
        assert!(read(&of(10 * MS, 25 * MS, 3)).is_ok());
        for (interval, lasted, length) in [
            (0, 0, 1),
            (15 * MS, 25 * MS, 3),
            (30 * MS, 25 * MS, 3),
            (10 * MS, 45 * MS, 3),
            (10 * MS, u64::MAX, 512),
            (10 * MS, 25 * MS, MOST_INTERVALS + 1),
            (u64::MAX, 0, 1),
        ] {
            let text = of(interval, lasted, length);
            assert!(read(&text).is_err(), "{interval} {lasted} {length}");
        }
        let ragged = r#"{"interval":10000000,"lasted":0,"count":[1,2],"latency":[1]}"#;
        assert!(read(ragged).is_err());
    }

    #[test]
    fn responses_are_counted_in_the_interval_of_their_arrival() {
        let mut load = Load::begin();
        load.responses([(0, 5), (9_999_999, 7), (10 * MS, 100), (35 * MS, 40)]);
        load.recorder.take_last_of(&load.tally);
        load.tally = Tally::default();
        load.responses([(36 * MS, 80), (49 * MS, 1), (51 * MS, 1)]);
        let timeline = merge(vec![load.end(52 * MS)], 35 * MS, &SLOW_FROM);
        // The last interval is incomplete.
        assert_eq!(timeline.ok, [2, 1, 0, 2, 1]);
        assert_eq!(timeline.latency_mean_ns, [6.0, 100.0, 0.0, 60.0, 1.0]);
        let (interval, from) = (timeline.interval_s, timeline.measured_from_s);
        assert_eq!((interval, from), (0.01, 0.035));
        assert_eq!(timeline.measured(), 4..5);
    }

    #[test]
    fn a_long_load_has_longer_intervals_and_loses_no_response() {
        let mut load = Load::begin();
        let seconds = 3600;
        load.responses((0..seconds).map(|second| (second * 1000 * MS + 500 * MS, second * MS)));
        let recorded = load.end(seconds * 1000 * MS);
        assert!(recorded.intervals.len() <= MOST_INTERVALS);
        let timeline = merge(vec![recorded], 0, &SLOW_FROM);
        assert_eq!(timeline.interval_s, 10.24);
        // 3600 s are 351.56 intervals; the last, incomplete one is left out.
        assert_eq!(timeline.ok.len(), 351);
        assert_eq!(timeline.ok.iter().sum::<u64>(), 3594);
        assert_eq!(timeline.ok[0], 10);
        assert_eq!(timeline.latency_mean_ns[0], 4.5e6);
    }

    #[test]
    fn errors_and_slow_responses_are_counted_in_their_intervals() {
        let mut load = Load::begin();
        load.responses([(0, 49), (1, 50)]);
        load.responses([(10 * MS, 100), (11 * MS, 99), (12 * MS, 101)]);
        load.tally.outcomes[Outcome::TimedOut] += 3;
        let timeline = merge(vec![load.end(35 * MS)], 0, &SLOW_FROM);
        assert_eq!(timeline.ok, [2, 3, 0]);
        assert_eq!(timeline.errors, [0, 3, 0]);
        let slow = |from_ns, count: [u64; 3]| SlowResponses {
            from_ns,
            count: count.into(),
        };
        assert_eq!(timeline.slow, [slow(50, [1, 3, 0]), slow(100, [0, 2, 0])]);
    }

    #[test]
    fn a_stall_leaves_intervals_without_responses() {
        let mut load = Load::begin();
        load.responses([(MS, 1), (4_000_000 * MS, 2)]);
        let timeline = merge(vec![load.end(5_000_000 * MS)], 0, &SLOW_FROM);
        assert_eq!(timeline.ok.iter().sum::<u64>(), 2);
        assert_eq!(timeline.ok[0], 1);
        let at = (4000.0 / timeline.interval_s) as usize;
        assert_eq!((timeline.ok[at], timeline.latency_mean_ns[at]), (1, 2.0));
    }

    #[test]
    fn workers_merge_into_the_longest_intervals() {
        let (mut short, mut long) = (Load::begin(), Load::begin());
        short.responses([5, 15, 25, 35, 45].map(|after| (after * MS, 3)));
        long.responses([(6000 * MS, 9)]);
        let workers = vec![short.end(50 * MS), long.end(6060 * MS)];
        let timeline = merge(workers, 0, &SLOW_FROM);
        assert_eq!(timeline.interval_s, 0.02);
        assert_eq!(timeline.ok.len(), 303);
        assert_eq!(timeline.ok[..4], [2, 2, 1, 0]);
        assert_eq!((timeline.ok[300], timeline.latency_mean_ns[300]), (1, 9.0));
    }

    #[test]
    fn a_latency_sum_may_wrap_around() {
        let mut load = Load::begin();
        load.tally.latency_sum = u64::MAX - 1;
        load.recorder.seen.latency = u64::MAX - 1;
        load.responses([(MS, 10)]);
        let timeline = merge(vec![load.end(10 * MS)], 0, &SLOW_FROM);
        assert_eq!(timeline.latency_mean_ns, [10.0]);
    }
}
