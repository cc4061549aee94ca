//! Whether a running load can no longer meet the objective. It is then cut short, because a server under far more load than it
//! can serve would have to work off the backlog.

use prony_model::objective::{Objective, Objectives, Statistic};

/// What a running load has measured so far.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Seen {
    /// Expected responses.
    pub ok: u64,
    /// Requests without one.
    pub errors: u64,
    /// The median of the slowest thread's latencies, in nanoseconds.
    pub p50_ns: u64,
    /// The 99th percentile of these latencies, in nanoseconds.
    pub p99_ns: u64,
    /// The number of threads; each sends an equal part of the requests.
    pub threads: usize,
}

/// The tolerance for the expected number of requests and for a thread's part in them.
const SLACK: f64 = 0.8;
/// This many failures beyond the bound are tolerated.
const MARGIN: f64 = 10.0;

/// Whether a bound is broken however the rest of the expected `requests` ends.
pub fn is_hopeless(objectives: &Objectives, requests: f64, seen: &Seen) -> bool {
    objectives.all().iter().any(|objective| match objective {
        Objective::Errors { limit } => seen.errors as f64 > limit.value * requests / SLACK + MARGIN,
        // A search chooses the rate itself.
        Objective::Rate { .. } => false,
        Objective::Latency { statistic, limit } => {
            let beyond =
                seen.at_least_beyond(objective.limit() + f64::from(u8::from(limit.inclusive)));
            match statistic {
                Statistic::Percentile(percentile) => {
                    beyond > percentile.share_beyond() * requests / SLACK + MARGIN
                }
                Statistic::Max => beyond > MARGIN,
                // Many short latencies may still make up for one that is very long.
                Statistic::Mean => false,
            }
        }
    })
}

impl Seen {
    /// How many latencies were certainly this long or longer.
    fn at_least_beyond(&self, nanoseconds: f64) -> f64 {
        let of_slowest = self.ok as f64 / self.threads.max(1) as f64 * SLACK;
        let is_beyond = |latency: u64| latency as f64 >= nanoseconds;
        if is_beyond(self.p50_ns) {
            of_slowest * 0.5
        } else if is_beyond(self.p99_ns) {
            of_slowest * 0.01
        } else {
            0.0
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_load_is_cut_short_only_if_it_cannot_recover() {
        // Of 10,000 in all, 100 may take 10 ms or longer.
        for (objectives, ok, p50_ms, p99_ms, threads, expected) in [
            // These may be those 100.
            ("p99<10ms", 100, 20, 50, 1, false),
            ("p99<10ms", 1000, 20, 50, 1, true),
            // One of a hundred, and 1000 to come.
            ("p99<10ms", 9000, 5, 20, 1, false),
            // The latencies of the other thread may be short.
            ("p99<10ms", 600, 20, 50, 2, false),
            ("p50<10ms", 9000, 20, 50, 1, false),
            ("max<10ms", 1000, 20, 50, 1, true),
            ("mean<10ms", 9000, 20, 50, 1, false),
        ] {
            let seen = Seen {
                ok,
                errors: 0,
                p50_ns: p50_ms * 1_000_000,
                p99_ns: p99_ms * 1_000_000,
                threads,
            };
            let is_cut = is_hopeless(&objectives.parse().unwrap(), 10_000.0, &seen);
            assert_eq!(is_cut, expected, "{objectives}: {seen:?}");
        }
    }

    #[test]
    fn errors_beyond_the_total_allowance_end_a_load() {
        for (errors, expected) in [(100, false), (200, true)] {
            let seen = Seen {
                errors,
                ..Seen::default()
            };
            let objectives = "errors<1%".parse().unwrap();
            assert_eq!(is_hopeless(&objectives, 10_000.0, &seen), expected);
        }
    }
}
