//! How much time each stack stands for.

use std::collections::HashMap;

/// Weights of stacks of numbered places. Stacks share the part that they have in common, so deep ones are cheap.
#[derive(Debug, Default)]
pub(crate) struct Tally {
    nodes: Vec<Node>,
    numbers: HashMap<(Option<u32>, u32), u32>,
    /// The weight of the stacks that found no room.
    pub(crate) left_out: f64,
}

#[derive(Debug)]
struct Node {
    caller: Option<u32>,
    place: u32,
    weight: f64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct StackNumber(u32);

/// With more distinct frames of stacks, new stacks are left out.
const MOST_NODES: usize = 1_000_000;

impl Tally {
    /// The number of a stack, whose frames come outermost first. `None` if it has no frames or finds no room.
    pub(crate) fn number(
        &mut self,
        outermost_first: impl IntoIterator<Item = u32>,
    ) -> Option<StackNumber> {
        let mut caller = None;
        for place in outermost_first {
            caller = Some(self.child(caller, place)?);
        }
        caller.map(StackNumber)
    }

    /// Adds weight to a stack; a stack without a number is left out.
    pub(crate) fn add(&mut self, stack: Option<StackNumber>, weight: f64) {
        let node = stack.and_then(|stack| self.nodes.get_mut(stack.0 as usize));
        match node {
            Some(node) => node.weight += weight,
            None => self.left_out += weight,
        }
    }

    /// The stacks with their weights, the outermost frame first.
    pub(crate) fn stacks(&self) -> impl Iterator<Item = (Vec<u32>, f64)> {
        let heavy = self.nodes.iter().filter(|node| node.weight > 0.0);
        heavy.map(|node| (self.path(node), node.weight))
    }

    fn path(&self, node: &Node) -> Vec<u32> {
        let mut path = vec![node.place];
        let mut next = node.caller;
        while let Some(caller) = next.and_then(|caller| self.nodes.get(caller as usize)) {
            path.push(caller.place);
            next = caller.caller;
        }
        path.reverse();
        path
    }

    fn child(&mut self, caller: Option<u32>, place: u32) -> Option<u32> {
        if let Some(&number) = self.numbers.get(&(caller, place)) {
            return Some(number);
        }
        if self.nodes.len() >= MOST_NODES {
            return None;
        }
        let number = u32::try_from(self.nodes.len()).ok()?;
        self.nodes.push(Node {
            caller,
            place,
            weight: 0.0,
        });
        self.numbers.insert((caller, place), number);
        Some(number)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_stacks_share_a_weight_and_prefixes_are_stacks_of_their_own() {
        let mut tally = Tally::default();
        for (path, weight) in [
            (vec![1, 2, 3], 1.0),
            (vec![1, 2], 2.0),
            (vec![1, 2, 3], 4.0),
        ] {
            let number = tally.number(path);
            tally.add(number, weight);
        }
        let nothing = tally.number([]);
        tally.add(nothing, 8.0);
        let mut stacks: Vec<_> = tally.stacks().collect();
        stacks.sort_by(|one, other| one.1.total_cmp(&other.1));
        assert_eq!(stacks, [(vec![1, 2], 2.0), (vec![1, 2, 3], 5.0)]);
        assert_eq!(tally.left_out, 8.0);
    }
}
