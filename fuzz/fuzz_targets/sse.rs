//! An event stream gives the same events however it is cut, and those of the standard's own algorithm;
//! and as many of them are counted.

#![no_main]

use libfuzzer_sys::fuzz_target;
use prony_load::wire::sse::{Event, EventCounter, EventStream, SseError, SseLimits};

fuzz_target!(|input: (u16, u8, u8, &[u8])| {
    let (cut, line, data, bytes) = input;
    let cut = usize::from(cut) % (bytes.len() + 1);
    let pieces = [&bytes[..cut], &bytes[cut..]];
    let tight = SseLimits {
        line: line.into(),
        data: data.into(),
    };
    for limits in [tight, SseLimits::default()] {
        let whole = read(limits, [bytes]);
        assert_eq!(read(limits, pieces), whole);
        assert_eq!(read(limits, bytes.chunks(1)), whole);
        if whole.1.is_ok() {
            assert_eq!(whole.0, reference(bytes));
        }
    }
    let events = reference(bytes).len() as u64;
    assert_eq!(count([bytes]), events);
    assert_eq!(count(pieces), events);
    assert_eq!(count(bytes.chunks(1)), events);
});

fn count<'a>(pieces: impl IntoIterator<Item = &'a [u8]>) -> u64 {
    let mut counter = EventCounter::new();
    pieces.into_iter().map(|piece| counter.eat(piece)).sum()
}

fn read<'a>(
    limits: SseLimits,
    pieces: impl IntoIterator<Item = &'a [u8]>,
) -> (Vec<Event>, Result<(), SseError>) {
    let (mut stream, mut events) = (EventStream::with_limits(limits), Vec::new());
    for piece in pieces {
        if let Err(error) = stream.eat(piece, &mut |event| events.push(event)) {
            return (events, Err(error));
        }
    }
    (events, Ok(()))
}

/// WHATWG HTML, section 9.2.6, on a text that is there as a whole.
fn reference(bytes: &[u8]) -> Vec<Event> {
    let text = String::from_utf8_lossy(bytes).into_owned();
    let text = text.strip_prefix('\u{FEFF}').unwrap_or(&text);
    let text = text.replace("\r\n", "\n").replace('\r', "\n");
    let mut lines: Vec<&str> = text.split('\n').collect();
    lines.pop(); // What no line end follows is no line.
    let (mut events, mut id, mut name) = (Vec::new(), String::new(), String::new());
    let mut data: Vec<&str> = Vec::new();
    for line in lines {
        let (field, value) = line.split_once(':').unwrap_or((line, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match field {
            _ if line.is_empty() => {
                let name = std::mem::take(&mut name);
                if !data.is_empty() {
                    events.push(Event {
                        name: if name.is_empty() {
                            "message".into()
                        } else {
                            name
                        },
                        data: std::mem::take(&mut data).join("\n"),
                        id: id.clone(),
                    });
                }
            }
            "event" => name = value.to_owned(),
            "data" => data.push(value),
            "id" if !value.contains('\0') => id = value.to_owned(),
            _ => {}
        }
    }
    events
}
