//! What a load shows and writes: its flags, its files, and how the command ends.

use std::error::Error;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use prony_load::{Recording, Records};
use prony_model::objective::{Judged, is_missed};
use prony_model::{Ended, LatencyHistogram, LoadResult};
use prony_server::ProcessTree;
use prony_store::{write_chrome_trace, write_hgrm, write_hlog};
use serde::Serialize;

use crate::command::flags::{JunitFlag, LiveFlags, ResultFlags};
use crate::exit::{FAILURE, INTERRUPTED, MISSED, usage};
use crate::result_file::ResultFile;
use crate::view::load_report;
use crate::view::load_summary::{self, Shown};

/// How many requests a trace has at most: a file of some megabytes, which a viewer opens at once.
const MOST_TRACED: usize = 10_000;
/// The longest line of the summary in a Markdown file.
const MARKDOWN_WIDTH: usize = 100;

#[derive(Args)]
#[command(next_help_heading = "Output")]
pub(super) struct OutputArguments {
    /// Show the whole latency distribution, not only its main percentiles
    #[arg(long)]
    pub(crate) latency: bool,
    #[command(flatten)]
    pub(crate) result: ResultFlags,
    #[command(flatten)]
    pub(crate) junit: JunitFlag,
    /// Write the latencies as percentiles in milliseconds, for the plotter of HdrHistogram, to this file
    #[arg(long, value_name = "FILE", hide_short_help = true)]
    pub(crate) hgrm: Option<PathBuf>,
    /// Write the latencies of each second (longer intervals after ten minutes) as a log of HdrHistogram
    /// (version 1.3) to this file
    #[arg(long, value_name = "FILE", hide_short_help = true)]
    pub(crate) hdr_log: Option<PathBuf>,
    /// Write up to 10,000 requests, evenly chosen, with the time of each step to this file: a trace in
    /// JSON that ui.perfetto.dev and chrome://tracing open
    #[arg(long, value_name = "FILE", hide_short_help = true)]
    pub(crate) trace: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) live: LiveFlags,
    /// Show the CPU time and memory of this process and its children on the live screen [default: the
    /// server's, found by its port if it runs on this machine]
    #[arg(long, value_name = "PID", value_parser = clap::value_parser!(i32).range(1..),
        conflicts_with_all = ["find_capacity", "no_tui", "quiet"])]
    pid: Option<i32>,
}

impl OutputArguments {
    /// The process that the user names as the server.
    pub(super) fn server(&self) -> Result<Option<ProcessTree>, Box<dyn Error>> {
        let Some(pid) = self.pid else {
            return Ok(None);
        };
        match ProcessTree::of_process(pid) {
            None => Err(usage(format!("--pid {pid}: there is no such process"))),
            found => Ok(found),
        }
    }

    /// What the load engine is to record; JSON has the latencies of each second, too.
    pub(super) fn recording(&self) -> Recording {
        Recording {
            intervals: self.hdr_log.is_some() || self.result.json.json.is_some(),
            traced: self.trace.is_some().then_some(MOST_TRACED),
        }
    }
}

/// The result of a load and, if there are objectives, what it makes of each.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct Document<'a> {
    #[serde(flatten)]
    pub(crate) result: &'a LoadResult,
    /// The objectives; absent if there are none.
    #[serde(skip_serializing_if = "<[Judged]>::is_empty")]
    pub(crate) objectives: &'a [Judged],
}

/// Writes the result as JSON, as Markdown, as JUnit XML and as percentiles, and what was recorded beside it. An error in
/// one file must not keep the others from being written.
pub(super) fn write(
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
    let target = result.target.url_without_query();
    let hdr_log = match (hdr_log, &recorded.intervals) {
        (Some(file), Some(intervals)) => file.write_with(|out| write_hlog(intervals, target, out)),
        _ => Ok(()),
    };
    let trace = match (trace, &recorded.trace) {
        (Some(file), Some(trace)) => file.write_with(|out| write_chrome_trace(trace, out)),
        _ => Ok(()),
    };
    json.and(markdown)
        .and(junit)
        .and(hgrm)
        .and(hdr_log)
        .and(trace)
}

/// Whether there are figures. A stream that never ends is never ok; its events show that it was right, but not that a
/// flow was.
fn is_measured(result: &LoadResult) -> bool {
    let held = result.streams.as_ref();
    let has_events = held.is_some_and(|held| held.events.count > 0);
    result.is_any_ok() || (result.flows.is_none() && has_events)
}

pub(super) fn exit_code(result: &LoadResult, judged: &[Judged]) -> ExitCode {
    match result.ended {
        Ended::Interrupted => ExitCode::from(INTERRUPTED),
        _ if !is_measured(result) => ExitCode::from(FAILURE),
        _ if is_missed(judged) => ExitCode::from(MISSED),
        _ => ExitCode::SUCCESS,
    }
}
