//! The load engine: worker threads that share nothing while they run.

mod clock;
mod connection;
mod cost;
mod encoded;
mod event_loop;
mod flows;
mod intervals;
mod judge;
mod pacer;
mod part;
mod phase;
mod progress;
mod records;
mod request_mix;
mod request_trace;
mod result;
mod sampler;
mod silence;
mod source_address;
mod stage_rows;
mod start_line;
mod tally;
mod tcp_events;
#[cfg(test)]
mod tests;
mod timeline;
mod worker;
mod worker_number;

use std::convert::Infallible;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread;
use std::time::{Duration, SystemTime};

use nix::errno::Errno;
use nix::sys::prctl::set_timerslack;
use nix::sys::resource::{Resource, getrlimit, setrlimit};
use prony_kernel::ThrottleMeter;
use prony_model::{LoadResult, LoadShape};

use clock::{Clock, nanoseconds};
use event_loop::{EventLoop, FirstEventLoop, LONG_BODY};
pub(crate) use event_loop::{Mode, socket_for};
use flows::Flows;
use judge::Judge;
use pacer::{Batched, Closed, ClosedUser, OpenUser, Pacer, Rate, SharedBudget, Users};
pub use part::{ForeignPart, PartResult};
pub use progress::Progress;
use progress::WorkerProgress;
use prony_traffic::{HttpVersion, RequestError, Traffic};
pub use records::{Recording, Records};
use request_mix::RequestMix;
pub use result::assemble;
pub use start_line::Start;
use start_line::{Place, StartLine};
use tcp_events::HostEvents;
use worker::{Arrivals, Connections, Ledger, Share, Shared, Worker, WorkerResult};
use worker_number::{WorkerNumber, share_of_agent};

use crate::plan::{EventLoopChoice, LoadPlan, PlanError};
use crate::request::{EncodedRequests, EncodedTraffic};
use crate::wire::Wire;
use crate::wire::h1::H1Wire;
use crate::wire::h2::H2Wire;
use crate::wire::tls::Channel;

/// Why a load could not run.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    #[error(transparent)]
    Plan(#[from] PlanError),
    #[error(
        "{connections} connections need more open files than the limit of {limit}; raise it with `ulimit -n` or use fewer connections"
    )]
    FileLimit { connections: usize, limit: u64 },
    #[error(
        "io_uring is unavailable here: {0}; containers often forbid it; `--loop epoll` works without it"
    )]
    NoIoUring(std::io::Error),
    #[error("the system refused to {what}: {errno}")]
    System { what: &'static str, errno: Errno },
    #[error("a worker thread of the load engine panicked: please report this")]
    Panicked,
    #[error(transparent)]
    Request(#[from] RequestError),
    #[error("{0}")]
    NotPortable(String),
    #[error(transparent)]
    Fleet(Box<dyn std::error::Error + Send + Sync>),
}

/// Files a process has open besides its connections, generously.
const OTHER_FILES: u64 = 64;
/// This many responses are enough to know their length, however many requests there are.
const MOST_LEARNT: u64 = 64;
/// Derives another random source from the seed, for sampling responses.
const SAMPLES: u64 = 0x5a5a_5a5a_5a5a_5a5a;
const OBSERVE: Duration = Duration::from_millis(100);

/// Runs the load on its target and measures it, until it ends or `interrupt` is set (the result is then what was
/// measured so far). `observe` is called about ten times per second, and once with the last figures.
///
/// # Errors
///
/// If the load cannot run as planned, or has several agents.
pub fn run(
    plan: &LoadPlan,
    interrupt: &AtomicBool,
    observe: &mut dyn FnMut(Progress),
) -> Result<LoadResult, LoadError> {
    let nothing = Recording::default();
    run_recording(plan, nothing, interrupt, observe).map(|(result, _)| result)
}

/// The same, which also keeps what `recording` wants.
///
/// # Errors
///
/// As for [`run`].
pub fn run_recording(
    plan: &LoadPlan,
    recording: Recording,
    interrupt: &AtomicBool,
    observe: &mut dyn FnMut(Progress),
) -> Result<(LoadResult, Records), LoadError> {
    if plan.agents > 1 {
        return Err(PlanError::SeveralAgents(plan.agents).into());
    }
    let agent = Agent {
        index: 0,
        start: None,
        recording,
    };
    let (part, records) = run_workers(plan, agent, interrupt, observe)?;
    Ok((assemble(plan, &[part]), records))
}

/// Runs the part of agent `index` (from 0 on) of the load, as [`run`] runs a whole one. No request leaves before the
/// instant that `start` gives; if it gives none, the result is empty.
///
/// # Errors
///
/// As for [`run`], or if the load has no such agent.
pub fn run_part(
    plan: &LoadPlan,
    index: usize,
    start: &dyn Start,
    interrupt: &AtomicBool,
    observe: &mut dyn FnMut(Progress),
) -> Result<PartResult, LoadError> {
    let agent = Agent {
        index,
        start: Some(start),
        recording: Recording::default(),
    };
    run_workers(plan, agent, interrupt, observe).map(|(part, _)| part)
}

/// What generates a part of a load, or all of it.
struct Agent<'a> {
    index: usize,
    /// What says when its workers begin; `None` if they begin as soon as they can.
    start: Option<&'a dyn Start>,
    recording: Recording,
}

fn run_workers(
    plan: &LoadPlan,
    agent: Agent<'_>,
    interrupt: &AtomicBool,
    observe: &mut dyn FnMut(Progress),
) -> Result<(PartResult, Records), LoadError> {
    plan.validate()?;
    let Agent {
        index: agent,
        start,
        recording,
    } = agent;
    let agents = plan.agents;
    if agent >= agents {
        return Err(PlanError::NoSuchAgent { agent, agents }.into());
    }
    let sent = EncodedTraffic::of(&plan.request)?;
    raise_file_limit(most_sockets(plan, agent))?;
    let progress: Vec<WorkerProgress> = (0..plan.load.threads)
        .map(|_| WorkerProgress::default())
        .collect();
    let (tcp_before, quota) = (tcp_events::now(), ThrottleMeter::own());
    let (clock, origin) = (Clock::start(), SystemTime::now());
    let budget = SharedBudget::new(
        plan.load
            .requests
            .map(|all| share_of_agent(plan, agent, all)),
    );
    let start_line = StartLine::new(clock, plan.load.threads, start.is_some());
    // Set by an interrupt, and by a worker that fails: the load cannot become what was planned.
    let stop = AtomicBool::new(interrupt.load(Relaxed));
    // Never carries a message: it disconnects when every worker has ended.
    let (running, ended) = channel::<Infallible>();
    let mut results: Vec<WorkerResult> = thread::scope(|scope| {
        let workers: Vec<_> = (0..plan.load.threads)
            .zip(&progress)
            .map(|(thread, progress)| {
                let shared = Shared {
                    plan,
                    sent: &sent,
                    clock,
                    interrupt: &stop,
                    progress,
                    recording,
                };
                let (running, budget, place) = (running.clone(), &budget, start_line.place());
                let stop = &stop;
                scope.spawn(move || {
                    let _running = running;
                    let number = WorkerNumber::of(plan, agent, thread);
                    let result = run_worker(shared, agent, number, budget, place);
                    result.inspect_err(|_| stop.store(true, Relaxed))
                })
            })
            .collect();
        drop(running);
        let starter = start.map(|start| scope.spawn(|| start_line.find_out(start, &stop)));
        let pause = OBSERVE.min(plan.load.duration.map_or(OBSERVE, Duration::from) / 10);
        while ended.recv_timeout(pause) == Err(RecvTimeoutError::Timeout) {
            observe(Progress::of(&progress));
            if interrupt.load(Relaxed) {
                stop.store(true, Relaxed);
            }
        }
        // The figures of the result.
        observe(Progress::of(&progress));
        let panicked = |_| LoadError::Panicked;
        starter.map_or(Ok(()), |starter| starter.join().map_err(panicked))?;
        workers
            .into_iter()
            .map(|worker| worker.join().map_err(panicked)?)
            .collect::<Result<_, _>>()
    })?;
    let tcp = HostEvents::since(tcp_before);
    let recorded = results
        .iter_mut()
        .filter_map(|it| it.figures.records.take());
    let records = Records::merged(plan, recording, recorded.collect(), origin);
    let mut part = PartResult::of(plan, agent, results, tcp);
    part.throttled = quota.throttled();
    Ok((part, records))
}

/// How many sockets an agent may have open at a time.
fn most_sockets(plan: &LoadPlan, agent: usize) -> usize {
    let share = |whole: usize| share_of_agent(plan, agent, whole as u64) as usize;
    share(plan.load.most_connections()) + share(plan.load.streams)
}

/// Pins the thread, and gives the worker its event loop.
fn run_worker<'a>(
    shared: Shared<'a>,
    agent: usize,
    number: WorkerNumber,
    budget: &'a SharedBudget,
    place: Place<'_>,
) -> Result<WorkerResult, LoadError> {
    let plan = shared.plan;
    // By the number among all agents, because those of this host share its CPUs.
    if !plan.here.cpus.is_empty() {
        pin_to(plan.here.cpus[number.worker % plan.here.cpus.len()])?;
    }
    if plan.load.shape != LoadShape::Closed || plan.here.batches.is_some() || place.is_shared() {
        // By default the kernel may wake a thread up to 50 µs late, to save power.
        set_timerslack(1).map_err(refused("set the timer slack"))?;
    }
    let worker = Unwired::new(shared, agent, number, budget, place);
    let io = event_loop(plan, worker.share.slots())?;
    worker.run(io).map_err(refused("wait for events"))
}

/// The worker's share of the connections, and its pacer, the only difference between load shapes.
fn share_and_pacer<'a>(
    plan: &'a LoadPlan,
    number: WorkerNumber,
    budget: &'a SharedBudget,
) -> (Share, Box<dyn Pacer + 'a>) {
    let has_warmup = !plan.load.warmup.is_zero();
    let users = number.share(plan.load.connections as u64) as usize;
    let first_user = || number.before(plan.load.connections as u64) as usize;
    let mut connections = Share {
        connections: users,
        most_connections: users,
        streams: number.share(plan.load.streams as u64) as usize,
    };
    let pacer: Box<dyn Pacer + 'a> = match &plan.load.shape {
        LoadShape::Closed => {
            let requests = plan.load.requests.map(|all| number.share(all));
            let enough = requests
                .unwrap_or(u64::MAX)
                .div_ceil(plan.load.pipeline as u64);
            connections.connections = users.min(usize::try_from(enough).unwrap_or(usize::MAX));
            match &plan.here.batches {
                Some(batches) => Box::new(Batched::new(connections.connections, batches)),
                None => Box::new(Closed::new(requests, has_warmup)),
            }
        }
        LoadShape::Rate(schedule) => {
            connections.most_connections =
                number.share(plan.load.most_connections() as u64) as usize;
            let random = number.random(plan.load.seed);
            let schedule = schedule.clone();
            let ends_by_time = plan.load.duration.is_some();
            Box::new(Rate::new(
                schedule,
                number,
                budget,
                has_warmup,
                ends_by_time,
                random,
            ))
        }
        LoadShape::UsersClosed { think_time } => {
            let (first, mean) = (first_user(), nanoseconds(*think_time));
            let seed = plan.load.seed;
            Box::new(Users::<ClosedUser>::new(
                users, first, mean, budget, has_warmup, seed,
            ))
        }
        LoadShape::UsersOpen { think_time } => {
            let (first, mean) = (first_user(), nanoseconds(*think_time));
            let seed = plan.load.seed;
            Box::new(Users::<OpenUser>::new(
                users, first, mean, budget, has_warmup, seed,
            ))
        }
    };
    (connections, pacer)
}

/// A worker without its event loop and its wires.
struct Unwired<'a, 'p> {
    shared: Shared<'a>,
    share: Share,
    arrivals: Arrivals<'a>,
    ledger: Ledger<'a>,
    place: Place<'p>,
}

impl<'a, 'p> Unwired<'a, 'p> {
    fn new(
        shared: Shared<'a>,
        agent: usize,
        number: WorkerNumber,
        budget: &'a SharedBudget,
        place: Place<'p>,
    ) -> Self {
        let plan = shared.plan;
        let (share, pacer) = share_and_pacer(plan, number, budget);
        // Not the numbers of the arrivals, which use the sources 0 to the number of threads or users.
        let mix = RequestMix::new(plan.request.order(), number.random(!plan.load.seed));
        let judge = Judge::new(plan, number.random(plan.load.seed ^ SAMPLES));
        let flows = Flows::of(plan, agent, number);
        Self {
            arrivals: Arrivals::new(pacer, mix, plan.load.pipeline),
            ledger: Ledger::new(&shared, share, flows, judge),
            shared,
            share,
            place,
        }
    }

    /// Gives the worker its wires, and runs the load.
    fn run(self, io: FirstEventLoop) -> Result<WorkerResult, Errno> {
        let plan = self.shared.plan;
        let short_body = plan.body_compared_always().map(<[u8]>::len);
        let events = plan.load.events;
        let h1 = |requests: &'a Vec<_>| H1Wire::new(requests, events).keeping_bodies(short_body);
        let h2 = |requests: &'a Vec<_>| H2Wire::new(requests, events).keeping_bodies(short_body);
        match &self.shared.sent.requests {
            EncodedRequests::Http1(requests) => {
                self.run_encrypted(io, HttpVersion::Http1, &|| h1(requests))
            }
            EncodedRequests::Http2(requests) => {
                self.run_encrypted(io, HttpVersion::Http2, &|| h2(requests))
            }
        }
    }

    /// Runs the load over the wires of `new_wire`, encrypted if the plan says so.
    fn run_encrypted<W: Wire>(
        self,
        io: FirstEventLoop,
        http: HttpVersion,
        new_wire: &dyn Fn() -> W,
    ) -> Result<WorkerResult, Errno> {
        match &self.shared.plan.tls {
            None => self.run_over(io, new_wire),
            Some(tls) => self.run_over(io, &|| Channel::new(new_wire(), tls, Some(http))),
        }
    }

    fn run_over<W: Wire>(
        self,
        io: FirstEventLoop,
        new_wire: &dyn Fn() -> W,
    ) -> Result<WorkerResult, Errno> {
        let connections = Connections::new(&self.shared, io, self.share, new_wire, self.ledger);
        Worker::new(&self.shared, connections, self.arrivals).run(self.place)
    }
}

/// Chooses the event loop of a worker.
///
/// Long responses cost less over epoll and short ones over io_uring (see README.md). If the length of the bodies
/// is unknown, the first responses tell it. They use epoll, because it can hand over its sockets at any time.
fn event_loop(plan: &LoadPlan, slots: usize) -> Result<FirstEventLoop, LoadError> {
    let is_auto = plan.here.event_loop == EventLoopChoice::Auto;
    let (takes_io_uring, chooses_after) = match (plan.here.event_loop, plan.body_length()) {
        _ if plan.here.acknowledges_at_once => (false, None),
        (EventLoopChoice::IoUring, _) => (true, None),
        (EventLoopChoice::Epoll, _) => (false, None),
        (EventLoopChoice::Auto, Some(length)) => (length < LONG_BODY, None),
        (EventLoopChoice::Auto, None) => match &plan.request {
            // They must include every response of a mix.
            Traffic::Requests(set, HttpVersion::Http1)
                if !plan.load.events && plan.tls.is_none() =>
            {
                (false, Some(set.requests().len() as u64))
            }
            Traffic::Scenario(scenario, HttpVersion::Http1) if plan.tls.is_none() => {
                (false, Some(scenario.entries().len() as u64))
            }
            // The parser looks at each byte of the bodies, so length makes no difference.
            _ => (true, None),
        },
    };
    if takes_io_uring {
        match EventLoop::io_uring(slots) {
            Ok(io) => return Ok(FirstEventLoop { io, chooses_after }),
            Err(_) if is_auto => {}
            Err(error) => return Err(LoadError::NoIoUring(error)),
        }
    }
    let no_epoll = refused("create an epoll instance");
    Ok(FirstEventLoop {
        io: EventLoop::epoll(plan.here.acknowledges_at_once).map_err(no_epoll)?,
        chooses_after: chooses_after.map(|most| most.min(MOST_LEARNT)),
    })
}

fn pin_to(cpu: usize) -> Result<(), LoadError> {
    prony_kernel::pin_current_thread(&[cpu]).map_err(|error| {
        let errno = error.raw_os_error().map_or(Errno::EINVAL, Errno::from_raw);
        refused("pin a worker thread to its CPU")(errno)
    })
}

fn refused(what: &'static str) -> impl Fn(Errno) -> LoadError {
    move |errno| LoadError::System { what, errno }
}

/// How many connections the hard limit of open files allows this process.
pub fn connections_allowed() -> usize {
    let (_, hard) = getrlimit(Resource::RLIMIT_NOFILE).unwrap_or((0, u64::MAX));
    usize::try_from(hard.saturating_sub(OTHER_FILES)).unwrap_or(usize::MAX)
}

/// Raises the soft limit of open files to fit `connections`, and, as far as the hard limit allows, the files already
/// open (such as the counters of a server's threads).
fn raise_file_limit(connections: usize) -> Result<(), LoadError> {
    let least = connections as u64 + OTHER_FILES;
    let (soft, hard) =
        getrlimit(Resource::RLIMIT_NOFILE).map_err(refused("report its limit of open files"))?;
    let wanted = (least + open_files()).min(hard.max(least));
    if soft >= wanted {
        return Ok(());
    }
    // Root may raise the hard limit as well.
    setrlimit(Resource::RLIMIT_NOFILE, wanted, hard.max(wanted)).map_err(|_| LoadError::FileLimit {
        connections,
        limit: hard,
    })
}

/// How many files this process has open; 0 if the system does not say.
fn open_files() -> u64 {
    std::fs::read_dir("/proc/self/fd").map_or(0, |files| files.count() as u64)
}
