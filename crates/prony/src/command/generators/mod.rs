//! `prony generators`: compares load generators.

mod case;
mod rounds;
mod tables;

#[cfg(test)]
mod tests;

use std::collections::BTreeSet;
use std::error::Error;
use std::path::Path;
use std::process::ExitCode;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

use clap::Args;
use prony_driver::{Catalogue, FindError, Tool};
use prony_kernel::Counters;
use prony_kernel::format_cpu_list;
use prony_model::{Run, RunEnd};
use prony_present::terminal::Paint;
use prony_reference::script::Freeze;
use prony_run::run::now;
use prony_server::Layout;
use prony_store::export_json;

use self::case::Case;
use self::rounds::{CasePlan, PlannedCase};
use super::flags::{CpuFlags, LiveFlags, ResultFlags};
use crate::arguments;
use crate::exit::{INTERRUPTED, Outcome, failure_if, interrupt_on_signals, usage};
use crate::project::{self, Project};
use crate::reference_server::ReferenceServers;
use crate::result_file;
use crate::view::width;

const EXAMPLES: &str = "\
Examples:
  prony generators                                all installed tools
  prony generators --tools wrk,prony --rounds 9   these two tools
  prony generators --cases hello:64,page:32       over 64 and 32 connections
  prony generators --cases rate:20k,frozen:1k:64  a rate; a server that freezes
  prony generators --cases h2:16x32,grpc:16x32    32 streams per connection
  prony generators --markdown table.md --json all.json

The cases:
  hello, byte, page, sse, sse-20k or quote
               a workload in a closed loop
  hello-tls, byte-tls, page-tls, …
               the same over TLS
  h2c, h2      hello over HTTP/2, without TLS and over TLS
  grpc, grpc-tls
               a unary gRPC call, without TLS and over TLS
  pipelined    hello, with 16 requests in flight per connection
  close        hello, with a new connection for each request
  flow         three requests over and over: the second depends on the response
               to the first, and is compared by JSONPath
  rate:RATE    hello at this rate
  frozen:RATE  hello at this rate on a server that freezes (--freeze): its
               true latency is known
Each case may be followed by :CONNECTIONS [default: 64], over HTTP/2 by
:CONNECTIONSxSTREAMS [default: 1 stream].

Each tool has one thread on one CPU (by default the first of the load's half). \
Figures are medians over the rounds; ratios are taken within each round.

Exit status:
  0    every tool ran every case that it can run
  1    a tool failed
  2    the command line is wrong
  130  you stopped it; what was measured is shown";

/// The suite's id in the record.
const SUITE: &str = "generators";

const CASES: &str = "hello:64,hello:400,page:32,sse:32,pipelined:64,close:64,rate:20k:64,\
                     hello-tls:64,page-tls:32,h2c:16x32,h2:16x32,grpc:16x32";

/// What to compare, and how.
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Arguments {
    /// Compare these tools, separated by commas [default: all that are installed]
    #[arg(long, value_delimiter = ',', value_name = "IDS", value_parser = arguments::name)]
    tools: Vec<String>,
    /// Run these cases, separated by commas
    #[arg(long, value_delimiter = ',', value_name = "CASES", default_value = CASES)]
    cases: Vec<Case>,
    /// Run each tool this many times per case
    #[arg(long, value_name = "N", default_value = "5", value_parser = arguments::whole(1..=1000_u32))]
    rounds: u32,
    /// Run each tool for this long, in whole seconds; with a freezing server, for at least one period
    #[arg(long, default_value = "2s", value_parser = arguments::whole_seconds)]
    duration: Duration,
    /// Let the server of `frozen` freeze this long at the end of each period
    #[arg(long, value_name = "FREEZE/PERIOD", default_value = "1s/10s")]
    freeze: Freeze,
    #[command(flatten)]
    cpus: CpuFlags,
    #[command(flatten)]
    results: ResultFlags,
    #[command(flatten)]
    live: LiveFlags,
}

/// Measures, shows and writes the comparison.
pub(super) fn run(project: Option<&Path>, arguments: &Arguments) -> Outcome {
    let layout = Project::open(project)?.layout;
    let tools = tools(&layout, &arguments.tools)?;
    let mut names = BTreeSet::new();
    for Case { name, .. } in &arguments.cases {
        if !names.insert(name) {
            return Err(usage(format!("`{name}` is named twice")));
        }
    }
    let mut cpus = arguments.cpus.assign()?;
    if arguments.cpus.load_cpus.is_none() {
        cpus.load.truncate(1);
    }
    let counted = match Counters::open() {
        Some(_) => "the machine counts cycles and instructions",
        None => "the machine does not count cycles and instructions",
    };
    let conditions = format!(
        "Server on CPU {}, each generator on CPU {}, one thread; {counted}.",
        format_cpu_list(&cpus.server),
        format_cpu_list(&cpus.load)
    );
    let plan = CasePlan {
        tools,
        cases: arguments.cases.clone(),
        rounds: arguments.rounds,
        seed: arguments::new_seed(),
        is_quiet: arguments.live.quiet,
        duration: arguments.duration,
        freeze: arguments.freeze,
        servers: ReferenceServers::on(&cpus.server, &layout)?,
        cpus,
        proto: layout.workloads_for(layout.root()).join("echo.proto"),
    };
    let cases = plan.planned();
    layout.make_state()?;
    let files = arguments.results.open()?;
    let interrupt = interrupt_on_signals()?;
    let mut run = record(&plan, &cases);
    let trials = plan.measure(&cases, &interrupt)?;
    let interrupted = interrupt.load(Relaxed);
    run.finished_at = Some(now());
    run.end = if interrupted {
        RunEnd::Interrupted
    } else {
        RunEnd::Complete
    };
    let page = tables::page(&run, &cases, &trials, &conditions);
    result_file::show(&page.terminal(width(), Paint { colour: false }), &files);
    let [to_markdown, to_json] = files;
    if let Some(file) = to_markdown {
        file.write(&page.markdown())?;
    }
    if let Some(file) = to_json {
        run.notes.extend(cases.iter().flat_map(PlannedCase::notes));
        file.write_json(&export_json(&run, &trials, &[]))?;
    }
    let has_failed = trials.iter().any(|trial| trial.measurement().is_none());
    Ok(if interrupted {
        ExitCode::from(INTERRUPTED)
    } else {
        failure_if(has_failed)
    })
}

/// The record of a run that begins now. The generators are in the place of servers.
fn record(plan: &CasePlan, cases: &[PlannedCase]) -> Run {
    let notes = plan.tools.iter().filter_map(|tool| {
        let notes = tool.manifest.notes.as_ref()?;
        Some(format!("{}: {notes}", tool.manifest.title))
    });
    Run {
        id: project::run_id(SUITE),
        suite: SUITE.into(),
        title: "Load generators".into(),
        notes: notes.collect(),
        started_at: now(),
        prony_version: env!("CARGO_PKG_VERSION").into(),
        command: arguments::command_line(),
        seed: plan.seed,
        rounds: plan.rounds,
        machine: prony_kernel::detect_machine(),
        cpus: plan.cpus.clone(),
        servers: plan.records(cases),
        ..Run::default()
    }
}

/// The tools with these names, or all, without those that are not installed.
fn tools(layout: &Layout, named: &[String]) -> Result<Vec<Tool>, Box<dyn Error>> {
    let catalogue = Catalogue::read(&layout.drivers())?;
    let prony = std::env::current_exe()?;
    let ids: Vec<&str> = if named.is_empty() {
        catalogue.ids().collect()
    } else {
        named.iter().map(String::as_str).collect()
    };
    let mut tools: Vec<Tool> = Vec::new();
    for id in ids {
        let manifest = catalogue.get(id).map_err(usage)?;
        if tools.iter().any(|tool| tool.id == id) {
            return Err(usage(format!("`{id}` is named twice")));
        }
        match Tool::find(id, manifest, &prony) {
            Ok(tool) => tools.push(tool),
            Err(FindError { title, install }) => {
                errln!(
                    "{title} is left out, because it is not installed; to install it: {install}"
                );
            }
        }
    }
    if tools.is_empty() {
        Err("none of these tools is installed".into())
    } else {
        Ok(tools)
    }
}
