//! No process outlives its stop, or Prony.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use crate::support::{LONG, alive, pids, stubborn, supervisor, until};
use prony_server::{Exit, RunError, SpawnError, Task};
use prony_system::{allowed_cpus, monotonic_ns};

fn task(folder: &Path, command: &[&str]) -> Task {
    Task {
        command: command.iter().map(|&word| word.to_owned()).collect(),
        folder: folder.to_owned(),
        env: vec![("GREETING".into(), "hello".into())],
        removed_env: vec!["CARGO_PKG_NAME".into()],
        log: folder.join("log"),
        error_log: None,
        scratch: None,
        cpus: Vec::new(),
    }
}

fn log(folder: &Path) -> String {
    std::fs::read_to_string(folder.join("log")).unwrap()
}

#[test]
fn a_command_runs_in_its_folder_with_its_variables_and_its_output_in_the_log() {
    let folder = tempfile::tempdir().unwrap();
    let before = monotonic_ns();
    let command = ["sh", "-c", "pwd; echo $GREETING >&2; cat; exit 3"];
    let mut supervised = supervisor().spawn(&task(folder.path(), &command)).unwrap();
    assert!((before..monotonic_ns()).contains(&supervised.started_at_ns()));
    assert_eq!(supervised.wait(LONG), Some(Exit::Code(3)));
    let path = folder.path().canonicalize().unwrap();
    assert_eq!(log(folder.path()), format!("{}\nhello\n", path.display()));
}

#[test]
fn a_command_does_not_get_the_variables_that_are_removed() {
    let folder = tempfile::tempdir().unwrap();
    // Cargo sets both for a test.
    let command = ["sh", "-c", "echo $CARGO_PKG_VERSION ${CARGO_PKG_NAME-none}"];
    let mut supervised = supervisor().spawn(&task(folder.path(), &command)).unwrap();
    assert_eq!(supervised.wait(LONG), Some(Exit::Code(0)));
    let version = std::env::var("CARGO_PKG_VERSION").unwrap();
    assert_eq!(log(folder.path()), format!("{version} none\n"));
}

#[test]
fn a_missing_program_is_reported_with_its_name() {
    let folder = tempfile::tempdir().unwrap();
    let error = supervisor()
        .spawn(&task(folder.path(), &["no-such-program", "x"]))
        .unwrap_err();
    assert!(matches!(error, SpawnError::Command(_)), "{error}");
    let text = error.to_string();
    assert!(
        text.contains("no-such-program") && text.contains("No such file"),
        "{text}"
    );
    let missing = folder.path().join("none");
    let error = supervisor().spawn(&task(&missing, &["true"])).unwrap_err();
    assert!(error.to_string().contains("there is no folder"), "{error}");
}

#[test]
fn a_supervisor_that_cannot_be_started_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let supervisor = prony_server::SupervisorProgram::new(folder.path().join("no-supervisor"));
    let error = supervisor
        .spawn(&task(folder.path(), &["true"]))
        .unwrap_err();
    assert!(matches!(error, SpawnError::Supervisor { .. }), "{error}");
}

#[test]
fn the_command_is_pinned_and_takes_signals_again() {
    let folder = tempfile::tempdir().unwrap();
    let cpu = *allowed_cpus().unwrap().last().unwrap();
    let mut task = task(
        folder.path(),
        &[
            "grep",
            "-E",
            "Cpus_allowed_list|SigBlk",
            "/proc/self/status",
        ],
    );
    task.cpus = vec![cpu];
    let exit = supervisor().run(&task, &AtomicBool::new(false)).unwrap();
    assert!(exit.success());
    let log = log(folder.path());
    assert!(
        log.contains(&format!("Cpus_allowed_list:\t{cpu}\n")),
        "{log}"
    );
    assert!(log.contains("SigBlk:\t0000000000000000"), "{log}");
}

#[test]
fn a_missing_cpu_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let mut task = task(folder.path(), &["true"]);
    task.cpus = vec![1023];
    let error = supervisor().spawn(&task).unwrap_err();
    assert!(error.to_string().contains("CPUs 1023"), "{error}");
}

#[test]
fn stop_gives_the_command_a_grace_period() {
    let folder = tempfile::tempdir().unwrap();
    let script = "trap 'echo bye; exit 7' TERM; echo ready; while :; do sleep 0.02; done";
    let mut supervised = supervisor()
        .spawn(&task(folder.path(), &["sh", "-c", script]))
        .unwrap();
    until("the trap", || {
        log(folder.path()).contains("ready").then_some(())
    });
    assert_eq!(supervised.stop(LONG), Exit::Code(7));
    assert_eq!(
        supervised.stop(LONG),
        Exit::Code(7),
        "the second stop changes nothing"
    );
    assert!(log(folder.path()).contains("bye"));
}

#[test]
fn stop_kills_what_ignores_sigterm_forks_twice_and_leaves_the_session() {
    let folder = tempfile::tempdir().unwrap();
    stubborn(folder.path());
    let mut supervised = supervisor()
        .spawn(&task(folder.path(), &["python3", "stubborn.py"]))
        .unwrap();
    let pids = pids(&folder.path().join("pids"), 4);
    assert!(pids.iter().all(|&pid| alive(pid)));
    let exit = supervised.stop(Duration::from_millis(50));
    assert_eq!(exit, Exit::Signal(9));
    assert!(pids.iter().all(|&pid| !alive(pid)), "{pids:?}");
    assert!(!alive(supervised.supervisor_pid()));
}

#[test]
fn leftover_processes_are_killed_when_a_command_ends() {
    let folder = tempfile::tempdir().unwrap();
    let script =
        "setsid sh -c 'echo $$ >> pids; sleep 600' & while ! [ -s pids ]; do sleep 0.01; done";
    let task = task(folder.path(), &["sh", "-c", script]);
    assert!(
        supervisor()
            .run(&task, &AtomicBool::new(false))
            .unwrap()
            .success()
    );
    assert!(!alive(pids(&folder.path().join("pids"), 1)[0]));
}

#[test]
fn going_into_the_background_differs_from_ending() {
    let folder = tempfile::tempdir().unwrap();
    let exit = |script: &str| {
        let task = task(folder.path(), &["sh", "-c", script]);
        supervisor().run(&task, &AtomicBool::new(false)).unwrap()
    };
    assert_eq!(exit("sleep 600 & sleep 600 & exit 0"), Exit::Background(2));
    assert_eq!(exit("sleep 600 & exit 3"), Exit::Code(3));
    // A zombie does not count as still running.
    assert_eq!(exit("true & sleep 0.2; exit 0"), Exit::Code(0));
}

#[test]
fn standard_error_may_have_a_log_of_its_own_and_the_scratch_folder_goes_with_the_tree() {
    let folder = tempfile::tempdir().unwrap();
    let scratch = folder.path().join("scratch");
    std::fs::create_dir(&scratch).unwrap();
    let script = "echo out; echo err >&2; mkdir -p scratch/a; echo x >scratch/a/b";
    let mut task = task(folder.path(), &["sh", "-c", script]);
    task.error_log = Some(folder.path().join("errors"));
    task.scratch = Some(scratch.clone());
    assert!(
        supervisor()
            .run(&task, &AtomicBool::new(false))
            .unwrap()
            .success()
    );
    let errors = std::fs::read_to_string(folder.path().join("errors")).unwrap();
    assert_eq!(
        (log(folder.path()), errors),
        ("out\n".to_owned(), "err\n".to_owned())
    );
    assert!(!scratch.exists());
}

#[test]
fn a_drop_kills_the_tree() {
    let folder = tempfile::tempdir().unwrap();
    stubborn(folder.path());
    let supervised = supervisor()
        .spawn(&task(folder.path(), &["python3", "stubborn.py"]))
        .unwrap();
    let pids = pids(&folder.path().join("pids"), 4);
    drop(supervised);
    assert!(pids.iter().all(|&pid| !alive(pid)), "{pids:?}");
}

#[test]
fn an_interrupt_ends_a_run() {
    let folder = tempfile::tempdir().unwrap();
    let task = task(folder.path(), &["sh", "-c", "echo $$ > pids; sleep 600"]);
    let interrupt = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let run = scope.spawn(|| supervisor().run(&task, &interrupt));
        let pid = pids(&folder.path().join("pids"), 1)[0];
        interrupt.store(true, Ordering::Relaxed);
        let error = run.join().unwrap().unwrap_err();
        assert!(matches!(error, RunError::Interrupted), "{error}");
        assert!(!alive(pid));
    });
}

/// Starts a stand-in for Prony with the stubborn tree; returns its id, its supervisor's and the tree's.
fn hold(folder: &Path) -> (std::process::Child, i32, Vec<i32>) {
    stubborn(folder);
    let mut prony = Command::new(supervisor().path())
        .args(["hold", "log", "python3", "stubborn.py"])
        .current_dir(folder)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut line = String::new();
    BufReader::new(prony.stdout.take().unwrap())
        .read_line(&mut line)
        .unwrap();
    (
        prony,
        line.trim().parse().unwrap(),
        pids(&folder.join("pids"), 4),
    )
}

#[test]
fn sigkill_of_prony_kills_the_whole_tree() {
    let folder = tempfile::tempdir().unwrap();
    let (mut prony, supervisor_pid, pids) = hold(folder.path());
    assert!(pids.iter().all(|&pid| alive(pid)));
    prony.kill().unwrap();
    prony.wait().unwrap();
    until("the end of the tree", || {
        let all = pids.iter().chain([&supervisor_pid]);
        (!all.copied().any(alive)).then_some(())
    });
}

#[test]
fn sigterm_to_the_supervisor_kills_the_whole_tree() {
    let folder = tempfile::tempdir().unwrap();
    let (mut prony, supervisor_pid, pids) = hold(folder.path());
    let status = Command::new("kill")
        .arg(supervisor_pid.to_string())
        .status();
    assert!(status.unwrap().success());
    assert!(prony.wait().unwrap().success(), "the stand-in sees the end");
    assert!(pids.iter().all(|&pid| !alive(pid)), "{pids:?}");
}

#[test]
fn sigkill_of_the_supervisor_kills_the_command_and_its_group() {
    let folder = tempfile::tempdir().unwrap();
    let script = "sleep 600 & echo forked $!; wait";
    let mut supervised = supervisor()
        .spawn(&task(folder.path(), &["sh", "-c", script]))
        .unwrap();
    let child = until("the fork", || {
        let log = log(folder.path());
        log.strip_prefix("forked ")?
            .strip_suffix('\n')?
            .parse()
            .ok()
    });
    let pid = supervised.pid();
    let kill = ["-9".to_owned(), supervised.supervisor_pid().to_string()];
    assert!(Command::new("kill").args(kill).status().unwrap().success());
    assert_eq!(supervised.wait(LONG), Some(Exit::Lost));
    until("the end of the command", || {
        (!alive(pid) && !alive(child)).then_some(())
    });
}
