//! What the generators have to do: cases, and the freezes of a server whose true latency is known.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use prony_driver::{Arrivals, End, Load};
use prony_present::number::exact_rate;
use prony_present::words::plural;
use prony_reference::script::{self, Latencies, Script, even_arrivals};

use crate::arguments;

/// How deep pipelined requests are.
const PIPELINE: usize = 16;
/// The connections of a case that does not say how many.
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
    /// As the command line names it.
    pub name: String,
    pub kind: CaseKind,
    pub connections: usize,
}

#[derive(Clone, Debug, PartialEq)]
pub enum CaseKind {
    /// A workload in a closed loop.
    Closed { path: &'static str },
    /// `hello`, many requests in flight over each connection.
    Pipelined,
    /// `hello`, each request over a connection of its own.
    Close,
    /// `hello` at a rate.
    Rate(f64),
    /// The same on a server that freezes. Tools without rates run a closed loop.
    Frozen(f64),
}

impl FromStr for Case {
    type Err = String;

    /// `hello:64`, `pipelined:64`, `close:64`, `rate:20k:64`, `frozen:1k:64`.
    fn from_str(text: &str) -> Result<Self, String> {
        let mut parts = text.split(':');
        let name = parts.next().unwrap_or_default();
        let kind = match name {
            "rate" => CaseKind::Rate(rate(&mut parts, text)?),
            "frozen" => CaseKind::Frozen(rate(&mut parts, text)?),
            "pipelined" => CaseKind::Pipelined,
            "close" => CaseKind::Close,
            _ => CaseKind::Closed {
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
            Some(more) => Err(format!("`{text}`: `:{more}` is one part too many")),
        }
    }
}

fn rate<'a>(parts: &mut impl Iterator<Item = &'a str>, text: &str) -> Result<f64, String> {
    let rate = parts.next().ok_or_else(|| {
        format!("`{text}` needs a rate, in requests per second; write for instance rate:20k")
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
        "there is no case `{name}`; the cases are {}, pipelined, close, rate and frozen, for instance hello:64 or rate:20k",
        known.join(", ")
    )
}

impl Case {
    /// The load on the server at `host`, for `seconds`.
    pub fn load(&self, host: &str, duration: Duration) -> Load {
        let path = match self.kind {
            CaseKind::Closed { path } => path,
            _ => "/hello",
        };
        Load {
            arrivals: match self.kind {
                CaseKind::Rate(rate) | CaseKind::Frozen(rate) => Arrivals::Rate(rate),
                _ => Arrivals::Closed,
            },
            connections: self.connections,
            pipeline: if self.kind == CaseKind::Pipelined {
                PIPELINE
            } else {
                1
            },
            close: self.kind == CaseKind::Close,
            end: End::After(duration),
            ..Load::new(format!("http://{host}{path}"))
        }
    }

    /// How long it is measured: as long as the user says, but for whole freezes if the server freezes.
    pub fn duration(&self, asked: Duration, freeze: Freeze) -> Duration {
        match self.kind {
            CaseKind::Frozen(_) => freeze.duration_of_whole_freezes(asked),
            _ => asked,
        }
    }

    /// The scheduled rate in requests per second, if there is one.
    pub fn rate(&self) -> Option<f64> {
        match self.kind {
            CaseKind::Rate(rate) | CaseKind::Frozen(rate) => Some(rate),
            _ => None,
        }
    }

    /// Whether its server freezes.
    pub fn is_frozen(&self) -> bool {
        matches!(self.kind, CaseKind::Frozen(_))
    }
}

impl fmt::Display for Case {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let connections = plural(self.connections, "connection");
        let workload = self.name.split(':').next().unwrap_or_default();
        match self.kind {
            CaseKind::Closed { .. } => write!(f, "{workload}, {connections}"),
            CaseKind::Pipelined => write!(f, "hello, {connections}, pipelined {PIPELINE} deep"),
            CaseKind::Close => write!(f, "hello, {connections}, a new one for each request"),
            CaseKind::Rate(rate) => write!(f, "hello at {}, {connections}", exact_rate(rate)),
            CaseKind::Frozen(rate) => write!(
                f,
                "hello at {} on a server that freezes, {connections}",
                exact_rate(rate)
            ),
        }
    }
}

/// A server sends no responses for a while at the end of each period. The first period begins with the first request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Freeze {
    /// How long it is frozen.
    pub frozen: Duration,
    /// How long from the end of one freeze to the end of the next.
    pub period: Duration,
    script: script::Freeze,
}

impl FromStr for Freeze {
    type Err = String;

    /// `1s/10s`.
    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || {
            format!("`{text}` is not FREEZE/PERIOD; write for instance 1s/10s: 1 s of every 10 s")
        };
        let (frozen, period) = text.split_once('/').ok_or_else(wrong)?;
        let frozen = arguments::some_duration(frozen)?;
        let period = arguments::some_duration(period)?;
        match script::Freeze::new(frozen, period) {
            Ok(script) => Ok(Freeze {
                frozen,
                period,
                script,
            }),
            Err(error) => Err(format!("`{text}`: {error}")),
        }
    }
}

impl fmt::Display for Freeze {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = humantime::format_duration;
        write!(f, "{}/{}", text(self.frozen), text(self.period))
    }
}

impl Freeze {
    /// The least whole number of seconds, from `asked` on, that contains a freeze and ends between two: a load that ended
    /// in a freeze would miss the responses to its last requests.
    pub fn duration_of_whole_freezes(self, asked: Duration) -> Duration {
        let first = asked.max(self.period).as_secs_f64().ceil() as u64;
        let middle = (self.period - self.frozen) / 2;
        let ends_well = |seconds: &u64| {
            let into = self.into_period(Duration::from_secs(*seconds));
            into + self.frozen.min(middle) / 2 < self.period - self.frozen && into >= middle / 2
        };
        let found = (first..first + 60).find(ends_well);
        // If no whole second is suitable, the middle of the time between two freezes.
        found.map_or(self.period * 2 + middle, Duration::from_secs)
    }

    fn into_period(self, at: Duration) -> Duration {
        Duration::from_nanos((at.as_nanos() % self.period.as_nanos()) as u64)
    }

    /// The true latencies of evenly spaced requests at `rate_per_s` for `duration`, if the server takes no time except
    /// for its freezes.
    pub fn true_latencies(self, rate_per_s: f64, duration: Duration) -> Latencies {
        let arrivals = (rate_per_s * duration.as_secs_f64()).round().max(1.0) as u64;
        let script = Script {
            freeze: Some(self.script),
            ..Script::default()
        };
        script.latencies(even_arrivals(rate_per_s, arrivals))
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
            (CaseKind::Closed { path: "/" }, 32)
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
            (
                "helo:64",
                "there is no case `helo`; the cases are hello, byte",
            ),
            ("rate", "needs a rate"),
            ("rate:fast", "`fast` is not a count"),
            ("hello:0", "at least 1"),
            ("hello:1:2", "`:2` is one part too many"),
        ] {
            let message = text.parse::<Case>().unwrap_err();
            assert!(message.contains(expected), "{message}");
        }
    }

    fn freeze(text: &str) -> Freeze {
        text.parse().unwrap()
    }

    #[test]
    fn a_freeze_is_read() {
        assert_eq!(freeze("200ms/2s").frozen, Duration::from_millis(200));
        assert_eq!(freeze("200ms/2s").to_string(), "200ms/2s");
        for wrong in ["1s", "2s/1s", "0s/1s", "a/b"] {
            assert!(wrong.parse::<Freeze>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn if_a_tenth_is_frozen_p99_is_nine_tenths_of_the_freeze() {
        let latencies = freeze("1s/10s").true_latencies(1000.0, Duration::from_secs(10));
        let latency = |share| latencies.at(share).as_secs_f64();
        assert_eq!(latency(0.5), 0.0);
        // Waits are uniform between 0 and 1 s; the first of the 1000 requests waits the whole second.
        assert!((latency(0.99) - 0.9).abs() < 0.002, "{}", latency(0.99));
        assert!((latency(0.999) - 0.99).abs() < 0.002);
        assert_eq!(latency(1.0), 1.0);
    }

    #[test]
    fn a_load_has_whole_freezes_and_ends_between_two() {
        for text in ["1s/10s", "200ms/2s", "1s/3s", "100ms/1s", "5s/7s"] {
            let freeze = freeze(text);
            for asked in [1, 2, 9, 10, 25] {
                let asked = Duration::from_secs(asked);
                let duration = freeze.duration_of_whole_freezes(asked);
                assert!(duration >= asked.min(freeze.period * 2) && duration >= freeze.period);
                assert_eq!(
                    freeze.script.end_of(duration, Duration::ZERO),
                    duration,
                    "{text}"
                );
            }
        }
        let tenth = freeze("1s/10s").duration_of_whole_freezes(Duration::from_secs(2));
        assert_eq!(tenth, Duration::from_secs(13));
    }
}
