//! A load in a suite: its fields, and which of them belong to which shape.

#[cfg(test)]
mod tests;

use std::num::{NonZeroU64, NonZeroUsize};
use std::time::Duration;

use prony_load::{MOST_PIPELINE, MOST_THREADS};
use prony_manifest::fields;
use prony_model::{
    Arrivals, LoadShape, LoadSpec, MeasuredBy, Schedule, Seconds, Stage, parse_rate, parse_stages,
};
use serde::Deserialize;

#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(try_from = "LoadFields")]
pub struct SuiteLoad {
    /// The load, without its number of threads.
    pub(super) spec: LoadSpec,
    /// How many threads generate it; `None` for one on each of the load's CPUs.
    threads: Option<NonZeroUsize>,
    /// How long a server may take to warm up under this load; `None` for [`WARMUP_LIMIT`].
    pub(super) warmup_limit: Option<Duration>,
}

/// The default limit of a server's warm-up.
pub const WARMUP_LIMIT: Duration = Duration::from_secs(20);

/// 64 connections in a closed loop for 2 s.
impl Default for SuiteLoad {
    fn default() -> Self {
        Self {
            spec: LoadSpec {
                shape: LoadShape::Closed,
                connections: 64,
                duration: Some(Seconds::from_secs(2)),
                warmup: Seconds(usual_warmup()),
                timeout: Seconds(usual_timeout()),
                ..LoadSpec::default()
            },
            threads: None,
            warmup_limit: None,
        }
    }
}

impl SuiteLoad {
    /// How long a server may take to warm up under this load; 0 for a load without a warm-up, whose first requests are
    /// meant to be measured.
    pub fn warmup_limit(&self) -> Duration {
        if self.has_warmup() || self.spec.by == MeasuredBy::Instructions {
            self.warmup_limit.unwrap_or(WARMUP_LIMIT)
        } else {
            Duration::ZERO
        }
    }

    pub(super) fn has_warmup(&self) -> bool {
        !self.spec.warmup.is_zero()
    }

    /// The load on a machine with `cpus` CPUs for it. Its seed is 0: the plan sets one for each round.
    pub fn spec(&self, cpus: NonZeroUsize) -> LoadSpec {
        let threads = match self.spec.by {
            MeasuredBy::Time => self.threads.unwrap_or(cpus).get(),
            // Requests follow one another in the same order each time.
            MeasuredBy::Instructions => 1,
        };
        // A thread without a connection would have nothing to do.
        LoadSpec {
            threads: threads.min(self.spec.connections),
            ..self.spec.clone()
        }
    }

    /// The load of a measure that counts instructions: a fixed number of requests, over the connections of `load` or else over
    /// one.
    ///
    /// # Errors
    /// If that is not a closed loop, or has what such a load does not.
    pub(super) fn counting(
        load: Option<&SuiteLoad>,
        requests: Option<NonZeroU64>,
    ) -> Result<Self, String> {
        let requests = requests.map_or(COUNTED_REQUESTS, NonZeroU64::get);
        let spec = LoadSpec {
            requests: Some(requests),
            timeout: Seconds(COUNTED_TIMEOUT),
            by: MeasuredBy::Instructions,
            ..LoadSpec::default()
        };
        let Some(load) = load else {
            return Ok(Self {
                spec,
                threads: None,
                warmup_limit: None,
            });
        };
        let own = &load.spec;
        if own.shape != LoadShape::Closed {
            return Err(format!(
                "a measure `by = \"instructions\"` has a load of the shape `closed`, not `{}`: it sends a fixed number of \
                 requests",
                own.shape.name()
            ));
        }
        let foreign = [
            ("first_byte", own.first_byte),
            ("streams", own.streams > 0),
            ("pipeline` and no `streams_per_connection", own.pipeline > 1),
        ];
        if let Some((field, _)) = foreign.into_iter().find(|(_, is_given)| *is_given) {
            return Err(format!(
                "the load of a measure `by = \"instructions\"` has no `{field}`"
            ));
        }
        Ok(Self {
            spec: LoadSpec {
                connections: own.connections,
                requests_per_connection: own.requests_per_connection,
                events: own.events,
                ..spec
            },
            threads: None,
            warmup_limit: load.warmup_limit,
        })
    }

    /// Makes it end after `duration` if a duration ends it. The stages of a changing rate are scaled, so that it goes
    /// through the same rates.
    pub(super) fn shorten_to(&mut self, duration: Duration) {
        let Some(own) = self.spec.duration else {
            return;
        };
        self.spec.duration = Some(Seconds(duration));
        if let LoadShape::Rate(schedule) = &mut self.spec.shape {
            let factor = duration.as_secs_f64() / own.as_secs_f64();
            let times = schedule.stages.iter_mut();
            for time in times.filter_map(|stage| stage.duration_s.as_mut()) {
                *time *= factor;
            }
        }
    }

    /// What ends it: `10s`, `10000 requests`, or `10000 requests or 10s`.
    pub(super) fn end(&self) -> String {
        let requests = self.spec.requests;
        let requests = requests.map(|requests| format!("{requests} requests"));
        let duration = self.spec.duration;
        let duration = duration.map(|duration| humantime::format_duration(*duration).to_string());
        let ends: Vec<String> = requests.into_iter().chain(duration).collect();
        ends.join(" or ")
    }
}

/// How long the stages of a schedule take together, in seconds, without a last one that lasts as long as the load.
fn staged_s(schedule: &Schedule) -> f64 {
    let times = schedule.stages.iter().filter_map(|stage| stage.duration_s);
    times.sum()
}

const fn usual_warmup() -> Duration {
    Duration::from_millis(500)
}

const fn usual_timeout() -> Duration {
    Duration::from_secs(5)
}

/// The fields of all shapes; which belong together is checked after parsing.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct LoadFields {
    shape: ShapeName,
    connections: Option<NonZeroUsize>,
    max_connections: Option<NonZeroUsize>,
    users: Option<NonZeroUsize>,
    #[serde(default, deserialize_with = "fields::maybe_some_duration")]
    think_time: Option<Duration>,
    rate: Option<String>,
    stages: Option<Vec<String>>,
    arrivals: Option<Arrivals>,
    burst: Option<NonZeroU64>,
    pipeline: Option<NonZeroUsize>,
    streams_per_connection: Option<NonZeroUsize>,
    requests_per_connection: Option<NonZeroU64>,
    threads: Option<NonZeroUsize>,
    #[serde(default, deserialize_with = "fields::maybe_some_duration")]
    duration: Option<Duration>,
    requests: Option<NonZeroU64>,
    #[serde(default = "usual_warmup", deserialize_with = "fields::duration")]
    warmup: Duration,
    #[serde(default, deserialize_with = "fields::maybe_duration")]
    warmup_limit: Option<Duration>,
    #[serde(default = "usual_timeout", deserialize_with = "fields::some_duration")]
    timeout: Duration,
    #[serde(default, deserialize_with = "fields::maybe_some_duration")]
    deadline: Option<Duration>,
    spin: Option<bool>,
    #[serde(default)]
    streams: usize,
    #[serde(default)]
    first_byte: bool,
    #[serde(default)]
    events: bool,
}

/// How many requests have their instructions counted by default, and how long a response may take then.
const COUNTED_REQUESTS: u64 = 1000;
const COUNTED_TIMEOUT: Duration = Duration::from_secs(60);

prony_model::named! {
    /// The shape of a load, as in a suite.
    #[derive(Clone, Copy, Deserialize, PartialEq)]
    #[serde(rename_all = "kebab-case")]
    pub enum ShapeName {
        Closed = "closed",
        Rate = "rate",
        UsersClosed = "users-closed",
        UsersOpen = "users-open",
    }
}

impl LoadFields {
    /// Rejects a field that only other shapes have, and says what to write instead.
    #[rustfmt::skip]
    fn no_foreign(&self) -> Result<(), String> {
        use ShapeName::{Closed, Rate, UsersClosed, UsersOpen};
        let users = "only loads of the shapes `users-closed` and `users-open` have it";
        let rate = "only loads of the shape `rate` have it";
        let timed = "it does not wait for scheduled times";
        let one = "a user has one request at a time";
        let fields: [(&str, bool, &[ShapeName], &str); 12] = [
            ("connections", self.connections.is_some(), &[Closed, Rate], "use `users`"),
            ("users", self.users.is_some(), &[UsersClosed, UsersOpen], "use `connections`"),
            ("think_time", self.think_time.is_some(), &[UsersClosed, UsersOpen], users),
            ("rate", self.rate.is_some(), &[Rate], rate),
            ("stages", self.stages.is_some(), &[Rate], rate),
            ("arrivals", self.arrivals.is_some(), &[Rate], rate),
            ("burst", self.burst.is_some(), &[Rate], rate),
            ("max_connections", self.max_connections.is_some(), &[Rate], rate),
            ("pipeline", self.pipeline.is_some(), &[Closed, Rate], one),
            ("streams_per_connection", self.streams_per_connection.is_some(), &[Closed, Rate], one),
            ("deadline", self.deadline.is_some(), &[Rate, UsersOpen], "use `timeout`, which runs from the send"),
            ("spin", self.spin.is_some(), &[Rate, UsersClosed, UsersOpen], timed),
        ];
        let foreign = |&(_, is_given, shapes, _): &(_, bool, &[ShapeName], _)| is_given && !shapes.contains(&self.shape);
        match fields.into_iter().find(foreign) {
            None => Ok(()),
            Some((field, _, _, instead)) => Err(format!("a load of the shape `{}` has no `{field}`; {instead}", self.shape.name())),
        }
    }

    /// The value of a field that the shape must have.
    fn needed<T>(&self, field: &str, value: Option<T>) -> Result<T, String> {
        value.ok_or_else(|| {
            format!(
                "a load of the shape `{}` needs `{field}`",
                self.shape.name()
            )
        })
    }

    fn shape(&self) -> Result<LoadShape, String> {
        let think_time = || self.needed("think_time", self.think_time).map(Seconds);
        Ok(match self.shape {
            ShapeName::Closed => LoadShape::Closed,
            ShapeName::Rate => LoadShape::Rate(self.schedule()?),
            ShapeName::UsersClosed => LoadShape::UsersClosed {
                think_time: think_time()?,
            },
            ShapeName::UsersOpen => LoadShape::UsersOpen {
                think_time: think_time()?,
            },
        })
    }

    /// Rejects what the load engine would reject, before anything is built.
    fn no_excess(&self) -> Result<(), String> {
        let count = |count: Option<NonZeroUsize>| count.map_or(0, NonZeroUsize::get) as u64;
        let burst = self.burst.map_or(0, NonZeroU64::get);
        let bounded = [
            ("pipeline", count(self.pipeline), MOST_PIPELINE as u64),
            (
                "streams_per_connection",
                count(self.streams_per_connection),
                MOST_PIPELINE as u64,
            ),
            ("threads", count(self.threads), MOST_THREADS as u64),
            ("burst", burst, Schedule::MOST_BURST),
        ];
        let excess = bounded.iter().find(|(_, asked, most)| asked > most);
        excess.map_or(Ok(()), |(field, asked, most)| {
            Err(format!("`{field}` is {asked}: at most {most}"))
        })
    }

    /// How many requests are in flight over one connection. Both fields mean the same: the workload's protocol decides
    /// whether requests are pipelined or streams.
    fn in_flight(&self) -> Result<usize, String> {
        match (self.pipeline, self.streams_per_connection) {
            (Some(_), Some(_)) => {
                Err("a load has `pipeline` or `streams_per_connection`, not both".into())
            }
            (one, other) => Ok(one.or(other).map_or(1, NonZeroUsize::get)),
        }
    }

    fn schedule(&self) -> Result<Schedule, String> {
        Ok(Schedule {
            arrivals: self.arrivals.unwrap_or(Arrivals::Even),
            burst: self.burst.map_or(1, NonZeroU64::get),
            stages: self.stages()?,
        })
    }

    fn stages(&self) -> Result<Vec<Stage>, String> {
        let stages = match (&self.rate, &self.stages) {
            (Some(rate), None) => parse_rate(rate).map(|per_s| {
                let constant = Schedule::constant(Arrivals::Even, per_s);
                constant.stages
            }),
            (None, Some(stages)) => parse_stages(&stages.join(",")),
            (Some(_), Some(_)) => {
                return Err("a load has `rate`, or `stages` if its rate changes, not both".into());
            }
            (None, None) => {
                return Err(
                    "a load of the shape `rate` needs `rate`, or `stages` if its rate changes"
                        .into(),
                );
            }
        };
        stages.map_err(|error| error.to_string())
    }

    fn connections(&self) -> Result<NonZeroUsize, String> {
        let connections = match self.shape {
            ShapeName::Closed | ShapeName::Rate => self.needed("connections", self.connections)?,
            ShapeName::UsersClosed | ShapeName::UsersOpen => self.needed("users", self.users)?,
        };
        match self.max_connections {
            Some(most) if most < connections => Err(format!(
                "`max_connections` is {most}, fewer than the {connections} that the load begins with"
            )),
            _ => Ok(connections),
        }
    }

    /// How long it is measured: its duration, or that of its stages if all of them have one.
    fn duration(&self, shape: &LoadShape) -> Result<Option<Duration>, String> {
        let LoadShape::Rate(schedule) = shape else {
            return Ok(self.duration);
        };
        let staged = Duration::try_from_secs_f64(staged_s(schedule))
            .map_err(|error| format!("the stages take too long: {error}"))?;
        let timed = schedule
            .stages
            .iter()
            .all(|stage| stage.duration_s.is_some());
        match self.duration {
            Some(duration) if duration < staged => Err(format!(
                "the stages take {}, and the load ends after {}: shorten the stages, or leave `duration` out",
                humantime::format_duration(staged),
                humantime::format_duration(duration)
            )),
            None if timed => Ok(Some(staged)),
            duration => Ok(duration),
        }
    }
}

impl TryFrom<LoadFields> for SuiteLoad {
    type Error = String;

    fn try_from(fields: LoadFields) -> Result<Self, String> {
        fields.no_foreign()?;
        fields.no_excess()?;
        if fields.warmup.is_zero() && fields.warmup_limit.is_some() {
            return Err(
                "`warmup_limit` bounds a warm-up, and a load with `warmup = \"0s\"` has none"
                    .into(),
            );
        }
        let shape = fields.shape()?;
        let duration = fields.duration(&shape)?;
        if duration.is_none() && fields.requests.is_none() {
            return Err("a load needs `duration`, `requests` or both to end it".into());
        }
        let spec = LoadSpec {
            connections: fields.connections()?.get(),
            shape,
            max_connections: fields.max_connections.map(NonZeroUsize::get),
            pipeline: fields.in_flight()?,
            requests_per_connection: fields.requests_per_connection.map(NonZeroU64::get),
            duration: duration.map(Seconds),
            requests: fields.requests.map(NonZeroU64::get),
            warmup: Seconds(fields.warmup),
            timeout: Seconds(fields.timeout),
            deadline: fields.deadline.map(Seconds),
            spin: fields.spin.unwrap_or(false),
            streams: fields.streams,
            first_byte: fields.first_byte,
            events: fields.events,
            ..LoadSpec::default()
        };
        Ok(Self {
            spec,
            threads: fields.threads,
            warmup_limit: fields.warmup_limit,
        })
    }
}
