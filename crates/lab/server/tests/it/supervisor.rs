//! No process outlives its stop, or Prony.

use std::fs::read_to_string;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use crate::support::{LONG, ids_in, is_alive, send, stubborn, supervisor, until};
use nix::sys::signal::Signal;
use prony_kernel::{allowed_cpus, monotonic_ns};
use prony_server::{CommandError, Exit, SpawnError, Supervised, SupervisorProgram, Task};
use prony_testkit::contains;

fn task(folder: &Path, command: &[&str]) -> Task {
    Task {
        command: command.iter().map(|&word| word.to_owned()).collect(),
        folder: folder.to_owned(),
        env: vec![("GREETING".into(), "hello".into())],
        removed_env: vec!["CARGO_PKG_NAME".into()],
        log: folder.join("log"),
        ..Task::default()
    }
}

fn spawn(folder: &Path, command: &[&str]) -> Supervised {
    supervisor().spawn(&task(folder, command)).unwrap()
}

fn run(task: &Task) -> Exit {
    supervisor().spawn(task).unwrap().wait(LONG).unwrap()
}

fn log(folder: &Path) -> String {
    read_to_string(folder.join("log")).unwrap()
}

/// Starts a tree that does all it can to escape, and returns its process ids.
fn spawn_stubborn(folder: &Path) -> (Supervised, Vec<i32>) {
    stubborn(folder);
    let supervised = spawn(folder, &["python3", "stubborn.py"]);
    let pids = ids_in(&folder.join("pids"), 4);
    assert!(pids.iter().all(|&pid| is_alive(pid)));
    (supervised, pids)
}

#[test]
fn a_command_runs_in_its_folder_with_its_variables_and_its_output_in_the_log() {
    let folder = tempfile::tempdir().unwrap();
    let before = monotonic_ns();
    // Cargo sets both variables for a test; one of them is removed.
    let cargo = "echo $CARGO_PKG_VERSION ${CARGO_PKG_NAME-none}";
    let script = format!("pwd; echo $GREETING >&2; {cargo}; cat; exit 3");
    let mut supervised = spawn(folder.path(), &["sh", "-c", &script]);
    assert!((before..monotonic_ns()).contains(&supervised.started_at_ns()));
    assert_eq!(supervised.wait(LONG), Some(Exit::Code(3)));
    let path = folder.path().canonicalize().unwrap();
    let version = std::env::var("CARGO_PKG_VERSION").unwrap();
    let expected = format!("{}\nhello\n{version} none\n", path.display());
    assert_eq!(log(folder.path()), expected);
}

#[test]
fn what_cannot_be_started_is_reported_with_its_name() {
    let folder = tempfile::tempdir().unwrap();
    let error = |task: &Task| supervisor().spawn(task).unwrap_err();
    let missing = error(&task(folder.path(), &["no-such-program", "x"]));
    assert!(matches!(missing, SpawnError::Command(_)), "{missing}");
    for part in ["no-such-program", "No such file"] {
        contains(&missing.to_string(), part);
    }
    let no_folder = error(&task(&folder.path().join("none"), &["true"]));
    contains(&no_folder.to_string(), "there is no folder");
    let mut task = task(folder.path(), &["true"]);
    let no_supervisor = SupervisorProgram::new(folder.path().join("no-supervisor"));
    let no_supervisor = no_supervisor.spawn(&task).unwrap_err();
    assert!(matches!(no_supervisor, SpawnError::Supervisor { .. }));
    task.cpus = vec![1023];
    contains(&error(&task).to_string(), "CPUs 1023");
}

#[test]
fn the_command_is_pinned_and_takes_signals_again() {
    let folder = tempfile::tempdir().unwrap();
    let cpu = *allowed_cpus().unwrap().last().unwrap();
    let lines = "Cpus_allowed_list|SigBlk";
    let mut task = task(folder.path(), &["grep", "-E", lines, "/proc/self/status"]);
    task.cpus = vec![cpu];
    assert!(run(&task).success());
    let log = log(folder.path());
    for line in [
        format!("Cpus_allowed_list:\t{cpu}\n"),
        "SigBlk:\t0000000000000000".to_owned(),
    ] {
        assert!(log.contains(&line), "{log}");
    }
}

#[test]
fn stop_gives_the_command_a_grace_period() {
    let folder = tempfile::tempdir().unwrap();
    let script = "trap 'echo bye; exit 7' TERM; echo ready; while :; do sleep 0.02; done";
    let mut supervised = spawn(folder.path(), &["sh", "-c", script]);
    until("the trap", || {
        log(folder.path()).contains("ready").then_some(())
    });
    // The second stop changes nothing.
    for _ in 0..2 {
        assert_eq!(supervised.stop(LONG), Exit::Code(7));
    }
    assert!(log(folder.path()).contains("bye"));
}

#[test]
fn stop_kills_what_ignores_sigterm_forks_twice_and_leaves_the_session() {
    let folder = tempfile::tempdir().unwrap();
    let (mut supervised, pids) = spawn_stubborn(folder.path());
    let exit = supervised.stop(Duration::from_millis(50));
    assert_eq!(exit, Exit::Signal(9));
    assert!(pids.iter().all(|&pid| !is_alive(pid)), "{pids:?}");
    assert!(!is_alive(supervised.supervisor_pid()));
}

#[test]
fn a_drop_kills_the_tree() {
    let folder = tempfile::tempdir().unwrap();
    let (supervised, pids) = spawn_stubborn(folder.path());
    drop(supervised);
    assert!(pids.iter().all(|&pid| !is_alive(pid)), "{pids:?}");
}

#[test]
fn leftover_processes_are_killed_when_a_command_ends() {
    let folder = tempfile::tempdir().unwrap();
    let script =
        "setsid sh -c 'echo $$ >> pids; sleep 600' & while ! [ -s pids ]; do sleep 0.01; done";
    assert!(run(&task(folder.path(), &["sh", "-c", script])).success());
    assert!(!is_alive(ids_in(&folder.path().join("pids"), 1)[0]));
}

#[test]
fn going_into_the_background_differs_from_ending() {
    let folder = tempfile::tempdir().unwrap();
    let exit = |script: &str| run(&task(folder.path(), &["sh", "-c", script]));
    assert_eq!(exit("sleep 600 & sleep 600 & exit 0"), Exit::Background(2));
    assert_eq!(exit("sleep 600 & exit 3"), Exit::Code(3));
    // A zombie does not count as still running.
    let zombie = "import os\npid = os.fork() or os._exit(0)\n\
        os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)";
    let exit = run(&task(folder.path(), &["python3", "-c", zombie]));
    assert_eq!(exit, Exit::Code(0));
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
    assert!(run(&task).success());
    let errors = read_to_string(folder.path().join("errors")).unwrap();
    let logs = [log(folder.path()), errors];
    assert_eq!(logs, ["out\n", "err\n"]);
    assert!(!scratch.exists());
}

#[test]
fn an_interrupt_ends_a_run() {
    let folder = tempfile::tempdir().unwrap();
    let task = task(folder.path(), &["sh", "-c", "echo $$ > pids; sleep 600"]);
    let interrupt = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let run = scope.spawn(|| supervisor().run(&task, 1, &interrupt));
        let pid = ids_in(&folder.path().join("pids"), 1)[0];
        interrupt.store(true, Ordering::Relaxed);
        let error = run.join().unwrap().unwrap_err();
        assert!(matches!(error, CommandError::Interrupted), "{error}");
        assert!(!is_alive(pid));
    });
}

/// Starts a stand-in for Prony with the stubborn tree; returns its id, its supervisor's and the tree's.
fn hold(folder: &Path) -> (Child, i32, Vec<i32>) {
    stubborn(folder);
    let mut prony = Command::new(supervisor().path())
        .args(["hold", "log", "python3", "stubborn.py"])
        .current_dir(folder)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(prony.stdout.take().unwrap()).lines();
    let supervisor_pid = lines.next().unwrap().unwrap().parse().unwrap();
    (prony, supervisor_pid, ids_in(&folder.join("pids"), 4))
}

#[test]
fn sigkill_of_prony_kills_the_whole_tree() {
    let folder = tempfile::tempdir().unwrap();
    let (mut prony, supervisor_pid, pids) = hold(folder.path());
    assert!(pids.iter().all(|&pid| is_alive(pid)));
    prony.kill().unwrap();
    prony.wait().unwrap();
    until("the end of the tree", || {
        let all = pids.iter().chain([&supervisor_pid]);
        (!all.copied().any(is_alive)).then_some(())
    });
}

#[test]
fn sigterm_to_the_supervisor_kills_the_whole_tree() {
    let folder = tempfile::tempdir().unwrap();
    let (mut prony, supervisor_pid, pids) = hold(folder.path());
    send(Signal::SIGTERM, supervisor_pid);
    assert!(prony.wait().unwrap().success(), "the stand-in sees the end");
    assert!(pids.iter().all(|&pid| !is_alive(pid)), "{pids:?}");
}

#[test]
fn sigkill_of_the_supervisor_kills_the_command_and_its_group() {
    let folder = tempfile::tempdir().unwrap();
    let script = "sleep 600 & echo $! >> pids; wait";
    let mut supervised = spawn(folder.path(), &["sh", "-c", script]);
    let child = ids_in(&folder.path().join("pids"), 1)[0];
    let pid = supervised.pid();
    send(Signal::SIGKILL, supervised.supervisor_pid());
    assert_eq!(supervised.wait(LONG), Some(Exit::Lost));
    until("the end of the command", || {
        (!is_alive(pid) && !is_alive(child)).then_some(())
    });
}
