//! Wrong responses, errors and failed rounds: what no rate makes good.

use prony_model::{FailureKind, Measurement, Outcome};
use prony_report::format;

use crate::finding::Finding;
use crate::rounds::Rounds;
use crate::row::{Row, What};

/// Errors of one side.
struct Errors {
    requests: u64,
    errors: u64,
    /// Whole responses that were wrong, or broke off: no noise makes them.
    wrong: u64,
    rounds: usize,
}

impl Errors {
    fn of(rounds: &Rounds<'_>) -> Self {
        let mut all = Self {
            requests: 0,
            errors: 0,
            wrong: 0,
            rounds: 0,
        };
        for round in rounds.measured() {
            let errors = round.load.outcomes.errors();
            all.requests += round.load.outcomes.total();
            all.errors += errors;
            all.wrong += wrong(round);
            all.rounds += usize::from(errors > 0);
        }
        all
    }

    fn share(&self) -> f64 {
        self.errors as f64 / self.requests.max(1) as f64
    }

    fn told(&self, side: &str) -> String {
        let wrong = match self.wrong {
            0 => String::new(),
            wrong => format!(", {} of them wrong responses", format::exact(wrong)),
        };
        format!(
            "{side}: {} errors in {} requests{wrong}",
            format::exact(self.errors),
            format::exact(self.requests)
        )
    }
}

fn wrong(round: &Measurement) -> u64 {
    let outcomes = &round.load.outcomes;
    outcomes.wrong() + outcomes[Outcome::Truncated]
}

/// More than so many times as many errors, or failed rounds, as before are worse.
const MORE: f64 = 2.0;

/// The line of the errors; `None` where neither side has any.
///
/// One wrong response where there was none is worse. Other errors are worse where they are new and in more than one
/// round, or are more than twice as many as before: a machine that stops for a moment makes some in one round.
pub fn errors(base: &Rounds<'_>, new: &Rounds<'_>) -> Option<Row> {
    let (then, now) = (Errors::of(base), Errors::of(new));
    if then.errors + now.errors == 0 {
        return None;
    }
    Some(Row {
        what: What::Errors,
        finding: finding(&then, &now),
        base: Some(then.share()),
        new: Some(now.share()),
        change: None,
        notes: vec![then.told("base"), now.told("new")],
    })
}

fn finding(then: &Errors, now: &Errors) -> Finding {
    let appear = |before: &Errors, after: &Errors| {
        let grew = after.share() > before.share() * MORE;
        (before.wrong == 0 && after.wrong > 0) || (grew && after.rounds > 1)
    };
    if appear(then, now) {
        Finding::Worse
    } else if appear(now, then) {
        Finding::Improved
    } else if then.errors == 0 {
        Finding::TooNoisy
    } else {
        Finding::NoChangeSeen
    }
}

/// Failed rounds of one side.
struct Failures {
    failed: usize,
    /// Of these, the ones that no noise makes: the server ended, counted other than the client, or did not draw lines at
    /// random.
    grave: usize,
    rounds: usize,
}

impl Failures {
    fn of(rounds: &Rounds<'_>) -> Self {
        let grave = |kind| {
            use FailureKind::{NotDrawn, NotReconciled, ServerExited};
            matches!(kind, ServerExited | NotReconciled | NotDrawn)
        };
        Self {
            failed: rounds.failed().count(),
            grave: rounds.failed().filter(|(kind, _)| grave(*kind)).count(),
            rounds: rounds.count(),
        }
    }

    fn share(&self) -> f64 {
        self.failed as f64 / self.rounds.max(1) as f64
    }
}

/// The line of the rounds that failed; `None` where none did.
///
/// A side without any measured round, where the other has some, is worse. So is one grave failure where there was none.
/// Others (not ready, not loaded, no response) are worse in more than one round, where their share is more than
/// twice as large as before; fewer are too noisy to say.
pub fn failed_rounds(base: &Rounds<'_>, new: &Rounds<'_>) -> Option<Row> {
    let (then, now) = (Failures::of(base), Failures::of(new));
    if then.failed + now.failed == 0 {
        return None;
    }
    Some(Row {
        what: What::Failure,
        finding: finding_of_failures(&then, &now),
        base: Some(then.failed as f64),
        new: Some(now.failed as f64),
        change: None,
        notes: [("base", base), ("new", new)]
            .into_iter()
            .filter_map(|(side, rounds)| told(side, rounds))
            .collect(),
    })
}

fn finding_of_failures(then: &Failures, now: &Failures) -> Finding {
    let appear = |before: &Failures, after: &Failures| {
        let has_figures = |side: &Failures| side.failed < side.rounds;
        let grew = after.share() > before.share() * MORE;
        (has_figures(before) && !has_figures(after))
            || (before.grave == 0 && after.grave > 0)
            || (grew && after.failed > 1)
    };
    // More of them is worse, even where other ones are gone.
    if appear(then, now) {
        Finding::Worse
    } else if appear(now, then) {
        Finding::Improved
    } else if now.share() > then.share() {
        Finding::TooNoisy
    } else {
        Finding::NoChangeSeen
    }
}

fn told(side: &str, rounds: &Rounds<'_>) -> Option<String> {
    let (kind, message) = rounds.failed().next()?;
    let message = message.trim().lines().next().unwrap_or_default();
    Some(format!(
        "{side}: {} of {} rounds failed ({}): {message}",
        rounds.failed().count(),
        rounds.count(),
        kind.name(),
    ))
}

/// The line of a side without figures, where the other has some.
pub fn absent(finding: Finding, side: &str, why: &str) -> Row {
    Row {
        what: What::Failure,
        finding,
        base: None,
        new: None,
        change: None,
        notes: vec![format!("{side}: {why}")],
    }
}
