//! The latencies of the measured part, second by second.

use std::time::{Duration, SystemTime};

use prony_model::{IntervalLatencies, IntervalLatency, LatencyHistogram};

use super::clock::Nanoseconds;
use super::encoded::{Encoded, Latencies};

/// The length of the first intervals.
const FIRST_INTERVAL: Nanoseconds = 1_000_000_000;
/// After this many intervals the next ones are twice as long. So a day has some thousands.
const INTERVALS_OF_A_LENGTH: u64 = 600;

/// One worker's latencies, interval by interval from the start of the measured part.
///
/// This takes no work per response: at the end of each interval it takes the difference in what the tally has counted.
#[derive(Debug)]
pub(super) struct IntervalRecorder {
    began: Nanoseconds,
    /// When the interval that runs ends.
    ends: Nanoseconds,
    over: Vec<Encoded>,
    /// What the tally had counted when the interval began.
    seen: LatencyHistogram,
}

/// What one worker recorded.
#[derive(Debug)]
pub(super) struct WorkerIntervals {
    began: Nanoseconds,
    lasted: Nanoseconds,
    intervals: Vec<Encoded>,
}

/// When the interval of that number begins, from the start of the measured part. It is the same for every worker.
fn start_of(interval: usize) -> Nanoseconds {
    let (doubled, nth) = (
        interval as u64 / INTERVALS_OF_A_LENGTH,
        interval as u64 % INTERVALS_OF_A_LENGTH,
    );
    let times = 1_u64.checked_shl(doubled as u32).unwrap_or(u64::MAX);
    let before = (times - 1).saturating_mul(INTERVALS_OF_A_LENGTH);
    let firsts = before.saturating_add(nth.saturating_mul(times));
    firsts.saturating_mul(FIRST_INTERVAL)
}

impl IntervalRecorder {
    /// Starts with the measured part.
    pub(super) fn begin(began: Nanoseconds) -> Self {
        Self {
            began,
            ends: began.saturating_add(start_of(1)),
            over: Vec::new(),
            seen: LatencyHistogram::new(),
        }
    }

    /// Whether an interval has ended by `now`: then [take](Self::take) what was counted.
    #[inline]
    pub(super) fn is_over(&self, now: Nanoseconds) -> bool {
        now >= self.ends
    }

    /// Takes the latencies that were counted before `now`, and starts the interval of `now`.
    #[cold]
    pub(super) fn take(&mut self, now: Nanoseconds, counted: &LatencyHistogram) {
        self.take_counted(counted);
        while now >= self.ends {
            self.over.push(Encoded::default());
            self.start_next();
        }
    }

    fn take_counted(&mut self, counted: &LatencyHistogram) {
        let is_any = counted.count() > self.seen.count();
        let latencies = is_any.then(|| counted.since(&self.seen)).flatten();
        self.over.push(
            latencies
                .as_ref()
                .map_or_else(Encoded::default, Encoded::from),
        );
        if is_any {
            self.seen.clone_from(counted);
        }
        self.start_next();
    }

    fn start_next(&mut self) {
        self.ends = self.began.saturating_add(start_of(self.over.len() + 1));
    }

    /// Ends with the load.
    pub(super) fn end(mut self, now: Nanoseconds, counted: &LatencyHistogram) -> WorkerIntervals {
        self.take_counted(counted);
        WorkerIntervals {
            began: self.began,
            lasted: now.saturating_sub(self.began),
            intervals: self.over,
        }
    }
}

/// Merges what the workers recorded, whose clock began at `origin`. They began together, or nearly.
pub(super) fn merged(workers: &[WorkerIntervals], origin: SystemTime) -> IntervalLatencies {
    let began = workers.iter().map(|it| it.began).min().unwrap_or(0);
    let lasted = workers.iter().map(|it| it.lasted).max().unwrap_or(0);
    let count = workers.iter().map(|it| it.intervals.len()).max();
    let of = |number| {
        let (from, to) = (start_of(number), start_of(number + 1).min(lasted));
        let recorded = workers.iter().filter_map(|it| it.intervals.get(number));
        IntervalLatency {
            from: Duration::from_nanos(from),
            length: Duration::from_nanos(to.saturating_sub(from)),
            histogram: sum(recorded),
        }
    };
    let mut intervals: Vec<_> = (0..count.unwrap_or(0)).map(of).collect();
    // One that the end of the load left no time.
    intervals.pop_if(|last| last.length.is_zero() && last.histogram.is_empty());
    IntervalLatencies {
        began: origin + Duration::from_nanos(began),
        intervals,
    }
}

fn sum<'a>(recorded: impl Iterator<Item = &'a Encoded>) -> String {
    let mut sum = LatencyHistogram::new();
    recorded.for_each(|latencies| latencies.add_to(&mut sum));
    Encoded::from(&sum).into_text()
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Nanoseconds = 1_000_000;
    const S: Nanoseconds = 1000 * MS;
    const BEGAN: Nanoseconds = 7 * MS;

    struct Load {
        recorder: IntervalRecorder,
        counted: LatencyHistogram,
    }

    impl Load {
        fn begin() -> Self {
            Self {
                recorder: IntervalRecorder::begin(BEGAN),
                counted: LatencyHistogram::new(),
            }
        }

        /// A response that arrives `after` the start, as a worker counts it.
        fn response(&mut self, after: Nanoseconds, latency: Nanoseconds) {
            let now = BEGAN + after;
            if self.recorder.is_over(now) {
                self.recorder.take(now, &self.counted);
            }
            self.counted.record(latency);
        }

        fn end(self, after: Nanoseconds) -> WorkerIntervals {
            self.recorder.end(BEGAN + after, &self.counted)
        }
    }

    fn merge(workers: Vec<WorkerIntervals>) -> Vec<(f64, f64, Vec<u64>)> {
        let merged = merged(&workers, SystemTime::UNIX_EPOCH);
        let began = SystemTime::UNIX_EPOCH + Duration::from_nanos(BEGAN);
        assert_eq!(merged.began, began);
        let shown = |it: &IntervalLatency| {
            let each = |(value, count)| vec![value; count as usize];
            let latencies = match it.histogram.as_str() {
                "" => Vec::new(),
                text => {
                    let latencies = LatencyHistogram::from_base64(text).unwrap();
                    latencies.counted().flat_map(each).collect()
                }
            };
            (it.from.as_secs_f64(), it.length.as_secs_f64(), latencies)
        };
        merged.intervals.iter().map(shown).collect()
    }

    #[test]
    fn a_response_is_in_the_interval_in_which_it_arrived() {
        let mut load = Load::begin();
        for (after, latency) in [(0, 5), (999 * MS, 7), (S, 9), (3500 * MS, 5)] {
            load.response(after, latency);
        }
        assert_eq!(
            merge(vec![load.end(3750 * MS)]),
            [
                (0.0, 1.0, vec![5, 7]),
                (1.0, 1.0, vec![9]),
                (2.0, 1.0, vec![]),
                (3.0, 0.75, vec![5]),
            ]
        );
    }

    #[test]
    fn workers_are_merged_and_the_one_that_lasted_longest_sets_the_end() {
        let (mut one, mut other) = (Load::begin(), Load::begin());
        one.response(10, 1);
        other.response(20, 1);
        other.response(1200 * MS, 3);
        let (one, other, idle) = (
            one.end(900 * MS),
            other.end(1500 * MS),
            Load::begin().end(10),
        );
        let merged = merge(vec![one, other, idle]);
        assert_eq!(merged, [(0.0, 1.0, vec![1, 1]), (1.0, 0.5, vec![3])]);
    }

    #[test]
    fn later_intervals_are_longer_so_that_a_long_load_has_few() {
        let starts = [0, 600, 601, 1200, 1201].map(|at| start_of(at) / S);
        assert_eq!(starts, [0, 600, 602, 1800, 1804]);
        assert_eq!(start_of(usize::MAX), u64::MAX);
        let mut load = Load::begin();
        load.response(86_399 * S, 8);
        let day = merge(vec![load.end(86_400 * S)]);
        assert!(day.len() < 4500, "{}", day.len());
        assert!(day.windows(2).all(|it| it[0].0 + it[0].1 == it[1].0));
        let (from, length, latencies) = day.last().unwrap();
        assert_eq!((from + length, latencies), (86_400.0, &vec![8]));
    }

    #[test]
    fn a_load_that_ends_with_an_interval_has_no_empty_one_after_it() {
        let mut load = Load::begin();
        load.response(S - 1, 4);
        load.recorder.take(BEGAN + S, &load.counted);
        assert_eq!(merge(vec![load.end(S)]), [(0.0, 1.0, vec![4])]);
    }

    #[test]
    fn a_load_without_workers_has_no_interval() {
        assert_eq!(merged(&[], SystemTime::UNIX_EPOCH).intervals, []);
    }
}
