//! Bodies that are one event of Datastar.

use serde::{Deserialize, Serialize};

use crate::response::{Mismatch, difference_at, excerpt, first_difference};
use crate::sse::{ServerSentEvent, events};

const NAME: &str = "datastar-patch-elements";

/// How much other fields and comments of a body may take at least, in bytes.
const ROOM: u64 = 64 * 1024;
/// A difference before this byte is visible if a line is shown from its start.
const NEAR: usize = 20;

/// The data lines that the event must have.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Patch {
    data: Vec<String>,
}

impl Patch {
    /// `elements <line>` for every line of the page.
    pub fn of(page: &[u8]) -> Self {
        let page = String::from_utf8_lossy(page);
        let data = page.lines().map(|line| format!("elements {line}"));
        Self {
            data: data.collect(),
        }
    }

    /// The longest body that is read, in bytes. An event stream may have comments and other fields of any length: this
    /// allows several times the length of the content.
    pub(super) fn longest(&self) -> u64 {
        let content: usize = self
            .data
            .iter()
            .map(|line| line.len() + "data: \r\n".len())
            .sum();
        4 * content as u64 + ROOM
    }

    /// Framing may differ, content may not.
    pub(super) fn check(&self, body: &[u8]) -> Result<(), Mismatch> {
        let event = only_event(body)?;
        if event.name != NAME {
            return Err(Mismatch {
                expected: format!("an event named {NAME}"),
                received: format!("an event named {}", event.name),
            });
        }
        self.check_data(&event.data)
    }

    fn check_data(&self, data: &str) -> Result<(), Mismatch> {
        let received: Vec<&str> = data.split('\n').collect();
        let lines = self.data.len().max(received.len());
        let differs = |&i: &usize| self.data.get(i).map(String::as_str) != received.get(i).copied();
        let Some(i) = (0..lines).find(differs) else {
            return Ok(());
        };
        let pair = (
            self.data.get(i).map(String::as_str),
            received.get(i).copied(),
        );
        let at = match pair {
            (Some(expected), Some(received)) => {
                first_difference(expected.as_bytes(), received.as_bytes())
            }
            _ => 0,
        };
        let shown = |count: usize, line: Option<&str>| {
            let line = match line {
                None => ": none".to_owned(),
                Some(line) if at < NEAR => format!(": {}", excerpt(line.as_bytes(), 0)),
                Some(line) => format!(", {}", difference_at(line.as_bytes(), at)),
            };
            format!("{count} lines of data, line {}{line}", i + 1)
        };
        Err(Mismatch {
            expected: shown(self.data.len(), pair.0),
            received: shown(received.len(), pair.1),
        })
    }
}

fn only_event(body: &[u8]) -> Result<ServerSentEvent, Mismatch> {
    let mut events = events(body);
    let received = match (events.pop(), events.len()) {
        (Some(only), 0) => return Ok(only),
        (Some(_), others) => format!("{} events", others + 1),
        (None, _) if body.is_empty() => "nothing".to_owned(),
        (None, _) => format!(
            "no event that an empty line ends, in {} bytes: {}",
            body.len(),
            excerpt(body, 0)
        ),
    };
    Err(Mismatch {
        expected: "one event".to_owned(),
        received,
    })
}

#[cfg(test)]
mod tests {
    use prony_testkit::{contains, starts_with};

    use super::*;

    #[test]
    fn a_wrong_byte_late_in_a_long_line_is_shown_with_its_position() {
        let line = "a".repeat(3000);
        let patch = Patch::of(line.as_bytes());
        let wrong = format!("{}\t{}", &line[..2000], &line[2001..]);
        let body = format!("event: datastar-patch-elements\ndata: elements {wrong}\n\n");
        let mismatch = patch.check(body.as_bytes()).unwrap_err();
        let place = "1 lines of data, line 1, at byte 2009: `";
        starts_with(&mismatch.expected, &format!("{place}aaa"));
        starts_with(&mismatch.received, &format!("{place}\\taa"));
        contains(&mismatch.received, "…`, after `…aaa");
    }
}
