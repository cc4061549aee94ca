//! What is to be run: the suite with what the command line changes in it, and the subjects, wherever
//! they live.

use std::error::Error;
use std::num::NonZeroUsize;

use prony_record::CpuAssignment;
use prony_subject::{Catalogue, Layout, Subject};
use prony_suite::run::Task;
use prony_suite::{Changes, Measure, Suite, SuiteError, Workloads};

use super::Arguments;
use crate::exit::usage;
use crate::project;

/// What is there to choose from, seen before anything is changed on this machine.
pub struct Ground<'a> {
    pub layout: &'a Layout,
    pub cpus: CpuAssignment,
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
        let Some(measures) = self.measures(&suite, &workloads, &arguments.workloads)? else {
            return Ok(Choice::Nothing(format!(
                "the suite `{}` has none of these workloads; it has: {}",
                suite.id,
                suite.workloads().join(", ")
            )));
        };
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
