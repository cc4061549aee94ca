//! Made-up runs whose every text tries to be markup.

use prony_model::*;

use super::documents::{self, Records};

const SCRIPT: &str = "<script>alert('x')</script>";

/// A run whose every text tries to be markup.
pub(crate) fn hostile() -> Records {
    let (mut run, mut trials) = (super::run(), super::trials());
    run.title = SCRIPT.into();
    run.notes = vec![SCRIPT.into()];
    run.command = vec![SCRIPT.into()];
    run.machine.cpu_model = SCRIPT.into();
    run.machine.tcp_settings = vec![SCRIPT.into()];
    for server in &mut run.servers {
        server.framework = SCRIPT.into();
        if let ServerStatus::BuildFailed { output } = &mut server.status {
            *output = SCRIPT.into();
        }
    }
    let id = format!("{SCRIPT}|`*");
    run.servers[1].id = id.clone();
    for record in &mut trials {
        if record.trial.server == "rust-hyper" {
            record.trial.server = id.clone();
        }
        if record.trial.workload == "quote" {
            record.trial.workload = SCRIPT.into();
        }
        if let TrialResult::Failed { message, .. } = &mut record.result {
            *message = SCRIPT.into();
        }
    }
    super::each(&mut trials, |trial, measured| {
        super::courses::add(measured, trial.round, SCRIPT);
    });
    (run, trials)
}

/// The same for a suite that repeats a document.
pub(crate) fn hostile_document() -> Records {
    let (mut run, trials) = documents::datastar();
    let published = run.published.as_mut().unwrap();
    let evil = || format!("{SCRIPT}|`*\n");
    published.document = evil();
    (published.machine, published.method) = (evil(), evil());
    for table in &mut published.tables {
        (table.title, table.notes) = (evil(), vec![evil()]);
        for row in &mut table.rows {
            row.name = evil();
        }
    }
    (run, trials)
}
