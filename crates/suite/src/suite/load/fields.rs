//! The fields of a load as they are written, and which of them belong to which shape.

use std::fmt;
use std::num::{NonZeroU64, NonZeroUsize};
use std::time::Duration;

use prony_load::{MOST_PIPELINE, MOST_THREADS};
use prony_model::{Arrivals, LoadShape, Schedule, Stage, parse_rate, parse_stages};
use serde::Deserialize;

use super::{SuiteLoad, staged_s};
use prony_manifest::fields;

/// The fields of every shape: which belong together is checked when all are there.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Fields {
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
    requests_per_connection: Option<NonZeroU64>,
    threads: Option<NonZeroUsize>,
    #[serde(default, deserialize_with = "fields::maybe_some_duration")]
    duration: Option<Duration>,
    requests: Option<NonZeroU64>,
    #[serde(deserialize_with = "fields::duration")]
    warmup: Duration,
    #[serde(default, deserialize_with = "fields::maybe_duration")]
    warmup_limit: Option<Duration>,
    #[serde(deserialize_with = "fields::some_duration")]
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

#[derive(Clone, Copy, Deserialize, PartialEq)]
#[serde(rename_all = "kebab-case")]
enum ShapeName {
    Closed,
    Rate,
    UsersClosed,
    UsersOpen,
}

impl fmt::Display for ShapeName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            ShapeName::Closed => "closed",
            ShapeName::Rate => "rate",
            ShapeName::UsersClosed => "users-closed",
            ShapeName::UsersOpen => "users-open",
        })
    }
}

/// A field that not every shape has.
struct Belonging {
    field: &'static str,
    is_given: bool,
    to: &'static [ShapeName],
    /// What to write where it does not belong.
    instead: &'static str,
}

impl Fields {
    fn belongings(&self) -> [Belonging; 11] {
        use ShapeName::{Closed, Rate, UsersClosed, UsersOpen};
        let only = |to, field, is_given, instead| Belonging {
            field,
            is_given,
            to,
            instead,
        };
        let (users, rate): (&[_], &[_]) = (&[UsersClosed, UsersOpen], &[Rate]);
        let connections: &[_] = &[Closed, Rate];
        let (scheduled, timed): (&[_], &[_]) =
            (&[Rate, UsersOpen], &[Rate, UsersClosed, UsersOpen]);
        let of_rate = "a load of the shape `rate` has it";
        let of_users = "`users-closed` and `users-open` have it";
        let one_at_a_time = "a user has one request at a time";
        let from_the_send = "it has `timeout`, which runs from the send";
        let no_instants = "it has no instants to wait for";
        [
            only(
                connections,
                "connections",
                self.connections.is_some(),
                "it has `users`",
            ),
            only(users, "users", self.users.is_some(), "it has `connections`"),
            only(users, "think_time", self.think_time.is_some(), of_users),
            only(rate, "rate", self.rate.is_some(), of_rate),
            only(rate, "stages", self.stages.is_some(), of_rate),
            only(rate, "arrivals", self.arrivals.is_some(), of_rate),
            only(rate, "burst", self.burst.is_some(), of_rate),
            only(
                rate,
                "max_connections",
                self.max_connections.is_some(),
                of_rate,
            ),
            only(
                connections,
                "pipeline",
                self.pipeline.is_some(),
                one_at_a_time,
            ),
            only(
                scheduled,
                "deadline",
                self.deadline.is_some(),
                from_the_send,
            ),
            only(timed, "spin", self.spin.is_some(), no_instants),
        ]
    }

    /// Refuses a field that only other shapes have.
    fn no_foreign(&self) -> Result<(), String> {
        for belonging in self.belongings() {
            if belonging.is_given && !belonging.to.contains(&self.shape) {
                return Err(format!(
                    "a load of the shape `{}` has no `{}`; {}",
                    self.shape, belonging.field, belonging.instead
                ));
            }
        }
        Ok(())
    }

    /// The value of a field that the shape must have.
    fn needed<T>(&self, field: &str, value: Option<T>) -> Result<T, String> {
        value.ok_or_else(|| format!("a load of the shape `{}` needs `{field}`", self.shape))
    }

    fn shape(&self) -> Result<LoadShape, String> {
        let think_time_s = || {
            let think_time = self.needed("think_time", self.think_time)?;
            Ok::<f64, String>(think_time.as_secs_f64())
        };
        Ok(match self.shape {
            ShapeName::Closed => LoadShape::Closed,
            ShapeName::Rate => LoadShape::Rate(self.schedule()?),
            ShapeName::UsersClosed => LoadShape::UsersClosed {
                think_time_s: think_time_s()?,
            },
            ShapeName::UsersOpen => LoadShape::UsersOpen {
                think_time_s: think_time_s()?,
            },
        })
    }

    /// What the load engine would refuse is refused before anything is built.
    fn no_excess(&self) -> Result<(), String> {
        let count = |count: Option<NonZeroUsize>| count.map_or(0, NonZeroUsize::get) as u64;
        let burst = self.burst.map_or(0, NonZeroU64::get);
        let bounded = [
            ("pipeline", count(self.pipeline), MOST_PIPELINE as u64),
            ("threads", count(self.threads), MOST_THREADS as u64),
            ("burst", burst, Schedule::MOST_BURST),
        ];
        let excess = bounded.iter().find(|(_, asked, most)| asked > most);
        excess.map_or(Ok(()), |(field, asked, most)| {
            Err(format!("`{field}` is {asked}: at most {most}"))
        })
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
                return Err("a load has `rate`, or `stages` where it moves, not both".into());
            }
            (None, None) => {
                return Err(
                    "a load of the shape `rate` needs `rate`, or `stages` where it moves".into(),
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

    /// How long it is measured: as it says, or as long as its stages take, where every one says so.
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

impl TryFrom<Fields> for SuiteLoad {
    type Error = String;

    fn try_from(fields: Fields) -> Result<Self, String> {
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
        Ok(Self {
            connections: fields.connections()?,
            shape,
            max_connections: fields.max_connections,
            pipeline: fields.pipeline.unwrap_or(NonZeroUsize::MIN),
            requests_per_connection: fields.requests_per_connection,
            threads: fields.threads,
            duration,
            requests: fields.requests,
            warmup: fields.warmup,
            warmup_limit: fields.warmup_limit,
            timeout: fields.timeout,
            deadline: fields.deadline,
            spin: fields.spin.unwrap_or(false),
            streams: fields.streams,
            first_byte: fields.first_byte,
            events: fields.events,
        })
    }
}
