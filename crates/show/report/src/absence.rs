//! Which servers are missing from which table, and why. Every absence is listed.

use prony_model::{
    FailureKind, LoadSpec, Run, ServerRecord, ServerStatus, TrialRecord, TrialResult, VerifyVerdict,
};

use prony_present::words;

use crate::table::ResultTable;

const NO_TRIAL: &str = "no trial was run";

/// Why a row is empty if the user did not ask for it.
pub(crate) const NOT_REQUESTED: &str = "not requested";

/// A server that is missing from one table or from all of its tables.
#[derive(Clone, Debug, PartialEq)]
pub struct Absence {
    pub server: ServerRecord,
    pub why: Why,
}

/// Why a server is missing.
#[derive(Clone, Debug, PartialEq)]
pub enum Why {
    /// It never got as far as [`ServerStatus::Ready`].
    NotReady(ServerStatus),
    /// It failed the verification of a workload.
    Wrong {
        workload: String,
        expected: String,
        received: String,
    },
    /// All its trials of a workload failed.
    Failed {
        workload: String,
        load: LoadSpec,
        /// The kind of the first failure.
        kind: FailureKind,
        /// The message of the first failure.
        message: String,
        /// The number of failed trials.
        trials: usize,
    },
    /// It was ready, but no trial of a workload was run, because the run was stopped.
    NotTried { workload: String, load: LoadSpec },
}

impl Absence {
    /// Whether it is missing from this table.
    pub fn is_from(&self, table: &ResultTable) -> bool {
        let workload = self.why.workload().unwrap_or(&table.workload);
        let load = self.why.load().unwrap_or(&table.load);
        table.is_of(workload, load) && self.server.may_serve(&table.workload)
    }
}

impl Why {
    /// The workload that it is missing from; `None` for all.
    pub fn workload(&self) -> Option<&str> {
        match self {
            Why::NotReady(_) => None,
            Why::Wrong { workload, .. }
            | Why::Failed { workload, .. }
            | Why::NotTried { workload, .. } => Some(workload),
        }
    }

    /// The load that it is missing under; `None` for all.
    pub fn load(&self) -> Option<&LoadSpec> {
        match self {
            Why::NotReady(_) | Why::Wrong { .. } => None,
            Why::Failed { load, .. } | Why::NotTried { load, .. } => Some(load),
        }
    }

    /// The reason in a word or two.
    pub fn label(&self) -> &'static str {
        match self {
            Why::NotReady(ServerStatus::Skipped { .. }) => "skipped",
            Why::NotReady(ServerStatus::BuildFailed { .. }) => "build failed",
            Why::NotReady(ServerStatus::StartFailed { .. }) => "start failed",
            Why::NotReady(ServerStatus::Unreachable { .. }) => "unreachable",
            Why::Wrong { .. } => "failed verification",
            Why::Failed { .. } => "failed",
            Why::NotTried { .. } | Why::NotReady(ServerStatus::Ready) => "not tried",
        }
    }

    /// The reason in full.
    pub fn text(&self) -> String {
        match self {
            Why::NotReady(status) => {
                words::not_ready(status).unwrap_or_else(|| NO_TRIAL.to_owned())
            }
            Why::Wrong {
                expected, received, ..
            } => format!("expected {expected}; received {received}"),
            Why::Failed {
                kind,
                message,
                trials,
                ..
            } => {
                let often = match trials {
                    1 => String::new(),
                    trials => format!(", {trials} trials"),
                };
                format!("{}{often}: {message}", kind.name())
            }
            Why::NotTried { .. } => NO_TRIAL.to_owned(),
        }
    }
}

pub(crate) fn absences(run: &Run, trials: &[TrialRecord], tables: &[ResultTable]) -> Vec<Absence> {
    let of = |server| of_server(server, trials, tables);
    run.servers.iter().flat_map(of).collect()
}

fn of_server(
    server: &ServerRecord,
    trials: &[TrialRecord],
    tables: &[ResultTable],
) -> Vec<Absence> {
    let absence = |why| Absence {
        server: server.clone(),
        why,
    };
    if let Some(why) = not_ready(server) {
        return vec![absence(why)];
    }
    let mut absences: Vec<Absence> = wrong(server).map(absence).collect();
    for table in tables {
        let is_listed = absences.iter().any(|absence| absence.is_from(table));
        let has_row = table.row(&server.id).is_some();
        if server.may_serve(&table.workload) && !has_row && !is_listed {
            let why = no_figures(server, trials, &table.workload, &table.load);
            absences.push(absence(why));
        }
    }
    absences
}

/// Why there are no figures of a server for one workload under one load, in a word or two.
pub(crate) fn why_absent(
    run: &Run,
    trials: &[TrialRecord],
    server: &str,
    workload: &str,
    load: &LoadSpec,
) -> &'static str {
    let Some(server) = run.server(server) else {
        return NOT_REQUESTED;
    };
    let wrong = || wrong(server).find(|why| why.workload() == Some(workload));
    match not_ready(server).or_else(wrong) {
        Some(why) => why.label(),
        None if !server.may_serve(workload) => "does not serve it",
        None => no_figures(server, trials, workload, load).label(),
    }
}

fn not_ready(server: &ServerRecord) -> Option<Why> {
    let status = Some(server.status.clone()).filter(|status| *status != ServerStatus::Ready);
    status.map(Why::NotReady)
}

fn wrong(server: &ServerRecord) -> impl Iterator<Item = Why> {
    let verified = server.verified.iter();
    verified.filter_map(|verified| match &verified.verdict {
        VerifyVerdict::Right => None,
        VerifyVerdict::Wrong { expected, received } => Some(Why::Wrong {
            workload: verified.workload.clone(),
            expected: expected.clone(),
            received: received.clone(),
        }),
    })
}

/// The absences of a server that was ready and responded correctly.
fn no_figures(
    server: &ServerRecord,
    trials: &[TrialRecord],
    workload: &str,
    load: &LoadSpec,
) -> Why {
    let here = trials
        .iter()
        .filter(|record| record.is_of(&server.id, workload, load));
    let mut failures = here.filter_map(|record| match &record.result {
        TrialResult::Failed { kind, message } => Some((*kind, message)),
        TrialResult::Measured(_) => None,
    });
    let (workload, load) = (workload.to_owned(), load.clone());
    match failures.next() {
        Some((kind, message)) => Why::Failed {
            workload,
            load,
            kind,
            message: message.clone(),
            trials: 1 + failures.count(),
        },
        None => Why::NotTried { workload, load },
    }
}
