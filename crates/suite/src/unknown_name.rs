//! A name that nothing has, and the one that was probably meant.

use std::fmt;

use prony_server::nearest;

/// A name that nothing has.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub struct UnknownName {
    /// What it should have been the name of: `workload`, `suite`, `server`.
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
            nearest: nearest(name, known.iter().map(String::as_str)),
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

    const SERVERS: [&str; 4] = ["ceiling", "go-nethttp", "rust-axum", "rust-hyper"];

    #[test]
    fn the_text_offers_the_nearest_or_else_all() {
        let text = |name| UnknownName::new("server", name, SERVERS).to_string();
        assert_eq!(
            text("axum"),
            "there is no server `axum`; did you mean `rust-axum`?"
        );
        assert_eq!(
            text("zzz"),
            "there is no server `zzz`; there are: ceiling, go-nethttp, rust-axum, rust-hyper"
        );
    }
}
