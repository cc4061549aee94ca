//! When requests are due: the shape of the load.

use std::num::NonZeroU64;
use std::time::Duration;

use clap::{Args, ValueEnum};
use prony_model::{Arrivals, LoadShape, Schedule};

use super::schedule_text::{Stages, stages};
use crate::arguments;

/// When requests are due. Without any of these each connection sends its next request when it has
/// the response to its last one.
#[derive(Args)]
#[command(next_help_heading = "When requests are due (otherwise: a closed loop)")]
pub struct ShapeArguments {
    /// Send at this rate regardless of response times: 5k/s, 5000, 300/m; at most 1000M/s
    #[arg(long, value_parser = prony_model::parse_rate, group = "schedule")]
    rate: Option<f64>,
    /// Rates one after the other: 1k/s:10s holds one, 1k/s..5k/s:30s moves evenly. The last may go
    /// without its time where -d or -n is given
    #[arg(long, value_parser = stages, group = "schedule")]
    stages: Option<Stages>,
    /// How the requests of a rate are spaced [default: even, with --find-capacity poisson]
    #[arg(
        long,
        value_name = "HOW",
        requires = "schedule",
        hide_short_help = true
    )]
    arrivals: Option<ArrivalsName>,
    /// Send the requests of a rate in bursts of N, at the same rate overall; at most 1M
    #[arg(long, value_name = "N", value_parser = arguments::some_count, requires = "schedule", hide_short_help = true)]
    burst: Option<NonZeroU64>,
    /// Simulate this many users, each with a connection, who think, send a request, wait for the
    /// response, and think again
    #[arg(long, value_name = "N", value_parser = arguments::connections,
        conflicts_with_all = ["schedule", "connections"])]
    users: Option<usize>,
    /// How long a user thinks on the average (exponentially distributed)
    #[arg(long, value_name = "MEAN", value_parser = arguments::some_duration, default_value = "1s",
        requires = "users", hide_short_help = true)]
    think_time: Duration,
    /// Users whose requests are due by a schedule that no response moves: what comes due in the
    /// meantime follows back to back
    #[arg(long, requires = "users", hide_short_help = true)]
    open: bool,
    /// One request after the other: -c1 -t1
    #[arg(long, conflicts_with_all = ["schedule", "users", "connections", "threads", "pipeline"],
        hide_short_help = true)]
    sequential: bool,
    /// Shed what cannot be sent so long after it was due, and count as timed out what has no whole
    /// response by then
    #[arg(long, value_parser = arguments::some_duration, hide_short_help = true)]
    pub deadline: Option<Duration>,
    /// Busy-wait for the instants of the schedule: more exact, and a whole CPU for each thread
    #[arg(long, hide_short_help = true)]
    pub spin: bool,
    /// Draw random arrivals and choices from this seed: the same seed draws the same ones
    /// [default: a random one, which is shown]
    #[arg(long, value_name = "N", value_parser = arguments::seed, hide_short_help = true)]
    seed: Option<u64>,
}

#[derive(Clone, Copy, ValueEnum)]
enum ArrivalsName {
    /// Evenly
    Even,
    /// At random, each independent of the others
    Poisson,
}

impl From<ArrivalsName> for Arrivals {
    fn from(name: ArrivalsName) -> Self {
        match name {
            ArrivalsName::Even => Self::Even,
            ArrivalsName::Poisson => Self::Poisson,
        }
    }
}

impl ShapeArguments {
    /// The shape, checked for flags that go only with another. A search for the capacity sets the rate
    /// itself.
    pub fn shape(&self, finds_capacity: bool) -> Result<LoadShape, &'static str> {
        let shape = match finds_capacity {
            true => self.schedule(Schedule::constant(self.spaced(Arrivals::Poisson), 1.0)),
            false => self.arrivals(),
        };
        if self.deadline.is_some() && !shape.is_open() {
            return Err(
                "--deadline runs from the instant at which a request is due: it needs --rate, --stages, or --users with --open",
            );
        }
        if self.spin && shape == LoadShape::Closed {
            return Err(
                "--spin waits for the instants of a schedule: it needs --rate, --stages or --users",
            );
        }
        Ok(shape)
    }

    fn arrivals(&self) -> LoadShape {
        let think_time_s = self.think_time.as_secs_f64();
        let schedule = match (&self.stages, self.rate, self.users) {
            (Some(Stages(stages)), _, _) => Schedule {
                stages: stages.clone(),
                ..Schedule::constant(self.spaced(Arrivals::Even), 0.0)
            },
            (None, Some(rate), _) => Schedule::constant(self.spaced(Arrivals::Even), rate),
            (None, None, Some(_)) if self.open => return LoadShape::UsersOpen { think_time_s },
            (None, None, Some(_)) => return LoadShape::UsersClosed { think_time_s },
            (None, None, None) => return LoadShape::Closed,
        };
        self.schedule(schedule)
    }

    fn spaced(&self, unless_said: Arrivals) -> Arrivals {
        self.arrivals.map_or(unless_said, Arrivals::from)
    }

    fn schedule(&self, schedule: Schedule) -> LoadShape {
        LoadShape::Rate(Schedule {
            burst: self.burst.map_or(1, NonZeroU64::get),
            ..schedule
        })
    }

    /// How many connections the shape has by itself, where it says so.
    pub fn connections(&self) -> Option<usize> {
        self.users.or(self.sequential.then_some(1))
    }

    /// How long the stages take together; `None` where there are none. They must have an end where
    /// nothing else ends the load, and the last one must be reached.
    pub fn stages_last(
        &self,
        duration: Option<Duration>,
        counted: bool,
    ) -> Result<Option<Duration>, String> {
        let Some(Stages(stages)) = &self.stages else {
            return Ok(None);
        };
        let sum = |seconds: f64| {
            Duration::try_from_secs_f64(seconds)
                .map_err(|_| "--stages: they take longer than can be told".to_owned())
        };
        let last_is_open = stages
            .last()
            .is_some_and(|stage| stage.duration_s.is_none());
        let whole = sum(stages.iter().filter_map(|stage| stage.duration_s).sum())?;
        match duration {
            Some(duration) if last_is_open && duration <= whole => Err(format!(
                "-d {duration:?} ends the load before the last of the --stages, which begins after {whole:?}"
            )),
            Some(_) => Ok(Some(whole)),
            None if last_is_open && counted => Ok(None),
            None if last_is_open => Err("the last of the --stages has no time: write for instance 5k/s:30s, or give -d or -n".into()),
            None => Ok(Some(whole)),
        }
    }

    /// The seed that was given, or a new one.
    pub fn seed(&self) -> u64 {
        // Short enough to be typed again.
        self.seed.unwrap_or_else(|| fastrand::u64(..1_000_000_000))
    }
}

/// Whether a shape draws anything at random.
pub fn is_random(shape: &LoadShape) -> bool {
    match shape {
        LoadShape::Closed => false,
        LoadShape::Rate(schedule) => schedule.arrivals == Arrivals::Poisson,
        LoadShape::UsersClosed { .. } | LoadShape::UsersOpen { .. } => true,
    }
}
