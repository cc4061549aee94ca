//! Which servers are missing from which table, and why. Every absence is listed.

use prony_model::{
    FailureKind, LoadSpec, Run, ServerRecord, ServerStatus, TrialRecord, TrialResult, VerifyVerdict,
};

use crate::table::{ResultTable, ServerLabel};

/// A server that is missing from one table or from all of its tables.
#[derive(Clone, Debug, PartialEq)]
pub struct Absence {
    /// The server.
    pub server: ServerLabel,
    /// The workloads that it serves; empty if unknown. It is not missing from the tables of other workloads.
    pub serves: Vec<String>,
    /// The reason.
    pub why: Why,
}

/// Why a server is missing.
#[derive(Clone, Debug, PartialEq)]
pub enum Why {
    /// Its toolchain is not installed.
    Skipped {
        /// What is missing.
        missing: String,
        /// The command line that installs it.
        install: String,
    },
    /// Its build failed.
    BuildFailed {
        /// The last lines of the build's output.
        output: String,
    },
    /// It was built but could not be started.
    StartFailed {
        /// The error message.
        reason: String,
    },
    /// It failed the verification of a workload.
    Wrong {
        /// The workload.
        workload: String,
        /// The expected response.
        expected: String,
        /// The response.
        came: String,
    },
    /// All its trials of a workload failed.
    Failed {
        /// The workload.
        workload: String,
        /// The load.
        load: LoadSpec,
        /// The kind of the first failure.
        kind: FailureKind,
        /// The message of the first failure.
        message: String,
        /// The number of failed trials.
        trials: usize,
    },
    /// It was ready, but no trial of a workload was run, because the run was stopped.
    NotTried {
        /// The workload.
        workload: String,
        /// The load.
        load: LoadSpec,
    },
}

impl Absence {
    /// Whether it is missing from this table.
    pub fn is_from(&self, table: &ResultTable) -> bool {
        let here = *table.workload == *self.why.workload().unwrap_or(&table.workload);
        let load = match &self.why {
            Why::Failed { load, .. } | Why::NotTried { load, .. } => load.same_load(&table.load),
            _ => true,
        };
        here && load && can_serve(&self.serves, &table.workload)
    }
}

/// Whether a server that serves these workloads serves this one, too. Old records do not list them; the server may then.
fn can_serve(serves: &[String], workload: &str) -> bool {
    serves.is_empty() || serves.iter().any(|served| served == workload)
}

impl Why {
    /// The workload that it is missing from; `None` for all.
    pub fn workload(&self) -> Option<&str> {
        match self {
            Why::Skipped { .. } | Why::BuildFailed { .. } | Why::StartFailed { .. } => None,
            Why::Wrong { workload, .. }
            | Why::Failed { workload, .. }
            | Why::NotTried { workload, .. } => Some(workload),
        }
    }

    /// The reason in a word or two.
    pub fn label(&self) -> &'static str {
        match self {
            Why::Skipped { .. } => "skipped",
            Why::BuildFailed { .. } => "build failed",
            Why::StartFailed { .. } => "start failed",
            Why::Wrong { .. } => "failed verification",
            Why::Failed { .. } => "failed",
            Why::NotTried { .. } => "not tried",
        }
    }

    /// The reason in full.
    pub fn text(&self) -> String {
        match self {
            Why::Skipped { missing, install } => {
                format!("{missing} is missing; to install it: {install}")
            }
            Why::BuildFailed { output } => output.clone(),
            Why::StartFailed { reason } => reason.clone(),
            Why::Wrong { expected, came, .. } => format!("expected {expected}; received {came}"),
            Why::Failed {
                kind,
                message,
                trials,
                ..
            } => {
                let often = if *trials > 1 {
                    format!(", {trials} trials")
                } else {
                    String::new()
                };
                format!("{}{often}: {message}", kind.name())
            }
            Why::NotTried { .. } => "no trial was run".to_owned(),
        }
    }
}

pub fn absences(run: &Run, trials: &[TrialRecord], tables: &[ResultTable]) -> Vec<Absence> {
    run.servers
        .iter()
        .flat_map(|server| {
            reasons(server, trials, tables)
                .into_iter()
                .map(move |why| absence(server, why))
        })
        .collect()
}

fn absence(server: &ServerRecord, why: Why) -> Absence {
    Absence {
        server: ServerLabel::from(server),
        serves: server.serves.clone(),
        why,
    }
}

fn reasons(server: &ServerRecord, trials: &[TrialRecord], tables: &[ResultTable]) -> Vec<Why> {
    if let Some(why) = not_ready(&server.status) {
        return vec![why];
    }
    let mut reasons: Vec<Why> = wrong(server).collect();
    for table in tables {
        let is_listed = |why: &Why| absence(server, why.clone()).is_from(table);
        let served = can_serve(&server.serves, &table.workload);
        if served
            && !table.rows.iter().any(|row| row.server.id == server.id)
            && !reasons.iter().any(is_listed)
        {
            reasons.push(no_figures(server, trials, &table.workload, &table.load));
        }
    }
    reasons
}

/// Why there are no figures of a server for one workload under one load, in a word or two.
pub fn why_absent(
    run: &Run,
    trials: &[TrialRecord],
    server: &str,
    workload: &str,
    load: &LoadSpec,
) -> &'static str {
    let Some(server) = run.servers.iter().find(|record| record.id == server) else {
        return "not requested";
    };
    let wrong = || wrong(server).find(|why| why.workload() == Some(workload));
    match not_ready(&server.status).or_else(wrong) {
        Some(why) => why.label(),
        None if !can_serve(&server.serves, workload) => "does not serve it",
        None => no_figures(server, trials, workload, load).label(),
    }
}

fn not_ready(status: &ServerStatus) -> Option<Why> {
    match status.clone() {
        ServerStatus::Skipped { missing, install } => Some(Why::Skipped { missing, install }),
        ServerStatus::BuildFailed { output } => Some(Why::BuildFailed { output }),
        ServerStatus::StartFailed { reason } => Some(Why::StartFailed { reason }),
        ServerStatus::Ready => None,
    }
}

fn wrong(server: &ServerRecord) -> impl Iterator<Item = Why> {
    server
        .verified
        .iter()
        .filter_map(|verified| match &verified.verdict {
            VerifyVerdict::Right => None,
            VerifyVerdict::Wrong { expected, came } => Some(Why::Wrong {
                workload: verified.workload.clone(),
                expected: expected.clone(),
                came: came.clone(),
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
