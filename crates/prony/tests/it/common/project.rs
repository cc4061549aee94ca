//! A temporary project with the repository's suites and workloads and the test's servers. It is deleted with everything
//! that Prony creates in it.

use std::fmt::Debug;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

use prony_testkit::server;
use serde_json::Value;
use tempfile::TempDir;

use super::{Ended, prony, repository, run};

pub struct Project {
    folder: TempDir,
}

impl Project {
    /// A project without servers.
    pub fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("servers")).unwrap();
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

    /// Removes a suite.
    pub fn without_suite(&self, id: &str) {
        fs::remove_file(self.path().join("suites").join(format!("{id}.toml"))).unwrap();
    }

    /// Copies servers of the repository.
    pub fn with(self, ids: &[&str]) -> Self {
        let servers = repository().canonicalize().unwrap().join("servers");
        for id in ids {
            symlink(servers.join(id), self.path().join("servers").join(id)).unwrap();
        }
        self
    }

    /// A server with this manifest.
    pub fn manifest(&self, id: &str, manifest: &str) -> PathBuf {
        let folder = self.path().join("servers").join(id);
        fs::create_dir_all(&folder).unwrap();
        let file = folder.join("server.toml");
        fs::write(&file, manifest).unwrap();
        file
    }

    /// A server that runs this command.
    pub fn command(&self, id: &str, run: &[impl Debug]) -> PathBuf {
        self.manifest(id, &manifest(run))
    }

    /// A server of the test's own program, which is right except for the change of that name.
    pub fn server(&self, id: &str, change: &str) -> PathBuf {
        self.server_with(id, change, "")
    }

    /// The same with further lines in its manifest.
    pub fn server_with(&self, id: &str, change: &str, lines: &str) -> PathBuf {
        self.manifest(id, &(manifest(&server::command(change, "server")) + lines))
    }

    /// The same whose command is run by a shell script as `"$0" "$@"`, with a word in its command line.
    pub fn wrapped(&self, id: &str, script: &str, change: &str, word: &str) -> PathBuf {
        let shell = ["sh", "-c", script].map(str::to_owned);
        let command = shell.into_iter().chain(server::command(change, word));
        self.command(id, &command.collect::<Vec<_>>())
    }

    /// Changes the manifest of a server.
    pub fn edit(&self, id: &str, from: &str, to: &str) {
        let file = self.path().join("servers").join(id).join("server.toml");
        let text = fs::read_to_string(&file).unwrap();
        assert!(text.contains(from), "{text} lacks {from}");
        fs::write(&file, text.replace(from, to)).unwrap();
    }

    /// `prony` in this project. It measures the ceiling only if the project has it, so that tests of other servers are
    /// short.
    pub fn prony(&self, arguments: &[&str]) -> Command {
        let mut command = prony(arguments);
        command.current_dir(self.path());
        let measures = matches!(arguments.first(), Some(&"run" | &"ab"));
        let has_ceiling = self.path().join("servers/ceiling").exists();
        if measures && !has_ceiling && !arguments.contains(&"--no-ceiling") {
            command.arg("--no-ceiling");
        }
        command
    }

    pub fn run(&self, arguments: &[&str]) -> Ended {
        run(self.prony(arguments))
    }

    /// `prony run` of servers with one workload, short trials and further arguments.
    pub fn measure(&self, servers: &str, workloads: &str, more: &[&str]) -> Command {
        let mut command = self.prony(&["run", "tour", "--warmup", "20ms"]);
        if !more.contains(&"--duration") {
            command.args(["--duration", "50ms"]);
        }
        command.args(["--only", servers, "--workloads", workloads]);
        command.args(more);
        command
    }

    /// The exported newest run of this project.
    pub fn export(&self) -> Value {
        let exported = self.run(&["export"]).with(0);
        serde_json::from_str(&exported.stdout).unwrap()
    }
}

/// A manifest in which only the command matters. Its workloads are on line 5, its command
/// is on line 6.
pub fn manifest(run: &[impl Debug]) -> String {
    format!(
        r#"title = "A server of a test"
language = "Rust"
framework = "none"
class = "stdlib"
workloads = ["hello", "byte", "page", "page-log", "sse", "sse-20k", "quote"]
run = {run:?}
"#
    )
}

/// The trials of an exported run, with the results that are `measured` or `failed`.
pub fn trials<'a>(record: &'a Value, server: &str, result: &str) -> Vec<&'a Value> {
    let trials = first_attempts(record).into_iter();
    trials
        .filter(|one| one["trial"]["server"] == server && one["result"]["result"] == result)
        .collect()
}

/// The first attempt at each trial of an exported run: how many were noisy and re-run depends on
/// what else the machine is doing.
pub fn first_attempts(record: &Value) -> Vec<&Value> {
    let trials = record["trials"].as_array().unwrap();
    trials.iter().filter(|one| one["attempt"] == 1).collect()
}
