//! What watches a server during the loads that explain it.

use prony_insight::profile::{Options, Profiler, Profiles, forget};
use prony_insight::trace::{Activity, SystemCalls, Traced, Used, is_write};
use prony_model::{CostFigure, CostRound, CostUnit, Measurement, Unavailable};
use prony_server::ProcessTree;

use super::plan::ProfilePlan;
use super::units::units;
use crate::run::instrument::Instrument;
use crate::run::process::Process;

/// Counts what the kernel counts anyway, which costs the server nothing.
#[derive(Default)]
pub(super) struct Counters {
    before: Option<Activity>,
    used: Option<Used>,
    unavailable: Vec<Unavailable>,
}

impl Counters {
    /// What the server did, in all.
    pub(super) fn totals(&self) -> Vec<(CostFigure, f64)> {
        let Some(used) = &self.used else {
            return Vec::new();
        };
        let mut totals = vec![
            (CostFigure::MinorFaults, used.minor_faults as f64),
            (CostFigure::MajorFaults, used.major_faults as f64),
            (CostFigure::HeapGrowth, used.anonymous_growth_bytes as f64),
        ];
        if !used.lost_threads {
            totals.extend([
                (
                    CostFigure::VoluntarySwitches,
                    used.voluntary_switches as f64,
                ),
                (
                    CostFigure::InvoluntarySwitches,
                    used.involuntary_switches as f64,
                ),
            ]);
        }
        totals
    }

    /// Threads that used CPU time.
    pub(super) fn threads(&self) -> Option<f64> {
        let used = self.used.as_ref().filter(|used| !used.lost_threads)?;
        Some(used.busy_threads as f64)
    }

    pub(super) fn unavailable(self) -> Vec<Unavailable> {
        let of_used = self.used.into_iter().flat_map(|used| used.unavailable);
        of_used.chain(self.unavailable).collect()
    }

    fn read(&mut self, server: &Process) -> Option<Activity> {
        known(activity(server), &mut self.unavailable)
    }
}

fn activity(server: &Process) -> Result<Activity, Unavailable> {
    let what = "context switches, page faults, threads and memory";
    let why = |error: &dyn ToString| unavailable(what, error.to_string());
    let pids = visible(server, what)?.pids().map_err(|error| why(&error))?;
    Activity::read(&pids).map_err(|error| why(&error))
}

/// The processes of a server of which `what` is to be measured.
fn visible(server: &Process, what: &str) -> Result<ProcessTree, Unavailable> {
    let invisible = "Prony cannot see the server's processes";
    let tree = server.tree();
    tree.ok_or_else(|| unavailable(what, invisible.to_owned()))
}

/// What could not be measured, with no advice that would help.
pub(super) fn unavailable(what: &str, why: String) -> Unavailable {
    Unavailable {
        what: what.to_owned(),
        why,
        remedy: None,
    }
}

/// What was measured; otherwise notes what is unavailable.
fn known<T>(measured: Result<T, Unavailable>, unavailable: &mut Vec<Unavailable>) -> Option<T> {
    measured.map_err(|missing| unavailable.push(missing)).ok()
}

impl Instrument for Counters {
    fn start(&mut self, server: &Process) {
        self.before = self.read(server);
    }

    fn finish(&mut self, server: &Process) {
        if let (Some(before), Some(after)) = (self.before.take(), self.read(server)) {
            self.used = Some(after.since(&before));
        }
    }
}

/// Traces system calls.
pub(super) struct Tracing {
    cpus: Vec<usize>,
    running: Option<SystemCalls>,
    traced: Option<Traced>,
    unavailable: Vec<Unavailable>,
}

impl Tracing {
    /// Reads what the kernel writes on these CPUs.
    pub(super) fn new(cpus: &[usize]) -> Self {
        Self {
            cpus: cpus.to_vec(),
            running: None,
            traced: None,
            unavailable: Vec::new(),
        }
    }

    /// Adds the calls for each request to the plain cost of the round, and how much more CPU time a request took.
    pub(super) fn add_to(&self, round: &mut CostRound, measurement: &Measurement, unit: CostUnit) {
        let (Some(traced), Some(units)) = (&self.traced, units(measurement, unit)) else {
            return;
        };
        let named: u64 = traced.by_name.values().sum();
        let writes = traced.by_name.iter().filter(|(name, _)| is_write(name));
        let writes: u64 = writes.map(|(_, count)| count).sum();
        let calls = [
            (CostFigure::SystemCalls, named + traced.lost),
            (CostFigure::Writes, writes),
        ];
        let wake_ups = traced.wake_ups.map(|count| (CostFigure::WakeUps, count));
        let totals = calls.into_iter().chain(wake_ups);
        round
            .figures
            .extend(totals.map(|(figure, count)| (figure, count as f64 / units)));
        let by_name = traced.by_name.iter();
        round
            .system_calls
            .extend(by_name.map(|(name, count)| (name.clone(), *count as f64 / units)));
        let cpu_s = measurement.server.as_ref().map(|cost| cost.cpu_s() / units);
        let plain_cpu_s = round.figures.get(&CostFigure::Cpu).copied();
        if let (Some(cpu_s), Some(plain)) = (cpu_s, plain_cpu_s.filter(|plain| *plain > 0.0)) {
            round.tracing_cost = Some(cpu_s / plain - 1.0);
        }
    }

    pub(super) fn into_unavailable(self) -> Vec<Unavailable> {
        let of_traced = self.traced.into_iter().flat_map(|it| it.unavailable);
        self.unavailable.into_iter().chain(of_traced).collect()
    }
}

impl Instrument for Tracing {
    fn start(&mut self, server: &Process) {
        let started = visible(server, "system calls by name")
            .and_then(|tree| SystemCalls::start(|| tree.threads(), &self.cpus));
        self.running = known(started, &mut self.unavailable);
    }

    fn finish(&mut self, _: &Process) {
        self.traced = self.running.take().map(SystemCalls::finish);
    }
}

/// Takes profiles.
pub(super) struct Profiling {
    options: Options,
    running: Option<Profiler>,
    profiles: Option<Profiles>,
    unavailable: Vec<Unavailable>,
}

impl Profiling {
    /// Reads samples on these CPUs.
    pub(super) fn new(plan: &ProfilePlan, cpus: &[usize]) -> Self {
        Self {
            options: Options {
                frequency_hz: plan.frequency_hz,
                off_cpu: plan.off_cpu,
                cpus: cpus.to_vec(),
            },
            running: None,
            profiles: None,
            unavailable: Vec::new(),
        }
    }

    /// What was found, once the server has ended: removes what its runtimes left behind for the profile.
    pub(super) fn into_result(self) -> (Option<Profiles>, Vec<Unavailable>) {
        if let Some(profiles) = &self.profiles {
            forget(&profiles.processes);
        }
        (self.profiles, self.unavailable)
    }
}

impl Instrument for Profiling {
    fn start(&mut self, server: &Process) {
        let started = visible(server, "profiles")
            .and_then(|tree| Profiler::start(self.options.clone(), move || tree.threads()));
        self.running = known(started, &mut self.unavailable);
    }

    fn finish(&mut self, _: &Process) {
        let Some(running) = self.running.take() else {
            return;
        };
        // How many requests there were is known only after the trial.
        if let Some(mut profiles) = known(running.finish(1.0), &mut self.unavailable) {
            self.unavailable.append(&mut profiles.unavailable);
            self.profiles = Some(profiles);
        }
    }
}
