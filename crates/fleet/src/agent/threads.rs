//! The agent's main thread: it takes messages, runs one load at a time, and ensures that the process ends.

use std::io::{Read, Write};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, TrySendError, sync_channel};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use crate::{AgentMessage, FleetMessage, Framer, Host, VERSION};

use crate::agent::error::AgentError;
use crate::agent::load::{self, Control};
use crate::agent::options::Options;
use crate::agent::pipes::{self, Heard, Writing};

/// How long a load may take to end when the agent does.
const END: Duration = Duration::from_secs(2);
/// How often the fleet hears that a long message is arriving.
const TELL: Duration = Duration::from_secs(1);
/// How often to look at the time.
const LOOK: Duration = Duration::from_millis(250);
/// How many messages wait at most, in each direction.
const WAITING: usize = 64;
/// A start further ahead than this is a mistake.
const FURTHEST_START: Duration = Duration::from_secs(60);

/// How long an agent waits for its fleet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// For a message. The fleet sends a ping every second.
    pub silence: Duration,
    /// For somebody to read its output.
    pub stuck: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        let each = Duration::from_secs(10);
        Self {
            silence: each,
            stuck: each,
        }
    }
}

/// Runs an agent until the fleet ends it. If the fleet is gone or sends what it should not, threads of the agent may still
/// wait: the process must end.
pub fn run(
    options: &Options,
    limits: Limits,
    input: impl Read + Send + 'static,
    output: impl Write + Send + 'static,
) -> Result<(), AgentError> {
    let began = Instant::now();
    let (to_main, heard) = sync_channel(WAITING);
    let (to_writer, messages) = sync_channel(WAITING);
    let writing = Writing::default();
    let framer = Framer::new(&options.fleet, options.index, fastrand::u64(..));
    {
        let (writing, to_main) = (writing.clone(), to_main.clone());
        spawn(move || pipes::write(output, framer, &messages, &writing, &to_main))?;
    }
    {
        let (to_main, to_writer) = (to_main.clone(), to_writer.clone());
        spawn(move || pipes::read(input, began, &this_host(), &to_main, &to_writer))?;
    }
    let mut agent = Agent {
        index: options.index,
        limits,
        began,
        writing,
        to_main,
        to_writer,
        load: None,
    };
    let result = agent.hear(&heard);
    agent.end_load(&heard);
    result
}

struct Agent {
    index: usize,
    limits: Limits,
    began: Instant,
    writing: Writing,
    to_main: SyncSender<Heard>,
    to_writer: SyncSender<AgentMessage>,
    load: Option<(Arc<Control>, JoinHandle<()>)>,
}

impl Agent {
    fn hear(&mut self, heard: &Receiver<Heard>) -> Result<(), AgentError> {
        let mut last = Instant::now();
        let mut is_receiving = false;
        let mut told = Instant::now();
        loop {
            match heard.recv_timeout(LOOK) {
                Ok(Heard::Fault(fault)) => return Err(fault),
                Ok(Heard::LoadEnded(message)) => self.finish(message)?,
                Ok(Heard::Ping) => {
                    last = Instant::now();
                    is_receiving = false;
                }
                Ok(Heard::Piece) => {
                    last = Instant::now();
                    is_receiving = true;
                }
                Ok(Heard::Message(FleetMessage::End)) => return Ok(()),
                Ok(Heard::Message(message)) => {
                    last = Instant::now();
                    is_receiving = false;
                    self.take(message)?;
                }
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return Err(AgentError::Closed),
            }
            if is_receiving && told.elapsed() >= TELL {
                told = Instant::now();
                // If there is no room, other messages show that the agent lives.
                let _ = self.to_writer.try_send(AgentMessage::Receiving);
            }
            // The first of the two: an agent that cannot write soon stops to read.
            if self.writing.stuck_for() > self.limits.stuck {
                return Err(AgentError::Stuck(self.limits.stuck));
            }
            if last.elapsed() > self.limits.silence {
                return Err(AgentError::Silent(self.limits.silence));
            }
            let overdue = self.load.as_ref().is_some_and(|(it, _)| it.is_overdue());
            if overdue {
                return Err(AgentError::Deadline);
            }
        }
    }

    fn take(&mut self, message: FleetMessage) -> Result<(), AgentError> {
        match message {
            // Loads of fewer agents.
            FleetMessage::Prepare { plan, .. } if self.index >= plan.agents => Ok(()),
            FleetMessage::Start { at_ns, .. }
                if self.load.is_none() && self.index >= at_ns.len() =>
            {
                Ok(())
            }
            FleetMessage::Prepare { .. } if self.load.is_some() => {
                Err(AgentError::Unexpected("a load before the last one ended"))
            }
            FleetMessage::Prepare { load, plan } => {
                let control = Arc::new(Control::new(load));
                let index = self.index;
                let (output, to_main) = (self.to_writer.clone(), self.to_main.clone());
                let own = Arc::clone(&control);
                let running = spawn(move || {
                    let mut ended = Ended(to_main, None);
                    ended.1 = Some(load::run(&plan, index, &own, &output));
                })?;
                self.load = Some((control, running));
                Ok(())
            }
            FleetMessage::Start { load, at_ns } => {
                let control = self.load.as_ref().map(|(control, _)| control);
                let control = control.filter(|control| control.number == load);
                let at_ns = at_ns.get(self.index);
                let (Some(control), Some(&at_ns)) = (control, at_ns) else {
                    return Err(AgentError::Unexpected(
                        "the start of a load that it has not prepared",
                    ));
                };
                let at = self.began + Duration::from_nanos(at_ns);
                if at > Instant::now() + FURTHEST_START {
                    return Err(AgentError::Unexpected("a start in the distant future"));
                }
                control.start(at);
                Ok(())
            }
            FleetMessage::Stop { load } => {
                // If the load has just ended, its result is in flight.
                if let Some((control, _)) = &self.load
                    && control.number == load
                {
                    control.stop();
                }
                Ok(())
            }
            FleetMessage::Ping { .. } | FleetMessage::End => Ok(()),
        }
    }

    /// Sends the last message of the load. From then on the fleet may send the next load.
    fn finish(&mut self, message: Option<AgentMessage>) -> Result<(), AgentError> {
        if let Some((_, running)) = self.load.take() {
            running.join().map_err(|_| AgentError::Panicked)?;
        }
        let sent = message.map(|message| self.to_writer.try_send(message));
        match sent {
            Some(Err(TrySendError::Full(_))) => Err(AgentError::Stuck(self.writing.stuck_for())),
            // If the writer has ended it has said why.
            _ => Ok(()),
        }
    }

    /// Ends the load, if one runs, and waits for it a moment.
    fn end_load(&mut self, heard: &Receiver<Heard>) {
        let Some((control, _)) = &self.load else {
            return;
        };
        control.stop();
        let give_up = Instant::now() + END;
        while let Ok(event) = heard.recv_timeout(give_up.saturating_duration_since(Instant::now()))
        {
            if matches!(event, Heard::LoadEnded(_)) {
                return;
            }
        }
    }
}

/// Tells the main thread that the load has ended, also if it panics.
struct Ended(SyncSender<Heard>, Option<AgentMessage>);

impl Drop for Ended {
    fn drop(&mut self) {
        let _ = self.0.send(Heard::LoadEnded(self.1.take()));
    }
}

fn spawn(work: impl FnOnce() + Send + 'static) -> Result<JoinHandle<()>, AgentError> {
    let spawned = thread::Builder::new().spawn(work);
    spawned.map_err(|error| AgentError::Thread(error.to_string()))
}

/// Where schedulers put the name of the node.
const NODE_VARIABLES: [&str; 2] = ["PRONY_NODE", "SLURMD_NODENAME"];

fn this_host() -> Host {
    let from_scheduler = NODE_VARIABLES
        .iter()
        .find_map(|name| std::env::var(name).ok());
    let own = || std::fs::read_to_string("/proc/sys/kernel/hostname").ok();
    let name = from_scheduler.or_else(own).unwrap_or_default();
    let name = name.trim();
    Host {
        name: if name.is_empty() {
            "an unnamed host"
        } else {
            name
        }
        .into(),
        cpus: thread::available_parallelism().map_or(1, usize::from),
        version: VERSION.into(),
    }
}
