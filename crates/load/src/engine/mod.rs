//! The load engine: worker threads that share nothing while they run.

mod clock;
mod connection;
mod cost;
mod judge;
mod pacer;
mod phase;
mod poller;
mod progress;
mod result;
mod source_address;
mod tally;
mod timetable;
mod worker;

use std::convert::Infallible;
use std::sync::atomic::AtomicBool;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread;
use std::time::Duration;

use nix::errno::Errno;
use nix::sched::{CpuSet, sched_setaffinity};
use nix::sys::prctl::set_timerslack;
use nix::sys::resource::{Resource, getrlimit, setrlimit};
use nix::unistd::Pid;
use prony_record::{LoadResult, LoadShape};

use clock::{Clock, nanoseconds};
use pacer::{Closed, Pacer, SharedBudget, UsersOpen};
use poller::Poller;
pub use progress::Progress;
use progress::WorkerProgress;
use worker::{Shared, Worker, WorkerResult};

use crate::plan::{LoadPlan, PlanError, share_of};
use crate::request::WireRequest;
use crate::wire::grpc::CallWire;
use crate::wire::h1::H1Wire;

/// Why a load could not be made.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    /// It was asked for in a way that cannot be.
    #[error(transparent)]
    Plan(#[from] PlanError),
    /// More connections than files may be open.
    #[error(
        "{connections} connections need more open files than the limit of {limit}; raise it with `ulimit -n` or use fewer connections"
    )]
    FileLimit {
        /// Connections asked for.
        connections: usize,
        /// The hard limit of open files.
        limit: u64,
    },
    /// The system refused something the engine cannot do without.
    #[error("the system refused to {what}: {errno}")]
    System {
        /// What.
        what: &'static str,
        /// Why.
        errno: Errno,
    },
    /// A worker thread panicked.
    #[error("a worker thread of the load engine panicked: please report this")]
    Panicked,
}

/// Files a process has open besides its connections, generously.
const OTHER_FILES: u64 = 64;
/// How often the observer is told how far the load is.
const OBSERVE: Duration = Duration::from_millis(100);

/// Puts the load on its target and measures it, until it ends or `interrupt` is set (what was
/// measured up to then is the result). `observe` is called about ten times a second.
pub fn run(
    plan: &LoadPlan,
    interrupt: &AtomicBool,
    observe: &mut dyn FnMut(Progress),
) -> Result<LoadResult, LoadError> {
    plan.validate()?;
    raise_file_limit(plan.connections)?;
    let progress: Vec<WorkerProgress> = (0..plan.threads)
        .map(|_| WorkerProgress::default())
        .collect();
    let clock = Clock::start();
    let budget = SharedBudget::new(plan.requests);
    // Nothing is ever sent: that no sender is left says that every worker has ended.
    let (running, ended) = channel::<Infallible>();
    let results: Vec<WorkerResult> = thread::scope(|scope| {
        let workers: Vec<_> = (0..plan.threads)
            .zip(&progress)
            .map(|(index, progress)| {
                let shared = Shared {
                    plan,
                    clock,
                    interrupt,
                    progress,
                };
                let (running, budget) = (running.clone(), &budget);
                scope.spawn(move || {
                    let _running = running;
                    run_worker(shared, index, budget)
                })
            })
            .collect();
        drop(running);
        let pause = OBSERVE.min(plan.duration.unwrap_or(OBSERVE) / 10);
        while ended.recv_timeout(pause) == Err(RecvTimeoutError::Timeout) {
            observe(Progress::of(&progress));
        }
        workers
            .into_iter()
            .map(|worker| worker.join().map_err(|_| LoadError::Panicked)?)
            .collect::<Result<_, _>>()
    })?;
    Ok(result::assemble(plan, results))
}

/// Pins the thread, and gives the worker its pacer: the shapes differ in nothing else.
fn run_worker(
    shared: Shared<'_>,
    index: usize,
    budget: &SharedBudget,
) -> Result<WorkerResult, LoadError> {
    let plan = shared.plan;
    if !plan.cpus.is_empty() {
        pin_to(plan.cpus[index % plan.cpus.len()])?;
    }
    let share = |whole: u64| share_of(whole, plan.threads as u64, index as u64);
    let connections = share(plan.connections as u64);
    let has_warmup = !plan.warmup.is_zero();
    match plan.shape {
        LoadShape::Closed => {
            let requests = plan.requests.map(share);
            let pacer = Closed::new(requests, has_warmup);
            work(shared, connections.min(requests.unwrap_or(u64::MAX)), pacer)
        }
        LoadShape::UsersOpen { think_time_s } => {
            keep_time_exactly()?;
            let mean = nanoseconds(Duration::from_secs_f64(think_time_s));
            let start = shared.clock.now();
            let random = fastrand::Rng::new();
            let users = connections as usize;
            let pacer = UsersOpen::new(users, start, mean, budget, has_warmup, random);
            work(shared, connections, pacer)
        }
    }
}

/// Gives the worker its wires.
fn work(
    shared: Shared<'_>,
    connections: u64,
    pacer: impl Pacer,
) -> Result<WorkerResult, LoadError> {
    let poller = Poller::new().map_err(refused("make an epoll instance"))?;
    let result = match &shared.plan.request {
        WireRequest::Http1(request) => {
            let wire = |_| H1Wire::new(request.bytes(), request.is_head());
            Worker::new(shared, poller, (0..connections).map(wire), pacer).run()
        }
        WireRequest::Grpc(call) => {
            let wire = |_| CallWire::new(call);
            Worker::new(shared, poller, (0..connections).map(wire), pacer).run()
        }
    };
    result.map_err(refused("wait for events"))
}

/// The kernel may otherwise wake a thread up to 50 µs late, to save power.
fn keep_time_exactly() -> Result<(), LoadError> {
    set_timerslack(1).map_err(refused("set its timer slack"))
}

fn pin_to(cpu: usize) -> Result<(), LoadError> {
    let mut set = CpuSet::new();
    set.set(cpu)
        .and_then(|()| sched_setaffinity(Pid::from_raw(0), &set))
        .map_err(refused("pin a worker thread to its CPU"))
}

fn refused(what: &'static str) -> impl Fn(Errno) -> LoadError {
    move |errno| LoadError::System { what, errno }
}

/// Raises the soft limit of open files as far as `connections` need it.
fn raise_file_limit(connections: usize) -> Result<(), LoadError> {
    let wanted = connections as u64 + OTHER_FILES;
    let (soft, hard) =
        getrlimit(Resource::RLIMIT_NOFILE).map_err(refused("tell its limit of open files"))?;
    if soft >= wanted {
        return Ok(());
    }
    // Root may raise the hard limit as well.
    setrlimit(Resource::RLIMIT_NOFILE, wanted, hard.max(wanted)).map_err(|_| LoadError::FileLimit {
        connections,
        limit: hard,
    })
}
