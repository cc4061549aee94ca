//! A tool's process: its usage, its failures, its end.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread;
use std::time::Duration;

use prony_driver::{DriveError, End, Load, Manifest, RunError, Tool};
use prony_testkit::processes::{ids_in, is_alive, write_script};
use prony_testkit::until;
use tempfile::TempDir;

/// A tool that is a shell script.
struct Script {
    folder: TempDir,
}

impl Script {
    fn new(script: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        write_script(&folder.path().join("tool"), script);
        Self { folder }
    }

    fn manifest(&self) -> Manifest {
        manifest(self.folder.path())
    }

    fn tool(&self) -> Tool {
        tool(self.folder.path())
    }

    fn file(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }
}

fn manifest(folder: &Path) -> Manifest {
    let text = r#"title = "Script"
program = "{driver}/tool"
install = "write it"

[version]
arguments = ["version"]
pattern = 'version (\S+)'

[arguments]
closed = []
duration = ["{milliseconds}"]
after = ["{url}"]

[environment]
CONNECTIONS = "{connections}"

[output]
format = "text"
ok = { pattern = '(\d+) responses' }
duration = { pattern = 'in (\S+)', unit = "written" }
"#;
    Manifest::parse(text, folder).unwrap()
}

fn tool(folder: &Path) -> Tool {
    Tool::find("script", &manifest(folder), Path::new("prony")).unwrap()
}

fn run(tool: &Tool) -> Result<prony_driver::DriverResult, DriveError> {
    let load = Load {
        connections: 7,
        ..Load::new("http://a/")
    };
    tool.run(&load, &[], &AtomicBool::new(false))
}

#[test]
fn a_tool_is_run_and_its_usage_is_reported() {
    let script = Script::new(
        r#"[ "$1" = version ] && { echo "tool version 1.2"; exit 1; }
i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done
echo "$CONNECTIONS responses in $1ms of $2""#,
    );
    let tool = script.tool();
    assert_eq!(tool.name_and_version(), "Script 1.2");
    let result = run(&tool).unwrap();
    assert_eq!((result.reported.ok, result.reported.duration_s), (7, 1.0));
    assert_eq!(result.command, ["tool", "1000", "http://a/"]);
    assert!(result.usage.cpu_s() > 0.0 && result.usage.wall_s > 0.0);
    assert!(result.usage.cpu_s() > 0.0);
}

#[test]
fn a_tool_that_fails_gives_its_last_lines() {
    let error = |script| run(&Script::new(script).tool()).unwrap_err().to_string();
    let failed = error("echo out; echo because >&2; exit 3");
    assert!(failed.contains("exit status: 3"), "{failed}");
    assert!(failed.ends_with("because"), "{failed}");
    let expected = "its output does not report `duration`: something else";
    assert_eq!(error("echo something else"), expected);
}

/// A script that leaves a process in the background, writes both ids to files, and goes on.
fn with_child(rest: &str) -> Script {
    Script::new(&format!(
        "[ $1 = version ] && exit; cd \"$(dirname \"$0\")\"; \
         sleep 600 & echo $! > child; echo $$ > self; {rest}"
    ))
}

/// Waits for the process id in a file.
fn id_in(file: &Path) -> i32 {
    ids_in(file, 1)[0]
}

fn assert_goes(id: i32) {
    until("the end of a process", || (!is_alive(id)).then_some(()));
}

fn long_load() -> Load {
    Load {
        end: End::After(Duration::from_secs(600)),
        ..Load::new("http://a/")
    }
}

#[test]
fn background_processes_of_a_tool_end_with_it() {
    let script = with_child("echo 1 responses in 1s");
    assert_eq!(run(&script.tool()).unwrap().reported.ok, 1);
    assert_goes(id_in(&script.file("child")));

    let script = with_child("exit 3");
    let error = run(&script.tool()).unwrap_err();
    assert!(matches!(error, DriveError::Run(RunError::Failed { .. })));
    assert_goes(id_in(&script.file("child")));
}

#[test]
fn an_interrupt_ends_the_tool_and_what_it_started() {
    let script = with_child("wait");
    let (tool, child) = (script.tool(), script.file("child"));
    let interrupt = Arc::new(AtomicBool::new(false));
    let stop = interrupt.clone();
    let running = thread::spawn(move || tool.run(&long_load(), &[], &stop));
    let child = id_in(&child);
    assert!(is_alive(child));
    interrupt.store(true, Relaxed);
    let error = running.join().unwrap().unwrap_err();
    assert!(matches!(error, DriveError::Run(RunError::Interrupted)));
    assert_goes(child);
}

/// Passes the path of the script to the process that is killed.
const SCRIPT_FOLDER: &str = "PRONY_TEST_SCRIPT_FOLDER";

#[test]
#[ignore = "the process that `a_tool_does_not_outlive_a_prony_that_is_killed` starts and kills"]
fn runs_a_tool_until_it_is_killed() {
    let Some(folder) = env::var_os(SCRIPT_FOLDER) else {
        return;
    };
    let ended = tool(Path::new(&folder)).run(&long_load(), &[], &AtomicBool::new(false));
    panic!("the tool ended: {ended:?}");
}

#[test]
fn a_tool_does_not_outlive_a_prony_that_is_killed() {
    let script = with_child("wait");
    let mut prony = Command::new(env::current_exe().unwrap())
        .args(["--ignored", "--exact"])
        .arg(concat!(module_path!(), "::runs_a_tool_until_it_is_killed").trim_start_matches("it::"))
        .env(SCRIPT_FOLDER, script.folder.path())
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    let ids = ["self", "child"].map(|name| id_in(&script.file(name)));
    assert!(ids.into_iter().all(is_alive));
    // SIGKILL: it cannot clean up.
    prony.kill().unwrap();
    prony.wait().unwrap();
    ids.into_iter().for_each(assert_goes);
}

#[test]
fn a_missing_tool_is_reported_with_the_command_that_installs_it() {
    let script = Script::new("");
    fs::remove_file(script.file("tool")).unwrap();
    let error = Tool::find("script", &script.manifest(), Path::new("prony")).unwrap_err();
    let expected = "Script is not installed; to install it: write it";
    assert_eq!(error.to_string(), expected);
}
