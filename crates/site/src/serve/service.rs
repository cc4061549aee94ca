//! The HTTP server: one thread, few connections, and a limit to each.

use std::convert::Infallible;
use std::net::{SocketAddr, TcpListener};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use http_body_util::Full;
use hyper::body::Incoming;
use hyper::header::{self, HeaderValue};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::sync::Semaphore;

use super::host;
use super::pages::{Opener, Pages, Reply};
use crate::catalog::LeftOut;
use crate::error::SiteError;

/// At most this many connections at a time; more wait.
const CONNECTIONS: usize = 64;
/// A connection is closed after this time, whatever its state.
const CONNECTION_TIMEOUT: Duration = Duration::from_secs(60);
/// How often the server looks whether it is to stop.
const STOP_CHECK: Duration = Duration::from_millis(100);
/// How long responses have to be sent when the server stops.
const GRACE: Duration = Duration::from_secs(2);
/// A page runs its own scripts and styles, and loads nothing from elsewhere.
const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:; connect-src 'self'; \
form-action 'self'; frame-ancestors 'none'; base-uri 'none'";

/// How long the server relies on what it has read, and waits for a client.
#[derive(Clone, Copy, Debug)]
pub struct ServiceTimes {
    /// Several requests within this time are served from the same look at the store.
    pub fresh_for: Duration,
    /// A request's head must come within this time.
    pub head_timeout: Duration,
}

impl Default for ServiceTimes {
    fn default() -> Self {
        Self {
            fresh_for: Duration::from_millis(500),
            head_timeout: Duration::from_secs(10),
        }
    }
}

/// The site of a store, ready to be served.
pub struct Service {
    listener: TcpListener,
    address: SocketAddr,
    pages: Pages,
    head_timeout: Duration,
}

impl Service {
    /// Reads the store, and listens on the address.
    ///
    /// # Errors
    /// If the address cannot be used, or the store not be read.
    pub fn bind(address: SocketAddr, open: Opener, times: ServiceTimes) -> Result<Self, SiteError> {
        let failed = |source| SiteError::Listen { address, source };
        let listener = TcpListener::bind(address).map_err(failed)?;
        listener.set_nonblocking(true).map_err(failed)?;
        let address = listener.local_addr().map_err(failed)?;
        let mut pages = Pages::new(open, times.fresh_for);
        pages.look()?;
        Ok(Self {
            listener,
            address,
            pages,
            head_timeout: times.head_timeout,
        })
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The runs that cannot be read.
    pub fn left_out(&self) -> &[LeftOut] {
        self.pages.left_out()
    }

    /// Serves until the flag is set.
    ///
    /// # Errors
    /// If the event loop cannot be started.
    pub fn serve(self, stop: &AtomicBool) -> Result<(), SiteError> {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_io()
            .enable_time()
            // Pages are made one after the other.
            .max_blocking_threads(CONNECTIONS)
            .build()
            .map_err(SiteError::Runtime)?;
        let served = runtime.block_on(accept(self, stop));
        runtime.shutdown_timeout(GRACE);
        served
    }
}

async fn accept(service: Service, stop: &AtomicBool) -> Result<(), SiteError> {
    let listener =
        tokio::net::TcpListener::from_std(service.listener).map_err(SiteError::Runtime)?;
    let pages = Arc::new(Mutex::new(service.pages));
    let room = Arc::new(Semaphore::new(CONNECTIONS));
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
        let (pages, address) = (pages.clone(), service.address);
        let head_timeout = service.head_timeout;
        tokio::spawn(async move {
            let respond = service_fn(move |request| respond(request, pages.clone(), address));
            let connection = http1::Builder::new()
                .timer(TokioTimer::new())
                .header_read_timeout(head_timeout)
                .keep_alive(false)
                .max_buf_size(64 << 10)
                .serve_connection(TokioIo::new(stream), respond);
            // A client that goes away is not this server's failure.
            let _ = tokio::time::timeout(CONNECTION_TIMEOUT, connection).await;
            drop(permit);
        });
    }
    drop(listener);
    let all = u32::try_from(CONNECTIONS).unwrap_or(u32::MAX);
    let _ = tokio::time::timeout(GRACE, room.acquire_many(all)).await;
    Ok(())
}

async fn respond(
    request: Request<Incoming>,
    pages: Arc<Mutex<Pages>>,
    address: SocketAddr,
) -> Result<Response<Full<Bytes>>, Infallible> {
    let host = request
        .headers()
        .get(header::HOST)
        .and_then(|host| host.to_str().ok());
    if !host.is_some_and(|host| host::is_own(host, address)) {
        let text = "This server shows its pages only under its own address.\n";
        return Ok(response(Reply::text(421, text), false));
    }
    let is_head = request.method() == Method::HEAD;
    if !is_head && request.method() != Method::GET {
        let mut refused = response(Reply::text(405, "Only GET and HEAD are allowed.\n"), false);
        refused
            .headers_mut()
            .insert(header::ALLOW, HeaderValue::from_static("GET, HEAD"));
        return Ok(refused);
    }
    let uri = request.uri().clone();
    let made = tokio::task::spawn_blocking(move || {
        let mut pages = pages.lock().unwrap_or_else(PoisonError::into_inner);
        pages.reply(uri.path(), uri.query().unwrap_or_default())
    });
    let reply = made.await.unwrap_or_else(|_| {
        Reply::text(
            500,
            "The page could not be made; this is a fault of Prony.\n",
        )
    });
    Ok(response(reply, is_head))
}

fn response(reply: Reply, is_head: bool) -> Response<Full<Bytes>> {
    let length = HeaderValue::from(reply.body.len());
    let body = match is_head {
        true => Bytes::new(),
        false => Bytes::from(reply.body),
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
