//! What it took to warm a server up.

use prony_model::{Measurement, ProcessStart};
use prony_stats::Estimate;

use super::figures::over;
use super::rounds::Rounds;
use crate::format;

/// How a row's server was warmed up.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct WarmingFigures {
    /// How long a new process was under load until it no longer got faster, in nanoseconds: the processes of which a
    /// trial found out.
    pub time_to_warm_ns: Option<Estimate>,
    /// How long a process may be under load until it must be warm, in seconds; `None` if no trial waited for that.
    pub limit_s: Option<f64>,
    /// Whether the server was kept running from round to round.
    pub kept: bool,
    /// How often a kept process was replaced by a new one.
    pub restarts: usize,
}

impl WarmingFigures {
    /// Of every attempt: which process an attempt had does not depend on what counts.
    pub(super) fn of(rounds: &Rounds) -> Self {
        let warm_ups = || rounds.attempted.iter().filter_map(|one| one.warm_up);
        let with = |process| warm_ups().filter(move |one| one.process == process);
        Self {
            time_to_warm_ns: over(&rounds.attempted, |one| {
                Some(one.warm_up?.time_to_warm_s? * 1e9)
            }),
            limit_s: warm_ups()
                .filter(|one| one.searched_s > 0.0)
                .map(|one| one.limit_s)
                .reduce(f64::max),
            kept: with(ProcessStart::Kept).next().is_some(),
            restarts: with(ProcessStart::Restarted).count(),
        }
    }

    /// What the reader must know of it, a few words each.
    pub(super) fn flags(&self) -> Vec<String> {
        let mut flags = Vec::new();
        if self.kept {
            let after = self.time_to_warm_ns.map(|warm| match warm.median {
                0.0 => " (warm at once)".to_owned(),
                ns => format!(" after {} of warm-up", format::duration(ns)),
            });
            flags.push(format!("kept running{}", after.unwrap_or_default()));
        }
        match self.restarts {
            0 => {}
            1 => flags.push("1 kept process replaced".to_owned()),
            n => flags.push(format!("{n} kept processes replaced")),
        }
        flags
    }
}

/// From the spawn of a process to its first expected response, of the processes that the trials that count started. A kept
/// process may have been started by an attempt that does not count: then by any.
pub(super) fn startup(rounds: &Rounds) -> Option<Estimate> {
    let own = |one: &Measurement| one.startup_ns.map(|ns| ns as f64);
    over(&rounds.measurements(), own).or_else(|| over(&rounds.attempted, own))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kept_server_says_how_long_it_took_to_get_warm() {
        let kept_after = |seconds: Option<f64>| {
            let figures = WarmingFigures {
                time_to_warm_ns: seconds.and_then(|s| Estimate::of(&[s * 1e9])),
                kept: true,
                ..WarmingFigures::default()
            };
            figures.flags()
        };
        assert_eq!(
            kept_after(Some(3.5)),
            ["kept running after 3.50 s of warm-up"]
        );
        assert_eq!(kept_after(Some(0.0)), ["kept running (warm at once)"]);
        assert_eq!(kept_after(None), ["kept running"]);
    }
}
