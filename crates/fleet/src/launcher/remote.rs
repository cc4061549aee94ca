//! How an agent is started on another host: the command that its shell runs, and what its exit status means.

use std::fs;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::ExitStatus;
use std::sync::Arc;

use nix::sys::signal::Signal;

use super::LaunchError;

/// The program that runs as an agent.
#[derive(Clone, Debug)]
pub(super) enum Program {
    /// It is on the hosts, under this path or name.
    There(String),
    /// It comes over standard input, before the first message.
    Sent(Arc<[u8]>),
}

impl Program {
    /// Reads the file that is to be sent.
    pub(super) fn sent(file: &Path) -> Result<Self, LaunchError> {
        let failed = |error| {
            let file = file.display();
            LaunchError(format!(
                "cannot read {file} to copy it to the hosts: {error}"
            ))
        };
        fs::read(file)
            .map(|content| Self::Sent(content.into()))
            .map_err(failed)
    }

    /// What goes to standard input before the first message.
    pub(super) fn first(&self) -> Option<Arc<[u8]>> {
        match self {
            Self::There(_) => None,
            Self::Sent(content) => Some(content.clone()),
        }
    }

    /// What `/bin/sh -c` runs. `index` is a number, or a variable of the shell that holds it.
    pub(super) fn script(&self, fleet: &str, index: &str) -> String {
        // Without `exit` some shells would be replaced by the agent, and could not report the signal that ended it.
        let agent = format!("agent --fleet {fleet} --index {index}; exit $?");
        match self {
            Self::There(program) => format!("{} {agent}", quoted(program)),
            // The file has no name by the time that it has content, so nothing is left behind whatever happens.
            Self::Sent(content) => format!(
                "f=$(mktemp) && chmod 700 \"$f\" && exec 8>\"$f\" 9<\"$f\" && rm \"$f\" && \
                 head -c {} >&8 && exec 8>&- || exit 125; /proc/self/fd/9 {agent}",
                content.len()
            ),
        }
    }

    /// Why the script ended with that status on that host.
    pub(super) fn reason(&self, code: i32, host: &str, table: &str) -> String {
        match (self, code) {
            (Self::There(program), 127) => format!(
                "{host} has no program `{program}`: install Prony there, or set `program` or `copy = true` in `[{table}]`"
            ),
            (Self::There(program), 126) => {
                format!("{host} cannot run `{program}`: is it a program for that machine?")
            }
            (Self::Sent(_), 126) => format!(
                "{host} cannot run the copied program: either it is for another kind of machine, or the folder for \
                 temporary files (TMPDIR) is on a file system without programs (noexec)"
            ),
            (Self::Sent(_), 125) => {
                format!(
                    "the program could not be copied to {host}: it needs mktemp, head and a folder for temporary files"
                )
            }
            (_, 129..) => match Signal::try_from(code - 128) {
                Ok(signal) => format!("the agent on {host} was ended by {signal}"),
                Err(_) => format!("the agent on {host} ended with status {code}"),
            },
            (_, code) => format!("the agent on {host} ended with status {code}"),
        }
    }
}

pub(super) fn own() -> Result<PathBuf, LaunchError> {
    std::env::current_exe()
        .map_err(|error| LaunchError(format!("cannot find the program that runs: {error}")))
}

/// One word for a shell.
pub(super) fn quoted(word: &str) -> String {
    format!("'{}'", word.replace('\'', r"'\''"))
}

/// The status as a shell reports it: 128 and the signal's number if a signal ended the process.
pub(super) fn shell_status(status: ExitStatus) -> i32 {
    let signal = || status.signal().map_or(255, |signal| 128 + signal);
    status.code().unwrap_or_else(signal)
}

#[cfg(test)]
mod tests;
