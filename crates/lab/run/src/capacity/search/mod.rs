//! The search for the greatest rate that the server sustains: which rate to try next, given the results so
//! far. It reads no clock and sends no load.
//!
//! It **approaches** the capacity by one coarse bisection. Then it **repeats** fine ones, each of which begins where earlier ones
//! ended, and steps outwards again in growing steps: the next one corrects a wrong step (after a trial that a busy machine
//! disturbed). Each gives one finding, and the findings give the capacity with its interval.
//!
//! If the interval is narrow enough, the search **confirms** it: the server must sustain a rate as far below the capacity as the
//! precision allows, and fail as far above. Otherwise a server that sustains each rate at one time and fails at another would
//! give findings that are close together, since each begins where the last one ended. If it is too wide, the search confirms
//! findings that contradict each other, and adds more, up to twice as many. If it stays too wide, there is no capacity to report.

mod bracket;
mod confirm;
mod found;
mod tried;

pub use bracket::{LEAST_RATE, MOST_RATE};
pub use found::{Found, Precision};
pub use tried::{Purpose, Tried};

use prony_stats::{Estimate, Interval, median};

use bracket::{Bracket, Closed};
use confirm::{Confirming, Decided};
use tried::Bisected;

/// The first bisection must be at least this narrow.
const APPROACH: f64 = 0.10;
/// The first step outwards of the first bisection.
const APPROACH_STEP: f64 = 0.41;
/// The first step outwards of a fine one, in units of the resolution.
const REPEAT_STEP: f64 = 2.0;
/// At most this many times the requested number of findings are made.
const MOST_FINDINGS: usize = 2;
/// The least share of the findings that must stand.
const LEAST_STANDING: f64 = 0.75;

/// What to do next.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Step {
    /// Try this rate.
    Try {
        /// In requests per second.
        rate: f64,
        /// Why.
        purpose: Purpose,
    },
    /// The search is over.
    Done,
}

/// What the search confirms.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Confirms {
    /// Two findings that contradict each other.
    Findings,
    Capacity,
}

#[derive(Clone, Debug)]
pub struct Search {
    precision: Precision,
    random: fastrand::Rng,
    approach: Bracket,
    /// The current fine bisection; `None` during the approach.
    fine: Option<Bracket>,
    /// The confirmation in progress.
    confirming: Option<(Confirms, Confirming)>,
    findings: Vec<Bisected>,
    /// The number of findings, including the ones that were not confirmed.
    found: usize,
    /// The lowest and the highest rate at which any of them ended, or that contradicted the capacity.
    extremes: Option<Interval>,
    /// Rates of findings whose verdict was confirmed.
    confirmed: Vec<f64>,
    /// Whether the capacity was confirmed.
    is_confirmed: bool,
    is_contradicted: bool,
    /// Whether the tries that should have confirmed it were all inconclusive: limited by the generator.
    is_unseen: bool,
    /// Draws the first rates of the fine bisections.
    around: f64,
    /// How many bisections ended at the generator's limit.
    limited: usize,
    ended: Option<Found>,
}

impl Search {
    /// Begins at a guess. The first rates of the fine bisections come from `seed`, so that they do not all try the same rates.
    pub fn new(start_per_s: f64, precision: Precision, seed: u64) -> Self {
        let resolution = APPROACH.max(precision.resolution());
        Self {
            precision,
            random: fastrand::Rng::with_seed(seed),
            approach: Bracket::new(start_per_s, APPROACH_STEP, resolution),
            fine: None,
            confirming: None,
            findings: Vec::new(),
            found: 0,
            extremes: None,
            confirmed: Vec::new(),
            is_confirmed: false,
            is_contradicted: false,
            is_unseen: false,
            around: start_per_s,
            limited: 0,
            ended: None,
        }
    }

    pub fn next(&self) -> Step {
        if self.ended.is_some() {
            return Step::Done;
        }
        let confirms = self.confirms();
        let (rate, purpose) = match (confirms, &self.fine) {
            (Some(rate), _) => (Ok(rate), Purpose::Confirm),
            (None, None) => (self.approach.next(), Purpose::Approach),
            (None, Some(fine)) => {
                let number = self.findings.len() as u32 + 1;
                (fine.next(), Purpose::Finding { number })
            }
        };
        rate.map_or(Step::Done, |rate| Step::Try { rate, purpose })
    }

    /// Records the result of the rate that [`Self::next`] returned.
    pub(crate) fn tried(&mut self, rate: f64, outcome: Tried) {
        if self.confirming.is_some() {
            return self.tried_again(outcome);
        }
        let bracket = self.fine.as_mut().unwrap_or(&mut self.approach);
        bracket.tried(rate, outcome);
        match bracket.next() {
            Ok(_) => {}
            Err(Closed::Found { held, failed }) => self.found(Bisected { held, failed }),
            Err(Closed::Limited { held, at }) => self.was_limited(held, at),
            // In a fine bisection this was a momentary failure, because other rates were sustained.
            Err(Closed::Nothing) if self.fine.is_some() => self.found(Bisected {
                held: LEAST_RATE,
                failed: LEAST_RATE,
            }),
            Err(Closed::Nothing) => {
                self.ended = Some(Found::Nothing {
                    tried_per_s: LEAST_RATE,
                });
            }
        }
    }

    fn confirms(&self) -> Option<f64> {
        self.confirming.as_ref().and_then(|(_, rates)| rates.next())
    }

    fn found(&mut self, finding: Bisected) {
        if self.fine.is_some() {
            self.findings.push(finding);
            self.found += 1;
            self.reach(finding.held, finding.failed);
        }
        self.around = median(&self.rates(Bisected::middle)).unwrap_or(finding.middle());
        self.go_on();
    }

    fn reach(&mut self, low: f64, high: f64) {
        let reached = Interval { low, high };
        self.extremes = Some(self.extremes.map_or(reached, |it| it.with(reached)));
    }

    /// Ends if the capacity is known as precisely as requested, or cannot be; otherwise continues.
    fn go_on(&mut self) {
        let wanted = self.precision.repeats as usize;
        let is_enough = self.findings.len() >= wanted;
        let is_last = self.found >= MOST_FINDINGS * wanted;
        let precise = self.narrow().filter(|_| is_enough);
        if let Some(Found::Capacity { per_s, .. }) = precise {
            return self.confirm_capacity(per_s);
        }
        let contradiction = self.contradiction().filter(|_| is_enough || is_last);
        if let Some(Bisected { failed, held }) = contradiction {
            let is_confirmed = |rate| self.confirmed.contains(&rate);
            if !(is_confirmed(failed) && is_confirmed(held)) {
                self.confirming = Some((Confirms::Findings, Confirming::new(failed, held)));
                return;
            }
            // No interval that is narrow enough contains both.
            let share = self.precision.share;
            if held * (1.0 - share) > failed * (1.0 + share) {
                return self.end();
            }
        }
        if is_last {
            self.end();
        } else {
            self.begin_fine();
        }
    }

    fn confirm_capacity(&mut self, per_s: f64) {
        let share = self.precision.share;
        let (below, above) = (per_s * (1.0 - share), per_s * (1.0 + share));
        if below < LEAST_RATE || above > MOST_RATE {
            return self.end();
        }
        self.confirming = Some((Confirms::Capacity, Confirming::new(above, below)));
    }

    fn end(&mut self) {
        self.ended = Some(self.precise().unwrap_or_else(|| self.imprecise()));
    }

    /// The lowest rate at which a finding saw the server fail and the highest at which one saw it sustained, if the former
    /// is below the latter.
    fn contradiction(&self) -> Option<Bisected> {
        let failed = self.rates(|finding| finding.failed).into_iter();
        let held = self.rates(|finding| finding.held).into_iter();
        let (failed, held) = (failed.reduce(f64::min)?, held.reduce(f64::max)?);
        (failed < held).then_some(Bisected { held, failed })
    }

    fn tried_again(&mut self, outcome: Tried) {
        let Some((what, confirming)) = &mut self.confirming else {
            return;
        };
        let what = *what;
        if let Some(decided) = confirming.tried(outcome) {
            match what {
                Confirms::Findings => self.decided_finding(decided),
                Confirms::Capacity => self.decided_capacity(decided),
            }
        }
        if self.confirms().is_some() {
            return;
        }
        self.confirming = None;
        match what {
            Confirms::Findings => self.go_on(),
            Confirms::Capacity => {
                self.is_confirmed = !(self.is_contradicted || self.is_unseen);
                self.end();
            }
        }
    }

    /// A finding whose verdict does not stand is dropped.
    fn decided_finding(&mut self, decided: Decided) {
        let Decided {
            expected, stands, ..
        } = decided;
        if stands {
            self.confirmed.push(expected.rate);
        } else {
            self.findings
                .retain(|finding| !finding.rests_on(expected.rate, expected.verdict));
        }
    }

    fn decided_capacity(&mut self, decided: Decided) {
        let rate = decided.expected.rate;
        self.is_unseen |= !decided.seen;
        if !decided.stands {
            self.is_contradicted = true;
            self.reach(rate, rate);
        }
    }

    /// The approach has seen the server fail, so if a fine bisection ends at the generator's limit that may be momentary, and it
    /// is repeated unless that happens more often than not.
    fn was_limited(&mut self, held: Option<f64>, at: f64) {
        self.limited += 1;
        if self.fine.is_some() && self.limited <= self.findings.len() + 1 {
            self.begin_fine();
            return;
        }
        self.ended = Some(Found::AtLeast {
            per_s: held,
            limited_at_per_s: at,
        });
    }

    fn begin_fine(&mut self) {
        let resolution = self.precision.resolution();
        // Up to half of the resolution in either direction.
        let aside = resolution * (self.random.f64() - 0.5);
        let start = self.around * (1.0 + aside);
        self.fine = Some(Bracket::new(start, REPEAT_STEP * resolution, resolution));
    }

    fn rates(&self, of: fn(&Bisected) -> f64) -> Vec<f64> {
        self.findings.iter().map(of).collect()
    }

    /// What is known so far.
    pub fn result(&self) -> Found {
        if let Some(ended) = &self.ended {
            return ended.clone();
        }
        if let Some(precise) = self.precise() {
            return precise;
        }
        let (held, upper) = self.approach.ends();
        let between = |held_per_s, failed_per_s| Found::Between {
            held_per_s,
            failed_per_s,
        };
        match self.findings[..] {
            [] => between(
                held,
                upper.filter(|upper| !upper.limited).map(|upper| upper.rate),
            ),
            [only] => between(Some(only.held), Some(only.failed)),
            _ => self.imprecise(),
        }
    }

    /// The capacity, if nothing contradicts it.
    fn precise(&self) -> Option<Found> {
        self.narrow()
            .or_else(|| self.wide())
            .filter(|_| !self.is_contradicted)
    }

    /// The capacity, if everything that the findings rest on lies within the precision, also those that were dropped.
    fn wide(&self) -> Option<Found> {
        let extremes = self.extremes?;
        let mut found = self.capacity()?;
        if let Found::Capacity {
            low_per_s,
            high_per_s,
            confirmed,
            ..
        } = &mut found
        {
            (*low_per_s, *high_per_s) = (extremes.low, extremes.high);
            *confirmed = false;
        }
        Some(found).filter(|found| self.precision.is_met(found))
    }

    /// The capacity, if it is as precise as requested, and most findings stand.
    fn narrow(&self) -> Option<Found> {
        let most_stand = self.findings.len() as f64 >= LEAST_STANDING * self.found as f64;
        let capacity = self.capacity().filter(|_| most_stand);
        capacity.filter(|found| self.precision.is_met(found))
    }

    /// The rates at which the bisections ended; without one, the results of the approach.
    fn imprecise(&self) -> Found {
        let (held, upper) = self.approach.ends();
        let high = self.extremes.map(|it| it.high);
        Found::Imprecise {
            low_per_s: self.extremes.map(|it| it.low).or(held),
            high_per_s: high.or(upper.map(|upper| upper.rate)),
            findings_per_s: self.rates(Bisected::middle),
        }
    }

    /// A finding is only as precise as its bracket, and all of them may lie on one side of the truth. So the
    /// interval goes from the rates that were sustained to those that failed.
    fn capacity(&self) -> Option<Found> {
        let findings_per_s = self.rates(Bisected::middle);
        let middle = Estimate::of(&findings_per_s)?;
        Some(Found::Capacity {
            per_s: middle.median,
            low_per_s: Estimate::of(&self.rates(|finding| finding.held))?.low,
            high_per_s: Estimate::of(&self.rates(|finding| finding.failed))?.high,
            coverage: middle.coverage,
            findings_per_s,
            confirmed: self.is_confirmed,
        })
    }
}

#[cfg(test)]
mod tests;
