//! `prony verify [SERVER…]`: checks responses, without load.

use std::error::Error;
use std::path::Path;
use std::process::ExitCode;

use clap::Args;
use prony_kernel::default_assignment;
use prony_model::{ServerStatus, VerifyResult, VerifyVerdict};
use prony_run::run::{Prepared, Task, Testbed, prepare, verify_server};
use prony_server::{Catalogue, Logs, Server};

use super::flags::BuildFlags;
use crate::arguments;
use crate::exit::{INTERRUPTED, Outcome, failure_if, interrupt_on_signals, usage};
use crate::project::{self, Project, ServerPath};
use crate::view::run_progress;

const EXAMPLES: &str = "\
Examples:
  prony verify                         every server of the project
  prony verify go-nethttp bun          these two servers
  prony verify --workloads sse,quote   only these workloads
  prony verify ../my-server            a server in any folder
  prony verify --rebuild ../my-server  rebuild it first
  prony verify ../my-server@fast       a variant of it

Exit status:
  0    every response was as expected; servers whose toolchain is missing are
       skipped
  1    a response was wrong, or a server could not be built or started
  2    the command line is wrong
  130  you stopped it";

#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Arguments {
    /// Verify these servers: ids or folders (FOLDER, FOLDER@VARIANT or NAME=FOLDER) [default: the
    /// project's own, or else all that Prony ships]
    #[arg(value_parser = arguments::name)]
    servers: Vec<String>,
    /// Verify only these workloads, separated by commas
    #[arg(long, value_delimiter = ',', value_name = "IDS", value_parser = arguments::name)]
    workloads: Vec<String>,
    /// Fail if a toolchain is missing, instead of skipping its servers
    #[arg(long)]
    require_toolchains: bool,
    #[command(flatten)]
    build: BuildFlags,
}

#[derive(PartialEq, Eq)]
enum ServerVerdict {
    Verified,
    Wrong,
    Failed,
    Skipped,
    Interrupted,
}

/// Builds the servers, then starts and checks one after the other.
pub(super) fn run(project: Option<&Path>, arguments: &Arguments) -> Outcome {
    let project = Project::open(project)?;
    let layout = &project.layout;
    let catalogue = project.catalogue()?;
    let outside = outside(&arguments.servers)?;
    let servers = if arguments.servers.is_empty() {
        project.default_servers(&catalogue)
    } else {
        select(&catalogue, &outside, &arguments.servers)?
    };
    let workloads = project.workloads(&servers)?;
    let chosen = arguments.workloads.iter().map(String::as_str);
    workloads.select(chosen.clone()).map_err(usage)?;
    let tasks = project::tasks(layout, workloads, chosen)?;
    layout.make_state()?;
    let interrupt = interrupt_on_signals()?;
    let is_shipped = |server: &&Server| project.ships(server);
    if arguments.servers.is_empty() && !servers.is_empty() && servers.iter().all(is_shipped) {
        say_how_many(&servers);
    }
    // Each process has its own folder of logs.
    let id = project::run_id("verify");
    let testbed = arguments
        .build
        .testbed(layout, default_assignment()?, &id, &interrupt)?;
    let of = (servers.len() > 1).then_some(servers.len());
    let prepared = prepare(&testbed, &servers, &mut run_progress::say_what_is_built(of));
    let mut verdicts = Vec::new();
    // A broken manifest is a failure if all servers are verified.
    if arguments.servers.is_empty() {
        for broken in &catalogue.broken {
            outln!("FAILED   {}: {}", broken.id, broken.error);
            verdicts.push(ServerVerdict::Failed);
        }
    }
    for (server, prepared) in servers.iter().zip(&prepared) {
        verdicts.push(verify_one(&testbed, server, prepared, &tasks));
    }
    // Removes the folders only if they are empty, which they are if every response was right.
    let _ = [&testbed.logs, &layout.runs().join(id)].map(std::fs::remove_dir);
    if prepared.len() < servers.len() || verdicts.contains(&ServerVerdict::Interrupted) {
        return Ok(ExitCode::from(INTERRUPTED));
    }
    Ok(exit_code(&verdicts, arguments.require_toolchains))
}

/// Says that every shipped server is built, because nobody may expect that in an empty folder.
fn say_how_many(servers: &[&Server]) {
    errln!(
        "this folder has no servers of its own, so Prony verifies all {} that it ships and builds {} of them, which can take \
         minutes; name the ones to verify, for instance: prony verify go-nethttp",
        servers.len(),
        servers.iter().filter(|server| server.is_built()).count(),
    );
}

/// The servers that were given as folders.
fn outside(names: &[String]) -> Result<Vec<Server>, Box<dyn Error>> {
    let paths = names.iter().filter_map(|name| ServerPath::of(name));
    paths.map(|path| path.map_err(usage)?.open()).collect()
}

fn select<'a>(
    catalogue: &'a Catalogue,
    outside: &'a [Server],
    names: &[String],
) -> Result<Vec<&'a Server>, Box<dyn Error>> {
    let is_id = |name: &&String| ServerPath::of(name).is_none();
    let ids: Vec<&String> = names.iter().filter(is_id).collect();
    let mut servers: Vec<&Server> = outside.iter().collect();
    if !ids.is_empty() {
        servers.extend(catalogue.select(&ids).map_err(project::not_selected)?);
    }
    Ok(servers)
}

fn verify_one(
    testbed: &Testbed,
    server: &Server,
    prepared: &Prepared,
    tasks: &[Task],
) -> ServerVerdict {
    let id = &server.id;
    if server.manifest.workloads.is_empty() {
        outln!("FAILED   {id}: {}", project::NO_WORKLOAD);
        return ServerVerdict::Failed;
    }
    let Some(access) = &prepared.access else {
        return not_verified(id, &prepared.record.status);
    };
    let Some(verification) = verify_server(testbed, server, access, tasks) else {
        return ServerVerdict::Interrupted;
    };
    let verdict = show(id, verification.verified, &verification.logs);
    match verification.failed {
        Some(reason) => not_verified(id, &access.failed(reason)),
        None => verdict,
    }
}

fn show(id: &str, results: Vec<VerifyResult>, logs: &[Logs]) -> ServerVerdict {
    let mut verdict = ServerVerdict::Verified;
    for result in results {
        let workload = &result.workload;
        match result.verdict {
            VerifyVerdict::Right => outln!("verified {id} × {workload}"),
            VerifyVerdict::Wrong { expected, received } => {
                outln!("WRONG    {id} × {workload}\n  expected {expected}\n  received {received}");
                verdict = ServerVerdict::Wrong;
            }
        }
    }
    for logs in logs {
        outln!("logs     {id}: {}", logs.paths());
    }
    verdict
}

fn not_verified(id: &str, status: &ServerStatus) -> ServerVerdict {
    if let Some(line) = run_progress::status_line(id, status) {
        outln!("{line}");
    }
    match status {
        ServerStatus::Skipped { .. } => ServerVerdict::Skipped,
        ServerStatus::Ready => ServerVerdict::Verified,
        _ => ServerVerdict::Failed,
    }
}

fn exit_code(verdicts: &[ServerVerdict], require_toolchains: bool) -> ExitCode {
    let count = |verdict| verdicts.iter().filter(|&one| *one == verdict).count();
    let (wrong, failed) = (count(ServerVerdict::Wrong), count(ServerVerdict::Failed));
    let (verified, skipped) = (
        count(ServerVerdict::Verified),
        count(ServerVerdict::Skipped),
    );
    outln!("servers: {verified} verified, {wrong} wrong, {failed} failed, {skipped} skipped");
    failure_if(wrong + failed > 0 || (require_toolchains && skipped > 0))
}
