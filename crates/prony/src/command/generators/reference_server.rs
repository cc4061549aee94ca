//! The reference server that the generators load, under its supervisor.

use std::error::Error;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use prony_load::{HttpUrl, Request, exchange};
use prony_server::{
    Built, FreePorts, Launch, Layout, Probe, ProcessTree, RunningServer, SupervisorProgram, Word,
    bring_up,
};

use super::truth::Freeze;

/// How long it may take to its first response.
const READY_TIME: Duration = Duration::from_secs(20);
/// How long it may take to that of one probe.
const PROBE_TIME: Duration = Duration::from_secs(1);
/// How long it may take to its end.
const STOP_TIME: Duration = Duration::from_secs(1);

/// How the server is started, again and again.
pub struct ReferenceServers {
    launch: Launch,
    folder: PathBuf,
}

/// One that runs. It ends with this.
pub struct ReferenceServer(RunningServer);

impl ReferenceServers {
    pub fn on(cpus: &[usize], layout: &Layout) -> Result<Self, Box<dyn Error>> {
        Ok(Self {
            launch: Launch {
                supervisor: SupervisorProgram::current()?,
                cpus: cpus.to_vec(),
                host: IpAddr::V4(Ipv4Addr::LOCALHOST),
                assets: layout.assets(),
                log: layout.runs().join("generators").join("reference.log"),
            },
            folder: layout.root().to_owned(),
        })
    }

    /// Starts one and waits until it responds. The first request to one that freezes begins its
    /// first period, so it is asked for nothing: that it listens is enough.
    pub fn start(
        &self,
        freeze: Option<Freeze>,
        interrupt: &AtomicBool,
    ) -> Result<ReferenceServer, Box<dyn Error>> {
        let program = self.launch.supervisor.path().display().to_string();
        let mut run = vec![program, "reference".to_owned()];
        if let Some(freeze) = freeze {
            run.extend(["--freeze".to_owned(), freeze.to_string()]);
        }
        let run = run.into_iter().map(Word::from).collect();
        let built = Built::ready_made(run, &self.folder);
        let mut probe = |address| match freeze {
            None => asked(address),
            Some(_) => listens(address),
        };
        let (server, _) = bring_up(
            &built,
            &self.launch,
            &mut FreePorts,
            &mut probe,
            READY_TIME,
            interrupt,
        )?;
        Ok(ReferenceServer(server))
    }
}

impl ReferenceServer {
    /// `127.0.0.1:8080`.
    pub fn host(&self) -> String {
        self.0.address().to_string()
    }

    /// Its process tree, to sample.
    pub fn tree(&self) -> ProcessTree {
        self.0.tree()
    }

    /// How it ended, where it has.
    pub fn ended(&mut self) -> Option<String> {
        let exit = self.0.exited()?;
        Some(format!(
            "the reference server {exit}: {}",
            self.0.logs().shown()
        ))
    }
}

impl Drop for ReferenceServer {
    fn drop(&mut self) {
        self.0.stop(STOP_TIME);
        // It says nothing that matters any more.
        self.0.logs().discard();
    }
}

fn asked(address: SocketAddr) -> Probe {
    let url = format!("http://{address}/hello").parse::<HttpUrl>();
    let request = url
        .ok()
        .and_then(|url| Request::new("GET", &url, &[], b"").ok());
    match request.map(|request| exchange(address, &request.into(), PROBE_TIME)) {
        Some(Ok(_)) => Probe::Right,
        Some(Err(error)) => Probe::NotYet(error.to_string()),
        None => Probe::NotYet("it cannot be asked".to_owned()),
    }
}

fn listens(address: SocketAddr) -> Probe {
    match std::net::TcpStream::connect_timeout(&address, PROBE_TIME) {
        Ok(_) => Probe::Right,
        Err(error) => Probe::NotYet(error.to_string()),
    }
}
