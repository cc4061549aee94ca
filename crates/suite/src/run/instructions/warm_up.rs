//! The warm-up of a server whose instructions are counted: a number of requests, the same for all servers of a measure.

use std::num::NonZeroU64;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};

use prony_load::Batch;
use prony_server::ProcessTree;

/// A warm-up is a series of batches, each as long as all before together. All go over the connections of the requests that
/// count: V8 drops code that it has optimized for one connection when another one comes.
const FIRST_BATCH: u64 = 250;
/// The fewest requests of a warm-up, and the most.
const FEWEST_REQUESTS: u64 = 4000;
const MOST_REQUESTS: u64 = 256_000;
/// A server still gets faster if its latest requests took less than this share of the time of those before.
const STILL_FASTER: f64 = 0.92;
/// The limit of a warm-up is CPU time, because the machine may be busy; in any case it ends after this many times the limit.
const LONGEST_WARM_UP: u32 = 5;

/// How many requests warm up the servers of one measure: the first trial searches that, and all others use it, so that both
/// sides of a comparison do the same. 0 before the search.
#[derive(Debug, Default)]
pub struct WarmUpRequests(AtomicU64);

impl WarmUpRequests {
    pub(super) fn known(&self) -> Option<u64> {
        Some(self.0.load(Relaxed)).filter(|known| *known > 0)
    }

    pub(super) fn learn(&self, requests: u64) {
        self.0.store(requests, Relaxed);
    }
}

/// The warm-up of one server.
pub(super) struct WarmUp {
    known: Option<u64>,
    search: Search,
    sent: u64,
    batch: u64,
    batch_begun: Instant,
}

impl WarmUp {
    /// A warm-up of the known number of requests, or else of as many as the server needs to stop getting faster.
    pub(super) fn begin(known: Option<u64>, tree: Option<ProcessTree>, limit_s: f64) -> Self {
        let search = Search::begin(tree, limit_s);
        Self {
            known,
            batch_begun: search.begun,
            search,
            sent: 0,
            batch: 0,
        }
    }

    /// The next batch, after the one before is over; `None` if the server is warm.
    pub(super) fn next(&mut self) -> Option<Batch> {
        if self.batch > 0 {
            let took_s = self.batch_begun.elapsed().as_secs_f64();
            self.search.times.push(took_s / self.batch as f64);
            self.sent += self.batch;
        }
        let is_over = match self.known {
            Some(all) => self.sent >= all,
            None => self.search.is_over(self.sent),
        };
        self.batch = if is_over { 0 } else { next_batch(self.sent) };
        self.batch_begun = Instant::now();
        let pause = Duration::ZERO;
        NonZeroU64::new(self.batch).map(|requests| Batch { requests, pause })
    }

    /// How many requests it had.
    pub(super) fn requests(&self) -> u64 {
        self.sent
    }

    /// How long a request of its last batch took, one after another.
    pub(super) fn seconds_per_request(&self) -> f64 {
        self.search.times.last().copied().unwrap_or(0.0)
    }
}

/// The search for the number of requests that warm a server up.
struct Search {
    begun: Instant,
    limit: Duration,
    tree: Option<ProcessTree>,
    cpu_before_s: f64,
    /// How long a request took in each batch so far, in seconds.
    times: Vec<f64>,
}

impl Search {
    fn begin(tree: Option<ProcessTree>, limit_s: f64) -> Self {
        Self {
            begun: Instant::now(),
            limit: Duration::from_secs_f64(limit_s.clamp(0.0, 1e6)),
            cpu_before_s: cpu_s(tree.as_ref()),
            tree,
            times: Vec::new(),
        }
    }

    /// Whether the server is warm after N requests, or has had enough of them.
    fn is_over(&self, sent: u64) -> bool {
        if sent >= MOST_REQUESTS {
            return true;
        }
        if self.begun.elapsed() > self.limit * LONGEST_WARM_UP {
            return sent > 0;
        }
        // The next batch takes as long as all before.
        let used_s = cpu_s(self.tree.as_ref()) - self.cpu_before_s;
        let is_late = 2.0 * used_s > self.limit.as_secs_f64();
        sent >= FEWEST_REQUESTS && (is_late || is_steady(&self.times))
    }
}

fn cpu_s(tree: Option<&ProcessTree>) -> f64 {
    let used = tree.and_then(|tree| tree.cpu_s().ok());
    used.unwrap_or(0.0)
}

/// How many requests the next batch of a warm-up has, after those before: 250, 250, 500, 1000, 2000.
pub(super) fn next_batch(sent: u64) -> u64 {
    sent.max(FIRST_BATCH)
}

/// Whether a request of the last batch took no less time than one of the batch before, apart from noise.
fn is_steady(times: &[f64]) -> bool {
    match times {
        [.., before, last] => *last >= STILL_FASTER * before,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_is_steady_when_its_requests_take_as_long_as_before() {
        assert!(!is_steady(&[1.0]), "too few");
        assert!(is_steady(&[9.0, 1.0, 1.0]));
        assert!(is_steady(&[1.0, 0.95]), "noise");
        assert!(!is_steady(&[1.0, 0.9]));
    }

    #[test]
    fn each_batch_of_a_warm_up_is_as_long_as_all_before() {
        let (mut sent, mut batches) = (0, Vec::new());
        while sent < FEWEST_REQUESTS {
            batches.push(next_batch(sent));
            sent += next_batch(sent);
        }
        assert_eq!(batches, [250, 250, 500, 1000, 2000]);
    }
}
