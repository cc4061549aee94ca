//! The command line of `prony load`. One file for each group of its flags.

use std::error::Error;

use clap::Args;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use prony_load::EventLoopChoice;

use super::call::CallArguments;
use super::capacity::CapacityArguments;
use super::connections::ConnectionArguments;
use super::objectives::ObjectiveArguments;
use super::output::OutputArguments;
use super::protocol::ProtocolArguments;
use super::requests::RequestArguments;
use super::responses::ResponseArguments;
use super::scenario::ScenarioArguments;
use super::server::ServerArguments;
use super::shape::{ShapeArguments, TimeArguments};
use crate::fleet::FleetFlags;
use crate::result_file::{self, ResultFile};
use crate::telemetry::TelemetryFlags;
use crate::tls::TlsFlags;

#[derive(Args)]
#[command(after_help = include_str!("examples.txt").trim_ascii_end(), after_long_help = include_str!("more_examples.txt").trim_ascii_end())]
pub(in crate::command) struct Arguments {
    /// Request these URLs, all on one server, round-robin if there are several; or let users go through
    /// this Hurl file (.hurl); or build, start and load this server of the project (its id, or its folder)
    #[arg(value_name = "URL|FILE.hurl|SERVER", required_unless_present_any = ["requests_file", "curl"])]
    pub(super) urls: Vec<String>,
    #[command(flatten)]
    pub(super) time: TimeArguments,
    #[command(flatten)]
    pub(super) connections: ConnectionArguments,
    #[command(flatten)]
    pub(super) protocol: ProtocolArguments,
    #[command(flatten)]
    pub(super) tls: TlsFlags,
    #[command(flatten)]
    pub(super) shape: ShapeArguments,
    #[command(flatten)]
    pub(super) objectives: ObjectiveArguments,
    #[command(flatten)]
    pub(super) capacity: CapacityArguments,
    #[command(flatten)]
    pub(super) requests: RequestArguments,
    #[command(flatten)]
    pub(super) scenario: ScenarioArguments,
    #[command(flatten)]
    pub(super) call: CallArguments,
    #[command(flatten)]
    pub(super) responses: ResponseArguments,
    #[command(flatten)]
    pub(super) server: ServerArguments,
    #[command(flatten)]
    pub(super) output: OutputArguments,
    #[command(flatten)]
    pub(super) telemetry: TelemetryFlags,
    #[command(flatten)]
    pub(super) fleet: FleetFlags,
    #[command(flatten)]
    pub(super) generator: GeneratorArguments,
}

#[derive(Args)]
#[command(next_help_heading = "Generator")]
pub(super) struct GeneratorArguments {
    /// Run the threads on these CPUs, for instance 1 or 2-3
    #[arg(long, value_name = "LIST")]
    pub(super) cpus: Option<String>,
    /// Use this event loop; auto uses epoll for long responses or if the kernel forbids io_uring, and
    /// otherwise io_uring
    #[arg(
        long = "loop",
        value_name = "LOOP",
        default_value = "auto",
        value_parser = event_loops(),
        hide_short_help = true
    )]
    pub(super) event_loop: EventLoopChoice,
}

fn event_loops() -> impl TypedValueParser<Value = EventLoopChoice> {
    let names = PossibleValuesParser::new(["auto", "io_uring", "epoll"]);
    names.map(|name| match name.as_str() {
        "io_uring" => EventLoopChoice::IoUring,
        "epoll" => EventLoopChoice::Epoll,
        _ => EventLoopChoice::Auto,
    })
}

impl Arguments {
    /// Tries the files for results: those of a load, and last the chart of a search.
    pub(super) fn files(&self) -> Result<[Option<ResultFile>; 7], Box<dyn Error>> {
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
