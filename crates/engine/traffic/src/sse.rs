//! Server-sent events: the event stream of WHATWG HTML, section 9.2.

use memchr::memchr2;

/// One event, as a browser would dispatch it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServerSentEvent {
    /// Its type: the `event` field, or `message` without one.
    pub name: String,
    /// Its `data` fields, joined by line feeds.
    pub data: String,
}

/// The events of a whole stream. Without an empty line after it the last one is not dispatched, as the standard says.
pub fn events(stream: &[u8]) -> Vec<ServerSentEvent> {
    let text = String::from_utf8_lossy(stream);
    let mut rest = text.strip_prefix('\u{FEFF}').unwrap_or(&text);
    let (mut events, mut name, mut data) = (Vec::new(), "", Vec::new());
    while let Some(end) = memchr2(b'\r', b'\n', rest.as_bytes()) {
        let (line, after) = rest.split_at(end);
        rest = after.strip_prefix("\r\n").unwrap_or(&after[1..]);
        // A comment has the empty name.
        let (field, value) = line.split_once(':').unwrap_or((line, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match field {
            "event" => name = value,
            "data" => data.push(value),
            _ if line.is_empty() => {
                let name = match std::mem::take(&mut name) {
                    "" => "message",
                    name => name,
                };
                if !data.is_empty() {
                    events.push(ServerSentEvent {
                        name: name.to_owned(),
                        data: data.join("\n"),
                    });
                }
                data.clear();
            }
            _ => {}
        }
    }
    events
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event(name: &str, data: &str) -> ServerSentEvent {
        ServerSentEvent {
            name: name.into(),
            data: data.into(),
        }
    }

    #[test]
    fn fields_make_events() {
        let text =
            b"\xEF\xBB\xBF: a comment\nevent: patch\ndata: one\ndata:two\ndata:  three\nid: 7\n\n\
            data\n\nevent: nothing\n\ndata: x\nunknown: y\nid: \0\n\ndata: never ended\n";
        assert_eq!(
            events(text),
            [
                event("patch", "one\ntwo\n three"),
                event("message", ""),
                event("message", "x"),
            ]
        );
    }

    #[test]
    fn every_line_end_ends_a_line() {
        for end in ["\r", "\n", "\r\n"] {
            let text = format!("data: a{end}data: b{end}{end}data: c{end}{end}");
            let expected = [event("message", "a\nb"), event("message", "c")];
            assert_eq!(events(text.as_bytes()), expected, "{end:?}");
        }
    }
}
