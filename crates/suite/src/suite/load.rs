//! A load as a suite asks for it.

use std::fmt;
use std::num::{NonZeroU64, NonZeroUsize};
use std::time::Duration;

use prony_record::{LoadShape, LoadSpec};
use serde::Deserialize;

use crate::toml_file;

/// A load as a suite asks for it.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(try_from = "RawLoad")]
pub struct SuiteLoad {
    /// The arrivals.
    pub shape: LoadShape,
    /// How many connections, over all threads: one for each user, where the shape has users.
    pub connections: NonZeroUsize,
    /// How many threads make it; `None` for one on each CPU that is given to the load.
    pub threads: Option<NonZeroUsize>,
    /// How long it is measured; `None` where only `requests` ends it.
    pub duration: Option<Duration>,
    /// How many requests are measured at the most; `None` where only `duration` ends it.
    pub requests: Option<NonZeroU64>,
    /// How long requests are sent before measuring begins.
    pub warmup: Duration,
    /// How long an answer may take.
    pub timeout: Duration,
}

impl SuiteLoad {
    /// The load for a machine that gives `cpus` CPUs to it.
    pub fn spec(&self, cpus: NonZeroUsize) -> LoadSpec {
        // A thread without a connection would have nothing to do.
        let threads = self.threads.unwrap_or(cpus).min(self.connections);
        LoadSpec {
            shape: self.shape,
            connections: self.connections.get(),
            threads: threads.get(),
            duration_s: self.duration.map(|duration| duration.as_secs_f64()),
            requests: self.requests.map(NonZeroU64::get),
            warmup_s: self.warmup.as_secs_f64(),
            timeout_s: self.timeout.as_secs_f64(),
        }
    }

    /// What ends it: `10s`, `10000 requests`, or `10000 requests or 10s`.
    pub(super) fn end(&self) -> String {
        let requests = self.requests.map(|requests| format!("{requests} requests"));
        let duration = self
            .duration
            .map(|duration| humantime::format_duration(duration).to_string());
        let ends: Vec<String> = requests.into_iter().chain(duration).collect();
        ends.join(" or ")
    }
}

/// The fields of every shape: which belong together is checked when all are there.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawLoad {
    shape: ShapeName,
    connections: Option<NonZeroUsize>,
    users: Option<NonZeroUsize>,
    #[serde(default, deserialize_with = "toml_file::maybe_some_duration")]
    think_time: Option<Duration>,
    threads: Option<NonZeroUsize>,
    #[serde(default, deserialize_with = "toml_file::maybe_some_duration")]
    duration: Option<Duration>,
    requests: Option<NonZeroU64>,
    #[serde(deserialize_with = "toml_file::duration")]
    warmup: Duration,
    #[serde(deserialize_with = "toml_file::some_duration")]
    timeout: Duration,
}

#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum ShapeName {
    Closed,
    UsersOpen,
}

impl fmt::Display for ShapeName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            ShapeName::Closed => "closed",
            ShapeName::UsersOpen => "users-open",
        })
    }
}

impl RawLoad {
    /// The value of a field that the shape must have.
    fn needed<T>(&self, field: &str, value: Option<T>) -> Result<T, String> {
        value.ok_or_else(|| format!("a load of the shape `{}` needs `{field}`", self.shape))
    }

    /// Refuses a field that only another shape has.
    fn foreign<T>(&self, field: &str, value: Option<T>, instead: &str) -> Result<(), String> {
        match value {
            None => Ok(()),
            Some(_) => Err(format!(
                "a load of the shape `{}` has no `{field}`; {instead}",
                self.shape
            )),
        }
    }

    fn arrivals(&self) -> Result<(LoadShape, NonZeroUsize), String> {
        match self.shape {
            ShapeName::Closed => {
                self.foreign("users", self.users, "it has `connections`")?;
                self.foreign("think_time", self.think_time, "`users-open` has it")?;
                Ok((
                    LoadShape::Closed,
                    self.needed("connections", self.connections)?,
                ))
            }
            ShapeName::UsersOpen => {
                self.foreign("connections", self.connections, "it has `users`")?;
                let think_time = self.needed("think_time", self.think_time)?;
                let shape = LoadShape::UsersOpen {
                    think_time_s: think_time.as_secs_f64(),
                };
                Ok((shape, self.needed("users", self.users)?))
            }
        }
    }
}

impl TryFrom<RawLoad> for SuiteLoad {
    type Error = String;

    fn try_from(raw: RawLoad) -> Result<Self, String> {
        let (shape, connections) = raw.arrivals()?;
        if raw.duration.is_none() && raw.requests.is_none() {
            return Err("a load needs `duration`, `requests` or both to end it".into());
        }
        Ok(Self {
            shape,
            connections,
            threads: raw.threads,
            duration: raw.duration,
            requests: raw.requests,
            warmup: raw.warmup,
            timeout: raw.timeout,
        })
    }
}
