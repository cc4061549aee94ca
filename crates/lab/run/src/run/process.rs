//! A server that responds: a process that Prony started, or one that already ran.

use std::io;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use prony_load::ExchangeError;
use prony_load::tls::{Identity, Offer, TlsClient, TlsError, TlsSettings, Trust};
use prony_load::wire::Fault;
use prony_load::wire::tls::{ClientCertificate, Failure};
use prony_model::{CpuAssignment, Protocol, ServerStatus};
use prony_server::{
    BringUpError, Built, CertificateTrust, Launch, ListeningServer, Logs, NotListening, Outside,
    Probe, ProcessTree, Ready, RunningServer, Wrapper, bring_up, free_port,
};

use super::bench::{Task, Testbed};
use super::wrong_scheme::WrongScheme;

/// How long a connection to a server that already runs may take.
const CONNECT_TIME: Duration = Duration::from_secs(5);

/// How Prony comes to a process of a server.
#[derive(Clone, Debug)]
pub enum Access {
    Start(Built),
    /// It already runs.
    Outside(Outside),
}

impl Access {
    /// The status of a server that does not respond, for this reason.
    pub fn failed(&self, reason: String) -> ServerStatus {
        match self {
            Self::Start(_) => ServerStatus::StartFailed { reason },
            Self::Outside(_) => ServerStatus::Unreachable { reason },
        }
    }
}

/// A server that responds.
pub enum Process {
    /// Prony started it. Dropping it kills it.
    Started(RunningServer),
    /// It already ran, and goes on.
    Outside(OutsideProcess),
}

/// A server that already ran.
pub struct OutsideProcess {
    description: Outside,
    server: ListeningServer,
}

/// Where a task is requested, and how.
#[derive(Clone)]
pub struct Target {
    pub address: SocketAddr,
    /// The host and the port in the requests.
    pub authority: String,
    /// How connections are encrypted, if they are.
    pub client: Option<TlsClient>,
    /// Whether the server already ran, so that `prony.toml` says which certificates are trusted.
    is_outside: bool,
    /// Whether `prony.toml` has a client certificate for it.
    has_certificate: bool,
}

/// Why there is no server that responds as expected.
#[derive(Debug, thiserror::Error)]
pub enum AccessError {
    #[error(transparent)]
    BringUp(#[from] BringUpError),
    #[error(transparent)]
    NotListening(#[from] NotListening),
    #[error("interrupted")]
    Interrupted,
    #[error("{}{}", .0, advice_on_files(.0))]
    Tls(#[from] TlsError),
    #[error("{}", .0.in_project_file())]
    WrongScheme(WrongScheme),
    #[error("the server at {url} sent no complete response: {why}")]
    Silent { url: String, why: String },
    #[error("the server at {url} sends a wrong response: {mismatch}")]
    Wrong { url: String, mismatch: String },
}

impl AccessError {
    /// Whether the user stopped it.
    pub fn is_interrupted(&self) -> bool {
        matches!(self, Self::Interrupted)
    }
}

impl Target {
    /// A server at this address, without encryption.
    pub fn plain(address: SocketAddr) -> Self {
        Self {
            address,
            authority: address.to_string(),
            client: None,
            is_outside: false,
            has_certificate: false,
        }
    }

    /// The error of an exchange in words, with what helps.
    pub fn explain(&self, error: &ExchangeError) -> String {
        let advice = match error {
            ExchangeError::Fault(Fault::Tls(failure)) if self.is_outside => {
                advice(failure, self.has_certificate)
            }
            _ => None,
        };
        match advice {
            Some(advice) => format!("{error}; {advice}"),
            None => error.to_string(),
        }
    }

    /// Where a server that Prony started is requested.
    fn of_started(address: SocketAddr, task: &Task) -> Self {
        Self {
            client: task.tls.as_ref().map(|tls| tls.client.clone()),
            ..Self::plain(address)
        }
    }
}

/// What helps if a server that already ran is not trusted, or does not trust Prony.
fn advice(failure: &Failure, has_certificate: bool) -> Option<&'static str> {
    Some(match failure {
        Failure::UnknownIssuer | Failure::AuthorityAsServer => {
            "add `cacert = \"FILE\"` beside its `url` to trust it, or `insecure = true` to trust every certificate"
        }
        Failure::WrongName { .. } => {
            "add `sni = \"NAME\"` beside its `url` to expect one of these names, or `insecure = true` to trust every certificate"
        }
        Failure::CertificateExpired(_)
        | Failure::CertificateNotYetValid(_)
        | Failure::InvalidCertificate(_) => {
            "add `insecure = true` beside its `url` to trust every certificate"
        }
        failure => match failure.without_certificate().filter(|_| !has_certificate)? {
            ClientCertificate::Required => "add `cert = \"FILE\"` beside its `url` to present one",
            ClientCertificate::PerhapsRequired => {
                "if it requires a client certificate, add `cert = \"FILE\"` beside its `url`"
            }
        },
    })
}

/// What helps if the files of a server that already ran cannot be used.
fn advice_on_files(error: &TlsError) -> &'static str {
    match error {
        TlsError::NoKey { .. } => "; give its file with `key`",
        _ => "",
    }
}

impl OutsideProcess {
    /// Finds the server.
    pub fn find(description: &Outside) -> Result<Self, NotListening> {
        Ok(Self {
            server: ListeningServer::find(&description.url, CONNECT_TIME)?,
            description: description.clone(),
        })
    }

    /// Finds the server, which `probe` must find ready at once.
    fn find_right(
        description: &Outside,
        testbed: &Testbed,
        task: &Task,
        probe: &mut dyn FnMut(&Target) -> Probe,
    ) -> Result<Self, AccessError> {
        let process = Self::find(description)?;
        let url = process.url();
        let probed = probe(&process.target(task.workload.protocol())?);
        // After an interrupt the user does not want to wait for what the server says to that.
        if probed != Probe::Right
            && !testbed.is_interrupted()
            && let Some(wrong) = process.wrong_scheme()
        {
            return Err(AccessError::WrongScheme(wrong));
        }
        match probed {
            Probe::Right => Ok(process),
            Probe::NotYet(why) => Err(AccessError::Silent { url, why }),
            Probe::Unavailable(mismatch) | Probe::Wrong(mismatch) => {
                Err(AccessError::Wrong { url, mismatch })
            }
        }
    }

    /// Where it listens.
    pub fn server(&self) -> &ListeningServer {
        &self.server
    }

    pub fn url(&self) -> String {
        self.description.url.to_string()
    }

    /// What is wrong with the scheme of its URL, if anything shows that. Asks the server, which did not respond as it
    /// should.
    pub fn wrong_scheme(&self) -> Option<WrongScheme> {
        WrongScheme::find(&self.description.url, &self.server.address().into())
    }

    /// Where it is requested over this protocol.
    pub fn target(&self, protocol: Protocol) -> Result<Target, TlsError> {
        let settings = tls_settings(&self.description).filter(|_| protocol.is_tls());
        let has_certificate = settings.as_ref().is_some_and(|it| it.identity.is_some());
        let client = settings.map(|settings| {
            let offer = Offer::Only(protocol.into());
            settings.client(self.description.url.host(), offer)
        });
        Ok(Target {
            address: self.server.address(),
            authority: self.description.url.authority().to_owned(),
            client: client.transpose()?,
            is_outside: true,
            has_certificate,
        })
    }
}

/// How connections to a server that already runs are encrypted; `None` if they are not.
pub fn tls_settings(outside: &Outside) -> Option<TlsSettings> {
    let options = outside.tls.as_ref()?;
    let identity = options.identity.as_ref().map(|identity| Identity {
        certificates: identity.certificates.clone(),
        key: identity.key.clone(),
    });
    Some(TlsSettings {
        trust: match &options.trust {
            CertificateTrust::Roots => Trust::Roots,
            CertificateTrust::File(file) => Trust::File(file.clone()),
            CertificateTrust::Any => Trust::Any,
        },
        identity,
        server_name: options.server_name.clone(),
        ..TlsSettings::default()
    })
}

impl Process {
    /// Starts a server on the testbed and waits until `probe` finds it ready; or finds the one that already runs, which
    /// `probe` must find ready at once. A wrapper may run the command of one that Prony starts.
    pub(super) fn bring_up(
        testbed: &Testbed,
        name: &str,
        task: &Task,
        access: &Access,
        wrapper: Option<&Wrapper>,
        probe: &mut dyn FnMut(&Target) -> Probe,
    ) -> Result<(Self, Option<Ready>), AccessError> {
        let brought_up = match access {
            Access::Start(built) => {
                let launch = Launch {
                    certificate: task.tls.as_ref().map(|tls| tls.certificate.clone()),
                    wrapper: wrapper.cloned(),
                    ..testbed.launch(name, built)
                };
                let started = bring_up(
                    built,
                    &launch,
                    &mut free_port,
                    &mut |address| probe(&Target::of_started(address, task)),
                    testbed.ready_timeout,
                    &testbed.interrupt,
                );
                let started = started.map(|(server, ready)| (Self::Started(server), Some(ready)));
                started.map_err(AccessError::from)
            }
            Access::Outside(description) => {
                let found = OutsideProcess::find_right(description, testbed, task, probe);
                found.map(|process| (Self::Outside(process), None))
            }
        };
        // A probe that was interrupted has no response.
        brought_up.map_err(|error| {
            if testbed.is_interrupted() {
                AccessError::Interrupted
            } else {
                error
            }
        })
    }

    /// Where a task is requested.
    pub fn target(&self, task: &Task) -> Result<Target, TlsError> {
        match self {
            Self::Started(server) => Ok(Target::of_started(server.address(), task)),
            Self::Outside(process) => process.target(task.workload.protocol()),
        }
    }

    /// The server, if Prony started it.
    fn started(&self) -> Option<&RunningServer> {
        match self {
            Self::Started(server) => Some(server),
            Self::Outside(_) => None,
        }
    }

    fn started_mut(&mut self) -> Option<&mut RunningServer> {
        match self {
            Self::Started(server) => Some(server),
            Self::Outside(_) => None,
        }
    }

    /// What is wrong with the scheme of its URL, if it already ran and anything shows that.
    pub fn wrong_scheme(&self) -> Option<WrongScheme> {
        match self {
            Self::Started(_) => None,
            Self::Outside(process) => process.wrong_scheme(),
        }
    }

    /// Its processes; `None` if they cannot be measured.
    pub fn tree(&self) -> Option<ProcessTree> {
        match self {
            Self::Started(server) => Some(server.tree()),
            Self::Outside(process) => process.server.tree().ok().cloned(),
        }
    }

    /// The CPUs of server and load: those of the run, unless Prony did not pin the server.
    pub(super) fn cpus(&self, of_run: &CpuAssignment) -> CpuAssignment {
        match self {
            Self::Started(_) => of_run.clone(),
            Self::Outside(process) => CpuAssignment {
                server: process.server.cpus(),
                load: of_run.load.clone(),
            },
        }
    }

    /// How it ended, if it has: `ended with exit code 3`.
    pub fn exited(&mut self) -> Option<String> {
        self.exits_within(Duration::ZERO)
    }

    /// How it ended, if it does within `time`.
    pub fn exits_within(&mut self, time: Duration) -> Option<String> {
        match self {
            Self::Started(server) => server.exits_within(time).map(|exit| exit.to_string()),
            Self::Outside(process) => {
                let has_ended = process.server.has_ended();
                has_ended.then(|| "ended (its processes are gone)".to_owned())
            }
        }
    }

    /// What it wrote last, and the paths of its logs.
    pub fn output(&self) -> String {
        self.logs().map_or_else(
            || "Prony did not start it, so it has no log of it".to_owned(),
            Logs::shown,
        )
    }

    /// How many lines it has written to standard output so far.
    pub fn log_lines(&mut self) -> io::Result<u64> {
        self.started_mut().ok_or_else(no_log)?.log_lines()
    }

    /// How many lines it has written to standard error so far.
    pub(crate) fn error_lines(&mut self) -> io::Result<u64> {
        self.started_mut().ok_or_else(no_log)?.error_lines()
    }

    /// Its own folder, if Prony started it and it has one.
    pub(super) fn scratch(&self) -> Option<PathBuf> {
        self.started()?.scratch().map(Path::to_owned)
    }

    /// Its logs; `None` if it already ran.
    pub fn logs(&self) -> Option<&Logs> {
        self.started().map(RunningServer::logs)
    }

    /// The memory that Prony makes it hold, in bytes: none if it would run anyway.
    pub(super) fn held_bytes(&self) -> u64 {
        let usage = self.started().and_then(|server| server.tree().usage().ok());
        usage.map_or(0, |usage| usage.resident_bytes)
    }

    /// Stops it if Prony started it: SIGTERM, and when `grace` is over, SIGKILL.
    pub fn stop(&mut self, grace: Duration) {
        if let Some(server) = self.started_mut() {
            server.stop(grace);
        }
    }

    /// Removes its logs, if it has any.
    pub fn discard_logs(&self) {
        if let Some(logs) = self.logs() {
            logs.discard();
        }
    }
}

fn no_log() -> io::Error {
    io::Error::other("Prony did not start the server, so it cannot count the lines that it logs")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_client_certificate_is_advised_if_the_project_has_none() {
        for (alert, beginning) in [
            ("certificate_required", "add `cert = "),
            ("bad_certificate", "add `cert = "),
            ("handshake_failure", "if it requires a client certificate, "),
        ] {
            let failure = Failure::Alert(alert.into());
            let advised = advice(&failure, false).unwrap();
            assert!(advised.starts_with(beginning), "{alert}: {advised}");
            assert_eq!(advice(&failure, true), None, "{alert}");
        }
        let internal = Failure::Alert("internal_error".into());
        assert_eq!(advice(&internal, false), None);
        assert!(advice(&Failure::UnknownIssuer, true).is_some());
    }
}
