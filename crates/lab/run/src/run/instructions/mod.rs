//! Trials that count the instructions of a server: under an emulator, or with the processor's counters if there are any.
//!
//! The requests are always those of a closed loop: a warm-up of a fixed number, then a fixed number that counts, with a
//! pause before each. Rates and latencies of such a load mean nothing.

pub(super) mod counter;
pub(super) mod counting;
mod warm_up;

use std::path::Path;
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use prony_insight::RuntimeVariable;
use prony_insight::instructions::{Function, Messages, SETTINGS};
use prony_model::{
    Ended, FunctionInstructions, LoadResult, Measurement, Outcome, Seconds, UnemulatedCost,
    UserInstructions,
};

use super::instrument::NoInstrument;
use super::process::{Access, Process};
use super::server_pool::Running;
use super::trial::{Loaded, Stop, Trial, load_failed};
use super::verify::settle_quiet;
pub use counter::Counter;
use counter::{LONGEST_LOAD, node_options};
use counting::{BatchCounts, BatchTotals, Batched, Counting, TrialRequests};
use warm_up::{WarmUp, next_batch};

/// An emulator makes a server start slower by about this factor.
const SLOWER_START: u32 = 10;
/// The rounds whose servers also run without the emulator, for their CPU time.
const UNEMULATED_ROUNDS: u32 = 3;
/// How long they are loaded: CPU time is counted in ticks of 10 ms.
const UNEMULATED_TIME: Duration = Duration::from_millis(400);
/// Which share of the time that is left the warm-up may take, and then the counted requests. The rest is for the same
/// requests without the emulator.
const WARM_UP_SHARE: f64 = 0.5;
const COUNTED_SHARE: f64 = 0.7;
/// The most functions in a record.
const MOST_FUNCTIONS: usize = 200;

/// Programs that compile code while they run it.
const COMPILING: [&str; 15] = [
    "bun", "deno", "dotnet", "java", "luajit", "node", "npm", "npx", "php", "pnpm", "pypy",
    "pypy3", "ruby", "tsx", "yarn",
];

/// What counted instructions cannot tell of a server that this command runs, because its runtime compiles or collects garbage
/// while they are counted; `None` if starts differ too little to matter.
pub fn limits_of_counting(command: &[String]) -> Option<String> {
    let program = Path::new(command.first()?).file_name()?.to_str()?;
    let compiles = COMPILING.contains(&program);
    compiles.then(|| {
        format!(
            "{program} compiles code while it runs, so its starts differ: changes below 1 % (small servers) or 8 % (large \
             frameworks) may not show; a longer --budget warms the server up longer, and --by time compares CPU time"
        )
    })
}

impl Trial<'_> {
    /// Counts the instructions of a new server.
    pub(super) fn count_instructions(&self) -> Result<(Measurement, Running), Stop> {
        if let Access::Outside(outside) = self.access {
            return Err(load_failed(format!(
                "Prony counts the instructions only of servers that it starts, and {} already runs",
                outside.url
            )));
        }
        if self.driver.is_some() || self.generator().fleet().is_some() {
            return Err(load_failed(
                "only Prony's own engine, in this process, sends requests to count the instructions of",
            ));
        }
        let allowed = self.attempt.allowed;
        let ends = allowed.and_then(|allowed| Instant::now().checked_add(allowed));
        let counter = self.session.counter.get_or_init(Counter::find);
        let counter = counter.as_ref().map_err(load_failed)?;
        let messages = Messages::new(&self.testbed().logs, &self.name());
        let wrapper = counter.wrapper(&messages);
        let running = self.bring_up(Some((&wrapper, SLOWER_START)));
        let counted =
            running.and_then(
                |mut running| match self.count(counter, &mut running, ends) {
                    Ok(counted) => Ok((running, counted)),
                    Err(stop) => Err(self.exit_or(stop, &mut running.server)),
                },
            );
        let counted = counted.map_err(|stop| explained(stop, &messages));
        let (mut running, (load, mut instructions)) = counted?;
        messages.discard();
        let log_tail = self.log_tail(&running.server);
        // It need not end by itself: an emulator takes long to, and writes counts that nobody reads.
        running.server.stop(Duration::ZERO);
        if self.attempt.trial.round <= UNEMULATED_ROUNDS {
            let unemulated = self.unemulated(instructions.warm_up_requests)?;
            instructions.unemulated = Some(unemulated);
        }
        let measurement = Measurement {
            // What an emulator uses is not the server's cost, and the warm-up is in it.
            server: None,
            noise: load.metered.noise,
            log_lines: load.log_lines,
            log_tail,
            user_instructions: Some(instructions),
            load: load.load,
            ..Measurement::default()
        };
        Ok((measurement, running))
    }

    /// Warms the server up, and counts.
    fn count(
        &self,
        counter: &Counter,
        running: &mut Running,
        ends: Option<Instant>,
    ) -> Result<(Loaded, UserInstructions), Stop> {
        let counting = Counting::of(counter, &running.server).map_err(load_failed)?;
        if self.task.workload.log_lines() > 0 {
            settle_quiet(&mut running.server);
        }
        let counts = self.batch_counts(counting, &running.server, ends);
        self.report_warm_up(Duration::ZERO);
        let batches = Some(counts.batches());
        let mut loaded = self.watched_load(running, batches, &mut NoInstrument)?;
        fail_unless_complete(&loaded.load)?;
        let counted = counts.counted().map_err(load_failed)?;
        // Those of an earlier trial stay.
        let _ = self.counted_requests().set(counted.known.clone());
        // The engine knows of no counting, of no warm-up, and of an end in time that only bounds it.
        loaded.load.load = self.load.clone();
        Ok((loaded, recorded(counter, counted, &self.program())))
    }

    /// The requests of all trials of its measure.
    fn counted_requests(&self) -> &OnceLock<TrialRequests> {
        &self.session.counted_requests[self.attempt.measure]
    }

    /// Counts over as many requests as other trials of the measure had, or else as many as the time until `ends` allows.
    fn batch_counts(
        &self,
        counting: Counting,
        server: &Process,
        ends: Option<Instant>,
    ) -> BatchCounts {
        let now = Instant::now();
        let left = ends.map(|ends| ends.saturating_duration_since(now));
        let share_of_left = |share| left.map(|left| left.mul_f64(share));
        let known = self.counted_requests().get();
        let warm_up = WarmUp::begin(
            known.map(|known| known.warm_up),
            server.tree(),
            self.attempt.warmup_limit,
            share_of_left(WARM_UP_SHARE),
        );
        let counted = share_of_left(WARM_UP_SHARE + (1.0 - WARM_UP_SHARE) * COUNTED_SHARE);
        let batched = match known {
            Some(known) => Batched::known(known.batches.clone()),
            None => Batched::fitting(
                self.load.requests.unwrap_or(1),
                counted.map(|counted| now + counted),
            ),
        };
        BatchCounts::new(counting, warm_up, batched)
    }

    /// The program that the server's command begins with; empty if Prony does not start it.
    fn program(&self) -> String {
        let first = match self.access {
            Access::Start(built) => built.run.first(),
            Access::Outside(_) => None,
        };
        first.map(ToString::to_string).unwrap_or_default()
    }

    /// Sends some requests, each of which must have a response.
    fn send(&self, server: &mut Process, requests: u64) -> Result<(), Stop> {
        let mut plan = self.plan(server, None)?;
        plan.load.requests = Some(requests);
        let result = self.run_load(&plan, server, &mut |_| {})?;
        self.fail_without_responses(&result, server)
    }

    /// The CPU time of the same requests in a process that no emulator runs.
    fn unemulated(&self, warm_up_requests: u64) -> Result<UnemulatedCost, Stop> {
        let mut running = self.bring_up(None)?;
        let server = &mut running.server;
        self.report_warm_up(Duration::ZERO);
        let mut sent = 0;
        while sent < warm_up_requests {
            let requests = next_batch(sent);
            self.send(server, requests)?;
            sent += requests;
        }
        let meter = self.meter(server)?;
        let mut plan = self.plan(server, None)?;
        plan.load.requests = None;
        plan.load.duration = Some(Seconds(UNEMULATED_TIME));
        let result = self.run_load(&plan, server, &mut |_| {})?;
        let cost = meter.finish(result.loaded_s()).map_err(load_failed)?.server;
        let cost = cost.unwrap_or_default();
        running.stop();
        Ok(UnemulatedCost {
            requests: completed(&result),
            cpu_user_s: cost.cpu_user_s,
            cpu_system_s: cost.cpu_system_s,
        })
    }
}

/// All requests that ended, or flows.
fn ended(load: &LoadResult) -> u64 {
    match &load.flows {
        Some(flows) => flows.ok + flows.failed,
        None => load.outcomes.total(),
    }
}

/// Ok responses, or ok flows.
fn completed(load: &LoadResult) -> u64 {
    match &load.flows {
        Some(flows) => flows.ok,
        None => load.outcomes[Outcome::Ok],
    }
}

/// Fails if a request had no ok response: what it cost would be counted too.
fn fail_unless_complete(load: &LoadResult) -> Result<(), Stop> {
    if load.ended != Ended::Requests {
        let longest = LONGEST_LOAD.as_secs();
        return Err(load_failed(format!(
            "its {} requests took more than {longest} s",
            load.requests
        )));
    }
    let (ok, all) = (completed(load), ended(load));
    if ok < all {
        Err(load_failed(format!(
            "{} of {all} requests whose instructions were counted had no ok response",
            all - ok
        )))
    } else {
        Ok(())
    }
}

fn recorded(counter: &Counter, counted: BatchTotals, program: &str) -> UserInstructions {
    let setting = |one: &RuntimeVariable| format!("{}={}", one.name, one.value);
    let variables = SETTINGS.iter().map(setting);
    let options = node_options();
    let own = options.are_of(program);
    let options = own.then(|| format!("{} {}", options.program, options.options.join(" ")));
    UserInstructions {
        requests: counted.requests,
        instructions: counted.count.total,
        counted_by: counter.recorded(),
        batches: counted.batches,
        warm_up_requests: counted.known.warm_up,
        functions: heaviest(counted.count.functions),
        settings: variables.chain(options).collect(),
        processes: u32::try_from(counted.count.processes).unwrap_or(u32::MAX),
        unemulated: None,
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
    fn only_runtimes_that_compile_while_they_run_have_limits() {
        let limits = |command: &[&str]| {
            let command: Vec<String> = command.iter().map(|&word| word.to_owned()).collect();
            limits_of_counting(&command)
        };
        let said = limits(&["/opt/bin/node", "server.js"]).unwrap();
        assert!(said.starts_with("node compiles code"), "{said}");
        for command in [&["./server"][..], &["python3", "server.py"], &[]] {
            assert_eq!(limits(command), None, "{command:?}");
        }
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
