//! The CPUs of server and load; lists of CPUs as the kernel writes them.

use std::collections::BTreeSet;
use std::io;
use std::path::Path;

use nix::sched::{CpuSet, sched_getaffinity, sched_setaffinity};
use nix::unistd::Pid;
use prony_model::CpuAssignment;

/// Why text is not a list of CPUs such as `0-1,3`.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum CpuListError {
    #[error("the list of CPUs is empty; write for instance 0-1,3")]
    Empty,
    #[error("`{0}` is neither a CPU nor a range of CPUs; write for instance 0-1,3")]
    NotANumber(String),
    #[error("the range of CPUs `{0}` ends before it starts")]
    Backwards(String),
    #[error("there is no CPU {0}; the highest that can be named is {highest}", highest = CpuSet::count() - 1)]
    TooHigh(usize),
    /// A CPU that does not exist or that this process may not use.
    #[error("CPU {cpu} is not available to Prony, which may use {}", format_cpu_list(.allowed))]
    Unusable { cpu: usize, allowed: Vec<usize> },
    #[error("cannot read which CPUs are available: {0}")]
    Unknown(String),
}

/// Reads a list such as `0-1,3`: sorted, each CPU once.
///
/// # Errors
/// If it is empty, or a part is neither a CPU nor a range.
pub fn parse_cpu_list(text: &str) -> Result<Vec<usize>, CpuListError> {
    if text.trim().is_empty() {
        return Err(CpuListError::Empty);
    }
    let mut cpus = BTreeSet::new();
    for part in text.trim().split(',') {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let number = |digits: &str| {
            digits
                .trim()
                .parse::<usize>()
                .map_err(|_| CpuListError::NotANumber(part.trim().to_owned()))
        };
        let (first, last) = (number(first)?, number(last)?);
        if first > last {
            return Err(CpuListError::Backwards(part.trim().to_owned()));
        }
        if last >= CpuSet::count() {
            return Err(CpuListError::TooHigh(last));
        }
        cpus.extend(first..=last);
    }
    Ok(cpus.into_iter().collect())
}

/// Reads a list such as `0-1,3` of CPUs that this process may use.
///
/// # Errors
/// If it is not such a list, or names a CPU that does not exist.
pub fn usable_cpus(text: &str) -> Result<Vec<usize>, CpuListError> {
    let cpus = parse_cpu_list(text)?;
    let allowed = allowed_cpus().map_err(|error| CpuListError::Unknown(error.to_string()))?;
    match cpus.iter().copied().find(|cpu| !allowed.contains(cpu)) {
        Some(cpu) => Err(CpuListError::Unusable { cpu, allowed }),
        None => Ok(cpus),
    }
}

/// Writes a sorted list as the kernel does: `0-1,3`.
pub fn format_cpu_list(cpus: &[usize]) -> String {
    let mut parts: Vec<String> = Vec::new();
    for run in cpus.chunk_by(|a, b| a + 1 == *b) {
        parts.push(match run {
            [only] => only.to_string(),
            [first, .., last] => format!("{first}-{last}"),
            [] => continue,
        });
    }
    parts.join(",")
}

/// The CPUs that this process may run on, sorted.
///
/// # Errors
/// If the kernel does not report them.
pub fn allowed_cpus() -> io::Result<Vec<usize>> {
    let set = sched_getaffinity(Pid::from_raw(0))?;
    Ok((0..CpuSet::count())
        .filter(|&cpu| set.is_set(cpu).unwrap_or(false))
        .collect())
}

/// The CPUs of this process, halved: the first half for the server, the rest for the load. They share a single CPU.
///
/// Hardware threads of one core stay together as far as the halves allow, so that server and load
/// do not compete for a core.
///
/// # Errors
/// If the kernel does not report which CPUs there are.
pub fn default_assignment() -> io::Result<CpuAssignment> {
    let system = Path::new("/sys/devices/system/cpu");
    Ok(halves(&allowed_cpus()?, |cpu| {
        let file = system.join(format!("cpu{cpu}/topology/thread_siblings_list"));
        let text = std::fs::read_to_string(file).ok()?;
        parse_cpu_list(&text).ok()?.first().copied()
    }))
}

/// Halves `cpus`, keeping those of one core (`core_of`) together.
fn halves(cpus: &[usize], core_of: impl Fn(usize) -> Option<usize>) -> CpuAssignment {
    let mut by_core = cpus.to_vec();
    by_core.sort_by_key(|&cpu| (core_of(cpu).unwrap_or(cpu), cpu));
    let (mut server, mut load) = match by_core.len() {
        0 | 1 => (by_core.clone(), by_core),
        n => (by_core[..n / 2].to_vec(), by_core[n / 2..].to_vec()),
    };
    server.sort_unstable();
    load.sort_unstable();
    CpuAssignment { server, load }
}

/// How many NUMA nodes this machine has; 1 if the kernel does not say.
pub fn numa_nodes() -> usize {
    let is_node = |name: &str| {
        let number = name.strip_prefix("node");
        number.is_some_and(|it| !it.is_empty() && it.bytes().all(|byte| byte.is_ascii_digit()))
    };
    let entries = std::fs::read_dir("/sys/devices/system/node");
    let entries = entries.into_iter().flatten().flatten();
    let nodes = entries.filter(|entry| entry.file_name().to_str().is_some_and(is_node));
    nodes.count().max(1)
}

/// Pins the calling thread (and what it spawns) to `cpus`; an empty list changes nothing.
///
/// # Errors
/// If none of them is a CPU that this process may use.
pub fn pin_current_thread(cpus: &[usize]) -> io::Result<()> {
    if cpus.is_empty() {
        return Ok(());
    }
    let mut set = CpuSet::new();
    for &cpu in cpus {
        set.set(cpu)?;
    }
    Ok(sched_setaffinity(Pid::from_raw(0), &set)?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn faulty_lists_say_what_is_wrong() {
        for (list, expected) in [
            (" ", CpuListError::Empty),
            ("0,,1", CpuListError::NotANumber(String::new())),
            ("0,x-2", CpuListError::NotANumber("x-2".into())),
            ("3-1", CpuListError::Backwards("3-1".into())),
            ("0-99999999", CpuListError::TooHigh(99_999_999)),
        ] {
            assert_eq!(parse_cpu_list(list), Err(expected), "{list}");
        }
    }

    #[test]
    fn unavailable_cpus_are_reported_with_the_available_ones() {
        let allowed = allowed_cpus().unwrap();
        let list = format_cpu_list(&allowed);
        assert_eq!(usable_cpus(&list).as_ref(), Ok(&allowed));
        let cpu = CpuSet::count() - 1;
        if !allowed.contains(&cpu) {
            let told = usable_cpus(&format!("{},{cpu}", allowed[0])).unwrap_err();
            let expected = format!("CPU {cpu} is not available to Prony, which may use {list}");
            assert_eq!(told.to_string(), expected);
        }
    }

    #[test]
    fn lists_are_written_as_the_kernel_does() {
        assert_eq!(parse_cpu_list("0-1,3\n"), Ok(vec![0, 1, 3]));
        assert_eq!(format_cpu_list(&[0, 1, 2, 5, 7, 8]), "0-2,5,7-8");
        assert_eq!(format_cpu_list(&[]), "");
    }

    #[test]
    fn halves_keep_the_threads_of_a_core_together() {
        // Four cores, numbered as most machines do: the second threads come after all the first.
        let split = halves(&[0, 1, 2, 3, 4, 5, 6, 7], |cpu| Some(cpu % 4));
        assert_eq!(
            (split.server, split.load),
            (vec![0, 1, 4, 5], vec![2, 3, 6, 7])
        );
    }

    #[test]
    fn one_cpu_is_shared_and_an_odd_one_goes_to_the_load() {
        assert!(halves(&[6], |_| None).shared());
        let three = halves(&[0, 1, 2], |_| None);
        assert_eq!((three.server, three.load), (vec![0], vec![1, 2]));
    }

    proptest! {
        #[test]
        fn lists_round_trip(cpus in prop::collection::btree_set(0usize..1024, 1..60)) {
            let cpus: Vec<usize> = cpus.into_iter().collect();
            prop_assert_eq!(parse_cpu_list(&format_cpu_list(&cpus)), Ok(cpus));
        }

        #[test]
        fn any_text_is_parsed_without_a_panic(text in "[0-9,x -]{0,20}") {
            if let Ok(cpus) = parse_cpu_list(&text) {
                prop_assert!(cpus.windows(2).all(|pair| pair[0] < pair[1]));
            }
        }

        #[test]
        fn halves_are_disjoint_and_complete(cpus in prop::collection::btree_set(0usize..256, 2..40), cores in 1usize..16) {
            let cpus: Vec<usize> = cpus.into_iter().collect();
            let split = halves(&cpus, |cpu| Some(cpu % cores));
            prop_assert!(!split.shared());
            let mut all = [split.server, split.load].concat();
            all.sort_unstable();
            prop_assert_eq!(all, cpus);
        }
    }
}
