//! gRPC calls of every kind: both sides count the same messages, whichever side streams them.

use bytes::{Buf, Bytes};
use prony_load::EventLoopChoice;
use prony_model::{Outcome, Protocol};
use prony_traffic::{Base64, Call, CallKind, Scheme, Traffic};

use super::server::CountingServer;
use super::{GRPC, REQUESTS, over_each, plan};
use crate::plans::load;

/// The method whose response has the first message of the request only.
pub(super) const FIRST_ONLY: &str = "/test.Echo/First";
/// The method whose response has all messages of the request.
const EACH: &str = "/test.Echo/Each";
const KINDS: [CallKind; 4] = [
    CallKind::Unary,
    CallKind::ClientStreaming,
    CallKind::ServerStreaming,
    CallKind::Bidirectional,
];
/// How many messages the request of a call has, if it streams them.
const MESSAGES: u64 = 3;

/// What precedes a message: it is not compressed, and has this length.
pub(super) fn prefix(length: usize) -> [u8; 5] {
    let [a, b, c, d] = u32::try_from(length).unwrap().to_be_bytes();
    [0, a, b, c, d]
}

/// The messages of a request, each with its prefix.
pub(super) fn messages(mut body: Bytes) -> Vec<Bytes> {
    let mut messages = Vec::new();
    while !body.is_empty() {
        let length = (&body[1..5]).get_u32() as usize;
        messages.push(body.split_to(5 + length));
    }
    messages
}

/// A call to that server.
pub(super) fn call(
    server: &CountingServer,
    protocol: Protocol,
    (kind, path): (CallKind, &str),
    messages: &[Vec<u8>],
) -> Traffic {
    let authority = server.address().to_string();
    let call = Call {
        scheme: Scheme::of(protocol),
        kind,
        messages: messages.iter().cloned().map(Base64).collect(),
        ..Call::unary(path, authority, "")
    };
    call.into()
}

/// One of the messages is longer than a frame and the window of a stream.
fn several() -> Vec<Vec<u8>> {
    vec![b"\x0a\x01x".to_vec(), vec![b'x'; 70_000], Vec::new()]
}

#[test]
fn every_kind_of_call_counts_its_messages_on_both_sides() {
    over_each(&GRPC, |protocol| {
        let loops = [EventLoopChoice::IoUring, EventLoopChoice::Epoll];
        let each = loops
            .into_iter()
            .flat_map(|it| KINDS.map(|kind| (it, kind)));
        for ((event_loop, kind), in_flight) in each.flat_map(|it| [(it, 1), (it, 4)]) {
            let server = CountingServer::start(protocol);
            let mut sent = several();
            if !kind.streams_requests() {
                sent.truncate(1);
            }
            let streams = kind.streams_responses();
            let path = if streams { EACH } else { FIRST_ONLY };
            let plan = plan(&server, protocol, event_loop).with(|plan| {
                plan.request = call(&server, protocol, (kind, path), &sent);
                plan.load.events = streams;
                plan.load.pipeline = in_flight;
            });
            let protocol = protocol.name();
            let name = format!("{kind:?}, {in_flight} in flight, {protocol} and {event_loop}");
            let result = load(&plan);
            let wrong = &result.first_wrong;
            assert_eq!(result.outcomes[Outcome::Ok], REQUESTS, "{name}: {wrong:?}");
            assert_eq!(
                (result.requests, server.requests()),
                (REQUESTS, REQUESTS),
                "{name}"
            );
            let each = if kind.streams_requests() { MESSAGES } else { 1 };
            assert_eq!(server.messages(), each * REQUESTS, "{name}");
            let counted = result.events.map(|messages| messages.count);
            assert_eq!(counted, streams.then_some(each * REQUESTS), "{name}");
        }
    });
}
