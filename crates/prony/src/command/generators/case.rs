//! What the generators are made to do.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use prony_driver::{Arrivals, End, Load};

use super::truth::Freeze;
use crate::arguments;

/// How deep pipelined requests are.
const PIPELINE: usize = 16;
/// The connections of a case that does not name them.
const CONNECTIONS: usize = 64;

/// The reference server's workloads over HTTP, and their paths.
const PATHS: [(&str, &str); 6] = [
    ("hello", "/hello"),
    ("byte", "/byte"),
    ("page", "/"),
    ("sse", "/sse"),
    ("sse-20k", "/sse-20k"),
    ("quote", "/franklin-says"),
];

/// One comparison: a request and how it is sent.
#[derive(Clone, Debug, PartialEq)]
pub struct Case {
    /// As it was written.
    pub name: String,
    pub kind: Kind,
    pub connections: usize,
}

#[derive(Clone, Debug, PartialEq)]
pub enum Kind {
    /// A workload in a closed loop.
    Closed { path: &'static str },
    /// `hello`, many requests in flight over each connection.
    Pipelined,
    /// `hello`, each request over a connection of its own.
    Close,
    /// `hello` at a rate.
    Rate(f64),
    /// The same on a server that freezes; tools that make no rate make a closed loop.
    Frozen(f64),
}

impl FromStr for Case {
    type Err = String;

    /// `hello:64`, `pipelined:64`, `close:64`, `rate:20k:64`, `frozen:1k:64`.
    fn from_str(text: &str) -> Result<Self, String> {
        let mut parts = text.split(':');
        let name = parts.next().unwrap_or_default();
        let kind = match name {
            "rate" => Kind::Rate(rate(&mut parts, text)?),
            "frozen" => Kind::Frozen(rate(&mut parts, text)?),
            "pipelined" => Kind::Pipelined,
            "close" => Kind::Close,
            _ => Kind::Closed {
                path: path(name).ok_or_else(|| unknown(name))?,
            },
        };
        let connections = match parts.next() {
            Some(number) => arguments::connections(number)?,
            None => CONNECTIONS,
        };
        match parts.next() {
            None => Ok(Case {
                name: text.to_owned(),
                kind,
                connections,
            }),
            Some(more) => Err(format!(
                "`{text}`: there is nothing to be said by `:{more}`"
            )),
        }
    }
}

fn rate<'a>(parts: &mut impl Iterator<Item = &'a str>, text: &str) -> Result<f64, String> {
    let rate = parts.next().ok_or_else(|| {
        format!("`{text}` lacks its rate, in requests a second; write for instance rate:20k")
    })?;
    Ok(arguments::some_count(rate)?.get() as f64)
}

fn path(workload: &str) -> Option<&'static str> {
    let found = PATHS.iter().find(|(name, _)| *name == workload);
    found.map(|(_, path)| *path)
}

fn unknown(name: &str) -> String {
    let known: Vec<&str> = PATHS.iter().map(|(name, _)| *name).collect();
    format!(
        "there is no case `{name}`; known are {}, pipelined, close, rate and frozen, for instance hello:64 or rate:20k",
        known.join(", ")
    )
}

impl Case {
    /// The load on the server at `host`, for `seconds`.
    pub fn load(&self, host: &str, duration: Duration) -> Load {
        let path = match self.kind {
            Kind::Closed { path } => path,
            _ => "/hello",
        };
        Load {
            arrivals: match self.kind {
                Kind::Rate(rate) | Kind::Frozen(rate) => Arrivals::Rate(rate),
                _ => Arrivals::Closed,
            },
            connections: self.connections,
            pipeline: if self.kind == Kind::Pipelined {
                PIPELINE
            } else {
                1
            },
            close: self.kind == Kind::Close,
            end: End::After(duration),
            ..Load::new(format!("http://{host}{path}"))
        }
    }

    /// How long it is measured: as was asked for, but whole freezes where the server freezes.
    pub fn duration(&self, asked: Duration, freeze: Freeze) -> Duration {
        match self.kind {
            Kind::Frozen(_) => freeze.duration_of_whole_freezes(asked),
            _ => asked,
        }
    }

    /// The rate that is asked for, in requests a second, where one is.
    pub fn rate(&self) -> Option<f64> {
        match self.kind {
            Kind::Rate(rate) | Kind::Frozen(rate) => Some(rate),
            _ => None,
        }
    }

    /// Whether its server freezes.
    pub fn is_frozen(&self) -> bool {
        matches!(self.kind, Kind::Frozen(_))
    }
}

impl fmt::Display for Case {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let connections = self.connections;
        let workload = self.name.split(':').next().unwrap_or_default();
        match self.kind {
            Kind::Closed { .. } => write!(f, "{workload}, {connections} connections"),
            Kind::Pipelined => write!(
                f,
                "hello, {connections} connections, {PIPELINE} requests deep"
            ),
            Kind::Close => write!(
                f,
                "hello, {connections} at a time, a connection for each request"
            ),
            Kind::Rate(rate) => write!(
                f,
                "hello at {rate} requests a second, {connections} connections"
            ),
            Kind::Frozen(rate) => write!(
                f,
                "hello at {rate} requests a second on a server that freezes, {connections} connections"
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cases_are_read() {
        let case: Case = "page:32".parse().unwrap();
        assert_eq!(
            (case.kind, case.connections),
            (Kind::Closed { path: "/" }, 32)
        );
        let case: Case = "rate:20k".parse().unwrap();
        assert_eq!(
            (case.rate(), case.connections),
            (Some(20_000.0), CONNECTIONS)
        );
        let case: Case = "frozen:1k:8".parse().unwrap();
        assert!(case.is_frozen() && case.connections == 8);
        let load = "pipelined:4"
            .parse::<Case>()
            .unwrap()
            .load("h:1", Duration::from_secs(3));
        assert_eq!((load.pipeline, load.connections), (PIPELINE, 4));
        assert!(
            "close:4"
                .parse::<Case>()
                .unwrap()
                .load("h:1", Duration::from_secs(3))
                .close
        );
    }

    #[test]
    fn faulty_cases_say_what_to_write() {
        for (text, expected) in [
            ("helo:64", "there is no case `helo`; known are hello, byte"),
            ("rate", "lacks its rate"),
            ("rate:fast", "`fast` is not a count"),
            ("hello:0", "at least 1"),
            ("hello:1:2", "nothing to be said by `:2`"),
        ] {
            let said = text.parse::<Case>().unwrap_err();
            assert!(said.contains(expected), "{said}");
        }
    }
}
