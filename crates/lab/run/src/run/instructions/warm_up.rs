//! The warm-up of a server whose instructions are counted: a number of requests, the same for all servers of a measure.

use std::num::NonZeroU64;
use std::time::{Duration, Instant};

use prony_load::Batch;
use prony_server::ProcessTree;

/// A warm-up is a series of batches, each as long as all before together, after one that shows how slow the server is. All
/// go over the connections of the requests that count: V8 drops code that it has optimized for one connection when another
/// one comes.
const FIRST_BATCH: u64 = 25;
const FIRST_TWO_BATCHES: u64 = 250;
/// The fewest requests of a warm-up, and the most.
const FEWEST_REQUESTS: u64 = 4000;
const MOST_REQUESTS: u64 = 256_000;
/// A server still gets faster if its latest requests took less than this share of the time of those before.
const STILL_FASTER: f64 = 0.92;
/// The limit of a warm-up is CPU time, because the machine may be busy; in any case it ends after this many times the limit.
const LONGEST_WARM_UP: u32 = 5;

/// What a warm-up has taken so far.
#[derive(Clone, Copy, Debug, Default)]
struct Spent {
    time: Duration,
    /// CPU time of the server, in seconds.
    cpu_s: f64,
}

/// The warm-up of one server.
pub(super) struct WarmUp {
    known: Option<u64>,
    /// How much CPU time it may take, and how long.
    limit: Duration,
    longest: Duration,
    /// What it has taken so far. In tests that is made up.
    clock: Box<dyn Fn() -> Spent + Send>,
    sent: u64,
    batch: u64,
    batch_begun: Duration,
    /// How long a request took in each batch so far, in seconds.
    times: Vec<f64>,
}

impl WarmUp {
    /// A warm-up of the known number of requests, or else of as many as the server needs to stop getting faster, in at most
    /// `limit` of CPU time and the time that is `allowed`.
    pub(super) fn begin(
        known: Option<u64>,
        tree: Option<ProcessTree>,
        limit: Duration,
        allowed: Option<Duration>,
    ) -> Self {
        let begun = Instant::now();
        let before_s = cpu_s(tree.as_ref());
        let clock = move || Spent {
            time: begun.elapsed(),
            cpu_s: cpu_s(tree.as_ref()) - before_s,
        };
        Self::of(known, limit, allowed, Box::new(clock))
    }

    fn of(
        known: Option<u64>,
        limit: Duration,
        allowed: Option<Duration>,
        clock: Box<dyn Fn() -> Spent + Send>,
    ) -> Self {
        let longest = limit.saturating_mul(LONGEST_WARM_UP);
        Self {
            known,
            limit,
            longest: allowed.map_or(longest, |allowed| allowed.min(longest)),
            clock,
            sent: 0,
            batch: 0,
            batch_begun: Duration::ZERO,
            times: Vec::new(),
        }
    }

    /// The next batch, after the one before is over; `None` if the server is warm.
    pub(super) fn next(&mut self) -> Option<Batch> {
        let spent = (self.clock)();
        if self.batch > 0 {
            let took_s = (spent.time - self.batch_begun).as_secs_f64();
            self.times.push(took_s / self.batch as f64);
            self.sent += self.batch;
        }
        let is_over = match self.known {
            Some(all) => self.sent >= all,
            None => self.is_warm(spent),
        };
        self.batch = if is_over { 0 } else { next_batch(self.sent) };
        self.batch_begun = spent.time;
        let pause = Duration::ZERO;
        NonZeroU64::new(self.batch).map(|requests| Batch { requests, pause })
    }

    /// How many requests it had.
    pub(super) fn requests(&self) -> u64 {
        self.sent
    }

    /// How long a request of its last batch took, one after another.
    pub(super) fn seconds_per_request(&self) -> f64 {
        self.times.last().copied().unwrap_or(0.0)
    }

    /// Whether the server is warm, or has had enough requests.
    fn is_warm(&self, spent: Spent) -> bool {
        if self.sent == 0 {
            return false;
        }
        // Each request of the next batch takes as long as those before.
        let all = (self.sent + next_batch(self.sent)) as f64 / self.sent as f64;
        let is_too_long = spent.time.mul_f64(all) > self.longest;
        let is_late = all * spent.cpu_s > self.limit.as_secs_f64();
        let is_enough = self.sent >= FEWEST_REQUESTS && (is_late || is_steady(&self.times));
        is_too_long || is_enough || self.sent >= MOST_REQUESTS
    }
}

fn cpu_s(tree: Option<&ProcessTree>) -> f64 {
    let used = tree.and_then(|tree| tree.cpu_s().ok());
    used.unwrap_or(0.0)
}

/// How many requests the next batch of a warm-up has, after those before: 25, 225, 250, 500, 1000, 2000.
pub(super) fn next_batch(sent: u64) -> u64 {
    match sent {
        0 => FIRST_BATCH,
        sent => sent.max(FIRST_TWO_BATCHES.saturating_sub(sent)),
    }
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
    use std::sync::{Arc, Mutex};

    use super::*;

    #[test]
    fn a_server_is_steady_when_its_requests_take_as_long_as_before() {
        assert!(!is_steady(&[1.0]), "too few");
        assert!(is_steady(&[9.0, 1.0, 1.0]));
        assert!(is_steady(&[1.0, 0.95]), "noise");
        assert!(!is_steady(&[1.0, 0.9]));
    }

    /// The batches of a warm-up of up to 10 s in made-up time: `cost_s` is the CPU time of the Nth request, which takes
    /// `stretch` times as long.
    fn batches(
        known: Option<u64>,
        cost_s: fn(u64) -> f64,
        stretch: f64,
        allowed_s: Option<u64>,
    ) -> Vec<u64> {
        let spent = Arc::new(Mutex::new(Spent::default()));
        let clock = Arc::clone(&spent);
        let clock = Box::new(move || *clock.lock().unwrap());
        let allowed = allowed_s.map(Duration::from_secs);
        let mut warm_up = WarmUp::of(known, Duration::from_secs(10), allowed, clock);
        let mut batches = Vec::new();
        while let Some(Batch { requests, pause }) = warm_up.next() {
            assert_eq!(pause, Duration::ZERO);
            let requests = requests.get();
            let sent: u64 = batches.iter().sum();
            let used_s: f64 = (sent..sent + requests).map(cost_s).sum();
            let mut spent = spent.lock().unwrap();
            spent.cpu_s += used_s;
            spent.time += Duration::from_secs_f64(used_s * stretch);
            drop(spent);
            batches.push(requests);
        }
        assert_eq!(warm_up.requests(), batches.iter().sum::<u64>());
        batches
    }

    #[test]
    fn each_batch_of_a_warm_up_is_as_long_as_all_before() {
        let doubling = [
            25, 225, 250, 500, 1000, 2000, 4000, 8000, 16_000, 32_000, 64_000, 128_000,
        ];
        let steady: fn(u64) -> f64 = |_| 0.0001;
        let to_the_16_000th: fn(u64) -> f64 =
            |sent| 0.0004 / (1.0 + sent.min(16_000) as f64 / 1000.0);
        let for_ever: fn(u64) -> f64 = |sent| 0.01 / (1.0 + sent as f64 / 1000.0);
        let fast: fn(u64) -> f64 = |sent| 1e-6 / (1.0 + sent as f64);
        for (name, known, cost_s, stretch, allowed_s, expected) in [
            ("steady", None, steady, 1.0, None, 6),
            // The last batch is as fast as the one before.
            ("gets faster", None, to_the_16_000th, 1.0, None, 10),
            ("known", Some(8000), steady, 1.0, None, 7),
            // 8000 requests would take more than the limit of 10 s of CPU time.
            ("gets faster for ever", None, for_ever, 1.0, None, 6),
            // 250 requests would take more than 50 s.
            ("on a busy machine", None, steady, 6000.0, None, 1),
            ("never steady", None, fast, 1.0, None, 12),
            // A response takes 40 ms: 250 of them fit into 12 s, 500 do not.
            ("within a budget", None, steady, 400.0, Some(12), 2),
            (
                "known, within a budget",
                Some(1000),
                steady,
                400.0,
                Some(12),
                4,
            ),
        ] {
            let expected = &doubling[..expected];
            let found = batches(known, cost_s, stretch, allowed_s);
            assert_eq!(found, expected, "{name}");
        }
    }
}
