//! The fleet: agents that generate one load together.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::RecvTimeoutError;
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use prony_load::{LoadError, LoadPlan, LoadRunner, MOST_AGENTS, PartResult, Progress, assemble};
use prony_model::{AgentResult, FleetResult, LoadResult};

use crate::coordinator::{AgentPart, Coordinator};
use crate::error::{AgentName, FleetError};
use crate::launcher::{Launch, LaunchError, Launcher, Processes};
use crate::limits::{Limits, SilentAgent};
use crate::lock;
use crate::message::{FleetMessage, Host};

/// How long to wait for the next event at most.
const TURN: Duration = Duration::from_millis(20);
/// How often the observer sees the progress of the load.
const OBSERVE: Duration = Duration::from_millis(100);
/// How often somebody looks at the events between loads.
const IDLE: Duration = Duration::from_millis(100);
/// How many events are taken before the next look at the time.
const BATCH: usize = 4096;
/// After agents can no longer be reached, how long to wait for the reason.
const REASON: Duration = Duration::from_secs(1);
/// A closed loop without an end in time may take this long on an agent.
pub const LONGEST_LOAD: Duration = Duration::from_secs(24 * 3600);

/// Agents that generate loads together. Dropping it ends them.
pub struct Fleet {
    id: String,
    on: &'static str,
    hosts: Vec<Host>,
    limits: Limits,
    driver: Arc<Mutex<Driver>>,
    /// Not in the driver, which is locked while a load is observed.
    silent: Mutex<Option<SilentAgent>>,
    /// Set when the fleet is dropped.
    is_over: Arc<AtomicBool>,
    idle: Option<JoinHandle<()>>,
}

struct Driver {
    began: Instant,
    limits: Limits,
    /// `None` once they are lost.
    agents: Option<Processes>,
    coordinator: Coordinator<PartResult>,
    unreachable: Option<(Instant, String)>,
    lost: Option<FleetError>,
}

impl Fleet {
    /// Starts the agents and waits until each has replied. `observe` hears how many agents have, and of how many: once they
    /// are started, and whenever that changes.
    pub fn launch(
        launcher: &dyn Launcher,
        agents: usize,
        limits: Limits,
        interrupt: &AtomicBool,
        observe: &mut dyn FnMut(usize, usize),
    ) -> Result<Self, FleetError> {
        if !(1..=MOST_AGENTS).contains(&agents) {
            return Err(FleetError::Count { given: agents });
        }
        let id = new_id();
        let launch = Launch {
            agents,
            id: &id,
            interrupt,
        };
        let started = match launcher.launch(&launch) {
            Err(_) if interrupt.load(Ordering::Relaxed) => return Err(FleetError::Interrupted),
            started => started?,
        };
        let mut driver = Driver {
            // Not before: a launcher limits its own time, and nodes may have to pull an image or even be added.
            began: Instant::now(),
            limits,
            agents: Some(started),
            coordinator: Coordinator::new(&id, agents, limits),
            unreachable: None,
            lost: None,
        };
        let mut observed = 0;
        observe(observed, agents);
        let hosts = loop {
            driver.turn(TURN)?;
            let replied = driver.coordinator.replied();
            if replied != observed {
                observed = replied;
                observe(observed, agents);
            }
            if let Some(hosts) = driver.coordinator.hosts() {
                break hosts;
            }
            if interrupt.load(Ordering::Relaxed) {
                return Err(FleetError::Interrupted);
            }
        };
        let (driver, is_over) = (Arc::new(Mutex::new(driver)), Arc::default());
        let shared = (Arc::clone(&driver), Arc::clone(&is_over));
        let idle = thread::Builder::new().spawn(move || stay_in_touch(&shared.0, &shared.1));
        let idle = idle.map_err(|error| LaunchError(format!("cannot start a thread: {error}")))?;
        Ok(Self {
            id,
            on: launcher.name(),
            hosts,
            limits,
            driver,
            silent: Mutex::new(None),
            is_over,
            idle: Some(idle),
        })
    }

    pub fn id(&self) -> &str {
        &self.id
    }

    /// Where the agents run, by their numbers.
    pub fn hosts(&self) -> &[Host] {
        &self.hosts
    }

    /// The agent of the running load that has sent nothing for the longest time, if that is more than a second. Observers
    /// of the load may call it.
    pub fn silent_agent(&self) -> Option<SilentAgent> {
        lock(&self.silent).clone()
    }

    fn try_run(
        &self,
        plan: &LoadPlan,
        interrupt: &AtomicBool,
        observe: &mut dyn FnMut(Progress),
    ) -> Result<Vec<AgentPart<PartResult>>, FleetError> {
        if plan.agents > self.hosts.len() {
            return Err(FleetError::TooFew {
                wanted: plan.agents,
                there: self.hosts.len(),
            });
        }
        let mut driver = lock(&self.driver);
        driver.turn(Duration::ZERO)?;
        let prepare = serde_json::to_string(&FleetMessage::Prepare {
            load: driver.coordinator.next_load(),
            plan: Box::new(plan.clone()),
        });
        let prepare = prepare.map_err(|error| FleetError::NotPortable(error.to_string()))?;
        let now = driver.began.elapsed();
        driver.coordinator.begin(now, plan.agents, longest(plan));
        driver.send_line(&prepare);
        let mut observed = Instant::now();
        loop {
            driver.turn(TURN)?;
            if driver.coordinator.has_parts()
                && let Some(progress) = driver.coordinator.progress()
            {
                observe(progress);
            }
            if let Some(parts) = driver.coordinator.parts() {
                return driver.checked(plan, parts);
            }
            if interrupt.load(Ordering::Relaxed) {
                let now = driver.began.elapsed();
                driver.coordinator.stop(now);
            }
            if observed.elapsed() >= OBSERVE {
                observed = Instant::now();
                let silent = driver.coordinator.silent_agent(driver.began.elapsed());
                *lock(&self.silent) = silent;
                // Also before the start: observers may end the load.
                observe(driver.coordinator.progress().unwrap_or_default());
            }
        }
    }
}

/// The longest time that the load may take, from its start on; `None` if nothing limits it.
pub fn longest(plan: &LoadPlan) -> Option<Duration> {
    let duration = plan.load.duration?;
    // Closed loops may go on for as long as a response may take, and late responses are awaited as long.
    Some(*plan.load.warmup + *duration + 2 * *plan.load.timeout)
}

impl LoadRunner for Fleet {
    /// The first `plan.agents` of the agents share the load, and the others wait for the next one.
    fn run(
        &self,
        plan: &LoadPlan,
        interrupt: &AtomicBool,
        observe: &mut dyn FnMut(Progress),
    ) -> Result<LoadResult, LoadError> {
        plan.validate()?;
        let parts = self.try_run(plan, interrupt, observe);
        *lock(&self.silent) = None;
        match parts {
            Ok(parts) => Ok(merged(plan, self.on, &self.limits, parts)),
            // Nothing is wrong with the agents.
            Err(FleetError::NotPortable(reason)) => Err(LoadError::NotPortable(reason)),
            Err(error) => Err(LoadError::Fleet(Box::new(error))),
        }
    }
}

/// The result of the load, with a row for each agent.
fn merged(
    plan: &LoadPlan,
    on: &str,
    limits: &Limits,
    parts: Vec<AgentPart<PartResult>>,
) -> LoadResult {
    let (mut agents, mut counted) = (Vec::new(), Vec::new());
    for agent in parts {
        let own = assemble(plan, std::slice::from_ref(&agent.part));
        agents.push(AgentResult {
            host: agent.host,
            connections: agent.part.connections(),
            requests: own.requests,
            outcomes: own.outcomes,
            rate_per_s: own.rate_per_s,
            latency_ns: own.latency_ns,
            busy_max: own.generator.busy_max,
            client_limited_by: own.generator.client_limited_by,
            clock_offset_ns: agent.clock.offset_ns,
            round_trip_ns: nanoseconds(agent.clock.round_trip),
            start_lag_ns: nanoseconds(agent.part.start_lag()),
        });
        counted.push(agent.part);
    }
    plan.continue_after(&counted);
    let mut result = assemble(plan, &counted);
    let mut limited = agents.iter().enumerate().filter_map(|(index, agent)| {
        let reason = agent.client_limited_by.as_ref()?;
        Some(format!("agent {index} on {}: {reason}", agent.host))
    });
    let first = limited.next();
    let limited = match (first, limited.count()) {
        (Some(first), 1..) => Some(format!("{first} (the table names the others)")),
        (first, _) => first,
    };
    if let Some(limited) = limited {
        result.generator.client_limited_by = None;
        result.generator.limited_by(&limited);
    }
    result.fleet = Some(FleetResult {
        on: on.into(),
        late_start: late_start(&agents, limits.start_spread),
        agents,
    });
    result
}

/// The agent that began, or may have begun as far as its clock is known, more than `most` after another.
fn late_start(agents: &[AgentResult], most: Duration) -> Option<String> {
    let lag = |agent: &AgentResult| agent.start_lag_ns as f64;
    let unknown = |agent: &AgentResult| agent.round_trip_ns as f64 / 2.0;
    let latest = |agent: &AgentResult| lag(agent) + unknown(agent);
    let earliest = |agent: &AgentResult| lag(agent) - unknown(agent);
    let all = || agents.iter().enumerate();
    let (late, last) = all().max_by(|(_, a), (_, b)| latest(a).total_cmp(&latest(b)))?;
    let others = all().filter(|(index, _)| *index != late);
    let (early, first) = others.min_by(|(_, a), (_, b)| earliest(a).total_cmp(&earliest(b)))?;
    let apart = latest(last) - earliest(first);
    (apart > nanoseconds(most) as f64).then(|| {
        format!(
            "agent {late} on {} may have begun {:.1} ms after agent {early} on {}, more than the {} ms expected: its host is \
             busy, or the network to one of them is slow",
            last.host,
            apart / 1e6,
            first.host,
            most.as_millis(),
        )
    })
}

fn nanoseconds(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

impl Drop for Fleet {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::Relaxed);
        if let Some(idle) = self.idle.take() {
            idle.thread().unpark();
            let _ = idle.join();
        }
        lock(&self.driver).end();
    }
}

impl Driver {
    /// Takes all events, waiting for the first, and sends what is due. If the fleet is lost, its agents are stopped.
    fn turn(&mut self, wait: Duration) -> Result<(), FleetError> {
        if let Some(lost) = &self.lost {
            return Err(FleetError::Lost(Box::new(lost.clone())));
        }
        self.try_turn(wait).inspect_err(|error| {
            self.lost = Some(error.clone());
            self.end();
        })
    }

    fn try_turn(&mut self, mut wait: Duration) -> Result<(), FleetError> {
        for _ in 0..BATCH {
            let Some(agents) = &self.agents else {
                return Ok(());
            };
            let event = match agents.events().recv_timeout(wait) {
                Ok(event) => event,
                Err(RecvTimeoutError::Timeout) => break,
                Err(RecvTimeoutError::Disconnected) => {
                    return Err(self.all_lost("nothing can be read from them".into()));
                }
            };
            self.coordinator.take(self.began.elapsed(), event)?;
            wait = Duration::ZERO;
        }
        for message in self.coordinator.tick(self.began.elapsed())? {
            self.send(&message);
        }
        match &self.unreachable {
            Some((since, reason)) if since.elapsed() > REASON => Err(self.all_lost(reason.clone())),
            _ => Ok(()),
        }
    }

    /// The parts, if each is its agent's part of this load, and none began late.
    fn checked(
        &self,
        plan: &LoadPlan,
        parts: Vec<AgentPart<PartResult>>,
    ) -> Result<Vec<AgentPart<PartResult>>, FleetError> {
        let most = self.limits.start_lag;
        for (index, one) in parts.iter().enumerate() {
            let host = Some(one.host.clone());
            let agent = AgentName { index, host };
            let lag = one.part.start_lag();
            if let Err(error) = one.part.check(plan, index) {
                return Err(agent.sent_foreign(&format!("a foreign result ({error})")));
            }
            if lag > most {
                return Err(FleetError::LateStart { agent, lag, most });
            }
        }
        Ok(parts)
    }

    fn all_lost(&self, reason: String) -> FleetError {
        FleetError::AllLost {
            how: "no agent can be reached",
            reason,
            notes: self.coordinator.notes(None),
        }
    }

    fn send(&mut self, message: &FleetMessage) {
        // Only a plan may have no form in JSON.
        if let Ok(line) = serde_json::to_string(message) {
            self.send_line(&line);
        }
    }

    fn send_line(&mut self, line: &str) {
        let Some(agents) = &mut self.agents else {
            return;
        };
        if let Err(error) = agents.send(line) {
            // How they ended says more, and comes next.
            self.unreachable
                .get_or_insert((Instant::now(), error.to_string()));
        }
    }

    fn end(&mut self) {
        self.send(&FleetMessage::End);
        self.agents = None;
    }
}

impl Drop for Driver {
    fn drop(&mut self) {
        self.end();
    }
}

/// Sends pings between loads, so that agents do not end, and notices those that do.
fn stay_in_touch(driver: &Mutex<Driver>, is_over: &AtomicBool) {
    while !is_over.load(Ordering::Relaxed) {
        // During a load the lock is taken, and the thread that has it does the same.
        if let Ok(mut driver) = driver.try_lock() {
            // The next load reports it.
            let _ = driver.turn(Duration::ZERO);
        }
        thread::park_timeout(IDLE);
    }
}

/// A new id: schedulers use it in names, which begin with a letter.
fn new_id() -> String {
    let digits = || fastrand::char('a'..='z');
    (0..10).map(|_| digits()).collect()
}

impl std::fmt::Debug for Fleet {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Fleet")
            .field("id", &self.id)
            .field("on", &self.on)
            .field("hosts", &self.hosts)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn agent(host: &str, lag_us: u64, round_trip_us: u64) -> AgentResult {
        AgentResult {
            host: host.into(),
            connections: 1,
            requests: 0,
            outcomes: Default::default(),
            rate_per_s: 0.0,
            latency_ns: None,
            busy_max: 0.0,
            client_limited_by: None,
            clock_offset_ns: 0,
            round_trip_ns: 1000 * round_trip_us,
            start_lag_ns: 1000 * lag_us,
        }
    }

    #[test]
    fn an_agent_that_may_have_begun_5_ms_after_another_is_named() {
        let late = |agents: &[AgentResult]| late_start(agents, Limits::default().start_spread);
        assert_eq!(late(&[agent("a", 40_000, 40_000)]), None);
        let (a, b) = (agent("a", 100, 200), agent("b", 4800, 200));
        assert_eq!(late(&[a.clone(), b]), None);
        let (b, c) = (agent("b", 5200, 200), agent("c", 300, 200));
        let text = late(&[c, a.clone(), b]).unwrap();
        let expected =
            "agent 2 on b may have begun 5.3 ms after agent 1 on a, more than the 5 ms expected";
        assert!(text.starts_with(expected), "{text}");
        // The clocks are not known that well.
        let text = late(&[agent("far", 100, 10_200), a]).unwrap();
        assert!(
            text.starts_with("agent 0 on far may have begun 5.2 ms"),
            "{text}"
        );
    }
}
