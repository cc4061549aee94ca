//! What a run reports while it is in progress.

use std::time::Duration;

use prony_load::Progress;
use prony_model::{ServerRecord, Trial, TrialRecord};
use prony_server::Logs;

use crate::plan::{Planned, TrialAttempt};

#[derive(Debug)]
pub enum RunEvent<'a> {
    /// Prony is installing a server's toolchain or building the server.
    Preparing {
        server: &'a str,
        /// What Prony is doing: `building`.
        step: &'a str,
    },
    /// This server was built or skipped, or its build failed.
    Prepared(&'a ServerRecord),
    /// The responses of this server are being checked.
    Verifying(&'a str),
    /// A server's responses have been checked.
    Verified {
        /// The server, with the result.
        server: &'a ServerRecord,
        /// The logs of its processes with wrong responses.
        logs: &'a [Logs],
    },
    /// The trials are planned: all of them or, if Prony adds rounds as needed, those of the least number of rounds. If
    /// the budget runs out, not all of them run.
    Planned(&'a [Trial]),
    /// A round of these trials begins.
    Round(&'a [Planned]),
    /// An attempt at a trial begins.
    Trial(&'a TrialAttempt),
    /// Prony is warming a server up until it is steady; reported several times per second.
    WarmingUp {
        /// The trial that it is warmed up for.
        attempt: &'a TrialAttempt,
        /// How long it has taken so far.
        so_far: Duration,
    },
    /// A server that was kept running has ended between two trials; Prony starts and warms up another.
    KeptEnded {
        attempt: &'a TrialAttempt,
        /// How it ended: `ended with exit code 3`.
        exit: &'a str,
    },
    /// The load of a trial is running; reported several times per second.
    Loading {
        attempt: &'a TrialAttempt,
        progress: &'a Progress,
    },
    /// A trial is over; it may have failed.
    TrialOver {
        /// Its result.
        record: &'a TrialRecord,
        /// Whether Prony re-runs it at the end of its round.
        again: bool,
    },
    /// After the trials: a server is being explained.
    Explaining {
        server: &'a str,
        workload: &'a str,
        /// What Prony does: `round 2 of 5`.
        step: &'a str,
        /// How many steps of all servers are over.
        done: usize,
        /// How many there are.
        steps: usize,
    },
    /// A round is over, and more may be added.
    RoundOver {
        /// Half the width of the widest interval that is still too wide, as a share of its ratio; `None` if none is too
        /// wide, or nothing can be compared.
        widest: Option<f64>,
        /// What is left of the budget.
        time_left: Duration,
    },
}
