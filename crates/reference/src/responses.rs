//! The responses: as much of each as can be made before the request comes.

use std::io::Write;
use std::path::Path;

use memchr::memchr_iter;

use crate::ReferenceError;
use crate::config::Config;
use crate::date::Date;
use crate::framing::{Head, Link, Method, Refusal};
use crate::output::Output;
use crate::route::Route;

/// All responses, made once and shared by all workers.
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

/// A response of which only the date changes.
#[derive(Debug)]
struct Fixed {
    /// Up to and with `Date: `.
    head: Vec<u8>,
    body: Vec<u8>,
}

/// What one request is to get a response.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reply {
    what: What,
    /// Without the body: the response to HEAD.
    head_only: bool,
    /// What becomes of the connection.
    pub link: Link,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum What {
    Route(Route),
    NotFound,
    NotAllowed,
    Refused(Refusal),
}

impl Reply {
    /// The reply to a request.
    pub fn to(head: &Head<'_>) -> Self {
        Self {
            what: match (Route::find(head.target), head.method) {
                (None, _) => What::NotFound,
                (Some(_), Method::Other) => What::NotAllowed,
                (Some(route), Method::Get | Method::Head) => What::Route(route),
            },
            head_only: head.method == Method::Head,
            link: head.link,
        }
    }

    /// The reply to what cannot be read as a request. The connection closes after it.
    pub fn refusing(refusal: Refusal) -> Self {
        Self {
            what: What::Refused(refusal),
            head_only: false,
            link: Link::Closes,
        }
    }

    /// The line that this request owes the log: method and path.
    pub fn log_line(&self) -> Option<(&'static str, &'static str)> {
        match self.what {
            What::Route(route) if route.is_logged() => {
                let method = if self.head_only { "HEAD" } else { "GET" };
                Some((method, route.path()))
            }
            _ => None,
        }
    }
}

impl Responses {
    /// Reads the assets and makes every response.
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
            not_found: error("404 Not Found", "there is nothing here\n"),
            not_allowed: error(
                "405 Method Not Allowed\r\nAllow: GET, HEAD",
                "only GET and HEAD\n",
            ),
            malformed: error("400 Bad Request", "this is no HTTP/1.1 request\n"),
            head_too_large: error(
                "431 Request Header Fields Too Large",
                "the request head may be 16 KiB long\n",
            ),
            unknown_coding: error("501 Not Implemented", "the only coding is chunked\n"),
        })
    }

    /// The page, which [`Output::send`] needs.
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
        let end = buffer.len();
        out.push_own(start, end);
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
        let end = buffer.len();
        out.push_own(start, end);
    }
}

/// A page as one Datastar event, converted here and now. The body is made first, because the
/// head tells its length.
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
    let end = buffer.len();
    out.push_own(start, end);
    if !reply.head_only {
        out.push_own(body, start);
    }
}

/// One `data: elements <line>` for each line, its line end not counted.
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
        true => Err(ReferenceError::NoQuotes {
            path: path.to_owned(),
        }),
        false => Ok(quotes),
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
}
