//! However Prony ends, no process of a server is left, and its results are kept.

use std::fs;

use crate::common::processes::{await_none, token, with};
use crate::common::project::{Project, manifest, trials};
use crate::common::{self, Ended, Running, until};
use nix::sys::signal::Signal;
use prony_testkit::server::{self, Change, hang};
use serde_json::Value;

pub const CHANGES: [(&str, Change); 1] = [("only-hello", |request, _| {
    if request.path != "/hello" {
        hang();
    }
})];

/// Processes that do everything to survive: they ignore SIGTERM and SIGINT, leave the session, and
/// lose their parent.
const STUBBORN: &str = "trap '' TERM INT HUP
(PORT=0 setsid \"$0\" \"$@\" &)
exec \"$0\" \"$@\"";

/// The supervisor, the server, and the process that left the session.
const PROCESSES: usize = 3;

/// A run of a stubborn server in the middle of a trial, with the trials of one round in the
/// store.
fn in_mid_trial(project: &Project, token: &str) -> Running {
    project.wrapped("stubborn", STUBBORN, "right", token);
    let more = ["--rounds", "100", "--duration", "300ms"];
    let mut running = Running::start(project.measure("stubborn", "hello", &more));
    running.await_stderr("round 2 of 100");
    until("the server", || {
        (with(token).len() >= PROCESSES).then_some(())
    });
    running
}

#[test]
fn when_prony_is_killed_its_servers_end_and_its_record_stays() {
    let (project, token) = (Project::new(), token());
    let running = in_mid_trial(&project, &token);
    running.signal(Signal::SIGKILL);
    assert_eq!(running.end().code, None);
    await_none(&token);

    let record = project.export();
    assert_eq!(record["run"]["end"], "open");
    assert!(!trials(&record, "stubborn", "measured").is_empty());
    let report = project.run(&["report"]).with(0).prints("stubborn");
    let id = record["run"]["id"].as_str().unwrap();
    let markdown = project.state("runs").join(id).join("report.md");
    let markdown = fs::read_to_string(markdown).unwrap();
    for text in [&report.stdout, &markdown] {
        assert!(
            text.contains("Prony was killed: rounds are missing"),
            "{text}"
        );
    }
    let list = project.run(&["report", "--list"]).with(0);
    assert!(list.lines(id)[0].contains("open"), "{}", list.stdout);
}

/// Stops a run with a signal, and gives its end and its record.
fn stopped_by(signal: Signal) -> (Ended, Value) {
    let (project, token) = (Project::new(), token());
    let running = in_mid_trial(&project, &token);
    running.signal(signal);
    let ended = running.end().with(130).prints("stubborn").prints("report ");
    // It ends only after its servers.
    assert_eq!(with(&token), Vec::<i32>::new());
    let record = project.export();
    let id = record["run"]["id"].as_str().unwrap();
    let folder = project.state("runs").join(id);
    let markdown = fs::read_to_string(folder.join("report.md")).unwrap();
    assert!(markdown.contains("You stopped this run"), "{markdown}");
    assert!(folder.join("report.html").is_file());
    (ended, record)
}

#[test]
fn when_prony_is_interrupted_its_servers_end_and_results_are_reported() {
    for signal in [Signal::SIGINT, Signal::SIGTERM] {
        let (ended, record) = stopped_by(signal);
        assert_eq!(record["run"]["end"], "interrupted");
        assert!(record["run"]["finished_at"].is_string());
        assert!(!trials(&record, "stubborn", "measured").is_empty());
        // The stopped trial is not a failure of the server.
        let failed = trials(&record, "stubborn", "failed").len();
        assert_eq!(failed, 0, "{}", ended.all());
        assert!(
            ended.stdout.contains("You stopped this run"),
            "{}",
            ended.all()
        );
    }
}

/// Whether the process has yet to receive the signal.
fn is_pending(process: u32, signal: Signal) -> bool {
    let status = fs::read_to_string(format!("/proc/{process}/status")).unwrap();
    let mut masks = status.lines().filter_map(|line| {
        let mask = line.strip_prefix("ShdPnd:")?;
        Some(u64::from_str_radix(mask.trim(), 16).unwrap())
    });
    masks.any(|mask| mask & (1 << (signal as i32 - 1)) != 0)
}

#[test]
fn two_signals_end_prony_and_its_servers_with_it() {
    let (project, token) = (Project::new(), token());
    // It responds to little, so verification takes long.
    project.command("slow", &server::command("only-hello", &token));
    let running = Running::start(project.prony(&["verify", "slow"]));
    until("the server", || (with(&token).len() >= 2).then_some(()));
    running.signal(Signal::SIGINT);
    // Two signals in quick succession would count as one.
    until("the first signal", || {
        (!is_pending(running.id(), Signal::SIGINT)).then_some(())
    });
    running.signal(Signal::SIGINT);
    running.end().with(130);
    await_none(&token);
}

#[test]
fn a_build_ends_with_prony() {
    for signal in [Signal::SIGINT, Signal::SIGKILL] {
        let (project, token) = (Project::new(), token());
        let sleeps = format!("(sh -c 'sleep 3600' {token}; true) & sh -c 'sleep 3600' {token}");
        let build = format!("build = [[\"sh\", \"-c\", {sleeps:?}]]\n");
        project.manifest("slow-build", &(manifest(&["true"]) + &build));
        let more = ["--rounds", "1"];
        let running = Running::start(project.measure("slow-build", "hello", &more));
        until("the build", || (with(&token).len() >= 2).then_some(()));
        running.signal(signal);
        let code = running.end().code;
        assert_eq!(code, (signal == Signal::SIGINT).then_some(130));
        await_none(&token);
    }
}

#[test]
fn a_finished_run_leaves_no_processes() {
    let (project, token) = (Project::new(), token());
    project.wrapped("stubborn", STUBBORN, "right", &token);
    let more = ["--rounds", "1"];
    common::run(project.measure("stubborn", "hello", &more)).with(0);
    assert_eq!(with(&token), Vec::<i32>::new());
    let logs: Vec<_> = walk(&project.state("runs"), "log");
    let verify_only = logs.iter().all(|name| name.contains("verify"));
    assert!(verify_only, "logs of trials that went well: {logs:?}");
}

/// The names of the files below `folder` with an extension.
fn walk(folder: &std::path::Path, extension: &str) -> Vec<String> {
    let mut names = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            names.extend(walk(&path, extension));
        } else if path.extension().is_some_and(|found| found == extension) {
            names.push(path.display().to_string());
        }
    }
    names
}
