//! Functions, by the time that they take.

use std::collections::{BTreeMap, BTreeSet};

use prony_model::{Frame, FrameKind, Profile};

use super::normal::same_in_every_build;
use super::{frames, seconds_per_unit};

/// How much time a function takes.
#[derive(Clone, Debug, PartialEq)]
pub struct FunctionShare {
    /// The function; its name is the same in every build.
    pub frame: Frame,
    /// The share of all time, from 0 to 1, in the function itself.
    pub self_share: f64,
    /// The share in the function and in what it calls. A function that calls itself counts once.
    pub total_share: f64,
}

/// How much more or less time a function itself uses for each request (or event).
#[derive(Clone, Debug, PartialEq)]
pub struct FunctionChange {
    /// The function; its name is the same in every build.
    pub frame: Frame,
    pub before_s: f64,
    pub after_s: f64,
    /// Seconds after, less those before.
    pub difference_s: f64,
}

/// The functions of a profile, those that take the most time themselves first.
pub fn functions(profile: &Profile) -> Vec<FunctionShare> {
    let total = profile.total();
    if total <= 0.0 {
        return Vec::new();
    }
    let weights = weights(profile).into_iter();
    let mut list: Vec<FunctionShare> = weights
        .map(|(_, function)| FunctionShare {
            self_share: function.itself / total,
            total_share: function.total / total,
            frame: function.frame,
        })
        .collect();
    // Sorting is stable, so functions of the same weight stay in the order of their names.
    list.sort_by(|one, other| {
        let by_self = other.self_share.total_cmp(&one.self_share);
        by_self.then(other.total_share.total_cmp(&one.total_share))
    });
    list
}

/// What each function itself takes in two profiles, for each request (or event); the largest growth first. A function is
/// the same if its name and its kind are, whatever its file is called.
pub fn functions_changed(before: &Profile, after: &Profile) -> Vec<FunctionChange> {
    let mut changes: BTreeMap<Key, FunctionChange> = BTreeMap::new();
    for (profile, is_after) in [(before, false), (after, true)] {
        for (key, function) in weights(profile) {
            let change = changes.entry(key).or_insert_with(|| FunctionChange {
                frame: function.frame,
                before_s: 0.0,
                after_s: 0.0,
                difference_s: 0.0,
            });
            let seconds = if is_after {
                &mut change.after_s
            } else {
                &mut change.before_s
            };
            *seconds = seconds_per_unit(profile, function.itself);
            change.difference_s = change.after_s - change.before_s;
        }
    }
    let mut list: Vec<FunctionChange> = changes.into_values().collect();
    list.sort_by(|one, other| other.difference_s.total_cmp(&one.difference_s));
    list
}

/// A function's name and kind: what two builds have in common.
type Key = (String, &'static str);

struct Weights {
    frame: Frame,
    itself: f64,
    total: f64,
}

fn weights(profile: &Profile) -> BTreeMap<Key, Weights> {
    let keys: Vec<Key> = profile.frames.iter().map(key).collect();
    let mut weights: BTreeMap<Key, Weights> = BTreeMap::new();
    for stack in &profile.stacks {
        let with_keys = stack.frames.iter().zip(frames(profile, stack));
        let mut counted = BTreeSet::new();
        for (depth, (&number, frame)) in with_keys.enumerate() {
            let Some(key) = keys.get(number as usize) else {
                continue;
            };
            let entry = weights.entry(key.clone()).or_insert_with(|| Weights {
                frame: Frame {
                    name: key.0.clone(),
                    ..frame.clone()
                },
                itself: 0.0,
                total: 0.0,
            });
            if counted.insert(key) {
                entry.total += stack.weight;
            }
            if depth + 1 == stack.frames.len() {
                entry.itself += stack.weight;
            }
        }
    }
    weights
}

fn key(frame: &Frame) -> Key {
    let name = same_in_every_build(&frame.name).into_owned();
    let kind = match frame.kind {
        FrameKind::Native => "native",
        FrameKind::Runtime => "runtime",
        FrameKind::Kernel => "kernel",
    };
    (name, kind)
}

#[cfg(test)]
mod tests {
    use super::super::testing::profile;
    use super::*;

    #[test]
    fn recursion_counts_once() {
        let mut profile = profile(&[
            (&["main", "f", "g", "f"], 6.0),
            (&["main", "f"], 1.0),
            (&["main"], 1.0),
        ]);
        profile.left_out = 0.0;
        let list = functions(&profile);
        let shares = list
            .iter()
            .map(|it| (&*it.frame.name, it.self_share, it.total_share));
        let expected = [("f", 7.0, 7.0), ("main", 1.0, 8.0), ("g", 0.0, 6.0)];
        let expected = expected.map(|(name, own, all)| (name, own / 8.0, all / 8.0));
        assert!(shares.eq(expected), "{list:?}");
    }

    #[test]
    fn builds_are_compared_by_request_and_by_normal_names() {
        let mut before = profile(&[
            (&["main", "work::h0123456789abcdef"], 4.0),
            (&["main", "gone"], 4.0),
        ]);
        let mut after = profile(&[
            (&["main", "work::hfedcba9876543210"], 4.0),
            (&["main", "new"], 12.0),
        ]);
        (before.seconds, before.units) = (1.0, 10.0);
        // Twice as long and twice as many requests: the same for each.
        (after.seconds, after.units) = (2.0, 10.0);
        let list = functions_changed(&before, &after);
        let milliseconds = |change: &FunctionChange| (change.difference_s * 1000.0).round();
        let found = list.iter().map(|it| (&*it.frame.name, milliseconds(it)));
        let expected = [
            ("new", 150.0),
            ("main", 0.0),
            ("work", 0.0),
            ("gone", -50.0),
        ];
        assert!(found.eq(expected), "{list:?}");
    }

    #[test]
    fn an_empty_profile_has_no_functions() {
        let empty = profile(&[]);
        assert!(functions(&empty).is_empty());
        assert!(functions_changed(&empty, &empty).is_empty());
    }
}
