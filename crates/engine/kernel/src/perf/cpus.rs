//! The CPUs that threads may run on.

use std::fs;
use std::io;

/// The CPUs that are online, by number.
pub(super) fn online() -> io::Result<Vec<i32>> {
    let path = "/sys/devices/system/cpu/online";
    let list = fs::read_to_string(path)?;
    parse(list.trim()).ok_or_else(|| io::Error::other(format!("{path} has no list: {list:?}")))
}

/// A list such as `0-3,8`.
fn parse(list: &str) -> Option<Vec<i32>> {
    let mut cpus = Vec::new();
    for range in list.split(',') {
        let (first, last) = range.split_once('-').unwrap_or((range, range));
        let (first, last): (i32, i32) = (first.parse().ok()?, last.parse().ok()?);
        cpus.extend(first..=last);
    }
    (!cpus.is_empty()).then_some(cpus)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_have_numbers_and_ranges() {
        assert_eq!(parse("0"), Some(vec![0]));
        assert_eq!(parse("0-3,8,10-11"), Some(vec![0, 1, 2, 3, 8, 10, 11]));
        assert_eq!(parse(""), None);
        assert_eq!(parse("0-x"), None);
    }

    #[test]
    fn this_machine_has_a_cpu() {
        assert!(!online().unwrap().is_empty());
    }
}
