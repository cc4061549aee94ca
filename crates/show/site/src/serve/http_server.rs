//! An HTTP server for few clients: one thread for connections, one for what they get, and a limit to each connection.

use std::convert::Infallible;
use std::io;
use std::net::TcpListener;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use http_body_util::Full;
use hyper::body::Incoming;
use hyper::header::{self, HeaderValue};
use hyper::http::request::Parts;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::runtime::{Builder, Runtime};
use tokio::sync::Semaphore;

/// How often the server looks whether it is to stop.
const STOP_CHECK: Duration = Duration::from_millis(100);
/// A page runs its own scripts and styles, and loads nothing from elsewhere.
const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:; connect-src 'self'; \
form-action 'self'; frame-ancestors 'none'; base-uri 'none'";

/// What clients may take of the server.
#[derive(Clone, Copy, Debug)]
pub struct HttpLimits {
    /// At most this many connections at a time; more wait.
    pub connections: usize,
    /// The longest head of a request, in bytes; at least 8 KiB.
    pub head_bytes: usize,
    /// A request's head must come within this time.
    pub head_timeout: Duration,
    /// A connection is closed after this time, whatever its state.
    pub connection_timeout: Duration,
    /// How long responses have to be sent when the server stops.
    pub grace: Duration,
}

/// What a request gets.
#[derive(Debug)]
pub struct Reply {
    pub status: u16,
    pub content_type: &'static str,
    pub body: String,
}

impl Reply {
    pub(super) fn html(status: u16, body: String) -> Self {
        Self {
            status,
            content_type: "text/html; charset=utf-8",
            body,
        }
    }

    pub fn text(status: u16, body: &str) -> Self {
        Self {
            status,
            content_type: "text/plain; charset=utf-8",
            body: body.to_owned(),
        }
    }
}

/// A server that responds to GET and HEAD, once on each connection.
pub struct HttpServer {
    listener: TcpListener,
    limits: HttpLimits,
    runtime: Runtime,
}

impl HttpServer {
    /// A server on this socket.
    ///
    /// # Errors
    /// If the event loop cannot be started.
    pub fn new(listener: TcpListener, limits: HttpLimits) -> io::Result<Self> {
        listener.set_nonblocking(true)?;
        let runtime = Builder::new_current_thread()
            .enable_io()
            .enable_time()
            // Replies are made one after the other.
            .max_blocking_threads(1)
            .build()?;
        Ok(Self {
            listener,
            limits,
            runtime,
        })
    }

    /// Serves on this thread until the flag is set. `reply` takes the head of a request.
    ///
    /// # Errors
    /// If the event loop does not take the socket.
    pub fn run<F>(self, stop: &AtomicBool, reply: F) -> io::Result<()>
    where
        F: FnMut(&Parts) -> Reply + Send + 'static,
    {
        let reply = Arc::new(Mutex::new(reply));
        let accepting = accept(self.listener, self.limits, stop, reply);
        let served = self.runtime.block_on(accepting);
        self.runtime.shutdown_timeout(self.limits.grace);
        served
    }
}

async fn accept<F>(
    listener: TcpListener,
    limits: HttpLimits,
    stop: &AtomicBool,
    reply: Arc<Mutex<F>>,
) -> io::Result<()>
where
    F: FnMut(&Parts) -> Reply + Send + 'static,
{
    let listener = tokio::net::TcpListener::from_std(listener)?;
    let room = Arc::new(Semaphore::new(limits.connections));
    while !stop.load(Ordering::Relaxed) {
        let waiting = tokio::time::timeout(STOP_CHECK, room.clone().acquire_owned());
        let Ok(Ok(permit)) = waiting.await else {
            continue;
        };
        let stream = match tokio::time::timeout(STOP_CHECK, listener.accept()).await {
            Ok(Ok((stream, _))) => stream,
            // Out of descriptors, for instance: connections that end will free some.
            Ok(Err(_)) => {
                tokio::time::sleep(STOP_CHECK).await;
                continue;
            }
            Err(_) => continue,
        };
        let serving = serve(stream, limits, reply.clone());
        tokio::spawn(async move {
            let _ = tokio::time::timeout(limits.connection_timeout, serving).await;
            drop(permit);
        });
    }
    drop(listener);
    let all = u32::try_from(limits.connections).unwrap_or(u32::MAX);
    let _ = tokio::time::timeout(limits.grace, room.acquire_many(all)).await;
    Ok(())
}

async fn serve<F>(mut stream: TcpStream, limits: HttpLimits, reply: Arc<Mutex<F>>)
where
    F: FnMut(&Parts) -> Reply + Send + 'static,
{
    let respond = service_fn(move |request| respond(request, reply.clone()));
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(limits.head_timeout)
        .half_close(true)
        .keep_alive(false)
        .max_buf_size(limits.head_bytes)
        .serve_connection(TokioIo::new(&mut stream), respond);
    // A client that goes away is not this server's failure.
    let _ = connection.await;
    // The client closes first: otherwise a byte that nobody reads could make the system discard the response.
    let _ = stream.shutdown().await;
    let mut unread = [0; 1024];
    let closing = async { while matches!(stream.read(&mut unread).await, Ok(1..)) {} };
    let _ = tokio::time::timeout(limits.head_timeout, closing).await;
}

async fn respond<F>(
    request: Request<Incoming>,
    reply: Arc<Mutex<F>>,
) -> Result<Response<Full<Bytes>>, Infallible>
where
    F: FnMut(&Parts) -> Reply + Send + 'static,
{
    let (head, _) = request.into_parts();
    let is_head = head.method == Method::HEAD;
    if !is_head && head.method != Method::GET {
        let mut refused = response(Reply::text(405, "Only GET and HEAD are allowed.\n"), false);
        refused
            .headers_mut()
            .insert(header::ALLOW, HeaderValue::from_static("GET, HEAD"));
        return Ok(refused);
    }
    let made = tokio::task::spawn_blocking(move || {
        let mut reply = reply.lock().unwrap_or_else(PoisonError::into_inner);
        (*reply)(&head)
    });
    let fault = |_| {
        Reply::text(
            500,
            "The response could not be made; this is a fault of Prony.\n",
        )
    };
    Ok(response(made.await.unwrap_or_else(fault), is_head))
}

fn response(reply: Reply, is_head: bool) -> Response<Full<Bytes>> {
    let length = HeaderValue::from(reply.body.len());
    let body = if is_head {
        Bytes::new()
    } else {
        Bytes::from(reply.body)
    };
    let mut response = Response::new(Full::new(body));
    *response.status_mut() =
        StatusCode::from_u16(reply.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_LENGTH, length);
    for (name, value) in [
        (header::CONTENT_TYPE, reply.content_type),
        (header::CACHE_CONTROL, "no-store"),
        (header::CONTENT_SECURITY_POLICY, POLICY),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::REFERRER_POLICY, "no-referrer"),
    ] {
        headers.insert(name, HeaderValue::from_static(value));
    }
    response
}
