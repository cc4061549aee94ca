//! The head of an answer: its status line and the fields that frame its body.

use memchr::memchr;

use super::Malformed;

/// The longest head that is read, in bytes.
pub const MAX_HEAD: usize = 64 * 1024;

/// What every head begins with.
pub(super) const BEGINNING: &[u8] = b"HTTP/1.";

/// How the end of a body is found (RFC 9112, section 6.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Framing {
    /// After this many bytes.
    Length(u64),
    /// After the last chunk.
    Chunked,
    /// When the server closes the connection.
    UntilClose,
}

/// What the head of an answer says that matters for reading it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Head {
    /// The status code, 100 to 999.
    pub status: u16,
    /// Whether the connection may be used again afterwards.
    pub keep_alive: bool,
    /// How its body ends.
    pub framing: Framing,
}

impl Head {
    /// Reads a head from the beginning of `bytes`; `None` while its empty line has not come.
    /// Returns the head and its length in bytes.
    pub fn read(bytes: &[u8], answers_head: bool) -> Result<Option<(Head, usize)>, Malformed> {
        let Some((line, mut at)) = next_line(bytes, 0) else {
            return check_status_beginning(bytes).map(|()| None);
        };
        let (version_minor, status) = status_line(line)?;
        let mut fields = FramingFields::default();
        loop {
            let Some((line, next)) = next_line(bytes, at) else {
                return Ok(None);
            };
            at = next;
            if line.is_empty() {
                break;
            }
            fields.take(line)?;
        }
        let bodiless = answers_head || matches!(status, 100..=199 | 204 | 304);
        let framing = if bodiless {
            Framing::Length(0)
        } else {
            fields.framing()
        };
        let keep_alive = framing != Framing::UntilClose
            && !fields.close
            && (version_minor >= 1 || fields.keep_alive);
        let head = Head {
            status,
            keep_alive,
            framing,
        };
        Ok(Some((head, at)))
    }
}

/// The line that begins at `at`, without its end, and where the next one begins.
#[inline]
fn next_line(bytes: &[u8], at: usize) -> Option<(&[u8], usize)> {
    let rest = &bytes[at..];
    let end = memchr(b'\n', rest)?;
    let line = &rest[..end];
    Some((line.strip_suffix(b"\r").unwrap_or(line), at + end + 1))
}

/// Refuses garbage at once, without waiting for a line end that may never come.
fn check_status_beginning(bytes: &[u8]) -> Result<(), Malformed> {
    let common = bytes.len().min(BEGINNING.len());
    if bytes[..common] == BEGINNING[..common] {
        Ok(())
    } else {
        Err(Malformed::StatusLine)
    }
}

/// The minor version and the status of `HTTP/1.x NNN reason`.
fn status_line(line: &[u8]) -> Result<(u8, u16), Malformed> {
    let rest = line.strip_prefix(b"HTTP/1.").ok_or(Malformed::StatusLine)?;
    let [minor @ (b'0' | b'1'), b' ', a, b, c, reason @ ..] = rest else {
        return Err(Malformed::StatusLine);
    };
    let digits = [a, b, c];
    if !digits.iter().all(|digit| digit.is_ascii_digit())
        || *a == b'0'
        || !(reason.is_empty() || reason[0] == b' ')
    {
        return Err(Malformed::StatusLine);
    }
    let status = digits
        .iter()
        .fold(0, |status, &&digit| status * 10 + u16::from(digit - b'0'));
    Ok((minor - b'0', status))
}

/// The fields that say how the body ends and whether the connection stays.
#[derive(Default)]
struct FramingFields {
    length: Option<u64>,
    transfer_encoded: bool,
    chunked: bool,
    close: bool,
    keep_alive: bool,
}

impl FramingFields {
    #[inline]
    fn take(&mut self, line: &[u8]) -> Result<(), Malformed> {
        let colon = memchr(b':', line).ok_or(Malformed::HeaderLine)?;
        let (name, value) = (&line[..colon], &line[colon + 1..]);
        if name.is_empty() || !name.iter().copied().all(is_token_byte) {
            return Err(Malformed::HeaderLine);
        }
        // The length of the name sorts out nearly every field that does not matter here.
        match name.len() {
            10 if name.eq_ignore_ascii_case(b"connection") => self.take_connection(value),
            14 if name.eq_ignore_ascii_case(b"content-length") => self.take_length(value)?,
            17 if name.eq_ignore_ascii_case(b"transfer-encoding") => self.take_encoding(value),
            _ => {}
        }
        Ok(())
    }

    fn take_connection(&mut self, value: &[u8]) {
        for option in list(value) {
            self.close |= option.eq_ignore_ascii_case(b"close");
            self.keep_alive |= option.eq_ignore_ascii_case(b"keep-alive");
        }
    }

    /// Several equal values are one (RFC 9112, section 6.3, rule 5).
    fn take_length(&mut self, value: &[u8]) -> Result<(), Malformed> {
        let mut parts = list(value).peekable();
        if parts.peek().is_none() {
            return Err(Malformed::ContentLength);
        }
        for part in parts {
            let length = decimal(part).ok_or(Malformed::ContentLength)?;
            if self.length.is_some_and(|before| before != length) {
                return Err(Malformed::ContentLength);
            }
            self.length = Some(length);
        }
        Ok(())
    }

    fn take_encoding(&mut self, value: &[u8]) {
        self.transfer_encoded = true;
        if let Some(last) = list(value).last() {
            self.chunked = last.eq_ignore_ascii_case(b"chunked");
        }
    }

    /// Transfer-Encoding wins over Content-Length (RFC 9112, section 6.3, rule 3).
    fn framing(&self) -> Framing {
        match (self.transfer_encoded, self.length) {
            (true, _) if self.chunked => Framing::Chunked,
            (false, Some(length)) => Framing::Length(length),
            _ => Framing::UntilClose,
        }
    }
}

/// The elements of a comma-separated field value, empty ones left out.
fn list(value: &[u8]) -> impl Iterator<Item = &[u8]> {
    value
        .split(|&byte| byte == b',')
        .map(<[u8]>::trim_ascii)
        .filter(|part| !part.is_empty())
}

fn decimal(digits: &[u8]) -> Option<u64> {
    if digits.is_empty() {
        return None;
    }
    digits.iter().try_fold(0u64, |number, &digit| {
        let digit = digit.is_ascii_digit().then(|| u64::from(digit - b'0'))?;
        number.checked_mul(10)?.checked_add(digit)
    })
}

/// `tchar` of RFC 9110, section 5.6.2.
const fn is_token_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric()
        || matches!(
            byte,
            b'!' | b'#'
                | b'$'
                | b'%'
                | b'&'
                | b'\''
                | b'*'
                | b'+'
                | b'-'
                | b'.'
                | b'^'
                | b'_'
                | b'`'
                | b'|'
                | b'~'
        )
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn read(text: &str) -> Result<Option<(Head, usize)>, Malformed> {
        Head::read(text.as_bytes(), false)
    }

    fn framing(text: &str) -> Framing {
        read(text).unwrap().unwrap().0.framing
    }

    #[test]
    fn the_head_ends_at_its_empty_line() {
        let text = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello";
        let (head, length) = read(text).unwrap().unwrap();
        assert_eq!(&text[length..], "hello");
        assert_eq!(head.status, 200);
        assert_eq!(head.framing, Framing::Length(5));
        assert!(head.keep_alive);
    }

    #[test]
    fn the_body_is_framed_as_rfc_9112_says() {
        let chunked_wins =
            "HTTP/1.1 200 OK\r\ncontent-length: 3\r\ntransfer-encoding: gzip, chunked\r\n\r\n";
        assert_eq!(framing(chunked_wins), Framing::Chunked);
        assert_eq!(framing("HTTP/1.1 200 OK\r\n\r\n"), Framing::UntilClose);
        let coded = "HTTP/1.1 200 OK\r\ntransfer-encoding: gzip\r\ncontent-length: 3\r\n\r\n";
        assert_eq!(framing(coded), Framing::UntilClose);
        for status in [100, 199, 204, 304] {
            let text = format!("HTTP/1.1 {status} x\r\ncontent-length: 9\r\n\r\n");
            assert_eq!(framing(&text), Framing::Length(0));
        }
        let text = b"HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\n";
        let (to_head, _) = Head::read(text, true).unwrap().unwrap();
        assert_eq!(to_head.framing, Framing::Length(0));
    }

    #[test]
    fn the_connection_stays_or_goes_by_version_and_field() {
        let keeps = |text: &str| read(text).unwrap().unwrap().0.keep_alive;
        assert!(keeps("HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n"));
        assert!(!keeps("HTTP/1.0 200 OK\r\ncontent-length: 0\r\n\r\n"));
        assert!(keeps(
            "HTTP/1.0 200 OK\r\nConnection: Keep-Alive\r\ncontent-length: 0\r\n\r\n"
        ));
        assert!(!keeps(
            "HTTP/1.1 200 OK\r\nconnection: upgrade, CLOSE\r\ncontent-length: 0\r\n\r\n"
        ));
        assert!(!keeps("HTTP/1.1 200 OK\r\n\r\n"));
    }

    #[test]
    fn what_is_no_head_is_refused_at_once() {
        assert_eq!(read("SSH-2.0"), Err(Malformed::StatusLine));
        assert_eq!(read("HTTP/2 200\r\n"), Err(Malformed::StatusLine));
        assert_eq!(read("HTTP/1.1 2000 OK\r\n"), Err(Malformed::StatusLine));
        assert_eq!(
            read("HTTP/1.1 200 OK\r\nno colon\r\n"),
            Err(Malformed::HeaderLine)
        );
        let empty_after_another = "1\r\ncontent-length: ,";
        for length in [
            "x",
            "-1",
            "",
            "99999999999999999999",
            "1, 2",
            "1 2",
            empty_after_another,
        ] {
            let text = format!("HTTP/1.1 200 OK\r\nContent-Length: {length}\r\n\r\n");
            assert_eq!(read(&text), Err(Malformed::ContentLength), "{length:?}");
        }
        assert_eq!(
            framing("HTTP/1.1 200 OK\r\ncontent-length: 7, 7\r\n\r\n"),
            Framing::Length(7)
        );
    }

    fn field() -> impl Strategy<Value = String> {
        let known = prop_oneof![
            Just("Content-Length: 12".to_owned()),
            Just("content-length:0".to_owned()),
            Just("Transfer-Encoding: chunked".to_owned()),
            Just("Connection: close".to_owned()),
        ];
        prop_oneof![known, "[A-Za-z][A-Za-z0-9-]{0,20}: ?[ -~]{0,40}"]
    }

    proptest! {
        /// Where httparse reads a head, so do we, with the same status and length.
        #[test]
        fn it_agrees_with_httparse(
            status in 100u16..=999,
            minor in 0u8..=1,
            reason in "[ -~]{0,20}",
            fields in prop::collection::vec(field(), 0..8),
        ) {
            let text = format!("HTTP/1.{minor} {status} {reason}\r\n{}\r\n",
                fields.iter().map(|field| format!("{field}\r\n")).collect::<String>());
            let mut headers = [httparse::EMPTY_HEADER; 16];
            let mut theirs = httparse::Response::new(&mut headers);
            if let Ok(httparse::Status::Complete(length)) = theirs.parse(text.as_bytes()) {
                match read(&text) {
                    Ok(Some((head, ours))) => {
                        prop_assert_eq!(ours, length);
                        prop_assert_eq!(Some(head.status), theirs.code);
                    }
                    // httparse does not look at the values.
                    other => prop_assert_eq!(other, Err(Malformed::ContentLength)),
                }
            }
        }

        #[test]
        fn no_bytes_make_it_panic(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
            let _ = Head::read(&bytes, false);
        }
    }
}
