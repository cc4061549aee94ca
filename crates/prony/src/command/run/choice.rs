//! What is to be run: the suite with what the command line changes in it, and the subjects, wherever
//! they live.

use std::error::Error;
use std::num::NonZeroUsize;

use prony_driver::{Catalogue as Drivers, Tool};
use prony_record::CpuAssignment;
use prony_subject::{Catalogue, Layout, Subject};
use prony_suite::run::{Task, cannot_drive, driver_note};
use prony_suite::{Changes, Measure, Suite, SuiteError, Workloads};

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
    /// The subjects that were given as folders.
    outside: Vec<Subject>,
}

/// A suite and what of it is run.
pub struct Chosen<'a> {
    pub suite: Suite,
    pub subjects: Vec<&'a Subject>,
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
        let mut suite = Suite::read(&self.layout.suites(), suite).map_err(|error| match error {
            SuiteError::Unknown(_) => usage(error),
            SuiteError::File(_) => error.into(),
        })?;
        let mut said = change(&mut suite, arguments);
        let mut subjects = self.subjects(&suite, arguments)?;
        let workloads = project::workloads(self.layout, &subjects)?;
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
        let idle = without_the_idle(&mut subjects, &measures);
        if subjects.is_empty() {
            return Ok(Choice::Nothing(format!(
                "in the suite `{}` these subjects have nothing to do: {}",
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
        Ok(Choice::Chosen(Box::new(Chosen {
            tasks: tasks(self.layout, &workloads, &measures)?,
            suite,
            subjects,
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

    fn subjects(
        &self,
        suite: &Suite,
        arguments: &Arguments,
    ) -> Result<Vec<&Subject>, Box<dyn Error>> {
        let mut subjects = if arguments.subjects.is_empty() {
            let in_suite = |error| format!("the suite `{}`: {error}", suite.id);
            self.catalogue.select(&suite.subjects).map_err(in_suite)?
        } else {
            let selected = self.catalogue.select(&arguments.subjects);
            selected.map_err(project::not_selected)?
        };
        for subject in &self.outside {
            // A folder of the repository itself may be named among them.
            if subjects.iter().all(|chosen| chosen.id != subject.id) {
                subjects.push(subject);
            }
        }
        Ok(subjects)
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
fn change(suite: &mut Suite, arguments: &Arguments) -> Vec<String> {
    let mut said = Vec::new();
    let changes = Changes {
        rounds: arguments.rounds,
        duration: arguments.duration,
        warmup: arguments.warmup,
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
    said
}

/// Takes away the subjects that serve nothing of what is measured, and gives their ids.
fn without_the_idle(subjects: &mut Vec<&Subject>, measures: &[Measure]) -> Vec<String> {
    let serves = |subject: &Subject| {
        let served = &subject.manifest.workloads;
        measures.iter().any(|one| served.contains(&one.workload))
    };
    let idle = subjects.extract_if(.., |subject| !serves(subject));
    idle.map(|subject| subject.id.clone()).collect()
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
