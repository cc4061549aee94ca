//! The reference server as a process of its own, under its supervisor.

use std::error::Error;
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpStream};
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use prony_load::exchange;
use prony_reference::script::Freeze;
use prony_server::{
    Built, Certificate, Launch, Layout, Probe, ProcessTree, RunningServer, SupervisorProgram, Word,
    bring_up, free_port, with_short_lines,
};
use prony_traffic::{HttpUrl, RequestParts, Response};

/// How long its start may take.
const READY_TIME: Duration = Duration::from_secs(20);
/// How long the response to one probe may take.
const PROBE_TIME: Duration = Duration::from_secs(1);
/// How long its end may take.
const STOP_TIME: Duration = Duration::from_secs(1);

pub(crate) struct ReferenceServers {
    launch: Launch,
    layout: Layout,
}

/// What is special about one.
#[derive(Clone, Debug, Default)]
pub(crate) struct Serving {
    pub(crate) freeze: Option<Freeze>,
    pub(crate) tls: bool,
}

/// A running one. It is stopped when this is dropped.
pub(crate) struct ReferenceServer(RunningServer);

impl ReferenceServers {
    pub(crate) fn on(cpus: &[usize], layout: &Layout) -> Result<Self, Box<dyn Error>> {
        Ok(Self {
            launch: Launch {
                supervisor: SupervisorProgram::current()?,
                cpus: cpus.to_vec(),
                host: IpAddr::V4(Ipv4Addr::LOCALHOST),
                assets: layout.assets_for(layout.root()),
                certificate: None,
                log: layout.runs().join("generators").join("reference.log"),
                wrapper: None,
            },
            layout: layout.clone(),
        })
    }

    /// Starts one and waits until it responds. One that freezes only has to listen, because its first request begins its
    /// first period; so has one that speaks TLS.
    pub(crate) fn start(
        &self,
        serving: &Serving,
        interrupt: &AtomicBool,
    ) -> Result<ReferenceServer, Box<dyn Error>> {
        let program = self.launch.supervisor.path().display().to_string();
        let mut run = vec![program, "reference".to_owned()];
        if let Some(freeze) = &serving.freeze {
            run.extend(["--freeze".to_owned(), freeze.to_string()]);
        }
        let only_listens = serving.freeze.is_some() || serving.tls;
        let probe = if only_listens { listens } else { responds };
        let certificate = serving.tls.then(|| Certificate::of(&self.layout));
        let launch = Launch {
            certificate: certificate.transpose()?,
            ..self.launch.clone()
        };
        let run = run.into_iter().map(Word::from).collect();
        let built = Built::ready_made(run, self.layout.root());
        let (server, _) = bring_up(
            &built,
            &launch,
            &mut free_port,
            &mut { probe },
            READY_TIME,
            interrupt,
        )?;
        Ok(ReferenceServer(server))
    }
}

impl ReferenceServer {
    /// `127.0.0.1:8080`.
    pub(crate) fn host(&self) -> String {
        self.0.address().to_string()
    }

    pub(crate) fn tree(&self) -> ProcessTree {
        self.0.tree()
    }

    pub(crate) fn ended(&mut self) -> Option<String> {
        let exit = self.0.exited()?;
        Some(format!(
            "the reference server {exit}: {}",
            with_short_lines(&self.0.logs().shown())
        ))
    }
}

impl Drop for ReferenceServer {
    fn drop(&mut self) {
        self.0.stop(STOP_TIME);
        // Its output is of no interest any more.
        self.0.logs().discard();
    }
}

fn responds(address: SocketAddr) -> Probe {
    let exchanged = || -> Result<Response, Box<dyn Error>> {
        let url: HttpUrl = format!("http://{address}/hello").parse()?;
        let request = RequestParts::new("GET", &url, &[], b"")?;
        Ok(exchange(
            &address.into(),
            &request.into(),
            None,
            PROBE_TIME,
        )?)
    };
    probed(exchanged())
}

fn listens(address: SocketAddr) -> Probe {
    probed(TcpStream::connect_timeout(&address, PROBE_TIME))
}

fn probed<T>(result: Result<T, impl ToString>) -> Probe {
    match result {
        Ok(_) => Probe::Right,
        Err(error) => Probe::NotYet(error.to_string()),
    }
}
