//! Two revisions in one run: built, verified and measured interleaved.

use std::error::Error;
use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::time::SystemTime;

use prony_compare::{Comparison, Named};
use prony_model::{ServerRecord, ServerStatus};
use prony_server::{FreePorts, Layout, Server};
use prony_suite::Suite;
use prony_suite::run::{
    Bench, Finished, Prepared, RunEvent as Event, RunRequest, prepare, run as run_suite,
};

use super::Arguments;
use super::measures::Measures;
use crate::command::run::{run_id, tell_unsaved};
use crate::project;
use crate::view::{report_files, run_progress::RunProgress, server_status};

/// What came of measuring.
pub enum Measured {
    /// A run, as far as it came.
    Run(Box<Finished>),
    /// BASE can be built and NEW cannot.
    NewIsBroken(Box<Comparison>),
    /// The user stopped it before there was a run.
    Interrupted,
}

/// Two revisions that are measured in one run.
pub struct Session<'a> {
    pub layout: &'a Layout,
    pub arguments: &'a Arguments,
    pub interrupt: &'a AtomicBool,
    /// BASE and NEW.
    pub pair: [&'a Server; 2],
    pub ceiling: Option<&'a Server>,
}

impl Session<'_> {
    /// Builds and measures both.
    pub fn measure(&self) -> Result<Measured, Box<dyn Error>> {
        let arguments = self.arguments;
        let cpus = project::cpus(
            arguments.server_cpus.as_deref(),
            arguments.load_cpus.as_deref(),
        )?;
        let measures = Measures::choose(self.layout, self.pair, arguments, cpus.load.len())?;
        let servers = self.servers(&measures);
        let extent = arguments.extent();
        let measures = measures.in_rounds(extent.most_rounds());
        let id = run_id("ab");
        let folder = self.layout.runs().join(&id);
        let logs = folder.join("logs");
        let bench = project::bench(self.layout, cpus, logs, arguments.ready_timeout)?;
        let building = Bench {
            freshness: project::freshness(arguments.rebuild),
            ..bench.clone()
        };
        if let Some(end) = self.build(&building, &id, &measures)? {
            return Ok(end);
        }
        let store = project::open_record(self.layout, arguments.store.as_deref())?;
        let suite = self.suite(&servers);
        let request = RunRequest {
            bench,
            suite: &suite,
            servers,
            tasks: measures.tasks,
            measures: measures.measures,
            adaptive: extent.adaptive(),
            baseline: Some(self.pair[0].id.clone()),
            alike: self.pair.map(|server| server.id.clone()).into(),
            seed: arguments
                .seed
                .unwrap_or_else(|| fastrand::u64(..1_000_000_000)),
            id,
            command: std::env::args().collect(),
            prony_version: env!("CARGO_PKG_VERSION").into(),
            ports: Box::new(FreePorts),
            driver: None,
        };
        let mut view = RunProgress::start(&request);
        let observe = &mut |event: Event<'_>| view.show(&event);
        let finished = run_suite(request, &store, self.interrupt, observe)?;
        view.finish();
        project::restore_state(self.layout);
        report(&folder, &finished, store.path())?;
        Ok(Measured::Run(Box::new(finished)))
    }

    /// Both, and the ceiling where it serves what they are asked for.
    fn servers(&self, measures: &Measures) -> Vec<&Server> {
        let ceiling = self.ceiling.filter(|one| measures.has_work_for(one));
        ceiling.into_iter().chain(self.pair).collect()
    }

    /// Builds both before anything is measured: where one cannot be, the time of the other's trials is saved. What
    /// came of it, where that is the end.
    fn build(
        &self,
        bench: &Bench,
        run: &str,
        measures: &Measures,
    ) -> Result<Option<Measured>, Box<dyn Error>> {
        let told = &mut |event: Event<'_>| {
            if let Event::Preparing { server, step } = event
                && step == "building"
            {
                errln!("building {server}");
            }
        };
        let prepared = prepare(bench, &self.pair, self.interrupt, told);
        let [base, new] = prepared.as_slice() else {
            return Ok(Some(Measured::Interrupted));
        };
        for Prepared { record, .. } in [base, new] {
            if let Some(line) = server_status::line(&record.id, &record.status) {
                errln!("{line}");
            }
        }
        match (&base.record.status, &new.record.status) {
            (ServerStatus::Ready, ServerStatus::Ready) => Ok(None),
            (ServerStatus::Ready, ServerStatus::BuildFailed { .. }) => {
                errln!("worse: {} cannot be built any more", new.record.id);
                let told = new_is_broken(run, &base.record.id, &new.record, measures);
                Ok(Some(Measured::NewIsBroken(Box::new(told))))
            }
            (ServerStatus::Ready, _) => Err(not_built(&new.record.id)),
            _ => Err(not_built(&base.record.id)),
        }
    }

    /// The suite that the run is recorded as.
    fn suite(&self, servers: &[&Server]) -> Suite {
        let [base, new] = self.pair;
        Suite::made_up(
            "ab",
            format!("{} and {}", base.id, new.id),
            vec![format!(
                "Two revisions of one server, measured interleaved: {} (base) and {} (new).",
                base.id, new.id
            )],
            servers.iter().map(|server| server.id.clone()).collect(),
        )
    }
}

/// What is to be said where only BASE could be built; `run` is the id that the run would have had.
fn new_is_broken(run: &str, base: &str, new: &ServerRecord, measures: &Measures) -> Comparison {
    let side = |server: &str| Named {
        run: run.to_owned(),
        server: Some(server.to_owned()),
        started_at: humantime::format_rfc3339_seconds(SystemTime::now()).to_string(),
    };
    let measures = measures.measures.iter();
    let measures = measures.map(|one| (one.workload.as_str(), &one.load));
    Comparison::without_new(side(base), side(&new.id), (base, new), measures)
}

/// Writes the run's reports and says where they are; its tables are in them.
fn report(folder: &Path, finished: &Finished, record_file: &Path) -> Result<(), Box<dyn Error>> {
    let comparison = prony_report::RunSummary::of(&finished.run, &finished.trials);
    let written = report_files::write(folder, &finished.run, &finished.trials, &comparison);
    if let Some(error) = &finished.unsaved {
        tell_unsaved(written.is_ok(), folder, finished, &comparison);
        return Err(error.to_string().into());
    }
    errln!("report   {}", written?.html.display());
    errln!(
        "record   {} (run {})",
        record_file.display(),
        finished.run.id
    );
    errln!();
    Ok(())
}

fn not_built(id: &str) -> Box<dyn Error> {
    format!("there is nothing to compare: {id} could not be built").into()
}
