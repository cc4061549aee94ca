//! A server of any protocol, on hyper, that counts its requests and its events.

use std::convert::Infallible;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex};

use bytes::Bytes;
use http_body_util::combinators::BoxBody;
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper::{HeaderMap, Request, Response};
use hyper_util::rt::{TokioExecutor, TokioIo};
use prony_model::Protocol;
use rustls::ServerConfig;
use rustls::pki_types::PrivateKeyDer;
use tempfile::TempDir;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpListener;
use tokio::runtime::Runtime;
use tokio_rustls::TlsAcceptor;

use super::events::EventBody;

/// The server; it stops when it is dropped.
pub struct CountingServer {
    address: SocketAddr,
    counts: Arc<Counts>,
    certificate: PathBuf,
    _folder: TempDir,
    _runtime: Runtime,
}

/// What it has counted.
#[derive(Default)]
pub struct Counts {
    requests: AtomicU64,
    /// Events whose sending has begun.
    pub events: AtomicU64,
    /// The targets of requests that belong to flows.
    targets: Mutex<Vec<String>>,
}

impl CountingServer {
    pub fn start(protocol: Protocol) -> Self {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .enable_io()
            .enable_time()
            .build()
            .unwrap();
        let folder = tempfile::tempdir().unwrap();
        let certificate = folder.path().join("certificate.pem");
        let acceptor = acceptor(&certificate, protocol);
        let address = (Ipv4Addr::LOCALHOST, 0);
        let listener = runtime.block_on(TcpListener::bind(address)).unwrap();
        let address = listener.local_addr().unwrap();
        let counts = Arc::new(Counts::default());
        runtime.spawn(accept(listener, acceptor, protocol, counts.clone()));
        Self {
            address,
            counts,
            certificate,
            _folder: folder,
            _runtime: runtime,
        }
    }

    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The PEM file of its certificate.
    pub fn certificate(&self) -> &Path {
        &self.certificate
    }

    /// How many requests it has received.
    pub fn requests(&self) -> u64 {
        self.counts.requests.load(Relaxed)
    }

    /// The targets of requests that belong to flows (`/flow/…`), in the order received, since this was called last.
    pub fn take_targets(&self) -> Vec<String> {
        std::mem::take(&mut self.counts.targets.lock().unwrap())
    }

    /// How many events it has sent, or begun to send.
    pub fn events(&self) -> u64 {
        self.counts.events.load(Relaxed)
    }
}

/// Writes the certificate to `file`.
fn acceptor(file: &Path, protocol: Protocol) -> Option<TlsAcceptor> {
    let made = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
    std::fs::write(file, made.cert.pem()).unwrap();
    let key = PrivateKeyDer::try_from(made.signing_key.serialize_der()).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![made.cert.der().clone()], key)
        .unwrap();
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    protocol
        .is_tls()
        .then(|| TlsAcceptor::from(Arc::new(config)))
}

async fn accept(
    listener: TcpListener,
    acceptor: Option<TlsAcceptor>,
    protocol: Protocol,
    counts: Arc<Counts>,
) {
    while let Ok((stream, _)) = listener.accept().await {
        let (acceptor, counts) = (acceptor.clone(), counts.clone());
        tokio::spawn(async move {
            match acceptor {
                None => serve(stream, protocol, counts).await,
                Some(acceptor) => {
                    if let Ok(stream) = acceptor.accept(stream).await {
                        serve(stream, protocol, counts).await;
                    }
                }
            }
        });
    }
}

/// Serves a connection until the client closes it.
async fn serve<S>(stream: S, protocol: Protocol, counts: Arc<Counts>)
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let service = service_fn(move |request| {
        counts.requests.fetch_add(1, Relaxed);
        respond(request, protocol.is_grpc(), counts.clone())
    });
    let io = TokioIo::new(stream);
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
async fn respond(
    request: Request<Incoming>,
    is_grpc: bool,
    counts: Arc<Counts>,
) -> Result<Response<BoxBody<Bytes, Infallible>>, Infallible> {
    let events = request.uri().path().strip_prefix("/events/");
    let events = events.map(|number| number.parse().expect("a number of events"));
    let is_of_flow = request.uri().path().starts_with("/flow/");
    if is_of_flow {
        let target = request.uri().path_and_query().expect("it has a path");
        counts
            .targets
            .lock()
            .expect("no thread panicked")
            .push(target.to_string());
    }
    let received = request.into_body().collect().await;
    if let Some(events) = events {
        let response = Response::builder().header("content-type", "text/event-stream");
        let body = EventBody::of(events, counts).boxed();
        return Ok(response.body(body).expect("the head is valid"));
    }
    if is_of_flow {
        let body = received.map(|body| body.to_bytes()).unwrap_or_default();
        return Ok(Response::new(Full::from(body).boxed()));
    }
    if !is_grpc {
        return Ok(Response::new(Full::from("hello").boxed()));
    }
    let messages = received.map(|body| body.to_bytes()).unwrap_or_default();
    let mut trailers = HeaderMap::new();
    trailers.insert("grpc-status", "0".parse().expect("a number is a value"));
    let body = Full::new(messages).with_trailers(async move { Some(Ok(trailers)) });
    let response = Response::builder().header("content-type", "application/grpc");
    Ok(response.body(body.boxed()).expect("the head is valid"))
}
