//! A server of any protocol, on hyper, that counts its requests and its events.

use std::convert::Infallible;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;
use http_body_util::combinators::BoxBody;
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper::{HeaderMap, Request, Response};
use hyper_util::rt::{TokioExecutor, TokioIo};
use prony_model::Protocol;
use prony_testkit::certificate::Certificate;
use prony_testkit::tls_server;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpListener;
use tokio::runtime::Runtime;
use tokio::time::{Instant, sleep_until};
use tokio_rustls::TlsAcceptor;

use super::calls::{FIRST_ONLY, messages};
use super::events::EventBody;

/// How long the server freezes.
pub(crate) const FREEZE: Duration = Duration::from_millis(300);

pub(crate) type ResponseBody = BoxBody<Bytes, Infallible>;

/// The server; it stops when it is dropped.
pub(crate) struct CountingServer {
    address: SocketAddr,
    counts: Arc<Counts>,
    certificate: Certificate,
    _runtime: Runtime,
}

#[derive(Default)]
pub(crate) struct Counts {
    requests: AtomicU64,
    /// Events, or messages of a stream, whose sending has begun.
    pub(crate) events: AtomicU64,
    /// Messages received in requests.
    messages: AtomicU64,
    /// When the freeze ends, once it has begun.
    frozen_until: Mutex<Option<Instant>>,
    /// The targets of requests that belong to flows.
    targets: Mutex<Vec<String>>,
}

impl CountingServer {
    pub(crate) fn start(protocol: Protocol) -> Self {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .enable_io()
            .enable_time()
            .build()
            .unwrap();
        let certificate = Certificate::new();
        let counts = Arc::new(Counts::default());
        let counted = counts.clone();
        let respond = move |request| respond(request, protocol.is_grpc(), counted.clone());
        let address = serve(&runtime, protocol, &certificate, respond);
        Self {
            address,
            counts,
            certificate,
            _runtime: runtime,
        }
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    /// The PEM file of its certificate.
    pub(crate) fn certificate(&self) -> PathBuf {
        self.certificate.path("cert.pem")
    }

    /// How many requests it has received.
    pub(crate) fn requests(&self) -> u64 {
        self.counts.requests.load(Relaxed)
    }

    /// The targets of requests that belong to flows (`/flow/…`), in the order received, since this was called last.
    pub(crate) fn take_targets(&self) -> Vec<String> {
        std::mem::take(&mut self.counts.targets.lock().unwrap())
    }

    /// How many events it has sent, or begun to send.
    pub(crate) fn events(&self) -> u64 {
        self.counts.events.load(Relaxed)
    }

    /// How many messages it has received in calls.
    pub(crate) fn messages(&self) -> u64 {
        self.counts.messages.load(Relaxed)
    }
}

impl Counts {
    /// Counts a request. The one with the number `freezes_at` begins the freeze; no response leaves before its end.
    async fn request(&self, freezes_at: Option<u64>) {
        let number = self.requests.fetch_add(1, Relaxed) + 1;
        let frozen_until = {
            let mut until = self.frozen_until.lock().expect("no thread panicked");
            if freezes_at == Some(number) {
                *until = Some(Instant::now() + FREEZE);
            }
            *until
        };
        if let Some(until) = frozen_until {
            sleep_until(until).await;
        }
    }
}

/// Responds to the requests of that protocol, as long as the runtime runs.
pub(crate) fn serve<F>(
    runtime: &Runtime,
    protocol: Protocol,
    certificate: &Certificate,
    respond: impl Fn(Request<Incoming>) -> F + Clone + Send + 'static,
) -> SocketAddr
where
    F: Future<Output = Result<Response<ResponseBody>, Infallible>> + Send + 'static,
{
    let mut config = tls_server::config(certificate, None);
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    let acceptor = TlsAcceptor::from(Arc::new(config));
    let address = (Ipv4Addr::LOCALHOST, 0);
    let listener = runtime.block_on(TcpListener::bind(address)).unwrap();
    let address = listener.local_addr().unwrap();
    runtime.spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            stream.set_nodelay(true).expect("a socket of TCP");
            let (acceptor, respond) = (acceptor.clone(), respond.clone());
            tokio::spawn(async move {
                if !protocol.is_tls() {
                    converse(stream, protocol, respond).await;
                } else if let Ok(stream) = acceptor.accept(stream).await {
                    converse(stream, protocol, respond).await;
                }
            });
        }
    });
    address
}

/// Serves a connection until the client closes it.
async fn converse<S, F>(stream: S, protocol: Protocol, respond: impl Fn(Request<Incoming>) -> F)
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    F: Future<Output = Result<Response<ResponseBody>, Infallible>> + Send + 'static,
{
    let (io, service) = (TokioIo::new(stream), service_fn(respond));
    // A client that closes in the middle is none of the server's business.
    let _ = if protocol.is_http1() {
        let builder = hyper::server::conn::http1::Builder::new();
        builder.serve_connection(io, service).await
    } else {
        let builder = hyper::server::conn::http2::Builder::new(TokioExecutor::new());
        builder.serve_connection(io, service).await
    };
}

/// A greeting, events (`/events/5`), the body of the request (`/flow/…`), or the messages of a call and their status.
/// With `/freeze/60` the 60th request freezes the server for a while.
async fn respond(
    request: Request<Incoming>,
    is_grpc: bool,
    counts: Arc<Counts>,
) -> Result<Response<ResponseBody>, Infallible> {
    let (head, body) = request.into_parts();
    let path = head.uri.path();
    let number = |text: &str| text.parse().expect("a number");
    let freezes_at = path.strip_prefix("/freeze/").map(number);
    counts.request(freezes_at).await;
    let is_of_flow = path.starts_with("/flow/");
    if is_of_flow {
        let target = head.uri.path_and_query().expect("it has a path");
        let mut targets = counts.targets.lock().expect("no thread panicked");
        targets.push(target.to_string());
    }
    let received = body.collect().await;
    let received = received.map(|body| body.to_bytes()).unwrap_or_default();
    let events = path.strip_prefix("/events/").map(number);
    let events = events.map(|events| EventBody::of(events, is_grpc, counts.clone()));
    if is_grpc {
        let received = messages(received);
        counts.messages.fetch_add(received.len() as u64, Relaxed);
        let returned = match path {
            FIRST_ONLY => received.into_iter().take(1).collect(),
            _ => received,
        };
        let echo = || Full::from(returned.concat()).boxed();
        return Ok(call_response(events.map_or_else(echo, EventBody::boxed)));
    }
    if let Some(events) = events {
        let response = Response::builder().header("content-type", "text/event-stream");
        return Ok(response.body(events.boxed()).expect("the head is valid"));
    }
    let body = if is_of_flow { received } else { "hello".into() };
    Ok(Response::new(Full::from(body).boxed()))
}

/// Messages and the status OK.
fn call_response(messages: ResponseBody) -> Response<ResponseBody> {
    let mut trailers = HeaderMap::new();
    trailers.insert("grpc-status", "0".parse().expect("a number is a value"));
    let body = messages.with_trailers(async move { Some(Ok(trailers)) });
    let response = Response::builder().header("content-type", "application/grpc");
    response.body(body.boxed()).expect("the head is valid")
}
