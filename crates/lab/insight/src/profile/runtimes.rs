//! Runtimes that compile or interpret functions while they run: how they give their names to a profile.

mod names;
mod virtual_machine;

use std::collections::BTreeSet;
use std::fs;
use std::io;

use prony_model::FrameKind;

use crate::profile::naming::named::Named;
use crate::profile::naming::{jit_dump, perf_map};
use crate::profile::process::{Processes, program_of};
use crate::variable::RuntimeVariable;

const MODULE: &str = "[jit]";

/// A runtime, by the name of its program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Runtime {
    Bun,
    Deno,
    Java,
    Node,
    Php,
    Python,
    Ruby,
}

impl Runtime {
    /// The runtime whose program or library has this name: `python3.12`, `libruby.so.3.1`.
    pub(crate) fn of_file(name: &str) -> Option<Runtime> {
        let name = name.strip_prefix("lib").unwrap_or(name);
        let is = |start: &str| {
            let rest = name.strip_prefix(start)?;
            (!rest.starts_with(|next: char| next.is_ascii_alphabetic() || next == '-'))
                .then_some(())
        };
        let known = [
            ("bun", Runtime::Bun),
            ("deno", Runtime::Deno),
            ("java", Runtime::Java),
            ("jvm", Runtime::Java),
            ("node", Runtime::Node),
            ("php", Runtime::Php),
            ("php-fpm", Runtime::Php),
            ("python", Runtime::Python),
            ("pypy", Runtime::Python),
            ("ruby", Runtime::Ruby),
        ];
        known
            .into_iter()
            .find_map(|(start, runtime)| is(start).map(|()| runtime))
    }

    /// It runs functions without compiling them first, so that they have no code of their own.
    pub(crate) fn is_interpreter(self) -> bool {
        matches!(self, Runtime::Php | Runtime::Python | Runtime::Ruby)
    }

    /// Why functions of this runtime have no names, and what gives them some.
    pub(crate) fn why_unnamed(self) -> &'static str {
        match self {
            Runtime::Bun => "Bun wrote no jitdump file: it needs BUN_JSC_useJITDump=1",
            Runtime::Deno => "Deno wrote no perf map: Deno 2 or newer reads DENO_V8_FLAGS",
            Runtime::Java => {
                "the JVM wrote no perf map: `jcmd PID Compiler.perfmap` needs a JDK 17 or newer and the same user"
            }
            Runtime::Node => "Node wrote no perf map: it needs `--perf-basic-prof-only-functions`",
            Runtime::Php => "PHP does not tell profilers which of its functions runs",
            Runtime::Python => "Python 3.12 or newer names its functions in a profile",
            Runtime::Ruby => "Ruby does not tell profilers which of its functions runs",
        }
    }
}

/// The variables with which runtimes name their functions in profiles. A server that was started with them leaves files in `/tmp`: see [`forget`].
pub const NAMING_ENVIRONMENT: [RuntimeVariable; 6] = [
    // Both are among the options of V8 that NODE_OPTIONS may have. Unlike `--perf-basic-prof`, the first writes no log to
    // the working directory. The second gives each interpreted function an address of its own.
    RuntimeVariable {
        name: "NODE_OPTIONS",
        value: "--perf-basic-prof-only-functions --interpreted-frames-native-stack",
        separator: Some(' '),
    },
    RuntimeVariable {
        name: "DENO_V8_FLAGS",
        value: "--perf-basic-prof-only-functions,--interpreted-frames-native-stack",
        separator: Some(','),
    },
    // Its names are read with jcmd at the end.
    RuntimeVariable {
        name: "JAVA_TOOL_OPTIONS",
        value: "-XX:+PreserveFramePointer",
        separator: Some(' '),
    },
    RuntimeVariable {
        name: "PYTHONPERFSUPPORT",
        value: "1",
        separator: None,
    },
    RuntimeVariable {
        name: "BUN_JSC_useJITDump",
        value: "1",
        separator: None,
    },
    RuntimeVariable {
        name: "BUN_JSC_jitDumpDirectory",
        value: "/tmp",
        separator: None,
    },
];

/// Removes the perf maps and jitdump files that these processes left in `/tmp`.
pub fn forget(pids: &BTreeSet<i32>) {
    let paths = pids
        .iter()
        .flat_map(|&pid| [perf_map::paths(pid), jit_dump::paths(pid)].concat());
    for path in paths {
        let is_file = fs::symlink_metadata(&path).is_ok_and(|file| file.is_file());
        if is_file {
            // It belongs to another user, who keeps it.
            let _ = fs::remove_file(path);
        }
    }
}

/// A name for each address of a process that belongs to no file.
pub(crate) fn names(pid: i32, addresses: &[u64], processes: &Processes) -> Vec<Named> {
    let program = program_of(pid);
    let runtime = program.as_deref().and_then(Runtime::of_file);
    if runtime == Some(Runtime::Java) {
        virtual_machine::write_perf_map(pid);
    }
    let own = written(pid, addresses).ok();
    let why = why_unnamed(runtime, program.as_deref(), own.is_some());
    let mut found = own.unwrap_or_else(|| vec![None; addresses.len()]);
    if runtime == Some(Runtime::Python) {
        inherit(&mut found, pid, addresses, processes);
    }
    let named = found.into_iter().map(|name| match name {
        Some(name) => Named::function(names::plain(&name), MODULE, FrameKind::Runtime),
        None => Named::unknown(MODULE, FrameKind::Runtime, why.clone()),
    });
    named.collect()
}

fn written(pid: i32, addresses: &[u64]) -> io::Result<Vec<Option<String>>> {
    let in_map = || perf_map::names(perf_map::open(pid)?, addresses);
    let in_dump = || jit_dump::names(jit_dump::open(pid)?, addresses);
    in_map().or_else(|_| in_dump())
}

/// A child of Python goes on to use what its parent compiled before the fork.
fn inherit(found: &mut [Option<String>], pid: i32, addresses: &[u64], processes: &Processes) {
    let program = program_of(pid);
    // Nothing is known of the program of one that has ended.
    let is_same = |pid: &i32| program_of(*pid).is_none_or(|name| Some(name) == program);
    for ancestor in processes.ancestors(pid).take_while(is_same) {
        let inherited = written(ancestor, addresses).unwrap_or_default();
        for (name, inherited) in found.iter_mut().zip(inherited) {
            *name = name.take().or(inherited);
        }
    }
}

fn why_unnamed(runtime: Option<Runtime>, program: Option<&str>, wrote: bool) -> String {
    match (runtime, program) {
        (_, Some(program)) if wrote => {
            format!("{program} names only the functions that it compiles, not its own code")
        }
        (Some(runtime), _) => runtime.why_unnamed().to_owned(),
        (None, Some(program)) => {
            format!("{program} compiled it while it ran, and wrote no perf map")
        }
        (None, None) => "the process ended before its names could be read".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runtimes_have_the_names_of_their_programs() {
        let of = Runtime::of_file;
        assert_eq!(of("python3.12"), Some(Runtime::Python));
        assert_eq!(of("libpython3.11.so.1.0"), Some(Runtime::Python));
        assert_eq!(of("node"), Some(Runtime::Node));
        assert_eq!(of("nodejs"), None);
        assert_eq!(of("libruby-3.1.so"), None);
        assert_eq!(of("libruby.so.3.1"), Some(Runtime::Ruby));
        assert_eq!(of("java"), Some(Runtime::Java));
        assert_eq!(of("javac"), None);
        assert_eq!(of("server"), None);
    }
}
