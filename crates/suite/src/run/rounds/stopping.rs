//! When no more rounds are added.

use std::time::Duration;

use prony_model::{EnoughRounds, RoundsEnd, TrialRecord, TrialResult};

use super::figures::Figures;
use crate::adaptive::AdaptiveRounds;
use crate::plan::Measure;
use prony_stats::{LEAST_ROUNDS, enough};

/// Watches the comparisons of each measure, and ends those that need no more rounds.
///
/// All servers of a measure have the same rounds, so that what drifts on the machine hits all alike.
pub struct Stopping<'a> {
    rule: AdaptiveRounds,
    baseline: Option<&'a str>,
    servers: &'a [String],
    measures: Vec<Watched>,
    rounds: u32,
}

/// Fewer have no intervals at all, so as many are made however short the budget.
const FEWEST_ROUNDS: u32 = 2;

/// A measure, and what is known of it.
struct Watched {
    measure: Measure,
    figures: Figures,
    /// How long its trials have taken.
    spent: Duration,
    /// How much of that was the search for the end of warm-ups, which other rounds do not repeat.
    searched: Duration,
    widest: Option<f64>,
    state: State,
}

#[derive(PartialEq)]
enum State {
    /// Nobody has taken part in it.
    Untouched,
    GoesOn,
    Ended(u32, EnoughRounds),
}

impl<'a> Stopping<'a> {
    pub fn new(
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

    /// Whether the measure is to have another round.
    pub fn goes_on(&self, measure: usize) -> bool {
        !matches!(self.measures[measure].state, State::Ended(..))
    }

    /// A trial of the measure is over and took so long.
    pub fn take(&mut self, measure: usize, record: &TrialRecord, took: Duration) {
        let watched = &mut self.measures[measure];
        watched.figures.take(record);
        watched.spent += took;
        watched.searched += searched(record).min(took);
        if watched.state == State::Untouched {
            watched.state = State::GoesOn;
        }
    }

    /// A round is over. Gives how far the ends of the widest interval are from its ratio, of the
    /// measures that go on.
    pub fn round_over(&mut self) -> Option<f64> {
        self.rounds += 1;
        let (rounds, least) = (self.rounds, LEAST_ROUNDS as u32);
        for watched in self.measures.iter_mut().filter(|one| one.goes_on()) {
            let ratios = watched.figures.ratios(self.baseline, self.servers, rounds);
            let widths = ratios.iter().map(|ratio| ratio.half_width());
            watched.widest = widths.reduce(f64::max);
            if rounds >= least && enough(&ratios, self.rule.precision.share()) {
                watched.state = State::Ended(rounds, EnoughRounds::Precise);
            } else if rounds >= watched.measure.rounds {
                watched.state = State::Ended(rounds, EnoughRounds::MostRounds);
            }
        }
        if rounds >= FEWEST_ROUNDS && !self.another_fits() {
            self.end_all(EnoughRounds::Budget);
        }
        let going = self.measures.iter().filter(|one| one.goes_on());
        going.filter_map(|one| one.widest).reduce(f64::max)
    }

    /// The run was stopped: a round that was begun does not count.
    pub fn interrupted(&mut self) {
        self.end_all(EnoughRounds::Interrupted);
    }

    /// How long the trials may still take.
    pub fn time_left(&self) -> Duration {
        self.rule.budget.saturating_sub(self.spent())
    }

    /// Why each measure had no more rounds, in the order of the measures. Those that nobody has taken
    /// part in, and those that still go on, are left out.
    pub fn ends(&self) -> Vec<RoundsEnd> {
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

    fn spent(&self) -> Duration {
        self.measures.iter().map(|one| one.spent).sum()
    }

    /// Whether another round of what goes on is expected to fit into the budget: each measure's
    /// rounds take as long as those so far did, attempts that were re-run included and searches for the end of
    /// warm-ups not.
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
    let TrialResult::Measured(measurement) = &record.result else {
        return Duration::ZERO;
    };
    let searched_s = measurement
        .warm_up
        .map_or(0.0, |warm_up| warm_up.searched_s);
    Duration::try_from_secs_f64(searched_s).unwrap_or_default()
}

impl Watched {
    fn goes_on(&self) -> bool {
        self.state == State::GoesOn
    }
}
