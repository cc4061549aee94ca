//! The difference of two explanations: of two servers, or of two revisions of one.

use std::collections::HashMap;

use prony_model::{CostFigure, CostUnit, Explanation, Frame, FrameKind, Profile};
use prony_stats::{Estimate, Ratio, holm};
use serde::Serialize;

use crate::explain::cost_row::{CostRow, rows};
use crate::explain::costs::ServerCosts;
use crate::explain::functions::{own_weights, seconds_per_weight, without_hash};
use crate::explain::summary::WorkloadCosts;

/// A function has changed if its CPU time differs by this many standard errors of its samples: of a hundred functions that did
/// not change, about a quarter of one does.
const STANDARD_ERRORS: f64 = 3.0;

/// A smaller change of a figure is of no consequence, however certain it is.
const LEAST_CHANGE: f64 = 0.005;

/// The smallest visible change is that of a function with this share (0 to 1) of the server's CPU time.
const SHARE: f64 = 0.1;

/// Why two explanations cannot be compared.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Incomparable {
    #[error("{before} and {after} are different workloads: compare two servers with the same one")]
    Workloads { before: String, after: String },
    #[error("one was measured by {}, the other by {}", .before.name(), .after.name())]
    Units { before: CostUnit, after: CostUnit },
    #[error("{before} and {after} were measured under different loads")]
    Loads { before: String, after: String },
}

/// What differs between two explanations of one workload.
#[derive(Clone, Debug)]
pub struct Difference<'a> {
    pub before: &'a Explanation,
    pub after: &'a Explanation,
    /// Each figure and frequent system call, in the order of the table of costs.
    pub costs: Vec<CostChange<'a>>,
    /// The functions whose own CPU time for each request changed by more than the noise of their samples: those that grew most
    /// first, and those that shrank most last. Empty unless both were profiled.
    pub functions: Vec<FunctionChange>,
    /// The smallest change that is listed, as a share of the server's CPU time, of a function that has a tenth of it; `None` unless
    /// both profiles have samples.
    pub visible: Option<f64>,
}

/// A figure or system call before and after.
#[derive(Clone, Debug, PartialEq)]
pub struct CostChange<'a> {
    pub(crate) row: CostRow<'a>,
    /// The figure before, in the unit of its row.
    pub before: Option<Estimate>,
    pub after: Option<Estimate>,
    /// How it changed; `None` without two rounds of each, or if a round is not above 0.
    pub change: Option<MeasuredChange>,
}

/// How a figure changed.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct MeasuredChange {
    /// The figure after as a ratio to the one before: 1.05 if it is 5 % higher.
    pub ratio: f64,
    /// The lower end of its 95 % interval.
    pub low: f64,
    /// The upper end.
    pub high: f64,
    /// The p-value, corrected for all figures (Holm).
    pub p_corrected: f64,
    /// How many rounds it rests on.
    pub rounds: usize,
    /// Whether each round is compared with the same round of the other.
    pub paired: bool,
}

impl MeasuredChange {
    fn matters(&self) -> bool {
        (self.ratio - 1.0).abs() >= LEAST_CHANGE
    }
}

/// How the CPU time of a function changed, without the functions that it calls.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FunctionChange {
    /// The function, after if both have it.
    pub frame: Frame,
    /// The file or library that it is in before, if it was there.
    pub(crate) module_before: Option<String>,
    /// Its CPU time for each request (or event) before, in seconds.
    pub before_s: f64,
    /// Its CPU time for each request (or event) after, in seconds.
    pub after_s: f64,
    /// How much it grew, in seconds; negative if it shrank.
    pub difference_s: f64,
}

impl FunctionChange {
    /// The file or library that it is in, on both sides if they differ.
    pub fn place(&self) -> String {
        let module = &self.frame.module;
        match &self.module_before {
            Some(before) if before != module => format!("{before} → {module}"),
            _ => module.clone(),
        }
    }
}

/// What differs between two explanations.
///
/// Rounds are compared pairwise if both have as many, because they were measured in turn.
///
/// # Errors
/// If they are of different workloads, loads or units.
pub fn difference<'a>(
    before: &'a Explanation,
    after: &'a Explanation,
) -> Result<Difference<'a>, Incomparable> {
    check(before, after)?;
    let [one, other] = [before, after].map(ServerCosts::of);
    let both = WorkloadCosts {
        workload: &before.workload,
        load: &before.load,
        unit: before.unit,
        servers: vec![one.clone(), other.clone()],
    };
    let changes = rows(&both).into_iter();
    let changes = changes.map(|row| CostChange::of(row, &one, &other));
    let mut costs = Vec::from_iter(changes);
    correct(&mut costs);
    let profiles = before.on_cpu.as_ref().zip(after.on_cpu.as_ref());
    let functions = profiles.map_or(Vec::new(), |(before, after)| functions(before, after));
    Ok(Difference {
        before,
        after,
        costs,
        functions,
        visible: profiles.and_then(|(before, after)| visible(before, after)),
    })
}

fn check(before: &Explanation, after: &Explanation) -> Result<(), Incomparable> {
    if before.workload != after.workload {
        return Err(Incomparable::Workloads {
            before: before.workload.clone(),
            after: after.workload.clone(),
        });
    }
    if before.unit != after.unit {
        return Err(Incomparable::Units {
            before: before.unit,
            after: after.unit,
        });
    }
    if !before.load.same_load(&after.load) {
        return Err(Incomparable::Loads {
            before: before.server.clone(),
            after: after.server.clone(),
        });
    }
    Ok(())
}

impl<'a> CostChange<'a> {
    fn of(row: CostRow<'a>, before: &ServerCosts<'a>, after: &ServerCosts<'a>) -> Self {
        let found = ratio(&row.in_rounds(before.of), &row.in_rounds(after.of));
        Self {
            before: row.of(before),
            after: row.of(after),
            change: found.map(|(ratio, paired)| MeasuredChange {
                ratio: ratio.ratio,
                low: ratio.low,
                high: ratio.high,
                p_corrected: ratio.p,
                rounds: ratio.n,
                paired,
            }),
            row,
        }
    }

    /// The figure; `None` for a system call.
    pub fn figure(&self) -> Option<CostFigure> {
        match self.row {
            CostRow::Figure(figure) => Some(figure),
            CostRow::Call(_) | CostRow::OtherCalls { .. } => None,
        }
    }

    /// Whether no round had it before, and every one after certainly does.
    pub(crate) fn is_new(&self) -> bool {
        is_only_in(self.after.as_ref(), self.before.as_ref())
    }

    /// Whether no round has it after, and every one before certainly did.
    pub(crate) fn is_gone(&self) -> bool {
        is_only_in(self.before.as_ref(), self.after.as_ref())
    }

    /// Whether the figure certainly changed, by an amount that matters.
    pub(crate) fn is_clear(&self) -> bool {
        self.change
            .is_some_and(|change| change.matters() && change.p_corrected < 0.05)
    }

    /// Whether it probably did: by its own interval, but not after the correction for all figures.
    pub(crate) fn is_likely(&self) -> bool {
        let excludes_none = |change: MeasuredChange| change.low > 1.0 || change.high < 1.0;
        let likely = self.change.filter(MeasuredChange::matters);
        likely.is_some_and(excludes_none) && !self.is_clear()
    }

    /// The verdict in a word or two; `None` if there is none.
    pub fn verdict(&self) -> Option<&'static str> {
        let [clear, likely] = match self.change?.ratio > 1.0 {
            true => ["grew", "probably grew"],
            false => ["shrank", "probably shrank"],
        };
        let likely = self.is_likely().then_some(likely);
        if self.is_clear() { Some(clear) } else { likely }
    }
}

fn is_only_in(one: Option<&Estimate>, other: Option<&Estimate>) -> bool {
    one.zip(other).is_some_and(|(one, other)| {
        one.n > 1 && one.low > 0.0 && (other.low, other.high) == (0.0, 0.0)
    })
}

/// The ratio of a figure of one server to that of another, and whether rounds are paired.
pub(super) fn ratio_of(
    before: &Explanation,
    after: &Explanation,
    figure: CostFigure,
) -> Option<(Ratio, bool)> {
    let row = CostRow::Figure(figure);
    ratio(&row.in_rounds(before), &row.in_rounds(after))
}

/// The ratio of rounds to those before, pairwise if there are as many.
fn ratio(before: &[Option<f64>], after: &[Option<f64>]) -> Option<(Ratio, bool)> {
    if before.len() == after.len() {
        let pairs = after.iter().zip(before);
        let pairs: Vec<(f64, f64)> = pairs
            .filter_map(|(after, before)| Some(((*after)?, (*before)?)))
            .collect();
        return Ratio::paired(&pairs).map(|ratio| (ratio, true));
    }
    let known = |rounds: &[Option<f64>]| rounds.iter().copied().flatten().collect::<Vec<f64>>();
    Ratio::unpaired(&known(after), &known(before)).map(|ratio| (ratio, false))
}

/// Corrects the p-values for all figures together.
fn correct(costs: &mut [CostChange<'_>]) {
    let changes = || costs.iter().filter_map(|cost| cost.change);
    let p_values: Vec<f64> = changes().map(|change| change.p_corrected).collect();
    let changes = costs.iter_mut().filter_map(|cost| cost.change.as_mut());
    for (change, p) in changes.zip(holm(&p_values)) {
        change.p_corrected = p;
    }
}

/// What a function is recognised by in both profiles. Its file is not part of it: each server has its own.
type Key<'a> = (&'a str, FrameKind);

/// A function, and its own samples in both profiles.
struct Own<'a> {
    frame: &'a Frame,
    module_before: Option<&'a str>,
    before: f64,
    after: f64,
}

/// The functions that changed by more than the noise of their samples, those that grew most first.
fn functions(before: &Profile, after: &Profile) -> Vec<FunctionChange> {
    let mut own: HashMap<Key<'_>, Own<'_>> = HashMap::new();
    for (frame, samples) in own_weights(after) {
        own.entry(key(frame)).or_insert(Own::none(frame)).after += samples;
    }
    for (frame, samples) in own_weights(before) {
        let function = own.entry(key(frame)).or_insert(Own::none(frame));
        function.before += samples;
        function.module_before.get_or_insert(&frame.module);
    }
    let (one_before_s, one_after_s) = (seconds_per_weight(before), seconds_per_weight(after));
    let changes = own.into_values().filter_map(|own| {
        let (before_s, after_s) = (own.before * one_before_s, own.after * one_after_s);
        let difference_s = after_s - before_s;
        // Samples of a function are counts: their variance is about their number, and not 0 if there are none.
        let variance = |samples: f64, one_s: f64| samples.max(1.0) * one_s * one_s;
        let error = (variance(own.before, one_before_s) + variance(own.after, one_after_s)).sqrt();
        (difference_s.abs() > STANDARD_ERRORS * error).then(|| FunctionChange {
            frame: own.frame.clone(),
            module_before: own.module_before.map(str::to_owned),
            before_s,
            after_s,
            difference_s,
        })
    });
    let mut changes: Vec<FunctionChange> = changes.collect();
    changes.sort_by(|a, b| {
        let most_first = b.difference_s.total_cmp(&a.difference_s);
        most_first.then_with(|| a.frame.name.cmp(&b.frame.name))
    });
    changes
}

impl<'a> Own<'a> {
    fn none(frame: &'a Frame) -> Self {
        Self {
            frame,
            module_before: None,
            before: 0.0,
            after: 0.0,
        }
    }
}

/// The smallest change that is listed of a function with [`SHARE`] of the CPU time.
fn visible(before: &Profile, after: &Profile) -> Option<f64> {
    let samples = before.total().min(after.total());
    (samples > 0.0).then(|| STANDARD_ERRORS * (2.0 * SHARE / samples).sqrt())
}

fn key(frame: &Frame) -> Key<'_> {
    (without_hash(&frame.name), frame.kind)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::explain::testing::{Builder, profile};

    fn change<'d>(difference: &'d Difference<'_>, title: &str) -> &'d CostChange<'d> {
        let mut costs = difference.costs.iter();
        costs.find(|cost| cost.row.title() == title).unwrap()
    }

    fn cpu(id: &str, rounds: &[f64]) -> Explanation {
        Builder::server(id).exactly(CostFigure::Cpu, rounds).done()
    }

    #[test]
    fn as_many_rounds_are_compared_pairwise_and_others_are_not() {
        // Drift from round to round, which cancels out within pairs.
        let before = cpu("a", &[1.0, 2.0, 4.0, 8.0, 16.0, 32.0]);
        let mut after = cpu("b", &[1.1, 2.2, 4.4, 8.8, 17.6, 35.2]);
        let found = difference(&before, &after).unwrap();
        let all = change(&found, "CPU time");
        let paired = all.change.unwrap();
        assert!(paired.paired && all.is_clear(), "{paired:?}");
        assert!((paired.ratio - 1.1).abs() < 1e-9);

        after.rounds.pop();
        let found = difference(&before, &after).unwrap();
        let fewer = change(&found, "CPU time");
        assert!(!fewer.change.unwrap().paired && !fewer.is_clear());
    }

    #[test]
    fn a_call_that_is_new_has_its_figures_and_no_ratio() {
        let before = Builder::server("a").call("read", 1.0).done();
        let after = Builder::server("b").call("read", 1.0).call("futex", 0.5);
        let after = after.done();
        let found = difference(&before, &after).unwrap();
        let futex = change(&found, "futex");
        let medians = [futex.before, futex.after].map(|estimate| estimate.unwrap().median);
        assert_eq!(medians, [0.0, 0.5]);
        assert_eq!((futex.change, futex.is_clear()), (None, false));
        assert!(futex.is_new() && !futex.is_gone());
        let back = difference(&after, &before).unwrap();
        let futex_back = change(&back, "futex");
        assert!(futex_back.is_gone() && !futex_back.is_new());
        let read = change(&found, "read");
        assert!(!read.is_new() && !read.is_gone());
        assert!(!read.is_clear(), "the same is no change: {read:?}");
    }

    #[test]
    fn p_values_are_corrected_for_all_figures() {
        let rounds = |by: f64| [1.0 * by, 1.02 * by, 0.98 * by, 1.01, 0.99 * by, 1.0 * by];
        let (mut before, mut after) = (cpu("a", &rounds(1.0)), cpu("b", &rounds(1.05)));
        let p = |before: &Explanation, after: &Explanation| {
            let found = difference(before, after).unwrap();
            change(&found, "CPU time").change.unwrap().p_corrected
        };
        let alone = p(&before, &after);
        for one in [&mut before, &mut after] {
            for (i, round) in one.rounds.iter_mut().enumerate() {
                round.figures.insert(CostFigure::Bytes, 100.0 + i as f64);
            }
        }
        let of_two = p(&before, &after);
        assert!((of_two - 2.0 * alone).abs() < 1e-12, "{alone} {of_two}");
    }

    #[test]
    fn only_the_same_workload_load_and_unit_can_be_compared() {
        let one = Builder::server("a").done();
        let mut other = [0; 3].map(|_| Builder::server("b").done());
        other[0].workload = "sse".into();
        other[1].unit = CostUnit::Event;
        other[2].load.connections += 1;
        let errors = other
            .each_ref()
            .map(|other| difference(&one, other).unwrap_err());
        assert!(errors[0].to_string().contains("different workloads"));
        assert!(matches!(errors[1], Incomparable::Units { .. }));
        assert!(matches!(errors[2], Incomparable::Loads { .. }));
    }

    #[test]
    fn functions_that_grew_are_those_beyond_the_noise_of_their_samples() {
        let before = [
            ("same", 400.0),
            ("noise", 100.0),
            ("grown::h0123456789abcdef", 100.0),
            ("gone", 50.0),
        ];
        let after = [
            ("same", 400.0),
            ("noise", 140.0),
            ("grown::hfedcba9876543210", 160.0),
            ("k:new", 30.0),
        ];
        let before = Builder::server("a").profile(&before).done();
        let after = Builder::server("b").profile(&after).done();
        let found = difference(&before, &after).unwrap();
        let shown = found.functions.iter();
        let shown = shown.map(|it| (it.frame.name.as_str(), (it.difference_s * 1e5).round()));
        // A sample is 10 ms over 1,000 requests. The noise of 100 against 140 samples is 15.5, three times that is more than 40.
        let expected = [
            ("grown::hfedcba9876543210", 60.0),
            ("new", 30.0),
            ("gone", -50.0),
        ];
        assert_eq!(shown.collect::<Vec<_>>(), expected);
    }

    #[test]
    fn a_function_of_both_is_in_the_files_of_both() {
        let mut before = Builder::server("a")
            .profile(&[("f", 100.0), ("gone", 90.0)])
            .done();
        let mut after = Builder::server("b")
            .profile(&[("f", 200.0), ("new", 90.0)])
            .done();
        for (explanation, file) in [(&mut before, "a"), (&mut after, "b")] {
            let frames = &mut explanation.on_cpu.as_mut().unwrap().frames;
            frames
                .iter_mut()
                .for_each(|frame| frame.module = file.into());
        }
        let found = difference(&before, &after).unwrap();
        let places = found
            .functions
            .iter()
            .map(|it| (&*it.frame.name, it.place()));
        let expected = [("f", "a → b"), ("new", "b"), ("gone", "a")];
        assert_eq!(
            places.collect::<Vec<_>>(),
            expected.map(|(name, place)| (name, place.to_owned()))
        );
    }

    #[test]
    fn the_visible_change_shrinks_with_the_root_of_the_samples() {
        for (samples, expected) in [(4500.0, 0.02), (1125.0, 0.04)] {
            let (fewer, many) = (profile(&[("f", samples)]), profile(&[("f", 9000.0)]));
            for (before, after) in [(&fewer, &many), (&many, &fewer)] {
                let found = visible(before, after).unwrap();
                assert!((found - expected).abs() < 1e-9, "{found}");
            }
        }
        assert_eq!(visible(&profile(&[]), &profile(&[])), None);
    }

    #[test]
    fn a_change_that_matters_is_certain_probable_or_neither() {
        let verdict = |by: [f64; 6]| {
            let (mut before, mut after) = (cpu("a", &[1.0; 6]), cpu("b", &by));
            // Other figures, for which the p-values are corrected.
            for one in [&mut before, &mut after] {
                for (i, round) in one.rounds.iter_mut().enumerate() {
                    for figure in [CostFigure::Bytes, CostFigure::Threads, CostFigure::Segments] {
                        round.figures.insert(figure, 100.0 + i as f64);
                    }
                }
            }
            let found = difference(&before, &after).unwrap();
            change(&found, "CPU time").verdict()
        };
        for (rounds, expected) in [
            ([1.5, 1.51, 1.49, 1.5, 1.52, 1.48], Some("grew")),
            ([0.5, 0.51, 0.49, 0.5, 0.52, 0.48], Some("shrank")),
            ([1.1, 1.6, 1.9, 1.2, 2.4, 1.01], Some("probably grew")),
            ([0.6, 1.4, 1.0, 0.7, 1.5, 0.9], None),
            // Certain, and of no consequence.
            ([1.001, 1.0011, 1.0009, 1.001, 1.0012, 1.001], None),
        ] {
            assert_eq!(verdict(rounds), expected, "{rounds:?}");
        }
    }

    #[test]
    fn without_both_profiles_no_function_changed() {
        let profiled = Builder::server("a").profile(&[("f", 100.0)]).done();
        let plain = Builder::server("b").done();
        assert!(difference(&profiled, &plain).unwrap().functions.is_empty());
        let mut idle = Explanation {
            on_cpu: Some(profile(&[])),
            ..plain
        };
        idle.on_cpu.as_mut().unwrap().units = 0.0;
        assert!(difference(&idle, &idle).unwrap().functions.is_empty());
    }
}
