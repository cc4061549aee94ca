//! Invalid responses, and calls that end without one.

use super::*;

#[test]
fn the_server_may_end_a_call_or_the_connection() {
    let ended = |text: &str| Fault::Ended(text.into());
    let calm = ErrorCode(0xb);
    assert_eq!(
        refuse(&[reset(1, ErrorCode(0x7))]),
        ended("reset the call: REFUSED_STREAM")
    );
    assert_eq!(
        refuse(&[headers(1, 0, &HEAD), reset(1, ErrorCode::NO_ERROR)]),
        ended("reset the call: NO_ERROR")
    );
    let gone = go_away(1, calm, "too_many_pings\n");
    assert_eq!(
        refuse(std::slice::from_ref(&gone)).to_string(),
        "the server is going away: ENHANCE_YOUR_CALM (too_many_pings\\n)"
    );
    // The call was not even processed.
    let unprocessed = go_away(0, ErrorCode::NO_ERROR, "");
    assert_eq!(refuse(&[unprocessed]), ended("is going away: NO_ERROR"));
    let long = go_away(0, ErrorCode(99), &"ä".repeat(5000));
    assert!(refuse(&[long]).to_string().len() < 500);
    // Between two calls.
    let mut wire = calling();
    wire.eat(&begun(&[response(1)]), None)
        .unwrap()
        .whole
        .unwrap();
    let going = go_away(1, ErrorCode::NO_ERROR, "");
    assert_eq!(
        wire.eat(&going, None),
        Err(ended("is going away: NO_ERROR"))
    );
}

#[test]
fn invalid_responses_are_refused() {
    let head = |fields: &[(&str, &str)]| headers(1, 0, fields);
    let grpc = || headers(1, 0, &HEAD);
    let trailers = |fields: &[(&str, &str)]| headers(1, END_STREAM, fields);
    let field = |name, value| vec![head(&[HEAD[0], (name, value)])];
    let cases = [
        (vec![head(&[])], Malformed::PseudoField),
        (vec![head(&[("a", "b")])], Malformed::PseudoField),
        (vec![head(&[("a", "b"), HEAD[0]])], Malformed::PseudoField),
        (vec![head(&[HEAD[0], HEAD[0]])], Malformed::PseudoField),
        (vec![head(&[(":path", "/")])], Malformed::PseudoField),
        (vec![grpc(), trailers(&[HEAD[0]])], Malformed::PseudoField),
        (vec![head(&[(":status", "20")])], Malformed::Status),
        (vec![head(&[(":status", "099")])], Malformed::Status),
        (vec![head(&[(":status", "2000")])], Malformed::Status),
        (vec![head(&[(":status", "2x0")])], Malformed::Status),
        (
            vec![head(&[(":status", "101")])],
            Malformed::SwitchingProtocols,
        ),
        (
            vec![trailers(&[(":status", "100")])],
            Malformed::OnlyInterim,
        ),
        (field("A", "b"), Malformed::Field),
        (field("", "b"), Malformed::Field),
        (field("a b", "c"), Malformed::Field),
        (field("a", "b\nc"), Malformed::Field),
        (field("connection", "close"), Malformed::Field),
        (field("transfer-encoding", "chunked"), Malformed::Field),
        (vec![data(1, 0, MESSAGE)], Malformed::BodyBeforeHead),
        (
            vec![head(&[(":status", "100")]), data(1, 0, b"")],
            Malformed::BodyBeforeHead,
        ),
        (vec![grpc(), headers(1, 0, &OK)], Malformed::AfterTrailers),
        (
            vec![grpc(), data(1, 0, b"\x01\0\0\0\0")],
            Malformed::Compressed(1),
        ),
        (
            vec![grpc(), data(1, 0, MESSAGE), data(1, 0, MESSAGE)],
            Malformed::SecondMessage,
        ),
        (
            vec![grpc(), data(1, 0, &MESSAGE[..7]), trailers(&OK)],
            Malformed::MessageCut,
        ),
        (
            vec![grpc(), data(1, END_STREAM, &MESSAGE[..3])],
            Malformed::MessageCut,
        ),
        (
            vec![grpc(), data(1, END_STREAM, b"\0\xff\xff\xff\xffx")],
            Malformed::MessageCut,
        ),
        (vec![grpc(), trailers(&OK)], Malformed::NoMessage),
        (
            vec![trailers(&[HEAD[0], HEAD[1], OK[0]])],
            Malformed::NoMessage,
        ),
        (
            vec![grpc(), trailers(&[("grpc-status", "")])],
            Malformed::RpcStatus,
        ),
        (
            vec![grpc(), trailers(&[("grpc-status", "-1")])],
            Malformed::RpcStatus,
        ),
        (
            vec![grpc(), trailers(&[("grpc-status", "4294967296")])],
            Malformed::RpcStatus,
        ),
    ];
    for (rest, malformed) in cases {
        assert_eq!(refuse(&rest), Fault::Grpc(malformed), "{malformed}");
    }
    let not_http2 = CallWire::new(&call(b"")).eat(b"HTTP/1.1 400 Bad Request\r\n", None);
    assert_eq!(
        not_http2,
        Err(Fault::Grpc(Malformed::Http2(h2::Malformed::NotHttp2)))
    );
    let after = refuse(&[response(1), data(1, 0, b"")]);
    assert!(after.to_string().contains("ended"), "{after}");
}

#[test]
fn a_response_before_the_message_is_sent_can_only_be_an_error() {
    let message = vec![b'm'; 200_000];
    let mut wire = calling_with(&message);
    let too_early = Fault::Grpc(Malformed::TooEarly);
    assert_eq!(
        wire.eat(&begun(&[response(1)]), None),
        Err(too_early.clone())
    );

    // The windows let all of it through, but the socket does not.
    let mut wire = CallWire::new(&call(b"m"));
    wire.request(Which::default());
    wire.sent(wire.unsent().len() - 1);
    assert!(!wire.unsent().is_empty());
    assert_eq!(wire.eat(&begun(&[response(1)]), None), Err(too_early));

    let mut wire = calling_with(&message);
    let refused = [HEAD[0], HEAD[1], ("grpc-status", "8")];
    let bytes = begun(&[
        headers(1, END_STREAM, &refused),
        reset(1, ErrorCode::NO_ERROR),
    ]);
    let whole = wire.eat(&bytes, None).unwrap().whole.unwrap();
    assert_eq!((whole.rpc_status, whole.keep_alive), (Some(8), true));
    let sent = flush(&mut wire);
    assert!(sent.ends_with(&reset(1, ErrorCode::CANCEL)));
    wire.request(Which::default());
    assert!(!wire.unsent().is_empty());
}
