//! What a fleet does next. It knows neither processes nor the time: events and instants go in, messages for the agents
//! come out.

use std::collections::VecDeque;
use std::time::Duration;

use prony_load::Progress;
use serde::de::DeserializeOwned;

use crate::clock::ClockOffset;
use crate::error::{AgentName, FleetError, in_words};
use crate::frame::{Frames, Line};
use crate::launcher::Event;
use crate::limits::{Limits, SilentAgent};
use crate::message::{AgentMessage, FleetMessage, Host, VERSION};

/// How many notes are kept of each agent, and of the scheduler.
const NOTES: usize = 5;
/// A longer note is cut.
const LONGEST_NOTE: usize = 300;
/// Pings while agents are awaited, which may be lost.
const FIRST_PINGS: Duration = Duration::from_millis(200);
/// Pings from then on.
const PINGS: Duration = Duration::from_secs(1);
/// How many pings are remembered.
const REMEMBERED: usize = 64;
/// How many rounds of pings tell the clocks' offsets before each load.
const ROUNDS: usize = 6;
/// How far ahead the start is, beside the longest round trip.
const LEAD: Duration = Duration::from_millis(200);
/// If nobody has looked at the events for this long, this process stood still, not the agents.
const STALL: Duration = Duration::from_secs(1);

/// An agent that has sent nothing for longer is shown. It sends at least two messages a second during a load.
const NOTICED_SILENCE: Duration = Duration::from_secs(1);

/// The state of a fleet. Instants count from the start of the fleet.
#[derive(Debug)]
pub(crate) struct Coordinator<P> {
    limits: Limits,
    frames: Frames,
    agents: Vec<Agent>,
    /// What belongs to no agent.
    notes: VecDeque<String>,
    pings: VecDeque<(u64, Duration)>,
    next_ping: u64,
    last_tick: Duration,
    loads: u64,
    load: Option<Load<P>>,
}

#[derive(Debug, Default)]
struct Agent {
    host: Option<Host>,
    clock: Option<ClockOffset>,
    heard: Duration,
    /// Whether this process stood still since then.
    is_forgiven: bool,
    notes: VecDeque<String>,
}

/// One load, from its preparation to its results.
#[derive(Debug)]
struct Load<P> {
    number: u64,
    stage: Stage,
    longest: Option<Duration>,
    /// When it was told to stop.
    stopped: Option<Duration>,
    stop_is_sent: bool,
    /// Of those that share the load: the first ones.
    of_agent: Vec<OfAgent<P>>,
}

#[derive(Debug)]
struct OfAgent<P> {
    is_ready: bool,
    /// The last ping of the rounds that it replied to.
    replied_to: Option<u64>,
    clock: Option<ClockOffset>,
    progress: Progress,
    result: Option<AgentPart<P>>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Stage {
    /// Agents build the plan and open connections.
    Preparing { since: Duration },
    /// Their clocks are compared; `since` is that of the preparation. `ping` is that of the current round, and `rounds` how many are left.
    Clocks {
        since: Duration,
        rounds: usize,
        ping: u64,
    },
    /// They run it, from `at` on.
    Running { at: Duration },
}

/// What an agent counted, and what is known of its clock.
#[derive(Debug)]
pub(crate) struct AgentPart<P> {
    pub(crate) part: P,
    pub(crate) host: String,
    pub(crate) clock: ClockOffset,
}

impl Agent {
    fn hear(&mut self, now: Duration) {
        self.heard = now;
        self.is_forgiven = false;
    }
}

impl<P: DeserializeOwned> Coordinator<P> {
    pub(crate) fn new(id: &str, agents: usize, limits: Limits) -> Self {
        Self {
            limits,
            frames: Frames::new(id, agents),
            agents: (0..agents).map(|_| Agent::default()).collect(),
            notes: VecDeque::new(),
            pings: VecDeque::new(),
            next_ping: 0,
            last_tick: Duration::ZERO,
            loads: 0,
            load: None,
        }
    }

    /// Takes what happened. Fails if that makes the load invalid.
    pub(crate) fn take(&mut self, now: Duration, event: Event) -> Result<(), FleetError> {
        match event {
            Event::Line(line) => self.take_line(now, &line),
            Event::Note { agent, text } => {
                self.note(agent, &text);
                Ok(())
            }
            Event::Ended { agent, reason } => Err(self.ended(agent, reason)),
        }
    }

    fn take_line(&mut self, now: Duration, line: &str) -> Result<(), FleetError> {
        let (agent, text) = match self.frames.take(line) {
            Ok(Line::Message { agent, text }) => (agent, text),
            Ok(Line::Part { agent }) => {
                self.agents[agent].hear(now);
                return Ok(());
            }
            Ok(Line::Note) => {
                self.note(None, line);
                return Ok(());
            }
            Err(error) => {
                let host = error.agent.and_then(|agent| self.name(agent).host);
                let host = host.map_or_else(String::new, |host| format!(" ({host})"));
                return Err(FleetError::Frame(format!("{error}{host}")));
            }
        };
        self.agents[agent].hear(now);
        match serde_json::from_str(&text) {
            Ok(message) => self.take_message(now, agent, message),
            Err(error) => {
                let fault = "sent a message that this version of Prony cannot read";
                Err(self.faulty(agent, format!("{fault}: {error}")))
            }
        }
    }

    fn take_message(
        &mut self,
        now: Duration,
        agent: usize,
        message: AgentMessage<P>,
    ) -> Result<(), FleetError> {
        match message {
            AgentMessage::Pong {
                number,
                clock_ns,
                host,
            } => self.pong(now, agent, number, clock_ns, host),
            AgentMessage::Failed { reason, .. } => {
                Err(self.faulty(agent, format!("cannot run its part of the load: {reason}")))
            }
            AgentMessage::Ready { load } => {
                let of_agent = self.of_load(agent, load, "a ready signal")?;
                if std::mem::replace(&mut of_agent.is_ready, true) {
                    Err(self.name(agent).sent_foreign("a second ready signal"))
                } else {
                    Ok(())
                }
            }
            AgentMessage::Running { load, progress } => {
                self.of_load(agent, load, "progress")?.progress = *progress;
                Ok(())
            }
            AgentMessage::Result { load, part } => self.result(agent, load, *part),
            AgentMessage::Receiving => Ok(()),
        }
    }

    fn pong(
        &mut self,
        now: Duration,
        agent: usize,
        number: u64,
        clock_ns: u64,
        host: Host,
    ) -> Result<(), FleetError> {
        if host.version != VERSION {
            let fault = format!(
                "runs Prony {}, and this is Prony {VERSION}: install the same version on all hosts",
                host.version
            );
            self.agents[agent].host = Some(host);
            return Err(self.faulty(agent, fault));
        }
        self.agents[agent].host = Some(host);
        // A reply to a ping long ago only shows that the agent lives.
        let mut pings = self.pings.iter();
        let Some(&(_, sent)) = pings.find(|(sent, _)| *sent == number) else {
            return Ok(());
        };
        let clock = ClockOffset::of(sent, now, clock_ns);
        let known = &mut self.agents[agent].clock;
        *known = Some(clock.better(*known));
        if let Some(load) = &mut self.load
            && matches!(load.stage, Stage::Clocks { .. })
            && let Some(of_agent) = load.of_agent.get_mut(agent)
        {
            of_agent.clock = Some(clock.better(of_agent.clock));
            of_agent.replied_to = Some(number);
        }
        Ok(())
    }

    fn result(&mut self, agent: usize, load: u64, part: P) -> Result<(), FleetError> {
        let (name, clock) = (self.name(agent), self.agents[agent].clock);
        let is_started = self.load.as_ref().is_some_and(Load::is_started);
        let of_agent = self.of_load(agent, load, "a result")?;
        let clock = of_agent.clock.or(clock).filter(|_| is_started);
        let what = match (&of_agent.result, clock) {
            (Some(_), _) => "a second result",
            (None, None) => "a result before the load began",
            (None, Some(clock)) => {
                let host = name.host.unwrap_or_default();
                of_agent.result = Some(AgentPart { part, host, clock });
                return Ok(());
            }
        };
        Err(self.name(agent).sent_foreign(what))
    }

    /// The agent's state in the load with that number.
    fn of_load(
        &mut self,
        agent: usize,
        number: u64,
        what: &str,
    ) -> Result<&mut OfAgent<P>, FleetError> {
        let name = self.name(agent);
        let load = self.load.as_mut().filter(|load| load.number == number);
        let of_agent = load.and_then(|load| load.of_agent.get_mut(agent));
        of_agent.ok_or_else(|| name.sent_foreign(&format!("{what} of load {number}")))
    }

    fn faulty(&self, agent: usize, fault: String) -> FleetError {
        let agent = self.name(agent);
        FleetError::Faulty { agent, fault }
    }

    fn ended(&self, agent: Option<usize>, reason: String) -> FleetError {
        match agent {
            Some(agent) if agent < self.agents.len() => FleetError::Ended {
                agent: self.name(agent),
                reason,
                notes: self.notes(Some(agent)),
            },
            _ => FleetError::AllLost {
                how: "all agents were lost",
                reason,
                notes: self.notes(None),
            },
        }
    }

    fn note(&mut self, agent: Option<usize>, text: &str) {
        let text = text.trim();
        if text.is_empty() {
            return;
        }
        let agent = agent.and_then(|agent| self.agents.get_mut(agent));
        let notes = agent.map_or(&mut self.notes, |agent| &mut agent.notes);
        if notes.len() == NOTES {
            notes.pop_front();
        }
        notes.push_back(text.chars().take(LONGEST_NOTE).collect());
    }

    /// The last notes of the agent, or of the scheduler if there are none.
    pub(crate) fn notes(&self, agent: Option<usize>) -> String {
        let of_agent = agent.map(|agent| &self.agents[agent].notes);
        let of_agent = of_agent.filter(|notes| !notes.is_empty());
        let notes: Vec<&str> = of_agent
            .unwrap_or(&self.notes)
            .iter()
            .map(String::as_str)
            .collect();
        if notes.is_empty() {
            String::new()
        } else {
            format!("; its last words: {}", notes.join(" | "))
        }
    }

    fn name(&self, agent: usize) -> AgentName {
        let known = self.agents.get(agent);
        AgentName {
            index: agent,
            host: known.and_then(|agent| Some(agent.host.as_ref()?.name.clone())),
        }
    }

    fn names(&self, is_named: impl Fn(usize) -> bool) -> String {
        let agents = (0..self.agents.len()).filter(|&agent| is_named(agent));
        in_words(&agents.map(|agent| self.name(agent)).collect::<Vec<_>>())
    }

    /// Where the agents run, once each has replied.
    pub(crate) fn hosts(&self) -> Option<Vec<Host>> {
        self.agents.iter().map(|agent| agent.host.clone()).collect()
    }

    pub(crate) fn replied(&self) -> usize {
        let replied = self.agents.iter().filter(|agent| agent.host.is_some());
        replied.count()
    }

    /// The agent that has sent nothing for the longest time, if that is noticeable.
    pub(crate) fn silent_agent(&self, now: Duration) -> Option<SilentAgent> {
        let agents = self.agents.iter().enumerate();
        let (index, agent) = agents.min_by_key(|(_, agent)| agent.heard)?;
        let silent = now.saturating_sub(agent.heard);
        (silent > NOTICED_SILENCE).then(|| SilentAgent {
            agent: self.name(index),
            silent,
        })
    }

    /// The number of the load that begins next.
    pub(crate) fn next_load(&self) -> u64 {
        self.loads + 1
    }

    /// Begins a load of the first `agents` agents that takes at most `longest`, and gives its number. The caller sends the
    /// plan.
    pub(crate) fn begin(&mut self, now: Duration, agents: usize, longest: Option<Duration>) -> u64 {
        self.loads += 1;
        let of_agent = self.agents.iter().take(agents).map(|_| OfAgent {
            is_ready: false,
            replied_to: None,
            clock: None,
            progress: Progress::default(),
            result: None,
        });
        self.load = Some(Load {
            number: self.loads,
            stage: Stage::Preparing { since: now },
            longest,
            stopped: None,
            stop_is_sent: false,
            of_agent: of_agent.collect(),
        });
        self.loads
    }

    pub(crate) fn stop(&mut self, now: Duration) {
        if let Some(load) = &mut self.load {
            load.stopped.get_or_insert(now);
        }
    }

    /// Whether each agent that shares the load has sent its part.
    pub(crate) fn has_parts(&self) -> bool {
        let load = self.load.as_ref();
        load.is_some_and(|load| load.of_agent.iter().all(|agent| agent.result.is_some()))
    }

    /// The parts of the agents that share the load, once each has sent its own. The load is over then.
    pub(crate) fn parts(&mut self) -> Option<Vec<AgentPart<P>>> {
        if !self.has_parts() {
            return None;
        }
        let load = self.load.take()?;
        load.of_agent
            .into_iter()
            .map(|agent| agent.result)
            .collect()
    }

    /// How far the load has come, over all agents that share it; `None` before its start.
    pub(crate) fn progress(&self) -> Option<Progress> {
        let load = self.load.as_ref()?;
        if !matches!(load.stage, Stage::Running { .. }) {
            return None;
        }
        let agents = load.of_agent.iter().map(|agent| agent.progress.clone());
        Some(Progress::sum(agents))
    }

    /// What to send now. Called often, and after all events that have happened. Fails if something has not happened in time.
    pub(crate) fn tick(&mut self, now: Duration) -> Result<Vec<FleetMessage>, FleetError> {
        self.forgive_stall(now);
        self.check_silence(now)?;
        self.check_launch(now)?;
        self.check_load(now)?;
        let mut messages = Vec::new();
        self.advance(now, &mut messages);
        let pause = match self.hosts() {
            None => FIRST_PINGS,
            Some(_) => PINGS,
        };
        let last = self.pings.back();
        if last.is_none_or(|&(_, sent)| now.saturating_sub(sent) >= pause) {
            messages.push(self.ping(now));
        }
        Ok(messages)
    }

    /// While this process stood still, it heard nobody.
    fn forgive_stall(&mut self, now: Duration) {
        let stall = now.saturating_sub(self.last_tick);
        if stall > STALL {
            for agent in &mut self.agents {
                // Only once, because an agent that hangs must be noticed however often this process stands still.
                if !std::mem::replace(&mut agent.is_forgiven, true) {
                    agent.heard = now.min(agent.heard + stall);
                }
            }
        }
        self.last_tick = now;
    }

    fn check_silence(&self, now: Duration) -> Result<(), FleetError> {
        let mut replied = (0..).zip(&self.agents).filter(|(_, it)| it.host.is_some());
        let silent = |agent: &Agent| now.saturating_sub(agent.heard);
        match replied.find(|(_, agent)| silent(agent) > self.limits.silence) {
            None => Ok(()),
            Some((index, agent)) => Err(FleetError::Silent {
                agent: self.name(index),
                silent: silent(agent),
                notes: self.notes(Some(index)),
            }),
        }
    }

    fn check_launch(&self, now: Duration) -> Result<(), FleetError> {
        let is_missing = |agent: &Agent| agent.host.is_none();
        let Some(first) = self.agents.iter().position(is_missing) else {
            return Ok(());
        };
        if now <= self.limits.launch {
            return Ok(());
        }
        Err(FleetError::NotPlaced {
            agents: self.names(|agent| is_missing(&self.agents[agent])),
            of: self.agents.len(),
            within: self.limits.launch,
            notes: self.notes(Some(first)),
        })
    }

    fn check_load(&self, now: Duration) -> Result<(), FleetError> {
        let Some(load) = &self.load else {
            return Ok(());
        };
        let is_over = |since: Duration, time: Duration| now > since + time;
        let within = self.limits.result;
        let missing = |agent: usize, has: &dyn Fn(&OfAgent<P>) -> bool| {
            load.of_agent.get(agent).is_some_and(|it| !has(it))
        };
        let is_late = match (load.stopped, load.stage, load.longest) {
            (Some(stopped), ..) => is_over(stopped, within),
            (None, Stage::Running { at }, Some(longest)) => is_over(at + longest, within),
            (None, Stage::Preparing { since } | Stage::Clocks { since, .. }, _)
                if is_over(since, self.limits.prepare) =>
            {
                let is_prepared = |it: &OfAgent<P>| match load.stage {
                    Stage::Clocks { ping, .. } => it.replied_to >= Some(ping),
                    _ => it.is_ready,
                };
                return Err(FleetError::NotReady {
                    agents: self.names(|agent| missing(agent, &is_prepared)),
                    within: self.limits.prepare,
                });
            }
            _ => false,
        };
        if is_late {
            Err(FleetError::NoResult {
                agents: self.names(|agent| missing(agent, &|it| it.result.is_some())),
                within,
            })
        } else {
            Ok(())
        }
    }

    /// Takes the load to its next stage.
    fn advance(&mut self, now: Duration, messages: &mut Vec<FleetMessage>) {
        let Some(load) = &mut self.load else { return };
        if load.stopped.is_some() {
            if !std::mem::replace(&mut load.stop_is_sent, true) {
                let load = load.number;
                messages.push(FleetMessage::Stop { load });
            }
            return;
        }
        let mut of_agent = load.of_agent.iter();
        match load.stage {
            Stage::Preparing { since } if of_agent.all(|agent| agent.is_ready) => {
                self.next_round(now, since, ROUNDS, messages);
            }
            // Pings of other rounds may have followed meanwhile.
            Stage::Clocks {
                since,
                rounds,
                ping,
            } if of_agent.all(|it| it.replied_to >= Some(ping)) => match rounds {
                0 => self.start(now, messages),
                _ => self.next_round(now, since, rounds, messages),
            },
            Stage::Preparing { .. } | Stage::Clocks { .. } | Stage::Running { .. } => {}
        }
    }

    /// Begins one of the rounds of pings that are left.
    fn next_round(
        &mut self,
        now: Duration,
        since: Duration,
        rounds: usize,
        messages: &mut Vec<FleetMessage>,
    ) {
        let ping = self.next_ping;
        messages.push(self.ping(now));
        if let Some(load) = &mut self.load {
            load.stage = Stage::Clocks {
                since,
                rounds: rounds - 1,
                ping,
            };
        }
    }

    fn start(&mut self, now: Duration, messages: &mut Vec<FleetMessage>) {
        let Some(load) = &mut self.load else { return };
        let clocks = || load.of_agent.iter().filter_map(|agent| agent.clock);
        let longest = clocks().map(|clock| clock.round_trip).max();
        let at = now + LEAD + 2 * longest.unwrap_or_default();
        messages.push(FleetMessage::Start {
            load: load.number,
            at_ns: clocks().map(|clock| clock.on_agent_ns(at)).collect(),
        });
        load.stage = Stage::Running { at };
    }

    fn ping(&mut self, now: Duration) -> FleetMessage {
        let number = self.next_ping;
        self.next_ping += 1;
        if self.pings.len() == REMEMBERED {
            self.pings.pop_front();
        }
        self.pings.push_back((number, now));
        FleetMessage::Ping { number }
    }
}

impl<P> Load<P> {
    /// Whether agents may send results: the load runs, or they were told to stop.
    fn is_started(&self) -> bool {
        matches!(self.stage, Stage::Running { .. }) || self.stopped.is_some()
    }
}

#[cfg(test)]
mod tests;
