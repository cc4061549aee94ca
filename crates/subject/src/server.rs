//! A server that runs.

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Read};
use std::net::{IpAddr, SocketAddr};
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::build::Built;
use crate::cpus::allowed_cpus;
use crate::guard::{Exit, GuardProgram, Guarded, SpawnError, Task, new_log};
use crate::port::PortSource;
use crate::sampling::{ProcessTree, TreeUsage};
use crate::tail::tail_or_note;

/// How a server is to be started.
#[derive(Clone, Debug)]
pub struct Launch {
    /// The guard's program.
    pub guard: GuardProgram,
    /// The CPUs that it is pinned to; empty for all.
    pub cpus: Vec<usize>,
    /// The address that it listens on.
    pub host: IpAddr,
    /// The folder of the files that it answers with.
    pub assets: PathBuf,
    /// The file for its output.
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
        /// What the system said.
        source: io::Error,
    },
    /// Its log cannot be written.
    #[error("cannot write the log {path}: {source}")]
    Log {
        /// The log.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// Its process could not be started.
    #[error(transparent)]
    Spawn(#[from] SpawnError),
}

/// A server under its guard. Dropping it kills its whole process tree.
#[derive(Debug)]
pub struct Server {
    process: Guarded,
    address: SocketAddr,
    log: LineCounter,
    log_path: PathBuf,
}

impl Server {
    /// Starts a server on a port of `ports`. It may need a while to listen: see [`crate::wait_ready`].
    ///
    /// # Errors
    /// Where there is no port, no log or no process; a server that ends at once is seen when waiting for it.
    pub fn start(
        built: &Built,
        launch: &Launch,
        ports: &mut dyn PortSource,
    ) -> Result<Server, StartError> {
        let host = launch.host;
        let port = ports
            .next_port(host)
            .map_err(|source| StartError::Port { host, source })?;
        let log_error = |source| StartError::Log {
            path: launch.log.clone(),
            source,
        };
        new_log(&launch.log).map_err(log_error)?;
        let log = LineCounter::open(&launch.log).map_err(log_error)?;
        let process = launch.guard.spawn(&Task {
            command: built.run.clone(),
            folder: built.folder.clone(),
            env: env(built, launch, port),
            log: launch.log.clone(),
            cpus: launch.cpus.clone(),
        })?;
        Ok(Server {
            process,
            address: SocketAddr::new(host, port),
            log,
            log_path: launch.log.clone(),
        })
    }

    /// Where it listens, or will.
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

    /// How it ended, where it has. Then no process of its tree is left.
    pub fn exited(&mut self) -> Option<Exit> {
        self.process.wait(Duration::ZERO)
    }

    /// How many lines it has written so far.
    ///
    /// # Errors
    /// Where the log cannot be read.
    pub fn log_lines(&mut self) -> io::Result<u64> {
        self.log.count()
    }

    /// The last lines that it has written.
    pub fn log_tail(&self, lines: usize) -> String {
        tail_or_note(&self.log_path, lines)
    }

    /// All that it has written.
    pub fn log_path(&self) -> &Path {
        &self.log_path
    }

    /// Its process tree, to sample.
    pub fn tree(&self) -> ProcessTree {
        ProcessTree::under_guard(self.process.guard_pid())
    }

    /// What its process tree has used since its start and holds now.
    ///
    /// # Errors
    /// Where it has ended, or the system does not say.
    pub fn usage(&self) -> io::Result<TreeUsage> {
        self.tree().usage()
    }

    /// Ends it: SIGTERM, and when it has ended or `grace` is over, SIGKILL to all that is left of its tree.
    pub fn stop(&mut self, grace: Duration) -> Exit {
        self.process.stop(grace)
    }
}

/// The subject's own variables, then those of the contract, which win.
fn env(built: &Built, launch: &Launch, port: u16) -> Vec<(OsString, OsString)> {
    let cpus = match launch.cpus.len() {
        0 => allowed_cpus().map_or(1, |cpus| cpus.len()),
        pinned => pinned,
    };
    let assets = std::path::absolute(&launch.assets).unwrap_or_else(|_| launch.assets.clone());
    let contract = [
        ("HOST", launch.host.to_string().into()),
        ("PORT", port.to_string().into()),
        ("CPUS", cpus.to_string().into()),
        ("ASSETS", assets.into_os_string()),
    ];
    let contract = contract.map(|(name, value)| (OsString::from(name), value));
    built.env.iter().cloned().chain(contract).collect()
}

/// Counts the lines of a file that grows; each byte is read once.
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
