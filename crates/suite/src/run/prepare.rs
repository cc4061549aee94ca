//! Makes the toolchains that subjects need, and builds them: as many at a time as there are CPUs.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};
use std::sync::mpsc::{Sender, channel};
use std::thread;

use prony_record::{SubjectRecord, SubjectStatus};
use prony_subject::{BuildError, Built, Found, ProvideError, Subject, Toolbox, build};

use super::{Bench, Event};

/// A subject after preparation.
#[derive(Clone, Debug)]
pub struct Prepared {
    /// What the record says of it.
    pub record: SubjectRecord,
    /// How to start it, where it can be.
    pub built: Option<Built>,
}

/// What a builder thread tells the thread that observes.
enum Told {
    Step {
        subject: String,
        step: &'static str,
    },
    Done {
        index: usize,
        prepared: Box<Prepared>,
    },
}

/// Prepares every subject; the result has the order of `subjects`. Where `interrupt` is set, the
/// ones not done are left out.
pub fn prepare(
    bench: &Bench,
    subjects: &[&Subject],
    interrupt: &AtomicBool,
    observe: &mut dyn FnMut(Event<'_>),
) -> Vec<Prepared> {
    let toolbox = Toolbox::new(&bench.layout, &bench.guard);
    let builders = thread::available_parallelism().map_or(1, |cpus| cpus.get());
    let next = AtomicUsize::new(0);
    let mut results: Vec<Option<Prepared>> = vec![None; subjects.len()];
    let (tell, told) = channel();
    thread::scope(|scope| {
        for _ in 0..builders.min(subjects.len()) {
            let (tell, next, toolbox) = (tell.clone(), &next, &toolbox);
            scope.spawn(move || {
                loop {
                    let index = next.fetch_add(1, Relaxed);
                    let Some(subject) = subjects.get(index) else {
                        return;
                    };
                    if let Some(prepared) = prepare_one(bench, toolbox, subject, interrupt, &tell) {
                        let prepared = Box::new(prepared);
                        // The observer outlives every builder.
                        let _ = tell.send(Told::Done { index, prepared });
                    }
                }
            });
        }
        drop(tell);
        for told in told {
            match told {
                Told::Step { subject, step } => {
                    observe(Event::Preparing {
                        subject: &subject,
                        step,
                    });
                }
                Told::Done { index, prepared } => {
                    observe(Event::Prepared {
                        subject: &prepared.record,
                    });
                    results[index] = Some(*prepared);
                }
            }
        }
    });
    results.into_iter().flatten().collect()
}

fn prepare_one(
    bench: &Bench,
    toolbox: &Toolbox,
    subject: &Subject,
    interrupt: &AtomicBool,
    tell: &Sender<Told>,
) -> Option<Prepared> {
    let step = |step| {
        let subject = subject.id.clone();
        // The observer outlives every builder.
        let _ = tell.send(Told::Step { subject, step });
    };
    step("looking for its toolchain");
    let found = match provide_all(toolbox, subject, interrupt) {
        Ok(found) => found,
        Err(ProvideError::Missing(missing)) => {
            let status = SubjectStatus::Skipped {
                missing: missing.what,
                install: missing.install,
            };
            return Some(unbuilt(subject, status));
        }
        Err(ProvideError::Interrupted) => return None,
    };
    step("building");
    let (layout, guard) = (&bench.layout, &bench.guard);
    match build(subject, layout, &found, guard, bench.freshness, interrupt) {
        Ok(built) => Some(Prepared {
            record: record(subject, Some(&built), SubjectStatus::Ready),
            built: Some(built),
        }),
        Err(BuildError::Interrupted) => None,
        Err(error) => {
            let output = error.to_string();
            Some(unbuilt(subject, SubjectStatus::BuildFailed { output }))
        }
    }
}

fn provide_all(
    toolbox: &Toolbox,
    subject: &Subject,
    interrupt: &AtomicBool,
) -> Result<Vec<Found>, ProvideError> {
    let needs = &subject.manifest.needs;
    needs
        .iter()
        .map(|need| toolbox.provide(need, interrupt))
        .collect()
}

fn unbuilt(subject: &Subject, status: SubjectStatus) -> Prepared {
    Prepared {
        record: record(subject, None, status),
        built: None,
    }
}

fn record(subject: &Subject, built: Option<&Built>, status: SubjectStatus) -> SubjectRecord {
    let manifest = &subject.manifest;
    SubjectRecord {
        id: subject.id.clone(),
        language: manifest.language.clone(),
        framework: manifest.framework.clone(),
        version: built.and_then(|built| built.version.clone()),
        class: manifest.class.name().to_owned(),
        source_hash: subject.source_hash.clone(),
        run_command: built.map_or_else(Vec::new, |built| built.run.clone()),
        artefact_bytes: built.and_then(|built| built.artefact_bytes),
        build_s: built.and_then(|built| built.build_s),
        status,
        serves: manifest.workloads.clone(),
        verified: Vec::new(),
    }
}
