//! `prony explain SERVER…`: what a request costs servers, and where that goes.

use std::error::Error;
use std::num::NonZeroU32;
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use clap::Args;
use prony_kernel::load_threads;
use prony_model::{Explanation, LoadShape, LoadSpec, RunEnd, Seconds, ServerStatus};
use prony_run::run::{ExplainPlan, Finished, ProfilePlan, RunRequest};
use prony_run::{Measure, Suite, WARMUP_LIMIT};
use prony_server::{Catalogue, Layout, Server};
use prony_store::Store;

use super::flags::{BuildFlags, CpuFlags, LiveFlags, ResultFlags, StoreFlag, TrialFlags};
use crate::arguments;
use crate::exit::{FAILURE, INTERRUPTED, Outcome, interrupt_on_signals, usage};
use crate::project::{self, Project, ServerPath};
use crate::result_file::{self, ResultFile};
use crate::view::explanation_files::RunExplanation;
use crate::view::run_progress;

const EXAMPLES: &str = "\
Examples:
  prony explain go-nethttp rust-hyper       two servers side by side, and where
                                            they differ
  prony explain bun --workload sse          one server, one workload
  prony explain ../my-server                a server of your own, in any folder
  prony explain                             the servers of prony.toml
  prony explain go-nethttp --frequency 997  a finer profile
  prony explain a b --no-profile --rounds 9 only the table, with more rounds
  prony explain go-nethttp --json cost.json the figures for programs

Prony builds and verifies the servers, and loads each in rounds: once while only \
counters run that cost the server nothing, and once while its system calls are traced. \
Then it profiles each, in a process of its own, on and off the CPU. The table shows what \
a request costs, each figure with its 95 % interval over the rounds; the page explain.html \
has flame graphs as well. The stacks are in the run's folder, as folded stacks and as SVG.

System calls and kernel stacks need rights: as root everything is there, and without \
them Prony shows the rest, with the command that grants what is missing.

Exit status:
  0    every server was explained
  1    a server could not be built, started, verified or loaded
  2    the command line is wrong
  130  you stopped it; what was measured is kept";

/// The loads of `prony explain` have this many connections by default.
const CONNECTIONS: usize = 64;
const TIMEOUT: Duration = Duration::from_secs(5);
const WARMUP: Duration = Duration::from_millis(300);
/// How many workloads are explained by default.
const DEFAULT_WORKLOADS: usize = 2;

/// Which servers are explained, and how.
#[derive(Args)]
#[command(after_help = EXAMPLES, mut_arg("no_ceiling", |flag| flag.hide(true)))]
pub(super) struct Arguments {
    /// Explain these servers: an id, or a folder with a server.toml (FOLDER or FOLDER@VARIANT)
    /// [default: those of prony.toml]
    #[arg(value_name = "SERVER", value_parser = arguments::name)]
    servers: Vec<String>,
    /// Request only these workloads, separated by commas [default: the first two that all of the
    /// servers serve]
    #[arg(long, visible_alias = "workload", value_delimiter = ',', value_name = "IDS", value_parser = arguments::name)]
    workloads: Vec<String>,
    /// Load each server over this many connections, in a closed loop
    #[arg(long, value_name = "N", default_value_t = CONNECTIONS, value_parser = arguments::connections)]
    connections: usize,
    /// Run this many rounds
    #[arg(long, value_name = "N", default_value = "5", value_parser = arguments::rounds)]
    rounds: NonZeroU32,
    /// Load each server for this long in each round, twice: with counters alone, and traced
    #[arg(long, default_value = "1s", value_parser = arguments::measured_duration)]
    duration: Duration,
    /// Take no profile
    #[arg(long)]
    no_profile: bool,
    /// Profile each server for this long [default: 3s; with several servers, until a change of 2 % of
    /// the CPU time would show, at most 30s]
    #[arg(long, value_name = "DURATION", value_parser = arguments::measured_duration, conflicts_with = "no_profile")]
    profile_duration: Option<Duration>,
    /// Take this many samples a second of each thread that runs [default: 199; with several servers, 997]
    #[arg(long, value_name = "HZ", value_parser = clap::value_parser!(u64).range(1..=10_000), conflicts_with = "no_profile")]
    frequency: Option<u64>,
    #[command(flatten)]
    trials: TrialFlags,
    #[command(flatten)]
    build: BuildFlags,
    #[command(flatten)]
    cpus: CpuFlags,
    #[command(flatten)]
    store: StoreFlag,
    #[command(flatten)]
    results: ResultFlags,
    #[command(flatten)]
    live: LiveFlags,
}

/// Builds, verifies, loads and explains.
pub(super) fn run(project: Option<&Path>, arguments: &Arguments) -> Outcome {
    let project = Project::open(project)?;
    let catalogue = project.catalogue()?;
    let outside = arguments.outside(&catalogue)?;
    let servers = arguments.choose(&project, &catalogue, &outside)?;
    let chosen = arguments.measures(&project, &servers)?;
    let files = arguments.results.open()?;
    let interrupt = interrupt_on_signals()?;
    let store = arguments.store.open(&project.layout)?;
    let finished = arguments.explain(&project, servers, chosen, &store, &interrupt)?;
    conclude(&project.layout, &store, &finished, files)
}

impl Arguments {
    /// The servers in folders.
    fn outside(&self, catalogue: &Catalogue) -> Result<Vec<Server>, Box<dyn Error>> {
        let paths = self.servers.iter().filter_map(|name| ServerPath::of(name));
        let paths = paths.collect::<Result<Vec<_>, _>>().map_err(usage)?;
        project::outside(catalogue, &paths)
    }

    fn choose<'a>(
        &self,
        project: &Project,
        catalogue: &'a Catalogue,
        outside: &'a [Server],
    ) -> Result<Vec<&'a Server>, Box<dyn Error>> {
        if self.servers.is_empty() {
            let own = project.file().map_or(&[][..], |file| &file.servers);
            let ids: Vec<&String> = own.iter().map(|server| &server.id).collect();
            if ids.is_empty() {
                return Err(usage(
                    "which servers? Name some (`prony list` shows them), or describe your own in prony.toml (`prony init` writes it)",
                ));
            }
            return catalogue.select(&ids).map_err(project::not_selected);
        }
        in_order(&self.servers, catalogue, outside)
    }

    fn measures(
        &self,
        project: &Project,
        servers: &[&Server],
    ) -> Result<Vec<Measure>, Box<dyn Error>> {
        let workloads = project.workloads(servers)?;
        let ids = if self.workloads.is_empty() {
            project::common_workloads(workloads, servers, DEFAULT_WORKLOADS)
        } else {
            let chosen = workloads.select(self.workloads.iter().map(String::as_str));
            let chosen = chosen.map_err(usage)?.into_iter();
            chosen.map(|workload| workload.id.clone()).collect()
        };
        let is_served = |id: &String| servers.iter().any(|it| it.manifest.workloads.contains(id));
        if let Some(id) = ids.iter().find(|id| !is_served(id)) {
            return Err(usage(format!("none of these servers serves `{id}`")));
        }
        if ids.is_empty() {
            return Err(usage(
                "these servers serve no workload in common; choose with --workload",
            ));
        }
        let threads = load_threads(self.cpus.assign()?.load.len());
        ids.iter()
            .map(|id| {
                let mut measure = self.measure(id, threads);
                measure.load = workloads.get(id)?.under(measure.load);
                Ok(measure)
            })
            .collect()
    }

    fn measure(&self, workload: &str, threads: usize) -> Measure {
        let warmup = self.trials.warmup.unwrap_or(WARMUP);
        Measure {
            workload: workload.to_owned(),
            load: LoadSpec {
                shape: LoadShape::Closed,
                connections: self.connections,
                threads: threads.min(self.connections),
                duration: Some(Seconds(self.duration)),
                warmup: Seconds(warmup),
                timeout: Seconds(TIMEOUT),
                ..LoadSpec::default()
            },
            // There are no trials that would be ranked.
            rounds: 0,
            warmup_limit: self.trials.limit(WARMUP_LIMIT),
        }
    }

    fn plan(&self, servers: usize) -> ExplainPlan {
        let mut profile = ProfilePlan::for_servers(servers);
        profile.frequency_hz = self.frequency.unwrap_or(profile.frequency_hz);
        if let Some(duration) = self.profile_duration {
            (profile.duration, profile.samples) = (duration, 0);
        }
        ExplainPlan {
            rounds: self.rounds.get(),
            duration: self.duration,
            profile: (!self.no_profile).then_some(profile),
        }
    }

    fn explain(
        &self,
        project: &Project,
        servers: Vec<&Server>,
        measures: Vec<Measure>,
        store: &Store,
        interrupt: &Arc<AtomicBool>,
    ) -> Result<Finished, Box<dyn Error>> {
        let id = project::run_id("explain");
        let workloads = project.workloads(&servers)?;
        let ids = measures.iter().map(|measure| measure.workload.as_str());
        let tasks = project::tasks(&project.layout, workloads, ids)?;
        let names: Vec<String> = servers.iter().map(|server| server.id.clone()).collect();
        let suite = Suite::ad_hoc(
            "explain",
            format!("Why: {}", names.join(", ")),
            vec!["These loads explain what a request costs; none is ranked.".into()],
            names,
        );
        let cpus = self.cpus.assign()?;
        let plan = self.plan(servers.len());
        let testbed = self.build.testbed(&project.layout, cpus, &id, interrupt)?;
        let seed = self.trials.seed();
        let request = RunRequest {
            command: arguments::command_line(),
            explain: Some(plan),
            ..RunRequest::new(id, testbed, &suite, servers, tasks, measures, seed)
        };
        run_progress::run(&request, store, self.live.line_mode())
    }
}

/// The servers with these names, each once, in this order: what changes is from the first to the second. Those `outside` are
/// in the same order as the folders among the names.
fn in_order<'a>(
    names: &[String],
    catalogue: &'a Catalogue,
    outside: &'a [Server],
) -> Result<Vec<&'a Server>, Box<dyn Error>> {
    let mut outside = outside.iter();
    let mut servers: Vec<&Server> = Vec::new();
    for name in names {
        let server = match ServerPath::of(name) {
            Some(_) => outside.next(),
            None => Some(catalogue.get(name).map_err(project::not_selected)?),
        };
        let is_new = |server: &&Server| !servers.iter().any(|one| one.id == server.id);
        servers.extend(server.filter(is_new));
    }
    Ok(servers)
}

/// Writes and shows the explanation, and says whether it is whole.
fn conclude(
    layout: &Layout,
    store: &Store,
    finished: &Finished,
    results: [Option<ResultFile>; 2],
) -> Outcome {
    let takes_stdout = result_file::takes_stdout(&results);
    let [markdown, json] = results;
    let run = &finished.run;
    let explanation = RunExplanation::of(run, &finished.explanations);
    let files = explanation.write(&layout.runs().join(&run.id))?;
    errln!(
        "{files}\nrecord   {} (run {})\n",
        store.path().display(),
        run.id
    );
    if let Some(file) = markdown {
        file.write(&explanation.markdown())?;
    }
    if let Some(file) = json {
        file.write_json(&explanation.json())?;
    }
    if !takes_stdout {
        explanation.show();
    }
    if let Some(unsaved) = &finished.unsaved {
        return Err(unsaved.to_string().into());
    }
    Ok(ExitCode::from(match run.end {
        RunEnd::Interrupted => INTERRUPTED,
        _ if is_whole(finished) => 0,
        _ => FAILURE,
    }))
}

/// Whether every server was explained.
fn is_whole(finished: &Finished) -> bool {
    let has_rounds = |one: &Explanation| !one.rounds.is_empty();
    let servers = &finished.run.servers;
    servers.iter().all(|server| {
        let mut own = finished.explanations.iter();
        server.status == ServerStatus::Ready
            && own.any(|one| one.server == server.id && has_rounds(one))
    })
}
