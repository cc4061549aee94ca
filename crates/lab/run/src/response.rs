//! Expected responses: what each workload's response must be, and how others are reported.

mod body;
mod declared;
mod draws;
mod json_path;
mod messages;
mod portable;
mod rules;
mod schema;
#[cfg(test)]
mod tests;

use std::borrow::Cow;

use encoding_rs::Encoding;
use prony_load::wire::sse::{ServerSentEvent, events};
use prony_load::{
    Accepted, LONGEST_BODY, Mismatch, NotPortable, Portable, Response, ResponseCheck,
    difference_at, excerpt, first_difference,
};
use prony_model::without_mark;
use prony_traffic::Secrets;

use crate::files::{AssetError, Files};
use crate::request::PreparedRequest;
use crate::workload::Exchange;
use body::BodyCheck;

pub use declared::{DeclaredResponse, ExpectedBody, ExpectedContent, Status};
pub use draws::{CONNECTIONS, CountedDraws, DRAWS_PER_CONNECTION, Draws};
pub use json_path::PathRule;
pub use rules::{Amount, Pattern};
pub use schema::SchemaSource;

/// How much longer than its content a compressed body may be: some content cannot be compressed.
const COMPRESSION_ROOM: u64 = 64 * 1024;

/// The expected response to a workload's request.
#[derive(Clone, Debug)]
pub struct ExpectedResponse {
    /// At least one.
    statuses: Vec<u16>,
    content_type: Option<String>,
    /// Names in lower case.
    headers: Vec<(String, String)>,
    body: BodyCheck,
    /// `None` if the codings of bodies are not looked at.
    accepted: Option<Accepted>,
    secrets: Secrets,
}

impl ExpectedResponse {
    /// The expected response of `workload`, with the content of the files that it names, to a request without secrets
    /// that accepts no compressed body.
    pub fn new(workload: Exchange<'_>, files: &Files) -> Result<Self, AssetError> {
        let expected = workload.response;
        let headers = expected.headers.iter();
        let statuses = expected.status.as_slice().iter();
        Ok(Self {
            statuses: statuses.map(|status| status.code()).collect(),
            content_type: expected.content_type.clone(),
            headers: headers
                .map(|(name, value)| (name.to_lowercase(), value.clone()))
                .collect(),
            body: BodyCheck::new(workload, files)?,
            accepted: (!workload.protocol().is_grpc()).then(Accepted::default),
            secrets: Secrets::default(),
        })
    }

    /// The same to this request, which may accept compressed bodies and have secrets.
    pub fn to(self, request: &PreparedRequest) -> Self {
        Self {
            accepted: request.accepted().cloned(),
            secrets: request.secrets().clone(),
            ..self
        }
    }

    /// The lines from which each request must draw one (see `Draws`), if there are several.
    pub fn drawn_lines(&self) -> Option<&LineOf> {
        self.body.lines().filter(|lines| lines.count() > 1)
    }

    /// Which of the drawn lines the response has.
    pub fn line(&self, response: &Response) -> Option<usize> {
        let lines = self.drawn_lines()?;
        lines.number(&self.decoded(response).ok()?)
    }

    /// Whether the body has the same bytes on the wire each time, which may be shown.
    fn is_plain(&self) -> bool {
        let accepted = self.accepted.as_ref();
        accepted.is_none_or(Accepted::is_none) && self.secrets.is_empty()
    }

    /// The body without its codings.
    fn decoded<'a>(&self, response: &'a Response) -> Result<Cow<'a, [u8]>, Mismatch> {
        match &self.accepted {
            None => Ok(Cow::Borrowed(&response.body)),
            Some(accepted) => accepted.decoded(response, self.body.longest()),
        }
    }

    fn compare(&self, response: &Response) -> Result<(), Mismatch> {
        self.check_status(response)?;
        self.check_content_type(response)?;
        self.check_headers(response)?;
        self.body.check(&self.decoded(response)?)
    }

    /// The mismatch without secrets, which the response may contain: it is found again in a response without them.
    fn without_secrets(&self, response: &Response, mismatch: Mismatch) -> Mismatch {
        let hidden = self.decoded(response).ok().and_then(|body| {
            let fields = response.headers.iter();
            let fields = fields.filter(|(name, _)| name != "content-encoding");
            let shown = Response {
                status: response.status,
                headers: fields
                    .map(|(name, value)| (name.clone(), self.secrets.hide_in(value)))
                    .collect(),
                body: self.secrets.hide_in(&body),
            };
            self.compare(&shown).err()
        });
        let Mismatch { expected, received } = hidden.unwrap_or(mismatch);
        Mismatch {
            expected: self.secrets.hide(&expected),
            received: self.secrets.hide(&received),
        }
    }

    fn check_status(&self, response: &Response) -> Result<(), Mismatch> {
        if self.statuses.contains(&response.status) {
            return Ok(());
        }
        let body = self.decoded(response);
        let body = body.as_deref().unwrap_or(&response.body);
        let statuses: Vec<String> = self.statuses.iter().map(u16::to_string).collect();
        Err(Mismatch {
            expected: format!("status {}", statuses.join(" or ")),
            received: format!("status {} with {}", response.status, excerpt(body, 0)),
        })
    }

    fn check_content_type(&self, response: &Response) -> Result<(), Mismatch> {
        let Some(expected) = &self.content_type else {
            return Ok(());
        };
        let received = response.header("content-type").unwrap_or_default();
        let media_type = received.split(';').next().unwrap_or_default();
        let expected = if !media_type.trim().eq_ignore_ascii_case(expected) {
            format!("content-type {expected}")
        } else if let Some(charset) = charset(received)
            && is_other_text(charset, &self.decoded(response)?)
        {
            "charset=utf-8, as in the body".to_owned()
        } else {
            return Ok(());
        };
        let received = match received {
            "" => "no content-type".to_owned(),
            received => format!("content-type {received}"),
        };
        Err(Mismatch { expected, received })
    }

    fn check_headers(&self, response: &Response) -> Result<(), Mismatch> {
        for (name, expected) in &self.headers {
            let received: Vec<_> = response
                .headers
                .iter()
                .filter(|(field, _)| field == name)
                .map(|(_, value)| value.trim_ascii())
                .collect();
            // A list may have other elements as well: `no-cache, no-transform`.
            let is_listed = |wanted: &[u8]| {
                let mut listed = received.iter().flat_map(|value| elements(value));
                listed.any(|element| element.eq_ignore_ascii_case(wanted))
            };
            if !elements(expected.as_bytes()).all(is_listed) {
                let received = match received.first() {
                    None => format!("no {name}"),
                    Some(value) => format!("{name}: {}", value.escape_ascii()),
                };
                let expected = format!("{name}: {expected}");
                return Err(Mismatch { expected, received });
            }
        }
        Ok(())
    }
}

/// The elements of a field that is a list (RFC 9110, section 5.6.1); the value itself if it is none.
fn elements(value: &[u8]) -> impl Iterator<Item = &[u8]> {
    value.split(|&byte| byte == b',').map(<[u8]>::trim_ascii)
}

/// The encoding that a media type names, if it is a known one.
fn charset(content_type: &str) -> Option<&'static Encoding> {
    let parameters = content_type.split(';').skip(1);
    let mut pairs = parameters.filter_map(|parameter| parameter.split_once('='));
    let (_, label) = pairs.find(|(name, _)| name.trim().eq_ignore_ascii_case("charset"))?;
    Encoding::for_label(label.trim().trim_matches('"').as_bytes())
}

/// Whether a body that is text in UTF-8 is another text in this encoding, as clients would read it.
fn is_other_text(charset: &'static Encoding, body: &[u8]) -> bool {
    // UTF-16 has zeros in most texts.
    let is_text = !body.contains(&0) && str::from_utf8(body).is_ok();
    is_text && charset.decode_without_bom_handling(body).0.as_bytes() != body
}

impl ResponseCheck for ExpectedResponse {
    fn check(&self, response: &Response) -> Result<(), Mismatch> {
        let result = self.compare(response);
        result.map_err(|mismatch| {
            if self.secrets.is_empty() {
                mismatch
            } else {
                self.without_secrets(response, mismatch)
            }
        })
    }

    fn status(&self) -> Option<u16> {
        match &self.statuses[..] {
            [only] => Some(*only),
            _ => None,
        }
    }

    fn statuses(&self) -> Vec<u16> {
        self.statuses.clone()
    }

    fn body(&self) -> Option<&[u8]> {
        self.body.exact().filter(|_| self.is_plain())
    }

    fn body_length(&self) -> Option<u64> {
        self.body.length().filter(|_| self.is_plain())
    }

    fn longest_body(&self) -> u64 {
        let longest = self.body.longest();
        if self.accepted.as_ref().is_none_or(Accepted::is_none) {
            longest
        } else {
            (longest + longest / 8 + COMPRESSION_ROOM).min(LONGEST_BODY)
        }
    }

    fn portable(&self) -> Result<Portable, NotPortable> {
        self.to_portable()
    }
}

/// The allowed lines of a file, without blank ones.
#[derive(Clone, Debug)]
pub struct LineOf {
    file: String,
    /// The different lines.
    lines: Vec<Vec<u8>>,
    /// The share (0 to 1) of each: a line that occurs twice is drawn twice as often.
    shares: Vec<f64>,
}

impl LineOf {
    /// The lines of `text`, the content of `file`; `None` if it has none.
    pub fn new(file: &str, text: &[u8]) -> Option<Self> {
        let all: Vec<&[u8]> = without_mark(text)
            .split(|&byte| byte == b'\n')
            .map(|line| line.strip_suffix(b"\r").unwrap_or(line))
            .filter(|line| !line.is_empty())
            .collect();
        let mut lines: Vec<Vec<u8>> = all.iter().map(|line| line.to_vec()).collect();
        lines.sort_unstable();
        lines.dedup();
        let times = |line: &Vec<u8>| all.iter().filter(|one| **one == line.as_slice()).count();
        let shares = lines
            .iter()
            .map(|line| times(line) as f64 / all.len() as f64);
        let (file, shares) = (file.to_owned(), shares.collect());
        (!lines.is_empty()).then_some(Self {
            file,
            lines,
            shares,
        })
    }

    /// The file.
    pub fn file(&self) -> &str {
        &self.file
    }

    /// How many different lines there are.
    pub fn count(&self) -> usize {
        self.lines.len()
    }

    /// The longest possible expected body, in bytes.
    pub fn longest(&self) -> u64 {
        let longest = self.lines.iter().map(Vec::len).max();
        longest.unwrap_or(0) as u64 + 1
    }

    /// The line with this index.
    pub fn line(&self, number: usize) -> &[u8] {
        &self.lines[number]
    }

    /// The chance of each line, in a uniform draw from the file.
    pub fn shares(&self) -> &[f64] {
        &self.shares
    }

    /// The chance that two independent draws are the same line.
    pub fn chance_of_two_alike(&self) -> f64 {
        self.shares.iter().map(|share| share * share).sum()
    }

    /// Which line the body is; a line feed may follow it.
    pub fn number(&self, body: &[u8]) -> Option<usize> {
        let line = body.strip_suffix(b"\n").unwrap_or(body);
        self.lines
            .binary_search_by(|one| one.as_slice().cmp(line))
            .ok()
    }

    /// `Err` if the body is not one of the lines.
    pub fn check(&self, body: &[u8]) -> Result<(), Mismatch> {
        if self.number(body).is_some() {
            return Ok(());
        }
        Err(Mismatch {
            expected: format!("one of the {} lines of {}", self.lines.len(), self.file),
            received: format!("{} bytes: {}", body.len(), excerpt(body, 0)),
        })
    }
}

const NAME: &str = "datastar-patch-elements";

/// How much other fields and comments of a body may take at least, in bytes.
const ROOM: u64 = 64 * 1024;
/// A difference before this byte is visible if a line is shown from its start.
const NEAR: usize = 20;

/// The data lines that the event must have.
#[derive(Clone, Debug)]
struct Patch {
    data: Vec<String>,
}

impl Patch {
    /// `elements <line>` for every line of the page.
    fn of(page: &[u8]) -> Self {
        let page = String::from_utf8_lossy(page);
        let data = page.lines().map(|line| format!("elements {line}"));
        Self {
            data: data.collect(),
        }
    }

    /// The longest body that is read, in bytes. An event stream may have comments and other fields of any length: this
    /// allows several times the length of the content.
    fn longest(&self) -> u64 {
        let content: usize = self
            .data
            .iter()
            .map(|line| line.len() + "data: \r\n".len())
            .sum();
        4 * content as u64 + ROOM
    }

    /// Framing may differ, content may not.
    fn check(&self, body: &[u8]) -> Result<(), Mismatch> {
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
