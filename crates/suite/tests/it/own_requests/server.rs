//! A server that checks what it receives, and responds compressed and differently each time.

use std::convert::Infallible;
use std::io::Write;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::thread;

use bytes::Bytes;
use flate2::Compression;
use flate2::write::GzEncoder;
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::{TokioExecutor, TokioIo};
use tokio::net::{TcpListener, TcpStream};

pub struct Server {
    pub address: SocketAddr,
}

impl Server {
    /// It ends with the test's process.
    pub fn start(is_http2: bool) -> Self {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        listener.set_nonblocking(true).unwrap();
        let address = listener.local_addr().unwrap();
        thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread();
            let runtime = { runtime }.enable_all().build().unwrap();
            runtime.block_on(accept(listener, is_http2));
        });
        Self { address }
    }
}

async fn accept(listener: std::net::TcpListener, is_http2: bool) {
    let listener = TcpListener::from_std(listener).unwrap();
    let count = Arc::new(AtomicU64::new(0));
    while let Ok((stream, _)) = listener.accept().await {
        tokio::spawn(serve(stream, is_http2, count.clone()));
    }
}

async fn serve(stream: TcpStream, is_http2: bool, count: Arc<AtomicU64>) {
    let service = service_fn(move |request| respond(request, count.fetch_add(1, Relaxed)));
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
    number: u64,
) -> Result<Response<Full<Bytes>>, Infallible> {
    let (parts, body) = request.into_parts();
    let body = body.collect().await.map(|body| body.to_bytes());
    let header = |name: &str| parts.headers.get(name).and_then(|it| it.to_str().ok());
    let is_right = parts.method == "POST"
        && parts.uri.path() == "/orders"
        && header("x-team") == Some("prony")
        && header("cookie") == Some("session=abc")
        && header("authorization") == Some("Basic YW5uOnN3b3JkZmlzaA==")
        && header("content-type") == Some("application/json")
        && body.is_ok_and(|body| body == "{\"n\":1}");
    let builder = Response::builder();
    let response = match (is_right, parts.uri.query()) {
        (true, Some("q=a%20b")) => builder
            .status(200 + (number % 2) as u16)
            .header("content-type", "application/json; charset=utf-8")
            .header("content-encoding", "gzip")
            .body(gzip(
                format!("{{\"id\":{number},\"items\":[1,2],\"user\":\"ann:swordfish\"}}")
                    .as_bytes(),
            )),
        (true, Some("q=bomb")) => builder
            .header("content-encoding", "gzip")
            .body(gzip(&vec![b'x'; 100_000])),
        _ => builder.status(400).body(format!("{parts:?}").into()),
    };
    Ok(response.unwrap())
}

fn gzip(text: &[u8]) -> Full<Bytes> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(text).unwrap();
    Bytes::from(encoder.finish().unwrap()).into()
}
