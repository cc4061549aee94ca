//! A server that follows a [`Script`]: it responds slowly, at instants known in advance.
//!
//! One thread serves one queue of all requests, for all the workers of the script: serving a request means waiting. It
//! reads requests as they arrive, even while frozen, and sends each response at the instant that follows from the script
//! and the arrivals, but never before the earlier responses of the same connection.
//!
//! A late timer delays one response but none after it, because every instant is computed from the arrivals alone. Waiting
//! uses no CPU, unless the server is told to spin.

mod alarm;
mod connection;
mod queue;

use std::fs::File;
use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;

use nix::sys::resource::{Resource, getrlimit, setrlimit};

use crate::config::Config;
use crate::error::ReferenceError;
use crate::responses::Responses;
use crate::script::Script;
use crate::server::listen_at;
use queue::Queue;

pub use queue::Responded;

/// A server that listens, and follows its script when it is run.
#[derive(Debug)]
pub struct ScriptedServer {
    address: SocketAddr,
    listener: TcpListener,
    responses: Arc<Responses>,
    script: Script,
    spin: bool,
}

impl ScriptedServer {
    /// Reads the assets and listens. It will run on one thread whatever [`Config::cpus`] says, because there is one queue.
    ///
    /// # Errors
    /// If an asset cannot be read, the address cannot be listened on, or TLS is requested.
    pub fn bind(config: &Config, script: Script) -> Result<Self, ReferenceError> {
        if config.tls.is_some() {
            return Err(ReferenceError::ScriptedTls);
        }
        let responses = Arc::new(Responses::new(config)?);
        let (address, listener) = listen_at(config)?;
        Ok(Self {
            address,
            listener,
            responses,
            script,
            spin: false,
        })
    }

    /// Makes it busy-wait while it has a client, so that waking up delays nothing. It then needs a CPU of its own.
    pub fn spin(mut self) -> Self {
        self.spin = true;
        self
    }

    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Serves until an unrecoverable failure. Request lines go to `log`; `on_response` is called for each response that
    /// has left.
    ///
    /// # Errors
    /// The failure.
    pub fn run(self, log: File, on_response: impl FnMut(Responded)) -> Result<(), ReferenceError> {
        allow_many_connections();
        Queue::new(self.listener, self.responses, &self.script, self.spin, log)?.run(on_response)
    }
}

/// While the server is frozen, a client needs a connection for every request that waits.
fn allow_many_connections() {
    // If this is not allowed, clients wait until there is room.
    if let Ok((_, most)) = getrlimit(Resource::RLIMIT_NOFILE) {
        let _ = setrlimit(Resource::RLIMIT_NOFILE, most, most);
    }
}
