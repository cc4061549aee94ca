//! What to run, as the command line says: a suite with changes, and servers in any folder.

use std::error::Error;
use std::net::{IpAddr, Ipv4Addr};
use std::num::{NonZeroU32, NonZeroU64, NonZeroUsize};
use std::path::Path;
use std::time::Duration;

use clap::Args;
use prony_driver::{Catalogue as Drivers, Tool};
use prony_kernel::load_threads;
use prony_manifest::nearest;
use prony_model::{CEILING, CpuAssignment, MeasuredBy};
use prony_run::run::{Task, cannot_drive, driver_note};
use prony_run::{AdaptiveRounds, Changes, Measure, Precision, Suite, Workloads};
use prony_server::{Catalogue, Layout, Origin, SelectError, Server};

use crate::arguments;
use crate::command::flags::{
    BuildFlags, CpuFlags, JunitFlag, LiveFlags, ResultFlags, StoreFlag, TrialFlags,
};
use crate::exit::usage;
use crate::fleet::{FleetFlags, FleetPlan};
use crate::project::{self, Project, ServerPath};

const EXAMPLES: &str = "\
Examples:
  prony run                                    what prony.toml says, or else the
                                               suite `tour`: a first look
  prony run zap                                another suite (see `prony list`)
  prony run zap --quick                        the same load, about 40 s
  prony run --all --quick                      every suite, one after the other
  prony run tour --only go-nethttp,bun         only these two servers
  prony run ./my-suite.toml                    a suite of your own
  prony run tour --server ../my-server         a server of your own, in addition
  prony run zap --server ../my-server --only ceiling,go-nethttp
                                               your server beside only these two
  prony run zap --server old=../old/my-server --server new=../my-server
                                               two versions under two names
  prony run tour --workloads hello --rounds 12 one workload, more rounds
  prony run tour --precision 3% --budget 10m   rounds until results are within
                                               ±3 %, or for 10 minutes
  prony run zap --baseline go-nethttp          compare the others with Go's
  prony run zap --quick --driver wrk           let wrk generate the load
  prony run --junit tests.xml                  verdicts for a CI system
  prony run --server-cpus 0-3 --load-cpus 4-7  choose the CPUs
  prony run --on ssh:host1,host2               the load comes from other hosts
  prony run zap --quick --explain              and why: what a request costs
  prony run --no-tui                           lines instead of the live screen

The live screen:
  It shows the plan as a grid that fills, each server's figure with its 95 %
  interval, what runs now, what was noisy or failed, and the time left. Keys:
  q ends the run and keeps what was measured, p pauses the view, tab shows
  another workload, the arrows scroll, ? explains. Prony shows it if standard
  input and standard error are a terminal, and otherwise prints lines.

Exit status (with --all, the highest of all suites):
  0    every server whose toolchain is installed was measured, and no response
       was wrong
  1    a build, start, verification or trial failed, or a response was wrong, or
       an agent of --on was lost; the report is written nevertheless
  2    the command line is wrong
  5    a server of prony.toml missed one of its objectives
  130  you stopped it; what was measured is kept";

/// What to run, and how.
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Arguments {
    /// Run this suite: its name, or the path of its file [default: what prony.toml says, or else
    /// `tour`]
    #[arg(value_parser = arguments::name)]
    pub(crate) suite: Option<String>,
    /// Run every suite of the project, or else every one that Prony ships, one after the other, each
    /// with its own report
    #[arg(long, conflicts_with_all = ["suite", "junit", "markdown", "json"])]
    pub(crate) all: bool,
    /// Run the suite's quick version: the same kinds of load, with fewer or shorter trials
    #[arg(long)]
    quick: bool,
    /// Run only these servers (ID or ID@VARIANT), separated by commas
    #[arg(long, value_delimiter = ',', value_name = "IDS", value_parser = arguments::name)]
    only: Vec<String>,
    /// Add the server in this folder, under the folder's name or NAME; repeatable
    #[arg(long = "server", value_name = "[NAME=]FOLDER[@VARIANT]")]
    outside: Vec<ServerPath>,
    /// Measure only these workloads, separated by commas
    #[arg(long, value_delimiter = ',', value_name = "IDS", value_parser = arguments::name)]
    workloads: Vec<String>,
    /// Compare the other servers with this one [default: the ceiling (reference
    /// server), or else the first server]
    #[arg(long, value_name = "ID", value_parser = arguments::name)]
    pub(crate) baseline: Option<String>,
    /// Run this many rounds instead of the suite's number; with --precision, at most this many
    #[arg(long, value_name = "N", value_parser = arguments::rounds)]
    rounds: Option<NonZeroU32>,
    /// Add rounds until both ends of each 95 % interval are within this share of the ratio to the
    /// baseline; takes at least 12 rounds, unless --budget ends first
    #[arg(long, value_name = "PERCENT")]
    precision: Option<Precision>,
    /// Start no round that would make the trials take longer than this in total; runs at least two
    /// rounds; needs --precision, here or in the suite [default: 30m]
    #[arg(long, value_parser = arguments::some_duration, value_name = "DURATION")]
    budget: Option<Duration>,
    /// Measure each trial for this long instead of the suite's duration; a load that also has a
    /// number of requests ends at whichever comes first
    #[arg(long, value_parser = arguments::measured_duration)]
    duration: Option<Duration>,
    /// Measure this many requests in each trial instead of the suite's number; a load that
    /// also has a duration ends at whichever comes first
    #[arg(long, value_name = "N", value_parser = arguments::some_count)]
    requests: Option<NonZeroU64>,
    #[command(flatten)]
    pub(crate) trials: TrialFlags,
    /// Generate the load with this tool instead of Prony's own engine: wrk, oha, h2load, ab, hey or
    /// k6; loads that it cannot generate are left out
    #[arg(long, value_name = "ID", value_parser = arguments::name)]
    driver: Option<String>,
    /// Afterwards explain what a request costs each server, in loads that are not ranked: system
    /// calls, CPU time and functions (see `prony explain`)
    #[arg(long)]
    pub(crate) explain: bool,
    #[command(flatten)]
    fleet: FleetFlags,
    #[command(flatten)]
    pub(crate) build: BuildFlags,
    #[command(flatten)]
    cpus: CpuFlags,
    #[command(flatten)]
    pub(crate) store: StoreFlag,
    #[command(flatten)]
    pub(crate) results: ResultFlags,
    #[command(flatten)]
    pub(crate) junit: JunitFlag,
    #[command(flatten)]
    pub(crate) live: LiveFlags,
}

/// What the project and the command line say, read before anything changes on this machine.
pub(super) struct RunSetup<'a> {
    pub(crate) project: &'a Project,
    pub(crate) arguments: &'a Arguments,
    pub(crate) cpus: CpuAssignment,
    /// The agents that generate the load; `None` if this process does.
    pub(crate) fleet: Option<FleetPlan>,
    /// The tool that generates the load; `None` for Prony's own engine.
    pub(crate) driver: Option<Tool>,
    catalogue: Catalogue,
    /// The servers that the command line names by their folders.
    outside: Vec<Server>,
}

/// What is run of a suite.
pub(super) struct SuiteSelection<'a> {
    pub(crate) suite: Suite,
    pub(crate) servers: Vec<&'a Server>,
    pub(crate) tasks: Vec<Task>,
    pub(crate) measures: Vec<Measure>,
    /// What the user must know before it starts.
    pub(crate) notes: Vec<String>,
}

pub(super) enum Choice<'a> {
    Selected(Box<SuiteSelection<'a>>),
    /// Nothing of the suite is left to run, for this reason.
    Nothing(String),
}

impl Arguments {
    /// The agents that generate the load, if there are to be any.
    pub(crate) fn fleet(
        &self,
        project: Option<&Path>,
    ) -> Result<Option<FleetPlan>, Box<dyn Error>> {
        let fleet = self.fleet.plan(project)?;
        if let Some(fleet) = &fleet {
            if let Some(driver) = &self.driver {
                return Err(usage(format!(
                    "--driver {driver} generates the load on this machine: leave it or --on {} out",
                    fleet.on()
                )));
            }
            if self.cpus.load_cpus.is_some() && !fleet.is_here() {
                return Err(fleet.refuse("--load-cpus", "CPUs"));
            }
        }
        Ok(fleet)
    }
}

impl<'a> RunSetup<'a> {
    pub(super) fn read(
        project: &'a Project,
        arguments: &'a Arguments,
        fleet: Option<FleetPlan>,
    ) -> Result<Self, Box<dyn Error>> {
        let catalogue = project.catalogue()?;
        let outside = project::outside(&catalogue, &arguments.outside)?;
        Ok(Self {
            project,
            arguments,
            cpus: arguments.cpus.assign()?,
            fleet,
            driver: driver(&project.layout, arguments.driver.as_deref())?,
            catalogue,
            outside,
        })
    }

    /// What the command line leaves of the suite with this id.
    pub(super) fn choose(&self, suite: &str) -> Result<Choice<'_>, Box<dyn Error>> {
        let arguments = self.arguments;
        let mut suite = self.project.suite(suite)?;
        let mut notes = change(&mut suite, arguments)?;
        let mut servers = self.servers(&suite)?;
        let ceiling = self.ceiling(&servers)?;
        let all: Vec<&Server> = servers.iter().copied().chain(ceiling).collect();
        let workloads = self.project.workloads(&all)?;
        if suite.workloads().is_empty() {
            let id = &suite.id;
            return Err(format!("the suite `{id}`: {}", project::NO_WORKLOAD).into());
        }
        let Some(mut measures) = self.measures(&suite, workloads)? else {
            return Ok(Choice::Nothing(format!(
                "the suite `{}` has none of these workloads; it has: {}",
                suite.id,
                suite.workloads().join(", ")
            )));
        };
        notes.extend(self.without_the_undrivable(workloads, &mut measures)?);
        if measures.is_empty() {
            return Ok(Choice::Nothing(notes.join("\n")));
        }
        let idle = servers.extract_if(.., |server| !project::serves_any(server, &measures));
        let idle: Vec<String> = idle.map(|server| server.id.clone()).collect();
        if servers.is_empty() {
            return Ok(Choice::Nothing(format!(
                "in the suite `{}` these servers serve none of the workloads: {}",
                suite.id,
                idle.join(", ")
            )));
        }
        if !idle.is_empty() {
            notes.push(format!(
                "left out, because they serve none of these workloads: {}",
                idle.join(", ")
            ));
        }
        if let Some(ceiling) = ceiling.filter(|ceiling| project::serves_any(ceiling, &measures)) {
            servers.push(ceiling);
            notes.push(
                "measured as well: the ceiling (reference server), which shows the most that this machine can do \
                 (--no-ceiling leaves it out)"
                    .into(),
            );
        }
        let ids = measures.iter().map(|measure| measure.workload.as_str());
        check_baseline(arguments.baseline.as_deref(), &suite, &servers)?;
        self.check_counting(&measures, &servers)?;
        Ok(Choice::Selected(Box::new(SuiteSelection {
            tasks: project::tasks(&self.project.layout, workloads, ids)?,
            suite,
            servers,
            measures,
            notes,
        })))
    }

    /// Refuses to count instructions of servers that Prony does not start, and under loads of other processes.
    fn check_counting(
        &self,
        measures: &[Measure],
        servers: &[&Server],
    ) -> Result<(), Box<dyn Error>> {
        let counting = measures
            .iter()
            .filter(|one| one.load.by == MeasuredBy::Instructions);
        let counting: Vec<Measure> = counting.cloned().collect();
        if counting.is_empty() {
            return Ok(());
        }
        let is_outside = |server: &&&Server| {
            matches!(server.origin, Origin::Outside(_)) && project::serves_any(server, &counting)
        };
        if let Some(server) = servers.iter().find(is_outside) {
            return Err(usage(format!(
                "Prony counts the instructions only of servers that it starts, and `{}` already runs at its `url`; measure it \
                 by time, or leave it out with --only",
                server.id
            )));
        }
        if self.driver.is_some() || self.fleet.is_some() {
            Err(usage(
                "Prony counts instructions only under a load from this process; remove --driver and --on",
            ))
        } else {
            Ok(())
        }
    }

    /// The address that servers listen on, at which the agents must be able to reach them.
    pub(super) fn host(&self, servers: &[&Server]) -> Result<IpAddr, Box<dyn Error>> {
        let Some(fleet) = &self.fleet else {
            return Ok(Ipv4Addr::LOCALHOST.into());
        };
        for server in servers {
            if let Origin::Outside(outside) = &server.origin {
                let why = fleet.check_host(outside.url.host());
                why.map_err(|why| usage(format!("{}: {why}", server.id)))?;
            }
        }
        let are_started = |server: &&&Server| matches!(server.origin, Origin::Started(_));
        match servers.iter().find(are_started) {
            Some(_) => fleet.server_host(),
            None => Ok(Ipv4Addr::LOCALHOST.into()),
        }
    }

    /// Removes the measures whose load the driver cannot generate, and says why.
    fn without_the_undrivable(
        &self,
        workloads: &Workloads,
        measures: &mut Vec<Measure>,
    ) -> Result<Vec<String>, Box<dyn Error>> {
        let Some(tool) = &self.driver else {
            return Ok(Vec::new());
        };
        let mut notes = vec![driver_note(tool)];
        let mut drivable = Vec::with_capacity(measures.len());
        for measure in measures.drain(..) {
            let workload = workloads.get(&measure.workload)?;
            match cannot_drive(tool, workload, &measure.load) {
                None => drivable.push(measure),
                Some(why) => notes.push(format!(
                    "left out: {}, which {} cannot load: {why}",
                    measure.workload, tool.manifest.title
                )),
            }
        }
        *measures = drivable;
        notes.dedup();
        Ok(notes)
    }

    fn servers(&self, suite: &Suite) -> Result<Vec<&Server>, Box<dyn Error>> {
        let only = &self.arguments.only;
        let mut servers = if only.is_empty() {
            let in_suite = |error| format!("the suite `{}`: {error}", suite.id);
            self.select(&suite.servers).map_err(in_suite)?
        } else {
            let selected = self.select(only);
            selected.map_err(project::not_selected)?
        };
        for server in &self.outside {
            // The suite may name it already, or it may be one of the project's own folders.
            if servers.iter().all(|chosen| chosen.id != server.id) {
                servers.push(server);
            }
        }
        Ok(servers)
    }

    /// The servers with these ids, each once. A server that was given as a folder comes before one of the project.
    fn select(&self, ids: &[String]) -> Result<Vec<&Server>, SelectError> {
        let mut selected: Vec<&Server> = Vec::with_capacity(ids.len());
        for id in ids {
            let outside = self.outside.iter().find(|server| server.id == *id);
            let server = match outside {
                Some(server) => server,
                None => self.catalogue.get(id)?,
            };
            if selected.iter().all(|chosen| chosen.id != server.id) {
                selected.push(server);
            }
        }
        Ok(selected)
    }

    /// The reference server, which every run measures, because the most that a machine can do changes from hour to
    /// hour. `None` if it is already among the servers, unwanted, or not part of the project.
    fn ceiling(&self, servers: &[&Server]) -> Result<Option<&Server>, Box<dyn Error>> {
        let is_here = self.catalogue.servers.iter().map(|server| &server.id);
        let is_broken = self.catalogue.broken.iter().map(|broken| &broken.id);
        let is_named = servers.iter().any(|server| server.id == CEILING);
        if is_named
            || self.arguments.trials.no_ceiling
            || is_here.chain(is_broken).all(|id| id != CEILING)
        {
            return Ok(None);
        }
        let selected = self.catalogue.select(&[CEILING.to_owned()]);
        Ok(selected.map_err(project::not_selected)?.pop())
    }

    /// The suite's measures of the workloads that the command line chooses; `None` if there are none.
    fn measures(
        &self,
        suite: &Suite,
        workloads: &Workloads,
    ) -> Result<Option<Vec<Measure>>, Box<dyn Error>> {
        let chosen = &self.arguments.workloads;
        workloads
            .select(chosen.iter().map(String::as_str))
            .map_err(usage)?;
        let threads = load_threads(self.cpus.load.len());
        let threads = NonZeroUsize::new(threads).unwrap_or(NonZeroUsize::MIN);
        let mut measures = suite.measures_on(threads);
        measures.retain(|measure| chosen.is_empty() || chosen.contains(&measure.workload));
        for measure in &mut measures {
            let workload = workloads.get(&measure.workload)?;
            if let Some(why) = workload.refuses(&measure.load) {
                return Err(format!("the suite `{}`: {why}", suite.id).into());
            }
            measure.load = workload.under(measure.load.clone());
        }
        Ok((!measures.is_empty()).then_some(measures))
    }
}

/// The tool that generates the load.
fn driver(layout: &Layout, id: Option<&str>) -> Result<Option<Tool>, Box<dyn Error>> {
    let Some(id) = id else {
        return Ok(None);
    };
    let drivers = Drivers::read(&layout.drivers())?;
    let manifest = drivers.get(id).map_err(usage)?;
    let prony = std::env::current_exe()?;
    Ok(Some(Tool::find(id, manifest, &prony)?))
}

/// Makes the suite quick, then changes it as the command line says. Gives notes for the user.
fn change(suite: &mut Suite, arguments: &Arguments) -> Result<Vec<String>, Box<dyn Error>> {
    let mut notes = Vec::new();
    suite.adaptive = adaptive(suite, arguments)?;
    let changes = Changes {
        // With adaptive rounds, it is the most that there may be.
        rounds: arguments.rounds.filter(|_| suite.adaptive.is_none()),
        duration: arguments.duration,
        warmup: arguments.trials.warmup,
        warmup_limit: arguments.trials.warmup_limit,
        requests: arguments.requests,
    };
    if arguments.quick {
        let id = suite.id.clone();
        notes.push(match suite.quicken(&changes) {
            Some(note) => note.to_owned(),
            None => format!("the suite `{id}` is already short: --quick changes nothing"),
        });
    }
    suite.change(&changes);
    Ok(notes)
}

/// Whether rounds are added as needed, as the command line or else the suite says.
fn adaptive(
    suite: &Suite,
    arguments: &Arguments,
) -> Result<Option<AdaptiveRounds>, Box<dyn Error>> {
    let own = suite.adaptive;
    let Some(precision) = arguments.precision.or(own.map(|own| own.precision)) else {
        return match arguments.budget {
            None => Ok(None),
            Some(_) => Err(usage(format!(
                "--budget limits rounds that are added as needed, but the suite `{}` has a fixed number of \
                 rounds; add --precision, for instance --precision 3%, or use --rounds instead",
                suite.id
            ))),
        };
    };
    let most = AdaptiveRounds::MOST_ROUNDS;
    let most_rounds = arguments.rounds.map_or(most, NonZeroU32::get);
    if most_rounds > most {
        return Err(usage(format!(
            "--rounds {most_rounds}: with --precision there can be at most {most} rounds"
        )));
    }
    let budget = arguments.budget.or(own.map(|own| own.budget));
    Ok(Some(AdaptiveRounds {
        precision,
        budget: budget.unwrap_or(AdaptiveRounds::BUDGET),
        most_rounds,
    }))
}

/// Makes sure that the baseline is among the servers.
fn check_baseline(
    baseline: Option<&str>,
    suite: &Suite,
    servers: &[&Server],
) -> Result<(), Box<dyn Error>> {
    let ids = || servers.iter().map(|server| server.id.as_str());
    let Some(id) = baseline.filter(|baseline| ids().all(|id| id != *baseline)) else {
        return Ok(());
    };
    let meant = nearest(id, ids()).map(|name| format!("; did you mean `{name}`?"));
    Err(usage(format!(
        "the baseline `{id}` is not among the servers of this run of `{}`: {}{}",
        suite.id,
        ids().collect::<Vec<_>>().join(", "),
        meant.unwrap_or_default(),
    )))
}
