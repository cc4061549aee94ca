//! Installing a toolchain under `.prony/tools`.

use std::fs::{self, File};
use std::io;
use std::sync::atomic::AtomicBool;

use super::found::Found;
use super::need::Need;
use super::table::COMPLETE;
use super::toolbox::{Availability, Missing, Toolbox};
use crate::layout::lock_unless;
use crate::supervisor::{CommandError, Task};

/// How many last lines of a failed command's output are shown.
const TAIL_LINES: usize = 8;

#[derive(Debug, thiserror::Error)]
pub enum ProvideError {
    #[error(transparent)]
    Missing(#[from] Missing),
    #[error("interrupted")]
    Interrupted,
}

enum Failure {
    Interrupted,
    Because(String),
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Failure {
        Failure::Because(error.to_string())
    }
}

impl From<CommandError> for Failure {
    fn from(error: CommandError) -> Failure {
        match error {
            CommandError::Interrupted => Failure::Interrupted,
            error => Failure::Because(error.to_string()),
        }
    }
}

impl Toolbox {
    /// Finds what meets a need, and installs it if Prony can and must. Of two threads or programs
    /// that want the same toolchain, one installs it and the other waits.
    pub fn provide(&self, need: &Need, interrupt: &AtomicBool) -> Result<Found, ProvideError> {
        match self.find(need) {
            Availability::Found(found) => return Ok(found),
            Availability::Missing(missing) => return Err(missing.into()),
            Availability::Obtainable(_) => {}
        }
        let because = match self.install_once(need, interrupt) {
            Err(Failure::Interrupted) => return Err(ProvideError::Interrupted),
            Err(Failure::Because(reason)) => reason,
            Ok(()) => match self.find(need) {
                Availability::Found(found) => return Ok(found),
                _ => "what was installed does not run here, or has another version".to_owned(),
            },
        };
        Err(ProvideError::Missing(Missing {
            what: format!("{need} (installing it failed: {because})"),
            install: need.tool().install_line(),
        }))
    }

    fn install_once(&self, need: &Need, interrupt: &AtomicBool) -> Result<(), Failure> {
        let toolchain = need.tool();
        let Some(source) = &toolchain.source else {
            return Err(Failure::Because("Prony cannot install it".to_owned()));
        };
        let file = self.layout.tools().join(format!("{}.lock", toolchain.name));
        let _lock = lock_unless(interrupt, &file)?.ok_or(Failure::Interrupted)?;
        // The previous holder of the lock may have installed it.
        if matches!(self.find(need), Availability::Found(_)) {
            return Ok(());
        }
        let folder = self.folder_of(toolchain);
        if folder.exists() {
            fs::remove_dir_all(&folder)?;
        }
        fs::create_dir_all(&folder)?;
        let log = self.layout.tools().join(format!("{}.log", toolchain.name));
        File::create(&log)?;
        for command in source.commands(&folder) {
            let task = Task {
                command,
                folder: folder.clone(),
                env: vec![("PIP_DISABLE_PIP_VERSION_CHECK".into(), "1".into())],
                log: log.clone(),
                ..Task::default()
            };
            self.supervisor.run(&task, TAIL_LINES, interrupt)?;
        }
        File::create(folder.join(COMPLETE))?;
        Ok(())
    }
}
