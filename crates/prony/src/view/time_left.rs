//! How long a run will still take.

use std::collections::HashMap;
use std::time::Duration;

use prony_record::{LoadShape, LoadSpec, Schedule};
use prony_suite::Plan;

/// What a trial takes beside its load, until it is known: to start, to be ready, to stop.
const BESIDE_THE_LOAD: Duration = Duration::from_millis(500);
/// What a load takes of which nothing is known.
const UNKNOWN: Duration = Duration::from_secs(2);

/// The trials of a run, and how long those took that are over.
pub struct TimeLeft {
    /// What each trial is, in the order of the plan.
    trials: Vec<Kind>,
    done: usize,
    by_combination: HashMap<(usize, usize), Mean>,
    by_measure: HashMap<usize, Mean>,
}

#[derive(Clone, Copy)]
struct Kind {
    /// The same for trials of one subject.
    subject: usize,
    /// The same for trials of one workload under one load.
    measure: usize,
    planned: Option<Duration>,
}

#[derive(Clone, Copy, Default)]
struct Mean {
    sum: Duration,
    count: u32,
}

impl Mean {
    fn add(&mut self, one: Duration) {
        self.sum += one;
        self.count += 1;
    }

    fn get(&self) -> Duration {
        self.sum / self.count.max(1)
    }
}

impl TimeLeft {
    /// Before the first trial.
    pub fn of(plan: &Plan) -> Self {
        let (mut subjects, mut measures) = (Vec::new(), Vec::new());
        let trials = plan.trials.iter().map(|trial| Kind {
            subject: place(&mut subjects, &trial.subject, |one, other| one == other),
            measure: place(
                &mut measures,
                (&trial.workload, &trial.load),
                |one, other| one.0 == other.0 && one.1.same_load(other.1),
            ),
            planned: planned(&trial.load),
        });
        Self {
            trials: trials.collect(),
            done: 0,
            by_combination: HashMap::new(),
            by_measure: HashMap::new(),
        }
    }

    /// The next trial is over and took so long.
    pub fn done(&mut self, took: Duration) {
        let Some(&Kind {
            subject, measure, ..
        }) = self.trials.get(self.done)
        else {
            return;
        };
        self.done += 1;
        let combination = (subject, measure);
        self.by_combination
            .entry(combination)
            .or_default()
            .add(took);
        self.by_measure.entry(measure).or_default().add(took);
    }

    /// How long the trials take that are left: as long as those like them took, or else as their
    /// loads say.
    pub fn left(&self) -> Duration {
        let left = &self.trials[self.done..];
        left.iter().map(|kind| self.expected(kind)).sum()
    }

    fn expected(&self, kind: &Kind) -> Duration {
        let seen = self.by_combination.get(&(kind.subject, kind.measure));
        let of_the_load = || kind.planned.map(|load| load + BESIDE_THE_LOAD);
        let like_it = || self.by_measure.get(&kind.measure).map(Mean::get);
        seen.map(Mean::get)
            .or_else(of_the_load)
            .or_else(like_it)
            .unwrap_or(UNKNOWN)
    }
}

/// Where one that is the `same` as `one` is in `all`; it is put there where there is none.
fn place<T>(all: &mut Vec<T>, one: T, same: impl Fn(&T, &T) -> bool) -> usize {
    match all.iter().position(|other| same(other, &one)) {
        Some(place) => place,
        None => {
            all.push(one);
            all.len() - 1
        }
    }
}

/// How long a load takes, where that does not depend on the server.
fn planned(load: &LoadSpec) -> Option<Duration> {
    let scheduled_s = |requests: u64| match &load.shape {
        LoadShape::UsersOpen { think_time_s } => {
            Some(requests as f64 * think_time_s / load.connections as f64)
        }
        LoadShape::Rate(schedule) => seconds_until_due(schedule, requests as f64),
        // Here each request waits for the server's answer to the one before.
        LoadShape::Closed | LoadShape::UsersClosed { .. } => None,
    };
    let measured_s = match load.requests {
        None => load.duration_s,
        Some(requests) => {
            let scheduled_s = scheduled_s(requests)?;
            Some(load.duration_s.map_or(scheduled_s, |s| s.min(scheduled_s)))
        }
    };
    Duration::try_from_secs_f64(load.warmup_s + measured_s?).ok()
}

/// When as many requests of a schedule will have been due, in seconds from its beginning; `None` where
/// that is never.
fn seconds_until_due(schedule: &Schedule, requests: f64) -> Option<f64> {
    let (mut left, mut seconds) = (requests, 0.0);
    for stage in &schedule.stages {
        let in_stage = stage.requests();
        if left <= in_stage {
            return Some(seconds + stage.seconds_until(left));
        }
        left -= in_stage;
        seconds += stage.duration_s.unwrap_or(f64::INFINITY);
    }
    let goes_on_at = schedule.stages.last()?.to_per_s;
    (goes_on_at > 0.0).then(|| seconds + left / goes_on_at)
}

#[cfg(test)]
mod tests {
    use super::*;
    use prony_record::{Arrivals, parse_stages};
    use prony_suite::Measure;

    fn load(shape: LoadShape, duration_s: Option<f64>, requests: Option<u64>) -> LoadSpec {
        LoadSpec {
            shape,
            connections: 500,
            threads: 1,
            duration_s,
            requests,
            warmup_s: 0.5,
            timeout_s: 5.0,
            ..LoadSpec::default()
        }
    }

    fn plan(load: LoadSpec, rounds: u32) -> Plan {
        let measure = Measure {
            workload: "byte".into(),
            load,
            rounds,
        };
        let subjects = ["a".to_owned(), "b".to_owned()];
        Plan::interleaved(&subjects, &[measure], |_, _| true, 1)
    }

    #[test]
    fn a_load_of_known_length_is_known_before_the_first_trial() {
        let closed = load(LoadShape::Closed, Some(2.0), None);
        assert_eq!(
            TimeLeft::of(&plan(closed, 2)).left(),
            Duration::from_secs(12)
        );
        let open = LoadShape::UsersOpen { think_time_s: 1.0 };
        let open = load(open, None, Some(10_000));
        assert_eq!(planned(&open), Some(Duration::from_millis(20_500)));
    }

    fn rate(stages: &str) -> LoadShape {
        LoadShape::Rate(Schedule {
            arrivals: Arrivals::Poisson,
            burst: 1,
            stages: parse_stages(stages).unwrap(),
        })
    }

    #[test]
    fn requests_of_a_rate_are_over_when_the_last_one_was_due() {
        for (stages, requests, seconds) in [
            ("1k/s", 5_000, 5.0),
            ("1k/s:10s", 20_000, 20.0), // The last rate goes on.
            ("1k/s:10s,3k/s", 16_000, 12.0),
            ("0..2k/s:10s,2k/s", 10_000, 10.0),
            ("0..2k/s:10s,2k/s", 2_500, 5.0),
            ("2k/s..0:10s,1k/s", 7_500, 5.0),
            ("2k/s..0:10s,1k/s", 11_000, 11.0),
            ("0:10s,1k/s", 1_000, 11.0),
        ] {
            let planned = planned(&load(rate(stages), None, Some(requests))).unwrap();
            let expected = seconds + 0.5; // With the warm-up.
            let off = (planned.as_secs_f64() - expected).abs();
            assert!(off < 1e-6, "{stages}, {requests}: {planned:?}");
        }
        let never = load(rate("2k/s..0:10s"), None, Some(10_001));
        assert_eq!(planned(&never), None);
        let by_time = load(rate("1k/s"), Some(2.0), Some(5_000));
        assert_eq!(planned(&by_time), Some(Duration::from_millis(2_500)));
        let by_time_alone = load(rate("1k/s"), Some(2.0), None);
        assert_eq!(planned(&by_time_alone), Some(Duration::from_millis(2_500)));
    }

    #[test]
    fn users_who_think_take_as_long_as_the_server_lets_them() {
        let users = || LoadShape::UsersClosed { think_time_s: 1.0 };
        assert_eq!(planned(&load(users(), None, Some(10_000))), None);
        let by_time = planned(&load(users(), Some(2.0), None));
        assert_eq!(by_time, Some(Duration::from_millis(2_500)));
    }

    #[test]
    fn rounds_with_other_seeds_are_like_each_other() {
        let plan = plan(load(LoadShape::Closed, None, Some(1_000)), 3);
        let seeds: Vec<u64> = plan.trials.iter().map(|trial| trial.load.seed).collect();
        assert_ne!(seeds.first(), seeds.last());
        let mut left = TimeLeft::of(&plan);
        left.done(Duration::from_secs(9));
        assert_eq!(left.left(), Duration::from_secs(45));
    }

    #[test]
    fn what_took_long_is_expected_to_take_long_again() {
        let sequential = load(LoadShape::Closed, None, Some(1_000));
        let mut left = TimeLeft::of(&plan(sequential, 3));
        left.done(Duration::from_secs(9));
        // The other subject's first trial is taken to be like this one's.
        assert_eq!(left.left(), Duration::from_secs(45));
        left.done(Duration::from_secs(1));
        assert_eq!(left.left(), Duration::from_secs(20));
        for seconds in [9, 1, 9, 1, 99] {
            left.done(Duration::from_secs(seconds));
        }
        assert_eq!(left.left(), Duration::ZERO);
    }
}
