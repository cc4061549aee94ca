//! Runtimes that compile or interpret functions while they run: how they give their names to a profile.

mod names;
mod virtual_machine;

use std::collections::BTreeSet;
use std::fs;

use prony_model::FrameKind;

use crate::naming::{Named, jit_dump, perf_map};
use crate::process::{Processes, program_of};

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
            Runtime::Node => "Node wrote no perf map: it needs `--perf-basic-prof`",
            Runtime::Php => "PHP does not tell profilers which of its functions runs",
            Runtime::Python => "Python 3.12 or newer names its functions in a profile",
            Runtime::Ruby => "Ruby does not tell profilers which of its functions runs",
        }
    }
}

/// Environment variables with which runtimes name their functions in profiles. Programs that do not know them ignore
/// them. `own` is what the server's environment has already; it is kept.
///
/// A server that was started with them leaves files in `/tmp`: see [`forget`].
pub fn naming_environment(own: impl Fn(&str) -> Option<String>) -> Vec<(&'static str, String)> {
    let added = [
        // Both are among the options of V8 that NODE_OPTIONS may have. The second gives each interpreted function an
        // address of its own.
        (
            "NODE_OPTIONS",
            " ",
            "--perf-basic-prof --interpreted-frames-native-stack",
        ),
        (
            "DENO_V8_FLAGS",
            ",",
            "--perf-basic-prof,--interpreted-frames-native-stack",
        ),
        // Its names are read with jcmd at the end.
        ("JAVA_TOOL_OPTIONS", " ", "-XX:+PreserveFramePointer"),
    ];
    let mut variables: Vec<_> = added
        .into_iter()
        .map(|(name, separator, options)| {
            let own = own(name).filter(|value| !value.trim().is_empty());
            let joined = own.map(|own| format!("{own}{separator}{options}"));
            (name, joined.unwrap_or_else(|| options.to_owned()))
        })
        .collect();
    let others = [
        ("PYTHONPERFSUPPORT", "1"),
        ("BUN_JSC_useJITDump", "1"),
        ("BUN_JSC_jitDumpDirectory", "/tmp"),
    ];
    variables.extend(others.map(|(name, value)| (name, value.to_owned())));
    variables
}

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
        // Without it, the reason is in `why_unnamed`.
        let _ = virtual_machine::write_perf_map(pid);
    }
    let mut found = written(pid, addresses);
    if runtime == Some(Runtime::Python) {
        // A child of Python goes on to use what its parent compiled before the fork.
        for ancestor in processes.ancestors(pid) {
            let same = program_of(ancestor).is_none_or(|name| Some(name) == program);
            if !same || found.iter().all(Option::is_some) {
                break;
            }
            let inherited = written(ancestor, addresses).into_iter();
            for (name, inherited) in found.iter_mut().zip(inherited) {
                *name = name.take().or(inherited);
            }
        }
    }
    let why = match (runtime, program) {
        (Some(runtime), _) => runtime.why_unnamed().to_owned(),
        (None, Some(program)) => {
            format!("{program} compiled it while it ran, and wrote no perf map")
        }
        (None, None) => "the process ended before its names could be read".to_owned(),
    };
    let named = found.into_iter().map(|name| match name {
        Some(name) => Named::function(names::plain(&name), MODULE, FrameKind::Runtime),
        None => Named::unknown(MODULE, FrameKind::Runtime, why.clone()),
    });
    named.collect()
}

/// The names that a process wrote down.
fn written(pid: i32, addresses: &[u64]) -> Vec<Option<String>> {
    let in_map = || perf_map::names(perf_map::open(pid)?, addresses);
    let in_dump = || jit_dump::names(jit_dump::open(pid)?, addresses);
    let found = in_map().or_else(|_| in_dump());
    found.unwrap_or_else(|_| vec![None; addresses.len()])
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

    #[test]
    fn the_own_options_come_first_and_stay() {
        let own = |name: &str| (name == "NODE_OPTIONS").then(|| "--max-old-space-size=64".into());
        let variables = naming_environment(own);
        let value = |name| {
            let found = variables.iter().find(|(known, _)| *known == name);
            found.map(|(_, value)| value.as_str())
        };
        assert_eq!(
            value("NODE_OPTIONS"),
            Some("--max-old-space-size=64 --perf-basic-prof --interpreted-frames-native-stack")
        );
        assert_eq!(
            value("DENO_V8_FLAGS"),
            Some("--perf-basic-prof,--interpreted-frames-native-stack")
        );
        assert_eq!(value("PYTHONPERFSUPPORT"), Some("1"));
    }
}
