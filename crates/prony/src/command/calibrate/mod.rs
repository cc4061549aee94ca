//! `prony calibrate`: the machine's own limits, which every figure has in it.

mod clock;
mod conditions;
mod cost;
mod engine;
mod limits;
mod meaning;
mod percentiles;
mod pinned;
mod round_trip;
mod schedule;
mod show;
mod sleep;

#[cfg(test)]
mod tests;

use std::error::Error;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Relaxed;

use clap::Args;
use prony_model::CpuAssignment;
use prony_server::Layout;
use serde::Serialize;

use self::clock::Clock;
use self::conditions::Conditions;
use self::engine::Engine;
use self::limits::Limits;
use self::round_trip::RoundTrips;
use self::schedule::ScheduleLag;
use self::sleep::Wakeups;
use super::generators::reference_server::{ReferenceServer, ReferenceServers};
use crate::exit::{INTERRUPTED, Outcome};
use crate::interrupt;
use crate::project;
use crate::result_file::{self, ResultFile};

const EXAMPLES: &str = "\
Examples:
  prony calibrate                       the machine's limits, in about 20 s
  prony calibrate --quick               the same in about 5 s, less exact
  prony calibrate --server-cpus 0 --load-cpus 1
  prony calibrate --json limits.json    as JSON, by schema/calibrate.schema.json

What each figure means: docs/calibrate.md.

Exit status: 0 where all was measured, 1 where something could not be, 2 where the command line is
wrong, 130 where you stopped it (what was measured is shown).";

/// What the `schema` field of the JSON says.
const SCHEMA: &str = "prony-calibration/2";

/// How exactly, on which CPUs, and where to.
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub struct Arguments {
    /// In about 5 s instead of 20 s, with fewer rates and shorter measurements
    #[arg(long)]
    quick: bool,
    /// The CPUs of the server, for instance 0 or 0-3 [default: half of them]
    #[arg(long, value_name = "LIST")]
    server_cpus: Option<String>,
    /// The CPUs of the generator, of which its one thread uses the first [default: the other half]
    #[arg(long, value_name = "LIST")]
    load_cpus: Option<String>,
    /// Write everything as JSON to a file, or to standard output with `-`
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
}

/// All that was measured; what was not measured before it was stopped is `None`.
#[derive(Debug, Default, Serialize)]
struct Calibration {
    schema: &'static str,
    prony_version: &'static str,
    conditions: Option<Conditions>,
    clock: Option<Clock>,
    wakeups: Option<Wakeups>,
    round_trips: Option<RoundTrips>,
    engine: Option<Engine>,
    schedule_lag: Option<ScheduleLag>,
}

/// On what everything is measured, and for how long.
struct Bench<'a> {
    cpus: CpuAssignment,
    servers: ReferenceServers,
    limits: Limits,
    interrupt: &'a AtomicBool,
}

impl Bench<'_> {
    /// The generator's one CPU.
    fn load_cpu(&self) -> &[usize] {
        &self.cpus.load[..1.min(self.cpus.load.len())]
    }

    fn is_interrupted(&self) -> bool {
        self.interrupt.load(Relaxed)
    }

    fn server(&self) -> Result<ReferenceServer, Box<dyn Error>> {
        self.servers.start(None, self.interrupt)
    }
}

/// Measures, shows and writes the machine's limits.
pub fn run(project: Option<&Path>, arguments: &Arguments) -> Outcome {
    let layout: Layout = project::layout(project)?;
    let cpus = project::cpus(
        arguments.server_cpus.as_deref(),
        arguments.load_cpus.as_deref(),
    )?;
    layout.make_state()?;
    let [json] = result_file::open([("--json", arguments.json.as_deref())])?;
    let interrupt = interrupt::on_signals()?;
    let bench = Bench {
        servers: ReferenceServers::on(&cpus.server, &layout)?,
        cpus,
        limits: match arguments.quick {
            true => Limits::quick(),
            false => Limits::usual(),
        },
        interrupt: &interrupt,
    };
    let mut calibration = Calibration {
        schema: SCHEMA,
        prony_version: env!("CARGO_PKG_VERSION"),
        ..Calibration::default()
    };
    let measured = measure(&bench, &mut calibration);
    let text = show::text(&calibration);
    match json.as_ref().is_some_and(ResultFile::is_stdout) {
        true => err!("{text}"),
        false => out!("{text}"),
    }
    if let Some(file) = json {
        file.write_json(&calibration)?;
    }
    match measured {
        _ if bench.is_interrupted() => Ok(ExitCode::from(INTERRUPTED)),
        Err(error) => Err(error),
        Ok(()) => Ok(ExitCode::SUCCESS),
    }
}

/// One after the other, so that none disturbs another.
fn measure(bench: &Bench<'_>, into: &mut Calibration) -> Result<(), Box<dyn Error>> {
    let limits = &bench.limits;
    into.conditions = Some(Conditions::see(&bench.cpus));
    if step(bench, "the clock") {
        into.clock = Some(Clock::measure(bench.load_cpu())?);
    }
    if step(bench, "how late a sleep wakes") {
        into.wakeups = Some(Wakeups::measure(bench.load_cpu(), limits.wakeups)?);
    }
    if step(bench, "the round trip") {
        into.round_trips = Some(RoundTrips::measure(&bench.cpus, limits.round_trips)?);
    }
    if step(bench, "the engine's cost of a request") {
        let (engine, noise) = Engine::measure(bench)?;
        into.engine = Some(engine);
        if let Some(conditions) = &mut into.conditions {
            conditions.heard(&noise);
        }
    }
    if step(bench, "the schedule's lag") {
        into.schedule_lag = Some(ScheduleLag::measure(bench)?);
    }
    Ok(())
}

/// Says what comes next; false where there is to be nothing more.
fn step(bench: &Bench<'_>, what: &str) -> bool {
    let goes_on = !bench.is_interrupted();
    if goes_on {
        errln!("measuring {what}");
    }
    goes_on
}
