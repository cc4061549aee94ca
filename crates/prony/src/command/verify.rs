//! `prony verify [SERVER…]`: right or wrong, without load.

use std::error::Error;
use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

use clap::Args;
use prony_model::{ServerStatus, VerifyResult, VerifyVerdict};
use prony_server::{Catalogue, FreePorts, Layout, Server};
use prony_suite::Workloads;
use prony_suite::run::{
    Bench, Prepared, RunEvent as Event, Task, Verification, prepare, verify_server,
};

use super::run::run_id;
use crate::arguments;
use crate::exit::{FAILURE, INTERRUPTED, Outcome, usage};
use crate::interrupt;
use crate::project;
use crate::server_path::ServerPath;
use crate::view::server_status;

const EXAMPLES: &str = "\
Examples:
  prony verify                          every server, every workload
  prony verify go-nethttp bun           these two
  prony verify --workloads sse,quote    only these workloads
  prony verify ../my-server             a server's folder anywhere
  prony verify --rebuild ../my-server   rebuild it first
  prony verify ../my-server@fast        a variant of it

Exit status: 0 where every response was right (a server whose toolchain is missing is skipped),
1 where one was wrong or a server failed, 130 where you stopped it.";

/// What to verify.
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub struct Arguments {
    /// Ids of servers, or folders (FOLDER, NAME=FOLDER, FOLDER@VARIANT); all servers if none is given
    #[arg(value_parser = arguments::name)]
    servers: Vec<String>,
    /// Only these workloads, separated by commas
    #[arg(long, value_delimiter = ',', value_name = "IDS", value_parser = arguments::name)]
    workloads: Vec<String>,
    /// Give a server this long from its start to its first response
    #[arg(long, value_parser = arguments::timeout, default_value = "30s")]
    ready_timeout: Duration,
    /// Build the servers again, even if nothing has changed
    #[arg(long)]
    rebuild: bool,
    /// Fail where a toolchain is missing, instead of skipping its servers
    #[arg(long)]
    require_toolchains: bool,
}

/// What came of one server.
#[derive(PartialEq, Eq)]
enum Verdict {
    Right,
    Wrong,
    Skipped,
    Interrupted,
}

/// Builds, starts and asks the servers one after the other.
pub fn run(project: Option<&Path>, arguments: &Arguments) -> Outcome {
    let layout = project::layout(project)?;
    let catalogue = Catalogue::read(&layout)?;
    let outside = outside(&arguments.servers)?;
    let servers = select(&catalogue, &outside, &arguments.servers)?;
    let workloads = project::workloads(&layout, &servers)?;
    let tasks = tasks(&layout, &workloads, &arguments.workloads)?;
    layout.make_state()?;
    let interrupt = interrupt::on_signals()?;
    // Two that verify at the same time must not write into each other's logs.
    let folder = layout.runs().join(run_id("verify"));
    let logs = folder.join("logs");
    let cpus = project::cpus(None, None)?;
    let bench = Bench {
        freshness: project::freshness(arguments.rebuild),
        ..project::bench(&layout, cpus, logs, arguments.ready_timeout)?
    };
    let prepared = prepare(&bench, &servers, &interrupt, &mut |event| {
        if let Event::Preparing {
            server,
            step: "building",
        } = event
        {
            errln!("preparing {server}");
        }
    });
    let mut verdicts = Vec::new();
    // A broken manifest is a failure where all servers were asked for.
    if arguments.servers.is_empty() {
        for broken in &catalogue.broken {
            outln!("FAILED   {}: {}", broken.id, broken.error);
            verdicts.push(Verdict::Wrong);
        }
    }
    for (server, prepared) in servers.iter().zip(&prepared) {
        verdicts.push(verify_one(&bench, server, prepared, &tasks, &interrupt));
    }
    // The folders are empty if everything was right; if not, they stay.
    let _ = [&bench.logs, &folder].map(std::fs::remove_dir);
    if prepared.len() < servers.len() || verdicts.contains(&Verdict::Interrupted) {
        return Ok(ExitCode::from(INTERRUPTED));
    }
    Ok(exit_code(&verdicts, arguments.require_toolchains))
}

/// The servers that were given as folders.
fn outside(names: &[String]) -> Result<Vec<Server>, Box<dyn Error>> {
    let folders = names.iter().filter(|name| ServerPath::is_meant(name));
    folders
        .map(|text| {
            let path: ServerPath = text.parse().map_err(usage)?;
            path.open()
        })
        .collect()
}

fn select<'a>(
    catalogue: &'a Catalogue,
    outside: &'a [Server],
    names: &[String],
) -> Result<Vec<&'a Server>, Box<dyn Error>> {
    let is_id = |name: &&String| !ServerPath::is_meant(name);
    let ids: Vec<&String> = names.iter().filter(is_id).collect();
    let mut servers: Vec<&Server> = outside.iter().collect();
    if servers.is_empty() || !ids.is_empty() {
        servers.extend(catalogue.select(&ids).map_err(project::not_selected)?);
    }
    Ok(servers)
}

fn tasks(
    layout: &Layout,
    workloads: &Workloads,
    chosen: &[String],
) -> Result<Vec<Task>, Box<dyn Error>> {
    let selected = if chosen.is_empty() {
        workloads.iter().collect()
    } else {
        workloads
            .select(chosen.iter().map(String::as_str))
            .map_err(usage)?
    };
    selected
        .into_iter()
        .map(|workload| Ok(Task::new(workload, layout)?))
        .collect()
}

fn verify_one(
    bench: &Bench,
    server: &Server,
    prepared: &Prepared,
    tasks: &[Task],
    interrupt: &std::sync::atomic::AtomicBool,
) -> Verdict {
    let id = &server.id;
    let Some(built) = &prepared.built else {
        return not_asked(id, &prepared.record.status);
    };
    match verify_server(bench, server, built, tasks, &mut FreePorts, interrupt) {
        Verification::Interrupted => Verdict::Interrupted,
        Verification::NotStarted(reason) => not_asked(id, &ServerStatus::StartFailed { reason }),
        Verification::Ended { verified, reason } => {
            show(id, verified);
            not_asked(id, &ServerStatus::StartFailed { reason })
        }
        Verification::Responded { verified, logs } => {
            let verdict = show(id, verified);
            if let Some(logs) = logs {
                outln!("  its logs {}", logs.paths());
            }
            verdict
        }
    }
}

fn show(id: &str, results: Vec<VerifyResult>) -> Verdict {
    let mut verdict = Verdict::Right;
    for result in results {
        let workload = &result.workload;
        match result.verdict {
            VerifyVerdict::Right => outln!("right    {id} × {workload}"),
            VerifyVerdict::Wrong { expected, came } => {
                outln!("WRONG    {id} × {workload}\n  expected {expected}\n  came     {came}");
                verdict = Verdict::Wrong;
            }
        }
    }
    verdict
}

fn not_asked(id: &str, status: &ServerStatus) -> Verdict {
    if let Some(line) = server_status::line(id, status) {
        outln!("{line}");
    }
    match status {
        ServerStatus::Skipped { .. } => Verdict::Skipped,
        ServerStatus::BuildFailed { .. } | ServerStatus::StartFailed { .. } => Verdict::Wrong,
        ServerStatus::Ready => Verdict::Right,
    }
}

fn exit_code(verdicts: &[Verdict], require_toolchains: bool) -> ExitCode {
    let count = |verdict| verdicts.iter().filter(|&one| *one == verdict).count();
    let (wrong, skipped) = (count(Verdict::Wrong), count(Verdict::Skipped));
    outln!(
        "servers: {} right, {wrong} wrong, {skipped} skipped",
        count(Verdict::Right)
    );
    if wrong > 0 || (require_toolchains && skipped > 0) {
        ExitCode::from(FAILURE)
    } else {
        ExitCode::SUCCESS
    }
}
