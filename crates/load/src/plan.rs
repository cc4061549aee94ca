//! The load that is asked for.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use prony_record::{LoadShape, LoadSpec, Target};

use crate::answer::AnswerCheck;
use crate::request::WireRequest;

/// A load on one target: everything that [`crate::run`] needs to know.
#[derive(Clone)]
pub struct LoadPlan {
    /// Where it goes.
    pub address: SocketAddr,
    /// The URL, for the record.
    pub url: String,
    /// What is sent.
    pub request: WireRequest,
    /// When requests are due.
    pub shape: LoadShape,
    /// How many connections, over all threads, or users, with a connection each; in a closed loop no
    /// more are opened than there are `requests`.
    pub connections: usize,
    /// How many threads.
    pub threads: usize,
    /// How long it is measured; `None` where only `requests` ends it.
    pub duration: Option<Duration>,
    /// How many measured requests there are at the most.
    pub requests: Option<u64>,
    /// How long requests are sent before measuring begins.
    pub warmup: Duration,
    /// How long an answer may take from the send, or from the scheduled arrival where the shape has
    /// one.
    pub timeout: Duration,
    /// The CPUs that the threads are pinned to in turn; empty for none.
    pub cpus: Vec<usize>,
    /// Which answers are compared with the right one; `None` accepts every 2xx and 3xx.
    pub sampling: Option<Sampling>,
}

/// Which answers are looked at whole while the load runs.
#[derive(Clone)]
pub struct Sampling {
    /// What the right answer is.
    pub check: Arc<dyn AnswerCheck>,
    /// Every how manieth answer of a thread is compared; the first one asked for in the warm-up and
    /// the first one asked for after it always are. At least 1.
    pub every: u64,
}

/// Why a load cannot be made as asked.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum PlanError {
    /// No connection.
    #[error("a load needs at least one connection")]
    NoConnections,
    /// No thread.
    #[error("a load needs at least one thread")]
    NoThreads,
    /// Wrk's rule: a thread without a connection has nothing to do.
    #[error(
        "{threads} threads share {connections} connections: give at least one connection a thread"
    )]
    ThreadsWithoutConnections {
        /// Threads asked for.
        threads: usize,
        /// Connections asked for.
        connections: usize,
    },
    /// Nothing ends it.
    #[error("a load ends by a duration, by a number of requests, or by both: neither was given")]
    Endless,
    /// A duration of nothing.
    #[error("{what} must be longer than zero")]
    Zero {
        /// What is zero.
        what: &'static str,
    },
}

impl LoadPlan {
    /// Says what is wrong with it before anything is opened.
    pub fn validate(&self) -> Result<(), PlanError> {
        let (threads, connections) = (self.threads, self.connections);
        match (self.duration, self.requests) {
            _ if connections == 0 => Err(PlanError::NoConnections),
            _ if threads == 0 => Err(PlanError::NoThreads),
            _ if threads > connections => Err(PlanError::ThreadsWithoutConnections {
                threads,
                connections,
            }),
            (None, None) => Err(PlanError::Endless),
            (Some(Duration::ZERO), _) => Err(PlanError::Zero {
                what: "the duration",
            }),
            (_, Some(0)) => Err(PlanError::Zero {
                what: "the number of requests",
            }),
            _ if self.timeout.is_zero() => Err(PlanError::Zero {
                what: "the timeout",
            }),
            _ => self.validate_shape(),
        }
    }

    fn validate_shape(&self) -> Result<(), PlanError> {
        match self.shape {
            LoadShape::UsersOpen { think_time_s } if !has_microseconds(think_time_s) => {
                Err(PlanError::Zero {
                    what: "the mean think time, to the microsecond,",
                })
            }
            LoadShape::Closed | LoadShape::UsersOpen { .. } => Ok(()),
        }
    }

    /// The load as the record has it.
    pub fn spec(&self) -> LoadSpec {
        LoadSpec {
            shape: self.shape,
            connections: self.connections,
            threads: self.threads,
            duration_s: self.duration.map(|duration| duration.as_secs_f64()),
            requests: self.requests,
            warmup_s: self.warmup.as_secs_f64(),
            timeout_s: self.timeout.as_secs_f64(),
        }
    }

    /// The target as the record has it.
    pub fn target(&self) -> Target {
        Target {
            url: self.url.clone(),
            method: self.request.method().into(),
            address: self.address.to_string(),
        }
    }
}

fn has_microseconds(seconds: f64) -> bool {
    Duration::try_from_secs_f64(seconds).is_ok_and(|duration| duration.as_micros() > 0)
}

/// `whole` split into `parts` as evenly as can be: the `index`th part. The remainder is spread
/// over the first parts, so that nothing is dropped.
pub(crate) fn share_of(whole: u64, parts: u64, index: u64) -> u64 {
    whole / parts + u64::from(index < whole % parts)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn shares_add_up_to_the_whole_and_differ_by_one_at_most(
            whole in 0u64..1_000_000,
            parts in 1u64..64,
        ) {
            let shares: Vec<u64> = (0..parts).map(|index| share_of(whole, parts, index)).collect();
            prop_assert_eq!(shares.iter().sum::<u64>(), whole);
            prop_assert!(shares.iter().max().unwrap() - shares.iter().min().unwrap() <= 1);
        }
    }
}
