//! One bisection: from a first rate to a bracket that is narrow enough.

use super::tried::Tried;

/// The lowest rate to try, in requests per second.
pub const LEAST_RATE: f64 = 1.0;
/// The highest rate to try: no generator reaches it.
pub const MOST_RATE: f64 = 1e8;
/// The widest step outwards: twice the rate, or half of it.
const WIDEST_STEP: f64 = std::f64::consts::LN_2;

/// A bracket of rates that narrows: the server sustains the lower rate and fails at the upper one.
///
/// All distances are between logarithms: a step is a share of the rate.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Bracket {
    start: f64,
    /// The next step outwards, while one end is unknown. It doubles with every step in one direction.
    step: f64,
    /// The target width.
    resolution: f64,
    held: Option<f64>,
    upper: Option<Upper>,
    /// A rate at which the generator was the limit once. It is tried again: a momentary disturbance must not end the search.
    again: Option<f64>,
}

/// A rate that failed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Upper {
    /// In requests per second.
    pub(crate) rate: f64,
    /// Whether the generator failed to reach it, twice.
    pub(crate) limited: bool,
}

/// How a bisection ended.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Closed {
    /// The server sustains the one rate and not the other, and they are close together.
    Found {
        /// The rate that it sustains.
        held: f64,
        /// The rate at which it fails.
        failed: f64,
    },
    /// Above this rate the generator is the limit, or at it if the server sustained none.
    Limited {
        /// The highest rate that the server sustained, if any.
        held: Option<f64>,
        /// The rate at which the generator was the limit.
        at: f64,
    },
    /// Not even the lowest rate is sustained.
    Nothing,
}

impl Bracket {
    /// Begins at a rate, steps outwards by at least this share (0.04 for 4 %), and ends when the bracket
    /// is as narrow as `resolution` (a share).
    pub(super) fn new(start: f64, step: f64, resolution: f64) -> Self {
        Self {
            start: start.clamp(LEAST_RATE, MOST_RATE),
            step: step.ln_1p().min(WIDEST_STEP),
            resolution: resolution.ln_1p(),
            held: None,
            upper: None,
            again: None,
        }
    }

    /// The rate to try next, or the result.
    pub(super) fn next(&self) -> Result<f64, Closed> {
        if let Some(rate) = self.again {
            return Ok(rate);
        }
        match (self.held, self.upper) {
            (None, None) => Ok(self.start),
            (Some(held), None) if held >= MOST_RATE => Err(Closed::Limited {
                held: Some(held),
                at: held,
            }),
            (Some(held), None) => Ok((held * self.step.exp()).min(MOST_RATE)),
            (None, Some(upper)) if upper.rate <= LEAST_RATE => Err(upper.closed(None)),
            (None, Some(upper)) => Ok((upper.rate / self.step.exp()).max(LEAST_RATE)),
            (Some(held), Some(upper)) => {
                if (upper.rate / held).ln() <= self.resolution {
                    Err(upper.closed(Some(held)))
                } else {
                    Ok((held * upper.rate).sqrt())
                }
            }
        }
    }

    /// Records the result of that rate.
    pub(super) fn tried(&mut self, rate: f64, outcome: Tried) {
        let was_open = self.held.is_none() || self.upper.is_none();
        let is_second = self.again.is_some();
        match outcome {
            Tried::Held => self.held = Some(rate),
            Tried::Limited if !is_second => {
                self.again = Some(rate);
                return;
            }
            Tried::Failed | Tried::Limited => {
                let limited = outcome == Tried::Limited;
                self.upper = Some(Upper { rate, limited });
            }
        }
        self.again = None;
        if was_open && rate != self.start {
            self.step = (self.step * 2.0).min(WIDEST_STEP);
        }
    }

    /// The highest rate that was sustained, and the lowest that was not, so far.
    pub(super) fn ends(&self) -> (Option<f64>, Option<Upper>) {
        (self.held, self.upper)
    }
}

impl Upper {
    fn closed(self, held: Option<f64>) -> Closed {
        match (held, self.limited) {
            (held, true) => Closed::Limited {
                held,
                at: self.rate,
            },
            (Some(held), false) => Closed::Found {
                held,
                failed: self.rate,
            },
            (None, false) => Closed::Nothing,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::capacity::tests::held_if;
    use proptest::prelude::*;

    /// Runs a bisection against a server; returns the rates it tried, and its result.
    fn run(mut bracket: Bracket, server: impl Fn(f64) -> Tried) -> (Vec<f64>, Closed) {
        let mut rates = Vec::new();
        loop {
            match bracket.next() {
                Ok(rate) => {
                    bracket.tried(rate, server(rate));
                    rates.push(rate);
                }
                Err(closed) => return (rates, closed),
            }
            assert!(rates.len() < 100, "{rates:?}");
        }
    }

    fn below(capacity: f64) -> impl Fn(f64) -> Tried {
        move |rate| held_if(rate <= capacity)
    }

    #[test]
    fn it_steps_outwards_in_growing_steps_and_then_halves() {
        let (rates, closed) = run(Bracket::new(100.0, 0.1, 0.1), below(155.0));
        let expected = [100.0, 110.0, 133.1, 194.87];
        for (rate, expected) in rates.iter().zip(expected) {
            assert!((rate - expected).abs() < 0.01, "{rates:?}");
        }
        assert_eq!(rates.len(), 6, "{rates:?}");
        let Closed::Found { held, failed } = closed else {
            panic!("{closed:?}");
        };
        assert!(held <= 155.0 && 155.0 < failed && failed / held <= 1.1 + 1e-9);
    }

    #[test]
    fn a_rate_that_the_generator_misses_is_tried_twice() {
        let server = |rate: f64| match rate {
            rate if rate <= 100.0 => Tried::Held,
            _ => Tried::Limited,
        };
        let (rates, closed) = run(Bracket::new(90.0, 0.5, 0.05), server);
        assert_eq!(rates[1], rates[2]);
        assert!(
            matches!(closed, Closed::Limited { held: Some(held), at } if held <= 100.0 && at > 100.0),
            "{closed:?}"
        );
        // A momentary disturbance changes nothing.
        let mut disturbed = Bracket::new(90.0, 0.5, 0.05);
        disturbed.tried(90.0, Tried::Limited);
        assert_eq!(disturbed.next(), Ok(90.0));
        disturbed.tried(90.0, Tried::Held);
        assert_eq!(disturbed.ends(), (Some(90.0), None));
    }

    #[test]
    fn the_lowest_and_the_highest_rate_are_never_passed() {
        let run_always = |tried| run(Bracket::new(1000.0, 0.5, 0.02), |_| tried);
        let (rates, closed) = run_always(Tried::Failed);
        assert_eq!((rates.last(), closed), (Some(&LEAST_RATE), Closed::Nothing));
        let (rates, closed) = run_always(Tried::Held);
        assert_eq!(rates.last(), Some(&MOST_RATE));
        assert!(matches!(closed, Closed::Limited { held: Some(held), .. } if held == MOST_RATE));
        let (held, at) = (None, LEAST_RATE);
        assert_eq!(run_always(Tried::Limited).1, Closed::Limited { held, at });
    }

    proptest! {
        #[test]
        fn it_closes_around_any_capacity_in_few_tries(
            capacity in 1f64..1e7,
            away in 0.01f64..100.0,
            step in 0.01f64..1.0,
            resolution in 0.005f64..0.2,
        ) {
            let (rates, closed) =
                run(Bracket::new(capacity * away, step, resolution), below(capacity));
            let Closed::Found { held, failed } = closed else {
                panic!("{closed:?}");
            };
            prop_assert!(held <= capacity && capacity < failed);
            prop_assert!((failed / held).ln() <= resolution.ln_1p());
            // Up to 14 steps outwards; if the last one is wide, up to 8 halvings follow.
            prop_assert!(rates.len() <= 28, "{rates:?}");
        }
    }
}
