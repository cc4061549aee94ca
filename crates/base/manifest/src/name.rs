//! Unknown names, and the known names that were probably meant.

use std::fmt;

/// The known name that `name` was probably meant to be, if one is near enough.
pub fn nearest<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> Option<String> {
    let name = name.to_lowercase();
    known
        .into_iter()
        .map(|candidate| {
            let distance = strsim::damerau_levenshtein(&name, &candidate.to_lowercase());
            (distance, candidate)
        })
        .filter(|(distance, candidate)| is_near(*distance, &name, candidate))
        .min()
        .map(|(_, candidate)| candidate.to_owned())
}

/// Up to a third of the letters may be wrong, or one name may be part of the other.
fn is_near(distance: usize, name: &str, candidate: &str) -> bool {
    let candidate = candidate.to_lowercase();
    let longest = name.chars().count().max(candidate.chars().count());
    let begins = name.len() >= 2 && candidate.starts_with(name);
    let is_part = (name.len() >= 3 && candidate.contains(name))
        || (candidate.len() >= 3 && name.contains(&candidate));
    begins || is_part || distance <= (longest / 3).max(1)
}

/// `; did you mean X?` for the end of an error text, or nothing.
pub fn did_you_mean(nearest: &Option<String>) -> String {
    match nearest {
        Some(name) => format!("; did you mean `{name}`?"),
        None => String::new(),
    }
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub struct UnknownName {
    /// What it should name: `workload`, `suite`, `server`.
    pub kind: &'static str,
    pub name: String,
    /// The name that was probably meant.
    pub nearest: Option<String>,
    pub known: Vec<String>,
}

impl UnknownName {
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
            Some(_) => f.write_str(&did_you_mean(&self.nearest)),
            None if self.known.is_empty() => write!(f, "; there are none here"),
            None => write!(f, "; the known ones are {}", self.known.join(", ")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_misspelt_name_has_a_nearest_one() {
        let known = ["hello", "byte", "page", "page-log"];
        assert_eq!(nearest("helo", known).as_deref(), Some("hello"));
        assert_eq!(nearest("PAGE", known).as_deref(), Some("page"));
        assert_eq!(nearest("log", known).as_deref(), Some("page-log"));
        assert_eq!(nearest("xyzzy", known), None);
    }

    #[test]
    fn the_error_for_an_unknown_name_lists_the_known_ones() {
        let text = |name, known: &[&'static str]| {
            UnknownName::new("suite", name, known.iter().copied()).to_string()
        };
        let known = ["tour", "franklin"];
        let expected = [
            "there is no suite `tuor`; did you mean `tour`?",
            "there is no suite `xyzzy`; the known ones are tour, franklin",
            "there is no suite `tour`; there are none here",
        ];
        let texts = [("tuor", &known[..]), ("xyzzy", &known), ("tour", &[])];
        assert_eq!(texts.map(|(name, known)| text(name, known)), expected);
    }
}
