//! A temporary project with the repository's suites and workloads and the test's servers. It is deleted with everything
//! that Prony creates in it.

use std::fmt::Debug;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

use prony_testkit::server;
use prony_testkit::table::rows;
use serde_json::Value;
use tempfile::TempDir;

use super::{Ended, Words, prony, repository, run, schema};

pub(crate) struct Project {
    folder: TempDir,
    /// What the environment of each command has as well.
    pub(crate) variable: Option<[&'static str; 2]>,
}

impl Project {
    /// An empty folder.
    pub(crate) fn empty() -> Self {
        Self {
            folder: tempfile::tempdir().unwrap(),
            variable: None,
        }
    }

    /// A folder with this `prony.toml` alone.
    pub(crate) fn of(text: &str) -> Self {
        let project = Self::empty();
        project.write("prony.toml", text);
        project
    }

    /// A project without servers.
    pub(crate) fn new() -> Self {
        let (project, repository) = (Self::empty(), repository().canonicalize().unwrap());
        fs::create_dir(project.path().join("servers")).unwrap();
        symlink(
            repository.join("workloads"),
            project.path().join("workloads"),
        )
        .unwrap();
        let tour = fs::read(repository.join("suites/tour.toml"));
        project.write("suites/tour.toml", tour.unwrap());
        project
    }

    pub(crate) fn path(&self) -> &Path {
        self.folder.path()
    }

    /// A path below `.prony`.
    pub(crate) fn state(&self, path: &str) -> PathBuf {
        self.path().join(".prony").join(path)
    }

    /// Writes a file, and the folders that lead to it.
    pub(crate) fn write(&self, name: &str, text: impl AsRef<[u8]>) -> PathBuf {
        let file = self.path().join(name);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(&file, text).unwrap();
        file
    }

    #[track_caller]
    pub(crate) fn read(&self, name: &str) -> String {
        fs::read_to_string(self.path().join(name)).unwrap()
    }

    /// Changes a file.
    #[track_caller]
    pub(crate) fn edit(&self, name: &str, from: &str, to: &str) {
        let text = self.read(name);
        prony_testkit::contains(&text, from);
        self.write(name, text.replace(from, to));
    }

    pub(crate) fn suite(&self, id: &str, text: &str) {
        self.write(&format!("suites/{id}.toml"), text);
    }

    /// Copies servers of the repository.
    pub(crate) fn with(self, ids: &[&str]) -> Self {
        let servers = repository().canonicalize().unwrap().join("servers");
        for id in ids {
            symlink(servers.join(id), self.path().join("servers").join(id)).unwrap();
        }
        self
    }

    /// A server with this manifest.
    pub(crate) fn manifest(&self, id: &str, manifest: &str) -> PathBuf {
        self.write(&format!("servers/{id}/server.toml"), manifest)
    }

    /// A server that runs this command.
    pub(crate) fn command(&self, id: &str, run: &[impl Debug]) -> PathBuf {
        self.manifest(id, &manifest(run))
    }

    /// A server of the test's own program, which is right except for the change of that name.
    pub(crate) fn server(&self, id: &str, change: &str) -> PathBuf {
        self.server_with(id, change, "")
    }

    /// The same with further lines in its manifest.
    pub(crate) fn server_with(&self, id: &str, change: &str, lines: &str) -> PathBuf {
        self.manifest(id, &(manifest(&server::command(change, "server")) + lines))
    }

    /// The same whose command is run by a shell script as `"$0" "$@"`, with a word in its command line.
    pub(crate) fn wrapped(&self, id: &str, script: &str, change: &str, word: &str) -> PathBuf {
        let shell = ["sh", "-c", script].map(str::to_owned);
        let command = shell.into_iter().chain(server::command(change, word));
        self.command(id, &command.collect::<Vec<_>>())
    }

    /// `prony` in this project. It measures the ceiling only if the project has it, so that tests of other servers are
    /// short.
    pub(crate) fn prony(&self, line: &str) -> Command {
        let mut command = prony(line.words());
        command.current_dir(self.path());
        command.envs(self.variable.map(|[name, value]| (name, value)));
        let measures = ["run", "ab"].contains(&line.split(' ').next().unwrap());
        let servers = self.path().join("servers");
        let has_no_ceiling = servers.exists() && !servers.join("ceiling").exists();
        if measures && has_no_ceiling && !line.contains("--no-ceiling") {
            command.arg("--no-ceiling");
        }
        command
    }

    pub(crate) fn run(&self, line: &str) -> Ended {
        run(self.prony(line))
    }

    /// Runs the commands of a table: each row has the exit code, the command, and the parts, with ` & ` between them, of what
    /// it must write to standard error, or to standard output if they begin with `>`.
    #[track_caller]
    pub(crate) fn check(&self, table: &str) {
        for [code, words, parts] in rows(table) {
            let mut ended = self.run(words).with(code.parse().unwrap());
            for part in parts.split(" & ") {
                ended = match part.strip_prefix('>') {
                    Some(part) => ended.prints(part),
                    None => ended.says(part),
                };
            }
        }
    }

    /// `prony run` of servers with one workload, short trials and further arguments.
    pub(crate) fn measure(&self, servers: &str, workloads: &str, more: &str) -> Command {
        let mut line = format!("run tour --only {servers} --workloads {workloads} {more}");
        line += " --warmup 20ms";
        if !more.contains("--duration") {
            line += " --duration 50ms";
        }
        self.prony(&line)
    }

    /// The exported newest run of this project.
    pub(crate) fn export(&self) -> Value {
        schema::valid("run", &self.run("export").with(0).stdout)
    }

    /// `git`, which knows no settings of the machine.
    pub(crate) fn git(&self, line: &str) -> Ended {
        let mut git = Command::new("git");
        git.current_dir(self.path())
            .args(["-c", "user.name=A", "-c", "user.email=a@example.org"])
            .args(line.words())
            .env("GIT_CONFIG_GLOBAL", "/dev/null")
            .env("GIT_CONFIG_NOSYSTEM", "1");
        run(git).with(0)
    }

    /// Commits everything; the first commit creates the repository.
    pub(crate) fn commit(&self, message: &str) {
        if !self.path().join(".git").exists() {
            self.git("init --quiet --initial-branch main");
        }
        self.git("add --all");
        let commit = "commit --quiet --allow-empty --message";
        self.git(&format!("{commit} '{message}'"));
    }
}

/// A manifest in which only the command matters. Its workloads are on line 5, its command
/// is on line 6.
pub(crate) fn manifest(run: &[impl Debug]) -> String {
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
pub(crate) fn trials<'a>(record: &'a Value, server: &str, result: &str) -> Vec<&'a Value> {
    let trials = first_attempts(record).into_iter();
    trials
        .filter(|one| one["trial"]["server"] == server && one["result"]["result"] == result)
        .collect()
}

/// The first attempt at each trial of an exported run: how many were noisy and re-run depends on
/// what else the machine is doing.
pub(crate) fn first_attempts(record: &Value) -> Vec<&Value> {
    let trials = record["trials"].as_array().unwrap();
    trials.iter().filter(|one| one["attempt"] == 1).collect()
}
