//! `prony generators`: the load generators themselves as the servers of study.

mod case;
pub mod grid;
pub mod reference_server;
mod rounds;
mod tables;
mod truth;

#[cfg(test)]
mod tests;

use std::error::Error;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

use clap::Args;
use prony_driver::{Catalogue, Counters, FindError, Resources, Tool};
use prony_server::Layout;
use prony_system::format_cpu_list;
use serde::Serialize;

use self::case::Case;
use self::reference_server::ReferenceServers;
use self::rounds::{CaseResult, Plan, measure};
use self::truth::Freeze;
use crate::arguments;
use crate::exit::{FAILURE, INTERRUPTED, Outcome, usage};
use crate::interrupt;
use crate::project;
use crate::result_file::{self, ResultFile};

const EXAMPLES: &str = "\
Examples:
  prony generators                                    every tool that is installed, every case
  prony generators --tools wrk,prony --rounds 9       these two
  prony generators --cases hello:64,page:32           these cases: a workload and its connections
  prony generators --cases rate:20k,frozen:1k:64      at a rate; at a rate on a server that freezes
  prony generators --markdown table.md --json all.json

The cases: hello, byte, page, sse, sse-20k and quote in a closed loop; pipelined (hello, 16 deep);
close (hello, a connection for each request); rate:RATE; frozen:RATE, on a server that responds
nothing for a while of every period (--freeze), whose true latency is known. Each may be followed
by :CONNECTIONS (64 otherwise).

Each tool has one thread on one CPU, the reference server the others' half. Figures are medians
over the rounds; ratios are taken within each round.

Exit status: 0 where every tool that could make a case did, 1 where one failed, 2 where the
command line is wrong, 130 where you stopped it (what was measured is shown).";

const CASES: &str = "hello:64,hello:400,page:32,sse:32,pipelined:64,close:64,rate:20k:64";

/// What to compare, and how.
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub struct Arguments {
    /// The tools, separated by commas [default: all that are installed]
    #[arg(long, value_delimiter = ',', value_name = "IDS", value_parser = arguments::name)]
    tools: Vec<String>,
    /// What they are made to do, separated by commas
    #[arg(long, value_delimiter = ',', value_name = "CASES", default_value = CASES)]
    cases: Vec<Case>,
    /// Run each tool this many times in each case
    #[arg(long, default_value = "5", value_parser = arguments::whole(1..=1000_u32))]
    rounds: u32,
    /// Run it for this many seconds; on a server that freezes, for at least a whole period
    #[arg(long, default_value = "2", value_parser = arguments::whole(1..=3600_u32))]
    seconds: u32,
    /// How the server of `frozen` freezes: for so long at the end of every period
    #[arg(long, value_name = "FREEZE/PERIOD", default_value = "1s/10s")]
    freeze: Freeze,
    /// The CPUs of the server [default: half of them]
    #[arg(long, value_name = "LIST")]
    server_cpus: Option<String>,
    /// The CPUs of the tools [default: the first of the other half]
    #[arg(long, value_name = "LIST")]
    load_cpus: Option<String>,
    /// Write everything that was measured as JSON to a file, or to standard output with `-`
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Write the tables as Markdown to a file, or to standard output with `-`
    #[arg(long, value_name = "FILE")]
    markdown: Option<PathBuf>,
}

/// All that was measured, as it is written.
#[derive(Serialize)]
struct Document<'a> {
    prony_version: &'static str,
    server_cpus: &'a [usize],
    load_cpus: &'a [usize],
    freeze: String,
    cases: &'a [CaseResult],
}

/// Measures, shows and writes the comparison.
pub fn run(project: Option<&Path>, arguments: &Arguments) -> Outcome {
    let layout = project::layout(project)?;
    let tools = tools(&layout, &arguments.tools)?;
    let mut cpus = project::cpus(
        arguments.server_cpus.as_deref(),
        arguments.load_cpus.as_deref(),
    )?;
    if arguments.load_cpus.is_none() {
        cpus.load.truncate(1);
    }
    let counters = Counters::probe();
    let counted = match counters {
        Some(_) => "cycles and instructions are counted",
        None => "this machine has no counters for cycles and instructions",
    };
    let conditions = format!(
        "Server on CPU {}, each generator on CPU {}, one thread; {counted}.",
        format_cpu_list(&cpus.server),
        format_cpu_list(&cpus.load)
    );
    errln!("{conditions}");
    let plan = Plan {
        tools,
        cases: arguments.cases.clone(),
        rounds: arguments.rounds,
        duration: Duration::from_secs(arguments.seconds.into()),
        freeze: arguments.freeze,
        limits: Resources {
            cpus: cpus.load.clone(),
            counters,
        },
        servers: ReferenceServers::on(&cpus.server, &layout)?,
    };
    layout.make_state()?;
    let files = result_file::open([
        ("--markdown", arguments.markdown.as_deref()),
        ("--json", arguments.json.as_deref()),
    ])?;
    let interrupt = interrupt::on_signals()?;
    let mut results = Vec::new();
    let measured = measure(&plan, &interrupt, &mut results);
    let is_for_a_program = files.iter().flatten().any(ResultFile::is_stdout);
    show(&plan.tools, &results, is_for_a_program);
    let [to_markdown, to_json] = files;
    if let Some(file) = to_markdown {
        file.write(&markdown(&plan.tools, &results, &conditions))?;
    }
    if let Some(file) = to_json {
        let document = Document {
            prony_version: env!("CARGO_PKG_VERSION"),
            server_cpus: &cpus.server,
            load_cpus: &cpus.load,
            freeze: arguments.freeze.to_string(),
            cases: &results,
        };
        file.write_json(&document)?;
    }
    measured?;
    Ok(exit_code(&results, interrupt.load(Relaxed)))
}

/// The tools that were named, or all; those that are not installed are told and left out.
fn tools(layout: &Layout, named: &[String]) -> Result<Vec<Tool>, Box<dyn Error>> {
    let catalogue = Catalogue::read(&layout.root().join("drivers"))?;
    let prony = std::env::current_exe()?;
    let ids: Vec<&str> = match named.is_empty() {
        true => catalogue.ids().collect(),
        false => named.iter().map(String::as_str).collect(),
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
                errln!("{title} is left out: it is not installed; to install it: {install}");
            }
        }
    }
    match tools.is_empty() {
        true => Err("none of these tools is installed".into()),
        false => Ok(tools),
    }
}

/// Shows the tables, on standard error where standard output is for another program.
fn show(tools: &[Tool], results: &[CaseResult], is_for_a_program: bool) {
    for result in results {
        match tables::table(result, tools) {
            Some(grid) if is_for_a_program => errln!("{}", grid.terminal()),
            Some(grid) => outln!("{}", grid.terminal()),
            None => {}
        }
    }
}

fn markdown(tools: &[Tool], results: &[CaseResult], conditions: &str) -> String {
    let mut text = format!(
        "{conditions} Medians over the rounds; ratios within each round: median (lowest–highest).\n\n"
    );
    for result in results {
        if let Some(grid) = tables::table(result, tools) {
            text.push_str(&grid.markdown());
            text.push('\n');
        }
    }
    for tool in tools {
        if let Some(notes) = &tool.manifest.notes {
            text.push_str(&format!("- {}: {notes}\n", tool.manifest.title));
        }
    }
    text
}

fn exit_code(results: &[CaseResult], interrupted: bool) -> ExitCode {
    let failed = |result: &CaseResult| result.tools.iter().any(|part| part.failure.is_some());
    if interrupted {
        ExitCode::from(INTERRUPTED)
    } else if results.iter().any(failed) {
        ExitCode::from(FAILURE)
    } else {
        ExitCode::SUCCESS
    }
}
