//! `prony calibrate`: the machine's own limits, which affect every figure.

mod bench;
pub(super) mod calibration;
mod conditions;
mod engine;
mod meaning;
mod round_trip;
mod show;
mod timing;

#[cfg(test)]
mod tests;

use std::path::Path;
use std::process::ExitCode;

use clap::Args;

use self::bench::{CalibrationBench, MeasuringTimes};
use self::calibration::Calibration;
use super::flags::{CpuFlags, JsonFlag};
use crate::exit::{INTERRUPTED, Outcome, interrupt_on_signals};
use crate::project::Project;
use crate::reference_server::ReferenceServers;
use crate::result_file;
use crate::view::width;

const EXAMPLES: &str = "\
Examples:
  prony calibrate                     the machine's limits, in about 20 s
  prony calibrate --quick             the same in about 5 s, less precise
  prony calibrate --server-cpus 0 --load-cpus 1
  prony calibrate --json limits.json  as JSON (schema/calibrate.schema.json)

The generator has one thread, on the first of its CPUs. docs/calibrate.md explains \
each figure.

Exit status:
  0    everything was measured
  1    something could not be measured
  2    the command line is wrong
  130  you stopped it; what was measured is shown";

/// How precisely, on which CPUs, and where to.
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Arguments {
    /// Take about 5 s instead of 20 s, with fewer rates and shorter measurements
    #[arg(long)]
    quick: bool,
    #[command(flatten)]
    cpus: CpuFlags,
    #[command(flatten)]
    result: JsonFlag,
}

/// Measures, shows and writes the machine's limits.
pub(super) fn run(project: Option<&Path>, arguments: &Arguments) -> Outcome {
    let layout = Project::open(project)?.layout;
    let cpus = arguments.cpus.assign()?;
    layout.make_state()?;
    let files = result_file::open([("--json", arguments.result.json.as_deref())])?;
    let interrupt = interrupt_on_signals()?;
    let bench = CalibrationBench {
        servers: ReferenceServers::on(&cpus.server, &layout)?,
        cpus,
        times: if arguments.quick {
            MeasuringTimes::quick()
        } else {
            MeasuringTimes::usual()
        },
        interrupt: &interrupt,
    };
    let mut calibration = Calibration::new();
    let measured = calibration.measure(&bench);
    result_file::show(&show::text(&calibration, width()), &files);
    if let [Some(file)] = files {
        file.write_json(&calibration)?;
    }
    match measured {
        _ if bench.is_interrupted() => Ok(ExitCode::from(INTERRUPTED)),
        Err(error) => Err(error),
        Ok(()) => Ok(ExitCode::SUCCESS),
    }
}
