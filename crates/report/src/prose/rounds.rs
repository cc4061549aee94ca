//! How many rounds there were, and why no more.

use prony_model::{Adaptive, EnoughRounds as Reason};

use super::plural;
use crate::{EnoughRounds, Table, format};

/// Why a table has no more rounds: `every comparison within ±3 % after 12 rounds`.
pub fn enough(enough: &EnoughRounds) -> String {
    let rounds = plural(enough.rounds as usize, "round");
    let asked = plus_minus(enough.precision);
    let widest = match enough.widest {
        Some(widest) => format!("the widest interval is {}", plus_minus(widest)),
        None => "there was nothing to compare".to_owned(),
    };
    match enough.reason {
        Reason::Precise if enough.widest.is_none() => {
            format!("there was nothing to compare after {rounds}")
        }
        Reason::Precise => format!("every comparison within {asked} after {rounds}"),
        Reason::Budget => format!(
            "the budget of {} ended after {rounds}, short of {asked}: {widest}",
            time(enough.budget_s)
        ),
        Reason::MostRounds => {
            format!("{rounds} were made, the most that were allowed, short of {asked}: {widest}")
        }
        Reason::Interrupted => format!("stopped after {rounds}, short of {asked}: {widest}"),
    }
}

/// The same as a sentence beneath a table; `None` where the number of rounds was set.
pub fn enough_sentence(table: &Table) -> Option<String> {
    let why = enough(table.enough.as_ref()?);
    Some(format!("Rounds: {why}."))
}

/// How the rounds were decided on, as a condition of the run.
pub fn adaptive(adaptive: &Adaptive) -> String {
    format!(
        "added until every comparison is within {}, for {} at the most",
        plus_minus(adaptive.precision),
        time(adaptive.budget_s)
    )
}

fn plus_minus(share: f64) -> String {
    format!("±{}", format::share(share))
}

/// `10 min`, or seconds where it is no whole number of minutes.
fn time(seconds: f64) -> String {
    let minutes = seconds / 60.0;
    match minutes >= 1.0 && minutes.fract() == 0.0 {
        true => format!("{minutes} min"),
        false => format::seconds(seconds),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(reason: Reason, widest: Option<f64>) -> String {
        enough(&EnoughRounds {
            precision: 0.03,
            budget_s: 600.0,
            rounds: 9,
            reason,
            widest,
        })
    }

    #[test]
    fn every_reason_says_what_was_reached() {
        assert_eq!(
            told(Reason::Precise, Some(0.021)),
            "every comparison within ±3.0 % after 9 rounds"
        );
        assert_eq!(
            told(Reason::Budget, Some(0.051)),
            "the budget of 10 min ended after 9 rounds, short of ±3.0 %: the widest interval is ±5.1 %"
        );
        assert_eq!(
            told(Reason::Interrupted, None),
            "stopped after 9 rounds, short of ±3.0 %: there was nothing to compare"
        );
        assert_eq!((time(600.0), time(90.0)), ("10 min".into(), "90 s".into()));
    }
}
