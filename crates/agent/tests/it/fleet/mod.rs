//! Fleets of real processes on this host, which load a real server.

mod failures;
mod loads;
mod pipes;
mod start;

use std::fs::{self, File};
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener};
use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use prony_fleet::{Fleet, FleetError, Limits, Local};
use prony_load::{EventLoopChoice, HttpUrl, LoadError, LoadPlan, LoadRunner, Request};
use prony_model::LoadResult;
use prony_reference::script::{Script, Service};
use prony_reference::{Config, Responded, ScriptedServer, Work};
use prony_testkit::until;

/// Far longer than anything here takes unless there is a fault.
const LONG: Duration = Duration::from_secs(60);
const LOOPS: [EventLoopChoice; 2] = [EventLoopChoice::Epoll, EventLoopChoice::IoUring];

/// A server that remembers its responses.
struct TestServer {
    address: SocketAddr,
    responded: Arc<Mutex<Vec<Responded>>>,
}

impl TestServer {
    fn start() -> Self {
        let config = Config {
            host: "127.0.0.1".into(),
            port: 0,
            cpus: 1.try_into().unwrap(),
            assets: Path::new(env!("CARGO_MANIFEST_DIR")).join("../../workloads/assets"),
            work: Work::default(),
            tls: None,
        };
        let script = Script {
            freeze: None,
            service: Service::Fixed(Duration::ZERO),
            workers: 64.try_into().unwrap(),
            seed: 1,
        };
        let server = ScriptedServer::bind(&config, script).unwrap();
        let address = server.address();
        let responded = Arc::new(Mutex::new(Vec::new()));
        let record = responded.clone();
        let log = File::create("/dev/null").unwrap();
        thread::spawn(move || server.run(log, |one| record.lock().unwrap().push(one)));
        Self { address, responded }
    }

    fn count(&self) -> u64 {
        self.responded.lock().unwrap().len() as u64
    }

    fn await_response(&self) {
        until("a response", || (self.count() > 0).then_some(()));
    }

    /// A closed loop without an end.
    fn plan(&self) -> LoadPlan {
        let url: HttpUrl = format!("http://{}/hello", self.address).parse().unwrap();
        let request = Request::new("GET", &url, &[], b"").unwrap();
        LoadPlan {
            connections: 12,
            max_connections: 12,
            ..LoadPlan::new(self.address.into(), url.as_str(), request)
        }
    }

    /// The same with that many requests.
    fn plan_of(&self, requests: u64) -> LoadPlan {
        LoadPlan {
            requests: Some(requests),
            ..self.plan()
        }
    }
}

/// A server that responds to small requests. `hear` gets each, and which one of its connection it is.
fn listening_server(hear: impl Fn(usize, &str) + Clone + Send + 'static) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    thread::spawn(move || {
        for stream in listener.incoming() {
            let (mut stream, hear) = (stream.unwrap(), hear.clone());
            thread::spawn(move || {
                let mut buffer = [0; 4096];
                for nth in 0.. {
                    let Ok(length @ 1..) = stream.read(&mut buffer) else {
                        return;
                    };
                    hear(nth, str::from_utf8(&buffer[..length]).unwrap());
                    let response = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi";
                    if stream.write_all(response).is_err() {
                        return;
                    }
                }
            });
        }
    });
    address
}

/// On a machine that is busy with other tests, agents may begin late.
fn patient() -> Limits {
    Limits {
        start_lag: LONG,
        ..Limits::default()
    }
}

fn launch(agents: usize) -> Fleet {
    launch_within(agents, patient())
}

fn launch_within(agents: usize, limits: Limits) -> Fleet {
    let local = Local::of(env!("CARGO_BIN_EXE_prony-agent"));
    Fleet::launch_within(&local, agents, limits, &AtomicBool::new(false)).unwrap()
}

/// The load of all its agents.
fn of_all(fleet: &Fleet, plan: &LoadPlan) -> LoadPlan {
    LoadPlan {
        agents: fleet.hosts().len(),
        ..plan.clone()
    }
}

/// Runs the load on all agents.
fn run(fleet: &Fleet, plan: &LoadPlan) -> Result<LoadResult, FleetError> {
    fleet
        .run(&of_all(fleet, plan), &AtomicBool::new(false), &mut |_| {})
        .map_err(fleet_error)
}

fn fleet_error(error: LoadError) -> FleetError {
    match error {
        LoadError::Fleet(error) => *error.downcast().unwrap(),
        other => panic!("{other}"),
    }
}

/// The agents of a fleet, by their numbers; `None` for one that has ended.
fn processes(id: &str) -> Vec<(usize, i32)> {
    let mut found = Vec::new();
    for entry in fs::read_dir("/proc").unwrap().flatten() {
        let Some(pid) = entry
            .file_name()
            .to_str()
            .and_then(|name| name.parse().ok())
        else {
            continue;
        };
        let Ok(line) = fs::read(entry.path().join("cmdline")) else {
            continue;
        };
        let words: Vec<&[u8]> = line.split(|&byte| byte == 0).collect();
        let after = |word: &str| {
            let position = words.iter().position(|it| *it == word.as_bytes())?;
            std::str::from_utf8(words.get(position + 1)?).ok()
        };
        if after("--fleet") == Some(id) {
            found.push((after("--index").unwrap().parse().unwrap(), pid));
        }
    }
    found.sort_unstable();
    found
}

fn signal(id: &str, agent: usize, signal: Signal) {
    let all = processes(id);
    let (_, pid) = all.iter().find(|(index, _)| *index == agent).unwrap();
    kill(Pid::from_raw(*pid), signal).unwrap();
}

fn until_none_is_left(id: &str) {
    until("the end of every agent", || {
        processes(id).is_empty().then_some(())
    });
}
