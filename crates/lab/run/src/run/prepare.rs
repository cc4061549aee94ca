//! Installs the toolchains that servers need, and builds the servers: as many at a time as there are CPUs.

use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::mpsc::{Sender, channel};
use std::thread;

use prony_model::{OutsideProcess, ServerRecord, ServerStatus};
use prony_server::{BuildError, Origin, Outside, ProvideError, Server, Toolbox, build};

use super::bench::Testbed;
use super::event::RunEvent;
use super::process::{self, Access};

/// A server after preparation.
#[derive(Clone, Debug)]
pub struct Prepared {
    /// Its entry in the record.
    pub record: ServerRecord,
    /// How Prony comes to its process, if it can.
    pub access: Option<Access>,
}

/// What a builder thread reports to the observer's thread.
enum Reported {
    Step {
        server: String,
        step: &'static str,
    },
    Done {
        index: usize,
        prepared: Box<Prepared>,
    },
}

/// Prepares every server; the result has the order of `servers`. After an interrupt, unfinished ones are left out.
pub fn prepare(
    testbed: &Testbed,
    servers: &[&Server],
    observe: &mut dyn FnMut(RunEvent<'_>),
) -> Vec<Prepared> {
    let toolbox = Toolbox::new(&testbed.layout, &testbed.supervisor);
    let builders = thread::available_parallelism().map_or(1, |cpus| cpus.get());
    let next = AtomicUsize::new(0);
    let mut results: Vec<Option<Prepared>> = vec![None; servers.len()];
    let (sender, reports) = channel();
    thread::scope(|scope| {
        for _ in 0..builders.min(servers.len()) {
            let (sender, next, toolbox) = (sender.clone(), &next, &toolbox);
            scope.spawn(move || {
                loop {
                    let index = next.fetch_add(1, Relaxed);
                    let Some(server) = servers.get(index) else {
                        return;
                    };
                    if let Some(prepared) = prepare_one(testbed, toolbox, server, &sender) {
                        let prepared = Box::new(prepared);
                        // The observer outlives every builder.
                        let _ = sender.send(Reported::Done { index, prepared });
                    }
                }
            });
        }
        drop(sender);
        for report in reports {
            match report {
                Reported::Step { server, step } => {
                    observe(RunEvent::Preparing {
                        server: &server,
                        step,
                    });
                }
                Reported::Done { index, prepared } => {
                    observe(RunEvent::Prepared(&prepared.record));
                    results[index] = Some(*prepared);
                }
            }
        }
    });
    results.into_iter().flatten().collect()
}

fn prepare_one(
    testbed: &Testbed,
    toolbox: &Toolbox,
    server: &Server,
    sender: &Sender<Reported>,
) -> Option<Prepared> {
    let step = |step| {
        let server = server.id.clone();
        // The observer outlives every builder.
        let _ = sender.send(Reported::Step { server, step });
    };
    let started = match &server.origin {
        Origin::Started(started) => started,
        Origin::Outside(outside) => {
            step("looking for the running server");
            return Some(found(server, outside));
        }
    };
    step("looking for its toolchain");
    let needs = server.needs().iter();
    let found = needs.map(|need| toolbox.provide(need, &testbed.interrupt));
    let found = match found.collect::<Result<Vec<_>, _>>() {
        Ok(found) => found,
        Err(ProvideError::Missing(missing)) => {
            let status = ServerStatus::Skipped {
                missing: missing.what,
                install: missing.install,
            };
            return Some(unbuilt(server, status));
        }
        Err(ProvideError::Interrupted) => return None,
    };
    if server.is_built() {
        step("building");
    }
    let (layout, supervisor) = (&testbed.layout, &testbed.supervisor);
    match build(
        server,
        started,
        layout,
        &found,
        supervisor,
        testbed.freshness,
        &testbed.interrupt,
    ) {
        Ok(built) => Some(Prepared {
            record: ServerRecord {
                version: built.version.clone(),
                run_command: built.run.iter().map(ToString::to_string).collect(),
                artefact_bytes: built.artefact_bytes,
                build_s: built.build_s,
                ..record(server, ServerStatus::Ready)
            },
            access: Some(Access::Start(built)),
        }),
        Err(BuildError::Interrupted) => None,
        Err(error) => {
            let output = error.to_string();
            Some(unbuilt(server, ServerStatus::BuildFailed { output }))
        }
    }
}

/// A server that already runs, if it does.
fn found(server: &Server, outside: &Outside) -> Prepared {
    let found = process::OutsideProcess::find(outside);
    let (status, unmeasured) = match &found {
        Ok(process) => (
            ServerStatus::Ready,
            process.server().tree().err().map(ToString::to_string),
        ),
        Err(error) => {
            let reason = error.to_string();
            (ServerStatus::Unreachable { reason }, None)
        }
    };
    Prepared {
        record: ServerRecord {
            outside: Some(OutsideProcess {
                url: outside.url.to_string(),
                unmeasured,
            }),
            ..record(server, status)
        },
        access: found.is_ok().then(|| Access::Outside(outside.clone())),
    }
}

fn unbuilt(server: &Server, status: ServerStatus) -> Prepared {
    Prepared {
        record: record(server, status),
        access: None,
    }
}

fn record(server: &Server, status: ServerStatus) -> ServerRecord {
    let manifest = &server.manifest;
    let started = server.started();
    ServerRecord {
        id: server.id.clone(),
        language: manifest.language.clone(),
        framework: manifest.framework.clone(),
        class: manifest.class.name().to_owned(),
        source_hash: started.map_or_else(String::new, |started| started.source_hash.clone()),
        status,
        serves: manifest.workloads.clone(),
        ..ServerRecord::default()
    }
}
