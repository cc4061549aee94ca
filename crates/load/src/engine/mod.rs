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
mod tally;
mod worker;

use std::convert::Infallible;
use std::sync::atomic::AtomicBool;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread;
use std::time::Duration;

use nix::errno::Errno;
use nix::sched::{CpuSet, sched_setaffinity};
use nix::sys::resource::{Resource, getrlimit, setrlimit};
use nix::unistd::Pid;
use prony_record::LoadResult;

use clock::Clock;
use pacer::Closed;
use poller::Poller;
pub use progress::Progress;
use progress::WorkerProgress;
use worker::{Shared, Worker, WorkerResult};

use crate::plan::{LoadPlan, PlanError, share_of};

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
                let running = running.clone();
                scope.spawn(move || {
                    let _running = running;
                    run_worker(shared, index)
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

fn run_worker(shared: Shared<'_>, index: usize) -> Result<WorkerResult, LoadError> {
    let plan = shared.plan;
    if !plan.cpus.is_empty() {
        pin_to(plan.cpus[index % plan.cpus.len()])?;
    }
    let share = |whole: u64| share_of(whole, plan.threads as u64, index as u64);
    let requests = plan.requests.map(share);
    let connections = share(plan.connections as u64).min(requests.unwrap_or(u64::MAX));
    let pacer = Closed::new(requests, !plan.warmup.is_zero());
    let poller = Poller::new().map_err(refused("make an epoll instance"))?;
    Worker::new(shared, poller, connections, pacer)
        .run()
        .map_err(refused("wait for events"))
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
