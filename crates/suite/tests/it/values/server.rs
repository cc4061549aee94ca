//! A server that writes down its requests, and sends a part of each back.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::thread;

use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::{TokioExecutor, TokioIo};
use tokio::net::{TcpListener, TcpStream};

/// A request as it arrived.
#[derive(Clone, Debug, Default)]
pub struct Received {
    pub target: String,
    pub cookie: String,
    pub authorization: String,
    pub note: String,
    pub body: String,
}

pub struct Server {
    pub address: SocketAddr,
    received: Arc<Mutex<Vec<Received>>>,
}

impl Server {
    /// It ends with the test's process.
    pub fn start(is_http2: bool) -> Self {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        listener.set_nonblocking(true).unwrap();
        let address = listener.local_addr().unwrap();
        let received = Arc::new(Mutex::new(Vec::new()));
        let log = received.clone();
        thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread();
            let runtime = { runtime }.enable_all().build().unwrap();
            runtime.block_on(accept(listener, is_http2, log));
        });
        Self { address, received }
    }

    /// What has arrived so far.
    pub fn received(&self) -> Vec<Received> {
        self.received.lock().unwrap().clone()
    }
}

type Log = Arc<Mutex<Vec<Received>>>;

async fn accept(listener: std::net::TcpListener, is_http2: bool, log: Log) {
    let listener = TcpListener::from_std(listener).unwrap();
    let mut connections = 0;
    while let Ok((stream, _)) = listener.accept().await {
        connections += 1;
        tokio::spawn(serve(stream, is_http2, connections, log.clone()));
    }
}

async fn serve(stream: TcpStream, is_http2: bool, connection: u32, log: Log) {
    let service = service_fn(move |request| respond(request, connection, log.clone()));
    let io = TokioIo::new(stream);
    // A client that closes in the middle is none of the server's business.
    let _ = if is_http2 {
        let builder = hyper::server::conn::http2::Builder::new(TokioExecutor::new());
        builder.serve_connection(io, service).await
    } else {
        let builder = hyper::server::conn::http1::Builder::new();
        builder.serve_connection(io, service).await
    };
}

async fn respond(
    request: Request<Incoming>,
    connection: u32,
    log: Log,
) -> Result<Response<Full<Bytes>>, Infallible> {
    let (parts, body) = request.into_parts();
    let body = body.collect().await.map(|body| body.to_bytes());
    let header = |name: &str| {
        let value = parts.headers.get(name).and_then(|it| it.to_str().ok());
        value.unwrap_or_default().to_owned()
    };
    let received = Received {
        target: parts
            .uri
            .path_and_query()
            .map_or(String::new(), |it| it.to_string()),
        cookie: header("cookie"),
        authorization: header("authorization"),
        note: header("x-note"),
        body: String::from_utf8_lossy(&body.unwrap_or_default()).into_owned(),
    };
    let mut response = Response::builder().header("content-type", "application/json");
    if received.cookie.is_empty() {
        response = response.header("set-cookie", format!("user=c{connection}; Path=/"));
    }
    let echo = serde_json::json!({"target": received.target, "authorization": received.authorization, "note": received.note});
    log.lock().unwrap().push(received);
    Ok(response.body(Bytes::from(echo.to_string()).into()).unwrap())
}
