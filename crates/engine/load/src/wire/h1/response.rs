//! One response, from its first byte to its last.

use super::chunked::{ChunkStep, Chunked, Trailers};
use super::fields::Framing;
use super::head::{Head, HeadReader};
use super::lines::Partial;
use super::{Keep, Malformed, RequestKind};
use crate::wire::{OnClose, Whole};

#[derive(Debug)]
enum State {
    Head,
    Body(Head, Body),
}

#[derive(Clone, Copy, Debug)]
enum Body {
    Length { left: u64 },
    Chunked(Chunked),
    Trailers(Trailers),
    UntilClose,
}

/// Reads one response after another from the bytes of a connection.
#[derive(Debug)]
pub struct ResponseReader {
    state: State,
    /// The start of a head or a trailer section.
    partial: Partial,
    /// What was read of the current head.
    head: HeadReader,
    body_bytes: u64,
    kind: RequestKind,
    /// The last head that arrived in one piece: the next one nearly always has the same bytes, and comparing is cheaper
    /// than parsing.
    last_head: LastHead,
}

/// What [`ResponseReader::eat`] did with some bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReadBytes {
    /// How many bytes belong to this response; fewer than were given only if it is whole.
    pub bytes: usize,
    /// The response, if it is whole now.
    pub whole: Option<Whole>,
}

/// A head, and its meaning.
#[derive(Debug, Default)]
struct LastHead {
    bytes: Vec<u8>,
    meaning: Option<Head>,
}

/// Longer heads are parsed every time: each connection keeps one.
const LONGEST_KEPT_HEAD: usize = 1024;

impl LastHead {
    /// The kept head and its length, if `bytes` start with it.
    #[inline]
    fn recognise(&self, bytes: &[u8]) -> Option<(Head, usize)> {
        let head = self.meaning?;
        bytes
            .starts_with(&self.bytes)
            .then_some((head, self.bytes.len()))
    }

    fn keep(&mut self, bytes: &[u8], head: Head) {
        if bytes.len() <= LONGEST_KEPT_HEAD {
            self.bytes.clear();
            self.bytes.extend_from_slice(bytes);
            self.meaning = Some(head);
        }
    }
}

impl ResponseReader {
    /// A reader of the responses to requests of that kind.
    pub fn new(kind: RequestKind) -> Self {
        Self {
            state: State::Head,
            partial: Partial::default(),
            head: HeadReader::default(),
            body_bytes: 0,
            kind,
            last_head: LastHead::default(),
        }
    }

    /// Sets the kind of request that the next response belongs to.
    pub(crate) fn responds_to(&mut self, kind: RequestKind) {
        if self.kind != kind {
            self.kind = kind;
            self.last_head = LastHead::default();
        }
    }

    /// Whether a tunnel's bytes, not HTTP, follow the response that has just ended.
    pub(super) fn is_before_tunnel(&self, ended: Option<Whole>) -> bool {
        ended.is_some_and(|whole| self.kind.opens_tunnel(whole.status))
    }

    /// Forgets the current response, for a new connection.
    pub fn restart(&mut self) {
        self.state = State::Head;
        self.partial.clear();
        self.head = HeadReader::default();
        self.body_bytes = 0;
    }

    /// How many body bytes certainly follow that nobody has to look at: they may be thrown away unread, and reported
    /// with [`ResponseReader::skip`].
    pub fn skippable(&self) -> u64 {
        match &self.state {
            State::Body(_, Body::Length { left }) => *left,
            State::Body(_, Body::Chunked(chunked)) => chunked.data_left(),
            _ => 0,
        }
    }

    /// Takes `length` body bytes, at most [`ResponseReader::skippable`], that were thrown away.
    pub fn skip(&mut self, length: u64) -> Option<Whole> {
        self.body_bytes += length;
        match &mut self.state {
            State::Body(_, Body::Length { left }) => {
                *left -= length;
                (*left == 0).then(|| self.end())
            }
            State::Body(_, Body::Chunked(chunked)) => {
                chunked.advance_data(length);
                None
            }
            _ => None,
        }
    }

    /// Eats bytes, up to the end of the response.
    pub fn eat(&mut self, bytes: &[u8], keep: &mut impl Keep) -> Result<ReadBytes, Malformed> {
        let mut at = 0;
        while at < bytes.len() {
            let rest = &bytes[at..];
            let (eaten, whole) = match self.state {
                State::Head => self.eat_head(rest, keep)?,
                State::Body(..) => self.eat_body(rest, keep)?,
            };
            at += eaten;
            if whole.is_some() {
                return Ok(ReadBytes { bytes: at, whole });
            }
        }
        Ok(ReadBytes {
            bytes: at,
            whole: None,
        })
    }

    /// The server closed the connection.
    pub fn close(&mut self) -> OnClose {
        match self.state {
            State::Head if self.partial.is_empty() => OnClose::BeforeResponse,
            State::Body(_, Body::UntilClose) => OnClose::Whole(self.end()),
            _ => OnClose::Truncated,
        }
    }

    fn eat_head(
        &mut self,
        bytes: &[u8],
        keep: &mut impl Keep,
    ) -> Result<(usize, Option<Whole>), Malformed> {
        let is_partial = !self.partial.is_empty();
        let known = if is_partial {
            None
        } else {
            self.last_head.recognise(bytes)
        };
        let (eaten, head) = match known {
            Some((head, length)) => {
                keep_final(&head, &bytes[..length], keep);
                (length, Some(head))
            }
            None => {
                let read = |bytes: &[u8]| {
                    let read = self.head.read(bytes, self.kind)?;
                    if let Some((head, length)) = read {
                        keep_final(&head, &bytes[..length], keep);
                    }
                    Ok(read)
                };
                self.partial.eat(bytes, Malformed::HeadTooLong, read)?
            }
        };
        let Some(head) = head else {
            return Ok((eaten, None));
        };
        if known.is_none() {
            self.head = HeadReader::default();
            if !is_partial {
                self.last_head.keep(&bytes[..eaten], head);
            }
        }
        Ok((eaten, self.begin_body(head)?))
    }

    fn begin_body(&mut self, head: Head) -> Result<Option<Whole>, Malformed> {
        match (head.status, head.framing) {
            (101, _) => return Err(Malformed::SwitchingProtocols),
            // An interim response: the real one follows.
            (100..=199, _) => return Ok(None),
            _ => {}
        }
        let body = match head.framing {
            Framing::Length(left) => Body::Length { left },
            Framing::Chunked => Body::Chunked(Chunked::START),
            Framing::UntilClose => Body::UntilClose,
        };
        self.body_bytes = 0;
        self.state = State::Body(head, body);
        Ok((head.framing == Framing::Length(0)).then(|| self.end()))
    }

    fn eat_body(
        &mut self,
        bytes: &[u8],
        keep: &mut impl Keep,
    ) -> Result<(usize, Option<Whole>), Malformed> {
        let State::Body(_, body) = &mut self.state else {
            return Ok((0, None));
        };
        let (eaten, body_bytes, over) = match body {
            Body::Length { left } => {
                let length = (*left).min(bytes.len() as u64) as usize;
                *left -= length as u64;
                (length, length, *left == 0)
            }
            Body::UntilClose => (bytes.len(), bytes.len(), false),
            Body::Chunked(chunked) => match chunked.step(bytes)? {
                ChunkStep::Framing(length) => (length, 0, false),
                ChunkStep::Body(length) => (length, length, false),
                ChunkStep::Last(length) => {
                    *body = Body::Trailers(Trailers::default());
                    (length, 0, false)
                }
            },
            Body::Trailers(trailers) => {
                let read = |bytes: &[u8]| Ok(trailers.read(bytes)?.map(|length| ((), length)));
                let (eaten, end) = self.partial.eat(bytes, Malformed::ChunkTooLong, read)?;
                (eaten, 0, end.is_some())
            }
        };
        keep.body(&bytes[..body_bytes]);
        self.body_bytes += body_bytes as u64;
        Ok((eaten, over.then(|| self.end())))
    }

    /// Ends the response, and gets ready for the next one.
    fn end(&mut self) -> Whole {
        let state = std::mem::replace(&mut self.state, State::Head);
        let State::Body(head, _) = state else {
            unreachable!("a response ends in its body");
        };
        Whole {
            status: head.status,
            body_bytes: std::mem::take(&mut self.body_bytes),
            keep_alive: head.keep_alive,
            rpc_status: None,
        }
    }
}

/// Keeps a head unless it is of an interim response.
fn keep_final(head: &Head, bytes: &[u8], keep: &mut impl Keep) {
    if head.status >= 200 {
        keep.head(bytes);
    }
}

#[cfg(test)]
mod tests;
