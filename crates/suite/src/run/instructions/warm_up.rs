//! The warm-up of a server whose instructions are counted: a number of requests, the same for all servers of a measure.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};

use super::super::process::Process;
use super::super::trial::{Stop, TrialEvent, TrialSetup};

/// A warm-up is a series of loads, each over new connections and as long as all before together: V8 drops code that it has
/// optimized for one connection when another one comes.
const FIRST_LOAD: u64 = 250;
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
    fn known(&self) -> Option<u64> {
        Some(self.0.load(Relaxed)).filter(|known| *known > 0)
    }

    fn learn(&self, requests: u64) {
        self.0.store(requests, Relaxed);
    }
}

/// How a server was warmed up.
pub(super) struct WarmedUpBy {
    /// With how many requests.
    pub requests: u64,
    /// How long the last ones took, one after another.
    pub seconds_per_request: f64,
}

impl TrialSetup<'_> {
    /// Warms the server up with the number of requests of the measure, or until it stops getting faster if that is not known
    /// yet.
    pub(super) fn warm_up_by_requests(
        &self,
        server: &mut Process,
        observe: &mut dyn FnMut(TrialEvent<'_>),
    ) -> Result<WarmedUpBy, Stop> {
        let mut search = Search::begin(server, self.attempt.warmup_limit_s);
        let mut sent = 0;
        loop {
            let is_over = match self.warm_up_requests.known() {
                Some(requests) => sent >= requests,
                None => search.is_over(server, sent),
            };
            if is_over {
                self.warm_up_requests.learn(sent);
                return Ok(WarmedUpBy {
                    requests: sent,
                    seconds_per_request: search.times.last().copied().unwrap_or(0.0),
                });
            }
            observe(TrialEvent::WarmingUp(search.begun.elapsed()));
            let requests = next_load(sent);
            let took_s = self.send(server, requests)?.duration_s;
            search.times.push(took_s / requests as f64);
            sent += requests;
        }
    }
}

/// The search for the number of requests that warm a server up.
struct Search {
    begun: Instant,
    limit: Duration,
    cpu_before_s: f64,
    /// How long a request took in each load so far, in seconds.
    times: Vec<f64>,
}

impl Search {
    fn begin(server: &Process, limit_s: f64) -> Self {
        Self {
            begun: Instant::now(),
            limit: Duration::from_secs_f64(limit_s.clamp(0.0, 1e6)),
            cpu_before_s: cpu_s(server),
            times: Vec::new(),
        }
    }

    /// Whether a server is warm after N requests, or has had enough of them.
    fn is_over(&self, server: &Process, sent: u64) -> bool {
        if sent >= MOST_REQUESTS {
            return true;
        }
        if self.begun.elapsed() > self.limit * LONGEST_WARM_UP {
            return sent > 0;
        }
        // The next load takes as long as all before.
        let is_late = 2.0 * (cpu_s(server) - self.cpu_before_s) > self.limit.as_secs_f64();
        sent >= FEWEST_REQUESTS && (is_late || is_steady(&self.times))
    }
}

fn cpu_s(server: &Process) -> f64 {
    let used = server.tree().and_then(|tree| tree.cpu_s().ok());
    used.unwrap_or(0.0)
}

/// How many requests the next load of a warm-up sends, after those before: 250, 250, 500, 1000, 2000.
pub(super) fn next_load(sent: u64) -> u64 {
    sent.max(FIRST_LOAD)
}

/// Whether a request of the last load took no less time than one of the load before, apart from noise.
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
    fn each_load_of_a_warm_up_is_as_long_as_all_before() {
        let (mut sent, mut loads) = (0, Vec::new());
        while sent < FEWEST_REQUESTS {
            loads.push(next_load(sent));
            sent += next_load(sent);
        }
        assert_eq!(loads, [250, 250, 500, 1000, 2000]);
    }
}
