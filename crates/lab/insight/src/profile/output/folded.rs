//! Folded stacks, as FlameGraph, inferno and speedscope read them.

use std::collections::BTreeMap;
use std::fmt::Write;

use prony_model::{Frame, FrameKind, Profile, Stack};

use super::frames;

/// A line for each stack: its functions, the outermost first, separated by `;`, then a space and its weight: samples, or
/// microseconds if the profile is of time off the CPU. Functions of the kernel end with `_[k]`, those of a runtime with
/// `_[j]`. The lines are sorted.
pub fn folded(profile: &Profile) -> String {
    let mut text = String::new();
    for (stack, weight) in folded_stacks(profile, |frame| annotated(&frame.name, frame.kind)) {
        // Writing to a string cannot fail.
        let _ = writeln!(text, "{stack} {weight}");
    }
    text
}

/// Whether weights are samples: only seconds have fractions.
pub(super) fn is_in_samples(profile: &Profile) -> bool {
    profile
        .stacks
        .iter()
        .all(|stack| stack.weight.fract() == 0.0)
}

/// The stacks by their text, with their weights as whole numbers.
pub(super) fn folded_stacks(
    profile: &Profile,
    name: impl Fn(&Frame) -> String,
) -> BTreeMap<String, u64> {
    let factor = if is_in_samples(profile) { 1.0 } else { 1e6 };
    let mut weights: BTreeMap<String, f64> = BTreeMap::new();
    for stack in &profile.stacks {
        *weights
            .entry(folded_stack(profile, stack, &name))
            .or_default() += stack.weight * factor;
    }
    let rounded = weights.into_iter();
    rounded
        .map(|(stack, weight)| (stack, weight.round() as u64))
        .filter(|&(_, weight)| weight > 0)
        .collect()
}

pub(super) fn folded_stack(
    profile: &Profile,
    stack: &Stack,
    name: &impl Fn(&Frame) -> String,
) -> String {
    let names: Vec<String> = frames(profile, stack).map(name).collect();
    names.join(";")
}

/// A function's name as a part of a folded stack.
pub(super) fn annotated(name: &str, kind: FrameKind) -> String {
    let mark = match kind {
        FrameKind::Kernel => "_[k]",
        FrameKind::Runtime => "_[j]",
        FrameKind::Native => "",
    };
    let separators = |character: char| character == ';' || character.is_control();
    let name = name.replace(separators, ":");
    format!("{}{mark}", name.trim())
}

#[cfg(test)]
mod tests {
    use super::super::testing::profile;
    use super::*;

    #[test]
    fn kinds_have_marks_and_separators_are_replaced() {
        let profile = profile(&[
            (&["main", "k:read"], 3.0),
            (&["main", "j:a;b\nc <d>"], 2.0),
            (&["main"], 1.0),
        ]);
        let expected = "main 1\nmain;a:b:c <d>_[j] 2\nmain;read_[k] 3\n";
        assert_eq!(folded(&profile), expected);
    }

    #[test]
    fn seconds_become_microseconds() {
        let profile = profile(&[(&["main", "wait"], 1.25), (&["main"], 1e-9)]);
        assert_eq!(folded(&profile), "main;wait 1250000\n");
    }
}
