//! One answer, from its first byte to its last.

use super::Malformed;
use super::chunked::{ChunkStep, Chunked};
use super::head::{BEGINNING, Framing, Head, MAX_HEAD};
use crate::answer::{Answer, LONGEST_BODY};

/// What to do with the parts of an answer as they are read.
pub trait Keep {
    /// The final head, as it came, with its empty line.
    fn head(&mut self, bytes: &[u8]);
    /// A piece of the body, its transfer coding removed.
    fn body(&mut self, bytes: &[u8]);
}

/// Keeps nothing.
pub struct Ignore;

impl Keep for Ignore {
    fn head(&mut self, _: &[u8]) {}
    fn body(&mut self, _: &[u8]) {}
}

/// Keeps everything, to be looked at as an [`Answer`]; of a body, its first bytes.
#[derive(Clone, Debug)]
pub struct Collect {
    answer: Answer,
    /// The most of a body that is kept, in bytes.
    most_kept: usize,
}

impl Default for Collect {
    /// Keeps as much of a body as is ever kept.
    fn default() -> Self {
        Self::of_bodies_up_to(LONGEST_BODY)
    }
}

impl Collect {
    /// Keeps a body that may have `longest` bytes, and of a longer one a byte more, which shows that it is longer.
    pub fn of_bodies_up_to(longest: u64) -> Self {
        Self {
            answer: Answer::default(),
            most_kept: longest.min(LONGEST_BODY) as usize + 1,
        }
    }

    /// The answer, once it is whole.
    pub fn into_answer(self) -> Answer {
        self.answer
    }

    /// Keeps the head of an answer whose wire has no head in text.
    pub fn set_head(&mut self, status: u16, headers: Vec<(String, Vec<u8>)>) {
        self.answer.status = status;
        self.answer.headers = headers;
    }

    /// Keeps one more field, such as a trailer.
    pub fn add_header(&mut self, name: String, value: Vec<u8>) {
        self.answer.headers.push((name, value));
    }
}

impl Keep for Collect {
    fn head(&mut self, bytes: &[u8]) {
        let mut fields = vec![httparse::EMPTY_HEADER; 256];
        let mut response = httparse::Response::new(&mut fields);
        // The reader has already accepted this head; fields that httparse is stricter about are
        // left out of what is shown.
        let _ = response.parse(bytes);
        self.answer.status = response.code.unwrap_or(0);
        self.answer.headers = response
            .headers
            .iter()
            .map(|field| (field.name.to_ascii_lowercase(), field.value.to_vec()))
            .collect();
    }

    fn body(&mut self, bytes: &[u8]) {
        let room = self.most_kept.saturating_sub(self.answer.body.len());
        self.answer
            .body
            .extend_from_slice(&bytes[..room.min(bytes.len())]);
    }
}

/// A whole answer, in short.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Whole {
    /// The status code.
    pub status: u16,
    /// Bytes of the body, transfer coding removed.
    pub body_bytes: u64,
    /// Whether the connection may be used for another request.
    pub keep_alive: bool,
    /// The `grpc-status` of an answer to a gRPC call.
    pub rpc_status: Option<u32>,
}

/// What came of eating some bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Eaten {
    /// How many bytes were part of this answer; fewer than were given only where it is whole.
    pub bytes: usize,
    /// The answer, where its last byte was among them.
    pub whole: Option<Whole>,
}

/// What it means that the server closed the connection now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnClose {
    /// That was how the answer ends.
    Whole(Whole),
    /// Nothing of an answer had come.
    BeforeAnswer,
    /// The answer is cut short.
    Truncated,
}

#[derive(Debug)]
enum State {
    Head,
    Body { head: Head, body: Body },
}

#[derive(Clone, Copy, Debug)]
enum Body {
    Length { left: u64 },
    Chunked(Chunked),
    UntilClose,
}

/// Reads one answer after another from the bytes of a connection.
#[derive(Debug)]
pub struct AnswerReader {
    state: State,
    /// The beginning of a head whose end has not come: empty nearly always.
    partial_head: Vec<u8>,
    body_bytes: u64,
    answers_head: bool,
    /// The last head that came in one piece: the next one is nearly always the same to the byte, and
    /// comparing is cheaper than reading.
    last_head: LastHead,
}

/// A head, and what it says.
#[derive(Debug, Default)]
struct LastHead {
    bytes: Vec<u8>,
    meaning: Option<Head>,
}

/// Longer heads are read anew each time: each connection keeps one.
const LONGEST_KEPT_HEAD: usize = 1024;

impl LastHead {
    /// What the head at the beginning of `bytes` says, if it is the same, and its length.
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

impl AnswerReader {
    /// A reader of the answers to requests that are `HEAD` (they have no body) or are not.
    pub fn new(answers_head: bool) -> Self {
        Self {
            state: State::Head,
            partial_head: Vec::new(),
            body_bytes: 0,
            answers_head,
            last_head: LastHead::default(),
        }
    }

    /// Says whether the next answer is to a `HEAD`.
    pub fn answers_head(&mut self, answers_head: bool) {
        if self.answers_head != answers_head {
            self.answers_head = answers_head;
            self.last_head = LastHead::default();
        }
    }

    /// Forgets the answer it is in, for a new connection.
    pub fn restart(&mut self) {
        self.state = State::Head;
        self.partial_head.clear();
        self.body_bytes = 0;
    }

    /// Body bytes that come next for certain and that nobody has to look at: they may be thrown
    /// away before they are read, and told with [`AnswerReader::skip`].
    pub fn skippable(&self) -> u64 {
        match &self.state {
            State::Body {
                body: Body::Length { left },
                ..
            } => *left,
            State::Body {
                body: Body::Chunked(chunked),
                ..
            } => chunked.data_left(),
            _ => 0,
        }
    }

    /// `length` body bytes, at most [`AnswerReader::skippable`], came and were thrown away.
    pub fn skip(&mut self, length: u64) -> Option<Whole> {
        self.body_bytes += length;
        match &mut self.state {
            State::Body {
                body: Body::Length { left },
                ..
            } => {
                *left -= length;
                (*left == 0).then(|| self.end())
            }
            State::Body {
                body: Body::Chunked(chunked),
                ..
            } => {
                chunked.advance_data(length);
                None
            }
            _ => None,
        }
    }

    /// Eats bytes as they came, up to the end of the answer.
    pub fn eat(&mut self, bytes: &[u8], keep: &mut impl Keep) -> Result<Eaten, Malformed> {
        let mut at = 0;
        while at < bytes.len() {
            let rest = &bytes[at..];
            let (eaten, whole) = match self.state {
                State::Head => self.eat_head(rest, keep)?,
                State::Body { .. } => self.eat_body(rest, keep)?,
            };
            at += eaten;
            if whole.is_some() {
                return Ok(Eaten { bytes: at, whole });
            }
        }
        Ok(Eaten {
            bytes: at,
            whole: None,
        })
    }

    /// The server closed the connection.
    pub fn close(&mut self) -> OnClose {
        match self.state {
            State::Head if self.partial_head.is_empty() => OnClose::BeforeAnswer,
            State::Body {
                body: Body::UntilClose,
                ..
            } => OnClose::Whole(self.end()),
            _ => OnClose::Truncated,
        }
    }

    fn eat_head(
        &mut self,
        bytes: &[u8],
        keep: &mut impl Keep,
    ) -> Result<(usize, Option<Whole>), Malformed> {
        let before = self.partial_head.len();
        // Once a head has begun as one, only a line end can tell more: without one there is nothing
        // to read anew.
        let read = if before >= BEGINNING.len() && memchr::memchr(b'\n', bytes).is_none() {
            self.partial_head.extend_from_slice(bytes);
            None
        } else if before == 0 {
            self.read_whole_head(bytes)?.inspect(|(head, length)| {
                if head.status >= 200 {
                    keep.head(&bytes[..*length]);
                }
            })
        } else {
            let room = (MAX_HEAD + 1).saturating_sub(before).min(bytes.len());
            self.partial_head.extend_from_slice(&bytes[..room]);
            Head::read(&self.partial_head, self.answers_head)?.inspect(|(head, length)| {
                if head.status >= 200 {
                    keep.head(&self.partial_head[..*length]);
                }
            })
        };
        let Some((head, length)) = read else {
            return self.keep_partial(bytes, before);
        };
        if length > MAX_HEAD {
            return Err(Malformed::HeadTooLong);
        }
        self.partial_head.clear();
        self.begin_body(head).map(|whole| (length - before, whole))
    }

    /// Reads a head that is whole at the beginning of `bytes`; `None` where it is not.
    #[inline]
    fn read_whole_head(&mut self, bytes: &[u8]) -> Result<Option<(Head, usize)>, Malformed> {
        if let Some(known) = self.last_head.recognise(bytes) {
            return Ok(Some(known));
        }
        let read = Head::read(bytes, self.answers_head)?;
        if let Some((head, length)) = read {
            self.last_head.keep(&bytes[..length], head);
        }
        Ok(read)
    }

    fn keep_partial(
        &mut self,
        bytes: &[u8],
        before: usize,
    ) -> Result<(usize, Option<Whole>), Malformed> {
        if before + bytes.len() > MAX_HEAD {
            return Err(Malformed::HeadTooLong);
        }
        if before == 0 {
            self.partial_head.extend_from_slice(bytes);
        }
        Ok((bytes.len(), None))
    }

    fn begin_body(&mut self, head: Head) -> Result<Option<Whole>, Malformed> {
        match (head.status, head.framing) {
            (101, _) => return Err(Malformed::SwitchingProtocols),
            // An interim answer: the real one follows.
            (100..=199, _) => return Ok(None),
            _ => {}
        }
        let body = match head.framing {
            Framing::Length(left) => Body::Length { left },
            Framing::Chunked => Body::Chunked(Chunked::START),
            Framing::UntilClose => Body::UntilClose,
        };
        self.body_bytes = 0;
        self.state = State::Body { head, body };
        Ok((head.framing == Framing::Length(0)).then(|| self.end()))
    }

    fn eat_body(
        &mut self,
        bytes: &[u8],
        keep: &mut impl Keep,
    ) -> Result<(usize, Option<Whole>), Malformed> {
        let State::Body { body, .. } = &mut self.state else {
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
                ChunkStep::End(length) => (length, 0, true),
            },
        };
        keep.body(&bytes[..body_bytes]);
        self.body_bytes += body_bytes as u64;
        Ok((eaten, over.then(|| self.end())))
    }

    /// The answer is whole: tells of it, and is ready for the next one.
    fn end(&mut self) -> Whole {
        let state = std::mem::replace(&mut self.state, State::Head);
        let State::Body { head, .. } = state else {
            unreachable!("an answer ends in its body");
        };
        Whole {
            status: head.status,
            body_bytes: std::mem::take(&mut self.body_bytes),
            keep_alive: head.keep_alive,
            rpc_status: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const CHUNKED: &str = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nX: y\r\n\r\n\
        5;name=value\r\nhello\r\n00a \r\n, chunked!\r\n0\r\nTrailer: one\r\nOther: two\r\n\r\n";
    const INTERIM: &str = "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n\
        HTTP/1.1 201 Created\r\nContent-Length: 3\r\n\r\nabc";
    const BODILESS: &str = "HTTP/1.1 304 Not Modified\r\nContent-Length: 99\r\n\r\n";
    const CLOSING: &str = "HTTP/1.0 200 OK\r\nServer: old\r\n\r\nuntil the end";
    const LONE_LINE_FEEDS: &str = "HTTP/1.1 200 OK\nContent-Length: 2\n\nok";

    /// Reads `pieces` as they would come from a socket that is closed afterwards.
    fn read<'a>(pieces: impl IntoIterator<Item = &'a [u8]>) -> (Answer, Whole) {
        let mut reader = AnswerReader::new(false);
        let mut collect = Collect::default();
        for piece in pieces {
            let eaten = reader.eat(piece, &mut collect).unwrap();
            assert_eq!(eaten.bytes, piece.len());
            if let Some(whole) = eaten.whole {
                return (collect.into_answer(), whole);
            }
        }
        match reader.close() {
            OnClose::Whole(whole) => (collect.into_answer(), whole),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn split_at_every_byte_the_answer_is_the_same() {
        let samples = [
            (CHUNKED, 200, "hello, chunked!", true),
            (INTERIM, 201, "abc", true),
            (BODILESS, 304, "", true),
            (CLOSING, 200, "until the end", false),
            (LONE_LINE_FEEDS, 200, "ok", true),
        ];
        for (text, status, body, keep_alive) in samples {
            let bytes = text.as_bytes();
            let expected = read([bytes]);
            assert_eq!(
                expected.1,
                Whole {
                    status,
                    body_bytes: body.len() as u64,
                    keep_alive,
                    rpc_status: None,
                }
            );
            assert_eq!(expected.0.body, body.as_bytes());
            assert_eq!(expected.0.status, status);
            for at in 1..bytes.len() {
                assert_eq!(
                    read([&bytes[..at], &bytes[at..]]),
                    expected,
                    "{text:?} at {at}"
                );
            }
            assert_eq!(read(bytes.chunks(1)), expected, "{text:?} byte by byte");
        }
    }

    #[test]
    fn each_answer_is_read_by_its_own_head_whether_it_is_like_the_last_or_not() {
        let answer = |body: &str| {
            let length = body.len();
            format!("HTTP/1.1 200 OK\r\nContent-Length: {length}\r\n\r\n{body}")
        };
        let mut reader = AnswerReader::new(false);
        for body in ["a", "b", "longer", "b", "b"] {
            let text = answer(body);
            for cut in [text.len(), 3] {
                let mut collect = Collect::default();
                let (first, rest) = text.as_bytes().split_at(cut);
                let eaten = reader.eat(first, &mut collect).unwrap();
                let whole = match rest {
                    [] => eaten.whole,
                    rest => reader.eat(rest, &mut collect).unwrap().whole,
                };
                assert_eq!(whole.unwrap().body_bytes, body.len() as u64);
                let answer = collect.into_answer();
                assert_eq!((answer.status, answer.body), (200, body.into()));
            }
        }
        // The same head in answer to a HEAD has no body.
        reader.answers_head(true);
        let eaten = reader.eat(answer("b").as_bytes(), &mut Ignore).unwrap();
        assert_eq!(eaten.whole.unwrap().body_bytes, 0);
    }

    #[test]
    fn what_can_be_skipped_need_not_be_eaten() {
        let mut reader = AnswerReader::new(false);
        let head = b"HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\nab";
        assert_eq!(reader.eat(head, &mut Ignore).unwrap().whole, None);
        assert_eq!(reader.skippable(), 8);
        assert_eq!(reader.skip(3), None);
        assert_eq!(reader.skip(5).unwrap().body_bytes, 10);
        assert_eq!(reader.skippable(), 0);

        let head = b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n8\r\nab";
        reader.eat(head, &mut Ignore).unwrap();
        assert_eq!(reader.skippable(), 6);
        assert_eq!(reader.skip(6), None);
        let whole = reader
            .eat(b"\r\n0\r\n\r\n", &mut Ignore)
            .unwrap()
            .whole
            .unwrap();
        assert_eq!(whole.body_bytes, 8);
    }

    #[test]
    fn it_stops_at_the_end_of_the_answer() {
        let mut reader = AnswerReader::new(false);
        let two = b"HTTP/1.1 204 No Content\r\n\r\nHTTP/1.1 200 OK\r\ncontent-length: 1\r\n\r\nx";
        let first = reader.eat(two, &mut Ignore).unwrap();
        assert_eq!(first.whole.unwrap().status, 204);
        let second = reader.eat(&two[first.bytes..], &mut Ignore).unwrap();
        assert_eq!(second.whole.unwrap().status, 200);
        assert_eq!(first.bytes + second.bytes, two.len());
    }

    #[test]
    fn a_close_means_what_the_framing_says() {
        let close_after = |bytes: &[u8]| {
            let mut reader = AnswerReader::new(false);
            reader.eat(bytes, &mut Ignore).unwrap();
            reader.close()
        };
        assert_eq!(close_after(b""), OnClose::BeforeAnswer);
        assert_eq!(close_after(b"HTTP/1.1 2"), OnClose::Truncated);
        assert_eq!(
            close_after(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nx"),
            OnClose::Truncated
        );
        assert_eq!(
            close_after(&CHUNKED.as_bytes()[..CHUNKED.len() - 1]),
            OnClose::Truncated
        );
        assert!(matches!(close_after(CLOSING.as_bytes()), OnClose::Whole(_)));
    }

    #[test]
    fn broken_answers_are_refused() {
        let refuse = |text: &str| AnswerReader::new(false).eat(text.as_bytes(), &mut Ignore);
        let chunked = |rest: &str| {
            refuse(&format!(
                "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n{rest}"
            ))
        };
        assert_eq!(chunked("xyz\r\n"), Err(Malformed::ChunkSize));
        assert_eq!(chunked("\r\n"), Err(Malformed::ChunkSize));
        assert_eq!(chunked("1000000000000000\r\n"), Err(Malformed::ChunkSize));
        assert_eq!(chunked("1\r\nab\r\n"), Err(Malformed::ChunkEnd));
        assert_eq!(
            chunked(&format!("1;{}", "x".repeat(5000))),
            Err(Malformed::ChunkTooLong)
        );
        assert_eq!(
            chunked(&format!("0\r\n{}", "x: y\r\n".repeat(20_000))),
            Err(Malformed::ChunkTooLong)
        );
        let endless = format!("HTTP/1.1 200 OK\r\n{}", "x: y\r\n".repeat(20_000));
        assert_eq!(refuse(&endless), Err(Malformed::HeadTooLong));
        assert_eq!(
            refuse("HTTP/1.1 101 Switching\r\n\r\n"),
            Err(Malformed::SwitchingProtocols)
        );
    }

    #[test]
    fn garbage_is_refused_at_once_in_pieces_too() {
        let mut reader = AnswerReader::new(false);
        assert_eq!(reader.eat(b"HTT", &mut Ignore).unwrap().whole, None);
        assert_eq!(reader.eat(b"X", &mut Ignore), Err(Malformed::StatusLine));
    }

    #[test]
    fn a_head_that_never_ends_is_refused_in_pieces_too() {
        let mut reader = AnswerReader::new(false);
        reader.eat(b"HTTP/1.1 200 OK\r\n", &mut Ignore).unwrap();
        let line = format!("x: {}\r\n", "y".repeat(500));
        let refused = (0..200).find_map(|_| reader.eat(line.as_bytes(), &mut Ignore).err());
        assert_eq!(refused, Some(Malformed::HeadTooLong));
    }

    #[test]
    fn a_body_without_end_does_not_fill_the_memory() {
        let mut reader = AnswerReader::new(false);
        let mut collect = Collect::default();
        reader.eat(CLOSING.as_bytes(), &mut collect).unwrap();
        let piece = vec![b'x'; LONGEST_BODY as usize / 4];
        for _ in 0..5 {
            reader.eat(&piece, &mut collect).unwrap();
        }
        assert_eq!(collect.into_answer().body.len() as u64, LONGEST_BODY + 1);
    }

    proptest! {
        #[test]
        fn any_body_in_any_chunks_and_pieces_comes_back(
            chunks in prop::collection::vec(prop::collection::vec(any::<u8>(), 1..60), 0..6),
            piece in 1usize..50,
        ) {
            let mut bytes = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n".to_vec();
            for chunk in &chunks {
                bytes.extend_from_slice(format!("{:x}\r\n", chunk.len()).as_bytes());
                bytes.extend_from_slice(chunk);
                bytes.extend_from_slice(b"\r\n");
            }
            bytes.extend_from_slice(b"0\r\n\r\n");
            let (answer, whole) = read(bytes.chunks(piece));
            prop_assert_eq!(&answer.body, &chunks.concat());
            prop_assert_eq!(whole.body_bytes, answer.body.len() as u64);
        }

        #[test]
        fn no_bytes_make_it_panic_and_pieces_change_nothing(
            bytes in prop::collection::vec(any::<u8>(), 0..200),
            at in 0usize..200,
        ) {
            let mut text = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n".to_vec();
            text.extend_from_slice(&bytes);
            let at = at.min(text.len());
            let whole = AnswerReader::new(false).eat(&text, &mut Ignore).map(|eaten| eaten.whole);
            let mut reader = AnswerReader::new(false);
            let mut pieces = reader.eat(&text[..at], &mut Ignore).map(|eaten| eaten.whole);
            if let Ok(None) = pieces {
                pieces = reader.eat(&text[at..], &mut Ignore).map(|eaten| eaten.whole);
            }
            prop_assert_eq!(whole, pieces);
        }
    }
}
