//! What is measured of two revisions: which workloads, under which load, how often.

use std::error::Error;
use std::time::Duration;

use prony_model::{LoadShape, LoadSpec};
use prony_server::{Layout, Server};
use prony_suite::run::Task;
use prony_suite::{Measure, Request, WARMUP_LIMIT, Workloads};

use super::Arguments;
use crate::project;

/// So many workloads are measured where nobody says which: more would leave each too few rounds.
const USUAL: usize = 3;

/// How long a response may take.
const TIMEOUT: Duration = Duration::from_secs(5);

/// How long each trial is loaded before it is measured, if nobody says.
const WARMUP: Duration = Duration::from_millis(500);

/// A warm-up that was asked for without a limit is exactly as long as it says.
fn warmup_limit(arguments: &Arguments) -> Duration {
    let usual = match arguments.warmup {
        None => WARMUP_LIMIT,
        Some(_) => Duration::ZERO,
    };
    match arguments.warmup {
        Some(warmup) if warmup.is_zero() => Duration::ZERO,
        _ => arguments.warmup_limit.unwrap_or(usual),
    }
}

/// What is measured.
pub struct Measures {
    pub tasks: Vec<Task>,
    pub measures: Vec<Measure>,
}

impl Measures {
    pub fn choose(
        layout: &Layout,
        pair: [&Server; 2],
        arguments: &Arguments,
        load_cpus: usize,
    ) -> Result<Self, Box<dyn Error>> {
        let workloads = project::workloads(layout, &pair)?;
        let ids = ids(&workloads, pair, &arguments.workloads)?;
        let load = LoadSpec {
            shape: LoadShape::Closed,
            connections: arguments.connections,
            // A thread without a connection would have nothing to do.
            threads: load_cpus.clamp(1, arguments.connections),
            duration_s: Some(arguments.duration.as_secs_f64()),
            warmup_s: arguments.warmup.unwrap_or(WARMUP).as_secs_f64(),
            timeout_s: TIMEOUT.as_secs_f64(),
            ..LoadSpec::default()
        };
        let tasks = workloads.select(ids.iter().map(String::as_str))?;
        let tasks: Result<_, _> = tasks
            .into_iter()
            .map(|one| Task::new(one, layout))
            .collect();
        let measure = |workload: &String| Measure {
            workload: workload.clone(),
            load: load.clone(),
            rounds: 0,
            warmup_limit_s: warmup_limit(arguments).as_secs_f64(),
        };
        Ok(Self {
            tasks: tasks?,
            measures: ids.iter().map(measure).collect(),
        })
    }

    /// So often, at the most.
    pub fn in_rounds(mut self, rounds: u32) -> Self {
        for measure in &mut self.measures {
            measure.rounds = rounds;
        }
        self
    }

    /// Whether a server serves something of it.
    pub fn has_work_for(&self, server: &Server) -> bool {
        let served = &server.manifest.workloads;
        self.measures
            .iter()
            .any(|one| served.contains(&one.workload))
    }
}

/// The ids that were asked for, or the first ones that both serve, each once.
fn ids(
    workloads: &Workloads,
    pair: [&Server; 2],
    asked: &[String],
) -> Result<Vec<String>, Box<dyn Error>> {
    if !asked.is_empty() {
        let chosen = workloads.select(asked.iter().map(String::as_str))?;
        let mut ids: Vec<String> = Vec::new();
        for id in chosen.into_iter().map(|workload| &workload.id) {
            for server in pair {
                if !server.manifest.workloads.contains(id) {
                    return Err(format!("{} does not serve `{id}`", server.id).into());
                }
            }
            if !ids.contains(id) {
                ids.push(id.clone());
            }
        }
        return Ok(ids);
    }
    let [base, new] = pair.map(|server| &server.manifest.workloads);
    let both: Vec<&String> = base.iter().filter(|id| new.contains(id)).collect();
    let over_http = |id: &&&String| {
        let workload = workloads.get(id);
        workload.is_ok_and(|workload| matches!(workload.request, Request::Http { .. }))
    };
    let mut chosen: Vec<&String> = both.iter().copied().filter(|id| over_http(&id)).collect();
    if chosen.is_empty() {
        chosen = both;
    }
    if chosen.is_empty() {
        return Err("the two revisions serve no workload in common".into());
    }
    Ok(chosen.into_iter().take(USUAL).cloned().collect())
}
