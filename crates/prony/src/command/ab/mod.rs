//! `prony ab REV1 [REV2] --server X`: two revisions of a server, built and measured side by side.

mod git;
mod measures;
mod revision;

use std::error::Error;
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use clap::Args;
use prony_kernel::load_threads;
use prony_model::{AB, CEILING, RunEnd, ServerRecord, ServerStatus};
use prony_report::RunSummary;
use prony_report::compare::{Comparison, Named, Side};
use prony_run::run::{
    Counter, ExplainPlan, Finished, Prepared, RunRequest, Testbed, limits_of_counting, now, prepare,
};
use prony_run::{Measure, Suite};
use prony_server::{Catalogue, Freshness, MANIFEST_FILE, Server};
use prony_stats::LEAST_ROUNDS;

use self::git::{Checkouts, Repository};
use self::measures::{By, MeasureFlags};
use self::revision::WantedRevision;
use super::compare::{ComparisonFiles, Judging};
use super::flags::{BuildFlags, CpuFlags, LiveFlags, StoreFlag};
use crate::arguments;
use crate::exit::{INTERRUPTED, Outcome, interrupt_on_signals, usage};
use crate::project::{self, Project, ServerPath};
use crate::result_file::takes_stdout;
use crate::view::explanation_files::RunExplanation;
use crate::view::{report_files, run_progress};

const EXAMPLES: &str = "\
Examples:
  prony ab main                             main, and the working tree: the
                                            server of prony.toml
  prony ab main --server go-nethttp         another server
  prony ab HEAD~1 HEAD --server go-nethttp  the last commit
  prony ab v1.2 v1.3 --server ../my-server --workloads hello,page
  prony ab HEAD HEAD --server bun           the same twice, to see the noise
  prony ab main --server bun --markdown pr.md --budget 10m
  prony ab main --by instructions           whether the code does more work

Prony checks out the revisions below .prony/ab, with their submodules if their commits are \
in the repository, but uses the working tree in place. It builds and verifies both, and \
measures them interleaved with the ceiling (reference server) in one run, which it records. \
Then it compares the two as `prony compare` does; the run's report begins with that comparison.

With --by instructions Prony counts the user-space instructions of 1000 requests over one \
connection, with hardware counters or else with valgrind, in at most 60 s. That shows \
changes of less than 1 % on any machine, and in which functions they are. It does not show \
system calls, caches, memory and waiting: CPU time is shown beside it.

By default Prony measures a server of prony.toml as that file says. For any other server \
it measures the first three HTTP workloads that both revisions serve, over 64 connections \
for 1 s each, after a warm-up of 500 ms once the server has stopped getting faster.

A verdict needs at least six rounds that were not noisy in every attempt; with fewer, it is \
inconclusive. If nothing changed, at most 5 of 100 invocations call any metric of any \
workload worse or improved.

Exit status:
  0    nothing is worse
  1    something is worse, or REV2 cannot be built or started, or sent wrong
       responses
  2    the command line is wrong, or the two cannot be compared
  3    with --strict: nothing is worse, but a comparison is inconclusive, not
       comparable or missing
  130  you stopped it; what was measured is kept";

// The help of --precision names it, here and of `prony run`.
const _: () = assert!(LEAST_ROUNDS == 12);

/// Which revisions of what, and how they are measured.
#[derive(Args, Clone)]
#[command(after_help = EXAMPLES)]
pub(super) struct Arguments {
    /// Compare with this old revision: a commit, a branch or a tag
    rev1: String,
    /// Compare this new revision; `.` is the working tree with its uncommitted changes
    #[arg(default_value = ".")]
    rev2: String,
    /// Measure this server: an id, or its folder in any git repository (FOLDER or FOLDER@VARIANT)
    /// [default: the first server of prony.toml, or else the current folder if it has a server.toml]
    #[arg(long, value_name = "ID|FOLDER", value_parser = arguments::name)]
    server: Option<String>,
    #[command(flatten)]
    measures: MeasureFlags,
    #[command(flatten)]
    judging: Judging,
    /// Then explain where the revisions differ: system calls, CPU time and functions of a request, in
    /// loads that are not judged
    #[arg(long)]
    explain: bool,
    /// Keep the files of the revisions in .prony/ab
    #[arg(long)]
    keep: bool,
    #[command(flatten)]
    build: BuildFlags,
    #[command(flatten)]
    cpus: CpuFlags,
    #[command(flatten)]
    store: StoreFlag,
    #[command(flatten)]
    live: LiveFlags,
}

/// Checks out, builds, measures and compares.
pub(super) fn run(project: Option<&Path>, arguments: &Arguments) -> Outcome {
    let interrupt = interrupt_on_signals()?;
    let outcome = compare_revisions(project, arguments, &interrupt);
    match outcome {
        Err(_) if interrupt.load(Relaxed) => Ok(ExitCode::from(INTERRUPTED)),
        // Status 1 means that something is worse, so every error has status 2.
        outcome => outcome.map_err(usage),
    }
}

fn compare_revisions(
    project: Option<&Path>,
    arguments: &Arguments,
    interrupt: &Arc<AtomicBool>,
) -> Outcome {
    // Errors in the command line are reported before anything is checked out.
    let files = arguments.judging.open()?;
    let project = Project::open(project)?;
    let layout = &project.layout;
    let catalogue = project.catalogue()?;
    let server = arguments.server(&project, &catalogue)?;
    let started = revision::started(&server)?;
    let arguments = &arguments.with_a_counter();
    let repository = Repository::of(&server.folder)?;
    let checkouts = Checkouts::open(&layout.state(), arguments.keep)?;
    let [base, new] = WantedRevision::two(
        &repository,
        (&server, started),
        [&arguments.rev1, &arguments.rev2],
    )?;
    let base = base.fetch(&repository, &checkouts, &project)?;
    let new = new.fetch(&repository, &checkouts, &project)?;
    if interrupt.load(Relaxed) {
        return Ok(ExitCode::from(INTERRUPTED));
    }
    if base.source_hash() == new.source_hash() {
        let id = &server.id;
        errln!("note: the files of {id} are the same in both revisions");
    }
    let session = RevisionSession {
        project: &project,
        arguments,
        interrupt,
        pair: [&base.server, &new.server],
        ceiling: arguments.ceiling(&catalogue, &server),
    };
    match session.measure()? {
        Measured::Run(finished) => session.judge(&finished, files),
        Measured::NewIsBroken(comparison) => arguments.judging.conclude(&comparison, files),
        Measured::Interrupted => Ok(ExitCode::from(INTERRUPTED)),
    }
}

impl Arguments {
    /// The same, without a comparison by instructions if nothing on this machine counts them.
    fn with_a_counter(&self) -> Self {
        let mut arguments = self.clone();
        if self.measures.by == By::Instructions
            && let Err(why) = Counter::find()
        {
            errln!("note: compares CPU time, because {why}");
            arguments.measures.by = By::Time;
            arguments.judging.compare_cpu_time();
        }
        arguments
    }

    /// The server that the command line names, or else the first one of the project.
    fn server(&self, project: &Project, catalogue: &Catalogue) -> Result<Server, Box<dyn Error>> {
        let Some(name) = &self.server else {
            let servers = project.file().map_or(&[][..], |file| &file.servers);
            let started = servers.iter().find(|one| one.started().is_some());
            let Some(first) = started.or(servers.first()) else {
                if Path::new(MANIFEST_FILE).is_file() {
                    return ".".parse::<ServerPath>()?.open_unnamed();
                }
                return Err("which server? Name it with --server, or describe the project's own in prony.toml (`prony init` writes it)".into());
            };
            if servers.len() > 1 {
                errln!(
                    "note: measures {}, the first server of prony.toml that Prony starts; --server chooses another",
                    first.id
                );
            }
            return Ok(first.clone());
        };
        match ServerPath::of(name) {
            Some(path) => path?.open_unnamed(),
            None => Ok(catalogue.get(name)?.clone()),
        }
    }

    /// The reference server, as the control, if the project has it.
    fn ceiling<'a>(&self, catalogue: &'a Catalogue, server: &Server) -> Option<&'a Server> {
        let mut servers = catalogue.servers.iter();
        let reference = servers.find(|one| one.id == CEILING);
        reference.filter(|one| !self.measures.trials.no_ceiling && one.id != server.id)
    }
}

/// The result of measuring.
enum Measured {
    /// A run, which may have been interrupted.
    Run(Box<Finished>),
    /// BASE can be measured and NEW cannot.
    NewIsBroken(Box<Comparison>),
    /// The user stopped it before there was a run.
    Interrupted,
}

/// Two revisions that are measured in one run.
struct RevisionSession<'a> {
    project: &'a Project,
    arguments: &'a Arguments,
    interrupt: &'a Arc<AtomicBool>,
    /// BASE and NEW.
    pair: [&'a Server; 2],
    ceiling: Option<&'a Server>,
}

impl RevisionSession<'_> {
    /// Builds and measures both.
    fn measure(&self) -> Result<Measured, Box<dyn Error>> {
        let arguments = self.arguments;
        let cpus = arguments.cpus.assign()?;
        let measures = &arguments.measures;
        let chosen = measures.choose(self.project, self.pair, load_threads(cpus.load.len()))?;
        let counts = measures.by == By::Instructions;
        let ceiling = self
            .ceiling
            // Instructions do not depend on the machine that a ceiling would show.
            .filter(|one| !counts && project::serves_any(one, &chosen.measures));
        let servers: Vec<&Server> = ceiling.into_iter().chain(self.pair).collect();
        let id = project::run_id("ab");
        let mut testbed =
            arguments
                .build
                .testbed(&self.project.layout, cpus, &id, self.interrupt)?;
        if let Some(end) = self.build(&testbed, &id, &chosen.measures)? {
            return Ok(end);
        }
        let store = arguments.store.open(&self.project.layout)?;
        let mut suite = self.suite(&servers);
        suite.adaptive = measures.adaptive();
        testbed.freshness = Freshness::IfUnchanged;
        let seed = measures.trials.seed();
        let request = RunRequest {
            baseline: Some(self.pair[0].id.clone()),
            alike: self.pair.map(|server| server.id.clone()).into(),
            command: arguments::command_line(),
            explain: arguments
                .explain
                .then(|| ExplainPlan::for_servers(self.pair.len())),
            ..RunRequest::new(
                id,
                testbed,
                &suite,
                servers,
                chosen.tasks,
                chosen.measures.clone(),
                seed,
            )
        };
        let finished = run_progress::run(&request, &store, arguments.live.mode())?;
        if let Some(comparison) = self.new_is_wrong(&finished, &chosen.measures) {
            return Ok(Measured::NewIsBroken(Box::new(comparison)));
        }
        let comparison = RunSummary::of(&finished.run, &finished.trials);
        let files = report_files::write_finished(&self.project.layout, &finished, &comparison)?;
        errln!("{}\n", report_files::places(&files, &store, &finished.run));
        Ok(Measured::Run(Box::new(finished)))
    }

    /// Builds both before anything is measured: if one cannot be built, the trials of the other are not needed. Gives
    /// the end, if it is one.
    fn build(
        &self,
        testbed: &Testbed,
        run: &str,
        measures: &[Measure],
    ) -> Result<Option<Measured>, Box<dyn Error>> {
        let is_quiet = self.arguments.live.quiet;
        let mut say = run_progress::say_what_is_built(None);
        let prepared = prepare(testbed, &self.pair, &mut |event| {
            if !is_quiet {
                say(event);
            }
        });
        let [base, new] = prepared.as_slice() else {
            return Ok(Some(Measured::Interrupted));
        };
        for Prepared { record, .. } in [base, new] {
            if let Some(line) = run_progress::status_line(&record.id, &record.status) {
                errln!("{line}");
            }
        }
        match (&base.record.status, &new.record.status) {
            (ServerStatus::Ready, ServerStatus::Ready) => {
                let counts = self.arguments.measures.by == By::Instructions;
                let limits = counts.then(|| limits_of_counting(&new.record.run_command));
                if let Some(limits) = limits.flatten() {
                    errln!("note: {limits}");
                }
                Ok(None)
            }
            (ServerStatus::Ready, ServerStatus::BuildFailed { .. }) => {
                errln!("worse: {} can no longer be built", new.record.id);
                let warning = format!(
                    "{} cannot be built, so nothing was measured and the run {run} was not recorded",
                    new.record.id
                );
                let comparison =
                    new_is_broken(run, &base.record.id, &new.record, measures, warning);
                Ok(Some(Measured::NewIsBroken(Box::new(comparison))))
            }
            (ServerStatus::Ready, _) => Err(not_built(&new.record.id)),
            _ => Err(not_built(&base.record.id)),
        }
    }

    /// The comparison if NEW started with wrong responses only, or not at all, and BASE is right.
    fn new_is_wrong(&self, finished: &Finished, measures: &[Measure]) -> Option<Comparison> {
        let run = &finished.run;
        let [base, new] = self.pair.map(|server| run.server(&server.id));
        let (base, new) = (base?, new?);
        if run.end != RunEnd::Complete || !base.is_measurable() || new.is_measurable() {
            return None;
        }
        let what = match new.status {
            ServerStatus::Ready => "sends wrong responses",
            _ => "cannot be started",
        };
        errln!("worse: {} {what} (see above)", new.id);
        let warning = format!("{} {what}, so nothing was measured", new.id);
        Some(new_is_broken(&run.id, &base.id, new, measures, warning))
    }

    /// The suite that the run is recorded as.
    fn suite(&self, servers: &[&Server]) -> Suite {
        let [base, new] = self.pair;
        Suite::ad_hoc(
            AB,
            title(&base.id, &new.id),
            vec![format!(
                "Two revisions of one server, measured interleaved: {} (base) and {} (new).",
                base.id, new.id
            )],
            servers.iter().map(|server| server.id.clone()).collect(),
        )
    }

    /// Which revisions have no figures to compare, if any.
    fn unmeasured(&self, finished: &Finished) -> Option<String> {
        let is_broken = |server: &&&Server| {
            let record = finished.run.server(&server.id);
            !record.is_some_and(ServerRecord::is_measurable)
        };
        let has_figures = |server: &&&Server| {
            let mut trials = finished.trials.iter();
            trials.any(|one| one.trial.server == server.id && one.measurement().is_some())
        };
        // If one is broken, Prony does not measure the other one.
        let is_one_broken = self.pair.iter().any(|one| is_broken(&one));
        let unmeasured = self.pair.iter().filter(|one| {
            if is_one_broken {
                is_broken(one)
            } else {
                !has_figures(one)
            }
        });
        let unmeasured: Vec<&str> = unmeasured.map(|server| server.id.as_str()).collect();
        match unmeasured[..] {
            [] => None,
            [one] => Some(format!(
                "nothing can be compared: {one} could not be measured (see above)"
            )),
            _ => Some(
                "nothing can be compared: neither revision could be measured (see above)"
                    .to_owned(),
            ),
        }
    }

    /// Shows the comparison. An interrupted run may still support one.
    fn judge(&self, finished: &Finished, files: ComparisonFiles) -> Outcome {
        let judging = &self.arguments.judging;
        let [base, new] = self.pair.map(|server| Side {
            run: &finished.run,
            trials: &finished.trials,
            server: Some(&server.id),
        });
        let interrupted = finished.run.end == RunEnd::Interrupted;
        let comparison = match Comparison::of(base, new, &judging.question()) {
            Err(_) if interrupted => return Ok(ExitCode::from(INTERRUPTED)),
            Err(error) => {
                return Err(self
                    .unmeasured(finished)
                    .unwrap_or_else(|| error.to_string())
                    .into());
            }
            Ok(comparison) => comparison,
        };
        let is_stdout_taken = takes_stdout(&files);
        let code = judging.conclude(&comparison, files)?;
        let pair = self.pair.map(|server| server.id.as_str());
        RunExplanation::of_pair(&finished.run, &finished.explanations, pair)
            .conclude(&self.project.layout, is_stdout_taken)?;
        if interrupted {
            return Ok(ExitCode::from(INTERRUPTED));
        }
        let measures = &self.arguments.measures;
        for line in measures.too_wide(&comparison, &finished.run) {
            errln!("note: {line}");
        }
        Ok(code)
    }
}

/// What a run is called, with the server once: `shop: 4f2a1b3 → working-tree`.
fn title(base: &str, new: &str) -> String {
    match (base.rsplit_once('@'), new.rsplit_once('@')) {
        (Some((server, base)), Some((same, new))) if server == same => {
            format!("{server}: {base} → {new}")
        }
        _ => format!("{base} → {new}"),
    }
}

/// The comparison if only BASE can be measured; `run` is the id that the run has or would have had.
fn new_is_broken(
    run: &str,
    base: &str,
    new: &ServerRecord,
    measures: &[Measure],
    warning: String,
) -> Comparison {
    let side = |server: &str| Named {
        run: run.to_owned(),
        server: Some(server.to_owned()),
        started_at: now(),
    };
    let measures = measures.iter();
    let measures = measures.map(|one| (one.workload.as_str(), &one.load));
    Comparison::without_new(side(base), side(&new.id), (base, new), measures, warning)
}

fn not_built(id: &str) -> Box<dyn Error> {
    format!("nothing can be compared: {id} could not be built").into()
}

#[cfg(test)]
mod tests {
    use super::title;

    #[test]
    fn a_run_names_its_server_once() {
        assert_eq!(
            title("shop@4f2a1b3", "shop@working-tree"),
            "shop: 4f2a1b3 → working-tree"
        );
        assert_eq!(title("go@fast@1", "go@fast@2"), "go@fast: 1 → 2");
        assert_eq!(title("a", "b@1"), "a → b@1");
    }
}
