//! What a run reports while it is in progress.

use std::time::Duration;

use prony_load::Progress;
use prony_model::{ServerRecord, Trial, TrialRecord};

use prony_server::Logs;

use crate::plan::{Planned, TrialAttempt};

/// Something that happened in a run.
#[derive(Debug)]
pub enum RunEvent<'a> {
    /// A toolchain is being made, or a server built.
    Preparing {
        /// The server.
        server: &'a str,
        /// What is being done.
        step: &'a str,
    },
    /// A server is built, skipped or failed.
    Prepared {
        /// The server, with its status.
        server: &'a ServerRecord,
    },
    /// A server's responses are being checked.
    Verifying {
        /// The server.
        server: &'a str,
    },
    /// A server's responses are checked.
    Verified {
        /// The server, with what was found.
        server: &'a ServerRecord,
        /// What it wrote, which is kept if a response was wrong.
        logs: Option<&'a Logs>,
    },
    /// It is known which trials are to be run: all, or if rounds are added as needed those of the
    /// rounds that precision takes at least. A budget may end them sooner.
    Planned {
        /// They, in order.
        trials: &'a [Trial],
    },
    /// A round begins.
    Round {
        /// Its trials, in order.
        trials: &'a [Planned],
    },
    /// A trial begins.
    Trial {
        /// Which, and which attempt at it.
        attempt: &'a TrialAttempt,
    },
    /// A server is warmed up until it is steady; reported several times a second.
    WarmingUp {
        /// The trial that it is warmed up for.
        attempt: &'a TrialAttempt,
        /// How long it has taken so far.
        so_far: Duration,
    },
    /// A server that was kept running had ended before its next trial began; another is started and warmed up.
    KeptEnded {
        /// The trial.
        attempt: &'a TrialAttempt,
        /// How it ended: `ended with exit code 3`.
        exit: &'a str,
    },
    /// The load of a trial is running; reported several times a second.
    Loading {
        /// The trial.
        attempt: &'a TrialAttempt,
        /// How far it has come.
        progress: &'a Progress,
    },
    /// A trial is over.
    Measured {
        /// Its result.
        record: &'a TrialRecord,
        /// Whether it is re-run at the end of its round.
        again: bool,
    },
    /// A round is over after which more may be added.
    Compared {
        /// How far the ends of the widest interval are from its ratio, as a share of it, of what is not
        /// yet precise enough; `None` if nothing is left, or nothing can be compared.
        widest: Option<f64>,
        /// What is left of the budget.
        time_left: Duration,
    },
}
