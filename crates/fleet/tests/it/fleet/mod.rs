//! Fleets of real processes on this host, which load a real server.

mod failures;
mod loads;
mod pipes;
mod start;

use std::fs;
use std::sync::atomic::AtomicBool;
use std::thread;
use std::time::Duration;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use prony_fleet::{Fleet, FleetError, Launcher, Limits, Local};
use prony_load::{EventLoopChoice, LoadError, LoadPlan, LoadRunner};
use prony_model::LoadResult;
use prony_testkit::recorder::HttpServer;
use prony_testkit::{contains, processes, until};
use prony_traffic::{HttpUrl, RequestParts};

/// Far longer than anything here takes unless there is a fault.
const LONG: Duration = Duration::from_secs(60);
const LOOPS: [EventLoopChoice; 2] = [EventLoopChoice::Epoll, EventLoopChoice::IoUring];

/// A server that records its requests.
struct TestServer(HttpServer);

impl TestServer {
    fn start() -> Self {
        Self(HttpServer::start())
    }

    fn count(&self) -> u64 {
        self.0.count() as u64
    }

    /// A closed loop without an end.
    fn plan(&self) -> LoadPlan {
        let url: HttpUrl = self.0.url().parse().unwrap();
        let request = RequestParts::new("GET", &url, &[], b"").unwrap();
        LoadPlan::new(self.0.address.into(), url.as_str(), request).with(|plan| {
            plan.load.connections = 12;
            plan.load.max_connections = Some(12);
        })
    }

    /// The same with that many requests.
    fn plan_of(&self, requests: u64) -> LoadPlan {
        self.plan().with(|plan| plan.load.requests = Some(requests))
    }
}

/// On a machine that is busy with other tests, agents may begin late, and be silent for a while.
fn patient() -> Limits {
    Limits {
        silence: LONG,
        start_lag: LONG,
        ..Limits::default()
    }
}

fn launch(agents: usize) -> Fleet {
    launch_within(agents, patient())
}

fn launch_within(agents: usize, limits: Limits) -> Fleet {
    let local = Local::of(env!("CARGO_BIN_EXE_prony-agent"));
    launch_of(&local, agents, limits).unwrap()
}

fn launch_of(launcher: &dyn Launcher, agents: usize, limits: Limits) -> Result<Fleet, FleetError> {
    let never = AtomicBool::new(false);
    Fleet::launch(launcher, agents, limits, &never, &mut |_, _| {})
}

/// The load of all its agents.
fn of_all(fleet: &Fleet, plan: &LoadPlan) -> LoadPlan {
    plan.clone().with(|plan| plan.agents = fleet.hosts().len())
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

fn signal(id: &str, agent: usize, signal: Signal) {
    let is_agent = |pid: &i32| {
        let line = fs::read_to_string(format!("/proc/{pid}/cmdline")).unwrap();
        line.ends_with(&format!("\0--index\0{agent}\0"))
    };
    let pid = processes::with(id).into_iter().find(is_agent).unwrap();
    kill(Pid::from_raw(pid), signal).unwrap();
}
