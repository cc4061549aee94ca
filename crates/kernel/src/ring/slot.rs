//! What the ring knows of one socket.

use std::os::fd::{AsRawFd, OwnedFd, RawFd};

use nix::errno::Errno;
use socket2::SockRef;

use super::completion::Receive;
use super::tag::{Operation, Tag};

/// A place for a socket.
#[derive(Debug, Default)]
pub(super) struct Slot {
    pub(super) socket: Option<OwnedFd>,
    /// How many sockets were here before.
    pub(super) generation: u64,
    pub(super) connecting: bool,
    /// What the caller has asked for and not got yet.
    pub(super) receiving: Option<Receive>,
    /// How many bytes of a skip are thrown away already.
    pub(super) skipped: u64,
    /// Whether the last receive left something unread, as far as the kernel has said.
    pub(super) has_more: bool,
    /// The bytes that are in flight. The kernel reads them while `sending`: then they are neither changed nor freed.
    pub(super) send_buffer: Vec<u8>,
    pub(super) sending: bool,
    /// How many of them are gone.
    pub(super) sent: u32,
}

impl Slot {
    /// The descriptor of a socket that is connected.
    ///
    /// # Panics
    ///
    /// Where there is none.
    #[inline]
    pub(super) fn connected(&self) -> RawFd {
        match &self.socket {
            Some(socket) if !self.connecting => socket.as_raw_fd(),
            Some(_) => panic!("the slot's socket is not connected yet"),
            None => panic!("the slot has no socket"),
        }
    }

    /// The error that its socket keeps, where there is one.
    pub(super) fn pending_error(&self) -> Result<(), Errno> {
        let taken = self
            .socket
            .as_ref()
            .map(|it| SockRef::from(it).take_error());
        match taken {
            None | Some(Ok(None)) => Ok(()),
            Some(Ok(Some(error)) | Err(error)) => {
                Err(error.raw_os_error().map_or(Errno::EIO, Errno::from_raw))
            }
        }
    }

    #[inline]
    pub(super) fn tag(&self, slot: usize, operation: Operation) -> Tag {
        Tag {
            operation,
            slot: slot as u32,
            generation: self.generation,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_idle_slot_is_small() {
        assert!(size_of::<Slot>() <= 96);
    }
}
