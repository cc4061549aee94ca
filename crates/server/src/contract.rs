//! What a server is told when it starts: in variables, and in the placeholders of its command.

use std::ffi::OsString;
use std::io;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use tempfile::TempDir;

use crate::build::Built;
use crate::logs::Logs;
use crate::manifest::{Place, Word};
use crate::running::Launch;
use crate::supervisor::Task;
use prony_system::allowed_cpus;

/// What a server is told.
pub struct Contract {
    host: String,
    port: String,
    cpus: String,
    assets: PathBuf,
    /// Its own folder, if its command names `{tmp}`.
    scratch: Option<TempDir>,
}

impl Contract {
    /// What `built` is told when it is to listen on `address`.
    ///
    /// # Errors
    /// If the folder for `{tmp}` cannot be created.
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
            scratch: wants_scratch(built).then(new_scratch).transpose()?,
        })
    }

    /// The task that starts it.
    pub fn task(&self, built: &Built, launch: &Launch, logs: &Logs) -> Task {
        Task {
            command: built.run.iter().map(|word| self.fill(word)).collect(),
            folder: built.folder.clone(),
            env: self.env(built),
            log: logs.output.clone(),
            error_log: Some(logs.errors.clone()),
            scratch: self.scratch().map(Path::to_owned),
            cpus: launch.cpus.clone(),
        }
    }

    /// Says that a supervisor has taken over: it removes the folder for `{tmp}` when the server has ended.
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
        let contract = contract.map(|(name, value)| (OsString::from(name), value));
        let toolchains = built.toolchain_env.iter().cloned();
        toolchains.chain(own).chain(contract).collect()
    }

    fn fill(&self, word: &Word) -> String {
        let value = |place| match place {
            Place::Host => Some(self.host.clone()),
            Place::Port => Some(self.port.clone()),
            Place::Cpus => Some(self.cpus.clone()),
            Place::Assets => Some(self.assets.to_string_lossy().into_owned()),
            Place::Tmp => Some(self.scratch()?.to_string_lossy().into_owned()),
            // The build has filled these in.
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

/// It lies in the system's folder for such things because the path of a socket in it must be short.
fn new_scratch() -> io::Result<TempDir> {
    tempfile::Builder::new().prefix("prony-").tempdir()
}
