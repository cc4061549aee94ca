//! What a build reads outside its folder: a file, a folder, or a pattern.

use globset::{Glob, GlobBuilder, GlobMatcher};

use super::{Place, Word};

/// An entry of `inputs`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Input {
    /// The file or folder; of a pattern, the folder that it begins in.
    pub path: Word,
    /// The rest, if it is a pattern: which files below that folder.
    pub pattern: Option<Pattern>,
}

/// A pattern of paths below a folder: `*`, `?`, `[…]` and `{…,…}` within a name, `**` for any folders.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pattern(Glob);

impl Pattern {
    /// # Errors
    /// If it is no pattern, with what is wrong.
    pub fn new(text: &str) -> Result<Pattern, String> {
        let glob = GlobBuilder::new(text).literal_separator(true).build();
        glob.map(Pattern).map_err(|error| {
            let why = error.kind();
            format!("`{text}` is not a valid file pattern: {why}; write one like `src/**/*.rs`")
        })
    }

    /// As it was written.
    pub fn as_str(&self) -> &str {
        self.0.glob()
    }

    /// What says whether a path matches it.
    pub fn matcher(&self) -> GlobMatcher {
        self.0.compile_matcher()
    }
}

impl Input {
    /// # Errors
    /// If a placeholder is unknown or the pattern is none.
    pub fn new(text: &str) -> Result<Input, String> {
        let names: Vec<&str> = text.split('/').collect();
        let literal = names.iter().position(|name| is_pattern(name));
        let literal = literal.unwrap_or(names.len());
        let path = match names[..literal].join("/") {
            // Below the root, or below the server's own folder.
            path if path.is_empty() && literal > 0 => "/".to_owned(),
            path if path.is_empty() => ".".to_owned(),
            path => path,
        };
        let pattern = match names[literal..].join("/") {
            rest if rest.is_empty() => None,
            rest => Some(Pattern::new(&rest)?),
        };
        Ok(Input {
            path: Word::new(&path, Place::OF_BUILD).map_err(|error| error.to_string())?,
            pattern,
        })
    }
}

/// Whether a name is a pattern: `{out}` is a placeholder, `{rs,toml}` are alternatives.
fn is_pattern(name: &str) -> bool {
    let alternatives = name.split('{').skip(1).any(|rest| {
        rest.split('}')
            .next()
            .is_some_and(|inner| inner.contains(','))
    });
    name.contains(['*', '?', '[']) || alternatives
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parts(text: &str) -> (String, Option<String>) {
        let input = Input::new(text).unwrap();
        let pattern = input.pattern.map(|pattern| pattern.as_str().to_owned());
        (input.path.to_string(), pattern)
    }

    #[test]
    fn a_pattern_begins_at_the_first_name_that_is_one() {
        let some = |pattern: &str| Some(pattern.to_owned());
        assert_eq!(
            parts("{workloads}/echo.proto"),
            ("{workloads}/echo.proto".into(), None)
        );
        assert_eq!(parts("../framework"), ("../framework".into(), None));
        assert_eq!(parts("../fw/**/*.rs"), ("../fw".into(), some("**/*.rs")));
        assert_eq!(parts("*.h"), (".".into(), some("*.h")));
        assert_eq!(parts("/*.h"), ("/".into(), some("*.h")));
        assert_eq!(parts("../a.{c,h}"), ("..".into(), some("a.{c,h}")));
        assert_eq!(
            parts("{workloads}/[a-c]?.x"),
            ("{workloads}".into(), some("[a-c]?.x"))
        );
    }

    #[test]
    fn a_star_stays_within_a_name_and_two_do_not() {
        let matches =
            |pattern: &str, path: &str| Pattern::new(pattern).unwrap().matcher().is_match(path);
        assert!(matches("*.rs", "a.rs") && !matches("*.rs", "src/a.rs"));
        assert!(matches("**/*.rs", "a.rs") && matches("**/*.rs", "src/x/a.rs"));
        assert!(matches("src/*.{rs,toml}", "src/a.toml"));
    }

    #[test]
    fn a_broken_pattern_says_what_is_wrong_with_it() {
        let said = |text: &str| Input::new(text).unwrap_err().to_string();
        let open = said("../fw/[a-c.rs");
        assert!(
            open.starts_with("`[a-c.rs` is not a valid file pattern: "),
            "{open}"
        );
        assert!(open.contains("unclosed character class"), "{open}");
        assert!(said("../fw/{a,b").contains("unclosed alternate group"));
    }
}
