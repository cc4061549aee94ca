//! The figures of a measure, and how precisely they compare.

use std::collections::BTreeMap;

use prony_model::{LoadResult, TrialRecord, TrialResult, baseline};
use prony_stats::{Ratio, common_rounds};

/// The figure that each server gave in each round of one measure.
#[derive(Debug, Default)]
pub struct Figures(BTreeMap<String, BTreeMap<u32, f64>>);

impl Figures {
    /// Takes a trial's figure. It stands for all attempts at that trial so far: a trial is re-run
    /// only where it was noisy, and of attempts that were all noisy the last one counts.
    pub fn take(&mut self, record: &TrialRecord) {
        let trial = &record.trial;
        let rounds = self.0.entry(trial.server.clone()).or_default();
        match figure(&record.result) {
            Some(figure) => rounds.insert(trial.round, figure),
            None => rounds.remove(&trial.round),
        };
    }

    /// The ratio of each server to the baseline, over those of the `rounds` that both have. Servers that
    /// have less than two, or less than half of them, are left out, and are no baseline: what mostly fails is not
    /// waited for.
    pub fn ratios(&self, chosen: Option<&str>, servers: &[String], rounds: u32) -> Vec<Ratio> {
        let is_enough = |count: usize| count * 2 >= rounds as usize;
        let measured = |id: &str| {
            let own = self.0.get(id);
            own.is_some_and(|own| !own.is_empty() && is_enough(own.len()))
        };
        let ids = servers.iter().map(String::as_str);
        let Some(base_id) = baseline(chosen, ids, measured) else {
            return Vec::new();
        };
        let base = &self.0[base_id];
        let others = self.0.iter().filter(|(id, _)| *id != base_id);
        let ratio = |(_, of_rounds): (&String, &BTreeMap<u32, f64>)| {
            let pairs = common_rounds(of_rounds, base);
            Ratio::paired(&pairs).filter(|_| is_enough(pairs.len()))
        };
        others.filter_map(ratio).collect()
    }
}

/// What is compared: responses a second, where the server sets the pace; the median latency, where a
/// schedule does. `None` where there is nothing to take a ratio of.
fn figure(result: &TrialResult) -> Option<f64> {
    let TrialResult::Measured(measurement) = result else {
        return None;
    };
    let LoadResult {
        load,
        rate_per_s,
        latency_ns,
        ..
    } = &measurement.load;
    let figure = match load.shape.is_open() {
        true => latency_ns.as_ref()?.p50 as f64,
        false => *rate_per_s,
    };
    (figure.is_finite() && figure > 0.0).then_some(figure)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::testing::record;
    use prony_model::{FailureKind, LatencyHistogram, LoadShape, NoiseCause};

    fn names(ids: &[&str]) -> Vec<String> {
        ids.iter().map(|&id| id.to_owned()).collect()
    }

    fn figures(rows: &[(&str, &[f64])]) -> Figures {
        let mut figures = Figures::default();
        for (server, rates) in rows {
            for (round, &rate) in (1..).zip(*rates) {
                figures.take(&record(server, round, rate));
            }
        }
        figures
    }

    #[test]
    fn ratios_are_to_the_baseline_within_rounds() {
        let figures = figures(&[
            ("a", &[50.0, 60.0, 70.0]),
            ("ceiling", &[100.0, 120.0, 140.0]),
        ]);
        let servers = names(&["a", "ceiling"]);
        let [ratio] = figures.ratios(None, &servers, 3)[..] else {
            panic!("one ratio is expected");
        };
        assert!((ratio.ratio - 0.5).abs() < 1e-9 && ratio.half_width() < 1e-9);
        let [ratio] = figures.ratios(Some("a"), &servers, 3)[..] else {
            panic!("one ratio is expected");
        };
        assert!((ratio.ratio - 2.0).abs() < 1e-9);
    }

    #[test]
    fn a_trial_re_run_counts_with_its_last_attempt() {
        let mut figures = figures(&[("a", &[10.0, 10.0]), ("b", &[10.0, 10.0])]);
        let mut again = record("b", 2, 20.0);
        again.noisy = vec![NoiseCause::Steal { share: 0.2 }];
        figures.take(&again);
        assert_eq!(figures.0["b"], BTreeMap::from([(1, 10.0), (2, 20.0)]));
        again.result = TrialResult::Failed {
            kind: FailureKind::Load,
            message: String::new(),
        };
        figures.take(&again);
        assert_eq!(figures.0["b"], BTreeMap::from([(1, 10.0)]));
        // One round in common is nothing to compare.
        assert!(figures.ratios(None, &names(&["a", "b"]), 2).is_empty());
    }

    #[test]
    fn what_mostly_fails_is_not_waited_for() {
        let figures = figures(&[("a", &[1.0, 2.0, 3.0, 4.0]), ("b", &[2.0, 2.0])]);
        let servers = names(&["a", "b"]);
        assert_eq!(figures.ratios(None, &servers, 4).len(), 1);
        assert_eq!(figures.ratios(None, &servers, 5).len(), 0);
    }

    #[test]
    fn what_responds_nothing_compares_with_nothing() {
        let figures = figures(&[("a", &[0.0, 0.0]), ("b", &[1.0, 1.0])]);
        assert!(figures.ratios(None, &names(&["a", "b"]), 2).is_empty());
        assert!(Figures::default().ratios(None, &[], 2).is_empty());
    }

    #[test]
    fn an_open_loop_compares_by_its_median_latency() {
        let mut open = record("a", 1, 100.0);
        if let TrialResult::Measured(measurement) = &mut open.result {
            measurement.load.load.shape = LoadShape::UsersOpen { think_time_s: 1.0 };
            assert_eq!(figure(&open.result), None);
        }
        if let TrialResult::Measured(measurement) = &mut open.result {
            let mut latency = LatencyHistogram::new();
            latency.record(700);
            measurement.load.latency_ns = latency.summary();
        }
        assert_eq!(figure(&open.result), Some(700.0));
    }
}
