//! What Prony needs to start and check any server: the testbed, and workloads with their expected responses.

use std::net::{IpAddr, Ipv4Addr};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::{Duration, SystemTime};

use prony_load::tls::{Offer, TlsClient, TlsError, TlsSettings, Trust};
use prony_model::{CpuAssignment, Protocol};
use prony_server::{
    Built, Certificate, CertificateError, Freshness, Launch, Layout, SupervisorProgram,
    with_short_lines,
};
use prony_traffic::expected::CountedDraws;

use crate::files::{AssetError, Files};
use crate::prepared_traffic::PreparedTraffic;
use crate::request::{PrepareError, PreparedRequest};
use crate::scenario::{PreparedScenario, ScenarioFault};
use crate::workload::{Exchange, Workload, WorkloadKind};

/// A workload, ready for any server.
pub struct Task {
    pub workload: Workload,
    /// What is requested, and what is expected.
    pub traffic: PreparedTraffic,
    /// How it is encrypted, if it is requested over TLS.
    pub tls: Option<TaskTls>,
}

/// The two ends of the TLS of a workload.
pub struct TaskTls {
    /// What its servers present.
    pub certificate: Certificate,
    /// What requests it: it trusts that certificate alone.
    pub client: TlsClient,
}

/// Why a workload cannot be requested.
#[derive(Debug, thiserror::Error)]
pub enum TaskError {
    /// Its request cannot be sent.
    #[error(transparent)]
    Request(#[from] PrepareError),
    /// Its expected response cannot be read.
    #[error(transparent)]
    Asset(#[from] AssetError),
    /// Its Hurl file cannot be run.
    #[error(transparent)]
    Scenario(#[from] ScenarioFault),
    /// It is requested over TLS, and there is no certificate.
    #[error(transparent)]
    Certificate(#[from] CertificateError),
    /// It is requested over TLS, and the certificate is unusable.
    #[error(transparent)]
    Tls(#[from] TlsError),
}

impl Task {
    /// Reads the environment variables and the files that a workload of the layout names, and the layout's certificate
    /// if the workload needs it.
    pub fn new(workload: &Workload, layout: &Layout) -> Result<Self, TaskError> {
        let assets = layout.assets_for(&workload.folder);
        let files = &Files::new(&workload.folder, assets);
        let protocol = workload.protocol();
        let tls = protocol.is_tls().then(|| TaskTls::new(protocol, layout));
        let values = workload.values.as_ref();
        let traffic =
            match &workload.kind {
                WorkloadKind::Request { request, response } => {
                    let exchange = Exchange {
                        id: &workload.id,
                        request,
                        values,
                        response,
                    };
                    let prepared = PreparedRequest::new(exchange, files)?;
                    PreparedTraffic::Request {
                        expected: exchange.expected_of(&prepared, files)?.into(),
                        request: prepared,
                    }
                }
                WorkloadKind::Scenario(scenario) => PreparedTraffic::Scenario(
                    PreparedScenario::new(&workload.id, scenario, values, files)?,
                ),
            };
        Ok(Self {
            traffic,
            tls: tls.transpose()?,
            workload: workload.clone(),
        })
    }

    /// What looks like a placeholder in a request that has none.
    pub(super) fn placeholder_without_values(&self) -> Option<String> {
        let request = self.traffic.request();
        request
            .filter(|_| self.workload.values.is_none())?
            .placeholder()
    }

    /// What counts the lines that it draws at random; `None` if it draws none.
    pub(super) fn draws(&self) -> Option<CountedDraws> {
        let lines = self.traffic.expected()?.drawn_lines();
        lines.map(CountedDraws::of)
    }

    /// Whether requests may have secrets that [`hide_secrets`](Self::hide_secrets) does not know.
    pub(crate) fn captures_secrets(&self) -> bool {
        self.traffic.captures_secrets()
    }

    /// The text with `***` for every secret of its requests.
    pub(crate) fn hide_secrets(&self, text: &str) -> String {
        self.traffic.secrets().hide(text)
    }

    /// The same for an error text with lines of a log: long ones are cut afterwards, so that no half of a secret stays.
    pub fn hide_in_error(&self, text: &str) -> String {
        with_short_lines(&self.hide_secrets(text))
    }
}

impl TaskTls {
    fn new(protocol: Protocol, layout: &Layout) -> Result<Self, TaskError> {
        let certificate = Certificate::of(layout)?;
        let settings = TlsSettings {
            trust: Trust::File(certificate.certificate.clone()),
            ..TlsSettings::default()
        };
        let offer = Offer::Only(protocol.into());
        Ok(Self {
            client: settings.client(&Ipv4Addr::LOCALHOST.to_string(), offer)?,
            certificate,
        })
    }
}

/// Where and how servers run: the same for every server of a run.
#[derive(Clone, Debug)]
pub struct Testbed {
    /// Where the project's files are.
    pub layout: Layout,
    /// What supervises every process.
    pub supervisor: SupervisorProgram,
    /// The CPUs of server and load.
    pub cpus: CpuAssignment,
    /// The address that servers listen on.
    pub host: IpAddr,
    /// The folder for the servers' output.
    pub logs: PathBuf,
    /// How long a server may take to its first expected response.
    pub ready_timeout: Duration,
    /// Whether an earlier build of a server may be used again.
    pub freshness: Freshness,
    /// Once set, whatever goes on ends early.
    pub interrupt: Arc<AtomicBool>,
}

impl Testbed {
    pub(crate) fn is_interrupted(&self) -> bool {
        self.interrupt.load(Relaxed)
    }

    /// Starts a built server, without encryption, whose logs get this name.
    pub fn launch(&self, name: &str, built: &Built) -> Launch {
        Launch {
            supervisor: self.supervisor.clone(),
            cpus: self.cpus.server.clone(),
            host: self.host,
            assets: self.layout.assets_for(&built.folder),
            certificate: None,
            log: self.logs.join(format!("{name}.log")),
            wrapper: None,
        }
    }
}

/// The current time, RFC 3339, UTC.
pub fn now() -> String {
    humantime::format_rfc3339_seconds(SystemTime::now()).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_line_is_cut_after_its_secrets_are_hidden() {
        let text = "[request]\nmethod = \"GET\"\npath = \"/\"\n\
                    basic_auth = { user = \"ann\", password = \"swordfish\" }\n[response]\nstatus = 200\n";
        let workload: Workload = toml::from_str(text).unwrap();
        let files = Files::new("no/such/folder", "no/such/folder");
        let prepared = PreparedRequest::new(workload.exchange().unwrap(), &files).unwrap();
        let task = Task {
            traffic: PreparedTraffic::Request {
                request: prepared,
                expected: Arc::default(),
            },
            workload,
            tls: None,
        };
        let mut hidden = Vec::new();
        for before in 480..520 {
            let line = format!("log:\n  {}swordfish", "-".repeat(before));
            hidden.push(task.hide_in_error(&line));
        }
        assert!(hidden.iter().all(|it| !it.contains("sw")), "{hidden:?}");
        assert!(hidden[0].ends_with("-***") && hidden[39].ends_with("-…"));
    }
}
