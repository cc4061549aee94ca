//! However Prony ends, no process of a server is left, and its results are kept.

use std::fs;
use std::process::Command;

use crate::common::processes::{await_none, token, with};
use crate::common::project::{Project, manifest, trials};
use crate::common::{Running, run, until};
use nix::sys::signal::Signal;
use prony_testkit::contains;
use prony_testkit::server::{self, Change, hang};

pub(crate) const CHANGES: [(&str, Change); 1] = [("only-hello", |request, _| {
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
    let measure = project.measure("stubborn", "hello", "--rounds 100 --duration 300ms");
    let mut running = Running::start(measure);
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
    let report = project.run("report").with(0).prints("stubborn");
    let id = record["run"]["id"].as_str().unwrap();
    let markdown = project.read(&format!(".prony/runs/{id}/report.md"));
    for text in [&report.stdout, &markdown] {
        contains(text, "Prony was killed: rounds are missing");
    }
    let list = project.run("report --list").with(0);
    contains(list.lines(id)[0], "open");
}

#[test]
fn when_prony_is_interrupted_its_servers_end_and_results_are_reported() {
    for signal in [Signal::SIGINT, Signal::SIGTERM] {
        let (project, token) = (Project::new(), token());
        let running = in_mid_trial(&project, &token);
        running.signal(signal);
        let ended = running.end().with(130);
        // It ends only after its servers.
        assert_eq!(with(&token), [0; 0]);
        ended
            .prints("stubborn")
            .prints("report ")
            .prints("You stopped this run");
        let record = project.export();
        assert_eq!(record["run"]["end"], "interrupted");
        assert!(record["run"]["finished_at"].is_string());
        assert!(!trials(&record, "stubborn", "measured").is_empty());
        // The stopped trial is not a failure of the server.
        assert!(trials(&record, "stubborn", "failed").is_empty(), "{record}");
        let folder = format!(".prony/runs/{}", record["run"]["id"].as_str().unwrap());
        let markdown = project.read(&format!("{folder}/report.md"));
        contains(&markdown, "You stopped this run");
        contains(&project.read(&format!("{folder}/report.html")), "</html>");
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
    let running = Running::start(project.prony("verify slow"));
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
        let measure = project.measure("slow-build", "hello", "--rounds 1");
        let running = Running::start(measure);
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
    run(project.measure("stubborn", "hello", "--rounds 1")).with(0);
    assert_eq!(with(&token), [0; 0]);
    let mut find = Command::new("find");
    find.arg(project.state("runs")).args(["-name", "*.log"]);
    let logs = run(find).with(0).stdout;
    let verify_only = logs.lines().all(|name| name.contains("verify"));
    assert!(verify_only, "logs of trials that went well: {logs}");
}
