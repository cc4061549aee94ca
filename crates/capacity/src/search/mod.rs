//! The search for the greatest rate that holds: which rate to try next, as it is told what became of the
//! last. It knows no clock and makes no load.
//!
//! It **approaches** the capacity by one coarse bisection. Then it **repeats** fine ones, each of which
//! begins where the ones before it have ended, and looks outwards again in growing steps: a wrong step of
//! the one (a trial that a busy machine has spoilt) is undone by the next. Each gives one finding, and
//! the findings give the capacity with its interval.

mod bracket;

pub use bracket::{LEAST_RATE, MOST_RATE};

use prony_stats::{Estimate, median};
use serde::{Deserialize, Serialize};

use bracket::{Bracket, Closed};

/// How narrow the first bisection must be, at the least.
const APPROACH: f64 = 0.10;
/// The first step outwards of the first bisection.
const APPROACH_STEP: f64 = 0.41;
/// The first step outwards of a fine one, in units of the precision.
const REPEAT_STEP: f64 = 2.0;

/// What became of a rate that was tried.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tried {
    /// The server kept what is asked of it.
    Held,
    /// It did not.
    Failed,
    /// Nothing is known of it: the generator did not make the rate.
    Limited,
}

/// What to do next.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Step {
    /// Try this rate.
    Try {
        /// In requests a second.
        rate: f64,
        /// 0 while it approaches, then the number of the finding that is looked for.
        repeat: u32,
    },
    /// It is over.
    Done,
}

/// How exact it is to be.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Precision {
    /// How narrow each fine bisection is, as a share of the rate: 0.02 for 2 %.
    pub share: f64,
    /// How many of them there are.
    pub repeats: u32,
}

/// What is known of the capacity. Rates are in requests a second.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "known")]
pub enum Answer {
    /// The greatest rate that holds.
    Capacity {
        /// The median of the findings.
        per_s: f64,
        /// The lower end of its interval: that of the rates which the findings saw hold.
        low_per_s: f64,
        /// The upper end of its interval: that of the rates which they saw fail.
        high_per_s: f64,
        /// The chance (0 to 1) that the interval holds the true median; 0 for a single finding.
        coverage: f64,
        /// What each bisection found: the middle between what held and what failed.
        findings_per_s: Vec<f64>,
    },
    /// The server holds at this rate; above it the generator was the limit.
    AtLeast {
        /// The highest rate that was seen to hold before that; `None` where none was.
        per_s: Option<f64>,
        /// Where the generator was the limit.
        limited_at_per_s: f64,
    },
    /// Not even the least rate that is tried holds.
    Nothing {
        /// That rate.
        tried_per_s: f64,
    },
    /// The search was ended before it had found anything closer.
    Between {
        /// The highest rate that held, if any.
        held_per_s: Option<f64>,
        /// The lowest that did not, if any.
        failed_per_s: Option<f64>,
    },
}

/// What one fine bisection found: the capacity lies between these two rates.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Finding {
    held: f64,
    failed: f64,
}

impl Finding {
    fn middle(&self) -> f64 {
        (self.held * self.failed).sqrt()
    }
}

/// The search.
#[derive(Clone, Debug)]
pub struct Search {
    precision: Precision,
    random: fastrand::Rng,
    approach: Bracket,
    /// The fine bisection of now; `None` while it approaches.
    fine: Option<Bracket>,
    /// 0 while it approaches.
    repeat: u32,
    findings: Vec<Finding>,
    /// Where the fine bisections begin.
    around: f64,
    /// How many bisections ended at the generator's limit.
    limited: usize,
    ended: Option<Answer>,
}

impl Search {
    /// Begins at a rate that is guessed. `seed` is what the places come from at which the fine
    /// bisections begin: they must not all try the same rates.
    pub fn new(start_per_s: f64, precision: Precision, seed: u64) -> Self {
        let resolution = APPROACH.max(precision.share);
        Self {
            precision,
            random: fastrand::Rng::with_seed(seed),
            approach: Bracket::new(start_per_s, APPROACH_STEP, resolution),
            fine: None,
            repeat: 0,
            findings: Vec::new(),
            around: start_per_s,
            limited: 0,
            ended: None,
        }
    }

    /// What to do next.
    pub fn next(&self) -> Step {
        let bracket = self.fine.as_ref().unwrap_or(&self.approach);
        match (bracket.next(), &self.ended) {
            (Ok(rate), None) => Step::Try {
                rate,
                repeat: self.repeat,
            },
            _ => Step::Done,
        }
    }

    /// Tells what became of the rate that was to be tried next.
    pub fn tried(&mut self, rate: f64, outcome: Tried) {
        let bracket = self.fine.as_mut().unwrap_or(&mut self.approach);
        bracket.tried(rate, outcome);
        match bracket.next() {
            Ok(_) => {}
            Err(Closed::Found { held, failed }) => self.found(Finding { held, failed }),
            Err(Closed::Limited { held, at }) => self.was_limited(held, at),
            // In a fine bisection others have held: it was a moment.
            Err(Closed::Nothing) if self.repeat > 0 => self.found(Finding {
                held: LEAST_RATE,
                failed: LEAST_RATE,
            }),
            Err(Closed::Nothing) => {
                self.ended = Some(Answer::Nothing {
                    tried_per_s: LEAST_RATE,
                });
            }
        }
    }

    fn found(&mut self, finding: Finding) {
        if self.repeat > 0 {
            self.findings.push(finding);
        }
        if self.repeat == self.precision.repeats {
            self.ended = Some(self.answer());
            return;
        }
        self.repeat += 1;
        self.around = median(&self.rates(Finding::middle)).unwrap_or(finding.middle());
        self.begin_fine();
    }

    /// The approach has seen the server fail, so a fine bisection that ends at the generator's limit may be
    /// a moment's, and is made again: unless that happens more often than not.
    fn was_limited(&mut self, held: Option<f64>, at: f64) {
        self.limited += 1;
        if self.repeat > 0 && self.limited <= self.findings.len() + 1 {
            self.begin_fine();
            return;
        }
        self.ended = Some(Answer::AtLeast {
            per_s: held,
            limited_at_per_s: at,
        });
    }

    fn begin_fine(&mut self) {
        let precision = self.precision.share;
        // Up to half of the precision to either side.
        let aside = precision * (self.random.f64() - 0.5);
        let start = self.around * (1.0 + aside);
        self.fine = Some(Bracket::new(start, REPEAT_STEP * precision, precision));
    }

    fn rates(&self, of: fn(&Finding) -> f64) -> Vec<f64> {
        self.findings.iter().map(of).collect()
    }

    /// How many findings there are.
    pub fn findings(&self) -> usize {
        self.findings.len()
    }

    /// What is known by now.
    pub fn answer(&self) -> Answer {
        if let Some(ended) = &self.ended {
            return ended.clone();
        }
        self.capacity().unwrap_or_else(|| {
            let (held, upper) = self.approach.ends();
            Answer::Between {
                held_per_s: held,
                failed_per_s: upper.filter(|upper| !upper.limited).map(|upper| upper.rate),
            }
        })
    }

    /// A finding is only as sharp as its bracket, and all of them may lie on one side of the truth. So the
    /// interval reaches from where they held to where they failed.
    fn capacity(&self) -> Option<Answer> {
        let findings_per_s = self.rates(Finding::middle);
        let middle = Estimate::of(&findings_per_s)?;
        Some(Answer::Capacity {
            per_s: middle.median,
            low_per_s: Estimate::of(&self.rates(|finding| finding.held))?.low,
            high_per_s: Estimate::of(&self.rates(|finding| finding.failed))?.high,
            coverage: middle.coverage,
            findings_per_s,
        })
    }
}

#[cfg(test)]
mod tests;
