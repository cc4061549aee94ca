//! The responses, prepared as far as possible before the request comes.

use std::fmt::Write as _;
use std::io::Write as _;
use std::path::Path;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use httpdate::HttpDate;
use memchr::memchr_iter;

use crate::config::Config;
use crate::error::ReferenceError;
use crate::framing::{Link, Refusal};
use crate::output::Output;
use crate::route::{Reply, Route, What};

/// All responses, prepared once and shared by all workers.
#[derive(Debug)]
pub struct Responses {
    hello: Fixed,
    byte: Fixed,
    page_head: Vec<u8>,
    page: Vec<u8>,
    page_20k: Vec<u8>,
    quotes: Vec<Fixed>,
    not_found: Fixed,
    not_allowed: Fixed,
    malformed: Fixed,
    head_too_large: Fixed,
    unknown_coding: Fixed,
}

/// A response in which only the date changes.
#[derive(Debug)]
struct Fixed {
    /// Up to and including `Date: `.
    head: Vec<u8>,
    body: Vec<u8>,
}

impl Responses {
    /// Reads the assets and prepares every response.
    pub fn new(config: &Config) -> Result<Self, ReferenceError> {
        let page = read(&config.assets.join("page-100k.html"))?;
        let error = |status, text: &str| Fixed::new(status, "text/plain", text.as_bytes());
        Ok(Self {
            hello: Fixed::new("200 OK", "text/plain", b"hello from prony\n"),
            byte: Fixed::new("200 OK", "text/plain", b"r"),
            page_head: head("200 OK", "text/html; charset=utf-8", page.len()),
            page,
            page_20k: read(&config.assets.join("page-20k.html"))?,
            quotes: read_quotes(&config.assets.join("quotes.txt"))?,
            not_found: error("404 Not Found", "not found\n"),
            not_allowed: error(
                "405 Method Not Allowed\r\nAllow: GET, HEAD",
                "only GET and HEAD are allowed\n",
            ),
            malformed: error("400 Bad Request", "not an HTTP/1.1 request\n"),
            head_too_large: error(
                "431 Request Header Fields Too Large",
                "the request head exceeds 16 KiB\n",
            ),
            unknown_coding: error(
                "501 Not Implemented",
                "only the chunked coding is supported\n",
            ),
        })
    }

    /// The page, for [`Output::send`].
    pub fn page(&self) -> &[u8] {
        &self.page
    }

    /// Appends one whole response to `output`.
    pub fn write(&self, reply: Reply, date: &Date, random: &mut fastrand::Rng, out: &mut Output) {
        let mut write = |fixed: &Fixed| fixed.write(reply, date, out);
        match reply.what {
            What::Route(Route::Hello) => write(&self.hello),
            What::Route(Route::Byte) => write(&self.byte),
            What::Route(Route::Quote) => write(&self.quotes[random.usize(..self.quotes.len())]),
            What::NotFound => write(&self.not_found),
            What::NotAllowed => write(&self.not_allowed),
            What::Refused(Refusal::Malformed) => write(&self.malformed),
            What::Refused(Refusal::HeadTooLarge) => write(&self.head_too_large),
            What::Refused(Refusal::UnknownCoding) => write(&self.unknown_coding),
            What::Route(Route::Page | Route::PageLog) => self.write_page(reply, date, out),
            What::Route(Route::Sse) => write_patch(&self.page, reply, date, out),
            What::Route(Route::Sse20k) => write_patch(&self.page_20k, reply, date, out),
        }
    }

    fn write_page(&self, reply: Reply, date: &Date, out: &mut Output) {
        let buffer = out.buffer();
        let start = buffer.len();
        buffer.extend_from_slice(&self.page_head);
        end_head(buffer, date, reply.link);
        out.push_since(start);
        if !reply.head_only {
            out.push_page(self.page.len());
        }
    }
}

impl Fixed {
    fn new(status: &str, content_type: &str, body: &[u8]) -> Self {
        Self {
            head: head(status, content_type, body.len()),
            body: body.to_vec(),
        }
    }

    fn write(&self, reply: Reply, date: &Date, out: &mut Output) {
        let buffer = out.buffer();
        let start = buffer.len();
        buffer.extend_from_slice(&self.head);
        end_head(buffer, date, reply.link);
        if !reply.head_only {
            buffer.extend_from_slice(&self.body);
        }
        out.push_since(start);
    }
}

/// A page as one Datastar event, converted for each request. The body is written first, because the head says how long
/// it is.
fn write_patch(page: &[u8], reply: Reply, date: &Date, out: &mut Output) {
    let buffer = out.buffer();
    let body = buffer.len();
    convert(page, buffer);
    let start = buffer.len();
    buffer.extend_from_slice(
        b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nCache-Control: no-cache\r\n\
          Content-Length: ",
    );
    // Writing to a vector does not fail.
    let _ = write!(buffer, "{}", start - body);
    buffer.extend_from_slice(b"\r\nDate: ");
    end_head(buffer, date, reply.link);
    out.push_since(start);
    if !reply.head_only {
        out.push_own(body, start);
    }
}

/// One `data: elements <line>` for each line, without its line end.
fn convert(page: &[u8], buffer: &mut Vec<u8>) {
    buffer.extend_from_slice(b"event: datastar-patch-elements\n");
    let mut start = 0;
    for end in memchr_iter(b'\n', page) {
        convert_line(&page[start..end], buffer);
        start = end + 1;
    }
    if start < page.len() {
        convert_line(&page[start..], buffer);
    }
    buffer.push(b'\n');
}

fn convert_line(line: &[u8], buffer: &mut Vec<u8>) {
    buffer.extend_from_slice(b"data: elements ");
    buffer.extend_from_slice(line.strip_suffix(b"\r").unwrap_or(line));
    buffer.push(b'\n');
}

fn head(status: &str, content_type: &str, length: usize) -> Vec<u8> {
    format!(
        "HTTP/1.1 {status}\r\nContent-Type: {content_type}\r\nContent-Length: {length}\r\nDate: "
    )
    .into_bytes()
}

fn end_head(buffer: &mut Vec<u8>, date: &Date, link: Link) {
    buffer.extend_from_slice(date.as_bytes());
    buffer.extend_from_slice(match link {
        Link::Stays => b"\r\n\r\n",
        Link::StaysBy10 => b"\r\nConnection: keep-alive\r\n\r\n",
        Link::Closes => b"\r\nConnection: close\r\n\r\n",
    });
}

fn read(path: &Path) -> Result<Vec<u8>, ReferenceError> {
    std::fs::read(path).map_err(|source| ReferenceError::Asset {
        path: path.to_owned(),
        source,
    })
}

fn read_quotes(path: &Path) -> Result<Vec<Fixed>, ReferenceError> {
    let quotes: Vec<Fixed> = read(path)?
        .split(|&byte| byte == b'\n')
        .map(|line| line.strip_suffix(b"\r").unwrap_or(line))
        .filter(|line| !line.is_empty())
        .map(|line| {
            Fixed::new(
                "200 OK",
                "text/plain; charset=utf-8",
                &[line, b"\n"].concat(),
            )
        })
        .collect();
    match quotes.is_empty() {
        true => Err(ReferenceError::NoQuotes(path.to_owned())),
        false => Ok(quotes),
    }
}

/// The value of the Date field, an IMF-fixdate (RFC 9110, section 5.6.7), updated once a second.
#[derive(Debug)]
pub struct Date {
    second: u64,
    text: String,
}

impl Date {
    /// The date at `now`.
    pub fn new(now: SystemTime) -> Self {
        let mut date = Self {
            second: u64::MAX,
            text: String::new(),
        };
        date.refresh(now);
        date
    }

    /// Updates the text if the second has changed.
    pub fn refresh(&mut self, now: SystemTime) {
        let second = now.duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
        if second == self.second {
            return;
        }
        self.second = second;
        self.text.clear();
        let date = HttpDate::from(UNIX_EPOCH + Duration::from_secs(second));
        // Writing to a string does not fail.
        let _ = write!(self.text, "{date}");
    }

    /// `Sun, 06 Nov 1994 08:49:37 GMT`.
    pub fn as_bytes(&self) -> &[u8] {
        self.text.as_bytes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_line_becomes_a_line_of_data() {
        for (page, event) in [
            (
                "a\n\n b\r\n",
                "data: elements a\ndata: elements \ndata: elements  b\n",
            ),
            ("a\nb", "data: elements a\ndata: elements b\n"),
            ("", ""),
        ] {
            let mut converted = Vec::new();
            convert(page.as_bytes(), &mut converted);
            let expected = format!("event: datastar-patch-elements\n{event}\n");
            assert_eq!(String::from_utf8(converted).unwrap(), expected);
        }
    }

    #[test]
    fn the_date_is_an_imf_fixdate_and_follows_the_clock() {
        let at = |millis| UNIX_EPOCH + Duration::from_millis(millis);
        let mut date = Date::new(at(784_111_777_000));
        assert_eq!(date.as_bytes(), b"Sun, 06 Nov 1994 08:49:37 GMT");
        date.refresh(at(784_111_777_999));
        assert_eq!(date.as_bytes(), b"Sun, 06 Nov 1994 08:49:37 GMT");
        date.refresh(at(784_111_778_000));
        assert_eq!(date.as_bytes(), b"Sun, 06 Nov 1994 08:49:38 GMT");
    }
}
