//! What a user without rights gets. It is this test program, started again as another user.

use std::fs;
use std::io::{self, Write};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;

use nix::unistd::geteuid;
use prony_insight::trace::{Activity, SystemCalls};
use prony_testkit::contains;
use prony_testkit::processes::{copy_program, threads_of};

use crate::trace::known::again;

const NOBODY: u32 = 65_534;

#[test]
fn a_user_without_rights_gets_the_reason_the_remedy_and_the_figures_of_proc() {
    if !geteuid().is_root() {
        let _ = writeln!(io::stderr(), "skipped: only root can become another user");
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).unwrap();
    let program = folder.path().join("program");
    copy_program(std::env::current_exe().unwrap(), &program);
    let said = as_nobody(&program, "unprivileged::trace_without_rights");
    let said = |name: &str| {
        let line = said.lines().find_map(|line| line.split_once(name));
        line.unwrap_or_else(|| panic!("no {name} in {said}"))
            .1
            .to_owned()
    };
    assert_eq!(said("WHAT "), "system calls by name");
    assert!(said("WHY ").starts_with("the kernel lets only root trace system calls ("));
    let remedy = said("REMEDY ");
    contains(&remedy, "sudo setcap cap_perfmon,cap_dac_read_search");
    assert_ne!(said("THREADS "), "0");
    try_remedy(&program, &remedy);
}

/// The remedy is one command, and it suffices.
fn try_remedy(program: &Path, remedy: &str) {
    let command = shlex::split(remedy.strip_prefix("sudo ").unwrap()).unwrap();
    assert_eq!(Path::new(command.last().unwrap()), program);
    match Command::new(&command[0]).args(&command[1..]).status() {
        Ok(status) if status.success() => {}
        // Not every machine has setcap, and not every file system has capabilities.
        other => {
            let _ = writeln!(io::stderr(), "skipped the remedy: {other:?}");
            return;
        }
    }
    let said = as_nobody(program, "unprivileged::trace_without_rights");
    assert!(said.contains("TRACED true"), "{said}");
}

fn as_nobody(program: &Path, test: &str) -> String {
    let mut command = again(program, test);
    command.uid(NOBODY).gid(NOBODY).current_dir("/");
    let output = command.output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(said.contains("running 1 test"), "{said}");
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}{errors}");
    said
}

/// Not a test of its own: it prints what this user gets.
#[test]
#[ignore = "another test runs this as another user"]
fn trace_without_rights() {
    let pid = std::process::id();
    match SystemCalls::start(|| threads_of(pid), &[]) {
        Ok(calls) => {
            let _ = fs::read("/proc/self/stat");
            let traced = calls.finish();
            let is_complete = traced.wake_ups.is_some() && traced.unavailable.is_empty();
            println!("TRACED {}", is_complete && traced.by_name["read"] > 0);
        }
        Err(unavailable) => {
            println!("WHAT {}\nWHY {}", unavailable.what, unavailable.why);
            println!("REMEDY {}", unavailable.remedy.unwrap_or_default());
        }
    }
    let pids = [pid.cast_signed()];
    let before = Activity::read(&pids).unwrap();
    (0..100_000_u64).for_each(|number| assert_ne!(std::hint::black_box(number), 1 << 20));
    let used = Activity::read(&pids).unwrap().since(&before);
    println!("THREADS {}", used.busy_threads);
}
