//! Standard input and output of an agent, each with a thread of its own, so that pings are replied to at once.

use std::io::{BufRead, BufReader, Read, Write};
use std::sync::mpsc::{Receiver, SyncSender};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use crate::agent::error::AgentError;
use crate::{AgentMessage, FleetMessage, Framer, Host, lock};

/// No message of the fleet is longer, in bytes: a plan includes all its rows and bodies.
const LONGEST_INPUT: u64 = 1024 * 1024 * 1024;
/// How much of a long message is read before the main thread hears of it, in bytes.
const PIECE: u64 = 1024 * 1024;

/// What an agent's main thread hears of.
pub(crate) enum Heard {
    /// A ping, which has had its reply.
    Ping,
    /// A piece of a long message, which has not ended.
    Piece,
    Message(FleetMessage),
    /// The load has ended, with its last message; `None` if it panicked.
    LoadEnded(Option<AgentMessage>),
    Fault(AgentError),
}

/// Reads the fleet's messages until there are none.
pub(crate) fn read(
    from: impl Read,
    began: Instant,
    host: &Host,
    heard: &SyncSender<Heard>,
    output: &SyncSender<AgentMessage>,
) {
    let mut from = BufReader::new(from);
    loop {
        let next = match message(&mut from, heard) {
            Ok(FleetMessage::Ping { number }) => {
                let host = host.clone();
                let clock_ns = u64::try_from(began.elapsed().as_nanos()).unwrap_or(u64::MAX);
                let pong = AgentMessage::Pong {
                    number,
                    clock_ns,
                    host,
                };
                // If the writer has ended it has said why.
                let _ = output.send(pong);
                Heard::Ping
            }
            Ok(message) => Heard::Message(message),
            Err(fault) => Heard::Fault(fault),
        };
        let is_last = matches!(next, Heard::Fault(_));
        if heard.send(next).is_err() || is_last {
            return;
        }
    }
}

fn message(from: &mut impl BufRead, heard: &SyncSender<Heard>) -> Result<FleetMessage, AgentError> {
    let line = line(from, heard)?;
    // Without the text of the line and of the error, because a plan may have secrets.
    serde_json::from_slice(&line).map_err(|error| AgentError::NoMessage {
        column: error.column(),
        length: line.len(),
    })
}

/// Reads one line. While a long one arrives, the main thread hears of it.
fn line(from: &mut impl BufRead, heard: &SyncSender<Heard>) -> Result<Vec<u8>, AgentError> {
    let mut line = Vec::new();
    loop {
        let read = from.by_ref().take(PIECE).read_until(b'\n', &mut line);
        let read = read.map_err(|error| AgentError::Input(error.to_string()))?;
        match line.last() {
            Some(b'\n') => return Ok(line),
            // Half a line is what a fleet that was killed leaves.
            _ if read == 0 => return Err(AgentError::Closed),
            _ if line.len() as u64 > LONGEST_INPUT => return Err(AgentError::TooLong),
            _ if heard.send(Heard::Piece).is_err() => return Err(AgentError::Closed),
            _ => {}
        }
    }
}

/// Since when a line waits to be written.
#[derive(Clone, Debug, Default)]
pub(crate) struct Writing(Arc<Mutex<Option<Instant>>>);

impl Writing {
    fn set(&self, since: Option<Instant>) {
        *lock(&self.0) = since;
    }

    /// How long nobody has read what was written.
    pub(crate) fn stuck_for(&self) -> Duration {
        let since = *lock(&self.0);
        since.map_or(Duration::ZERO, |since| since.elapsed())
    }
}

/// Writes the messages until there are none.
pub(crate) fn write(
    mut to: impl Write,
    mut framer: Framer,
    messages: &Receiver<AgentMessage>,
    writing: &Writing,
    heard: &SyncSender<Heard>,
) {
    for message in messages {
        if let Err(fault) = write_one(&mut to, &mut framer, &message, writing) {
            let _ = heard.send(Heard::Fault(AgentError::Output(fault)));
            return;
        }
    }
}

fn write_one(
    to: &mut impl Write,
    framer: &mut Framer,
    message: &AgentMessage,
    writing: &Writing,
) -> Result<(), String> {
    let text = serde_json::to_string(message).map_err(|error| error.to_string())?;
    let lines = framer.lines(&text).map_err(|error| error.to_string())?;
    for line in lines {
        writing.set(Some(Instant::now()));
        // One line at a time: agents that share a pipe then never mix within a line.
        let written = to.write_all(line.as_bytes()).and_then(|()| to.flush());
        written.map_err(|error| error.to_string())?;
    }
    writing.set(None);
    Ok(())
}
