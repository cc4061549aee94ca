//! A server of any protocol, on hyper, that records its requests.

use std::convert::Infallible;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::{Arc, Mutex};

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
use tokio_rustls::TlsAcceptor;

/// What the server knows of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Recorded {
    pub(crate) line: String,
    pub(crate) fields: Vec<(String, Vec<u8>)>,
    pub(crate) body: Vec<u8>,
    pub(crate) connection: Connection,
}

/// What it knows of the connection of a request.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Connection {
    pub(crate) server_name: Option<String>,
    pub(crate) version: String,
    pub(crate) cipher_suite: String,
    pub(crate) handshake: String,
    pub(crate) client_certificates: Vec<Vec<u8>>,
}

/// The server; it stops when it is dropped.
pub(super) struct Recorder {
    pub(crate) address: SocketAddr,
    pub(crate) certificate: Certificate,
    records: Records,
    _runtime: Runtime,
}

impl Recorder {
    pub(super) fn start(protocol: Protocol) -> Self {
        Self::requiring(None, protocol)
    }

    /// One that requires that certificate of its clients, if there is one.
    pub(super) fn requiring(client: Option<&Certificate>, protocol: Protocol) -> Self {
        let mut builder = tokio::runtime::Builder::new_multi_thread();
        let runtime = builder.worker_threads(1).enable_io().build().unwrap();
        let certificate = Certificate::new();
        let mut config = tls_server::config(&certificate, client);
        config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
        let acceptor = TlsAcceptor::from(Arc::new(config));
        let acceptor = protocol.is_tls().then_some(acceptor);
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0));
        let listener = runtime.block_on(listener).unwrap();
        let address = listener.local_addr().unwrap();
        let records = Records::default();
        runtime.spawn(accept(listener, acceptor, protocol, records.clone()));
        Self {
            address,
            certificate,
            records,
            _runtime: runtime,
        }
    }

    /// The requests since this was called last, in the order received.
    pub(super) fn take(&self) -> Vec<Recorded> {
        std::mem::take(&mut self.records.lock().unwrap())
    }
}

type Records = Arc<Mutex<Vec<Recorded>>>;

async fn accept(
    listener: TcpListener,
    acceptor: Option<TlsAcceptor>,
    protocol: Protocol,
    records: Records,
) {
    while let Ok((stream, _)) = listener.accept().await {
        let (acceptor, records) = (acceptor.clone(), records.clone());
        tokio::spawn(async move {
            let Some(acceptor) = acceptor else {
                return serve(stream, protocol, Connection::default(), records).await;
            };
            if let Ok(stream) = acceptor.accept(stream).await {
                let tls = stream.get_ref().1;
                let certificates = tls.peer_certificates().unwrap_or_default().iter();
                let connection = Connection {
                    server_name: tls.server_name().map(str::to_owned),
                    version: format!("{:?}", tls.protocol_version()),
                    cipher_suite: format!("{:?}", tls.negotiated_cipher_suite()),
                    handshake: format!("{:?}", tls.handshake_kind()),
                    client_certificates: certificates.map(|it| it.to_vec()).collect(),
                };
                serve(stream, protocol, connection, records).await;
            }
        });
    }
}

/// Serves a connection until the client closes it.
async fn serve<S>(stream: S, protocol: Protocol, connection: Connection, records: Records)
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let is_grpc = protocol.is_grpc();
    let respond = move |request| respond(request, is_grpc, connection.clone(), records.clone());
    let service = service_fn(respond);
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

/// The messages of a call, two events (`/events`), 404 (`/gone`), or an object in JSON.
async fn respond(
    request: Request<Incoming>,
    is_grpc: bool,
    connection: Connection,
    records: Records,
) -> Result<Response<BoxBody<Bytes, Infallible>>, Infallible> {
    let (head, body) = request.into_parts();
    let body = body.collect().await;
    let body = body.map(|body| body.to_bytes()).unwrap_or_default();
    let fields = head.headers.iter();
    let fields = fields.map(|(name, value)| (name.to_string(), value.as_bytes().to_vec()));
    let recorded = Recorded {
        line: format!("{} {} {:?}", head.method, head.uri, head.version),
        fields: fields.collect(),
        body: body.to_vec(),
        connection,
    };
    records.lock().expect("no thread panicked").push(recorded);
    let full = |body: &'static str| Full::from(body).boxed();
    let response = Response::builder();
    let response = match (is_grpc, head.uri.path()) {
        (true, _) => {
            let mut trailers = HeaderMap::new();
            trailers.insert("grpc-status", "0".parse().expect("a value"));
            let body = Full::from(body).with_trailers(async move { Some(Ok(trailers)) });
            response
                .header("content-type", "application/grpc")
                .body(body.boxed())
        }
        (_, "/events") => {
            let response = response.header("content-type", "text/event-stream");
            response.body(full("data: a\n\ndata: b\n\n"))
        }
        (_, "/gone") => response.status(404).body(full("gone")),
        _ => {
            let response = response.header("content-type", "application/json");
            let response = response.header("set-cookie", "session=abc");
            response.body(full("{\"id\": 7, \"price\": 0.1, \"name\": \"ann\"}"))
        }
    };
    Ok(response.expect("the head is valid"))
}
