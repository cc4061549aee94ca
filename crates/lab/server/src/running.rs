//! A running server.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, Read};
use std::net::{IpAddr, SocketAddr};
use std::path::{Path, PathBuf};
use std::time::Duration;

use prony_kernel::allowed_cpus;
use tempfile::TempDir;

use crate::build::Built;
use crate::certificate::Certificate;
use crate::logs::Logs;
use crate::manifest::{Placeholder, Word};
use crate::sampling::ProcessTree;
use crate::supervisor::{Exit, SpawnError, Supervised, SupervisorProgram, Task};

#[derive(Clone, Debug)]
pub struct Launch {
    pub supervisor: SupervisorProgram,
    /// The CPUs that it is pinned to; empty for all.
    pub cpus: Vec<usize>,
    pub host: IpAddr,
    /// The folder of the files that it responds with.
    pub assets: PathBuf,
    pub certificate: Option<Certificate>,
    /// The file for its standard output; that for its standard error is beside it, see [`Logs::at`].
    pub log: PathBuf,
    /// What runs its command, if it does not run by itself.
    pub wrapper: Option<Wrapper>,
}

/// A program that runs a server's command, such as an emulator.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Wrapper {
    /// What precedes the command. [`Wrapper::FOLDER`] in it becomes the server's own folder, which is removed when none of
    /// its processes is left.
    pub before: Vec<String>,
    /// Options that the server's program gets before its own ones.
    pub options: Vec<ProgramOptions>,
    /// Variables that the server gets in addition; each is computed from what the server would have otherwise.
    pub env: Vec<WrapperVariable>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProgramOptions {
    /// The program's name, without its folder. Servers that run another program do not get the options.
    pub program: String,
    pub options: Vec<String>,
}

/// A variable that a server gets under a wrapper.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WrapperVariable {
    pub name: String,
    /// What is added to it, or what it is set to.
    pub value: String,
    /// What separates that from the value that it has already; `None` to leave such a value as it is.
    pub separator: Option<char>,
}

impl Wrapper {
    /// Stands for the server's own folder.
    pub const FOLDER: &str = "{tmp}";

    /// The server's command with the options of its program.
    fn with_options(&self, mut command: Vec<String>) -> Vec<String> {
        let program = command.first().cloned().unwrap_or_default();
        let own = self.options.iter().filter(|one| one.are_of(&program));
        let options: Vec<String> = own.flat_map(|one| one.options.clone()).collect();
        let behind_program = command.len().min(1);
        command.splice(behind_program..behind_program, options);
        command
    }
}

impl ProgramOptions {
    /// Whether they are those of the program that a command begins with.
    pub fn are_of(&self, program: &str) -> bool {
        let name = Path::new(program).file_name();
        name.is_some_and(|name| name == &*self.program)
    }
}

impl WrapperVariable {
    /// Its value, if it has `existing` already.
    pub fn with(&self, existing: Option<&OsStr>) -> OsString {
        match (existing.filter(|text| !text.is_empty()), self.separator) {
            (None, _) => OsString::from(&self.value),
            (Some(existing), None) => existing.to_owned(),
            (Some(existing), Some(separator)) => {
                let mut both = existing.to_owned();
                both.push(separator.to_string());
                both.push(&self.value);
                both
            }
        }
    }
}

#[derive(Debug, thiserror::Error)]
pub enum StartError {
    #[error("there is no free port on {host}: {source}")]
    Port { host: IpAddr, source: io::Error },
    #[error("cannot write the log {path}: {source}")]
    Log { path: PathBuf, source: io::Error },
    /// The folder for `{tmp}` cannot be created.
    #[error("cannot create a folder for `{{tmp}}` in {}: {source}", temp_folder())]
    Scratch { source: io::Error },
    #[error(transparent)]
    Spawn(#[from] SpawnError),
}

fn temp_folder() -> String {
    std::env::temp_dir().display().to_string()
}

/// A server under its supervisor. Dropping it kills its whole process tree.
#[derive(Debug)]
pub struct RunningServer {
    process: Supervised,
    address: SocketAddr,
    output: LineCounter,
    errors: LineCounter,
    logs: Logs,
    scratch: Option<PathBuf>,
}

impl RunningServer {
    /// Starts a server on a port of `ports`. It may need a while to listen: see [`crate::wait_ready`].
    ///
    /// # Errors
    /// If there is no port, no log or no process; a server that ends at once is seen when waiting for it.
    pub fn start(
        built: &Built,
        launch: &Launch,
        ports: &mut dyn FnMut(IpAddr) -> io::Result<u16>,
    ) -> Result<RunningServer, StartError> {
        let host = launch.host;
        let port = ports(host).map_err(|source| StartError::Port { host, source })?;
        let logs = Logs::at(&launch.log);
        let log_error = |(path, source)| StartError::Log { path, source };
        logs.create().map_err(log_error)?;
        let counter = |path: &PathBuf| {
            LineCounter::open(path).map_err(|error| log_error((path.clone(), error)))
        };
        let (output, errors) = (counter(&logs.output)?, counter(&logs.errors)?);
        let address = SocketAddr::new(host, port);
        let contract = Contract::new(built, launch, address)
            .map_err(|source| StartError::Scratch { source })?;
        let process = launch
            .supervisor
            .spawn(&contract.task(built, launch, &logs))?;
        let scratch = contract.scratch().map(Path::to_owned);
        contract.taken_over();
        Ok(RunningServer {
            process,
            address,
            output,
            errors,
            logs,
            scratch,
        })
    }

    pub fn address(&self) -> SocketAddr {
        self.address
    }

    pub fn pid(&self) -> i32 {
        self.process.pid()
    }

    /// When its command was executed: CLOCK_MONOTONIC in nanoseconds.
    pub fn started_at_ns(&self) -> u64 {
        self.process.started_at_ns()
    }

    /// How it ended, if it has; then no process of its tree is left.
    pub fn exited(&mut self) -> Option<Exit> {
        self.exits_within(Duration::ZERO)
    }

    pub fn exits_within(&mut self, time: Duration) -> Option<Exit> {
        self.process.wait(time)
    }

    /// How many lines it has written to standard output so far.
    pub fn log_lines(&mut self) -> io::Result<u64> {
        self.output.count()
    }

    /// How many lines it has written to standard error so far.
    pub fn error_lines(&mut self) -> io::Result<u64> {
        self.errors.count()
    }

    pub fn logs(&self) -> &Logs {
        &self.logs
    }

    /// Its own folder, if its command names `{tmp}` or a wrapper runs it.
    pub fn scratch(&self) -> Option<&Path> {
        self.scratch.as_deref()
    }

    pub fn tree(&self) -> ProcessTree {
        ProcessTree::under_supervisor(self.process.supervisor_pid())
    }

    /// Ends it: SIGTERM, and when it has ended or `grace` is over, SIGKILL to the rest of its tree.
    pub fn stop(&mut self, grace: Duration) -> Exit {
        self.process.stop(grace)
    }
}

/// Counts the lines of a growing file; each byte is read once.
#[derive(Debug)]
struct LineCounter {
    file: File,
    lines: u64,
}

impl LineCounter {
    fn open(path: &Path) -> io::Result<LineCounter> {
        let file = File::open(path)?;
        Ok(LineCounter { file, lines: 0 })
    }

    fn count(&mut self) -> io::Result<u64> {
        let mut buffer = vec![0; 64 * 1024];
        loop {
            match self.file.read(&mut buffer) {
                Ok(0) => return Ok(self.lines),
                Ok(length) => {
                    let line_feeds = buffer[..length].iter().filter(|&&byte| byte == b'\n');
                    self.lines += line_feeds.count() as u64;
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    }
}

/// The variables with the files of the certificate and its key, which are set if the server is to speak TLS.
const TLS: [&str; 2] = ["TLS_CERT", "TLS_KEY"];

/// What a server gets at its start, in variables and in the placeholders of its command.
struct Contract {
    values: [(Placeholder, &'static str, OsString); 4],
    /// Its own folder, if its command names `{tmp}` or a wrapper runs it.
    scratch: Option<TempDir>,
}

impl Contract {
    fn new(built: &Built, launch: &Launch, address: SocketAddr) -> io::Result<Contract> {
        let cpus = match launch.cpus.len() {
            0 => allowed_cpus().map_or(1, |cpus| cpus.len()),
            pinned => pinned,
        };
        let assets = std::path::absolute(&launch.assets);
        let assets = assets.unwrap_or_else(|_| launch.assets.clone());
        let wants_scratch = wants_scratch(built) || launch.wrapper.is_some();
        Ok(Contract {
            values: [
                (Placeholder::Host, "HOST", address.ip().to_string().into()),
                (Placeholder::Port, "PORT", address.port().to_string().into()),
                (Placeholder::Cpus, "CPUS", cpus.to_string().into()),
                (Placeholder::Assets, "ASSETS", assets.into()),
            ],
            scratch: wants_scratch.then(new_scratch).transpose()?,
        })
    }

    fn task(&self, built: &Built, launch: &Launch, logs: &Logs) -> Task {
        let own: Vec<String> = built.run.iter().map(|word| self.fill(word)).collect();
        let wrapper = launch.wrapper.as_ref();
        let own = match wrapper {
            Some(wrapper) => wrapper.with_options(own),
            None => own,
        };
        let before = wrapper.map_or(&[][..], |wrapper| &wrapper.before);
        let scratch = self.scratch().unwrap_or(Path::new("")).to_string_lossy();
        let in_scratch = |word: &String| word.replace(Wrapper::FOLDER, &scratch);
        let before = before.iter().map(in_scratch);
        Task {
            command: before.chain(own).collect(),
            folder: built.folder.clone(),
            env: with_variables(self.env(built, launch), wrapper),
            // Those of Prony would make the server speak TLS.
            removed_env: match launch.certificate {
                Some(_) => Vec::new(),
                None => TLS.map(OsString::from).to_vec(),
            },
            log: logs.output.clone(),
            error_log: Some(logs.errors.clone()),
            scratch: self.scratch().map(Path::to_owned),
            cpus: launch.cpus.clone(),
        }
    }

    /// Called once a supervisor has taken over, which removes the folder for `{tmp}` when the server has ended.
    fn taken_over(self) {
        self.scratch.map(TempDir::keep);
    }

    /// The server's own variables, then those of the contract, which win.
    fn env(&self, built: &Built, launch: &Launch) -> Vec<(OsString, OsString)> {
        let own = built.env.iter();
        let own = own.map(|(name, value)| (name.into(), self.fill(value).into()));
        let contract = self.values.iter();
        let contract = contract.map(|(_, name, value)| (OsString::from(name), value.clone()));
        let tls = launch.certificate.iter().flat_map(|certificate| {
            let files = [&certificate.certificate, &certificate.key].map(OsString::from);
            TLS.map(OsString::from).into_iter().zip(files)
        });
        let toolchains = built.toolchain_env.iter().cloned();
        toolchains.chain(own).chain(contract).chain(tls).collect()
    }

    fn fill(&self, word: &Word) -> String {
        // The build has already filled in the others.
        let value = |placeholder| {
            if placeholder == Placeholder::Tmp {
                return Some(self.scratch()?.to_string_lossy().into_owned());
            }
            let mut values = self.values.iter();
            let (_, _, value) = values.find(|(known, _, _)| *known == placeholder)?;
            Some(value.to_string_lossy().into_owned())
        };
        word.fill_known(value).to_string()
    }

    fn scratch(&self) -> Option<&Path> {
        self.scratch.as_ref().map(TempDir::path)
    }
}

/// The variables with those that a wrapper adds to or changes.
fn with_variables(
    mut env: Vec<(OsString, OsString)>,
    wrapper: Option<&Wrapper>,
) -> Vec<(OsString, OsString)> {
    for added in wrapper.iter().flat_map(|wrapper| &wrapper.env) {
        let own = env.iter().rev().find(|(name, _)| *name == *added.name);
        let existing = own.map(|(_, value)| value.clone());
        let existing = existing.or_else(|| std::env::var_os(&added.name));
        env.push((OsString::from(&added.name), added.with(existing.as_deref())));
    }
    env
}

fn wants_scratch(built: &Built) -> bool {
    let mut words = built.run.iter().chain(built.env.values());
    words.any(|word| word.placeholders().any(|it| it == Placeholder::Tmp))
}

/// In the system's temporary folder, because the path of a socket in it must be short.
fn new_scratch() -> io::Result<TempDir> {
    tempfile::Builder::new().prefix("prony-").tempdir()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;
    use std::io::Write;

    #[test]
    fn a_wrapper_adds_to_a_servers_variables() {
        let (added, kept, set) = ("PRONY_TEST_ADDED", "PRONY_TEST_KEPT", "PRONY_TEST_SET");
        let variable = |(name, separator): (&str, _)| WrapperVariable {
            name: name.into(),
            value: "new".into(),
            separator,
        };
        let wrapper = Wrapper {
            env: [(added, Some(',')), (kept, None), (set, None)]
                .map(variable)
                .into(),
            ..Wrapper::default()
        };
        let own: Vec<(OsString, OsString)> =
            [added, kept].map(|name| (name.into(), "own".into())).into();
        let env = with_variables(own.clone(), Some(&wrapper));
        // Later ones replace earlier ones.
        let env: BTreeMap<OsString, OsString> = env.into_iter().collect();
        let values = [added, kept, set].map(|name| env[OsStr::new(name)].to_str().unwrap());
        assert_eq!(values, ["own,new", "own", "new"]);
        assert_eq!(with_variables(own.clone(), None), own);
    }

    #[test]
    fn a_wrapper_adds_options_to_the_program_that_has_them() {
        let words = |text: &str| -> Vec<String> { text.split(' ').map(str::to_owned).collect() };
        let wrapper = Wrapper {
            options: vec![ProgramOptions {
                program: "node".into(),
                options: words("--a --b"),
            }],
            ..Wrapper::default()
        };
        for (own, with) in [
            ("node server.mjs", "node --a --b server.mjs"),
            ("/opt/bin/node --c s", "/opt/bin/node --a --b --c s"),
            ("python3 node", "python3 node"),
        ] {
            assert_eq!(wrapper.with_options(words(own)), words(with));
        }
        assert!(wrapper.with_options(Vec::new()).is_empty());
    }

    #[test]
    fn lines_are_counted_as_the_file_grows() {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        let mut counter = LineCounter::open(file.path()).unwrap();
        assert_eq!(counter.count().unwrap(), 0);
        file.write_all(b"one\ntwo").unwrap();
        assert_eq!(counter.count().unwrap(), 1);
        file.write_all(b" and\n").unwrap();
        file.write_all("three\n".repeat(50_000).as_bytes()).unwrap();
        assert_eq!(counter.count().unwrap(), 50_002);
    }
}
