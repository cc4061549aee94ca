//! Counts of the instructions of each batch of requests.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use prony_instructions::{Control, InstructionCount};
use prony_kernel::TreeCounters;
use prony_load::Batches;
use prony_model::CountedBatches;

use super::super::process::Process;
use super::Counter;

/// The requests of the first batch, which are not counted: they open the connections, and an emulator translates the server's
/// code once more.
const SETTLING: u64 = 20;
/// How many batches are counted.
const BATCHES: u64 = 10;
/// A batch is unusual if its requests cost more than this many times those of the median batch.
const UNUSUAL: f64 = 1.15;
/// A pause is this many times as long as a request takes in the warm-up, so that the server has ended all of its work for the
/// last one. The next request would otherwise sometimes be there before the server waits for it, which saves it a few
/// instructions.
const PAUSE_IN_REQUESTS: f64 = 2.0;
const SHORTEST_PAUSE: Duration = Duration::from_millis(1);
const LONGEST_PAUSE: Duration = Duration::from_millis(50);

/// Counts while the server runs.
pub(super) enum Counting {
    Counters(TreeCounters),
    Emulator(Control),
}

impl Counting {
    /// Begins to count what the server does.
    pub(super) fn begin(counter: &Counter, server: &Process) -> Result<Self, String> {
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
                let control = Control::new(emulator, &folder);
                control.start().map_err(|error| error.to_string())?;
                Ok(Self::Emulator(control))
            }
        }
    }

    /// What is counted from now on is the first batch's.
    fn zero(&self) -> Result<Zero, String> {
        match self {
            Self::Counters(counters) => Ok(Zero(instructions(counters)?)),
            Self::Emulator(control) => {
                control.zero().map_err(|error| error.to_string())?;
                Ok(Zero(0))
            }
        }
    }

    /// What has been counted since `zero`, which becomes the count of now.
    fn since(&self, zero: &mut Zero) -> Result<InstructionCount, String> {
        match self {
            Self::Counters(counters) => {
                let before = std::mem::replace(&mut zero.0, instructions(counters)?);
                Ok(InstructionCount {
                    total: zero.0.saturating_sub(before),
                    processes: 1,
                    ..InstructionCount::default()
                })
            }
            // Reading sets the counts to 0.
            Self::Emulator(control) => control.read().map_err(|error| error.to_string()),
        }
    }
}

/// The count at which a batch begins.
struct Zero(u64);

fn instructions(counters: &TreeCounters) -> Result<u64, String> {
    let read = counters.read().map(|read| read.instructions);
    read.ok_or_else(|| "the processor's counters were all in use".to_owned())
}

/// The counts of the batches of one load.
pub(super) struct BatchCounts {
    shared: Arc<Shared>,
}

struct Shared {
    counting: Counting,
    /// How many requests each batch has; the first one is not counted.
    requests: Vec<u64>,
    counts: Mutex<Result<Counts, String>>,
}

struct Counts {
    zero: Zero,
    of_batches: Vec<InstructionCount>,
}

/// What the usual batches cost together.
pub(super) struct Counted {
    pub count: InstructionCount,
    pub requests: u64,
    pub batches: CountedBatches,
}

impl BatchCounts {
    /// Counts over a number of requests.
    pub(super) fn new(counting: Counting, requests: u64) -> Self {
        let counts = Counts {
            zero: Zero(0),
            of_batches: Vec::new(),
        };
        Self {
            shared: Arc::new(Shared {
                counting,
                requests: [SETTLING].into_iter().chain(shares(requests)).collect(),
                counts: Mutex::new(Ok(counts)),
            }),
        }
    }

    /// The batches of the load.
    pub(super) fn batches(&self, seconds_per_request: f64) -> Batches {
        let shared = self.shared.clone();
        let pause = PAUSE_IN_REQUESTS * seconds_per_request;
        let pause = Duration::try_from_secs_f64(pause).unwrap_or(LONGEST_PAUSE);
        Batches {
            requests: self.shared.requests.clone(),
            pause: pause.clamp(SHORTEST_PAUSE, LONGEST_PAUSE),
            is_over: Arc::new(move |batch| shared.is_over(batch)),
        }
    }

    /// The counts together, after the load.
    pub(super) fn counted(self) -> Result<Counted, String> {
        let mut counts = self.shared.lock();
        let counts = counts.as_mut().map_err(|why| why.clone())?;
        let counts = std::mem::take(&mut counts.of_batches);
        let batches = counts.len();
        let requests = self.shared.requests.iter().skip(1).copied();
        let usual = usual(requests.zip(counts).collect());
        let mut counted = Counted {
            requests: usual.iter().map(|(requests, _)| requests).sum(),
            batches: CountedBatches {
                all: batches as u32,
                unusual: (batches - usual.len()) as u32,
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

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Result<Counts, String>> {
        self.counts.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn is_over(&self, batch: usize) {
        let mut counts = self.lock();
        let Ok(so_far) = counts.as_mut() else { return };
        let counted = match batch {
            0 => self.counting.zero().map(|zero| so_far.zero = zero),
            _ => {
                { self.counting.since(&mut so_far.zero) }.map(|count| so_far.of_batches.push(count))
            }
        };
        if let Err(why) = counted {
            *counts = Err(why);
        }
    }
}

/// A number of requests in batches that differ by one at most.
fn shares(requests: u64) -> impl Iterator<Item = u64> {
    let batches = BATCHES.min(requests);
    (0..batches).map(move |batch| requests / batches + u64::from(batch < requests % batches))
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
        let of = |requests| shares(requests).collect::<Vec<u64>>();
        assert_eq!(of(1000), [100; 10]);
        assert_eq!(of(3), [1; 3]);
        assert_eq!(of(12), [2, 2, 1, 1, 1, 1, 1, 1, 1, 1]);
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
        assert_eq!(
            usual(vec![batch(2, 200), batch(1, 100), batch(2, 210)]).len(),
            3
        );
        assert!(usual(Vec::new()).is_empty());
    }
}
