//! `prony load URL`: the load engine alone. One file for each group of its flags.

mod capacity;
mod connections;
mod ends;
mod plan;
mod requests;
mod responses;
mod schedule_text;
mod shape;

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Args, ValueEnum};
use prony_load::EventLoopChoice;
use prony_model::{Ended, LoadResult, Outcome as RequestOutcome};

use self::plan::Asked;
use crate::exit::{FAILURE, INTERRUPTED, Outcome};
use crate::interrupt;
use crate::result_file::{self, ResultFile};
use crate::view::load_progress::LoadProgress;
use crate::view::load_summary::{self, Shown};

const EXAMPLES: &str = "\
Examples:
  prony load http://localhost:8080/                      10 connections, 10 s
  prony load -t2 -c400 -d30s --latency http://localhost:8080/
  prony load -n 100k -c64 http://localhost:8080/hello    a number of requests
  prony load -c64 --rate 5k/s http://localhost:8080/     5,000 requests a second, come what may
  prony load --find-capacity --slo 'p99<10ms,errors<0.1%' http://localhost:8080/
                                                         the greatest rate that holds

`--help` has all flags, and more examples.";

const MORE_EXAMPLES: &str = "\
Examples:
  prony load http://localhost:8080/                      10 connections, 10 s
  prony load -t2 -c400 -d30s --latency http://localhost:8080/
  prony load -n 100k -c64 http://localhost:8080/hello    a number of requests
  prony load -X POST -b @order.json -H 'Content-Type: application/json' http://localhost:8080/orders
  prony load -d10s --warmup 2s --json result.json http://localhost:8080/

  prony load -c64 --rate 5k/s --latency http://localhost:8080/
                                                         open loop: 5,000 requests a second
  prony load --rate 200/s --arrivals poisson --deadline 100ms http://localhost:8080/
                                                         at random; what is 100 ms late is shed
  prony load --stages 1k/s:10s,1k/s..5k/s:30s,5k/s:10s http://localhost:8080/
                                                         a step, a ramp, a step
  prony load --users 500 --think-time 1s --open http://localhost:8080/
                                                         500 users, a request each a second
  prony load -c32 --pipeline 16 http://localhost:8080/   16 requests in flight at a time
  prony load --no-keepalive http://localhost:8080/       a connection for each request

  prony load http://localhost:8080/a http://localhost:8080/b --weights 3,1
  prony load --requests-file orders.jsonl --order random http://localhost:8080/
  prony load --expect-body @page.html --check-every 1 http://localhost:8080/
  prony load --streams 1000 http://localhost:8080/events
  prony load --grpc-method shop.Orders/List -b @message.bin http://localhost:50051/

  prony load --find-capacity --slo 'p99<10ms,errors<0.1%' --chart curve.svg http://localhost:8080/
                                                         the greatest rate that holds

Each shape, what its latency runs from, and the flags of other tools: docs/load.md. How the
greatest rate is found: docs/capacity.md.

Exit status: 0 where responses were right (or --streams brought events, or --find-capacity found
one), 1 where none was or the load could not be made, 2 where the command line is wrong, 4 if
--find-capacity found only an interval wider than --precision (too noisy to say), 130 where you stopped it.";

/// What to load, and how. The short flags are wrk's, and some more.
#[derive(Args)]
#[command(after_help = EXAMPLES, after_long_help = MORE_EXAMPLES)]
pub struct Arguments {
    /// URL(s) to request, all on one server; several are used round-robin
    #[arg(value_name = "URL", required_unless_present = "requests_file")]
    urls: Vec<String>,
    #[command(flatten)]
    ends: ends::TimeArguments,
    #[command(flatten)]
    connections: connections::ConnectionArguments,
    #[command(flatten)]
    shape: shape::ShapeArguments,
    #[command(flatten)]
    capacity: capacity::CapacityArguments,
    #[command(flatten)]
    requests: requests::RequestArguments,
    #[command(flatten)]
    responses: responses::ResponseArguments,
    #[command(flatten)]
    output: OutputArguments,
    #[command(flatten)]
    generator: GeneratorArguments,
}

/// What is shown and written.
#[derive(Args)]
#[command(next_help_heading = "Output")]
struct OutputArguments {
    /// Show the latency distribution
    #[arg(long)]
    latency: bool,
    /// Write the result as JSON to a file, or to standard output with `-`
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
}

/// What makes the load.
#[derive(Args)]
#[command(next_help_heading = "Generator")]
struct GeneratorArguments {
    /// Pin the threads to these CPUs, for instance 1 or 2-3
    #[arg(long, value_name = "LIST")]
    cpus: Option<String>,
    /// The event loop; auto takes epoll for long responses or if the kernel forbids io_uring, else io_uring
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

/// Makes the load, and shows and writes what it gave.
pub fn run(arguments: &Arguments) -> Outcome {
    if arguments.capacity.is_asked() {
        return capacity::run(arguments);
    }
    let Asked {
        plan,
        requests,
        is_random,
    } = Asked::by(arguments)?;
    let [json] = result_file::open([("--json", arguments.output.json.as_deref())])?;
    let interrupt = interrupt::on_signals()?;
    let mut view = LoadProgress::start(&plan);
    let result = prony_load::run(&plan, &interrupt, &mut |progress| view.show(&progress))?;
    view.finish();
    let shown = Shown {
        distribution: arguments.output.latency,
        seed: is_random,
        requests,
    };
    let summary = load_summary::text(&result, &shown);
    match json.as_ref().is_some_and(ResultFile::is_stdout) {
        true => err!("{summary}"),
        false => out!("{summary}"),
    }
    if let Some(file) = json {
        file.write_json(&result)?;
    }
    Ok(exit_code(&result))
}

fn exit_code(result: &LoadResult) -> ExitCode {
    match result.ended {
        Ended::Interrupted => ExitCode::from(INTERRUPTED),
        _ if result.outcomes[RequestOutcome::Ok] > 0 || held_streams_brought_events(result) => {
            ExitCode::SUCCESS
        }
        _ => ExitCode::from(FAILURE),
    }
}

/// Streams that never end never are ok either: what they brought says that they were right.
fn held_streams_brought_events(result: &LoadResult) -> bool {
    let held = result.streams.as_ref();
    held.is_some_and(|held| held.events.count > 0)
}
