//! One worker: a listener, an event queue, and the connections accepted from them.

use std::io;
use std::net::{TcpListener, TcpStream};
use std::time::SystemTime;

use nix::errno::Errno;
use nix::sys::epoll::{Epoll, EpollCreateFlags, EpollEvent, EpollFlags, EpollTimeout};

use crate::connection::{Connection, Next};
use crate::error::ReferenceError;
use crate::shared::Shared;

/// The listener's number in the event queue; connections have the number of their slot.
pub(crate) const LISTENER: u64 = u64::MAX;
/// How many events are fetched at once.
pub(crate) const EVENTS_A_TURN: usize = 256;
/// How long to wait before accepting again if the system had no room for a connection.
pub(crate) const ACCEPT_AGAIN_MS: u16 = 100;

/// Serves one listener, on one thread.
#[derive(Debug)]
pub(crate) struct Worker {
    listener: TcpListener,
    queue: Epoll,
    shared: Shared,
    connections: Vec<Option<Connection>>,
    free: Vec<usize>,
    /// Connections that need another turn although no event will come.
    again: Vec<usize>,
    /// Whether a client could not be accepted, for instance because all descriptors are in use.
    accept_again: bool,
}

impl Worker {
    /// `listener` must not block.
    pub(crate) fn new(listener: TcpListener, shared: Shared) -> Result<Self, ReferenceError> {
        let queue = Epoll::new(EpollCreateFlags::EPOLL_CLOEXEC)?;
        // Edge-triggered: a client that cannot be accepted must not make the loop spin.
        let interest = EpollFlags::EPOLLIN | EpollFlags::EPOLLET;
        queue.add(&listener, EpollEvent::new(interest, LISTENER))?;
        Ok(Self {
            listener,
            queue,
            shared,
            connections: Vec::new(),
            free: Vec::new(),
            again: Vec::new(),
            accept_again: false,
        })
    }

    /// Serves until an unrecoverable failure.
    pub(crate) fn run(mut self) -> Result<(), ReferenceError> {
        let mut events = [EpollEvent::empty(); EVENTS_A_TURN];
        let mut again = Vec::new();
        loop {
            let count = match self.queue.wait(&mut events, self.timeout()) {
                Ok(count) => count,
                Err(Errno::EINTR) => continue,
                Err(error) => return Err(error.into()),
            };
            self.shared.date.refresh(SystemTime::now());
            // A new edge does not repeat earlier ones, so earlier clients are tried as well.
            let mut accept = self.accept_again;
            std::mem::swap(&mut again, &mut self.again);
            for event in &events[..count] {
                match event.data() {
                    LISTENER => accept = true,
                    slot => self.on_event(slot as usize, event.events())?,
                }
            }
            for slot in again.drain(..) {
                self.turn(slot, true)?;
            }
            if accept {
                self.accept_all();
            }
        }
    }

    fn timeout(&self) -> EpollTimeout {
        if !self.again.is_empty() {
            EpollTimeout::ZERO
        } else if self.accept_again {
            ACCEPT_AGAIN_MS.into()
        } else {
            EpollTimeout::NONE
        }
    }

    fn on_event(&mut self, slot: usize, event: EpollFlags) -> Result<(), ReferenceError> {
        let blocked = match self.connections.get(slot) {
            Some(Some(connection)) => connection.is_blocked(),
            _ => return Ok(()),
        };
        let ended =
            event.intersects(EpollFlags::EPOLLRDHUP | EpollFlags::EPOLLHUP | EpollFlags::EPOLLERR);
        // Room to send does not matter to a connection that has nothing to send.
        if blocked || ended || event.contains(EpollFlags::EPOLLIN) {
            self.turn(slot, ended)?;
        }
        Ok(())
    }

    fn turn(&mut self, slot: usize, to_the_end: bool) -> Result<(), ReferenceError> {
        let Some(Some(connection)) = self.connections.get_mut(slot) else {
            return Ok(());
        };
        match connection.turn(&mut self.shared, to_the_end)? {
            Next::Wait => {}
            Next::Turn => self.again.push(slot),
            Next::Close => {
                self.connections[slot] = None;
                self.free.push(slot);
            }
        }
        Ok(())
    }

    fn accept_all(&mut self) {
        self.accept_again = loop {
            match next_client(&self.listener) {
                Ok(Some(client)) => {
                    // A connection that TLS cannot begin is closed.
                    if let Ok(connection) = Connection::new(client, &self.shared) {
                        self.add(connection);
                    }
                }
                Ok(None) => break false,
                Err(_) => break true,
            }
        };
    }

    /// Adds a connection; if the event queue has no room for it, it is closed.
    fn add(&mut self, connection: Connection) {
        let slot = self.free.pop().unwrap_or_else(|| {
            self.connections.push(None);
            self.connections.len() - 1
        });
        let interest = EpollFlags::EPOLLIN
            | EpollFlags::EPOLLOUT
            | EpollFlags::EPOLLRDHUP
            | EpollFlags::EPOLLET;
        let event = EpollEvent::new(interest, slot as u64);
        match self.queue.add(connection.socket(), event) {
            Ok(()) => self.connections[slot] = Some(connection),
            Err(_) => self.free.push(slot),
        }
    }
}

/// The next client that waits, if any; fails if the system has no room for one more connection.
pub(crate) fn next_client(listener: &TcpListener) -> io::Result<Option<TcpStream>> {
    loop {
        match listener.accept() {
            Ok((client, _)) => return Ok(Some(client)),
            Err(error) => match error.kind() {
                io::ErrorKind::WouldBlock => return Ok(None),
                // This client is gone; the next one may be fine.
                io::ErrorKind::ConnectionAborted | io::ErrorKind::Interrupted => {}
                _ => return Err(error),
            },
        }
    }
}
