//! The ceilings (reference servers) of both sides, and when their ratio shows how the machine changed.

use prony_model::{Bound, CEILING, CountedRounds, FigureKind};

use crate::compare::metric::Metric;
use crate::compare::row::Case;
use crate::compare::side::{Side, load_from};

/// The ceiling's rounds under one load, on both sides.
#[derive(Default)]
pub(super) struct Ceilings<'a> {
    pub(crate) base: CountedRounds<'a>,
    pub(crate) new: CountedRounds<'a>,
    /// How the two ceilings differ: `Prony: 0.4.0 → 0.5.0`.
    differ_by: Option<String>,
}

/// Whether a metric of two sessions may be compared relative to their ceilings.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Usable {
    /// The ceilings differ only by what the machine did.
    Yes,
    /// They are not the same ceiling, or have no figures of this metric.
    No,
    /// The generator limited them: their latency is the wait for the generator, not for a server.
    LimitedByGenerator,
}

impl<'a> Ceilings<'a> {
    /// The ceilings of these two servers; none if the servers are the ceilings themselves.
    pub(super) fn of(base: &Side<'a>, new: &Side<'a>, case: &Case) -> Self {
        let rounds = |side: &Side<'a>, id: &str| match id {
            CEILING => CountedRounds::default(),
            _ => side.rounds(CEILING, case),
        };
        let mut ceilings = Self {
            base: rounds(base, &case.base),
            new: rounds(new, &case.new),
            differ_by: None,
        };
        if !ceilings.base.is_empty() && !ceilings.new.is_empty() {
            ceilings.differ_by = ceilings.find_difference(base, new);
        }
        ceilings
    }

    /// How the ceilings of two sessions differ, if both have one.
    pub(super) fn differ_by(&self) -> Option<&str> {
        self.differ_by.as_deref()
    }

    /// Whether rounds of two sessions can be taken as ratios to these ceilings.
    ///
    /// A ceiling that the generator limits still serves for rates and costs: the generator does the same work for each
    /// response, so its speed shows the machine's speed as well as the ceiling's would.
    pub(super) fn usable_for(&self, metric: Metric) -> Usable {
        if self.differ_by.is_some() || !metric.follows_the_machine() {
            return Usable::No;
        }
        let limited = |rounds: &CountedRounds<'_>| {
            let bounds = Bound::of_rounds(&rounds.measurements());
            Bound::any_hides(&bounds, FigureKind::Latency)
        };
        match metric {
            Metric::P50 | Metric::P99 if limited(&self.base) || limited(&self.new) => {
                Usable::LimitedByGenerator
            }
            _ => Usable::Yes,
        }
    }

    fn find_difference(&self, base: &Side<'a>, new: &Side<'a>) -> Option<String> {
        let (then, now) = (base.run, new.run);
        let source = |side: &Side<'a>| side.run.server(CEILING).map(|one| &one.source_hash);
        // Servers gain differently from more CPUs, so how the ceiling changed does not show how they would.
        let cpus = |side: &Side<'_>| {
            let cpus = &side.run.cpus;
            format!("{} and {}", cpus.server.len(), cpus.load.len())
        };
        let (then_loop, now_loop) = (event_loop(&self.base), event_loop(&self.new));
        let differ = |what, then: &str, now: &str| Some(format!("{what}: {then} → {now}"));
        if then.prony_version != now.prony_version {
            differ("Prony", &then.prony_version, &now.prony_version)
        } else if source(base) != source(new) {
            Some("its files differ".to_owned())
        } else if let (Some(then), Some(now)) = (then_loop, now_loop)
            && then != now
        {
            differ("the event loop", then, now)
        } else if then.fleet != now.fleet {
            differ("the load", &load_from(then), &load_from(now))
        } else if cpus(base) != cpus(new) {
            differ(
                "number of CPUs of server and generator",
                &cpus(base),
                &cpus(new),
            )
        } else {
            None
        }
    }
}

pub(super) fn event_loop<'a>(rounds: &CountedRounds<'a>) -> Option<&'a str> {
    let (_, round) = rounds.measured().next()?;
    Some(&round.load.generator.event_loop)
}
