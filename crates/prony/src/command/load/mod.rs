//! `prony load URL`: the load engine alone, on a server that runs or one that Prony starts. One file for each group of its flags.

mod advice;
mod call;
mod capacity;
mod connections;
pub(super) mod foreign_flags;
mod objectives;
mod protocol;
mod records;
mod requests;
mod responses;
mod scenario;
mod server;
mod shape;

use std::error::Error;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::atomic::AtomicBool;
use std::time::Instant;

use clap::{Args, ValueEnum};
use prony_kernel::ThrottleMeter;
use prony_load::{Endpoint, EventLoopChoice, Here, LoadPlan, Records};
use prony_model::objective::{Judged, Objectives, is_missed, judge};
use prony_model::{Ended, LatencyHistogram, LoadResult, LoadSpec};
use prony_server::LocalServer;
use prony_store::write_hgrm;
use serde::Serialize;

use self::advice::advice;
use self::call::CallArguments;
use self::capacity::{CapacityArguments, Search};
use self::connections::{CONNECTIONS, ConnectionArguments};
use self::objectives::ObjectiveArguments;
use self::protocol::{ProtocolArguments, Transport};
use self::records::RecordArguments;
use self::requests::{RequestArguments, RequestContent, Requests};
use self::responses::ResponseArguments;
use self::scenario::ScenarioArguments;
use self::server::{ProjectServer, ReadyServer, ServerArguments};
use self::shape::{ShapeArguments, TimeArguments};
use super::flags::{JunitFlag, LiveFlags, ResultFlags};
use crate::arguments;
use crate::exit::{FAILURE, INTERRUPTED, MISSED, Outcome, interrupt_on_signals, usage};
use crate::fleet::{FleetFlags, FleetPlan, Loads};
use crate::result_file::{self, ResultFile};
use crate::telemetry::{Pusher, TelemetryFlags};
use crate::tls::{Offered, TlsFlags};
use crate::view::load_summary::{self, Shown};
use crate::view::load_view::{LoadView, ShownLoad, cpus_beside};
use crate::view::screen_thread::LiveMode;
use crate::view::{load_report, width};

const EXAMPLES: &str = "\
Examples:
  prony load http://localhost:8080/                    10 connections, 10 s
  prony load -t2 -c400 -d30s --latency http://localhost:8080/
  prony load -n 100k -c64 http://localhost:8080/hello  a number of requests
  prony load -c64 --rate 5k/s http://localhost:8080/   5,000 requests per second
  prony load --objective 'p99 < 50ms, errors < 0.1%' http://localhost:8080/
                                                       pass or fail
  prony load --find-capacity --objective 'p99<10ms' http://localhost:8080/
                                                       the highest rate
  prony load --insecure https://localhost:8443/        TLS, HTTP/2 if offered
  prony load --grpc shop.Orders/List http://localhost:50051/
  prony load checkout.hurl --users 200 --variable host=localhost:8080
                                                       users of a Hurl file
  prony load -c1200 --on slurm --agents 12 http://10.0.0.5:8080/
                                                       from 12 hosts
  prony load shop                                      a server of prony.toml

`--help` shows all flags, and more examples.";

const MORE_EXAMPLES: &str = "\
Examples:
  prony load http://localhost:8080/                    10 connections, 10 s
  prony load -t2 -c400 -d30s --latency http://localhost:8080/
  prony load -n 100k -c64 http://localhost:8080/hello  a number of requests
  prony load -b @order.json -H 'Content-Type: application/json' \\
    http://localhost:8080/orders
  prony load -d10s --warmup 2s --json result.json http://localhost:8080/

  prony load -c64 --rate 5k/s --latency http://localhost:8080/
                                        open loop: 5,000 requests per second
  prony load --rate 9/s --arrivals poisson --deadline 1s http://localhost:8080/
                                        at random; sheds what is 1 s overdue
  prony load --stages 1k/s:10s,1k/s..5k/s:30s,5k/s:10s http://localhost:8080/
                                        a constant rate, a ramp, a constant rate
  prony load --users 500 --think-time 1s --open http://localhost:8080/
                                        500 users, a request each per second
  prony load -c32 --pipeline 16 http://localhost:8080/
                                        16 requests in flight per connection
  prony load --no-keepalive http://localhost:8080/
                                        a connection for each request

  prony load http://localhost:8080/a http://localhost:8080/b --weights 3,1
  prony load --requests-file orders.jsonl --order random http://localhost:8080/
  prony load --curl @command.txt        a request that a browser copied as cURL
  prony load --expect-body @page.html --check-every 1 http://localhost:8080/
  prony load --streams 1000 http://localhost:8080/events

  prony load --cacert ca.pem https://localhost:8443/   HTTP/2 or HTTP/1.1
  prony load --http2 --streams-per-connection 32 http://localhost:8080/
                                        HTTP/2 without TLS (h2c)
  prony load -k --http1.1 --no-keepalive --tls-resume https://localhost:8443/
                                        a resumed handshake for each request
  prony load --grpc shop.Orders/List --data '{\"customer\": 7}' \\
    http://localhost:50051/             the server provides the schema
  prony load --grpc shop.Orders/Watch --proto shop.proto -H 'token: secret' \\
    https://localhost:50051/            a file provides it; messages are timed

  prony load checkout.hurl --users 200 --variable host=localhost:8080
                                        the users of a Hurl file
  prony load checkout.hurl --rate 50/s --rows accounts.csv
                                        50 flows per second, a row for each

  prony load --rate 2k/s --objective 'p99 < 50ms, errors < 0.1%' \\
    --junit load.xml --markdown load.md http://localhost:8080/
                                        pass or fail, for a CI system
  prony load --hgrm run.hgrm http://localhost:8080/   for HdrHistogram's plotter
  prony load --hdr-log run.hlog http://localhost:8080/
                                        the latencies of each second
  prony load --trace trace.json http://localhost:8080/
                                        single requests, for ui.perfetto.dev
  prony load -d10m --metrics :9464 http://localhost:8080/
                                        Prometheus scrapes the running load
  prony load -d10m --otlp http://localhost:4318 http://localhost:8080/
                                        an OpenTelemetry Collector receives it
  prony load -c1200 --rate 300k/s --on kubernetes --agents 12 \\
    http://10.0.0.5:8080/               from 12 nodes of a cluster
  prony load -c400 --on ssh:host1,host2 http://10.0.0.5:8080/
  prony load shop --workload cart       builds and starts a server
  prony load --pid 4711 http://localhost:8080/
                                        the live screen shows this process
  prony load --find-capacity --objective 'p99<10ms,errors<0.1%' \\
    --chart curve.svg http://localhost:8080/
                                        the highest rate
  prony load checkout.hurl --find-capacity --objective 'p99<10ms'
                                        the highest rate of flows

docs/load.md explains each kind of load, its latency, and the flags of other \
tools; docs/scenarios.md explains Hurl files, docs/capacity.md how Prony finds \
the highest rate, and docs/fleet.md how a load comes from many hosts.

Exit status:
  0    ok responses, streamed events or a capacity were measured
  1    none were, or the load could not be run, or an agent of --on was lost:
       the load is INVALID then, and no result is shown or written
  2    the command line is wrong
  4    --find-capacity: the capacity is not known to within --precision
  5    --objective: the load missed an objective
  130  you stopped it; what was measured is shown";

/// What to load, and how. Most short flags are wrk's.
#[derive(Args)]
#[command(after_help = EXAMPLES, after_long_help = MORE_EXAMPLES)]
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

/// What is shown and written.
#[derive(Args)]
#[command(next_help_heading = "Output")]
struct OutputArguments {
    /// Show the whole latency distribution, not only its main percentiles
    #[arg(long)]
    latency: bool,
    #[command(flatten)]
    result: ResultFlags,
    #[command(flatten)]
    junit: JunitFlag,
    /// Write the latencies as percentiles in milliseconds, for the plotter of HdrHistogram, to this file
    #[arg(long, value_name = "FILE", hide_short_help = true)]
    hgrm: Option<PathBuf>,
    #[command(flatten)]
    records: RecordArguments,
    #[command(flatten)]
    live: LiveFlags,
    /// Show the CPU time and memory of this process and its children on the live screen [default: the
    /// server's, found by its port if it runs on this machine]
    #[arg(long, value_name = "PID", value_parser = clap::value_parser!(i32).range(1..),
        conflicts_with_all = ["find_capacity", "no_tui", "quiet"])]
    pid: Option<i32>,
}

impl OutputArguments {
    /// The process that the user names as the server.
    fn server(&self) -> Result<Option<LocalServer>, Box<dyn Error>> {
        let Some(pid) = self.pid else {
            return Ok(None);
        };
        match LocalServer::of_process(pid) {
            None => Err(usage(format!("--pid {pid}: there is no such process"))),
            found => Ok(found),
        }
    }
}

/// How the load is generated.
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
        hide_short_help = true
    )]
    event_loop: EventLoopName,
}

#[derive(Clone, Copy, ValueEnum)]
enum EventLoopName {
    Auto,
    #[value(name = "io_uring")]
    IoUring,
    Epoll,
}

impl From<EventLoopName> for EventLoopChoice {
    fn from(name: EventLoopName) -> Self {
        match name {
            EventLoopName::Auto => Self::Auto,
            EventLoopName::IoUring => Self::IoUring,
            EventLoopName::Epoll => Self::Epoll,
        }
    }
}

/// The load that the command line describes.
struct DescribedLoad {
    plan: LoadPlan,
    /// What its connections offer if they are encrypted.
    offered: Offered,
    /// How several requests are chosen, if there are several.
    requests: Option<String>,
    /// Whether anything is drawn at random, so that the seed matters.
    is_random: bool,
    /// The server of the project that it loads.
    server: Option<ReadyServer>,
}

/// What is required.
enum Required {
    /// Of the load, if anything is.
    OfLoad(Option<Objectives>),
    /// Of the server at the rate that a search looks for.
    OfSearch(Objectives),
}

impl Required {
    fn of_load(&self) -> Option<&Objectives> {
        match self {
            Self::OfLoad(objectives) => objectives.as_ref(),
            Self::OfSearch(_) => None,
        }
    }
}

/// The result of a load and, if there are objectives, what it makes of each.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(super) struct Document<'a> {
    #[serde(flatten)]
    pub(super) result: &'a LoadResult,
    /// The objectives; absent if there are none.
    #[serde(skip_serializing_if = "<[Judged]>::is_empty")]
    pub(super) objectives: &'a [Judged],
}

/// Runs the load, and shows and writes the result.
pub(super) fn run(project: Option<&Path>, arguments: &Arguments) -> Outcome {
    let interrupt = interrupt_on_signals()?;
    let watched = arguments.output.server()?;
    let live = arguments.output.live.mode();
    let fleet = arguments.fleet.plan(project)?;
    let fleet = fleet.as_ref();
    arguments.check_flags_of(fleet)?;
    // Before a server is built and started.
    let required = arguments.required()?;
    let outlets = arguments.telemetry.open()?;
    let file = arguments.hurl_file()?;
    let named = match file {
        Some(_) => None,
        None => arguments.named(project)?,
    };
    let server = match named {
        None => None,
        Some(named) => match arguments.server.start(&named, fleet, live, &interrupt)? {
            None => return Ok(ExitCode::from(INTERRUPTED)),
            started => started,
        },
    };
    let mut described = arguments.described(server, file, fleet, &required)?;
    let output = &arguments.output;
    let json = output.result.json.json.as_deref();
    if let Required::OfSearch(objectives) = required {
        let loads = arguments.start(&mut described.plan, fleet, live, &interrupt)?;
        let search = Search {
            loads: &loads,
            interrupt,
            plan: &described.plan,
            objectives,
            offered: described.offered,
            requests: described.requests,
            warmup: arguments.time.warmup,
            duration: arguments.time.duration,
            json,
            live,
        };
        return capacity::run(&arguments.capacity, search);
    }
    let files = result_file::open([
        ("--json", json),
        ("--markdown", output.result.markdown.as_deref()),
        ("--junit", output.junit.junit.as_deref()),
        ("--hgrm", output.hgrm.as_deref()),
        ("--hdr-log", output.records.hdr_log.as_deref()),
        ("--trace", output.records.trace.as_deref()),
    ])?;
    let loads = arguments.start(&mut described.plan, fleet, live, &interrupt)?;
    let own_server = described.server.as_ref();
    let server_cpus = own_server.map_or(&[][..], ReadyServer::own_cpus);
    let cpus = cpus_beside(&described.plan.here.cpus, server_cpus);
    let telemetry = outlets.start(&described.plan, &cpus)?;
    let server_quota = server_quota(&described.plan.endpoint, watched.as_ref());
    let shown = ShownLoad {
        plan: &described.plan,
        requests: described.requests.as_deref(),
        server: watched,
        cpus,
        interrupt: &interrupt,
    };
    let mut view = LoadView::start(live, shown);
    let recording = output.records.recording(json.is_some());
    let show = &mut |progress| {
        if let Some(warning) = telemetry.observe(&progress) {
            view.keep(&warning);
        }
        view.show(progress, loads.silent(), Instant::now());
    };
    let loaded = loads.run_recording(&described.plan, recording, &interrupt, show);
    drop(view);
    let last_push = telemetry.end();
    let (mut result, recorded) = loaded?;
    if let (Some(timeline), Some(intervals)) = (&mut result.timeline, &recorded.intervals) {
        timeline.seconds = intervals.seconds()?;
    }
    drop(loads);
    result.server_throttled = server_quota.and_then(|quota| quota.throttled());
    if let Some(ended) = described.server.as_mut().and_then(ReadyServer::ended) {
        errln!("ENDED    {ended}");
    }
    let judged = match required.of_load() {
        Some(objectives) => judge(objectives, &result)?,
        None => Vec::new(),
    };
    let shown = Shown {
        objectives: judged.clone(),
        distribution: arguments.output.latency,
        every_agent: false,
        seed: described.is_random,
        requests: described.requests,
        advice: advice(&described.plan, &result, described.offered),
    };
    result_file::show(&load_summary::text(&result, &shown, width()), &files);
    let written = write(files, &result, &recorded, &shown);
    // Last, because a user who does not want to wait for it presses Ctrl-C.
    if let Some(warning) = last_push.and_then(Pusher::wait) {
        errln!("{warning}");
    }
    written?;
    Ok(exit_code(&result, &judged))
}

/// Watches the CPU quotas of the server, if it runs on this machine and its processes are visible.
fn server_quota(endpoint: &Endpoint, named: Option<&LocalServer>) -> Option<ThrottleMeter> {
    match (named, endpoint) {
        (Some(server), _) => Some(server.quota()),
        (None, Endpoint::Tcp(address)) => Some(LocalServer::at(*address)?.quota()),
        (None, Endpoint::Unix(_)) => None,
    }
}

/// Writes the result as JSON, as Markdown, as JUnit XML and as percentiles, and what was recorded beside it. An error in
/// one file must not keep the others from being written.
fn write(
    [json, markdown, junit, hgrm, hdr_log, trace]: [Option<ResultFile>; 6],
    result: &LoadResult,
    recorded: &Records,
    shown: &Shown,
) -> Result<(), Box<dyn Error>> {
    let objectives = &shown.objectives;
    let json = json.map_or(Ok(()), |file| {
        file.write_json(&Document { result, objectives })
    });
    let markdown = markdown.map_or(Ok(()), |file| {
        let shown = Shown {
            every_agent: true,
            ..shown.clone()
        };
        let summary = load_summary::text(result, &shown, MARKDOWN_WIDTH);
        file.write(&load_report::markdown(result, objectives, &summary))
    });
    let junit = junit.map_or(Ok(()), |file| {
        file.write(&load_report::junit(result, objectives, is_measured(result)))
    });
    let hgrm = hgrm.map_or(Ok(()), |file| {
        let latency = LatencyHistogram::from_base64(&result.histogram)?;
        file.write_with(|out| write_hgrm(&latency, out))
    });
    let recorded = records::write(
        [hdr_log, trace],
        recorded,
        result.target.url_without_query(),
    );
    json.and(markdown).and(junit).and(hgrm).and(recorded)
}

/// The longest line of the summary in a Markdown file.
const MARKDOWN_WIDTH: usize = 100;

impl Arguments {
    /// The server of the project that the command line names instead of a URL.
    fn named(&self, project: Option<&Path>) -> Result<Option<ProjectServer>, Box<dyn Error>> {
        let named = match self.urls.as_slice() {
            [target] => ProjectServer::of(project, target)?,
            _ => None,
        };
        let flag = match &named {
            None => self.server.needs_a_server(),
            Some(_) => self.requests.changed().or_else(|| self.call.changed()),
        };
        match (flag, &named) {
            (None, _) => Ok(named),
            (Some(flag), None) => Err(usage(format!(
                "{flag} needs a server of the project instead of a URL"
            ))),
            (Some(flag), Some(_)) => Err(usage(format!(
                "{flag} needs a URL: what Prony requests of a server of the project is its workload, which --workload chooses"
            ))),
        }
    }

    /// The Hurl file that the command line names instead of a URL, if the other flags fit it.
    fn hurl_file(&self) -> Result<Option<&Path>, Box<dyn Error>> {
        let Some(file) = scenario::file_of(&self.urls)? else {
            return match self.scenario.changed() {
                None => Ok(None),
                Some(flag) => Err(usage(format!(
                    "{flag} needs a Hurl file, for instance: prony load checkout.hurl {flag} …"
                ))),
            };
        };
        let changed = self.requests.changed().or_else(|| self.call.changed());
        let changed = changed.or_else(|| self.responses.changed());
        let name = file.display();
        if let Some(flag) = changed {
            return Err(usage(format!(
                "{flag} does not go with a Hurl file; write it into {name}"
            )));
        }
        if let Some(flag) = self.server.needs_a_server() {
            return Err(usage(format!(
                "{flag} needs a server of the project, not a Hurl file"
            )));
        }
        Ok(Some(file))
    }

    /// Reads the command line, and looks for the server if nothing else is wrong.
    fn described(
        &self,
        server: Option<ReadyServer>,
        file: Option<&Path>,
        fleet: Option<&FleetPlan>,
        required: &Required,
    ) -> Result<DescribedLoad, Box<dyn Error>> {
        let Self {
            time,
            connections,
            shape,
            responses,
            ..
        } = self;
        let cpus = self.generator.cpus.as_deref();
        let cpus = cpus.map_or(Ok(Vec::new()), |list| arguments::cpus("--cpus", list));
        let mut cpus = cpus.map_err(usage)?;
        if let (true, Some(server)) = (cpus.is_empty(), &server)
            && fleet.is_none_or(FleetPlan::is_here)
        {
            cpus = server.load_cpus().to_vec();
        }
        let agents = fleet.map_or(1, |fleet| fleet.agents);
        let mut load = LoadSpec {
            shape: shape.shape(self.capacity.is_asked()).map_err(usage)?,
            ..LoadSpec::default()
        };
        let stages = shape
            .stages_last(time.duration, time.requests.is_some())
            .map_err(usage)?;
        time.set(&mut load, stages);
        shape.set(&mut load);
        responses.set(&mut load);
        let default = match responses.streams {
            // They are the load. Many more requests beside them would be as endless.
            Some(_) => agents,
            None => CONNECTIONS.max(agents),
        };
        connections
            .set(&mut load, shape.connections(), default, cpus.len(), agents)
            .map_err(usage)?;
        let mut sent = match (&server, file) {
            (Some(server), _) => server.requests()?,
            (None, Some(file)) => self.scenario.requests(file)?,
            (None, None) => {
                self.requests
                    .requests(&self.urls, &self.call, connections.no_keepalive)?
            }
        };
        connections.check_addresses(&sent.server).map_err(usage)?;
        if let Some(fleet) = fleet {
            fleet.check_host(sent.server.host())?;
        }
        if let (true, Some(flag)) = (sent.content.has_flows(), responses.changed()) {
            return Err(usage(format!(
                "{flag} does not go with a Hurl file, which says what it expects of each response"
            )));
        }
        let preferred = sent.preferred;
        let protocol = self.protocol.with(preferred.version);
        let own_tls = server.as_ref().and_then(ReadyServer::tls);
        let flags = self.tls.or_insecure(&sent.server, preferred.insecure);
        let tls = flags.of(&sent.server, own_tls).map_err(usage)?;
        let http = server.as_ref().map(ReadyServer::http);
        let transport = Transport::new(&protocol, connections, tls, &sent.content, http)?;
        let has_flows = sent.content.has_flows();
        let flow_think_time = shape.flow_think_time(has_flows).map_err(usage)?;
        let is_random =
            shape::is_random(&load.shape) || sent.are_random || flow_think_time.is_some();
        let nowhere = Endpoint::Tcp(([127, 0, 0, 1], 0).into());
        let request = sent.content.over(transport.expected())?;
        let mut plan = LoadPlan {
            load,
            flow_think_time,
            agents,
            sampling: match (responses.sampling()?, &server) {
                (None, Some(server)) => server.sampling(),
                (own, _) => own,
            },
            slow_from_ns: required
                .of_load()
                .map_or(Vec::new(), Objectives::slow_from_ns),
            here: Here {
                event_loop: self.generator.event_loop.into(),
                sources: connections.source.clone(),
                cpus,
                ..Here::default()
            },
            ..LoadPlan::new(nowhere, &sent.url, request)
        };
        transport.set_version(&mut plan, &sent.content, transport.expected())?;
        plan.validate().map_err(usage)?;
        self.connect(&mut plan, &mut sent, &transport)?;
        if let (Some(fleet), Endpoint::Tcp(address)) = (fleet, &plan.endpoint) {
            // A name may stand for an address of this host alone.
            fleet.check_host(&address.ip().to_string())?;
        }
        Ok(DescribedLoad {
            plan,
            offered: transport.offered(),
            requests: sent.described,
            is_random,
            server,
        })
    }

    fn required(&self) -> Result<Required, Box<dyn Error>> {
        Ok(if self.capacity.is_asked() {
            Required::OfSearch(self.objectives.of_a_search()?)
        } else {
            Required::OfLoad(self.objectives.read()?)
        })
    }

    /// Refuses flags that agents do not know, and those that mean nothing on other hosts.
    fn check_flags_of(&self, fleet: Option<&FleetPlan>) -> Result<(), Box<dyn Error>> {
        if let (Some(fleet), Some(flag)) = (fleet, self.output.records.given()) {
            return Err(fleet.refuse_record(flag));
        }
        let Some(fleet) = fleet.filter(|fleet| !fleet.is_here()) else {
            return Ok(());
        };
        let connections = &self.connections;
        for (is_given, flag, what) in [
            (self.generator.cpus.is_some(), "--cpus", "CPUs"),
            (!connections.source.is_empty(), "--source", "addresses"),
            (
                connections.unix_socket.is_some(),
                "--unix-socket",
                "a socket",
            ),
        ] {
            if is_given {
                return Err(fleet.refuse(flag, what));
            }
        }
        Ok(())
    }

    /// Starts the agents, if there are to be any, and gives each its threads.
    fn start(
        &self,
        plan: &mut LoadPlan,
        fleet: Option<&FleetPlan>,
        live: LiveMode,
        interrupt: &AtomicBool,
    ) -> Result<Loads, Box<dyn Error>> {
        let loads = Loads::start(fleet, live, interrupt)?;
        loads.spread(plan, self.connections.threads);
        plan.validate().map_err(usage)?;
        Ok(loads)
    }

    /// Looks for the server, and completes the plan with what only the server can tell.
    fn connect(
        &self,
        plan: &mut LoadPlan,
        sent: &mut Requests,
        transport: &Transport<'_>,
    ) -> Result<(), Box<dyn Error>> {
        let timeout = self.time.timeout;
        plan.endpoint = self.connections.endpoint(&sent.server, timeout)?;
        let (tls, http) = transport.negotiated(&plan.endpoint, timeout)?;
        plan.tls = tls;
        if let RequestContent::Grpc(call) = &mut sent.content {
            if call.needs_reflection() {
                let has_certificate = transport.offered().has_certificate;
                call.reflect(&plan.endpoint, plan.tls.as_ref(), has_certificate, timeout)?;
            }
            plan.load.events = call.streams_responses();
        }
        transport.set_version(plan, &sent.content, http)?;
        plan.validate().map_err(usage)
    }
}

/// Whether there are figures. A stream that never ends is never ok; its events show that it was right, but not that a
/// flow was.
fn is_measured(result: &LoadResult) -> bool {
    let held = result.streams.as_ref();
    let has_events = held.is_some_and(|held| held.events.count > 0);
    result.is_any_ok() || (result.flows.is_none() && has_events)
}

fn exit_code(result: &LoadResult, judged: &[Judged]) -> ExitCode {
    match result.ended {
        Ended::Interrupted => ExitCode::from(INTERRUPTED),
        _ if !is_measured(result) => ExitCode::from(FAILURE),
        _ if is_missed(judged) => ExitCode::from(MISSED),
        _ => ExitCode::SUCCESS,
    }
}
