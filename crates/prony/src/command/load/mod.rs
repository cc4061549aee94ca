//! `prony load URL`: the load engine alone, on a server that runs or one that Prony starts. One file for each group of its flags.

mod advice;
mod call;
mod capacity;
mod connections;
pub(super) mod foreign_flags;
mod objectives;
mod output;
mod plan;
mod protocol;
mod requests;
mod responses;
mod scenario;
mod server;
mod shape;
mod wanted;

use std::error::Error;
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use clap::Args;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use prony_kernel::ThrottleMeter;
use prony_load::{Endpoint, EventLoopChoice, LoadPlan};
use prony_model::objective::{Objectives, judge};
use prony_server::LocalServer;

use self::advice::advice;
use self::call::CallArguments;
use self::capacity::CapacityArguments;
use self::connections::ConnectionArguments;
use self::objectives::ObjectiveArguments;
#[cfg(test)]
pub(super) use self::output::Document;
use self::output::OutputArguments;
use self::protocol::ProtocolArguments;
use self::requests::RequestArguments;
use self::responses::ResponseArguments;
use self::scenario::ScenarioArguments;
use self::server::{ReadyServer, ServerArguments};
use self::shape::{ShapeArguments, TimeArguments};
use self::wanted::Wanted;
use crate::exit::{INTERRUPTED, Outcome, interrupt_on_signals, usage};
use crate::fleet::{FleetFlags, Loads};
use crate::result_file::{self, ResultFile};
use crate::telemetry::{LastPush, Outlets, TelemetryFlags};
use crate::tls::{Offered, TlsFlags};
use crate::view::load_summary::{self, Shown};
use crate::view::load_view::{LoadView, ShownLoad, cpus_beside};
use crate::view::screen_thread::LiveMode;
use crate::view::width;

#[derive(Args)]
#[command(after_help = include_str!("examples.txt").trim_ascii_end(), after_long_help = include_str!("more_examples.txt").trim_ascii_end())]
pub(super) struct Arguments {
    /// Request these URLs, all on one server, round-robin if there are several; or let users go through
    /// this Hurl file (.hurl); or build, start and load this server of the project (its id, or its folder)
    #[arg(value_name = "URL|FILE.hurl|SERVER", required_unless_present_any = ["requests_file", "curl"])]
    urls: Vec<String>,
    #[command(flatten)]
    time: TimeArguments,
    #[command(flatten)]
    connections: ConnectionArguments,
    #[command(flatten)]
    protocol: ProtocolArguments,
    #[command(flatten)]
    tls: TlsFlags,
    #[command(flatten)]
    shape: ShapeArguments,
    #[command(flatten)]
    objectives: ObjectiveArguments,
    #[command(flatten)]
    capacity: CapacityArguments,
    #[command(flatten)]
    requests: RequestArguments,
    #[command(flatten)]
    scenario: ScenarioArguments,
    #[command(flatten)]
    call: CallArguments,
    #[command(flatten)]
    responses: ResponseArguments,
    #[command(flatten)]
    server: ServerArguments,
    #[command(flatten)]
    output: OutputArguments,
    #[command(flatten)]
    telemetry: TelemetryFlags,
    #[command(flatten)]
    fleet: FleetFlags,
    #[command(flatten)]
    generator: GeneratorArguments,
}

#[derive(Args)]
#[command(next_help_heading = "Generator")]
struct GeneratorArguments {
    /// Run the threads on these CPUs, for instance 1 or 2-3
    #[arg(long, value_name = "LIST")]
    cpus: Option<String>,
    /// Use this event loop; auto uses epoll for long responses or if the kernel forbids io_uring, and
    /// otherwise io_uring
    #[arg(
        long = "loop",
        value_name = "LOOP",
        default_value = "auto",
        value_parser = event_loops(),
        hide_short_help = true
    )]
    event_loop: EventLoopChoice,
}

fn event_loops() -> impl TypedValueParser<Value = EventLoopChoice> {
    let names = PossibleValuesParser::new(["auto", "io_uring", "epoll"]);
    names.map(|name| match name.as_str() {
        "io_uring" => EventLoopChoice::IoUring,
        "epoll" => EventLoopChoice::Epoll,
        _ => EventLoopChoice::Auto,
    })
}

/// A load that is ready to be run, once or, in search of a capacity, several times.
struct ReadyLoad<'a> {
    arguments: &'a Arguments,
    plan: LoadPlan,
    /// What its connections offer if they are encrypted.
    offered: Option<Offered>,
    /// How several requests are chosen, if there are several.
    requests: Option<String>,
    /// Whether anything is drawn at random, so that the seed matters.
    is_random: bool,
    loads: Loads,
    live: LiveMode,
    interrupt: Arc<AtomicBool>,
}

/// Runs the load, and shows and writes the result.
pub(super) fn run(project: Option<&Path>, arguments: &Arguments) -> Outcome {
    let interrupt = interrupt_on_signals()?;
    // What the user wants.
    let watched = arguments.output.server()?;
    let target = arguments.target(project)?;
    let wanted = Wanted::read(arguments, project, &target)?;
    let outlets = arguments.telemetry.open()?;
    let Some((requests, server)) = target.ready(&wanted, &interrupt)? else {
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
        arguments,
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
    match wanted.objectives {
        Some(objectives) if arguments.capacity.find_capacity => {
            capacity::run(&load, objectives, files)
        }
        objectives => measure(load, objectives.as_ref(), server, watched, outlets, files),
    }
}

fn measure(
    load: ReadyLoad<'_>,
    objectives: Option<&Objectives>,
    mut server: Option<ReadyServer>,
    watched: Option<LocalServer>,
    outlets: Outlets,
    files: [Option<ResultFile>; 7],
) -> Outcome {
    let (plan, output) = (&load.plan, &load.arguments.output);
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
        view.show(progress, loads.silent());
    };
    let loaded = loads.run_recording(plan, output.recording(), &load.interrupt, show);
    view.finish();
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
    let judged = objectives.map_or(Ok(Vec::new()), |objectives| judge(objectives, &result))?;
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
    if let Some(warning) = last_push.and_then(LastPush::wait) {
        errln!("{warning}");
    }
    written?;
    Ok(output::exit_code(&result, &judged))
}

/// Watches the CPU quotas of the server, if it runs on this machine and its processes are visible.
fn server_quota(endpoint: &Endpoint, named: Option<&LocalServer>) -> Option<ThrottleMeter> {
    match (named, endpoint) {
        (Some(server), _) => Some(server.quota()),
        (None, Endpoint::Tcp(address)) => Some(LocalServer::at(*address)?.quota()),
        (None, Endpoint::Unix(_)) => None,
    }
}

impl Arguments {
    /// Tries the files for results: those of a load, and last the chart of a search.
    fn files(&self) -> Result<[Option<ResultFile>; 7], Box<dyn Error>> {
        let output = &self.output;
        result_file::open([
            ("--json", output.result.json.json.as_deref()),
            ("--markdown", output.result.markdown.as_deref()),
            ("--junit", output.junit.junit.as_deref()),
            ("--hgrm", output.hgrm.as_deref()),
            ("--hdr-log", output.hdr_log.as_deref()),
            ("--trace", output.trace.as_deref()),
            ("--chart", self.capacity.chart.as_deref()),
        ])
    }
}
