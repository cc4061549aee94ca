//! What readers and other programs see of a profile.

mod flame_graph;
mod folded;
mod functions;
mod normal;

pub use flame_graph::{FlameGraphError, flame_graph, flame_graph_of_difference};
pub use folded::folded;
pub use functions::{FunctionChange, FunctionShare, functions, functions_changed};

use prony_model::{Frame, Profile, Stack};

/// The seconds for each request (or event) that a weight stands for.
fn seconds_per_unit(profile: &Profile, weight: f64) -> f64 {
    let total = profile.total();
    if total > 0.0 && profile.units > 0.0 {
        weight / total * profile.seconds / profile.units
    } else {
        0.0
    }
}

/// The frames of a stack, the outermost first.
fn frames<'a>(profile: &'a Profile, stack: &'a Stack) -> impl Iterator<Item = &'a Frame> {
    let numbers = stack.frames.iter();
    numbers.filter_map(|&number| profile.frames.get(number as usize))
}

#[cfg(test)]
mod testing {
    use prony_model::{Frame, FrameKind, Profile, Stack};

    /// A profile of these stacks; `k:` and `j:` before a name stand for the kernel and for a runtime.
    pub(super) fn profile(stacks: &[(&[&str], f64)]) -> Profile {
        let mut frames: Vec<Frame> = Vec::new();
        let mut number = |name: &str| {
            let (kind, name) = match name.split_once(':') {
                Some(("k", name)) => (FrameKind::Kernel, name),
                Some(("j", name)) => (FrameKind::Runtime, name),
                _ => (FrameKind::Native, name),
            };
            let known = frames.iter().position(|frame| frame.name == name);
            known.unwrap_or_else(|| {
                frames.push(Frame {
                    name: name.into(),
                    module: "server".into(),
                    kind,
                });
                frames.len() - 1
            }) as u32
        };
        let stacks: Vec<Stack> = stacks
            .iter()
            .map(|(names, weight)| Stack {
                frames: names.iter().map(|name| number(name)).collect(),
                weight: *weight,
            })
            .collect();
        Profile {
            frequency_hz: 199.0,
            samples: 0,
            lost: 0,
            seconds: 1.0,
            units: 1.0,
            cost: None,
            frames,
            stacks,
            left_out: 0.0,
            unnamed: Vec::new(),
        }
    }
}
