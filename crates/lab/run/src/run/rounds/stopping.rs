//! Decides when no more rounds are added.

use std::collections::BTreeMap;
use std::time::Duration;

use prony_model::{
    AttemptWeight, EnoughRounds, MeasuredBy, Measurement, RoundsEnd, TrialRecord, baseline,
};
use prony_stats::{LEAST_ROUNDS, LEAST_VERDICT_ROUNDS, Ratio, common_rounds, enough_after};

use crate::adaptive::AdaptiveRounds;
use crate::plan::Measure;

/// Watches the comparisons of each measure, and ends measures that need no more rounds.
///
/// All servers of a measure have the same rounds, so that drift on the machine affects all alike.
pub(super) struct Stopping<'a> {
    rule: AdaptiveRounds,
    baseline: Option<&'a str>,
    servers: &'a [String],
    measures: Vec<Watched>,
    rounds: u32,
}

/// Even if the budget is short, two rounds run, because one has no interval. A comparison needs [`LEAST_ROUNDS`] to count
/// as precise.
const FEWEST_ROUNDS: u32 = 2;
/// The rounds that a comparison of instructions needs to count as precise: they differ so little that it is precise long before.
const LEAST_COUNTED_ROUNDS: usize = 6;

/// The rounds that a comparison of a measure needs to count as precise.
pub(super) fn least_rounds(measure: &Measure) -> usize {
    match measure.load.by {
        MeasuredBy::Time => LEAST_ROUNDS,
        MeasuredBy::Instructions => LEAST_COUNTED_ROUNDS,
    }
}

/// A measure and its state.
struct Watched {
    measure: Measure,
    figures: Figures,
    /// How long its trials have taken.
    spent: Duration,
    /// How much of that went into finding how long servers take to warm up, which later rounds do not repeat.
    searched: Duration,
    widest: Option<f64>,
    state: State,
}

#[derive(PartialEq)]
enum State {
    /// No server has taken part in it.
    Untouched,
    GoesOn,
    Ended(u32, EnoughRounds),
}

impl<'a> Stopping<'a> {
    pub(super) fn new(
        rule: AdaptiveRounds,
        baseline: Option<&'a str>,
        servers: &'a [String],
        measures: &[Measure],
    ) -> Self {
        let watched = |measure: &Measure| Watched {
            measure: measure.clone(),
            figures: Figures::default(),
            spent: Duration::ZERO,
            searched: Duration::ZERO,
            widest: None,
            state: State::Untouched,
        };
        Self {
            rule,
            baseline,
            servers,
            measures: measures.iter().map(watched).collect(),
            rounds: 0,
        }
    }

    /// Whether the measure gets another round.
    pub(super) fn goes_on(&self, measure: usize) -> bool {
        !matches!(self.measures[measure].state, State::Ended(..))
    }

    /// A trial of the measure is over and took this long.
    pub(super) fn take(&mut self, measure: usize, record: &TrialRecord, took: Duration) {
        let watched = &mut self.measures[measure];
        watched.figures.take(record);
        watched.spent += took;
        watched.searched += searched(record).min(took);
        if watched.state == State::Untouched {
            watched.state = State::GoesOn;
        }
    }

    /// A round is over. Returns the half-width of the widest interval, as a share of its ratio, of the measures that go
    /// on.
    pub(super) fn round_over(&mut self) -> Option<f64> {
        self.rounds += 1;
        let rounds = self.rounds;
        for watched in self.measures.iter_mut().filter(|one| one.goes_on()) {
            let by = watched.measure.load.by;
            let figures = &watched.figures;
            let compared = figures.compared(self.baseline, self.servers, rounds, by);
            let ratios: Vec<Ratio> = compared.iter().map(|one| one.ratio).collect();
            let widths = ratios.iter().map(|ratio| ratio.half_width());
            watched.widest = widths.reduce(f64::max);
            let least = least_rounds(&watched.measure);
            let precision = self.rule.precision.share();
            let may_be_judged = compared.iter().all(|one| one.may_be_judged);
            if rounds as usize >= least && may_be_judged && enough_after(least, &ratios, precision)
            {
                watched.state = State::Ended(rounds, EnoughRounds::Precise);
            } else if rounds >= watched.measure.rounds {
                watched.state = State::Ended(rounds, EnoughRounds::MostRounds);
            }
        }
        if rounds >= self.fewest_rounds() && !self.another_fits() {
            self.end_all(EnoughRounds::Budget);
        }
        let going = self.measures.iter().filter(|one| one.goes_on());
        going.filter_map(|one| one.widest).reduce(f64::max)
    }

    /// Ends these measures, unless they have ended: one of the servers to compare has no figures.
    pub(super) fn give_up(&mut self, measures: &[usize]) {
        for &measure in measures {
            let watched = &mut self.measures[measure];
            if watched.goes_on() {
                watched.state = State::Ended(self.rounds, EnoughRounds::Interrupted);
            }
        }
    }

    /// The run was stopped: a round that was begun does not count.
    pub(super) fn interrupted(&mut self) {
        self.end_all(EnoughRounds::Interrupted);
    }

    /// What is left of the budget.
    pub(super) fn time_left(&self) -> Duration {
        self.rule.budget.saturating_sub(self.spent())
    }

    /// Why each measure got no more rounds, in the order of the measures; without measures that still go on or that no
    /// server takes part in.
    pub(super) fn ends(&self) -> Vec<RoundsEnd> {
        let end = |watched: &Watched| match watched.state {
            State::Ended(rounds, reason) => Some(RoundsEnd {
                workload: watched.measure.workload.clone(),
                load: watched.measure.load.clone(),
                rounds,
                reason,
                widest: watched.widest,
            }),
            State::Untouched | State::GoesOn => None,
        };
        self.measures.iter().filter_map(end).collect()
    }

    fn fewest_rounds(&self) -> u32 {
        let mut measures = self.measures.iter().map(|one| one.measure.load.by);
        if measures.any(|by| by == MeasuredBy::Instructions) {
            AdaptiveRounds::FEWEST_COUNTED_ROUNDS
        } else {
            FEWEST_ROUNDS
        }
    }

    fn spent(&self) -> Duration {
        self.measures.iter().map(|one| one.spent).sum()
    }

    /// Whether another round fits into the budget, if it takes as long as earlier ones did with their re-runs, but without
    /// their searches for the end of warm-ups.
    fn another_fits(&self) -> bool {
        let going = self.measures.iter().filter(|one| one.goes_on());
        let another: Duration = going
            .map(|one| (one.spent - one.searched) / self.rounds)
            .sum();
        self.spent() + another <= self.rule.budget
    }

    fn end_all(&mut self, reason: EnoughRounds) {
        for watched in self.measures.iter_mut().filter(|one| one.goes_on()) {
            watched.state = State::Ended(self.rounds, reason);
        }
    }
}

fn searched(record: &TrialRecord) -> Duration {
    let warm_up = record.measurement().and_then(|one| one.warm_up);
    let searched_s = warm_up.map_or(0.0, |warm_up| warm_up.searched_s);
    Duration::try_from_secs_f64(searched_s).unwrap_or_default()
}

impl Watched {
    fn goes_on(&self) -> bool {
        self.state == State::GoesOn
    }
}

/// The figure of each server in each round of one measure, by the attempt that counts.
#[derive(Debug, Default)]
struct Figures(BTreeMap<String, BTreeMap<u32, CountedAttempt>>);

/// A server compared with the baseline.
struct Compared {
    ratio: Ratio,
    /// Whether a verdict may rest on it: one on times needs rounds that were quiet for both.
    may_be_judged: bool,
}

/// The attempt at a round that counts so far.
#[derive(Debug, PartialEq)]
struct CountedAttempt {
    weight: AttemptWeight,
    figure: Option<f64>,
}

impl Figures {
    /// Takes a trial's figure, if the trial counts more than earlier attempts at its round.
    fn take(&mut self, record: &TrialRecord) {
        let trial = &record.trial;
        let rounds = self.0.entry(trial.server.clone()).or_default();
        let attempt = CountedAttempt {
            weight: record.weight(),
            figure: record.measurement().and_then(Measurement::headline),
        };
        let counted = rounds.get(&trial.round);
        if counted.is_none_or(|counted| counted.weight < attempt.weight) {
            rounds.insert(trial.round, attempt);
        }
    }

    /// The figures of a server by round.
    fn of(&self, server: &str) -> BTreeMap<u32, f64> {
        let rounds = self.0.get(server).into_iter().flatten();
        let figures = rounds.filter_map(|(round, counted)| Some((*round, counted.figure?)));
        figures.collect()
    }

    /// How many rounds of two servers count with attempts that were not noisy.
    fn quiet_rounds(&self, one: &str, other: &str) -> usize {
        let (Some(one), Some(other)) = (self.0.get(one), self.0.get(other)) else {
            return 0;
        };
        let is_quiet =
            |counted: &CountedAttempt| counted.figure.is_some() && counted.weight.is_quiet();
        let both = one
            .iter()
            .filter(|(round, counted)| is_quiet(counted) && other.get(round).is_some_and(is_quiet));
        both.count()
    }

    /// The ratio of each server to the baseline over the rounds that both have. Servers that share fewer than two
    /// rounds, or fewer than half of `rounds`, with the baseline are left out, and no such server becomes the baseline:
    /// Prony does not add rounds for servers that mostly fail.
    fn compared(
        &self,
        chosen: Option<&str>,
        servers: &[String],
        rounds: u32,
        by: MeasuredBy,
    ) -> Vec<Compared> {
        let is_enough = |count: usize| count * 2 >= rounds as usize;
        let measured = |id: &str| {
            let own = self.of(id);
            !own.is_empty() && is_enough(own.len())
        };
        let ids = servers.iter().map(String::as_str);
        let Some(base_id) = baseline(chosen, ids, measured) else {
            return Vec::new();
        };
        let base = self.of(base_id);
        let others = self.0.keys().filter(|id| *id != base_id);
        let ratio = |id: &String| {
            let pairs = common_rounds(&self.of(id), &base);
            let ratio = match by {
                MeasuredBy::Time => Ratio::paired(&pairs),
                // As the comparison does: instructions do not depend on the round.
                MeasuredBy::Instructions => {
                    let (values, base): (Vec<f64>, Vec<f64>) = pairs.iter().copied().unzip();
                    Ratio::unpaired(&values, &base)
                }
            };
            Some(Compared {
                ratio: ratio.filter(|_| is_enough(pairs.len()))?,
                may_be_judged: by == MeasuredBy::Instructions
                    || self.quiet_rounds(id, base_id) >= LEAST_VERDICT_ROUNDS,
            })
        };
        others.filter_map(ratio).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::testing::record;
    use prony_model::{FailureKind, NoiseCause, TrialResult};

    /// The ratios of these servers to a baseline after some rounds.
    fn ratios(of: &Figures, baseline: Option<&str>, ids: &[&str], rounds: u32) -> Vec<Ratio> {
        let ids: Vec<String> = ids.iter().map(|&id| id.to_owned()).collect();
        let compared = of.compared(baseline, &ids, rounds, MeasuredBy::Time);
        compared.into_iter().map(|one| one.ratio).collect()
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
        for (baseline, expected) in [(None, 0.5), (Some("a"), 2.0)] {
            let [ratio] = ratios(&figures, baseline, &["a", "ceiling"], 3)[..] else {
                panic!("one ratio is expected");
            };
            assert!((ratio.ratio - expected).abs() < 1e-9 && ratio.half_width() < 1e-9);
        }
    }

    #[test]
    fn a_re_run_trial_counts_with_its_least_disturbed_attempt() {
        let noisy = |number: u32, rate: f64, share: f64| TrialRecord {
            attempt: number,
            noisy: vec![NoiseCause::Steal { share }],
            ..record("b", 2, rate)
        };
        let mut figures = figures(&[("a", &[10.0, 10.0]), ("b", &[10.0])]);
        for (attempt, counts) in [
            (noisy(1, 20.0, 0.2), 20.0),
            // The machine stood still.
            (noisy(2, 0.4, 0.9), 20.0),
            (noisy(3, 30.0, 0.1), 30.0),
        ] {
            figures.take(&attempt);
            assert_eq!(figures.of("b"), BTreeMap::from([(1, 10.0), (2, counts)]));
        }
        let failed = TrialRecord {
            attempt: 4,
            noisy: Vec::new(),
            result: TrialResult::Failed {
                kind: FailureKind::Load,
                message: String::new(),
            },
            ..record("b", 2, 0.0)
        };
        figures.take(&failed);
        assert_eq!(figures.of("b"), BTreeMap::from([(1, 10.0)]));
        // One common round is too few to compare.
        assert!(ratios(&figures, None, &["a", "b"], 2).is_empty());
    }

    #[test]
    fn servers_that_mostly_fail_are_not_waited_for() {
        let figures = figures(&[("a", &[1.0, 2.0, 3.0, 4.0]), ("b", &[2.0, 2.0])]);
        for (rounds, count) in [(4, 1), (5, 0)] {
            assert_eq!(ratios(&figures, None, &["a", "b"], rounds).len(), count);
        }
    }

    #[test]
    fn servers_without_responses_are_not_compared() {
        let figures = figures(&[("a", &[0.0, 0.0]), ("b", &[1.0, 1.0])]);
        assert!(ratios(&figures, None, &["a", "b"], 2).is_empty());
        assert!(ratios(&Figures::default(), None, &[], 2).is_empty());
    }
}
