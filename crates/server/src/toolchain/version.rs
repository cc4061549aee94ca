//! Versions of toolchains: numbers with dots between.

use std::fmt;

/// A version such as `1.22.3`; what follows the numbers (`-rc1`) is left out.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Version(Vec<u64>);

impl Version {
    /// Reads text that is a version and nothing else.
    pub fn parse(text: &str) -> Option<Version> {
        text.split('.')
            .map(|part| part.parse().ok())
            .collect::<Option<Vec<u64>>>()
            .map(Version)
    }

    /// The first version in what a program printed: the one that it calls its `version "…"`, else the
    /// first number with a dot and a number after it.
    pub fn find(output: &str) -> Option<Version> {
        Version::named(output).or_else(|| Version::dotted(output))
    }

    /// Java's way: a new one is `version "25"`, and its other numbers are none of a version.
    fn named(output: &str) -> Option<Version> {
        output
            .split("version \"")
            .skip(1)
            .filter_map(|rest| {
                rest.split(|c: char| !(c.is_ascii_digit() || c == '.'))
                    .next()
            })
            .find_map(Version::parse)
    }

    fn dotted(output: &str) -> Option<Version> {
        output
            .split(|c: char| !(c.is_ascii_digit() || c == '.'))
            .map(|word| word.trim_matches('.'))
            .filter(|word| word.contains('.'))
            .find_map(Version::parse)
    }

    /// Whether it is at least `least`: numbers that are not written count as 0.
    pub fn at_least(&self, least: &Version) -> bool {
        let length = self.0.len().max(least.0.len());
        self.padded(length) >= least.padded(length)
    }

    /// Whether it begins with the numbers of `series`: 0.16.1 is of the series 0.16.
    pub fn of_series(&self, series: &Version) -> bool {
        self.0.starts_with(&series.0)
    }

    fn padded(&self, length: usize) -> Vec<u64> {
        let zeros = std::iter::repeat(0);
        self.0.iter().copied().chain(zeros).take(length).collect()
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let numbers: Vec<String> = self.0.iter().map(u64::to_string).collect();
        f.write_str(&numbers.join("."))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_found_in_what_programs_print() {
        let found = |output| Version::find(output).map(|version| version.to_string());
        assert_eq!(
            found("go version go1.24.1 linux/amd64").as_deref(),
            Some("1.24.1")
        );
        assert_eq!(
            found("cargo 1.95.0 (abc12.3 2026-04-14)").as_deref(),
            Some("1.95.0")
        );
        assert_eq!(found("Python 3.12.0rc1").as_deref(), Some("3.12.0"));
        assert_eq!(found("v22.1.0\n").as_deref(), Some("22.1.0"));
        assert_eq!(
            found("wrk debian/4.1.0-3build1 [epoll]").as_deref(),
            Some("4.1.0")
        );
        assert_eq!(found("no version 3 here."), None);
        assert_eq!(
            found("\u{1b}[1mApache Maven 3.8.7\u{1b}[m\nJava version: 17.0.15").as_deref(),
            Some("3.8.7")
        );
    }

    #[test]
    fn a_version_in_quotes_needs_no_dot() {
        let found = |output| Version::find(output).map(|version| version.to_string());
        let first_of_a_series = "Picked up JAVA_TOOL_OPTIONS: -Da=1.5\nopenjdk version \"25\" 2025-09-16\nOpenJDK (build 25+36)";
        assert_eq!(found(first_of_a_series).as_deref(), Some("25"));
        assert_eq!(found("openjdk version \"26-ea\"").as_deref(), Some("26"));
        assert_eq!(
            found("java version \"1.8.0_392\"").as_deref(),
            Some("1.8.0")
        );
        assert_eq!(found("version \"x\" of 1.2").as_deref(), Some("1.2"));
    }

    #[test]
    fn versions_compare_by_number() {
        let version = |text| Version::parse(text).unwrap();
        assert!(version("1.22").at_least(&version("1.22.0")));
        assert!(version("1.100").at_least(&version("1.22.3")));
        assert!(!version("1.9").at_least(&version("1.22")));
        assert!(version("0.16.1").of_series(&version("0.16")));
        assert!(!version("0.160").of_series(&version("0.16")));
        assert_eq!(Version::parse("1.x"), None);
    }
}
