//! Circles in a graph of files.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

/// `from` uses `name`, which `to` defines.
#[derive(Clone, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub(super) struct Arrow {
    pub(crate) from: String,
    pub(crate) to: String,
    pub(crate) line: usize,
    pub(crate) name: String,
}

/// Files of which each reaches each other.
#[derive(Debug)]
pub(super) struct Circle {
    pub(crate) files: BTreeSet<String>,
    /// Those between its files.
    pub(crate) arrows: Vec<Arrow>,
}

impl fmt::Display for Circle {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            formatter,
            "{} files use each other in a circle:",
            self.files.len()
        )?;
        let mut names = BTreeMap::<_, BTreeMap<_, _>>::new();
        for arrow in &self.arrows {
            names
                .entry((&arrow.from, &arrow.to))
                .or_default()
                .entry(&arrow.name)
                .or_insert(arrow.line);
        }
        for ((from, to), names) in names {
            let names: Vec<_> = names
                .iter()
                .map(|(name, line)| format!("{name} (line {line})"))
                .collect();
            writeln!(formatter, "  {from} uses {} of {to}", names.join(", "))?;
        }
        Ok(())
    }
}

pub(super) fn circles(arrows: &[Arrow]) -> Vec<Circle> {
    let forward = neighbours(
        arrows
            .iter()
            .map(|arrow| (arrow.from.as_str(), arrow.to.as_str())),
    );
    let backward = neighbours(
        arrows
            .iter()
            .map(|arrow| (arrow.to.as_str(), arrow.from.as_str())),
    );
    let mut placed = BTreeSet::<&str>::new();
    let mut circles = Vec::new();
    for &file in forward.keys() {
        if placed.contains(file) {
            continue;
        }
        let before = reached(&backward, file);
        let files: BTreeSet<&str> = reached(&forward, file)
            .intersection(&before)
            .copied()
            .collect();
        placed.extend(&files);
        if !files.is_empty() {
            circles.push(circle(&files, arrows));
        }
    }
    circles
}

fn circle(files: &BTreeSet<&str>, arrows: &[Arrow]) -> Circle {
    let is_inside =
        |arrow: &&Arrow| files.contains(arrow.from.as_str()) && files.contains(arrow.to.as_str());
    Circle {
        files: files.iter().map(ToString::to_string).collect(),
        arrows: arrows.iter().filter(is_inside).cloned().collect(),
    }
}

type Neighbours<'a> = BTreeMap<&'a str, BTreeSet<&'a str>>;

fn neighbours<'a>(pairs: impl Iterator<Item = (&'a str, &'a str)>) -> Neighbours<'a> {
    let mut neighbours = Neighbours::new();
    for (from, to) in pairs {
        neighbours.entry(from).or_default().insert(to);
    }
    neighbours
}

/// What is reached from a file in one step or more.
fn reached<'a>(neighbours: &Neighbours<'a>, file: &str) -> BTreeSet<&'a str> {
    let mut reached = BTreeSet::new();
    let mut next: Vec<&str> = neighbours
        .get(file)
        .into_iter()
        .flatten()
        .copied()
        .collect();
    while let Some(file) = next.pop() {
        if reached.insert(file) {
            next.extend(neighbours.get(file).into_iter().flatten());
        }
    }
    reached
}
