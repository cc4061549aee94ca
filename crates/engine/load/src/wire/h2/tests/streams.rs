//! Many streams, and how they end.

use super::*;
use crate::wire::EndedResponse;

#[test]
fn each_end_is_reported_before_anything_after_it_is_eaten() {
    let requests = get();
    let mut client = Client::requesting(&requests, 2);
    let first = response(3, b"x");
    let bytes = [&first[..], b"\0\0\0\xff"].concat();
    let eaten = client.wire.eat(&bytes, &mut client.in_flight).unwrap();
    assert_eq!(eaten.bytes, first.len());
    assert_eq!(eaten.ended.unwrap().position, 1);
}

#[test]
fn a_request_is_unsent_until_its_head_is_sent() {
    let requests = get();
    let mut client = Client::connected(&requests, &[]);
    client.request(0);
    let length = client.wire.unsent().len();
    (0..2).for_each(|_| client.request(0));
    assert_eq!(client.wire.unsent_requests(), 3);
    client.wire.sent(length - 1);
    assert_eq!(client.wire.unsent_requests(), 3);
    client.wire.sent(1);
    assert_eq!(client.wire.unsent_requests(), 2);
    client.sent();
    assert_eq!(client.wire.unsent_requests(), 0);
}

#[test]
fn the_server_limits_the_streams() {
    let requests = get();
    let mut client = Client::new(&requests);
    assert_eq!(client.wire.room(), 100);
    let limit = |to| settings(&[(MAX_CONCURRENT_STREAMS, to)]);
    client.eat(&limit(2)).unwrap();
    // What further settings do not mention stays.
    client.eat(&settings(&[])).unwrap();
    (0..2).for_each(|_| client.request(0));
    assert_eq!(client.wire.room(), 0);
    client.eat(&limit(1)).unwrap();
    client.eat(&response(1, b"")).unwrap();
    assert_eq!(client.wire.room(), 0);
    client.eat(&response(3, b"")).unwrap();
    assert_eq!(client.wire.room(), 1);
    assert!(!client.wire.is_finished());
    let mut unlimited = Client::connected(&requests, &[]);
    assert!(unlimited.wire.room() > 1_000_000);
    (0..1000).for_each(|_| unlimited.request(0));
}

#[test]
fn a_server_that_goes_away_finishes_what_it_has_begun() {
    let requests = get();
    let mut client = Client::requesting(&requests, 3);
    // A warning, then the last stream.
    let warning = go_away(0x7fff_ffff, ErrorCode::NO_ERROR, "");
    assert_eq!(client.ended(&warning), []);
    assert_eq!((client.wire.room(), client.wire.is_finished()), (0, false));
    let last = go_away(1, ErrorCode::NO_ERROR, "bye");
    let done = client.ended(&[last, response(1, b"hello")].concat());
    assert!(!done[2].whole().keep_alive);
    let unprocessed = End::Unprocessed(ended("is going away: NO_ERROR (bye)"));
    let ends = done.into_iter().map(|done| (done.number, done.end));
    let expected = [(2, unprocessed.clone()), (1, unprocessed)];
    assert_eq!(ends.take(2).collect::<Vec<_>>(), expected);
    assert!(client.wire.is_finished());
}

#[test]
fn the_ends_of_unprocessed_requests_need_no_further_bytes() {
    let requests = get();
    let mut client = Client::requesting(&requests, 3);
    let going = go_away(0, ErrorCode(0xb), "too_many_pings\n");
    let mut ends = Vec::new();
    let mut bytes = &going[..];
    loop {
        let eaten = client.wire.eat(bytes, &mut client.in_flight).unwrap();
        bytes = &bytes[eaten.bytes..];
        ends.extend(eaten.ended);
        if !client.wire.has_more() {
            break;
        }
    }
    assert_eq!(ends.len(), 3);
    let reason = "is going away: ENHANCE_YOUR_CALM (too_many_pings\\n)";
    for (end, position) in ends.into_iter().zip([2, 1, 0]) {
        let expected = EndedResponse {
            position,
            was_sent: true,
            end: End::Unprocessed(ended(reason)),
        };
        assert_eq!(end, expected);
    }
    assert!(client.wire.is_finished());
}

#[test]
fn a_server_cannot_take_back_that_it_goes_away() {
    let requests = get();
    let mut client = Client::requesting(&requests, 2);
    let going = [
        go_away(1, ErrorCode::NO_ERROR, ""),
        go_away(3, ErrorCode(99), &"ä".repeat(5000)),
    ];
    let done = client.ended(&going.concat());
    assert_eq!((done.len(), done[0].number), (1, 1));
    let OnClose::Failed(fault) = client.wire.close() else {
        panic!("not orderly");
    };
    assert!(fault.to_string().len() < 500, "{fault}");
}

#[test]
fn the_server_may_reset_streams() {
    let requests = get();
    let mut client = Client::requesting(&requests, 3);
    let resets = [
        reset(3, ErrorCode(0x7)),
        written("HEADERS 1 :status=200"),
        reset(1, ErrorCode::NO_ERROR),
    ];
    let ends = client.ended_by_number(&resets.concat(), |done| done.end);
    let refused = End::Unprocessed(ended("reset the stream: REFUSED_STREAM"));
    let failed = End::Failed(ended("reset the stream: NO_ERROR"));
    assert_eq!(ends, [(1, refused), (0, failed)]);
    // Further frames were sent before; the table still counts.
    let late = written("DATA 1 x; HEADERS+END_HEADERS+END_STREAM 3 \x48\x03404");
    assert_eq!(client.ended(&late), []);
    let indexed = frame(Kind::HEADERS, END_HEADERS | END_STREAM, 5, b"\xbe");
    assert_eq!(client.ended(&indexed)[0].whole().status, 404);
    assert_eq!(client.sent(), []);
}

#[test]
fn frames_may_refer_to_an_ended_stream() {
    let requests = get();
    let mut client = Client::requesting(&requests, 1);
    client.eat(&response(1, b"")).unwrap();
    let late = written("WINDOW_UPDATE 1 \0\0\0\x05; RST_STREAM 1 \0\0\0\0; PRIORITY 1 12345");
    client.eat(&late).unwrap();
    let closed = Err(Malformed::ClosedStream(Kind::DATA).into());
    assert_eq!(client.eat(&data(1, 0, b"x")), closed);
}

#[test]
fn a_cancelled_request_leaves_the_others_alone() {
    let requests = get();
    let mut client = Client::requesting(&requests, 3);
    client.eat(&written("HEADERS 3 :status=200")).unwrap();
    client.cancel(1);
    assert_eq!(client.sent(), frames(&reset(3, ErrorCode::CANCEL)));
    let rest = written(
        "DATA 3 late; HEADERS 5 :status=200; DATA+END_STREAM 5 third; DATA+END_STREAM 3; \
         HEADERS 1 :status=200; DATA+END_STREAM 1 first",
    );
    let bodies = client.ended_by_number(&rest, |done| done.response.body);
    assert_eq!(bodies, [(2, b"third".to_vec()), (0, b"first".to_vec())]);
    // Now the server has ended it.
    let fault = client.eat(&data(3, 0, b"")).unwrap_err();
    assert_eq!(fault, Malformed::ClosedStream(Kind::DATA).into());
}

#[test]
fn cancelling_does_not_fill_the_memory_of_a_server_that_reads_nothing() {
    let requests = get();
    let mut client = Client::connected(&requests, &[]);
    let mut cancelled = 0;
    loop {
        client.request(0);
        if !client.wire.cancel(0) {
            break;
        }
        client.in_flight.clear();
        cancelled += 1;
    }
    assert!(cancelled > 1000);
    assert!(client.wire.unsent().len() < 300_000);
}

#[test]
fn an_early_response_cancels_the_rest_of_the_body() {
    let requests = post(b"body");
    let mut client = Client::connected(&requests, &[(INITIAL_WINDOW_SIZE, 2)]);
    client.request(0);
    client.sent();
    let done = client.ended(&response(1, b""));
    assert!(!done[0].was_sent && done[0].whole().keep_alive);
    assert_eq!(client.sent(), frames(&reset(1, ErrorCode::CANCEL)));
    assert!(client.wire.room() > 0);
}

#[test]
fn a_request_is_sent_when_its_last_byte_is() {
    let requests = [get(), post(b"body")].concat();
    for (which, left, was_sent) in [(0, 0, true), (0, 1, false), (1, 0, true), (1, 1, false)] {
        let mut client = Client::connected(&requests, &[]);
        client.request(which);
        // The server must not wait for the acknowledgement after it.
        let length = client.wire.unsent().len();
        client.eat(&frame(Kind::PING, 0, 0, &[0; 8])).unwrap();
        client.wire.sent(length - left);
        let done = client.ended(&response(1, b""));
        assert_eq!(done[0].was_sent, was_sent, "request {which}, {left} left");
    }
}

#[test]
fn a_close_means_what_the_first_response_lacks() {
    let requests = get();
    let close_after = |bytes: &[u8]| {
        let mut client = Client::requesting(&requests, 2);
        client.eat(bytes).unwrap();
        client.wire.close()
    };
    for (frames, expected) in [
        ("HEADERS 1 :status=100", OnClose::Truncated),
        ("HEADERS 1", OnClose::Truncated),
        ("HEADERS 1 :status=200", OnClose::Truncated),
        ("HEADERS 3 :status=200", OnClose::BeforeResponse),
    ] {
        assert_eq!(close_after(&written(frames)), expected, "{frames}");
    }
    assert_eq!(close_after(b""), OnClose::BeforeResponse);
    assert_eq!(close_after(&response(1, b"")), OnClose::BeforeResponse);
    assert_eq!(close_after(&[0]), OnClose::Truncated);
    let reason = "is going away: INTERNAL_ERROR (oops)";
    let going = go_away(3, ErrorCode(2), "oops");
    assert_eq!(close_after(&going), OnClose::Failed(ended(reason)));
    let orderly = go_away(3, ErrorCode::NO_ERROR, "");
    assert_eq!(close_after(&orderly), OnClose::BeforeResponse);
}
