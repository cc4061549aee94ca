//! Agents on hosts that the user can log in to, through the system's own `ssh`.

use std::path::Path;
use std::process::{Command, ExitStatus};
use std::sync::Arc;
use std::time::Duration;

use serde::Deserialize;

use super::processes::{Explain, Processes, Start};
use super::remote::{Program, own, quoted, shell_status};
use super::{Event, Launch, LaunchError, Launcher};

/// The table `[fleet.ssh]` of `prony.toml`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct SshSettings {
    /// The program on the hosts, `prony` by default; with `copy` the file that is copied, by default the program that
    /// runs.
    pub program: Option<String>,
    /// Copies the program to each host, for as long as the fleet lives.
    pub copy: bool,
    /// Further options of `ssh`, such as `["-F", "ssh.conf"]`.
    pub options: Vec<String>,
}

/// Starts one agent a host.
#[derive(Clone, Debug)]
pub struct Ssh {
    hosts: Vec<String>,
    settings: SshSettings,
}

/// The connection ends with the agent, and the agent ends when its standard input closes.
const GRACE: Duration = Duration::from_secs(2);
/// The status of `ssh` itself, as opposed to that of what ran on the host.
const SSH_FAILED: i32 = 255;

/// What overrides the user's configuration: no prompt that waits for ever, no terminal, and a lost host is noticed
/// within a few seconds. Connections of a running ControlMaster are used, but none is left behind.
const OPTIONS: &[&str] = &[
    "BatchMode=yes",
    "ClearAllForwardings=yes",
    "ConnectTimeout=10",
    "ControlMaster=no",
    "EscapeChar=none",
    "ForwardAgent=no",
    "ForwardX11=no",
    "PermitLocalCommand=no",
    "ServerAliveCountMax=3",
    "ServerAliveInterval=1",
];

impl Ssh {
    /// One agent on each of these hosts, as `ssh` knows them: `host`, an alias, `user@host` or `ssh://user@host:port`.
    pub fn new(hosts: &[String], settings: SshSettings) -> Result<Self, LaunchError> {
        if hosts.is_empty() {
            return Err(LaunchError(
                "name at least one host: ssh:host1,host2".into(),
            ));
        }
        for host in hosts {
            check(host).map_err(LaunchError)?;
        }
        Ok(Self {
            hosts: hosts.to_vec(),
            settings,
        })
    }

    pub fn agents(&self) -> usize {
        self.hosts.len()
    }

    fn command(&self, host: &str, script: &str) -> Command {
        let mut command = Command::new("ssh");
        command.arg("-T");
        for option in OPTIONS {
            command.args(["-o", option]);
        }
        command.args(&self.settings.options);
        // The user's shell on the host may be any, so a known one runs the script.
        command.args(["--", host, &format!("exec /bin/sh -c {}", quoted(script))]);
        command
    }

    fn program(&self) -> Result<Program, LaunchError> {
        let program = self.settings.program.as_deref();
        match (self.settings.copy, program) {
            (true, Some(program)) => Program::sent(Path::new(program)),
            (true, None) => Program::sent(&own()?),
            (false, program) => Ok(Program::There(program.unwrap_or("prony").into())),
        }
    }
}

fn check(host: &str) -> Result<(), String> {
    let is_plain = |c: char| !c.is_whitespace() && !c.is_control();
    if host.is_empty() || host.starts_with('-') || !host.chars().all(is_plain) {
        return Err(format!(
            "`{host}` is not a host; write ssh:host1,user@host2"
        ));
    }
    match host.split_once(':') {
        Some((name, port)) if !port.is_empty() && port.bytes().all(|c| c.is_ascii_digit()) => {
            Err(format!("write `ssh://{name}:{port}` instead of `{host}`"))
        }
        _ => Ok(()),
    }
}

impl Launcher for Ssh {
    fn name(&self) -> &'static str {
        "ssh"
    }

    fn launch(&self, launch: &Launch<'_>) -> Result<Processes, LaunchError> {
        if launch.agents != self.hosts.len() {
            return Err(LaunchError(format!(
                "{} agents need as many hosts, but ssh has {}: each host in the list runs one agent",
                launch.agents,
                self.hosts.len()
            )));
        }
        let program = self.program()?;
        let starts = self.hosts.iter().enumerate().map(|(index, host)| {
            let script = program.script(launch.id, &index.to_string());
            // Messages and reports name the host as the user does.
            let script = format!("export PRONY_NODE={}; {script}", quoted(host));
            Start {
                agent: Some(index),
                command: self.command(host, &script),
                first: program.first(),
            }
        });
        let explain: Arc<dyn Explain> = Arc::new(Words {
            hosts: self.hosts.clone(),
            program: program.clone(),
        });
        Processes::explained(starts, GRACE, &explain)
    }
}

struct Words {
    hosts: Vec<String>,
    program: Program,
}

impl Explain for Words {
    fn note(&self, agent: Option<usize>, text: String) -> Event {
        // ssh ends its own lines with a carriage return.
        let text = text.trim().to_owned();
        Event::Note { agent, text }
    }

    fn ended(&self, agent: Option<usize>, status: ExitStatus, said: &str) -> String {
        let Some(host) = agent.and_then(|agent| self.hosts.get(agent)) else {
            return format!("ssh ended ({status})");
        };
        match shell_status(status) {
            SSH_FAILED => failure(host, said.trim()),
            code => self.program.reason(code, host, "fleet.ssh"),
        }
    }
}

/// What ssh's own words mean.
fn failure(host: &str, words: &str) -> String {
    let has = |part: &str| words.contains(part);
    if has("Host key verification failed") {
        format!(
            "the key of {host} is unknown or has changed: run `ssh {host}` once and check it ({words})"
        )
    } else if has("Permission denied") || has("Too many authentication failures") {
        format!(
            "ssh cannot log in to {host} without a prompt: `ssh -o BatchMode=yes {host} true` must succeed, for \
             instance with a key in ssh-agent ({words})"
        )
    } else if has("Could not resolve hostname") {
        format!("there is no host {host} ({words})")
    } else if has("connect to host") {
        format!("ssh cannot reach {host} ({words})")
    } else if words.is_empty() {
        format!("the connection to {host} was lost")
    } else {
        format!("the connection to {host} was lost ({words})")
    }
}

#[cfg(test)]
mod tests;
