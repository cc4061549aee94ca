//! Counts of the instructions of each batch of requests.

use std::num::NonZeroU64;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use prony_insight::instructions::{Control, InstructionCount};
use prony_kernel::TreeCounters;
use prony_load::{Batch, Batches};
use prony_model::CountedBatches;

use super::super::process::Process;
use super::counter::Counter;
use super::warm_up::WarmUp;

/// The requests of a batch that follows the warm-up and is not counted: an emulator translates the server's code once more.
const SETTLING: NonZeroU64 = NonZeroU64::new(20).unwrap();
/// How many batches are counted, and at least, if they would take too long.
const BATCHES: u64 = 10;
const FEWEST_BATCHES: usize = 3;
/// The fewest requests of a batch if they would take too long.
const FEWEST_IN_BATCH: u64 = 10;
/// A batch is unusual if its requests cost more than this many times those of the median batch.
const UNUSUAL: f64 = 1.15;
/// A pause is as long as a request takes in the warm-up, where one follows another, so that the server has ended all of its
/// work for the last one. The next request would otherwise sometimes be there before the server waits for it, which saves it a
/// few instructions.
const SHORTEST_PAUSE: Duration = Duration::from_millis(1);
const LONGEST_PAUSE: Duration = Duration::from_millis(50);

/// Counts while the server runs.
pub(super) enum Counting {
    Counters(TreeCounters),
    Emulator(Control),
}

impl Counting {
    /// Counts nothing yet.
    pub(super) fn of(counter: &Counter, server: &Process) -> Result<Self, String> {
        match counter {
            Counter::Counters => {
                let tree = server.tree();
                let opened =
                    tree.and_then(|tree| TreeCounters::open_in_user_mode(|| tree.threads()));
                let none = "the processor's counters could not be opened for the server's threads";
                opened.map(Self::Counters).ok_or_else(|| none.to_owned())
            }
            Counter::Emulator(emulator) => {
                let folder = server.scratch().unwrap_or_default();
                Ok(Self::Emulator(Control::new(emulator, &folder)))
            }
        }
    }

    /// Begins to count: until now an emulator runs the server without that, and faster.
    fn start(&self) -> Result<(), String> {
        match self {
            Self::Counters(_) => Ok(()),
            Self::Emulator(control) => control.start().map_err(|error| error.to_string()),
        }
    }

    /// What is counted from now on is the first batch's. Returns the count at which that begins.
    fn zero(&self) -> Result<u64, String> {
        match self {
            Self::Counters(counters) => instructions(counters),
            Self::Emulator(control) => {
                control.zero().map_err(|error| error.to_string())?;
                Ok(0)
            }
        }
    }

    /// What has been counted since `zero`, which becomes the count of now.
    fn since(&self, zero: &mut u64) -> Result<InstructionCount, String> {
        match self {
            Self::Counters(counters) => {
                let before = std::mem::replace(zero, instructions(counters)?);
                Ok(InstructionCount {
                    total: zero.saturating_sub(before),
                    processes: 1,
                    ..InstructionCount::default()
                })
            }
            // Reading sets the counts to 0.
            Self::Emulator(control) => control.read().map_err(|error| error.to_string()),
        }
    }
}

fn instructions(counters: &TreeCounters) -> Result<u64, String> {
    let read = counters.read().map(|read| read.instructions);
    read.ok_or_else(|| "the processor's counters were all in use".to_owned())
}

/// The requests of a trial. The first one of a measure finds out how many warm its server up and how many can be counted in
/// the time that it has, and all others have as many, so that both sides of a comparison do the same.
#[derive(Clone, Debug)]
pub(crate) struct TrialRequests {
    /// How many warm a server up.
    pub(super) warm_up: u64,
    /// How many each counted batch has.
    pub(super) batches: Vec<NonZeroU64>,
}

/// The counts of the batches of one load.
#[derive(Clone)]
pub(super) struct BatchCounts(Arc<Mutex<Progress>>);

struct Progress {
    counting: Counting,
    warm_up: WarmUp,
    phase: Phase,
    batched: Batched,
    /// When the current batch was given out.
    begun: Instant,
    /// The pause of the batches that follow the warm-up.
    pause: Duration,
    /// The count at which the batch begins.
    zero: u64,
    counts: Vec<InstructionCount>,
    failed: Option<String>,
}

/// What the current batch is for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Phase {
    WarmUp,
    Settling,
    Counting,
}

/// Which requests are counted.
pub(super) struct Batched {
    batches: Vec<NonZeroU64>,
    /// When the last batch is to be over.
    end: Option<Instant>,
}

/// What the usual batches cost together.
pub(super) struct BatchTotals {
    pub(super) count: InstructionCount,
    pub(super) requests: u64,
    /// How many requests the trial had.
    pub(super) known: TrialRequests,
    pub(super) batches: CountedBatches,
}

impl BatchCounts {
    /// Counts over requests that follow a warm-up.
    pub(super) fn new(counting: Counting, warm_up: WarmUp, batched: Batched) -> Self {
        Self(Arc::new(Mutex::new(Progress {
            counting,
            warm_up,
            phase: Phase::WarmUp,
            batched,
            begun: Instant::now(),
            pause: SHORTEST_PAUSE,
            zero: 0,
            counts: Vec::new(),
            failed: None,
        })))
    }

    fn lock(&self) -> MutexGuard<'_, Progress> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The batches of the load: the warm-up, a few requests while counting begins, and those that are counted.
    pub(super) fn batches(&self) -> Batches {
        let counts = self.clone();
        let first = counts.lock().warm_up.next();
        Batches {
            first: first.unwrap_or(Batch {
                requests: NonZeroU64::MIN,
                pause: Duration::ZERO,
            }),
            next: Arc::new(move |_| counts.lock().next()),
        }
    }

    /// The counts together, after the load.
    pub(super) fn counted(self) -> Result<BatchTotals, String> {
        let mut progress = self.lock();
        if let Some(why) = progress.failed.take() {
            return Err(why);
        }
        let counts = std::mem::take(&mut progress.counts);
        let all = counts.len();
        let mut batches = std::mem::take(&mut progress.batched.batches);
        batches.truncate(all);
        let requests = batches.iter().map(|requests| requests.get());
        let usual = usual(requests.zip(counts).collect());
        let mut counted = BatchTotals {
            requests: usual.iter().map(|(requests, _)| requests).sum(),
            known: TrialRequests {
                warm_up: progress.warm_up.requests(),
                batches,
            },
            batches: CountedBatches {
                all: all as u32,
                unusual: (all - usual.len()) as u32,
            },
            count: InstructionCount::default(),
        };
        for (_, count) in usual {
            let processes = counted.count.processes.max(count.processes);
            counted.count.add(count);
            counted.count.processes = processes;
        }
        Ok(counted)
    }
}

impl Progress {
    /// The batch after the one that is over; `None` after the last one, and if something fails.
    fn next(&mut self) -> Option<Batch> {
        let batch = self.after(self.begun.elapsed());
        self.begun = Instant::now();
        batch.unwrap_or_else(|why| {
            self.failed = Some(why);
            None
        })
    }

    /// The batch after one that took this long.
    fn after(&mut self, took: Duration) -> Result<Option<Batch>, String> {
        match self.phase {
            Phase::WarmUp => {
                if let Some(batch) = self.warm_up.next() {
                    return Ok(Some(batch));
                }
                self.counting.start()?;
                self.pause = pause(self.warm_up.seconds_per_request());
                self.phase = Phase::Settling;
                return Ok(Some(Batch {
                    requests: SETTLING,
                    pause: self.pause,
                }));
            }
            Phase::Settling => {
                self.batched.fit(Instant::now(), took);
                self.zero = self.counting.zero()?;
                self.phase = Phase::Counting;
            }
            Phase::Counting => {
                let count = self.counting.since(&mut self.zero)?;
                self.counts.push(count);
            }
        }
        let counted = self.counts.len();
        let next = self.batched.next(counted, Instant::now(), took);
        Ok(next.map(|requests| Batch {
            requests,
            pause: self.pause,
        }))
    }
}

impl Batched {
    /// The same as in the first trial, however long they take.
    pub(super) fn known(batches: Vec<NonZeroU64>) -> Self {
        Self { batches, end: None }
    }

    /// As many of these requests as fit into the time until `end`, if there is one.
    pub(super) fn fitting(requests: u64, end: Option<Instant>) -> Self {
        let batches = shares(requests).collect();
        Self { batches, end }
    }

    /// How many requests all batches have.
    fn requests(&self) -> u64 {
        self.batches.iter().map(|batch| batch.get()).sum()
    }

    /// Leaves out what would last too long, if the requests of the settling batch took this long.
    fn fit(&mut self, now: Instant, settling: Duration) {
        if let Some(end) = self.end {
            let each = settling.as_secs_f64() / SETTLING.get() as f64;
            let fitting = end.saturating_duration_since(now).as_secs_f64() / each;
            let fitting = (fitting as u64).max(FEWEST_IN_BATCH * BATCHES);
            self.batches = shares(fitting.min(self.requests())).collect();
        }
    }

    /// The next batch after `counted` ones, of which the last took this long; `None` if there is none, or too little time.
    fn next(&self, counted: usize, now: Instant, took: Duration) -> Option<NonZeroU64> {
        let is_late = self.end.is_some_and(|end| now + took > end);
        let is_over = is_late && counted >= FEWEST_BATCHES;
        self.batches.get(counted).copied().filter(|_| !is_over)
    }
}

/// The pause before each request, from the time of a request that follows another.
fn pause(seconds_per_request: f64) -> Duration {
    let pause = Duration::try_from_secs_f64(seconds_per_request);
    let pause = pause.unwrap_or(LONGEST_PAUSE);
    pause.clamp(SHORTEST_PAUSE, LONGEST_PAUSE)
}

/// A number of requests in batches that differ by one at most.
fn shares(requests: u64) -> impl Iterator<Item = NonZeroU64> {
    let batches = BATCHES.min(requests);
    (0..batches).filter_map(move |batch| {
        NonZeroU64::new(requests / batches + u64::from(batch < requests % batches))
    })
}

/// The batches whose requests do not cost far more than those of the median one.
fn usual(mut batches: Vec<(u64, InstructionCount)>) -> Vec<(u64, InstructionCount)> {
    let cost = |(requests, count): &(u64, InstructionCount)| count.total as f64 / *requests as f64;
    let costs: Vec<f64> = batches.iter().map(cost).collect();
    if let Some(median) = prony_stats::median(&costs) {
        batches.retain(|batch| cost(batch) <= UNUSUAL * median);
    }
    batches
}

#[cfg(test)]
mod tests {
    use super::*;

    fn batch(requests: u64, total: u64) -> (u64, InstructionCount) {
        let count = InstructionCount {
            total,
            ..InstructionCount::default()
        };
        (requests, count)
    }

    #[test]
    fn requests_are_divided_into_batches() {
        let of = |requests| shares(requests).map(NonZeroU64::get).collect::<Vec<u64>>();
        assert_eq!(of(1000), [100; 10]);
        assert_eq!(of(3), [1; 3]);
        assert_eq!(of(12), [2, 2, 1, 1, 1, 1, 1, 1, 1, 1]);
    }

    #[test]
    fn requests_fit_into_the_time_that_is_left() {
        let now = Instant::now();
        let fitted = |requests, left_s: u64, settling_s: f64| {
            let mut batched = Batched::fitting(requests, Some(now + Duration::from_secs(left_s)));
            batched.fit(now, Duration::from_secs_f64(settling_s));
            batched.requests()
        };
        // Twenty requests took 5 s, so one takes 250 ms.
        assert_eq!(fitted(1000, 500, 5.0), 1000);
        assert_eq!(fitted(1000, 75, 5.0), 300);
        assert_eq!(fitted(1000, 0, 5.0), 100, "the fewest");
        assert_eq!(fitted(7, 0, 5.0), 7, "fewer are wanted");
        let mut endless = Batched::fitting(1000, None);
        endless.fit(now, Duration::from_secs(9));
        assert_eq!((endless.requests(), endless.batches.len()), (1000, 10));
    }

    #[test]
    fn batches_end_when_the_next_would_last_too_long() {
        let now = Instant::now();
        let after_s = |s: u64| now + Duration::from_secs(s);
        let took = Duration::from_secs(2);
        let batched = Batched::fitting(100, Some(after_s(10)));
        let ten = NonZeroU64::new(10);
        assert_eq!(batched.next(4, after_s(8), took), ten);
        assert_eq!(batched.next(4, after_s(9), took), None);
        assert_eq!(batched.next(2, after_s(9), took), ten, "three at least");
        assert_eq!(batched.next(10, after_s(0), took), None);
        let known = Batched::known(batched.batches[..4].to_vec());
        assert_eq!(known.next(3, after_s(90), took), ten);
        assert_eq!(known.next(4, after_s(0), took), None);
    }

    #[test]
    fn a_batch_in_which_garbage_was_collected_is_left_out() {
        let batches = [100, 101, 99, 150, 92, 100].map(|each| batch(10, 10 * each));
        let kept = usual(batches.into());
        let kept: Vec<u64> = kept.iter().map(|(_, count)| count.total).collect();
        assert_eq!(kept, [1000, 1010, 990, 920, 1000]);
    }

    #[test]
    fn batches_of_different_sizes_are_compared_by_request() {
        let batches = [batch(2, 200), batch(1, 100), batch(2, 210)];
        assert_eq!(usual(batches.into()).len(), 3);
        assert!(usual(Vec::new()).is_empty());
    }
}
