//! The name that was probably meant.

use std::fmt;

/// The candidate nearest to `name`, where one is near enough to have been meant.
pub fn nearest<'a>(name: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    // Below this, the offer would puzzle more than it helps.
    const LEAST_LIKENESS: f64 = 0.7;
    let lower = name.to_lowercase();
    candidates
        .into_iter()
        .map(|candidate| (likeness(&lower, candidate), candidate))
        .filter(|(likeness, _)| *likeness >= LEAST_LIKENESS)
        .max_by(|(a, _), (b, _)| a.total_cmp(b))
        .map(|(_, candidate)| candidate)
}

/// From 0 to 1. A part of the name (`axum` for `rust-axum`) counts as near.
fn likeness(name: &str, candidate: &str) -> f64 {
    const PART: f64 = 0.75;
    let candidate = candidate.to_lowercase();
    let typed = strsim::jaro_winkler(name, &candidate);
    let is_part = name.len() >= 3 && candidate.contains(name);
    if is_part { typed.max(PART) } else { typed }
}

/// A name that nothing has.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub struct UnknownName {
    /// What it should have been the name of: `workload`, `suite`, `subject`.
    pub kind: &'static str,
    /// The name.
    pub name: String,
    /// The name that was probably meant.
    pub nearest: Option<String>,
    /// Every name there is.
    pub known: Vec<String>,
}

impl UnknownName {
    /// Says that `name` is none of `known`.
    pub fn new<'a>(
        kind: &'static str,
        name: &str,
        known: impl IntoIterator<Item = &'a str>,
    ) -> Self {
        let known: Vec<String> = known.into_iter().map(str::to_owned).collect();
        Self {
            kind,
            name: name.to_owned(),
            nearest: nearest(name, known.iter().map(String::as_str)).map(str::to_owned),
            known,
        }
    }
}

impl fmt::Display for UnknownName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { kind, name, .. } = self;
        write!(f, "there is no {kind} `{name}`")?;
        match &self.nearest {
            Some(nearest) => write!(f, "; did you mean `{nearest}`?"),
            None if self.known.is_empty() => write!(f, "; there is none at all"),
            None => write!(f, "; there are: {}", self.known.join(", ")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SUBJECTS: [&str; 4] = ["ceiling", "go-nethttp", "rust-axum", "rust-hyper"];

    #[test]
    fn a_slip_or_a_part_finds_the_name() {
        for (name, meant) in [
            ("go-nethtp", "go-nethttp"),
            ("cieling", "ceiling"),
            ("axum", "rust-axum"),
            ("Rust-Hyper", "rust-hyper"),
            ("rust_hyper", "rust-hyper"),
        ] {
            assert_eq!(nearest(name, SUBJECTS), Some(meant), "{name}");
        }
    }

    #[test]
    fn what_is_like_nothing_finds_nothing() {
        assert_eq!(nearest("zzz", SUBJECTS), None);
        assert_eq!(nearest("", SUBJECTS), None);
        assert_eq!(nearest("axum", []), None);
    }

    #[test]
    fn the_text_offers_the_nearest_or_else_all() {
        let text = |name| UnknownName::new("subject", name, SUBJECTS).to_string();
        assert_eq!(
            text("axum"),
            "there is no subject `axum`; did you mean `rust-axum`?"
        );
        assert_eq!(
            text("zzz"),
            "there is no subject `zzz`; there are: ceiling, go-nethttp, rust-axum, rust-hyper"
        );
    }
}
