//! The site of a store over HTTP.

use std::net::{SocketAddr, TcpListener};
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use hyper::header;
use hyper::http::request::Parts;

use super::host;
use super::http_server::{HttpLimits, HttpServer, Reply};
use super::pages::{Opener, Pages};
use crate::catalog::LeftOut;
use crate::error::SiteError;

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
    server: HttpServer,
    address: SocketAddr,
    pages: Pages,
}

impl Service {
    /// Reads the store, and listens on the address.
    ///
    /// # Errors
    /// If the address cannot be used, or the store not be read.
    pub fn bind(address: SocketAddr, open: Opener, times: ServiceTimes) -> Result<Self, SiteError> {
        let failed = |source| SiteError::Listen { address, source };
        let listener = TcpListener::bind(address).map_err(failed)?;
        let address = listener.local_addr().map_err(failed)?;
        let limits = HttpLimits {
            connections: 64,
            head_bytes: 64 << 10,
            head_timeout: times.head_timeout,
            connection_timeout: Duration::from_secs(60),
            grace: Duration::from_secs(2),
        };
        let server = HttpServer::new(listener, limits).map_err(SiteError::Runtime)?;
        let mut pages = Pages::new(open, times.fresh_for);
        pages.look()?;
        Ok(Self {
            server,
            address,
            pages,
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
        let (address, mut pages) = (self.address, self.pages);
        let reply = move |request: &Parts| reply(request, address, &mut pages);
        self.server.run(stop, reply).map_err(SiteError::Runtime)
    }
}

fn reply(request: &Parts, address: SocketAddr, pages: &mut Pages) -> Reply {
    let host = request.headers.get(header::HOST);
    let host = host.and_then(|host| host.to_str().ok());
    if !host.is_some_and(|host| host::is_own(host, address)) {
        let text = "This server shows its pages only under its own address.\n";
        return Reply::text(421, text);
    }
    let (path, query) = (request.uri.path(), request.uri.query());
    pages.reply(path, query.unwrap_or_default())
}
