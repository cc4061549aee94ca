//! The responses, prepared as far as possible before the request comes.

use std::io::Write as _;
use std::ops::Range;
use std::path::Path;

use memchr::memchr_iter;

use crate::config::Config;
use crate::date::Date;
use crate::error::ReferenceError;
use crate::framing::{Link, Refusal};
use crate::http2::head::{GrpcHeads, Head};
use crate::output::Output;
use crate::route::{Reply, Route, What};

/// Bodies up to this length are copied, which costs less than one more piece to send, in bytes.
const COPIED: usize = 4096;

/// The responses to the flow of requests.
const SESSION: &str = r#"{"token":"3f7c0a9d","user":{"name":"Ann","item":42}}"#;
const ITEM: &str = r#"{"id":42,"name":"pen","price":1.25,"tags":["blue","new","sale"]}"#;

/// All responses, prepared once and shared by all workers.
#[derive(Debug)]
pub(crate) struct Responses {
    texts: Texts,
    hello: Prepared,
    byte: Prepared,
    session: Prepared,
    item: Prepared,
    page: Prepared,
    patch: Patch,
    patch_20k: Patch,
    quotes: Vec<Prepared>,
    not_found: Prepared,
    not_allowed: Prepared,
    media_type: Prepared,
    malformed: Prepared,
    head_too_large: Prepared,
    unknown_coding: Prepared,
    /// The heads of gRPC responses.
    pub(crate) grpc: GrpcHeads,
}

/// What a response consists of.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Content<'a> {
    /// It is prepared except for the date.
    Prepared(&'a Prepared),
    /// It is converted for each request.
    Patch(&'a Patch),
}

/// A response in which only the date changes.
#[derive(Debug)]
pub(crate) struct Prepared {
    /// The head in HTTP/1.1, up to and including `Date: `.
    head: Vec<u8>,
    /// The head in HTTP/2.
    pub(crate) http2: Head,
    /// Where its body is in the texts.
    pub(crate) body: Range<usize>,
}

/// A page as one Datastar event.
#[derive(Debug)]
pub(crate) struct Patch {
    page: Range<usize>,
    /// The head in HTTP/2.
    pub(crate) http2: Head,
    /// Where the event is in the texts. Every request still converts the page; only what a client's flow control holds
    /// back is sent from here, so that a client that never reads takes no memory.
    pub(crate) event: Range<usize>,
}

/// The bytes of all bodies.
#[derive(Debug, Default)]
struct Texts(Vec<u8>);

impl Texts {
    fn add(&mut self, text: &[u8]) -> Range<usize> {
        let start = self.0.len();
        self.0.extend_from_slice(text);
        start..self.0.len()
    }

    fn add_event(&mut self, page: &Range<usize>) -> Range<usize> {
        let mut event = Vec::new();
        convert(&self.0[page.clone()], &mut event);
        self.add(&event)
    }
}

impl Responses {
    /// Reads the assets and prepares every response.
    pub(crate) fn new(config: &Config) -> Result<Self, ReferenceError> {
        let mut texts = Texts::default();
        let page = texts.add(&read(&config.assets.join("page-100k.html"))?);
        let page_20k = texts.add(&read(&config.assets.join("page-20k.html"))?);
        let quotes = read_quotes(&config.assets.join("quotes.txt"), &mut texts)?;
        let mut typed = |status, media_type, text: &str| {
            let body = texts.add(text.as_bytes());
            Prepared::new(status, &[("Content-Type", media_type)], body)
        };
        let session = typed("200 OK", "application/json", SESSION);
        let item = typed("200 OK", "application/json", ITEM);
        let mut text = |status, text| typed(status, "text/plain", text);
        Ok(Self {
            hello: text("200 OK", "hello from prony\n"),
            byte: text("200 OK", "r"),
            not_found: text("404 Not Found", "not found\n"),
            malformed: text("400 Bad Request", "not an HTTP/1.1 request\n"),
            head_too_large: text(
                "431 Request Header Fields Too Large",
                "the request head exceeds 16 KiB\n",
            ),
            unknown_coding: text(
                "501 Not Implemented",
                "only the chunked coding is supported\n",
            ),
            media_type: text(
                "415 Unsupported Media Type",
                "only gRPC with protobuf is supported\n",
            ),
            not_allowed: Prepared::new(
                "405 Method Not Allowed",
                &[("Allow", "GET, HEAD"), ("Content-Type", "text/plain")],
                texts.add(b"only GET and HEAD are allowed\n"),
            ),
            session,
            item,
            page: Prepared::new(
                "200 OK",
                &[("Content-Type", "text/html; charset=utf-8")],
                page.clone(),
            ),
            patch: Patch::new(page, &mut texts),
            patch_20k: Patch::new(page_20k, &mut texts),
            quotes,
            texts,
            grpc: GrpcHeads::default(),
        })
    }

    /// The bytes of all bodies, for [`Output::send`].
    pub(crate) fn texts(&self) -> &[u8] {
        &self.texts.0
    }

    pub(crate) fn content(&self, what: What, random: &mut fastrand::Rng) -> Content<'_> {
        Content::Prepared(match what {
            What::Route(Route::Hello) => &self.hello,
            What::Route(Route::Byte) => &self.byte,
            What::Route(Route::Quote) => &self.quotes[random.usize(..self.quotes.len())],
            What::Route(Route::Session) => &self.session,
            What::Route(Route::Item) => &self.item,
            What::Route(Route::Page | Route::PageLog) => &self.page,
            What::Route(Route::Sse) => return Content::Patch(&self.patch),
            What::Route(Route::Sse20k) => return Content::Patch(&self.patch_20k),
            What::NotFound => &self.not_found,
            What::NotAllowed => &self.not_allowed,
            What::MediaType => &self.media_type,
            What::Refused(Refusal::Malformed) => &self.malformed,
            What::Refused(Refusal::HeadTooLarge) => &self.head_too_large,
            What::Refused(Refusal::UnknownCoding) => &self.unknown_coding,
        })
    }

    /// Appends one whole response in HTTP/1.1 to `output`.
    pub(crate) fn write(
        &self,
        reply: Reply,
        date: &Date,
        random: &mut fastrand::Rng,
        out: &mut Output,
    ) {
        match self.content(reply.what, random) {
            Content::Prepared(prepared) => {
                let buffer = out.buffer();
                let start = buffer.len();
                buffer.extend_from_slice(&prepared.head);
                end_head(buffer, date, reply.link);
                out.push_since(start);
                if !reply.head_only {
                    self.write_text(prepared.body.clone(), out);
                }
            }
            Content::Patch(patch) => self.write_patch(patch, reply, date, out),
        }
    }

    /// Appends a range of the texts to `output`.
    pub(crate) fn write_text(&self, range: Range<usize>, out: &mut Output) {
        if range.len() > COPIED {
            return out.push_shared(range);
        }
        let start = out.buffer().len();
        out.buffer().extend_from_slice(&self.texts()[range]);
        out.push_since(start);
    }

    /// Converts a page and appends it to `buffer`, without sending it.
    pub(crate) fn convert(&self, patch: &Patch, buffer: &mut Vec<u8>) {
        convert(&self.texts()[patch.page.clone()], buffer);
    }

    /// The body is written first, because the head says how long it is.
    fn write_patch(&self, patch: &Patch, reply: Reply, date: &Date, out: &mut Output) {
        let buffer = out.buffer();
        let body = buffer.len();
        self.convert(patch, buffer);
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
}

impl Prepared {
    /// `status` is a status line without its version.
    fn new(status: &str, fields: &[(&str, &str)], body: Range<usize>) -> Self {
        let length = body.len().to_string();
        let fields = [fields, &[("Content-Length", &length)]].concat();
        let mut head = format!("HTTP/1.1 {status}\r\n");
        for (name, value) in &fields {
            head += &format!("{name}: {value}\r\n");
        }
        head += "Date: ";
        Self {
            head: head.into_bytes(),
            http2: Head::with_date(&status[..3], &fields),
            body,
        }
    }
}

impl Patch {
    fn new(page: Range<usize>, texts: &mut Texts) -> Self {
        let fields = [
            ("Content-Type", "text/event-stream"),
            ("Cache-Control", "no-cache"),
        ];
        Self {
            http2: Head::with_date("200", &fields),
            event: texts.add_event(&page),
            page,
        }
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

fn read_quotes(path: &Path, texts: &mut Texts) -> Result<Vec<Prepared>, ReferenceError> {
    let content_type = ("Content-Type", "text/plain; charset=utf-8");
    let quotes: Vec<Prepared> = read(path)?
        .split(|&byte| byte == b'\n')
        .map(|line| line.strip_suffix(b"\r").unwrap_or(line))
        .filter(|line| !line.is_empty())
        .map(|line| {
            let body = texts.add(&[line, b"\n"].concat());
            Prepared::new("200 OK", &[content_type], body)
        })
        .collect();
    if quotes.is_empty() {
        Err(ReferenceError::NoQuotes(path.to_owned()))
    } else {
        Ok(quotes)
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
