//! The HTTP/2 wire against the server of the `h2` crate: many streams, windows and frames of any size, resets and a
//! server that goes away.

use std::collections::{BTreeMap, VecDeque};
use std::future::poll_fn;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Poll, ready};

use bytes::Bytes;
use h2::server::{self, SendResponse};
use h2::{Reason, RecvStream};
use http::{HeaderMap, Method, Request};
use prony_load::wire::h2::{H2Wire, StreamRequest};
use prony_load::wire::{End, EndedResponse, Responses, Which, Wire};
use prony_testkit::PATIENCE;
use prony_traffic::{Collect, Response};
use proptest::prelude::*;
use tokio::io::{AsyncRead, AsyncWrite, DuplexStream, ReadBuf, duplex};

/// The initial size of a window.
const DEFAULT_WINDOW: u32 = 65_535;
/// The server's first frame: at most five settings.
const SETTINGS: usize = 9 + 5 * 6;

/// What the server does with a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Treatment {
    /// Reads it, then responds.
    Responds,
    /// Responds without reading the body.
    IsEarly,
    /// Sends a head, then resets the stream.
    Resets,
    /// Responds, but the client cancels the request after a while.
    IsCancelled,
}

/// One request and its response.
#[derive(Clone, Copy, Debug)]
struct Exchange {
    treatment: Treatment,
    request_bytes: usize,
    response_bytes: usize,
    /// The longest piece that the server sends at a time.
    piece: usize,
    announces_length: bool,
    has_trailers: bool,
}

#[derive(Clone, Debug)]
struct Plan {
    exchanges: Vec<Exchange>,
    /// Whether all requests are the first one.
    is_repeated: bool,
    concurrency: usize,
    /// The server goes away after this number of requests.
    most_requests: Option<usize>,
    window: u32,
    connection_window: u32,
    frame: u32,
    table: u32,
    most_streams: u32,
    /// How many bytes are under way at most.
    pipe: usize,
    /// How many bytes the client reads at a time.
    read: usize,
}

impl Plan {
    fn exchange(&self, number: usize) -> &Exchange {
        &self.exchanges[if self.is_repeated { 0 } else { number }]
    }

    fn treatment(&self, number: usize) -> Treatment {
        self.exchange(number).treatment
    }
}

fn lengths() -> impl Strategy<Value = usize> {
    prop_oneof![Just(0), 1..100usize, 1..60_000usize]
}

prop_compose! {
    fn exchanges()(
        treatment in prop_oneof![
            8 => Just(Treatment::Responds),
            1 => Just(Treatment::IsEarly),
            1 => Just(Treatment::Resets),
            1 => Just(Treatment::IsCancelled),
        ],
        request_bytes in lengths(),
        response_bytes in lengths(),
        piece in prop_oneof![1..100usize, 1000..50_000usize],
        announces_length in any::<bool>(),
        has_trailers in any::<bool>(),
    ) -> Exchange {
        // A long body is not sent byte by byte.
        let piece = piece.max(response_bytes / 200);
        Exchange { treatment, request_bytes, response_bytes, piece, announces_length, has_trailers }
    }
}

prop_compose! {
    fn plans()(
        exchanges in prop::collection::vec(exchanges(), 1..40),
        is_repeated in any::<bool>(),
        concurrency in 1..40usize,
        most_requests in prop::option::of(1..40usize),
        window in prop_oneof![300..5000u32, 5000..2_000_000u32],
        connection_window in 65_535..2_000_000u32,
        frame in 16_384..100_000u32,
        table in prop_oneof![Just(0u32), 1..200u32, Just(4096), Just(65_536)],
        most_streams in 1..150u32,
        pipe in 64..100_000usize,
        // A small pipe is slow enough.
        read in 100..70_000usize,
    ) -> Plan {
        Plan {
            exchanges, is_repeated, concurrency, most_requests, window, connection_window, frame, table, most_streams, pipe, read,
        }
    }
}

fn body(length: usize) -> Vec<u8> {
    (0..length).map(|at| (at % 251) as u8).collect()
}

/// The value of a field: different ones, some of them long, so that the table fills up and evicts the oldest.
fn long_number(number: usize) -> String {
    format!("{number}-{}", "v".repeat(number * 37 % 1000))
}

async fn serve(io: DuplexStream, plan: Arc<Plan>) {
    let handshake = server::Builder::new()
        .initial_window_size(plan.window)
        .initial_connection_window_size(plan.connection_window)
        .max_frame_size(plan.frame)
        .header_table_size(plan.table)
        .max_concurrent_streams(plan.most_streams)
        // It takes more than 20 cancelled requests for an attack.
        .max_pending_accept_reset_streams(plan.exchanges.len())
        // What arrives of a stream after it was forgotten is an error. A machine may stand still for longer than usual.
        .reset_stream_duration(PATIENCE)
        .handshake(io)
        .await;
    // A client that cancels all of its requests is gone by then.
    let Ok(mut connection) = handshake else {
        return;
    };
    let mut requests = 0;
    while let Some(accepted) = connection.accept().await {
        let Ok((request, respond)) = accepted else {
            return;
        };
        requests += 1;
        if Some(requests) == plan.most_requests {
            connection.graceful_shutdown();
        }
        let number: usize = request.uri().path()[1..].parse().unwrap();
        // In its own task: the connection must be polled on. A cancelled stream fails it.
        tokio::task::spawn(respond_to(
            plan.exchanges[number],
            requests,
            request,
            respond,
        ));
    }
}

async fn respond_to(
    exchange: Exchange,
    number: usize,
    request: Request<RecvStream>,
    mut respond: SendResponse<Bytes>,
) -> Result<(), h2::Error> {
    let mut received = 0;
    let mut body_of_request = request.into_body();
    if exchange.treatment != Treatment::IsEarly {
        while let Some(piece) = body_of_request.data().await {
            let piece = piece?;
            let length = piece.len();
            assert!(piece == body(received + length)[received..]);
            received += length;
            body_of_request.flow_control().release_capacity(length)?;
        }
    }
    let mut response = http::Response::new(());
    let fields = response.headers_mut();
    fields.insert("x-received", received.into());
    fields.insert("x-number", long_number(number).try_into().unwrap());
    if exchange.announces_length {
        fields.insert("content-length", exchange.response_bytes.into());
    }
    let mut send = respond.send_response(response, false)?;
    if exchange.treatment == Treatment::Resets {
        send.send_reset(Reason::INTERNAL_ERROR);
        return Ok(());
    }
    for piece in body(exchange.response_bytes).chunks(exchange.piece) {
        send.send_data(Bytes::copy_from_slice(piece), false)?;
    }
    if exchange.has_trailers {
        let mut trailers = HeaderMap::new();
        trailers.insert("x-after", 1.into());
        send.send_trailers(trailers)
    } else {
        send.send_data(Bytes::new(), true)
    }
}

/// A request in flight.
struct InFlight {
    number: usize,
    collect: Collect,
    begun: bool,
}

#[derive(Default)]
struct InOrder(VecDeque<InFlight>);

impl Responses for InOrder {
    fn begun(&mut self, position: usize) {
        self.0[position].begun = true;
    }

    fn keep(&mut self, position: usize) -> Option<&mut Collect> {
        // Not all: what is recognised must mean the same as what is decoded.
        let it = &mut self.0[position];
        it.number.is_multiple_of(2).then_some(&mut it.collect)
    }

    fn events(&mut self, _: usize, _: u64) {}
}

struct Client<'a> {
    plan: &'a Plan,
    wire: H2Wire<'a>,
    io: DuplexStream,
    waiting: VecDeque<usize>,
    in_flight: InOrder,
    whole: BTreeMap<usize, (EndedResponse, Response)>,
    buffer: Vec<u8>,
    /// How many bytes it has received.
    received: usize,
    is_server_gone: bool,
}

impl Client<'_> {
    /// Sends all requests, and returns when nothing is in flight.
    async fn run(&mut self) {
        // The server of h2 forgets to reopen a window that it has made smaller after it was used.
        while self.plan.window < DEFAULT_WINDOW && self.received < SETTINGS {
            self.receive().await;
        }
        loop {
            while self.in_flight.0.len() < self.plan.concurrency
                && self.wire.room() > 0
                && let Some(number) = self.waiting.pop_front()
            {
                self.request(number);
            }
            let is_done = self.waiting.is_empty() || self.wire.is_finished();
            if self.in_flight.0.is_empty() && is_done {
                return;
            }
            self.receive().await;
            self.cancel();
        }
    }

    /// Sends, or receives and eats.
    async fn receive(&mut self) {
        if let Some(length) = self.step().await {
            assert!(length > 0, "closed: {:?}", self.wire.close());
            self.eat(length);
            self.received += length;
        }
    }

    fn request(&mut self, number: usize) {
        let which = Which {
            number: if self.plan.is_repeated { 0 } else { number },
            last: false,
        };
        self.wire.request(which);
        self.in_flight.0.push_back(InFlight {
            number,
            collect: Collect::default(),
            begun: false,
        });
    }

    /// Sends or receives; returns how many bytes it received.
    async fn step(&mut self) -> Option<usize> {
        poll_fn(|context| {
            let unsent = self.wire.unsent();
            if !unsent.is_empty()
                && !self.is_server_gone
                && let Poll::Ready(sent) = Pin::new(&mut self.io).poll_write(context, unsent)
            {
                match sent {
                    Ok(sent) => self.wire.sent(sent),
                    // The server has closed the connection, but its last frames are still to be read.
                    Err(_) if self.plan.most_requests.is_some() => self.is_server_gone = true,
                    Err(error) => panic!("cannot send: {error}"),
                }
                return Poll::Ready(None);
            }
            let mut buffer = ReadBuf::new(&mut self.buffer);
            ready!(Pin::new(&mut self.io).poll_read(context, &mut buffer)).unwrap();
            Poll::Ready(Some(buffer.filled().len()))
        })
        .await
    }

    fn eat(&mut self, length: usize) {
        let mut at = 0;
        loop {
            let bytes = &self.buffer[at..length];
            let eaten = self.wire.eat(bytes, &mut self.in_flight).unwrap();
            at += eaten.bytes;
            let Some(ended) = eaten.ended else {
                assert_eq!(at, length);
                return;
            };
            let it = self.in_flight.0.remove(ended.position).unwrap();
            if let End::Unprocessed(_) = ended.end {
                assert!(!it.begun);
                self.waiting.push_back(it.number);
                continue;
            }
            let response = it.collect.into_response();
            let before = self.whole.insert(it.number, (ended, response));
            assert!(before.is_none(), "two responses to one request");
        }
    }

    fn cancel(&mut self) {
        let is_cancelled = |it: &InFlight| self.plan.treatment(it.number) == Treatment::IsCancelled;
        if let Some(position) = self.in_flight.0.iter().position(is_cancelled) {
            assert!(self.wire.cancel(position));
            self.in_flight.0.remove(position);
        }
    }
}

fn check(plan: &Plan, number: usize, ended: &EndedResponse, response: &Response) {
    let exchange = plan.exchange(number);
    match (&ended.end, exchange.treatment) {
        (End::Whole(whole), Treatment::Responds | Treatment::IsEarly | Treatment::IsCancelled) => {
            assert_eq!((whole.status, whole.rpc_status), (200, None));
            assert_eq!(whole.body_bytes, exchange.response_bytes as u64);
            assert!(whole.keep_alive || plan.most_requests.is_some());
            let is_early = exchange.treatment == Treatment::IsEarly;
            assert!(ended.was_sent || is_early);
            if !number.is_multiple_of(2) {
                return;
            }
            assert!(response.body == body(exchange.response_bytes));
            let received = if is_early { 0 } else { exchange.request_bytes };
            let received = received.to_string();
            assert_eq!(response.header("x-received"), Some(received.as_str()));
            let after = response.header("x-after");
            assert_eq!(after, exchange.has_trailers.then_some("1"));
            let value = response.header("x-number").unwrap();
            let (nth, _) = value.split_once('-').unwrap();
            assert_eq!(value, long_number(nth.parse().unwrap()));
        }
        (End::Failed(fault), Treatment::Resets) => {
            let reset = "the server reset the stream: INTERNAL_ERROR";
            assert_eq!(fault.to_string(), reset);
        }
        (end, treatment) => panic!("{end:?} to one that {treatment:?}"),
    }
}

async fn converse(plan: Plan) {
    let (io, server) = duplex(plan.pipe);
    let plan = Arc::new(plan);
    let server = tokio::task::spawn(serve(server, plan.clone()));
    let requests: Vec<_> = plan
        .exchanges
        .iter()
        .enumerate()
        .map(|(number, exchange)| {
            let body = body(exchange.request_bytes);
            let path = format!("/{number}");
            StreamRequest::http(&Method::POST, "http", "localhost", &path, &[], &body).unwrap()
        })
        .collect();
    // A wire that has one request repeats it.
    let known = if plan.is_repeated { 1 } else { requests.len() };
    let mut client = Client {
        plan: &plan,
        wire: H2Wire::new(&requests[..known], false),
        io,
        waiting: (0..requests.len()).collect(),
        in_flight: InOrder::default(),
        whole: BTreeMap::new(),
        buffer: vec![0; plan.read],
        received: 0,
        is_server_gone: false,
    };
    client.run().await;
    let (whole, waiting) = (client.whole, client.waiting);
    assert!(waiting.is_empty() || plan.most_requests.is_some());
    for (&number, (ended, response)) in &whole {
        check(&plan, number, ended, response);
    }
    for number in 0..requests.len() {
        let has_ended = whole.contains_key(&number)
            || waiting.contains(&number)
            || plan.treatment(number) == Treatment::IsCancelled;
        assert!(has_ended, "request {number} has no end");
    }
    drop(client.io);
    server.await.unwrap();
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 32, ..ProptestConfig::default() })]

    #[test]
    fn every_request_ends_as_the_server_ends_it(plan in plans()) {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(converse(plan));
    }
}
