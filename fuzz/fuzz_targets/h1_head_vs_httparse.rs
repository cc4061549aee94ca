//! A head that httparse accepts has the status, length and framing that follow from its fields.

#![no_main]

use libfuzzer_sys::fuzz_target;
use prony_load::wire::h1::{Framing, Head, Malformed, RequestKind};

fuzz_target!(|input: (bool, &[u8])| {
    let (to_head, bytes) = input;
    let mut fields = [httparse::EMPTY_HEADER; 256];
    let mut theirs = httparse::Response::new(&mut fields);
    let mut config = httparse::ParserConfig::default();
    config.allow_obsolete_multiline_headers_in_responses(true);
    let kind = if to_head {
        RequestKind::Head
    } else {
        RequestKind::Plain
    };
    let ours = Head::read(bytes, kind);
    // httparse skips empty lines before the status line, which RFC 9112 allows for requests only.
    let begins_empty = matches!(bytes.first(), Some(b'\r' | b'\n'));
    match config.parse_response(&mut theirs, bytes) {
        _ if begins_empty => assert_eq!(ours, Err(Malformed::StatusLine)),
        Ok(httparse::Status::Complete(length)) => agree(to_head, &theirs, length, ours),
        Ok(httparse::Status::Partial) => {
            assert!(!matches!(ours, Ok(Some(_))), "{ours:?} of a partial head");
        }
        // httparse is stricter about the bytes of values, and about the number of fields.
        Err(_) => {}
    }
});

fn agree(
    to_head: bool,
    theirs: &httparse::Response<'_, '_>,
    length: usize,
    ours: Result<Option<(Head, usize)>, Malformed>,
) {
    let status = theirs.code.expect("a complete head has a status");
    if status < 100 {
        return assert_eq!(ours, Err(Malformed::StatusLine));
    }
    let Some(framing) = framing(theirs.headers) else {
        return assert_eq!(ours, Err(Malformed::ContentLength));
    };
    let bodiless = to_head || matches!(status, 100..=199 | 204 | 304);
    let (head, ours) = ours.expect("accepted").expect("complete");
    assert_eq!((head.status, ours), (status, length));
    let expected = if bodiless {
        Framing::Length(0)
    } else {
        framing
    };
    assert_eq!(head.framing, expected);
    assert!(!(head.keep_alive && expected == Framing::UntilClose));
}

/// RFC 9112, section 6.3, in its plainest form; `None` if a Content-Length is not one number.
fn framing(fields: &[httparse::Header<'_>]) -> Option<Framing> {
    let mut length = None;
    for value in values(fields, "content-length") {
        let numbers = elements(value).map(decimal).collect::<Option<Vec<_>>>()?;
        let first = *numbers.first()?;
        let known = *length.get_or_insert(first);
        if numbers.iter().any(|&number| number != known) {
            return None;
        }
    }
    let mut codings = values(fields, "transfer-encoding").peekable();
    if codings.peek().is_none() {
        return Some(length.map_or(Framing::UntilClose, Framing::Length));
    }
    match codings.flat_map(elements).last() {
        Some(last) if last.eq_ignore_ascii_case(b"chunked") => Some(Framing::Chunked),
        _ => Some(Framing::UntilClose),
    }
}

/// The values of all fields of that name, in order.
fn values<'a>(
    fields: &'a [httparse::Header<'a>],
    name: &'static str,
) -> impl Iterator<Item = &'a [u8]> {
    let named = move |field: &&httparse::Header<'_>| field.name.eq_ignore_ascii_case(name);
    fields.iter().filter(named).map(|field| field.value)
}

fn elements(value: &[u8]) -> impl Iterator<Item = &[u8]> {
    // httparse keeps the line ends of folds.
    let parts = value.split(|&byte| byte == b',').map(<[u8]>::trim_ascii);
    parts.filter(|part| !part.is_empty())
}

fn decimal(digits: &[u8]) -> Option<u64> {
    let text = std::str::from_utf8(digits).ok()?;
    text.bytes()
        .all(|byte| byte.is_ascii_digit())
        .then(|| text.parse().ok())?
}
