//! A body that is a page as one Datastar event.

use prony_load::Mismatch;
use prony_load::wire::sse::{ServerSentEvent, events};

use prony_load::{difference_at, excerpt, first_difference};

const NAME: &str = "datastar-patch-elements";

/// What other fields and comments of a right body may take in any case, in bytes.
const ROOM: u64 = 64 * 1024;
/// A difference before this byte is visible when a line is shown from its beginning.
const NEAR: usize = 20;

/// The data lines that the event must have.
#[derive(Clone, Debug)]
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

    /// How long a right body can be, in bytes. An event stream may have comments and other fields of any length: this
    /// leaves them several times the room that the content takes.
    pub fn longest(&self) -> u64 {
        let content: usize = self
            .data
            .iter()
            .map(|line| line.len() + "data: \r\n".len())
            .sum();
        4 * content as u64 + ROOM
    }

    /// Framing may differ, content may not.
    pub fn check(&self, body: &[u8]) -> Result<(), Mismatch> {
        let event = only_event(body)?;
        if event.name != NAME {
            return Err(Mismatch {
                expected: format!("an event named {NAME}"),
                came: format!("an event named {}", event.name),
            });
        }
        self.check_data(&event.data)
    }

    fn check_data(&self, data: &str) -> Result<(), Mismatch> {
        let came: Vec<&str> = data.split('\n').collect();
        let lines = self.data.len().max(came.len());
        let differs = |&i: &usize| self.data.get(i).map(String::as_str) != came.get(i).copied();
        let Some(i) = (0..lines).find(differs) else {
            return Ok(());
        };
        let pair = (self.data.get(i).map(String::as_str), came.get(i).copied());
        let at = match pair {
            (Some(expected), Some(came)) => first_difference(expected.as_bytes(), came.as_bytes()),
            _ => 0,
        };
        let said = |count: usize, line: Option<&str>| {
            let line = match line {
                None => ": none".to_owned(),
                Some(line) if at < NEAR => format!(": {}", excerpt(line.as_bytes(), 0)),
                Some(line) => format!(", {}", difference_at(line.as_bytes(), at)),
            };
            format!("{count} lines of data, line {}{line}", i + 1)
        };
        Err(Mismatch {
            expected: said(self.data.len(), pair.0),
            came: said(came.len(), pair.1),
        })
    }
}

fn only_event(body: &[u8]) -> Result<ServerSentEvent, Mismatch> {
    let mut events = events(body);
    let came = match (events.pop(), events.len()) {
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
        came,
    })
}
