//! Wrong responses, errors and failed rounds: what no rate can make up for.

use prony_model::{CountedRounds, FailureKind, Measurement, Outage, Outcome};
use prony_present::number::{exact, seconds};
use prony_present::words::plural;

use crate::compare::finding::Finding;
use crate::compare::row::{MetricRow, What};

/// Errors of one side.
#[derive(Default)]
struct Errors {
    requests: u64,
    errors: u64,
    /// Complete responses that were wrong or truncated, which noise cannot cause.
    wrong: u64,
    /// Rounds with errors that were not noisy in every attempt.
    rounds: usize,
    /// Likewise with outages, which cost a closed loop few requests.
    outages: usize,
    /// The longest of these outages.
    longest: Option<Outage>,
}

impl Errors {
    fn of(rounds: &CountedRounds<'_>) -> Self {
        let mut all = Self::default();
        for (number, round) in rounds.measured() {
            let errors = round.load.outcomes.errors();
            all.requests += round.load.outcomes.total();
            all.errors += errors;
            all.wrong += wrong(round);
            if rounds.is_noisy(number) {
                continue;
            }
            all.rounds += usize::from(errors > 0);
            let outages = &round.load.outages;
            all.outages += usize::from(!outages.is_empty());
            all.longest = Outage::longest(outages.iter().copied().chain(all.longest));
        }
        all
    }

    fn share(&self) -> f64 {
        self.errors as f64 / self.requests.max(1) as f64
    }

    fn note(&self, side: &str) -> String {
        let wrong = match self.wrong {
            0 => String::new(),
            wrong => format!(", {} of them wrong responses", exact(wrong)),
        };
        let outage = self.longest.map_or(String::new(), |outage| {
            let (length, rounds) = (seconds(outage.length_s), plural(self.outages, "round"));
            format!(", and no ok response for up to {length} in {rounds}")
        });
        format!(
            "{side}: {} errors in {} requests{wrong}{outage}",
            exact(self.errors),
            exact(self.requests)
        )
    }
}

fn wrong(round: &Measurement) -> u64 {
    let outcomes = &round.load.outcomes;
    outcomes.wrong() + outcomes[Outcome::Truncated]
}

/// More than this many times as many errors, or failed rounds, are worse.
const MORE: f64 = 2.0;

/// The row of errors and outages; `None` if neither side has any.
///
/// One wrong response is worse if there was none. Other errors are worse if they occur in more than one quiet round and are new or
/// more than twice as many as before: a machine that stalls for a moment causes some in one round, and a noisy one in several.
/// Outages are worse if there are any in more than one quiet round and there were none before.
pub(super) fn errors(base: &CountedRounds<'_>, new: &CountedRounds<'_>) -> Option<MetricRow> {
    let (then, now) = (Errors::of(base), Errors::of(new));
    if then.errors + now.errors == 0 && then.outages + now.outages == 0 {
        return None;
    }
    Some(MetricRow {
        what: What::Errors,
        finding: finding(&then, &now),
        base: Some(then.share()),
        new: Some(now.share()),
        change: None,
        notes: vec![then.note("base"), now.note("new")],
    })
}

fn finding(then: &Errors, now: &Errors) -> Finding {
    let appear = |before: &Errors, after: &Errors| {
        let grew = after.share() > before.share() * MORE;
        (before.wrong == 0 && after.wrong > 0)
            || (grew && after.rounds > 1)
            || (before.outages == 0 && after.outages > 1)
    };
    if appear(then, now) {
        Finding::Worse
    } else if appear(now, then) {
        Finding::Improved
    } else if (then.errors == 0 && now.errors > 0) || then.outages < now.outages {
        Finding::Inconclusive
    } else {
        Finding::NoChangeSeen
    }
}

/// Failed rounds of one side.
struct Failures {
    failed: usize,
    /// Of these, the ones that noise cannot cause: the server exited, its count differs from the client's, or it did not draw
    /// lines at random.
    grave: usize,
    rounds: usize,
}

impl Failures {
    fn of(rounds: &CountedRounds<'_>) -> Self {
        let grave = |kind| {
            use FailureKind::{NotDrawn, NotReconciled, ServerExited};
            matches!(kind, ServerExited | NotReconciled | NotDrawn)
        };
        Self {
            failed: rounds.failed().count(),
            grave: rounds.failed().filter(|(kind, _)| grave(*kind)).count(),
            rounds: rounds.len(),
        }
    }

    fn share(&self) -> f64 {
        self.failed as f64 / self.rounds.max(1) as f64
    }
}

/// The row of the failed rounds; `None` if none failed.
///
/// A side without any measured round is worse if the other has some. One grave failure is worse if there was none before. Other
/// failures (not ready, not loaded, no response) are worse if they are in more than one round and their share more than doubled;
/// fewer may be noise.
pub(super) fn failed_rounds(
    base: &CountedRounds<'_>,
    new: &CountedRounds<'_>,
) -> Option<MetricRow> {
    let (then, now) = (Failures::of(base), Failures::of(new));
    if then.failed + now.failed == 0 {
        return None;
    }
    Some(MetricRow {
        what: What::Failure,
        finding: finding_of_failures(&then, &now),
        base: Some(then.failed as f64),
        new: Some(now.failed as f64),
        change: None,
        notes: [("base", base), ("new", new)]
            .into_iter()
            .filter_map(|(side, rounds)| note(side, rounds))
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
    // More grave failures are worse, even if others are gone.
    if appear(then, now) {
        Finding::Worse
    } else if appear(now, then) {
        Finding::Improved
    } else if now.share() > then.share() {
        Finding::Inconclusive
    } else {
        Finding::NoChangeSeen
    }
}

fn note(side: &str, rounds: &CountedRounds<'_>) -> Option<String> {
    let (kind, message) = rounds.failed().next()?;
    let message = message.trim().lines().next().unwrap_or_default();
    Some(format!(
        "{side}: {} of {} rounds failed ({}): {message}",
        rounds.failed().count(),
        rounds.len(),
        kind.name(),
    ))
}

/// The row of a side without figures, if the other has some.
pub(super) fn absent(finding: Finding, side: &str, why: &str) -> MetricRow {
    MetricRow {
        what: What::Failure,
        finding,
        base: None,
        new: None,
        change: None,
        notes: vec![format!("{side}: {why}")],
    }
}
