//! What tests and the example need of processes.
#![allow(dead_code, reason = "no test uses all of it")]

use std::collections::BTreeSet;
use std::fs;
use std::io::{self, Write};
use std::process::{Child, Command, Stdio};

use prony_insight::profile::{Options, Profiler};
use prony_model::{Profile, Stack, Unavailable};
use prony_testkit::{processes, until};

/// The kernel ids of all threads of some processes and of their descendants.
pub(crate) fn threads_of(pids: &[i32]) -> io::Result<BTreeSet<i32>> {
    let tree = descendants_of(pids).into_iter();
    Ok(tree.flat_map(processes::threads_of).flatten().collect())
}

pub(crate) fn descendants_of(pids: &[i32]) -> BTreeSet<i32> {
    let mut tree: BTreeSet<i32> = pids.iter().copied().collect();
    let parents = parents();
    loop {
        let before = tree.len();
        for (child, parent) in &parents {
            if tree.contains(parent) {
                tree.insert(*child);
            }
        }
        if tree.len() == before {
            return tree;
        }
    }
}

fn parents() -> Vec<(i32, i32)> {
    let processes = fs::read_dir("/proc").into_iter().flatten();
    processes
        .filter_map(|entry| {
            let pid = entry.ok()?.file_name().to_str()?.parse().ok()?;
            let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
            let after_name = &stat[stat.rfind(')')? + 1..];
            let parent = after_name.split_whitespace().nth(1)?.parse().ok()?;
            Some((pid, parent))
        })
        .collect()
}

/// A process that is killed when it is no longer needed, with its descendants.
pub(crate) struct Running {
    pub(crate) child: Child,
    pub(crate) pid: i32,
}

impl Running {
    /// Starts a program that waits for a line on its standard input before it does anything.
    pub(crate) fn start(command: &mut Command) -> Running {
        let child = command.stdin(Stdio::piped()).spawn().unwrap();
        let pid = child.id() as i32;
        Running { child, pid }
    }

    /// Waits until it waits for that line: the code that loads a program is not its own.
    pub(crate) fn await_wait(&self) {
        let stat = format!("/proc/{}/stat", self.pid);
        until("its wait", || {
            let stat = fs::read_to_string(&stat).unwrap();
            stat.contains(") S ").then_some(())
        });
    }

    pub(crate) fn go(&mut self) {
        let stdin = self.child.stdin.as_mut().unwrap();
        stdin.write_all(b"go\n").unwrap();
    }

    /// Stops it for the time being, so that it uses no more CPU time.
    pub(crate) fn pause(&self) {
        let pid = self.pid.to_string();
        let paused = Command::new("kill").args(["-STOP", &pid]).status();
        assert!(paused.unwrap().success());
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        for pid in descendants_of(&[self.pid]) {
            let _ = Command::new("kill")
                .args(["-KILL", &pid.to_string()])
                .stderr(Stdio::null())
                .status();
        }
        let _ = self.child.wait();
    }
}

/// Starts to profile a process, or says that the kernel forbids it: a failure if PRONY_REQUIRE_PERF_EVENTS is set.
pub(crate) fn profile(options: Options, pid: i32) -> Option<Profiler> {
    started(Profiler::start(options, move || threads_of(&[pid])))
}

/// The profiler, or `None` as above.
pub(crate) fn started(profiler: Result<Profiler, Unavailable>) -> Option<Profiler> {
    match profiler {
        Ok(profiler) => Some(profiler),
        Err(error) => {
            let required = std::env::var_os("PRONY_REQUIRE_PERF_EVENTS").is_some();
            assert!(!required, "{error:?}");
            eprintln!("skipped: {}", error.why);
            None
        }
    }
}

/// The shares of all time in functions whose names contain `name`: in themselves, and with what they call.
pub(crate) fn shares(profile: &Profile, name: &str) -> (f64, f64) {
    let total = profile.total();
    let has_name = |&frame: &u32| profile.frames[frame as usize].name.contains(name);
    let sum = |is_counted: &dyn Fn(&Stack) -> bool| {
        let counted = profile.stacks.iter().filter(|stack| is_counted(stack));
        counted.map(|stack| stack.weight).sum::<f64>() / total
    };
    (
        sum(&|stack| stack.frames.last().is_some_and(has_name)),
        sum(&|stack| stack.frames.iter().any(has_name)),
    )
}

pub(crate) fn cpu_seconds(pid: i32) -> f64 {
    let tree = descendants_of(&[pid]).into_iter();
    tree.map(|pid| cpu_seconds_of(&pid.to_string())).sum()
}

/// The CPU time of a process, or of a thread, by its folder in `/proc`.
pub(crate) fn cpu_seconds_of(folder: &str) -> f64 {
    let stat = fs::read_to_string(format!("/proc/{folder}/stat")).unwrap_or_default();
    let after_name = stat.rsplit(')').next().unwrap_or_default();
    let ticks = after_name.split_whitespace().skip(11).take(2);
    let ticks = ticks.filter_map(|field| field.parse::<f64>().ok());
    ticks.sum::<f64>() / 100.0
}

/// Waits until a process and its descendants have used this much more CPU time.
pub(crate) fn use_cpu(pid: i32, seconds: f64) {
    let (mut used, mut before) = (0.0, cpu_seconds(pid));
    until("the CPU time", || {
        let now = cpu_seconds(pid);
        // If the whole machine stands still, that may count as CPU time, but there are no samples of it.
        used += (now - before).clamp(0.0, 0.05);
        before = now;
        (used >= seconds).then_some(())
    });
}

pub(crate) fn waits_of(pid: i32) -> u64 {
    let waits = |thread: i32| -> Option<u64> {
        let status = fs::read_to_string(format!("/proc/{thread}/status")).ok()?;
        let line = status
            .lines()
            .find_map(|line| line.strip_prefix("voluntary_ctxt_switches:"));
        line?.trim().parse().ok()
    };
    let threads = threads_of(&[pid]).unwrap().into_iter();
    threads.filter_map(waits).sum()
}
