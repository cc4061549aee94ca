//! The functions of a profile, by their own time on the CPU.

use std::collections::HashMap;

use prony_model::{Explanation, Frame, Profile};
use prony_present::number::{duration, share};
use prony_present::table::{Cell, Head, Row, Table};
use prony_present::terminal::cut_middle;
use serde::Serialize;

/// How many functions are listed for each server.
const LISTED: usize = 10;

/// A function and its own time on the CPU, without the functions that it calls.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Function<'a> {
    /// The function.
    #[serde(flatten)]
    pub frame: &'a Frame,
    /// Its share of the samples, from 0 to 1.
    pub self_share: f64,
    /// Its CPU time for each request (or event), in seconds; 0 if the server served none.
    pub cpu_s: f64,
}

/// The heaviest functions of a profile, the heaviest first.
pub(super) fn heaviest(profile: &Profile) -> Vec<Function<'_>> {
    let per_unit = seconds_per_weight(profile);
    let mut functions: Vec<Function<'_>> = own_weights(profile)
        .into_iter()
        .map(|(frame, weight)| Function {
            frame,
            self_share: weight / profile.total(),
            cpu_s: weight * per_unit,
        })
        .collect();
    let name = |one: &Function<'_>| (one.frame.name.clone(), one.frame.module.clone());
    functions.sort_by(|a, b| {
        let heavier_first = b.self_share.total_cmp(&a.self_share);
        heavier_first.then_with(|| name(a).cmp(&name(b)))
    });
    functions.truncate(LISTED);
    functions
}

/// The weight of the stacks that each function is the innermost of.
pub(super) fn own_weights(profile: &Profile) -> HashMap<&Frame, f64> {
    let mut weights: HashMap<&Frame, f64> = HashMap::new();
    for stack in &profile.stacks {
        let innermost = stack.frames.last();
        let frame = innermost.and_then(|&index| profile.frames.get(index as usize));
        if let Some(frame) = frame.filter(|_| stack.weight > 0.0) {
            *weights.entry(frame).or_default() += stack.weight;
        }
    }
    weights
}

/// The seconds for each request that a weight of 1 stands for.
pub(super) fn seconds_per_weight(profile: &Profile) -> f64 {
    let seconds = profile.seconds / profile.total() / profile.units;
    if seconds.is_finite() { seconds } else { 0.0 }
}

/// The heaviest functions of a server as a table.
pub(super) fn table(of: &Explanation, functions: &[Function<'_>]) -> Table {
    let unit = of.unit.name();
    let heads = [
        head(),
        Head::words("in"),
        Head::figure("self").hint(
            "The share of the samples in which the function itself ran, without those that it calls",
        ),
        Head::figure(format!("CPU/{unit}"))
            .hint("The CPU time that the function itself used for each request or event"),
    ];
    Table::with(heads, functions.iter().map(row)).whole()
}

/// The most letters of a function's name: names of templates may have thousands.
const LETTERS: usize = 160;

/// The title of a column of functions.
pub(super) fn head() -> Head {
    Head {
        keeps_ends: true,
        ..Head::words("function")
    }
}

pub(super) fn name(frame: &Frame) -> Cell {
    Cell::text(cut_middle(without_hash(&frame.name), LETTERS))
}

/// A name of Rust without the hash at its end, which changes with every build: `a::b` for `a::b::h0123456789abcdef`.
pub(super) fn without_hash(name: &str) -> &str {
    match name.rsplit_once("::h") {
        Some((path, hash))
            if hash.len() == 16 && hash.bytes().all(|digit| digit.is_ascii_hexdigit()) =>
        {
            path
        }
        _ => name,
    }
}

fn row(function: &Function<'_>) -> Row {
    Row::of([
        name(function.frame),
        Cell::text(&function.frame.module),
        Cell::text(share(function.self_share)).order(function.self_share),
        Cell::text(duration(function.cpu_s * 1e9)).order(function.cpu_s),
    ])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::explain::testing::{frame, profile};

    #[test]
    fn a_function_has_its_own_samples_of_all_stacks() {
        let mut profile = profile(&[
            ("main;handle", 30.0),
            ("main;other;handle", 10.0),
            ("main", 50.0),
        ]);
        (profile.left_out, profile.seconds) = (10.0, 1.0);
        let found = heaviest(&profile);
        let shown = found
            .iter()
            .map(|one| (one.frame.name.as_str(), one.self_share));
        assert_eq!(shown.collect::<Vec<_>>(), [("main", 0.5), ("handle", 0.4)]);
        // Half of one second over 1,000 requests.
        assert!((found[0].cpu_s - 0.0005).abs() < 1e-12, "{found:?}");
    }

    #[test]
    fn only_hashes_are_cut_from_names() {
        for (name, shown) in [
            ("a::b::h0123456789abcdef", "a::b"),
            ("a::b::hash", "a::b::hash"),
            ("a::h0123456789abcdeg", "a::h0123456789abcdeg"),
        ] {
            assert_eq!(without_hash(name), shown);
        }
    }

    #[test]
    fn names_of_templates_are_cut() {
        let long = frame(&"f<".repeat(2000), "server", prony_model::FrameKind::Native);
        assert_eq!(name(&long).text.chars().count(), LETTERS);
    }

    #[test]
    fn only_the_ten_heaviest_are_listed_and_equals_by_name() {
        let names: Vec<String> = (10..25).map(|i| format!("f{i}")).collect();
        let stacks = names.iter().rev().map(|name| (name.as_str(), 1.0));
        let profile = profile(&stacks.collect::<Vec<_>>());
        let found = heaviest(&profile);
        let shown: Vec<&str> = found.iter().map(|one| one.frame.name.as_str()).collect();
        assert_eq!(shown, names[..10]);
    }

    #[test]
    fn stacks_without_a_known_function_and_profiles_without_requests_are_harmless() {
        let mut profile = profile(&[("main", 1.0)]);
        for unknown in [vec![7], vec![]] {
            profile.stacks[0].frames = unknown;
            assert_eq!(heaviest(&profile), []);
        }
        profile.stacks[0].frames = vec![0];
        profile.units = 0.0;
        assert_eq!(heaviest(&profile)[0].cpu_s, 0.0);
    }
}
