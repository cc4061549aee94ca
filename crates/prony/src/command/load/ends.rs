//! How long a load takes, and how long a response may.

use std::num::NonZeroU64;
use std::time::Duration;

use clap::Args;

use crate::arguments;

/// When the load ends, and each request.
#[derive(Args)]
#[command(next_help_heading = "Time")]
pub struct TimeArguments {
    /// Measure for this long: 10s, 2m, 500ms, or seconds [default: 10s, or until -n is reached, or
    /// as long as the --stages; with --find-capacity 5s a rate]
    #[arg(short, long, value_parser = arguments::measured_duration)]
    pub duration: Option<Duration>,
    /// Measure this many requests: 1000, 10k, 2M
    #[arg(short = 'n', long, value_parser = arguments::some_count)]
    pub requests: Option<NonZeroU64>,
    /// Send for this long before measuring [default: 0s, with --find-capacity 1s]
    #[arg(long, value_parser = arguments::duration)]
    pub warmup: Option<Duration>,
    /// Count a request as timed out if it has no full response this long after it was sent
    #[arg(long, value_parser = arguments::timeout, default_value = "10s")]
    pub timeout: Duration,
}

impl TimeArguments {
    /// How long to measure, where the stages of a rate last as long as that.
    pub fn measured(&self, stages: Option<Duration>) -> Option<Duration> {
        let unless_counted = self.requests.is_none().then_some(Duration::from_secs(10));
        self.duration.or(stages).or(unless_counted)
    }
}
