//! How each server is warmed up before each load.
//!
//! The first trial of a server in a measure finds out how long the server takes to warm up, unless the suite asks for
//! exactly the load's own warm-up (`warmup_limit = "0s"`). A server that warms up quickly is restarted for each later
//! trial, with a warm-up of that length. A slow one is kept running from round to round, and its rounds are watched: if
//! they still improve, it is not warm yet, whatever the first trial found.
//!
//! The rate of a server that needs a longer warm-up rises in trial after trial. If the machine was slow for a moment,
//! it rises in one trial only. So a rise counts if at least two trials, and more than half of those with the current
//! warm-up, show one.

use std::collections::BTreeMap;

use prony_model::{Measurement, ProcessStart};
use prony_stats::{Pace, Round, improved, improves_over_rounds};

use crate::plan::Warming;
use crate::run::warming::pace;

/// A load's own warm-up grows up to this many seconds, or to the length of the measured part if that is longer.
const LONGEST_S: f64 = 10.0;
/// The factor by which a warm-up that was too short grows.
const GROWTH: f64 = 4.0;
/// The least growth, in seconds.
const LEAST_GROWTH_S: f64 = 0.2;
/// This many trials must show a rise.
const LEAST_RISES: u32 = 2;
/// Only this many latest rounds of a kept process show its present state.
const ROUNDS_WATCHED: usize = 8;

/// The warm-ups of each server and measure, learned from its trials.
#[derive(Debug, Default)]
pub(super) struct WarmUps {
    known: BTreeMap<(String, usize), Learned>,
    /// Servers that are compared with each other: if one is kept running, so are the others.
    alike: Vec<String>,
}

/// The configured warm-up of a load, and its limit, in seconds.
#[derive(Clone, Copy, Debug)]
pub(super) struct Configured {
    pub(super) warmup_s: f64,
    pub(super) limit_s: f64,
}

#[derive(Clone, Debug, Default)]
struct Learned {
    /// How long a new process takes to warm up, in seconds; `None` until a trial has measured it.
    learned_s: Option<f64>,
    kept: bool,
    /// The latest rounds of the kept process.
    rounds: Vec<Round>,
    /// Whether that process has been found warm.
    is_warm: bool,
    /// The load's own warm-up by now, in seconds; `None` if it is still as configured.
    grown_s: Option<f64>,
    /// Trials with this warm-up.
    trials: u32,
    /// How many of these had a rising rate.
    rises: u32,
}

impl WarmUps {
    /// Nothing is known yet; the servers in `alike` are kept running together or not at all.
    pub(super) fn new(alike: &[String]) -> Self {
        Self {
            known: BTreeMap::new(),
            alike: alike.to_vec(),
        }
    }

    /// Which process the next trial of `server` in `measure` uses, and its load's warm-up in seconds: as configured, or
    /// longer.
    pub(super) fn of(
        &self,
        server: &str,
        measure: usize,
        configured: Configured,
    ) -> (Warming, f64) {
        let known = self.known.get(&(server.to_owned(), measure));
        let grown_s = known.and_then(|known| known.grown_s);
        let learned_s = known.and_then(|known| known.learned_s);
        let warmup_s = grown_s.unwrap_or(configured.warmup_s);
        if configured.limit_s <= 0.0 {
            (Warming::Fixed, warmup_s)
        } else if self.is_kept(server, measure) {
            (Warming::Keep, warmup_s)
        } else {
            match learned_s {
                None => (Warming::UntilSteady, warmup_s),
                Some(learned_s) => (Warming::Fixed, warmup_s.max(learned_s)),
            }
        }
    }

    fn is_kept(&self, server: &str, measure: usize) -> bool {
        let kept = |server: &str| {
            let known = self.known.get(&(server.to_owned(), measure));
            known.is_some_and(|known| known.kept)
        };
        let together = self.alike.iter().any(|one| one == server);
        kept(server) || (together && self.alike.iter().any(|one| kept(one)))
    }

    /// Learns from a trial, and records in it whether a kept process still gets faster from round to round.
    pub(super) fn learn(&mut self, server: &str, measure: usize, measurement: &mut Measurement) {
        let cpu_per_ok_s = measurement.server_cpu_s();
        let cpu_per_ok_s = cpu_per_ok_s.and_then(|cpu_s| measurement.per_completed(cpu_s));
        let pace = pace(&measurement.load.load.shape);
        let rate_per_s = measurement.load.rate_per_s;
        let Some(warm_up) = &mut measurement.warm_up else {
            return;
        };
        let known = self.known.entry((server.to_owned(), measure)).or_default();
        if warm_up.process != ProcessStart::Kept {
            known.rounds.clear();
            known.is_warm = !warm_up.still_improving;
        }
        if let Some(cpu_per_ok_s) = cpu_per_ok_s {
            known.rounds.push(Round {
                rate_per_s,
                cpu_per_ok_s,
            });
        }
        if warm_up.process == ProcessStart::Kept {
            warm_up.still_improving = known.still_improves(pace);
            if !warm_up.still_improving && !known.is_warm {
                known.is_warm = true;
                // The rounds before it was warm show nothing about the warm process.
                known.rounds.drain(..known.rounds.len().saturating_sub(1));
                warm_up.time_to_warm_s = Some(warm_up.loaded_s);
            }
        }
        known.kept |= warm_up.is_slow();
        known.learned_s = warm_up.time_to_warm_s.or(known.learned_s);
    }

    /// Records whether a trial's rate still rose, and tells whether the server's warm-up explains it.
    pub(super) fn count_rise(&mut self, server: &str, measure: usize, rose: bool) -> bool {
        let seen = self.known.entry((server.to_owned(), measure)).or_default();
        seen.trials += 1;
        seen.rises += u32::from(rose);
        rose && seen.rises >= LEAST_RISES && 2 * seen.rises > seen.trials
    }

    /// Lengthens a warm-up of `used_s` that was too short before a load of `measured_s`; false if it is as long as it may
    /// get.
    pub(super) fn lengthen(
        &mut self,
        server: &str,
        measure: usize,
        used_s: f64,
        measured_s: f64,
    ) -> bool {
        let longest = LONGEST_S.max(measured_s);
        let longer = (used_s * GROWTH).max(used_s + LEAST_GROWTH_S).min(longest);
        let grows = longer > used_s;
        if grows {
            let known = self.known.entry((server.to_owned(), measure)).or_default();
            known.grown_s = Some(longer);
            (known.trials, known.rises) = (0, 0);
        }
        grows
    }
}

impl Learned {
    /// Whether the process still gets faster: judged by the trend of its latest rounds if it has been warm, otherwise
    /// by the last two rounds.
    fn still_improves(&self, pace: Pace) -> bool {
        let latest = &self.rounds[self.rounds.len().saturating_sub(ROUNDS_WATCHED)..];
        match latest {
            _ if self.is_warm => improves_over_rounds(latest, pace),
            [.., before, last] => improved(before, last, pace),
            _ => true,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fixed(warmup_s: f64) -> Configured {
        Configured {
            warmup_s,
            limit_s: 0.0,
        }
    }

    /// The successive warm-ups if each is too short.
    fn grown(asked_s: f64, measured_s: f64) -> Vec<f64> {
        let mut warm_ups = WarmUps::default();
        let mut all = vec![asked_s];
        while warm_ups.lengthen("java", 0, all[all.len() - 1], measured_s) {
            all.push(warm_ups.of("java", 0, fixed(asked_s)).1);
            assert!(all.len() < 100, "it never ends");
        }
        all
    }

    #[test]
    fn a_warm_up_grows_up_to_its_limit() {
        assert_eq!(grown(0.5, 0.6), [0.5, 2.0, 8.0, 10.0]);
        assert_eq!(grown(0.05, 0.6)[..3], [0.05, 0.25, 1.0]);
        assert_eq!(grown(8.0, 30.0), [8.0, 30.0]);
        assert_eq!(grown(60.0, 30.0), [60.0]);
    }

    #[test]
    fn other_servers_keep_their_warm_up() {
        let mut warm_ups = WarmUps::default();
        assert!(warm_ups.lengthen("java", 1, 1.0, 2.0));
        assert_eq!(warm_ups.of("java", 1, fixed(1.0)), (Warming::Fixed, 4.0));
        assert_eq!(warm_ups.of("java", 0, fixed(1.0)), (Warming::Fixed, 1.0));
        assert_eq!(warm_ups.of("go", 1, fixed(1.0)), (Warming::Fixed, 1.0));
    }

    /// Which trials count as the server's warm-up, given whether their rates rose.
    fn confirmed(rises: &[bool]) -> Vec<bool> {
        let mut warm_ups = WarmUps::default();
        let saw = |&rose: &bool| warm_ups.count_rise("java", 0, rose);
        rises.iter().map(saw).collect()
    }

    #[test]
    fn a_rise_counts_if_most_trials_show_it() {
        let (yes, no) = (true, false);
        assert_eq!(confirmed(&[yes, yes, no, yes]), [no, yes, no, yes]);
        assert_eq!(confirmed(&[no, yes, no, yes, no, no, yes]), [no; 7]);
        let mut seldom = [no; 60];
        seldom.iter_mut().step_by(8).for_each(|rose| *rose = yes);
        assert_eq!(confirmed(&seldom), [no; 60]);
    }

    #[test]
    fn a_longer_warm_up_is_judged_afresh() {
        let mut warm_ups = WarmUps::default();
        assert!(!warm_ups.count_rise("java", 0, true) && warm_ups.count_rise("java", 0, true));
        assert!(warm_ups.lengthen("java", 0, 1.0, 1.0));
        assert!(!warm_ups.count_rise("java", 0, true) && warm_ups.count_rise("java", 0, true));
    }
}
