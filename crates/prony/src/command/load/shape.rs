//! When requests are due, and when the load ends.

use std::num::NonZeroU64;
use std::sync::Arc;
use std::time::Duration;

use clap::Args;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use prony_model::{
    Arrivals, LoadShape, LoadSpec, RateError, Schedule, Seconds, Stage, parse_stages,
};

use crate::arguments;

/// How long users think on average, unless the command line says otherwise.
const THINK_TIME: Duration = Duration::from_secs(1);

#[derive(Args)]
#[command(next_help_heading = "Time")]
pub(super) struct TimeArguments {
    /// Measure for this long: 10s, 2m, 500ms, or seconds [default: 10s, or until -n requests, or as
    /// long as the --stages; for a capacity 1.5s per rate]
    #[arg(short, long, value_parser = arguments::measured_duration)]
    pub(crate) duration: Option<Duration>,
    /// Measure this many requests, or flows of a Hurl file: 1000, 10k, 2M
    #[arg(short = 'n', long, value_name = "N", value_parser = arguments::some_count)]
    pub(crate) requests: Option<NonZeroU64>,
    /// Send requests for this long before measuring [default: 0s, for a capacity 0.4s]
    #[arg(long, value_name = "DURATION", value_parser = arguments::duration)]
    pub(crate) warmup: Option<Duration>,
    /// Count a request as timed out if it has no full response this long after it was sent
    #[arg(long, value_name = "DURATION", value_parser = arguments::timeout, default_value = "10s")]
    pub(crate) timeout: Duration,
}

impl TimeArguments {
    /// The load with what these flags say of it, given how long the stages of a rate last.
    pub(super) fn put_into(&self, load: LoadSpec, stages: Option<Duration>) -> LoadSpec {
        let unless_counted = self.requests.is_none().then_some(Duration::from_secs(10));
        let duration = self.duration.or(stages).or(unless_counted);
        LoadSpec {
            duration: duration.map(Seconds),
            requests: self.requests.map(u64::from),
            warmup: Seconds(self.warmup.unwrap_or_default()),
            timeout: Seconds(self.timeout),
            ..load
        }
    }
}

/// When requests are due. Without any of these, each connection waits for a full response before it sends again.
#[derive(Args)]
#[command(next_help_heading = "When requests are due (default: closed loop)")]
pub(super) struct ShapeArguments {
    /// Send at this rate regardless of response times: 5k/s, 5000, 300/m; at most 1000M/s
    #[arg(long, value_parser = prony_model::parse_rate, group = "schedule")]
    rate: Option<f64>,
    /// Send at several rates in turn: 1k/s:10s holds a rate, 1k/s..5k/s:30s ramps linearly; the
    /// last one needs no time if -d or -n is given
    #[arg(long, value_parser = stages, group = "schedule")]
    stages: Option<Arc<[Stage]>>,
    /// Choose how the requests of a rate are spaced [default: even, for a capacity poisson]
    #[arg(
        long,
        value_name = "HOW",
        value_parser = arrivals(),
        requires = "schedule",
        hide_short_help = true
    )]
    arrivals: Option<Arrivals>,
    /// Send the requests of a rate in bursts of N, at the same rate overall; at most 1M
    #[arg(long, value_name = "N", value_parser = arguments::some_count, requires = "schedule", hide_short_help = true)]
    burst: Option<NonZeroU64>,
    /// Simulate this many users, each with a connection, who think, send a request, wait for the
    /// response, and think again
    #[arg(long, value_name = "N", value_parser = arguments::connections,
        conflicts_with_all = ["schedule", "connections"])]
    users: Option<usize>,
    /// Let users think for this long on average (exponentially distributed) before each request, also
    /// between those of a Hurl file; with --open, the mean time between two requests or flows of a
    /// user [default: 1s with --users, otherwise none]
    #[arg(long, value_name = "DURATION", value_parser = arguments::some_duration, hide_short_help = true)]
    think_time: Option<Duration>,
    /// Let users send on a schedule, regardless of response times; requests that come due while one
    /// is in flight follow it back to back
    #[arg(long, requires = "users", hide_short_help = true)]
    open: bool,
    /// Send one request after the other: -c1 -t1
    #[arg(long, conflicts_with_all = ["schedule", "users", "connections", "threads", "pipeline",
        "streams_per_connection"],
        hide_short_help = true)]
    sequential: bool,
    /// Shed requests that cannot be sent within this time of their due time; with --users --open,
    /// also count those without a full response by then as timed out
    #[arg(long, value_name = "DURATION", value_parser = arguments::some_duration, hide_short_help = true)]
    pub(crate) deadline: Option<Duration>,
    /// Busy-wait until requests are due: more precise, but each thread takes a whole CPU
    #[arg(long, hide_short_help = true)]
    pub(crate) spin: bool,
    /// Draw random arrivals and choices from this seed, to repeat earlier ones [default: a random
    /// seed, which is shown]
    #[arg(long, value_name = "N", value_parser = arguments::seed, hide_short_help = true)]
    pub(crate) seed: Option<u64>,
}

fn stages(text: &str) -> Result<Arc<[Stage]>, RateError> {
    Ok(parse_stages(text)?.into())
}

fn arrivals() -> impl TypedValueParser<Value = Arrivals> {
    let even = PossibleValue::new("even").help("Space them evenly");
    let poisson = PossibleValue::new("poisson").help("Space them at random (a Poisson process)");
    PossibleValuesParser::new([even, poisson]).map(|name| match name.as_str() {
        "poisson" => Arrivals::Poisson,
        _ => Arrivals::Even,
    })
}

impl ShapeArguments {
    /// The load with what these flags say of it beside its shape.
    pub(super) fn put_into(&self, load: LoadSpec) -> LoadSpec {
        LoadSpec {
            seed: self.seed.unwrap_or_else(arguments::new_seed),
            deadline: self.deadline.map(Seconds),
            spin: self.spin,
            ..load
        }
    }

    /// The shape, after a check for flags that need others. A search for the capacity sets the rate itself.
    pub(super) fn shape(&self, finds_capacity: bool) -> Result<LoadShape, &'static str> {
        let usual = if finds_capacity {
            Arrivals::Poisson
        } else {
            Arrivals::Even
        };
        let schedule = |per_s| Schedule {
            burst: self.burst.map_or(1, NonZeroU64::get),
            ..Schedule::constant(self.arrivals.unwrap_or(usual), per_s)
        };
        let think_time = Seconds(self.think_time.unwrap_or(THINK_TIME));
        let shape = match (&self.stages, self.rate, self.users) {
            _ if finds_capacity => LoadShape::Rate(schedule(1.0)),
            (Some(stages), _, _) => LoadShape::Rate(Schedule {
                stages: stages.to_vec(),
                ..schedule(0.0)
            }),
            (None, Some(rate), _) => LoadShape::Rate(schedule(rate)),
            (None, None, Some(_)) if self.open => LoadShape::UsersOpen { think_time },
            (None, None, Some(_)) => LoadShape::UsersClosed { think_time },
            (None, None, None) => LoadShape::Closed,
        };
        if self.deadline.is_some() && !shape.is_open() {
            return Err(
                "--deadline counts from the time at which a request is due: it needs --rate, --stages, or --users with --open",
            );
        }
        if self.spin && shape == LoadShape::Closed {
            return Err(
                "--spin waits until requests are due: it needs --rate, --stages or --users",
            );
        }
        Ok(shape)
    }

    /// The mean time between two requests of a flow, if there are flows.
    ///
    /// # Errors
    ///
    /// If nobody thinks.
    pub(super) fn flow_think_time(
        &self,
        has_flows: bool,
    ) -> Result<Option<Duration>, &'static str> {
        match (self.users, self.think_time, has_flows) {
            (None, Some(_), false) => Err("--think-time needs --users, or a Hurl file"),
            (_, _, false) => Ok(None),
            // It is the mean time between the begins of two flows.
            (Some(_), _, true) if self.open => Ok(None),
            (Some(_), think_time, true) => Ok(Some(think_time.unwrap_or(THINK_TIME))),
            (None, think_time, true) => Ok(think_time),
        }
    }

    /// The number of connections that the shape implies, if it does.
    pub(super) fn connections(&self) -> Option<usize> {
        self.users.or(self.sequential.then_some(1))
    }

    /// How long the stages last together; `None` if there are none. They need an end if nothing else ends the load, and
    /// the load must reach the last one.
    pub(super) fn stages_last(
        &self,
        duration: Option<Duration>,
        counted: bool,
    ) -> Result<Option<Duration>, String> {
        let Some(stages) = &self.stages else {
            return Ok(None);
        };
        let last_is_open = stages
            .last()
            .is_some_and(|stage| stage.duration_s.is_none());
        let whole = stages.iter().filter_map(|stage| stage.duration_s).sum();
        let whole = Duration::try_from_secs_f64(whole);
        let whole = whole.map_err(|_| "--stages: they last too long")?;
        match duration {
            Some(duration) if last_is_open && duration <= whole => Err(format!(
                "-d {duration:?} ends the load before the last of the --stages, which starts after {whole:?}"
            )),
            None if last_is_open && counted => Ok(None),
            None if last_is_open => Err("the last of the --stages has no time: write for instance 5k/s:30s, or give -d or -n".into()),
            _ => Ok(Some(whole)),
        }
    }
}

pub(super) fn is_random(shape: &LoadShape) -> bool {
    match shape {
        LoadShape::Closed => false,
        LoadShape::Rate(schedule) => schedule.arrivals == Arrivals::Poisson,
        LoadShape::UsersClosed { .. } | LoadShape::UsersOpen { .. } => true,
    }
}
