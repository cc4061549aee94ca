//! A server without sockets, in the time of its test: the event loop of a worker.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::io;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use nix::errno::Errno;

use crate::engine::clock::{Clock, Nanoseconds};
use crate::engine::event_loop::{Chunk, ChunkBytes, SocketEvent};
use crate::target::Endpoint;

/// A part of a response, and how long after its request it arrives.
pub(crate) struct ResponsePart {
    pub(crate) after: Nanoseconds,
    pub(crate) bytes: &'static [u8],
}

/// How long an attempt to connect takes, and how it ends.
#[derive(Clone, Copy)]
pub(crate) struct Connect {
    pub(crate) after: Nanoseconds,
    pub(crate) result: Result<(), Errno>,
}

/// A request that has arrived.
pub(crate) struct Arrival<'a> {
    /// How many arrived before it.
    pub(crate) number: usize,
    pub(crate) head: &'a str,
}

/// The server's response to each request, in parts.
pub(crate) type Script = Box<dyn FnMut(&Arrival<'_>) -> Vec<ResponsePart>>;

/// It sees no request before its connection is established, and responds as its script says.
pub(crate) struct SimulatedServer {
    time: &'static AtomicU64,
    script: Script,
    connect: Option<Connect>,
    killed: Nanoseconds,
    /// How many requests have arrived.
    requests: &'static AtomicU64,
    /// What will happen to which slot, by its time and in the order of its causes.
    events: BTreeMap<(Nanoseconds, usize), (usize, SimulatedEvent)>,
    /// How many events there have been.
    caused: usize,
    /// Events that are there now.
    ready: VecDeque<(usize, SimulatedEvent)>,
    received: &'static [u8],
    looks: usize,
}

enum SimulatedEvent {
    Connected(Result<(), Errno>),
    Received(&'static [u8]),
    Reset,
}

/// More looks than any worker needs before it waits again.
const MOST_LOOKS: usize = 100_000;

impl SimulatedServer {
    /// With the clock that it moves.
    pub(crate) fn new(script: Script) -> (Self, Clock) {
        let time: &'static AtomicU64 = Box::leak(Box::default());
        let server = Self {
            time,
            script,
            connect: Some(Connect {
                after: 0,
                result: Ok(()),
            }),
            killed: Nanoseconds::MAX,
            requests: Box::leak(Box::default()),
            events: BTreeMap::new(),
            caused: 0,
            ready: VecDeque::new(),
            received: b"",
            looks: 0,
        };
        (server, Clock::simulated(time))
    }

    /// How many requests have arrived, also when the load has ended.
    pub(crate) fn requests(&self) -> &'static AtomicU64 {
        self.requests
    }

    /// The same whose attempts to connect end so; `None` if they never end.
    pub(crate) fn connecting(self, connect: Option<Connect>) -> Self {
        Self { connect, ..self }
    }

    /// The same that is killed after this time: its connections are reset, and further ones refused.
    pub(crate) fn killed(self, after: Nanoseconds) -> Self {
        Self {
            killed: self.time.load(Relaxed) + after,
            ..self
        }
    }

    fn cause(&mut self, slot: usize, after: Nanoseconds, event: SimulatedEvent) {
        let at = self.time.load(Relaxed) + after;
        self.events.insert((at, self.caused), (slot, event));
        self.caused += 1;
    }
}

/// What an event loop does.
impl SimulatedServer {
    #[expect(clippy::unnecessary_wraps, reason = "as a real event loop has it")]
    pub(crate) fn open(
        &mut self,
        slot: usize,
        _: &Endpoint,
        _: Option<SocketAddr>,
    ) -> io::Result<()> {
        if self.is_killed() {
            self.cause(slot, 0, SimulatedEvent::Connected(Err(Errno::ECONNREFUSED)));
        } else if let Some(Connect { after, result }) = self.connect {
            self.cause(slot, after, SimulatedEvent::Connected(result));
        }
        Ok(())
    }

    pub(crate) fn close(&mut self, slot: usize) {
        self.events.retain(|_, event| event.0 != slot);
        self.ready.retain(|event| event.0 != slot);
    }

    fn is_killed(&self) -> bool {
        self.time.load(Relaxed) >= self.killed
    }

    /// Every connection that waits for something is reset.
    fn kill(&mut self) {
        let slots: BTreeSet<usize> = self.events.values().map(|event| event.0).collect();
        self.events.clear();
        self.ready
            .extend(slots.into_iter().map(|slot| (slot, SimulatedEvent::Reset)));
    }

    #[expect(clippy::unnecessary_wraps, reason = "as a real event loop has it")]
    pub(crate) fn send(&mut self, slot: usize, bytes: &[u8]) -> Result<usize, Errno> {
        if self.is_killed() {
            self.cause(slot, 0, SimulatedEvent::Reset);
            return Ok(bytes.len());
        }
        let text = str::from_utf8(bytes).expect("requests without a body");
        for head in text.split_terminator("\r\n\r\n") {
            let number = self.requests.fetch_add(1, Relaxed) as usize;
            for ResponsePart { after, bytes } in (self.script)(&Arrival { number, head }) {
                self.cause(slot, after, SimulatedEvent::Received(bytes));
            }
        }
        Ok(bytes.len())
    }

    /// Time passes until the next event, at most `longest`.
    #[expect(clippy::unnecessary_wraps, reason = "as a real event loop has it")]
    pub(crate) fn wait(&mut self, longest: Nanoseconds) -> Result<(), Errno> {
        self.looks = if longest == 0 { self.looks + 1 } else { 0 };
        let now = self.time.load(Relaxed);
        assert!(
            self.looks < MOST_LOOKS,
            "the worker no longer waits at {now} ns"
        );
        let latest = now.saturating_add(longest);
        let next = self.events.first_key_value().map(|(&(at, _), _)| at);
        let was_killed = self.is_killed();
        let soonest = if was_killed {
            latest
        } else {
            latest.min(self.killed)
        };
        let now = next.map_or(soonest, |next| next.min(soonest));
        self.time.store(now, Relaxed);
        if !was_killed && self.is_killed() {
            self.kill();
        }
        while let Some(entry) = self.events.first_entry()
            && entry.key().0 <= now
        {
            self.ready.push_back(entry.remove());
        }
        Ok(())
    }

    pub(crate) fn next(&mut self) -> Option<(usize, SocketEvent)> {
        let (slot, event) = self.ready.pop_front()?;
        let event = match event {
            SimulatedEvent::Connected(result) => SocketEvent::Connected(result),
            SimulatedEvent::Reset => SocketEvent::Broken(Errno::ECONNRESET),
            SimulatedEvent::Received(bytes) => {
                self.received = bytes;
                SocketEvent::Received(Chunk {
                    bytes: ChunkBytes::Shared(bytes.len()),
                    more_follows: false,
                })
            }
        };
        Some((slot, event))
    }

    /// What arrived last.
    pub(crate) fn received(&self) -> &[u8] {
        self.received
    }

    pub(crate) fn was_idle(&self) -> bool {
        self.ready.is_empty()
    }

    pub(crate) fn read_on(&mut self, _: usize, _: u64) {}

    pub(crate) fn system_calls(&self) -> u64 {
        0
    }
}
