//! The messages between Prony and the supervisor, one line of JSON each.

use std::fmt;

use serde::{Deserialize, Serialize};

/// The first argument that makes Prony's program a supervisor.
pub(super) const SUPERVISOR: &str = "__supervisor";

/// The first argument that makes Prony's program a launch.
pub(super) const LAUNCH: &str = "__launch";

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Exit {
    Code(i32),
    /// By itself, with exit code 0, while this many processes that it had started were still running: it went into the
    /// background.
    Background(u32),
    Signal(i32),
    /// Killed together with its supervisor.
    Lost,
}

impl Exit {
    /// Whether it ended by itself with exit code 0.
    pub fn success(self) -> bool {
        matches!(self, Exit::Code(0) | Exit::Background(_))
    }
}

impl fmt::Display for Exit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Exit::Code(code) => write!(f, "ended with exit code {code}"),
            Exit::Background(left) => {
                let s = if left == 1 { "" } else { "es" };
                write!(
                    f,
                    "ended with exit code 0 and left {left} process{s} running in the background, \
                     which Prony has stopped (run it in the foreground)"
                )
            }
            Exit::Signal(number) => match nix::sys::signal::Signal::try_from(number) {
                Ok(signal) => write!(f, "was killed by {signal}"),
                Err(_) => write!(f, "was killed by signal {number}"),
            },
            Exit::Lost => write!(f, "was lost because its supervisor was killed"),
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum SupervisorMessage {
    Started {
        pid: i32,
        /// When it was executed: CLOCK_MONOTONIC in nanoseconds.
        at_ns: u64,
    },
    Failed(String),
    /// The command ended, and no process of its tree is left.
    Exited(Exit),
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn exits() -> impl Strategy<Value = Exit> {
        prop_oneof![
            any::<i32>().prop_map(Exit::Code),
            any::<u32>().prop_map(Exit::Background),
            any::<i32>().prop_map(Exit::Signal),
            Just(Exit::Lost),
        ]
    }

    fn events() -> impl Strategy<Value = SupervisorMessage> {
        prop_oneof![
            (any::<i32>(), any::<u64>())
                .prop_map(|(pid, at_ns)| SupervisorMessage::Started { pid, at_ns }),
            "(?s).{0,40}".prop_map(SupervisorMessage::Failed),
            exits().prop_map(SupervisorMessage::Exited),
        ]
    }

    proptest! {
        #[test]
        fn reports_round_trip_as_lines(event in events()) {
            let line = serde_json::to_string(&event).unwrap();
            prop_assert!(!line.contains('\n'));
            prop_assert_eq!(serde_json::from_str::<SupervisorMessage>(&line).unwrap(), event);
        }
    }

    #[test]
    fn exits_are_described() {
        assert_eq!(Exit::Signal(9).to_string(), "was killed by SIGKILL");
        assert_eq!(Exit::Code(3).to_string(), "ended with exit code 3");
    }
}
