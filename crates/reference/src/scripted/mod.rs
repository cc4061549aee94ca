//! A server that responds by a [`Script`]: slowly, and at instants that are known beforehand.
//!
//! One thread serves one queue of all requests, whatever they ask for, and plays all the workers of the
//! script: to be served is to wait. It reads requests as they come, frozen or not, and sends each response
//! at the instant that follows from the script and the arrivals, or after those of the same connection
//! that came before it.
//! A timer that rings late makes one response late and none after it, since every instant is computed
//! from arrivals alone. While it waits it uses no CPU, unless it is told to spin.

mod alarm;
mod connection;
mod queue;

use std::fs::File;
use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use nix::sys::resource::{Resource, getrlimit, setrlimit};

use crate::ReferenceError;
use crate::config::Config;
use crate::date::Date;
use crate::responses::Responses;
use crate::script::Script;
use crate::server::listen_at;
use queue::Queue;

/// What became of one request. All times count from the first arrival.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Responded {
    /// When it had been read.
    pub arrived: Duration,
    /// When its response was due. Where an earlier request of the same connection takes longer, which only
    /// several workers can make happen, it leaves with that one's response.
    pub due: Duration,
    /// When the response was with the kernel.
    pub left: Duration,
}

impl Responded {
    /// How late the response left.
    pub fn delay(&self) -> Duration {
        self.left.saturating_sub(self.due)
    }
}

/// A server that listens, and responses by its script once it is run.
#[derive(Debug)]
pub struct ScriptedServer {
    address: SocketAddr,
    listener: TcpListener,
    responses: Arc<Responses>,
    script: Script,
    spin: bool,
}

impl ScriptedServer {
    /// Reads the assets and listens, without serving yet. It runs on one thread, whatever
    /// [`Config::cpus`] says: there is one queue.
    ///
    /// # Errors
    /// Where an asset cannot be read, or it cannot listen there.
    pub fn bind(config: &Config, script: Script) -> Result<Self, ReferenceError> {
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

    /// Busy-waits while there is a client, so that nothing is late because the machine takes time to
    /// wake up. That needs a CPU of its own.
    pub fn spin(mut self) -> Self {
        self.spin = true;
        self
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Serves, with request lines going to `log` and every response told to `on_response` when it has
    /// left, until something fails that leaves no way to go on.
    ///
    /// # Errors
    /// What failed.
    pub fn run(self, log: File, on_response: impl FnMut(Responded)) -> Result<(), ReferenceError> {
        allow_many_connections();
        let date = Date::new(SystemTime::now());
        let Self {
            listener,
            responses,
            script,
            spin,
            ..
        } = self;
        Queue::new(listener, responses, date, log, script, spin)?.run(on_response)
    }
}

/// A client of a server that stands still needs a connection for every request that waits.
fn allow_many_connections() {
    // Where it is not allowed, those that cannot be accepted wait until there is room.
    if let Ok((_, most)) = getrlimit(Resource::RLIMIT_NOFILE) {
        let _ = setrlimit(Resource::RLIMIT_NOFILE, most, most);
    }
}
