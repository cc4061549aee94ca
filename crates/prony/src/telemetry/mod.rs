//! `--metrics` and `--otlp`: the figures of a load for other tools, while it runs.

mod listener;
mod pusher;
mod shared;

use std::error::Error;
use std::io;
use std::net::TcpListener;
use std::sync::{Arc, Mutex};

use clap::Args;
use prony_live::telemetry::{Figures, LoadResource};
use prony_load::{LoadPlan, Progress};

use self::listener::Listener;
pub(crate) use self::pusher::Pusher;
use self::pusher::Receiver;
use self::shared::Shared;
use crate::exit::usage;

/// Where the figures go while the load runs.
#[derive(Args)]
#[command(next_help_heading = "Output")]
pub(crate) struct TelemetryFlags {
    /// Serve the figures for Prometheus at http://ADDR/metrics while the load runs; without a host, as in
    /// :9464, to this machine alone
    #[arg(
        long,
        value_name = "ADDR",
        conflicts_with = "find_capacity",
        hide_short_help = true
    )]
    metrics: Option<String>,
    /// Push the figures to the OpenTelemetry receiver at URL/v1/metrics (OTLP/HTTP) each second while the load
    /// runs, and at its end
    #[arg(
        long,
        value_name = "URL",
        conflicts_with = "find_capacity",
        hide_short_help = true
    )]
    otlp: Option<String>,
}

/// Where the figures will go, once there are any.
pub(crate) struct Outlets {
    listener: Option<TcpListener>,
    receiver: Option<Receiver>,
}

impl TelemetryFlags {
    /// Listens, and reads the URL.
    pub(crate) fn open(&self) -> Result<Outlets, Box<dyn Error>> {
        let receiver = self.otlp.as_deref().map(Receiver::at).transpose();
        let receiver = receiver.map_err(|error| usage(format!("--otlp: {error}")))?;
        let listener = self.metrics.as_deref().map(listen).transpose()?;
        Ok(Outlets { listener, receiver })
    }
}

fn listen(address: &str) -> Result<TcpListener, Box<dyn Error>> {
    let addresses = listener::addresses(address);
    let addresses = addresses.map_err(|error| usage(format!("--metrics: {error}")))?;
    let bound = TcpListener::bind(addresses.as_slice());
    bound.map_err(|error| format!("--metrics: cannot listen on {address}: {error}").into())
}

/// The outlets of a running load. Each has a thread of its own.
pub(crate) struct Telemetry {
    shared: Shared,
    listener: Option<Listener>,
    pusher: Option<Pusher>,
}

impl Outlets {
    /// Starts to send the figures of a load, on these CPUs.
    pub(crate) fn start(self, plan: &LoadPlan, cpus: &[usize]) -> io::Result<Telemetry> {
        let shared = Shared {
            resource: Arc::new(LoadResource::of(plan, instance())),
            figures: Arc::new(Mutex::new(Figures::of(plan))),
        };
        let listener = self
            .listener
            .map(|socket| Listener::start(socket, shared.clone(), cpus.to_vec()));
        let pusher = self
            .receiver
            .map(|receiver| Pusher::start(receiver, shared.clone(), cpus.to_vec()));
        Ok(Telemetry {
            shared,
            listener: listener.transpose()?,
            pusher: pusher.transpose()?,
        })
    }
}

impl Telemetry {
    /// Takes the current figures. Returns what the user should know, if anything.
    pub(crate) fn observe(&self, progress: &Progress) -> Option<String> {
        self.shared.figures().take(progress);
        self.pusher.as_ref().and_then(Pusher::first_failure)
    }

    /// Closes the listener, and lets the last figures be pushed.
    pub(crate) fn end(self) -> Option<Pusher> {
        drop(self.listener);
        self.pusher.map(Pusher::end)
    }
}

/// What tells this process from others: 128 random bits.
fn instance() -> String {
    format!("{:032x}", fastrand::u128(..))
}
