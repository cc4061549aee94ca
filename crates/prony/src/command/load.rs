//! `prony load URL`: the load engine alone.

use std::fs;
use std::io::{self, Write};
use std::path::PathBuf;
use std::process::ExitCode;
use std::thread;
use std::time::Duration;

use clap::Args;
use prony_load::{HttpUrl, LoadPlan, Request, TargetError};
use prony_record::{Ended, LoadResult, LoadShape, Outcome as RequestOutcome};
use prony_subject::parse_cpu_list;

use crate::arguments;
use crate::exit::{FAILURE, INTERRUPTED, Outcome, usage};
use crate::interrupt;
use crate::view::{load_progress::LoadProgress, load_summary};

const EXAMPLES: &str = "\
Examples:
  prony load http://localhost:8080/                      10 connections, 10 s
  prony load -t2 -c400 -d30s --latency http://localhost:8080/
  prony load -n 100k -c64 http://localhost:8080/hello    a number of requests
  prony load -X POST -b @order.json -H 'Content-Type: application/json' http://localhost:8080/orders
  prony load -d10s --warmup 2s --json result.json http://localhost:8080/

Exit status: 0 where answers were right, 1 where none was or the load could not be made,
2 where the command line is wrong, 130 where you stopped it.";

/// The flags are wrk's, and some more.
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub struct Arguments {
    /// What to load: an http:// URL
    url: String,
    /// Threads; half of the CPUs unless said otherwise
    #[arg(short, long, value_parser = arguments::positive)]
    threads: Option<usize>,
    /// Connections that are kept open, over all threads
    #[arg(short, long, value_parser = arguments::positive, default_value = "10")]
    connections: usize,
    /// How long to measure: 10s, 2m, 500ms, or seconds [default: 10s, or until -n is reached]
    #[arg(short, long, value_parser = arguments::duration)]
    duration: Option<Duration>,
    /// How many requests to measure: 1000, 10k, 2M
    #[arg(short = 'n', long, value_parser = arguments::count)]
    requests: Option<u64>,
    /// A header to send, `Name: value`; may be given again
    #[arg(short = 'H', long = "header", value_name = "HEADER")]
    headers: Vec<String>,
    /// The request's method
    #[arg(short = 'X', long, default_value = "GET")]
    method: String,
    /// The request's body: text, or @FILE
    #[arg(short, long)]
    body: Option<String>,
    /// Show the latency distribution
    #[arg(long)]
    latency: bool,
    /// Send for so long before measuring
    #[arg(long, value_parser = arguments::duration, default_value = "0s")]
    warmup: Duration,
    /// Count a request as timed out that has no whole answer after so long
    #[arg(long, value_parser = arguments::duration, default_value = "10s")]
    timeout: Duration,
    /// Write the result as JSON to a file, or to standard output with `-`
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Pin the threads to these CPUs, for instance 1 or 2-3
    #[arg(long, value_name = "LIST")]
    cpus: Option<String>,
}

/// Makes the load, and shows and writes what it gave.
pub fn run(arguments: &Arguments) -> Outcome {
    let plan = plan(arguments)?;
    let interrupt = interrupt::on_signals()?;
    let mut view = LoadProgress::start(&plan);
    let result = prony_load::run(&plan, &interrupt, &mut |progress| view.show(&progress))?;
    view.finish();
    let to_stdout = arguments
        .json
        .as_ref()
        .is_some_and(|path| path.as_os_str() == "-");
    let summary = load_summary::text(&result, arguments.latency);
    if to_stdout {
        err!("{summary}");
    } else {
        out!("{summary}");
    }
    if let Some(path) = &arguments.json {
        write_json(&result, path, to_stdout)?;
    }
    Ok(exit_code(&result))
}

fn plan(arguments: &Arguments) -> Result<LoadPlan, Box<dyn std::error::Error>> {
    let url: HttpUrl = arguments
        .url
        .parse()
        .map_err(|error: TargetError| usage(error))?;
    let body = arguments
        .body
        .as_deref()
        .map_or(Ok(Vec::new()), read_body)?;
    let request =
        Request::new(&arguments.method, &url, &arguments.headers, &body).map_err(usage)?;
    let cpus = arguments
        .cpus
        .as_deref()
        .map_or(Ok(Vec::new()), parse_cpu_list)
        .map_err(usage)?;
    let by_duration = arguments
        .requests
        .is_none()
        .then_some(Duration::from_secs(10));
    let mut plan = LoadPlan {
        address: ([127, 0, 0, 1], 0).into(),
        url: url.as_str().into(),
        request: request.into(),
        shape: LoadShape::Closed,
        connections: arguments.connections,
        threads: arguments
            .threads
            .unwrap_or_else(|| default_threads(cpus.len()).min(arguments.connections)),
        duration: arguments.duration.or(by_duration),
        requests: arguments.requests,
        warmup: arguments.warmup,
        timeout: arguments.timeout,
        cpus,
        sampling: None,
    };
    plan.validate().map_err(usage)?;
    plan.address = url.connectable_address(arguments.timeout)?;
    Ok(plan)
}

/// One thread a CPU that was given; else half of the CPUs: a server on this machine needs some.
fn default_threads(cpus_given: usize) -> usize {
    match cpus_given {
        0 => thread::available_parallelism().map_or(1, |cpus| cpus.get().div_ceil(2)),
        given => given,
    }
}

fn read_body(text: &str) -> Result<Vec<u8>, String> {
    match text.strip_prefix('@') {
        Some(path) => {
            fs::read(path).map_err(|error| format!("cannot read the body from `{path}`: {error}"))
        }
        None => Ok(text.as_bytes().to_vec()),
    }
}

fn write_json(result: &LoadResult, path: &PathBuf, to_stdout: bool) -> Result<(), String> {
    let mut json = serde_json::to_string_pretty(result).map_err(|error| error.to_string())?;
    json.push('\n');
    if to_stdout {
        io::stdout().write_all(json.as_bytes())
    } else {
        fs::write(path, json)
    }
    .map_err(|error| format!("cannot write the result to `{}`: {error}", path.display()))
}

fn exit_code(result: &LoadResult) -> ExitCode {
    match result.ended {
        Ended::Interrupted => ExitCode::from(INTERRUPTED),
        _ if result.outcomes[RequestOutcome::Ok] == 0 => ExitCode::from(FAILURE),
        _ => ExitCode::SUCCESS,
    }
}
