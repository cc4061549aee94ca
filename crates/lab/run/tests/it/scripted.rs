//! A server of HTTP/1.1 and HTTP/2 whose responses a test makes.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::thread;

use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::{TokioExecutor, TokioIo};
use hyper_util::server::conn::auto;
use tokio::net::TcpListener;

/// A request with its whole body.
pub(crate) struct Received {
    pub(crate) request: Request<Bytes>,
    /// Its number, from 0, and that of its connection, from 1.
    pub(crate) number: u64,
    pub(crate) connection: u64,
}

impl Received {
    /// Empty if there is none.
    pub(crate) fn header(&self, name: &str) -> &str {
        let value = self.request.headers().get(name);
        value.and_then(|it| it.to_str().ok()).unwrap_or_default()
    }
}

type Respond = dyn Fn(Received) -> Response<Bytes> + Send + Sync;

/// Starts a server, which ends with the test's process.
pub(crate) fn start(
    respond: impl Fn(Received) -> Response<Bytes> + Send + Sync + 'static,
) -> SocketAddr {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    listener.set_nonblocking(true).unwrap();
    let address = listener.local_addr().unwrap();
    thread::spawn(move || {
        let mut runtime = tokio::runtime::Builder::new_current_thread();
        let runtime = runtime.enable_all().build().unwrap();
        runtime.block_on(accept(listener, Arc::new(respond)));
    });
    address
}

async fn accept(listener: std::net::TcpListener, respond: Arc<Respond>) {
    let listener = TcpListener::from_std(listener).unwrap();
    let count = Arc::new(AtomicU64::new(0));
    for connection in 1.. {
        let Ok((stream, _)) = listener.accept().await else {
            return;
        };
        let (respond, count) = (respond.clone(), count.clone());
        let service = service_fn(move |request: Request<Incoming>| {
            let (respond, number) = (respond.clone(), count.fetch_add(1, Relaxed));
            async move {
                let (head, body) = request.into_parts();
                let body = body.collect().await.map(|body| body.to_bytes());
                let request = Request::from_parts(head, body.unwrap_or_default());
                let response = respond(Received {
                    request,
                    number,
                    connection,
                });
                Ok::<_, Infallible>(response.map(Full::new))
            }
        });
        tokio::spawn(async move {
            let builder = auto::Builder::new(TokioExecutor::new());
            // A client that closes in the middle is none of the server's business.
            let _ = builder
                .serve_connection(TokioIo::new(stream), service)
                .await;
        });
    }
}
