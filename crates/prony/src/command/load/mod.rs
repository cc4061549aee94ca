//! `prony load URL`: the load engine alone, on a server that runs or one that Prony starts.

mod advice;
mod arguments;
mod call;
mod capacity;
mod connections;
pub(super) mod foreign_flags;
mod objectives;
mod output;
mod plan;
mod protocol;
mod ready_load;
mod requests;
mod responses;
mod scenario;
mod server;
mod shape;
mod wanted;

use std::path::Path;
use std::process::ExitCode;
use std::time::Instant;

use prony_kernel::ThrottleMeter;
use prony_load::Endpoint;
use prony_model::objective::{Objectives, judge};
use prony_server::ProcessTree;

use self::advice::advice;
pub(super) use self::arguments::Arguments;
#[cfg(test)]
pub(super) use self::output::Document;
use self::output::OutputArguments;
use self::ready_load::ReadyLoad;
use self::server::ReadyServer;
use self::wanted::{Sent, Wanted};
use crate::exit::{INTERRUPTED, Outcome, interrupt_on_signals, usage};
use crate::fleet::Loads;
use crate::result_file::{self, ResultFile};
use crate::telemetry::{Outlets, Pusher};
use crate::view::load_summary::{self, Shown};
use crate::view::load_view::{LoadView, ShownLoad, cpus_beside};
use crate::view::width;

/// Runs the load, and shows and writes the result.
pub(super) fn run(project: Option<&Path>, arguments: &Arguments) -> Outcome {
    let interrupt = interrupt_on_signals()?;
    // What the user wants.
    let watched = arguments.output.server()?;
    let target = arguments.target(project)?;
    let wanted = Wanted::read(arguments, project, &target)?;
    let outlets = arguments.telemetry.open()?;
    let Some(Sent { requests, server }) = target.ready(&wanted, &interrupt)? else {
        return Ok(ExitCode::from(INTERRUPTED));
    };
    // What the server says.
    let reached = wanted.reach(&requests)?;
    // The plan of both.
    let mut plan = wanted.plan(&requests, &reached)?;
    let files = arguments.files()?;
    let live = arguments.output.live.mode();
    let loads = Loads::start(wanted.fleet.as_ref(), live, &interrupt)?;
    loads.spread(&mut plan, arguments.connections.threads);
    plan.validate().map_err(usage)?;
    let load = ReadyLoad {
        is_random: requests.are_random
            || plan.flow_think_time.is_some()
            || shape::is_random(&plan.load.shape),
        plan,
        offered: reached.offered,
        requests: requests.described,
        loads,
        live,
        interrupt,
    };
    let Arguments {
        capacity,
        time,
        output,
        ..
    } = arguments;
    match wanted.objectives {
        Some(objectives) if capacity.find_capacity => {
            let question = capacity.question(objectives, time, load.plan.load.seed);
            capacity::run(&load, &question, files)
        }
        required => measure(load, output, required, server, watched, outlets, files),
    }
}

/// Runs the load once.
fn measure(
    load: ReadyLoad,
    output: &OutputArguments,
    required: Option<Objectives>,
    mut server: Option<ReadyServer>,
    watched: Option<ProcessTree>,
    outlets: Outlets,
    files: [Option<ResultFile>; 7],
) -> Outcome {
    let plan = &load.plan;
    let server_cpus = server.as_ref().map_or(&[][..], |server| &server.cpus);
    let cpus = cpus_beside(&plan.here.cpus, server_cpus);
    let telemetry = outlets.start(plan, &cpus)?;
    let server_quota = server_quota(&plan.endpoint, watched.as_ref());
    let shown = ShownLoad {
        plan,
        requests: load.requests.as_deref(),
        server: watched,
        cpus,
        interrupt: &load.interrupt,
    };
    let mut view = LoadView::start(load.live, shown);
    let loads = load.loads;
    let show = &mut |progress| {
        if let Some(warning) = telemetry.observe(&progress) {
            view.keep(&warning);
        }
        view.show(progress, loads.silent(), Instant::now());
    };
    let loaded = loads.run_recording(plan, output.recording(), &load.interrupt, show);
    drop(view);
    let last_push = telemetry.end();
    let (mut result, recorded) = loaded?;
    if let (Some(timeline), Some(intervals)) = (&mut result.timeline, &recorded.intervals) {
        timeline.seconds = intervals.seconds()?;
    }
    drop(loads);
    result.server_throttled = server_quota.and_then(|quota| quota.throttled());
    if let Some(ended) = server.as_mut().and_then(ReadyServer::ended) {
        errln!("ENDED    {ended}");
    }
    let judged = required.map_or(Ok(Vec::new()), |required| judge(&required, &result))?;
    let shown = Shown {
        objectives: judged.clone(),
        distribution: output.latency,
        every_agent: false,
        seed: load.is_random,
        advice: advice(plan, &result, load.offered),
        requests: load.requests,
    };
    result_file::show(&load_summary::text(&result, &shown, width()), &files);
    let [files @ .., _] = files;
    let written = output::write(files, &result, &recorded, &shown);
    // Last, because a user who does not want to wait for it presses Ctrl-C.
    if let Some(warning) = last_push.and_then(Pusher::wait) {
        errln!("{warning}");
    }
    written?;
    Ok(output::exit_code(&result, &judged))
}

/// Watches the CPU quotas of the server, if it runs on this machine and its processes are visible.
fn server_quota(endpoint: &Endpoint, named: Option<&ProcessTree>) -> Option<ThrottleMeter> {
    match (named, endpoint) {
        (Some(server), _) => Some(server.quota()),
        (None, Endpoint::Tcp(address)) => Some(ProcessTree::at(*address).ok()?.quota()),
        (None, Endpoint::Unix(_)) => None,
    }
}
