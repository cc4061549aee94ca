//! Trials that count the instructions of a server: under an emulator, or with the processor's counters if there are any.
//!
//! The requests are always those of a closed loop: a warm-up of a fixed number, then a fixed number that counts. Rates and
//! latencies of such a load mean nothing.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};

use prony_instructions::{Control, Emulator, Function, InstructionCount, Messages, settings};
use prony_kernel::TreeCounters;
use prony_load::{LoadPlan, LoadRunner};
use prony_model::{
    CountedBy, Ended, FailureKind, FunctionInstructions, LoadResult, Measurement, Outcome,
    UnemulatedCost, UserInstructions,
};
use prony_server::{PortSource, Wrapper, WrapperVariable};

use super::kept::Running;
use super::process::{Access, Process};
use super::sampling::Meter;
use super::trial::{Stop, TrialEvent, TrialSetup, failed};
use super::verify::settle_quiet;

/// A warm-up is a series of loads, each over new connections and as long as all before together: V8 drops code that it has
/// optimized for one connection when another one comes.
const FIRST_BATCH: u64 = 250;
/// The fewest requests of a warm-up, and the most.
const FEWEST_REQUESTS: u64 = 4000;
const MOST_REQUESTS: u64 = 256_000;
/// A server still gets faster if its latest requests took less than this share of the time of those before.
const STILL_FASTER: f64 = 0.92;
/// The limit of a warm-up is CPU time, because the machine may be busy; in any case it ends after this many times the limit.
const LONGEST_WARM_UP: u32 = 5;
/// Requests between switching the counting on and setting the counts to 0.
const SETTLING: u64 = 20;
/// An emulator makes a server start slower by about this factor.
const SLOWER_START: u32 = 10;
/// The rounds whose servers also run without the emulator, for their CPU time.
const UNEMULATED_ROUNDS: u32 = 3;
/// How long they are loaded: CPU time is counted in ticks of 10 ms.
const UNEMULATED_TIME: Duration = Duration::from_millis(400);
/// How long a load may take: it has a number of requests and no end in time.
const LONGEST_LOAD: Duration = Duration::from_secs(300);
/// The most functions in a record.
const MOST_FUNCTIONS: usize = 200;

/// What counts instructions on this machine.
#[derive(Clone, Debug)]
pub enum Counter {
    /// The processor.
    Counters,
    /// An emulator.
    Emulator(Emulator),
}

impl Counter {
    /// The processor's counters if the machine has any, otherwise the emulator.
    ///
    /// # Errors
    /// If the machine has no counters, and the emulator is not installed; the text says how to install it.
    pub fn find() -> Result<Self, String> {
        if TreeCounters::are_available_in_user_mode() {
            return Ok(Self::Counters);
        }
        Emulator::find().map(Self::Emulator).map_err(|error| {
            let install = prony_server::install_line("valgrind");
            let install = install.unwrap_or_else(|| "https://valgrind.org".to_owned());
            format!(
                "this machine has no hardware counters that Prony may read, and {error}; to install it: {install}"
            )
        })
    }

    fn recorded(&self) -> CountedBy {
        match self {
            Self::Counters => CountedBy::Counters,
            Self::Emulator(emulator) => CountedBy::Emulator {
                version: emulator.version().to_owned(),
            },
        }
    }

    /// What runs a server's command so that its instructions can be counted.
    fn wrapper(&self, messages: &Messages) -> Wrapper {
        let variable = |setting: &prony_instructions::Setting| WrapperVariable {
            name: setting.name.to_owned(),
            value: setting.value.to_owned(),
            separator: setting.separator,
        };
        Wrapper {
            before: match self {
                Self::Counters => Vec::new(),
                Self::Emulator(emulator) => emulator.before(Wrapper::FOLDER, messages),
            },
            env: settings().iter().map(variable).collect(),
        }
    }
}

/// What the trials of a measure that counts instructions share.
#[derive(Debug, Default)]
pub struct Instructions {
    counter: OnceLock<Result<Counter, String>>,
}

impl Instructions {
    /// What counts; looks for it the first time.
    fn counter(&self) -> Result<&Counter, Stop> {
        let found = self.counter.get_or_init(Counter::find);
        let stop = |why: &String| Stop::Failed(FailureKind::Load, why.clone());
        found.as_ref().map_err(stop)
    }
}

/// How many requests warm up the servers of one measure: the first trial searches that, and all others use it, so that both
/// sides of a comparison do the same. 0 before the search.
#[derive(Debug, Default)]
pub struct WarmUpRequests(AtomicU64);

impl WarmUpRequests {
    fn known(&self) -> Option<u64> {
        Some(self.0.load(Relaxed)).filter(|known| *known > 0)
    }

    fn learn(&self, requests: u64) {
        self.0.store(requests, Relaxed);
    }
}

/// Counts while the server runs.
enum Counting {
    Counters(Option<TreeCounters>),
    Emulator(Control),
}

impl TrialSetup<'_> {
    /// Counts the instructions of a new server.
    pub(super) fn count_instructions(
        &self,
        ports: &mut dyn PortSource,
        observe: &mut dyn FnMut(TrialEvent<'_>),
    ) -> Result<(Measurement, Running), Stop> {
        if let Access::Outside(outside) = self.access {
            return Err(Stop::Failed(
                FailureKind::Load,
                format!(
                    "Prony counts the instructions only of servers that it starts, and {} already runs",
                    outside.url
                ),
            ));
        }
        if self.driver.is_some() {
            let why =
                "only Prony's own engine sends a fixed number of requests to count instructions of";
            return Err(Stop::Failed(FailureKind::Load, why.to_owned()));
        }
        let counter = self.instructions.counter()?;
        let messages = Messages::new(&self.bench.logs, &self.name());
        let wrapper = counter.wrapper(&messages);
        let running = self.bring_up(ports, Some((&wrapper, SLOWER_START)));
        let counted = running.and_then(|mut running| {
            let counted = self.count(counter, &mut running, observe)?;
            Ok((running, counted))
        });
        let counted = counted.map_err(|stop| explained(stop, &messages));
        let (mut running, (mut measurement, requests)) = counted?;
        messages.discard();
        // It need not end by itself: an emulator takes long to, and writes counts that nobody reads.
        running.server.stop(Duration::ZERO);
        let unemulated = match (counter, self.attempt.trial.round <= UNEMULATED_ROUNDS) {
            (Counter::Emulator(_), true) => Some(self.unemulated(requests, ports, observe)?),
            _ => None,
        };
        if let Some(counted) = &mut measurement.user_instructions {
            counted.unemulated = unemulated;
        }
        Ok((measurement, running))
    }

    /// Warms the server up, counts, and gives the measurement with the number of requests of the warm-up.
    fn count(
        &self,
        counter: &Counter,
        running: &mut Running,
        observe: &mut dyn FnMut(TrialEvent<'_>),
    ) -> Result<(Measurement, u64), Stop> {
        let counting = match counter {
            Counter::Counters => Counting::Counters(None),
            Counter::Emulator(emulator) => {
                let folder = running.server.scratch().unwrap_or_default();
                Counting::Emulator(Control::new(emulator, &folder))
            }
        };
        let warm_up_requests = self.warm_up_by_requests(&mut running.server, observe)?;
        let stop = |error: prony_instructions::ControlError| {
            Stop::Failed(FailureKind::Load, error.to_string())
        };
        if let Counting::Emulator(control) = &counting {
            control.start().map_err(stop)?;
            self.send(&mut running.server, SETTLING)?;
            control.zero().map_err(stop)?;
        }
        let logged = u64::from(self.task.workload.log_lines());
        let lines_before = match logged {
            0 => 0,
            _ => {
                settle_quiet(&mut running.server);
                running.settled_lines().map_err(super::trial::unreadable)?
            }
        };
        let counting = match counting {
            Counting::Counters(_) => {
                let tree = running.server.tree();
                let opened =
                    tree.and_then(|tree| TreeCounters::open_in_user_mode(|| tree.threads()));
                let none =
                    || "the processor's counters could not be opened for the server's threads";
                let opened = opened.ok_or_else(none).map_err(failed(FailureKind::Load))?;
                Counting::Counters(Some(opened))
            }
            counting => counting,
        };
        let meter = Meter::start(&running.server, &self.generator.cpus(self.bench));
        let meter = meter.map_err(failed(FailureKind::Load))?;
        let mut load = self.load(&mut running.server, observe)?;
        let count = match &counting {
            Counting::Counters(counters) => {
                let read = counters.as_ref().and_then(TreeCounters::read);
                let none = || "the processor's counters were all in use";
                let read = read.ok_or_else(none).map_err(failed(FailureKind::Load))?;
                InstructionCount {
                    total: read.instructions,
                    processes: running
                        .server
                        .tree()
                        .and_then(|tree| tree.pids().ok())
                        .map_or(1, |pids| pids.len()),
                    ..InstructionCount::default()
                }
            }
            Counting::Emulator(control) => control.read().map_err(stop)?,
        };
        let sampled = meter.finish(load.loaded_s());
        self.fail_if_exited(&mut running.server)?;
        self.fail_without_responses(&load, &running.server)?;
        if load.ended != Ended::Requests {
            let longest = LONGEST_LOAD.as_secs();
            let why = format!("its {} requests took more than {longest} s", load.requests);
            return Err(Stop::Failed(FailureKind::Load, why));
        }
        // The engine knows of no counting, and of an end in time that only bounds it.
        load.load = self.load.clone();
        let log_lines = (logged > 0)
            .then(|| self.reconcile(running, lines_before, &load))
            .transpose()?;
        let (server, noise) = sampled.map_err(failed(FailureKind::Load))?;
        let user_instructions = UserInstructions {
            requests: completed(&load),
            instructions: count.total,
            counted_by: counter.recorded(),
            warm_up_requests,
            functions: heaviest(count.functions),
            settings: settings()
                .iter()
                .map(|one| format!("{}={}", one.name, one.value))
                .collect(),
            processes: u32::try_from(count.processes).unwrap_or(u32::MAX),
            unemulated: None,
        };
        let measurement = Measurement {
            // What an emulator uses is not the server's cost.
            server: server.filter(|_| matches!(counter, Counter::Counters)),
            startup_ns: None,
            warm_up: None,
            search: None,
            noise,
            log_lines,
            log_tail: self.log_tail(&running.server),
            user_instructions: Some(user_instructions),
            load,
        };
        Ok((measurement, warm_up_requests))
    }

    /// Warms the server up with the number of requests of the measure, or until it stops getting faster if that is not known
    /// yet. Returns the number.
    fn warm_up_by_requests(
        &self,
        server: &mut Process,
        observe: &mut dyn FnMut(TrialEvent<'_>),
    ) -> Result<u64, Stop> {
        let mut search = Search::begin(server, self.attempt.warmup_limit_s);
        let mut sent = 0;
        loop {
            let is_over = match self.warm_up_requests.known() {
                Some(requests) => sent >= requests,
                None => search.is_over(server, sent),
            };
            if is_over {
                self.warm_up_requests.learn(sent);
                return Ok(sent);
            }
            observe(TrialEvent::WarmingUp(search.begun.elapsed()));
            let requests = next_batch(sent);
            let took_s = self.send(server, requests)?.duration_s;
            search.times.push(took_s / requests as f64);
            sent += requests;
        }
    }

    /// Sends some requests, each of which must have a response.
    fn send(&self, server: &mut Process, requests: u64) -> Result<LoadResult, Stop> {
        let plan = LoadPlan {
            requests: Some(requests),
            ..self.plan(server, None)?
        };
        let stop = AtomicBool::new(false);
        let result = self.generator.run(&plan, &stop, &mut |_| {
            if self.bench.is_interrupted() || server.exited().is_some() {
                stop.store(true, Relaxed);
            }
        });
        self.fail_if_stopped(server)?;
        let result = result.map_err(failed(FailureKind::Load))?;
        self.fail_without_responses(&result, server)?;
        Ok(result)
    }

    /// The CPU time of the same requests in a process that no emulator runs.
    fn unemulated(
        &self,
        warm_up_requests: u64,
        ports: &mut dyn PortSource,
        observe: &mut dyn FnMut(TrialEvent<'_>),
    ) -> Result<UnemulatedCost, Stop> {
        let mut running = self.bring_up(ports, None)?;
        let server = &mut running.server;
        observe(TrialEvent::WarmingUp(Duration::ZERO));
        let mut sent = 0;
        while sent < warm_up_requests {
            let requests = next_batch(sent);
            self.send(server, requests)?;
            sent += requests;
        }
        let meter = Meter::start(server, &self.generator.cpus(self.bench));
        let meter = meter.map_err(failed(FailureKind::Load))?;
        let plan = LoadPlan {
            requests: None,
            duration: Some(UNEMULATED_TIME),
            ..self.plan(server, None)?
        };
        let result = self
            .generator
            .run(&plan, &self.bench.interrupt, &mut |_| {});
        self.fail_if_stopped(server)?;
        let result = result.map_err(failed(FailureKind::Load))?;
        let cost = meter.finish(result.loaded_s());
        let (cost, _) = cost.map_err(failed(FailureKind::Load))?;
        let cost = cost.unwrap_or_default();
        running.stop();
        Ok(UnemulatedCost {
            requests: completed(&result),
            cpu_user_s: cost.cpu_user_s,
            cpu_system_s: cost.cpu_system_s,
        })
    }
}

/// How long a load by instructions may take.
pub(super) const fn longest_load() -> Duration {
    LONGEST_LOAD
}

/// Ok responses, or ok flows.
fn completed(load: &LoadResult) -> u64 {
    match &load.flows {
        Some(flows) => flows.ok,
        None => load.outcomes[Outcome::Ok],
    }
}

/// The search for the number of requests that warm a server up.
struct Search {
    begun: Instant,
    limit: Duration,
    cpu_before_s: f64,
    /// How long a request took in each load so far, in seconds.
    times: Vec<f64>,
}

impl Search {
    fn begin(server: &Process, limit_s: f64) -> Self {
        Self {
            begun: Instant::now(),
            limit: Duration::from_secs_f64(limit_s.clamp(0.0, 1e6)),
            cpu_before_s: cpu_s(server),
            times: Vec::new(),
        }
    }

    /// Whether a server is warm after N requests, or has had enough of them.
    fn is_over(&self, server: &Process, sent: u64) -> bool {
        if sent >= MOST_REQUESTS {
            return true;
        }
        if self.begun.elapsed() > self.limit * LONGEST_WARM_UP {
            return sent > 0;
        }
        // The next load takes as long as all before.
        let is_late = 2.0 * (cpu_s(server) - self.cpu_before_s) > self.limit.as_secs_f64();
        sent >= FEWEST_REQUESTS && (is_late || is_steady(&self.times))
    }
}

fn cpu_s(server: &Process) -> f64 {
    let used = server.tree().and_then(|tree| tree.cpu_s().ok());
    used.unwrap_or(0.0)
}

/// How many requests the next load of a warm-up sends, after those before: 250, 250, 500, 1000, 2000.
fn next_batch(sent: u64) -> u64 {
    sent.max(FIRST_BATCH)
}

/// Whether a request of the last load took no less time than one of the load before, apart from noise.
fn is_steady(times: &[f64]) -> bool {
    match times {
        [.., before, last] => *last >= STILL_FASTER * before,
        _ => false,
    }
}

fn heaviest(functions: Vec<Function>) -> Vec<FunctionInstructions> {
    let functions = functions.into_iter().take(MOST_FUNCTIONS);
    let function = |one: Function| FunctionInstructions {
        name: one.name,
        object: one.object,
        instructions: one.instructions,
    };
    functions.map(function).collect()
}

/// The failure with what valgrind says about a program that it cannot run.
fn explained(stop: Stop, messages: &Messages) -> Stop {
    match (stop, messages.complaint()) {
        (Stop::Failed(kind, why), Some(complaint)) => Stop::Failed(
            kind,
            format!("valgrind cannot run the server: {complaint}; {why}"),
        ),
        (stop, _) => stop,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_is_steady_when_its_requests_take_as_long_as_before() {
        assert!(!is_steady(&[1.0]), "too few");
        assert!(is_steady(&[9.0, 1.0, 1.0]));
        assert!(is_steady(&[1.0, 0.95]), "noise");
        assert!(!is_steady(&[1.0, 0.9]));
    }

    #[test]
    fn each_load_of_a_warm_up_is_as_long_as_all_before() {
        let (mut sent, mut batches) = (0, Vec::new());
        while sent < FEWEST_REQUESTS {
            batches.push(next_batch(sent));
            sent += next_batch(sent);
        }
        assert_eq!(batches, [250, 250, 500, 1000, 2000]);
    }

    #[test]
    fn the_heaviest_functions_are_recorded() {
        let function = |number: u64| Function {
            name: format!("f{number}"),
            object: None,
            instructions: 1000 - number,
        };
        let functions: Vec<Function> = (0..300).map(function).collect();
        let recorded = heaviest(functions);
        assert_eq!(recorded.len(), MOST_FUNCTIONS);
        assert_eq!(recorded[0].name, "f0");
    }
}
