//! Names of functions that runtimes compile or interpret. A runtime that is not installed is skipped.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::profile::common::{Running, profile, shares, use_cpu};
use prony_insight::profile::{NAMING_ENVIRONMENT, Options, forget};
use prony_model::{FrameKind, Profile};
use tempfile::TempDir;

const JAVASCRIPT: &str = r#"
function heavyWork(count) {
  let sum = 0;
  for (let i = 0; i < count; i++) sum = (sum * 31 + i) % 1000003;
  return sum;
}
function callHeavyWork() {
  const end = Date.now() + 60000;
  let sum = 0;
  while (Date.now() < end) sum += heavyWork(1000000);
  return sum;
}
console.log(callHeavyWork());
"#;

const PYTHON: &str = r#"
import os, sys

def heavy_work(count):
    total = 0
    for i in range(count):
        total = (total * 31 + i) % 1000003
    return total

def call_heavy_work():
    while True:
        heavy_work(100000)

def start():
    # The child goes on with what its parent has already called.
    if os.fork() == 0:
        call_heavy_work()
    os.wait()

start()
"#;

const JAVA: &str = r#"
class Work {
  static long heavyWork(int count) {
    long sum = 0;
    for (int i = 0; i < count; i++) sum = (sum * 31 + i) % 1000003;
    return sum;
  }
  static long callHeavyWork() {
    long sum = 0;
    while (true) sum += heavyWork(1000000);
  }
  public static void main(String[] arguments) {
    System.out.println(callHeavyWork());
  }
}
"#;

/// Runs a program until it has compiled what it does often, profiles it, and removes what it left behind.
fn profile_of(program: &Path, arguments: &[&str]) -> Option<Profile> {
    let mut command = Command::new(program);
    command
        .args(arguments)
        .envs(NAMING_ENVIRONMENT.map(|variable| (variable.name, variable.value)));
    let running = Running::start(&mut command);
    use_cpu(running.pid, 1.0);
    let options = Options {
        frequency_hz: 997,
        ..Options::default()
    };
    let profiler = profile(options, running.pid)?;
    use_cpu(running.pid, 0.4);
    let profiles = profiler.finish(1.0).unwrap();
    let processes = profiles.processes;
    assert!(!left_behind(&processes).is_empty(), "{processes:?}");
    drop(running);
    forget(&processes);
    assert_eq!(left_behind(&processes), Vec::<PathBuf>::new());
    assert!(profiles.on_cpu_whole > 0.9, "{}", profiles.on_cpu_whole);
    Some(profiles.on_cpu)
}

/// Files in /tmp whose names end with the id of one of these processes.
fn left_behind(processes: &BTreeSet<i32>) -> Vec<PathBuf> {
    let files = fs::read_dir("/tmp").unwrap().filter_map(Result::ok);
    let paths = files.map(|file| file.path());
    paths
        .filter(|path| {
            let name = path.file_stem().unwrap_or_default().to_string_lossy();
            let is_written = name.starts_with("perf-") || name.starts_with("jit-");
            let pid = name.rsplit('-').next().and_then(|pid| pid.parse().ok());
            is_written && pid.is_some_and(|pid| processes.contains(&pid))
        })
        .collect()
}

fn assert_named(profile: &Profile, function: &str) {
    let (_, share) = shares(profile, function);
    assert!(share > 0.8, "{function}: {share}\n{:?}", profile.frames);
    let mut frames = profile.frames.iter();
    let frame = frames.find(|frame| frame.name.contains(function)).unwrap();
    assert_eq!(frame.kind, FrameKind::Runtime);
}

/// The first of these programs that is installed.
fn installed(programs: &[&str]) -> Option<PathBuf> {
    let folders = std::env::var_os("PATH").unwrap_or_default();
    let folders: Vec<PathBuf> = std::env::split_paths(&folders).collect();
    let mut paths = programs
        .iter()
        .flat_map(|program| folders.iter().map(move |folder| folder.join(program)));
    // A version manager's stand-in is not the program.
    let is_program = |path: &PathBuf| path.is_file() && !path.to_string_lossy().contains("shims");
    let found = paths.find(is_program);
    if found.is_none() {
        eprintln!("skipped: {} is not installed", programs[0]);
    }
    found
}

fn script(folder: &TempDir, name: &str, text: &str) -> String {
    let path = folder.path().join(name);
    fs::write(&path, text).unwrap();
    path.to_str().unwrap().to_owned()
}

/// Checks that a profile of the first of these programs that is installed has these names.
fn assert_names(programs: &[&str], arguments: &[&str], names: &[&str]) {
    let profile = installed(programs).and_then(|program| profile_of(&program, arguments));
    if let Some(profile) = profile {
        names.iter().for_each(|name| assert_named(&profile, name));
    }
}

fn assert_names_of_javascript(program: &str, arguments: &[&str], names: &[&str]) {
    let folder = TempDir::new().unwrap();
    let script = script(&folder, "work.js", JAVASCRIPT);
    assert_names(&[program], &[arguments, &[&script]].concat(), names);
}

/// The second one is interpreted.
const NAMES_OF_V8: [&str; 2] = ["heavyWork (work.js:2)", "callHeavyWork (work.js:7)"];

#[test]
fn functions_of_node_have_names() {
    assert_names_of_javascript("node", &[], &NAMES_OF_V8);
}

#[test]
fn functions_of_deno_have_names() {
    assert_names_of_javascript("deno", &["run"], &NAMES_OF_V8);
}

#[test]
fn functions_of_bun_have_names() {
    assert_names_of_javascript("bun", &[], &["heavyWork"]);
}

#[test]
fn functions_of_python_have_names_also_in_a_child() {
    let folder = TempDir::new().unwrap();
    let script = script(&folder, "work.py", PYTHON);
    let names = ["heavy_work (work.py)", "start (work.py)"];
    assert_names(
        &["python3.14", "python3.13", "python3.12"],
        &[&script],
        &names,
    );
}

#[test]
fn methods_of_java_have_names() {
    let folder = TempDir::new().unwrap();
    let source = script(&folder, "Work.java", JAVA);
    let Some(compiler) = installed(&["javac"]) else {
        return;
    };
    let compiled = Command::new(compiler).arg(&source).status().unwrap();
    assert!(compiled.success());
    let arguments = ["-cp", folder.path().to_str().unwrap(), "Work"];
    assert_names(&["java"], &arguments, &["Work.heavyWork"]);
}

#[test]
fn an_interpreter_without_names_says_what_gives_them() {
    let folder = TempDir::new().unwrap();
    let script = script(&folder, "work.py", PYTHON);
    let Some(python) = installed(&["python3.11", "python3.12", "python3"]) else {
        return;
    };
    let running = Running::start(Command::new(python).arg(&script));
    let Some(profiler) = profile(Options::default(), running.pid) else {
        return;
    };
    use_cpu(running.pid, 0.3);
    let profile = profiler.finish(1.0).unwrap().on_cpu;
    let expected = "Python 3.12 or newer names its functions in a profile";
    let unnamed = profile.unnamed;
    assert!(unnamed.iter().any(|it| it.why == expected), "{unnamed:?}");
}
