//! From counted stacks and names to a profile.

use std::collections::{BTreeMap, HashMap};

use prony_model::{Frame, FrameKind, Profile, Stack, Unnamed};

use crate::profile::collector::Counted;
use crate::profile::naming::named::Named;
use crate::profile::runtimes::Runtime;

/// What a profile says beside its stacks.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Totals {
    pub(crate) frequency_hz: f64,
    pub(crate) seconds: f64,
    pub(crate) units: f64,
    pub(crate) lost: u64,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Limits {
    pub(crate) stacks: usize,
    pub(crate) frames: usize,
}

pub(crate) const LIMITS: Limits = Limits {
    stacks: 3_000,
    frames: 20_000,
};

/// A profile of the stacks that were counted. `named` has a name for each place.
pub(crate) fn profile(
    counted: &Counted,
    named: &[Named],
    totals: Totals,
    limits: Limits,
) -> Profile {
    let mut interned = Interned::default();
    let mut weights: HashMap<Vec<u32>, f64> = HashMap::new();
    let mut unnamed = UnnamedCode::default();
    for (places, weight) in counted.tally.stacks() {
        let names = places.iter().filter_map(|&place| named.get(place as usize));
        let frames = names.flat_map(|name| &name.frames);
        let stack: Vec<u32> = frames.map(|frame| interned.number(frame)).collect();
        *weights.entry(stack).or_default() += weight;
        let innermost = places.last().and_then(|&place| named.get(place as usize));
        if let Some(innermost) = innermost {
            unnamed.count(innermost, weight);
        }
    }
    let listed: f64 = weights.values().sum();
    let total = listed + counted.tally.left_out;
    let stacks = heaviest_first(weights, &interned.frames);
    let (frames, stacks) = keep(stacks, &interned.frames, limits);
    let kept: f64 = stacks.iter().map(|stack| stack.weight).sum();
    Profile {
        frequency_hz: totals.frequency_hz,
        samples: counted.samples,
        lost: totals.lost,
        seconds: totals.seconds,
        units: totals.units,
        cost: None,
        unnamed: unnamed.list(total, &interned.frames),
        frames,
        // What rounding leaves over is nothing.
        left_out: if total - kept > total * 1e-9 {
            total - kept
        } else {
            0.0
        },
        stacks,
    }
}

#[derive(Debug, Default)]
struct Interned<'a> {
    frames: Vec<&'a Frame>,
    numbers: HashMap<&'a Frame, u32>,
}

impl<'a> Interned<'a> {
    fn number(&mut self, frame: &'a Frame) -> u32 {
        *self.numbers.entry(frame).or_insert_with(|| {
            self.frames.push(frame);
            (self.frames.len() - 1) as u32
        })
    }
}

/// Stacks of the same weight are in the order of their names, so that the same samples give the same profile.
fn heaviest_first(weights: HashMap<Vec<u32>, f64>, frames: &[&Frame]) -> Vec<Stack> {
    let names = |stack: &Stack| -> Vec<&str> {
        let numbers = stack.frames.iter();
        numbers
            .map(|&number| frames[number as usize].name.as_str())
            .collect()
    };
    let stacks = weights.into_iter();
    let mut stacks: Vec<Stack> = stacks
        .map(|(frames, weight)| Stack { frames, weight })
        .collect();
    stacks.sort_by(|one, other| {
        let by_weight = other.weight.total_cmp(&one.weight);
        by_weight.then_with(|| names(one).cmp(&names(other)))
    });
    stacks
}

/// The heaviest stacks, and the frames that they have, numbered by first appearance.
fn keep(stacks: Vec<Stack>, frames: &[&Frame], limits: Limits) -> (Vec<Frame>, Vec<Stack>) {
    let mut kept_frames: Vec<Frame> = Vec::new();
    let mut numbers: HashMap<u32, u32> = HashMap::new();
    let mut kept = Vec::new();
    for mut stack in stacks {
        let missing = stack.frames.iter();
        let missing = missing.filter(|frame| !numbers.contains_key(frame)).count();
        if kept.len() == limits.stacks || kept_frames.len() + missing > limits.frames {
            continue;
        }
        for number in &mut stack.frames {
            let old = *number;
            *number = *numbers.entry(old).or_insert_with(|| {
                kept_frames.push(frames[old as usize].clone());
                (kept_frames.len() - 1) as u32
            });
        }
        kept.push(stack);
    }
    (kept_frames, kept)
}

/// The weight of innermost frames without names, by file and reason, and of interpreters.
#[derive(Debug, Default)]
struct UnnamedCode {
    weights: BTreeMap<(String, String), f64>,
    interpreters: BTreeMap<String, f64>,
}

impl UnnamedCode {
    fn count(&mut self, innermost: &Named, weight: f64) {
        let Some(frame) = innermost.frames.last() else {
            return;
        };
        let module = frame.module.clone();
        if let Some(why) = &innermost.why_unnamed {
            *self.weights.entry((module, why.clone())).or_default() += weight;
        } else if Runtime::of_file(&module).is_some_and(Runtime::is_interpreter) {
            *self.interpreters.entry(module).or_default() += weight;
        }
    }

    /// The heaviest first.
    fn list(self, total: f64, frames: &[&Frame]) -> Vec<Unnamed> {
        // Interpreted functions that have names are frames of their own.
        let named = frames
            .iter()
            .any(|frame| frame.kind == FrameKind::Runtime && !frame.name.ends_with("[unknown]"));
        let interpreters = self.interpreters.into_iter().filter(|_| !named);
        let interpreters = interpreters.filter_map(|(module, weight)| {
            let why = Runtime::of_file(&module)?.why_unnamed();
            Some(((module, why.to_owned()), weight))
        });
        let mut list: Vec<Unnamed> = self
            .weights
            .into_iter()
            .chain(interpreters)
            .map(|((module, why), weight)| Unnamed {
                module,
                share: weight / total,
                why,
            })
            .collect();
        list.sort_by(|one, other| other.share.total_cmp(&one.share));
        list
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TOTALS: Totals = Totals {
        frequency_hz: 199.0,
        seconds: 1.0,
        units: 10.0,
        lost: 0,
    };

    fn named(name: &str) -> Named {
        Named {
            frames: vec![Frame {
                name: name.into(),
                module: "server".into(),
                kind: FrameKind::Native,
            }],
            why_unnamed: name.contains("[unknown]").then(|| "stripped".to_owned()),
        }
    }

    fn counted(stacks: &[(&[u32], f64)]) -> Counted {
        let mut counted = Counted::default();
        for (stack, weight) in stacks {
            let number = counted.tally.number(stack.iter().copied());
            counted.tally.add(number, *weight);
            counted.samples += *weight as u64;
        }
        counted
    }

    #[test]
    fn places_of_the_same_function_are_one_frame() {
        let names = ["main", "work", "work", "[unknown]"].map(named);
        let counted = counted(&[(&[0, 1], 3.0), (&[0, 2], 4.0), (&[0, 3], 1.0)]);
        let profile = profile(&counted, &names, TOTALS, LIMITS);
        assert_eq!(profile.frames.len(), 3);
        assert_eq!(profile.stacks[0].weight, 7.0);
        assert_eq!(profile.stacks[0].frames, [0, 1]);
        assert_eq!(profile.left_out, 0.0);
        assert_eq!(profile.unnamed.len(), 1);
        assert_eq!(profile.unnamed[0].share, 1.0 / 8.0);
        assert_eq!(profile.total(), 8.0);
    }

    #[test]
    fn light_stacks_are_left_out_but_count() {
        let names = ["main", "a", "b", "c"].map(named);
        let stacks: [(&[u32], f64); 4] =
            [(&[0], 1.0), (&[0, 1], 5.0), (&[0, 2], 4.0), (&[0, 3], 3.0)];
        let few = |stacks, frames| Limits { stacks, frames };
        let by_stacks = profile(&counted(&stacks), &names, TOTALS, few(2, 100));
        assert_eq!(by_stacks.left_out, 4.0);
        let by_frames = profile(&counted(&stacks), &names, TOTALS, few(100, 2));
        // `main` alone still fits.
        assert_eq!(by_frames.stacks.len(), 2);
        assert_eq!(by_frames.left_out, 7.0);
        assert_eq!(by_frames.total(), 13.0);
    }
}
