//! What a load records beside its result: the latencies of each second, and a trace of single requests.

use std::error::Error;
use std::path::PathBuf;

use clap::Args;
use prony_load::{Recording, Records};
use prony_store::{write_chrome_trace, write_hlog};

use crate::result_file::ResultFile;

/// How many requests a trace has at most: a file of some megabytes, which a viewer opens at once.
const MOST_TRACED: usize = 10_000;

/// What is recorded beside the result.
#[derive(Args)]
pub(super) struct RecordArguments {
    /// Write the latencies of each second (longer intervals after ten minutes) as a log of HdrHistogram
    /// (version 1.3) to this file
    #[arg(long, value_name = "FILE", hide_short_help = true)]
    pub(crate) hdr_log: Option<PathBuf>,
    /// Write up to 10,000 requests, evenly chosen, with the time of each step to this file: a trace in
    /// JSON that ui.perfetto.dev and chrome://tracing open
    #[arg(long, value_name = "FILE", hide_short_help = true)]
    pub(crate) trace: Option<PathBuf>,
}

impl RecordArguments {
    /// What the load engine is to record; JSON has the latencies of each second, too.
    pub(super) fn recording(&self, writes_json: bool) -> Recording {
        Recording {
            intervals: self.hdr_log.is_some() || writes_json,
            traced: self.trace.is_some().then_some(MOST_TRACED),
        }
    }

    /// A flag that is given, if any is.
    pub(super) fn given(&self) -> Option<&'static str> {
        match (&self.hdr_log, &self.trace) {
            (Some(_), _) => Some("--hdr-log"),
            (None, Some(_)) => Some("--trace"),
            (None, None) => None,
        }
    }
}

/// Writes what was recorded of a load on `target`. An error in one file must not keep the other from being written.
pub(super) fn write(
    [hdr_log, trace]: [Option<ResultFile>; 2],
    recorded: &Records,
    target: &str,
) -> Result<(), Box<dyn Error>> {
    let hdr_log = match (hdr_log, &recorded.intervals) {
        (Some(file), Some(intervals)) => file.write_with(|out| write_hlog(intervals, target, out)),
        _ => Ok(()),
    };
    let trace = match (trace, &recorded.trace) {
        (Some(file), Some(trace)) => file.write_with(|out| write_chrome_trace(trace, out)),
        _ => Ok(()),
    };
    hdr_log.and(trace)
}
