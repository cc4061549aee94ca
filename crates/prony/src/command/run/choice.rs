//! What is to be run: the suite with what the command line changes in it, and the servers, wherever
//! they live.

use std::error::Error;
use std::num::{NonZeroU32, NonZeroUsize};

use prony_driver::{Catalogue as Drivers, Tool};
use prony_manifest::nearest;
use prony_model::{CEILING, CpuAssignment};
use prony_server::{Catalogue, Layout, SelectError, Server};
use prony_suite::run::{Task, cannot_drive, driver_note};
use prony_suite::{AdaptiveRounds, Changes, Measure, Suite, Workloads};

use super::Arguments;
use crate::exit::usage;
use crate::project;

/// What is there to choose from, seen before anything is changed on this machine.
pub struct Ground<'a> {
    pub layout: &'a Layout,
    pub cpus: CpuAssignment,
    /// The tool that makes the load; `None` for Prony's own engine.
    pub driver: Option<Tool>,
    catalogue: Catalogue,
    /// The servers that were given as folders.
    outside: Vec<Server>,
}

/// A suite and what of it is run.
pub struct Chosen<'a> {
    pub suite: Suite,
    pub servers: Vec<&'a Server>,
    pub tasks: Vec<Task>,
    pub measures: Vec<Measure>,
    /// What its user must know before it begins.
    pub said: Vec<String>,
}

/// What came of choosing.
pub enum Choice<'a> {
    Chosen(Box<Chosen<'a>>),
    /// Nothing of the suite is left, and why.
    Nothing(String),
}

impl<'a> Ground<'a> {
    pub fn survey(layout: &'a Layout, arguments: &Arguments) -> Result<Self, Box<dyn Error>> {
        let catalogue = Catalogue::read(layout)?;
        let outside = project::outside(&catalogue, &arguments.outside)?;
        let cpus = project::cpus(
            arguments.server_cpus.as_deref(),
            arguments.load_cpus.as_deref(),
        )?;
        Ok(Self {
            layout,
            cpus,
            driver: driver(layout, arguments.driver.as_deref())?,
            catalogue,
            outside,
        })
    }

    /// The suite of that id with what the command line leaves of it.
    pub fn choose(&self, suite: &str, arguments: &Arguments) -> Result<Choice<'_>, Box<dyn Error>> {
        let mut suite = project::suite(self.layout, suite)?;
        let mut said = change(&mut suite, arguments)?;
        let mut servers = self.servers(&suite, arguments)?;
        let ceiling = self.ceiling(&servers, arguments)?;
        let all: Vec<&Server> = servers.iter().copied().chain(ceiling).collect();
        let workloads = project::workloads(self.layout, &all)?;
        let Some(mut measures) = self.measures(&suite, &workloads, &arguments.workloads)? else {
            return Ok(Choice::Nothing(format!(
                "the suite `{}` has none of these workloads; it has: {}",
                suite.id,
                suite.workloads().join(", ")
            )));
        };
        said.extend(self.without_the_undrivable(&workloads, &mut measures)?);
        if measures.is_empty() {
            return Ok(Choice::Nothing(said.join("\n")));
        }
        let idle = servers.extract_if(.., |server| !serves(server, &measures));
        let idle: Vec<String> = idle.map(|server| server.id.clone()).collect();
        if servers.is_empty() {
            return Ok(Choice::Nothing(format!(
                "in the suite `{}` these servers have nothing to do: {}",
                suite.id,
                idle.join(", ")
            )));
        }
        if !idle.is_empty() {
            said.push(format!(
                "left out: {}, with none of these workloads",
                idle.join(", ")
            ));
        }
        if let Some(ceiling) = ceiling.filter(|ceiling| serves(ceiling, &measures)) {
            servers.push(ceiling);
            said.push(
                "beside them: ceiling, to show what this machine can do at all (--no-ceiling leaves it out)"
                    .into(),
            );
        }
        check_baseline(arguments.baseline.as_deref(), &suite, &servers)?;
        Ok(Choice::Chosen(Box::new(Chosen {
            tasks: tasks(self.layout, &workloads, &measures)?,
            suite,
            servers,
            measures,
            said,
        })))
    }

    /// Takes away the measures whose load the driver cannot make, and says why.
    fn without_the_undrivable(
        &self,
        workloads: &Workloads,
        measures: &mut Vec<Measure>,
    ) -> Result<Vec<String>, Box<dyn Error>> {
        let Some(tool) = &self.driver else {
            return Ok(Vec::new());
        };
        let mut said = vec![driver_note(tool)];
        let mut drivable = Vec::with_capacity(measures.len());
        for measure in measures.drain(..) {
            let workload = workloads.get(&measure.workload)?;
            match cannot_drive(tool, workload, &measure.load) {
                None => drivable.push(measure),
                Some(why) => said.push(format!(
                    "left out: {}, which {} cannot load: {why}",
                    measure.workload, tool.manifest.title
                )),
            }
        }
        *measures = drivable;
        said.dedup();
        Ok(said)
    }

    fn servers(
        &self,
        suite: &Suite,
        arguments: &Arguments,
    ) -> Result<Vec<&Server>, Box<dyn Error>> {
        let mut servers = if arguments.only.is_empty() {
            let in_suite = |error| format!("the suite `{}`: {error}", suite.id);
            self.select(&suite.servers).map_err(in_suite)?
        } else {
            let selected = self.select(&arguments.only);
            selected.map_err(project::not_selected)?
        };
        for server in &self.outside {
            // It may be named by the suite, or be a folder of the repository itself.
            if servers.iter().all(|chosen| chosen.id != server.id) {
                servers.push(server);
            }
        }
        Ok(servers)
    }

    /// The servers of these ids, each once: those given as folders, or those of the project.
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

    /// The reference server, which is measured beside them in any run: what the machine can do at all
    /// changes from hour to hour. `None` where it is among them, is not wanted, or is not here.
    fn ceiling(
        &self,
        servers: &[&Server],
        arguments: &Arguments,
    ) -> Result<Option<&Server>, Box<dyn Error>> {
        let is_here = self.catalogue.servers.iter().map(|server| &server.id);
        let is_broken = self.catalogue.broken.iter().map(|broken| &broken.id);
        let is_named = servers.iter().any(|server| server.id == CEILING);
        if is_named || arguments.no_ceiling || is_here.chain(is_broken).all(|id| id != CEILING) {
            return Ok(None);
        }
        let selected = self.catalogue.select(&[CEILING.to_owned()]);
        Ok(selected.map_err(project::not_selected)?.pop())
    }

    /// The suite's measures, of which the command line may choose some by their workloads; `None`
    /// where none is left.
    fn measures(
        &self,
        suite: &Suite,
        workloads: &Workloads,
        chosen: &[String],
    ) -> Result<Option<Vec<Measure>>, Box<dyn Error>> {
        workloads
            .select(chosen.iter().map(String::as_str))
            .map_err(usage)?;
        let load_cpus = NonZeroUsize::new(self.cpus.load.len()).unwrap_or(NonZeroUsize::MIN);
        let mut measures = suite.measures_on(load_cpus);
        measures.retain(|measure| chosen.is_empty() || chosen.contains(&measure.workload));
        Ok((!measures.is_empty()).then_some(measures))
    }
}

/// The tool that is to make the load.
fn driver(layout: &Layout, id: Option<&str>) -> Result<Option<Tool>, Box<dyn Error>> {
    let Some(id) = id else {
        return Ok(None);
    };
    let drivers = Drivers::read(&layout.root().join("drivers"))?;
    let manifest = drivers.get(id).map_err(usage)?;
    let prony = std::env::current_exe()?;
    Ok(Some(Tool::find(id, manifest, &prony)?))
}

/// Makes the suite quick, then changes it as the command line says; tells what must be said of it.
fn change(suite: &mut Suite, arguments: &Arguments) -> Result<Vec<String>, Box<dyn Error>> {
    let mut said = Vec::new();
    suite.adaptive = adaptive(suite, arguments)?;
    let changes = Changes {
        // Where rounds are added as needed, it is how many there may be.
        rounds: arguments.rounds.filter(|_| suite.adaptive.is_none()),
        duration: arguments.duration,
        warmup: arguments.warmup,
        warmup_limit: arguments.warmup_limit,
        requests: arguments.requests,
    };
    if arguments.quick {
        let id = suite.id.clone();
        said.push(match suite.quicken(&changes) {
            Some(note) => note.to_owned(),
            None => format!("the suite `{id}` is short as it is: --quick changes nothing in it"),
        });
    }
    suite.change(&changes);
    Ok(said)
}

/// Whether rounds are added as needed: as the command line says, or else the suite.
fn adaptive(
    suite: &Suite,
    arguments: &Arguments,
) -> Result<Option<AdaptiveRounds>, Box<dyn Error>> {
    let own = suite.adaptive;
    let Some(precision) = arguments.precision.or(own.map(|own| own.precision)) else {
        return match arguments.budget {
            None => Ok(None),
            Some(_) => Err(usage(format!(
                "--budget bounds rounds that are added as needed, and the suite `{}` has a set number of \
                 them; add --precision, for instance --precision 3%, or set --rounds instead",
                suite.id
            ))),
        };
    };
    let most = AdaptiveRounds::MOST_ROUNDS;
    let most_rounds = arguments.rounds.map_or(most, NonZeroU32::get);
    if most_rounds > most {
        return Err(usage(format!(
            "--rounds {most_rounds}: with --precision there are {most} rounds at the most"
        )));
    }
    let budget = arguments.budget.or(own.map(|own| own.budget));
    Ok(Some(AdaptiveRounds {
        precision,
        budget: budget.unwrap_or(AdaptiveRounds::BUDGET),
        most_rounds,
    }))
}

/// Whether the server serves anything of what is measured.
fn serves(server: &Server, measures: &[Measure]) -> bool {
    let served = &server.manifest.workloads;
    measures.iter().any(|one| served.contains(&one.workload))
}

/// The baseline must take part.
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
        "the baseline `{id}` takes no part in this run of `{}`: it has {}{}",
        suite.id,
        ids().collect::<Vec<_>>().join(", "),
        meant.unwrap_or_default(),
    )))
}

/// The workloads of the measures, each once.
fn tasks(
    layout: &Layout,
    workloads: &Workloads,
    measures: &[Measure],
) -> Result<Vec<Task>, Box<dyn Error>> {
    let mut tasks: Vec<Task> = Vec::new();
    for workload in workloads.select(measures.iter().map(|measure| measure.workload.as_str()))? {
        if tasks.iter().all(|task| task.workload.id != workload.id) {
            tasks.push(Task::new(workload, layout)?);
        }
    }
    Ok(tasks)
}
