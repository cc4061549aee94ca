//! How long a run will still take.

use std::collections::HashMap;
use std::time::Duration;

use prony_record::{LoadShape, LoadSpec};
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
            subject: place(&mut subjects, &trial.subject),
            measure: place(&mut measures, (&trial.workload, &trial.load)),
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

/// Where `one` is in `all`; it is put there where it is not.
fn place<T: PartialEq>(all: &mut Vec<T>, one: T) -> usize {
    match all.iter().position(|other| *other == one) {
        Some(place) => place,
        None => {
            all.push(one);
            all.len() - 1
        }
    }
}

/// How long a load takes, where that does not depend on the server.
fn planned(load: &LoadSpec) -> Option<Duration> {
    let measured_s = match (load.shape, load.requests) {
        (LoadShape::UsersOpen { think_time_s }, Some(requests)) => {
            let scheduled_s = requests as f64 * think_time_s / load.connections as f64;
            Some(load.duration_s.map_or(scheduled_s, |s| s.min(scheduled_s)))
        }
        (_, None) => load.duration_s,
        (LoadShape::Closed, Some(_)) => None,
    };
    Duration::try_from_secs_f64(load.warmup_s + measured_s?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
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
