//! The whole server: a worker for each CPU, all listening on one port.

use std::fs::File;
use std::io;
use std::net::{SocketAddr, TcpListener, ToSocketAddrs};
use std::os::fd::AsFd;
use std::sync::Arc;
use std::sync::mpsc::{Sender, channel};
use std::thread;
use std::time::SystemTime;

use rustls::ServerConfig;
use socket2::{Domain, Protocol, Socket, Type};

use crate::config::{Config, Work};
use crate::date::Date;
use crate::error::ReferenceError;
use crate::responses::Responses;
use crate::shared::Shared;
use crate::tls;
use crate::worker::Worker;

/// How many clients of each worker may wait to be accepted.
const WAITING_CLIENTS: i32 = 4096;

/// Serves until an unrecoverable failure, with request lines on standard output.
///
/// After a failure the other threads keep running until the process ends.
pub fn serve(config: Config) -> Result<(), ReferenceError> {
    let stdout = io::stdout()
        .as_fd()
        .try_clone_to_owned()
        .map_err(ReferenceError::Log)?;
    Server::bind(&config)?.run(&stdout.into())
}

/// A server that listens, and serves when it is run.
#[derive(Debug)]
pub struct Server {
    address: SocketAddr,
    listeners: Vec<TcpListener>,
    responses: Arc<Responses>,
    work: Work,
    tls: Option<Arc<ServerConfig>>,
}

impl Server {
    /// Reads the assets and the TLS files, and listens.
    pub fn bind(config: &Config) -> Result<Self, ReferenceError> {
        let tls = config.tls.as_ref().map(tls::configure).transpose()?;
        let responses = Arc::new(Responses::new(config)?);
        let (address, listeners) = listen_all(config)?;
        Ok(Self {
            address,
            listeners,
            responses,
            work: config.work,
            tls,
        })
    }

    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Serves until an unrecoverable failure, with request lines written to `log`.
    pub fn run(self, log: &File) -> Result<(), ReferenceError> {
        let (sender, end) = channel();
        for (number, listener) in self.listeners.into_iter().enumerate() {
            let log = log.try_clone().map_err(ReferenceError::Log)?;
            let date = Date::new(SystemTime::now());
            let shared = Shared::new(
                Arc::clone(&self.responses),
                self.work,
                date,
                log,
                self.tls.clone(),
            );
            let worker = Worker::new(listener, shared)?;
            let end = WorkerEnd(sender.clone());
            thread::Builder::new()
                .name(format!("reference-{number}"))
                .spawn(move || end.send(worker.run()))
                .map_err(ReferenceError::Thread)?;
        }
        end.recv().unwrap_or(Err(ReferenceError::WorkerLost))
    }
}

/// Reports how a worker ended, even if it panicked.
struct WorkerEnd(Sender<Result<(), ReferenceError>>);

impl WorkerEnd {
    fn send(&self, result: Result<(), ReferenceError>) {
        // Nobody receives it if another worker failed before.
        let _ = self.0.send(result);
    }
}

impl Drop for WorkerEnd {
    fn drop(&mut self) {
        self.send(Err(ReferenceError::WorkerLost));
    }
}

/// A listener for each worker; the kernel distributes clients among them.
fn listen_all(config: &Config) -> Result<(SocketAddr, Vec<TcpListener>), ReferenceError> {
    // If the system picks the port, the other listeners share that of the first.
    let (address, first) = listen_at(config)?;
    let others = (1..config.cpus.get()).map(|_| listen(address));
    let listeners = std::iter::once(Ok(first))
        .chain(others)
        .collect::<io::Result<_>>()
        .map_err(|source| cannot_listen(config, source))?;
    Ok((address, listeners))
}

/// One listener, and where it listens.
pub(crate) fn listen_at(config: &Config) -> Result<(SocketAddr, TcpListener), ReferenceError> {
    let listen = || {
        let wanted = (config.host.as_str(), config.port)
            .to_socket_addrs()?
            .next()
            .ok_or_else(|| io::Error::other("the host name has no address"))?;
        let listener = listen(wanted)?;
        Ok((listener.local_addr()?, listener))
    };
    listen().map_err(|source| cannot_listen(config, source))
}

fn cannot_listen(config: &Config, source: io::Error) -> ReferenceError {
    ReferenceError::Listen {
        address: format!("{}:{}", config.host, config.port),
        source,
    }
}

fn listen(address: SocketAddr) -> io::Result<TcpListener> {
    let socket = Socket::new(
        Domain::for_address(address),
        Type::STREAM.nonblocking(),
        Some(Protocol::TCP),
    )?;
    socket.set_reuse_address(true)?;
    socket.set_reuse_port(true)?;
    // Accepted sockets inherit it, and stay blocking: each receive and send says that it does not wait.
    socket.set_tcp_nodelay(true)?;
    socket.bind(&address.into())?;
    socket.listen(WAITING_CLIENTS)?;
    Ok(socket.into())
}
