//! Lines of a bounded length. Schedulers pass the output of many agents through one pipe and split long lines, so an
//! agent splits its messages itself, and each line says whose it is.
//!
//! A line is `prony FLEET AGENT PROCESS SEQUENCE PART/PARTS CHECKSUM TEXT`. The checksum covers the whole message.

use std::collections::BTreeMap;

use sha2::{Digest, Sha256};

/// No line is longer, in bytes, with its line feed.
pub(crate) const LONGEST_LINE: usize = 1000;
/// No message is longer, in bytes.
pub(crate) const LONGEST_MESSAGE: usize = 64 * 1024 * 1024;
/// The first word of each line.
const WORD: &str = "prony";
/// How many hexadecimal digits of the SHA-256 a checksum has.
const CHECKSUM_DIGITS: usize = 16;
/// The least text that a line has room for: even the longest words before it take fewer than 200 bytes.
const LEAST_ROOM: usize = LONGEST_LINE - 200;
const MOST_PARTS: usize = LONGEST_MESSAGE / LEAST_ROOM + 1;
/// The longest id of a fleet.
const LONGEST_ID: usize = 64;

/// Splits the messages of an agent into lines.
#[derive(Debug)]
pub struct Framer {
    fleet: String,
    agent: usize,
    process: u64,
    sequence: u64,
}

impl Framer {
    /// The lines of an agent. `process` is a random number, so that a second process in its place is noticed.
    pub fn new(fleet: &str, agent: usize, process: u64) -> Self {
        Self {
            fleet: fleet.into(),
            agent,
            process,
            sequence: 0,
        }
    }

    /// The lines of its next message, which has no line breaks, unless it is too long. Each line ends with a line feed.
    pub fn lines(&mut self, message: &str) -> Result<Vec<String>, FrameError> {
        if message.len() > LONGEST_MESSAGE {
            return Err(FrameError::too_long(self.agent));
        }
        let Self {
            fleet,
            agent,
            process,
            sequence,
        } = self;
        let checksum = checksum(fleet, (*agent, *process, *sequence), message);
        let pieces = pieces(message);
        let parts = pieces.len();
        let line = |(part, piece): (usize, &str)| {
            format!(
                "{WORD} {fleet} {agent} {process:x} {sequence} {part}/{parts} {checksum} {piece}\n"
            )
        };
        let lines = pieces.into_iter().enumerate().map(line).collect();
        self.sequence += 1;
        Ok(lines)
    }
}

/// Splits a text at boundaries of characters. An empty one has one piece.
fn pieces(text: &str) -> Vec<&str> {
    let mut pieces = Vec::new();
    let mut rest = text;
    while rest.len() > LEAST_ROOM {
        let (piece, others) = rest.split_at(rest.floor_char_boundary(LEAST_ROOM));
        pieces.push(piece);
        rest = others;
    }
    pieces.push(rest);
    pieces
}

/// Over a message, and whose it is: its agent, process and sequence.
fn checksum(fleet: &str, (agent, process, sequence): (usize, u64, u64), message: &str) -> String {
    let mut sha = Sha256::new();
    sha.update(format!("{fleet} {agent} {process:x} {sequence} "));
    sha.update(message);
    let mut digits: String = sha
        .finalize()
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect();
    digits.truncate(CHECKSUM_DIGITS);
    digits
}

/// What a line says before its text.
#[derive(Debug)]
struct Header<'a> {
    agent: usize,
    process: u64,
    sequence: u64,
    part: usize,
    parts: usize,
    checksum: &'a str,
}

/// Joins the lines of the agents of one fleet to messages.
#[derive(Debug)]
pub struct Frames {
    fleet: String,
    agents: usize,
    from: BTreeMap<usize, Origin>,
}

/// What is known of an agent's process.
#[derive(Debug)]
struct Origin {
    process: u64,
    /// The number of its next message.
    sequence: u64,
    open: Option<Open>,
}

/// A message of which parts are missing.
#[derive(Debug)]
struct Open {
    parts: usize,
    received: usize,
    checksum: String,
    text: String,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Line {
    /// Part of an agent's message; the rest is to come.
    Part { agent: usize },
    /// The last part of a message, and the whole text.
    Message { agent: usize, text: String },
    /// Nothing that an agent sends.
    Note,
}

/// What is wrong with a line.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{fault}")]
pub struct FrameError {
    /// The agent, if it is one of the fleet.
    pub(crate) agent: Option<usize>,
    fault: String,
}

impl FrameError {
    fn of(agent: usize, fault: String) -> Self {
        let agent = Some(agent);
        Self { agent, fault }
    }

    fn of_others(fault: String) -> Self {
        Self { agent: None, fault }
    }

    fn too_long(agent: usize) -> Self {
        let most = LONGEST_MESSAGE / (1024 * 1024);
        Self::of(
            agent,
            format!("agent {agent} sent a message of more than {most} MiB"),
        )
    }

    fn damaged(agent: usize, sequence: u64) -> Self {
        Self::of(
            agent,
            format!("message {sequence} of agent {agent} arrived damaged"),
        )
    }
}

impl Frames {
    /// Joins the lines of this fleet.
    pub fn new(fleet: &str, agents: usize) -> Self {
        Self {
            fleet: fleet.into(),
            agents,
            from: BTreeMap::new(),
        }
    }

    /// Takes the next line, with or without its line feed. Fails if a part is missing, repeated, out of order, damaged, or
    /// none of this fleet's.
    pub fn take(&mut self, line: &str) -> Result<Line, FrameError> {
        let line = line.trim_end_matches(['\n', '\r']);
        let Some((fleet, rest)) = split_fleet(line) else {
            return Ok(Line::Note);
        };
        let header = split_header(rest);
        if fleet != self.fleet {
            // Without the rest it is some program's sentence that begins with the word.
            return header.map_or(Ok(Line::Note), |(header, _)| {
                let agent = header.agent;
                Err(FrameError::of_others(format!(
                    "agent {agent} of another fleet ({fleet}) sent a message"
                )))
            });
        }
        let (header, text) = header.ok_or_else(|| {
            let start: String = line.chars().take(80).collect();
            FrameError::of_others(format!(
                "a line that begins like a message of an agent arrived damaged: {start}"
            ))
        })?;
        let (agent, agents) = (header.agent, self.agents);
        if agent >= agents {
            return Err(FrameError::of_others(format!(
                "agent {agent} sent a message, but the fleet has only {agents}, counted from 0"
            )));
        }
        // Output before a scheduler connects may be lost, so the first message may have any number.
        let origin = self.from.entry(agent).or_insert_with(|| Origin {
            process: header.process,
            sequence: header.sequence,
            open: None,
        });
        let Some(text) = origin.take(&header, text)? else {
            return Ok(Line::Part { agent });
        };
        let whose = (agent, header.process, header.sequence);
        if checksum(&self.fleet, whose, &text) == header.checksum {
            Ok(Line::Message { agent, text })
        } else {
            Err(FrameError::damaged(agent, header.sequence))
        }
    }
}

impl Origin {
    /// Whether it is the next part.
    fn check(&self, header: &Header<'_>) -> Result<(), FrameError> {
        let (agent, sequence, part) = (header.agent, header.sequence, header.part);
        let received = self.open.as_ref().map_or(0, |open| open.received);
        let expected = (self.sequence, received);
        let fault = if header.process != self.process {
            format!("a second process sent a message as agent {agent}: the scheduler restarted it")
        } else if (sequence, part) == expected {
            return Ok(());
        } else if (sequence, part) < expected {
            format!("part {part} of message {sequence} of agent {agent} arrived twice")
        } else if sequence > self.sequence && self.open.is_none() {
            format!("message {} of agent {agent} is missing", self.sequence)
        } else {
            format!(
                "part {received} of message {} of agent {agent} is missing",
                self.sequence
            )
        };
        Err(FrameError::of(agent, fault))
    }

    /// Adds a part, and gives the message if it was the last one.
    fn take(&mut self, header: &Header<'_>, text: &str) -> Result<Option<String>, FrameError> {
        let (agent, sequence) = (header.agent, header.sequence);
        self.check(header)?;
        if header.parts > MOST_PARTS {
            return Err(FrameError::too_long(agent));
        }
        let open = self.open.get_or_insert_with(|| Open {
            parts: header.parts,
            received: 0,
            checksum: header.checksum.into(),
            text: String::new(),
        });
        if open.parts != header.parts || open.checksum != header.checksum {
            return Err(FrameError::damaged(agent, sequence));
        }
        if open.text.len() + text.len() > LONGEST_MESSAGE {
            return Err(FrameError::too_long(agent));
        }
        open.text.push_str(text);
        open.received += 1;
        if open.received < open.parts {
            return Ok(None);
        }
        self.sequence += 1;
        Ok(self.open.take().map(|open| open.text))
    }
}

/// The id of the fleet and the rest, if the line may be an agent's.
fn split_fleet(line: &str) -> Option<(&str, &str)> {
    let (fleet, rest) = line
        .strip_prefix(WORD)?
        .strip_prefix(' ')?
        .split_once(' ')?;
    is_fleet_id(fleet).then_some((fleet, rest))
}

/// Whether that can be the id of a fleet: lower-case letters, digits and hyphens, at most 64.
pub fn is_fleet_id(id: &str) -> bool {
    let is_allowed = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    (1..=LONGEST_ID).contains(&id.len()) && id.bytes().all(is_allowed)
}

fn split_header(rest: &str) -> Option<(Header<'_>, &str)> {
    let mut words = rest.splitn(6, ' ');
    let mut word = || words.next();
    let (agent, process, sequence) = (word()?, word()?, word()?);
    let (part, parts) = word()?.split_once('/')?;
    let (checksum, text) = (word()?, word()?);
    let header = Header {
        agent: agent.parse().ok()?,
        process: u64::from_str_radix(process, 16).ok()?,
        sequence: sequence.parse().ok()?,
        part: part.parse().ok()?,
        parts: parts.parse().ok()?,
        checksum,
    };
    (header.part < header.parts && checksum.len() == CHECKSUM_DIGITS).then_some((header, text))
}

#[cfg(test)]
mod tests;
