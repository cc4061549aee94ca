//! Names that are the same in every build.

use std::borrow::Cow;
use std::sync::LazyLock;

use regex::Regex;

/// Patterns of what compilers add, and what replaces it.
static RULES: LazyLock<Vec<(Regex, &'static str)>> = LazyLock::new(|| {
    let rules = [
        // Rust: the hash of a function, and of a crate.
        (r"::h[0-9a-f]{16}$", ""),
        (r"\[[0-9a-f]{12,16}\]", ""),
        // Rust and Go number closures.
        (r"\{closure#\d+\}", "{closure}"),
        (r"\.func\d+(\.\d+)*", ".func"),
        (r"\.gowrap\d+", ".gowrap"),
        (r"\.abi(0|internal)$", ""),
        // LLVM and GCC mark copies of a function.
        (r"\.llvm\.\d+", ""),
        (r"\.(constprop|isra|part|lto_priv|clone)\.\d+", ""),
        (r"\.cold(\.\d+)?$", ""),
        // Lambdas of Java, and addresses.
        (r"\$\$Lambda(\$\d+)?(/0x[0-9a-f]+)?", "$$$$Lambda"),
        (r"0x[0-9a-f]{5,}", "0x…"),
    ];
    let compiled = rules.into_iter();
    compiled
        .filter_map(|(pattern, replacement)| Some((Regex::new(pattern).ok()?, replacement)))
        .collect()
});

/// A function's name without what differs between two builds of the same source, such as the hash in
/// `work::h0123456789abcdef`.
pub(super) fn same_in_every_build(name: &str) -> Cow<'_, str> {
    let mut normal = Cow::Borrowed(name);
    for (pattern, replacement) in RULES.iter() {
        let replaced = pattern.replace_all(&normal, *replacement);
        if let Cow::Owned(replaced) = replaced {
            normal = Cow::Owned(replaced);
        }
    }
    normal
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_rule_is_a_pattern() {
        assert_eq!(RULES.len(), 11);
    }

    #[test]
    fn hashes_numbers_and_addresses_are_left_out() {
        for (name, expected) in [
            ("server::work::h0123456789abcdef", "server::work"),
            ("core[9f2b4c1a3d5e6f70]::ptr::drop", "core::ptr::drop"),
            ("a::b::{closure#3}", "a::b::{closure}"),
            ("main.main.func1.2", "main.main.func"),
            ("main.run.gowrap1", "main.run.gowrap"),
            ("runtime.goexit.abi0", "runtime.goexit"),
            ("work.constprop.0", "work"),
            ("work.part.3.cold", "work"),
            ("std::vector<int>::push_back", "std::vector<int>::push_back"),
            ("App$$Lambda$14/0x00007f1c.run()", "App$$Lambda.run()"),
            ("stub_0x7f001234", "stub_0x…"),
            ("handle::here", "handle::here"),
        ] {
            assert_eq!(same_in_every_build(name), expected);
        }
    }
}
