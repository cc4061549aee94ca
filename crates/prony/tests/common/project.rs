//! A project of a test's own: the repository's suites and workloads, and the subjects that the test
//! gives it. All that Prony makes goes with it when the test is over.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;
use tempfile::TempDir;

use super::{Ended, prony, repository, run};

pub struct Project {
    folder: TempDir,
}

/// What every server of a test begins with. It is the repository's `python-httpserver` in one
/// process; a test then changes the class of its handlers.
const PRELUDE: &str = "\
import os, signal, sys, time
os.environ['CPUS'] = '1'
import right
from right import *
";

impl Project {
    /// One without subjects.
    pub fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("subjects")).unwrap();
        fs::create_dir(folder.path().join("suites")).unwrap();
        let repository = repository().canonicalize().unwrap();
        symlink(
            repository.join("workloads"),
            folder.path().join("workloads"),
        )
        .unwrap();
        fs::copy(
            repository.join("suites/tour.toml"),
            folder.path().join("suites/tour.toml"),
        )
        .unwrap();
        Self { folder }
    }

    pub fn path(&self) -> &Path {
        self.folder.path()
    }

    /// A path below `.prony`.
    pub fn state(&self, path: &str) -> PathBuf {
        self.path().join(".prony").join(path)
    }

    /// A suite with this text.
    pub fn suite(&self, id: &str, text: &str) {
        let file = self.path().join("suites").join(format!("{id}.toml"));
        fs::write(file, text).unwrap();
    }

    /// Takes a suite away.
    pub fn without_suite(&self, id: &str) {
        fs::remove_file(self.path().join("suites").join(format!("{id}.toml"))).unwrap();
    }

    /// Takes subjects of the repository.
    pub fn with(self, ids: &[&str]) -> Self {
        let subjects = repository().canonicalize().unwrap().join("subjects");
        for id in ids {
            symlink(subjects.join(id), self.path().join("subjects").join(id)).unwrap();
        }
        self
    }

    /// A subject with this manifest.
    pub fn manifest(&self, id: &str, manifest: &str) -> PathBuf {
        let folder = self.path().join("subjects").join(id);
        fs::create_dir_all(&folder).unwrap();
        let file = folder.join("subject.toml");
        fs::write(&file, manifest).unwrap();
        file
    }

    /// A subject that a command runs.
    pub fn command(&self, id: &str, run: &[&str]) -> PathBuf {
        self.manifest(id, &manifest(run))
    }

    /// The repository's `python-httpserver` with changes; `argument` is in the command lines of its
    /// processes.
    pub fn python(&self, id: &str, changes: &str, argument: &str) {
        self.command(id, &["python3", "server.py", argument]);
        let folder = self.path().join("subjects").join(id);
        let right = repository().join("subjects/python-httpserver/server.py");
        fs::copy(right, folder.join("right.py")).unwrap();
        let server = format!("{PRELUDE}\n{changes}\nright.main()\n");
        fs::write(folder.join("server.py"), server).unwrap();
    }

    /// The same, where only its class of handlers has changes.
    pub fn handler(&self, id: &str, methods: &str) {
        let changes =
            format!("class Changed(right.Handler):\n{methods}\nright.Handler = Changed\n");
        self.python(id, &changes, "server");
    }

    /// `prony` in this project.
    pub fn prony(&self, arguments: &[&str]) -> Command {
        let mut command = prony(arguments);
        command.current_dir(self.path());
        command
    }

    pub fn run(&self, arguments: &[&str]) -> Ended {
        run(self.prony(arguments))
    }

    /// `prony run` of subjects with one workload, short trials and more arguments.
    pub fn measure(&self, subjects: &str, workloads: &str, more: &[&str]) -> Command {
        let mut command = self.prony(&["run", "tour", "--warmup", "20ms"]);
        if !more.contains(&"--duration") {
            command.args(["--duration", "100ms"]);
        }
        command.args(["--subjects", subjects, "--workloads", workloads]);
        command.args(more);
        command
    }

    /// The newest run of this project's record file, as it is exported.
    pub fn export(&self) -> Value {
        let exported = self.run(&["export"]).with(0);
        serde_json::from_str(&exported.stdout).unwrap()
    }
}

/// A manifest in which only the command is of interest. Its workloads are on line 6, its command
/// is on line 7.
pub fn manifest(run: &[&str]) -> String {
    format!(
        r#"title = "A server of a test"
language = "Python"
framework = "none"
class = "stdlib"
wire = "http/1.0"
workloads = ["hello", "byte", "page", "page-log", "sse", "sse-20k", "quote"]
run = {run:?}
"#
    )
}

/// The trials of an exported run, with the results that are `measured` or `failed`.
pub fn trials<'a>(record: &'a Value, subject: &str, result: &str) -> Vec<&'a Value> {
    let trials = first_attempts(record).into_iter();
    trials
        .filter(|one| one["trial"]["subject"] == subject && one["result"]["result"] == result)
        .collect()
}

/// The first attempt at each trial of an exported run: how many were spoilt and made again depends on
/// what else the machine is doing.
pub fn first_attempts(record: &Value) -> Vec<&Value> {
    let trials = record["trials"].as_array().unwrap();
    trials.iter().filter(|one| one["attempt"] == 1).collect()
}
