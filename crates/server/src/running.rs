//! A running server.

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Read};
use std::net::{IpAddr, SocketAddr};
use std::path::{Path, PathBuf};
use std::time::Duration;

use prony_system::allowed_cpus;
use tempfile::TempDir;

use crate::build::Built;
use crate::certificate::Certificate;
use crate::logs::Logs;
use crate::manifest::{Place, Word};
use crate::port::PortSource;
use crate::sampling::{ProcessTree, TreeUsage};
use crate::supervisor::{Exit, SpawnError, Supervised, SupervisorProgram, Task};

/// How to start a server.
#[derive(Clone, Debug)]
pub struct Launch {
    /// The supervisor's program.
    pub supervisor: SupervisorProgram,
    /// The CPUs that it is pinned to; empty for all.
    pub cpus: Vec<usize>,
    /// The address that it listens on.
    pub host: IpAddr,
    /// The folder of the files that it responds with.
    pub assets: PathBuf,
    /// The certificate to present, if it is to speak TLS.
    pub certificate: Option<Certificate>,
    /// The file for its standard output; that for its standard error is beside it, see [`Logs::at`].
    pub log: PathBuf,
}

/// Why a server could not be started.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// There is no free port.
    #[error("there is no free port on {host}: {source}")]
    Port {
        /// The address.
        host: IpAddr,
        /// The error of the system.
        source: io::Error,
    },
    /// Its log cannot be written.
    #[error("cannot write the log {path}: {source}")]
    Log {
        /// The log.
        path: PathBuf,
        /// The error of the system.
        source: io::Error,
    },
    /// The folder for `{tmp}` cannot be created.
    #[error("cannot create a folder for `{{tmp}}` in {}: {source}", temp_folder())]
    Scratch {
        /// The error of the system.
        source: io::Error,
    },
    /// Its process could not be started.
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
}

impl RunningServer {
    /// Starts a server on a port of `ports`. It may need a while to listen: see [`crate::wait_ready`].
    ///
    /// # Errors
    /// If there is no port, no log or no process; a server that ends at once is seen when waiting for it.
    pub fn start(
        built: &Built,
        launch: &Launch,
        ports: &mut dyn PortSource,
    ) -> Result<RunningServer, StartError> {
        let host = launch.host;
        let port = ports
            .next_port(host)
            .map_err(|source| StartError::Port { host, source })?;
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
        contract.taken_over();
        Ok(RunningServer {
            process,
            address,
            output,
            errors,
            logs,
        })
    }

    /// The address that it listens on, or will.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Its process id.
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

    /// How it ended, if it does within `time`.
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

    /// Its logs.
    pub fn logs(&self) -> &Logs {
        &self.logs
    }

    /// Its process tree, to sample.
    pub fn tree(&self) -> ProcessTree {
        ProcessTree::under_supervisor(self.process.supervisor_pid())
    }

    /// The usage of its process tree.
    ///
    /// # Errors
    /// If it has ended, or the system does not report it.
    pub fn usage(&self) -> io::Result<TreeUsage> {
        self.tree().usage()
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
pub struct Contract {
    host: String,
    port: String,
    cpus: String,
    assets: PathBuf,
    certificate: Option<Certificate>,
    /// Its own folder, if its command names `{tmp}`.
    scratch: Option<TempDir>,
}

impl Contract {
    /// What `built` gets to listen on `address`.
    pub fn new(built: &Built, launch: &Launch, address: SocketAddr) -> io::Result<Contract> {
        let cpus = match launch.cpus.len() {
            0 => allowed_cpus().map_or(1, |cpus| cpus.len()),
            pinned => pinned,
        };
        let assets = std::path::absolute(&launch.assets);
        Ok(Contract {
            host: address.ip().to_string(),
            port: address.port().to_string(),
            cpus: cpus.to_string(),
            assets: assets.unwrap_or_else(|_| launch.assets.clone()),
            certificate: launch.certificate.clone(),
            scratch: wants_scratch(built).then(new_scratch).transpose()?,
        })
    }

    /// The task that starts it.
    pub fn task(&self, built: &Built, launch: &Launch, logs: &Logs) -> Task {
        Task {
            command: built.run.iter().map(|word| self.fill(word)).collect(),
            folder: built.folder.clone(),
            env: self.env(built),
            removed_env: self.removed_env(),
            log: logs.output.clone(),
            error_log: Some(logs.errors.clone()),
            scratch: self.scratch().map(Path::to_owned),
            cpus: launch.cpus.clone(),
        }
    }

    /// Called once a supervisor has taken over, which removes the folder for `{tmp}` when the server has ended.
    pub fn taken_over(self) {
        self.scratch.map(TempDir::keep);
    }

    /// The server's own variables, then those of the contract, which win.
    fn env(&self, built: &Built) -> Vec<(OsString, OsString)> {
        let own = built.env.iter();
        let own = own.map(|(name, value)| (name.into(), self.fill(value).into()));
        let contract = [
            ("HOST", OsString::from(&self.host)),
            ("PORT", OsString::from(&self.port)),
            ("CPUS", OsString::from(&self.cpus)),
            ("ASSETS", self.assets.clone().into_os_string()),
        ];
        let tls = self.certificate.iter().flat_map(|certificate| {
            let files = [&certificate.certificate, &certificate.key].map(OsString::from);
            TLS.into_iter().zip(files)
        });
        let contract = contract.into_iter().chain(tls);
        let contract = contract.map(|(name, value)| (OsString::from(name), value));
        let toolchains = built.toolchain_env.iter().cloned();
        toolchains.chain(own).chain(contract).collect()
    }

    /// Variables of Prony's own environment that would make the server speak TLS.
    fn removed_env(&self) -> Vec<OsString> {
        match self.certificate {
            Some(_) => Vec::new(),
            None => TLS.map(OsString::from).to_vec(),
        }
    }

    fn fill(&self, word: &Word) -> String {
        let value = |place| match place {
            Place::Host => Some(self.host.clone()),
            Place::Port => Some(self.port.clone()),
            Place::Cpus => Some(self.cpus.clone()),
            Place::Assets => Some(self.assets.to_string_lossy().into_owned()),
            Place::Tmp => Some(self.scratch()?.to_string_lossy().into_owned()),
            // The build has already filled these in.
            _ => None,
        };
        word.fill_known(value).to_string()
    }

    fn scratch(&self) -> Option<&Path> {
        self.scratch.as_ref().map(TempDir::path)
    }
}

fn wants_scratch(built: &Built) -> bool {
    let mut words = built.run.iter().chain(built.env.values());
    words.any(|word| word.placeholders().any(|place| place == Place::Tmp))
}

/// In the system's temporary folder, because the path of a socket in it must be short.
fn new_scratch() -> io::Result<TempDir> {
    tempfile::Builder::new().prefix("prony-").tempdir()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

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
