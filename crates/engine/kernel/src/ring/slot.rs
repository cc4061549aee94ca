//! The state of one socket, and how a completion finds its operation.

use std::os::fd::{AsRawFd, OwnedFd, RawFd};

use nix::errno::Errno;
use socket2::SockRef;

/// How a slot receives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Receive {
    /// Everything that arrives, in small buffers, until the socket is closed: for responses that fit into one.
    Many,
    /// The next bytes, once, in a large buffer.
    Once {
        /// At most this many bytes, and no more than a large buffer holds. Must not be 0.
        at_most: u32,
    },
    /// Throws the next bytes away: this many, at most [`LONGEST_SKIP`]. Over TCP the kernel does not even copy them.
    /// Must not be 0.
    Skip(u64),
}

/// The most bytes that one [`Receive::Skip`] throws away.
pub const LONGEST_SKIP: u64 = 1024 * 1024;

/// A place for a socket.
#[derive(Debug, Default)]
pub(super) struct Slot {
    pub(super) socket: Option<OwnedFd>,
    /// How many sockets were here before.
    pub(super) generation: u64,
    pub(super) connecting: bool,
    /// What the caller has requested and not received yet.
    pub(super) receiving: Option<Receive>,
    /// How many bytes of a skip are already thrown away.
    pub(super) skipped: u64,
    /// Whether the kernel said that the last receive left something unread.
    pub(super) has_more: bool,
    /// The bytes in flight. The kernel reads them while `sending`: they must be neither changed nor freed then.
    pub(super) send_buffer: Vec<u8>,
    pub(super) sending: bool,
    /// How many of them are sent.
    pub(super) sent: u32,
}

impl Slot {
    /// The descriptor of a connected socket.
    ///
    /// # Panics
    ///
    /// If there is none.
    #[inline]
    pub(super) fn connected(&self) -> RawFd {
        match &self.socket {
            Some(socket) if !self.connecting => socket.as_raw_fd(),
            Some(_) => panic!("the slot's socket is not connected yet"),
            None => panic!("the slot has no socket"),
        }
    }

    /// The socket's pending error (`SO_ERROR`).
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

/// The kind of an operation. A socket has at most one of each under way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Operation {
    Connect = 0,
    Send = 1,
    ReceiveMany = 2,
    ReceiveOnce = 3,
    Skip = 4,
    /// Cancels and closes: nobody waits for their results.
    Cleanup = 5,
}

impl Operation {
    const ALL: [Operation; 6] = [
        Operation::Connect,
        Operation::Send,
        Operation::ReceiveMany,
        Operation::ReceiveOnce,
        Operation::Skip,
        Operation::Cleanup,
    ];
}

/// The user data of an operation. The generation counts the sockets of a slot, and so tells completions of an old
/// socket from those of the present one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Tag {
    pub(super) operation: Operation,
    pub(super) slot: u32,
    pub(super) generation: u64,
}

const OPERATION_BITS: u32 = 3;
const SLOT_BITS: u32 = 24;
/// The most slots that a tag can tell apart.
pub(super) const MOST_SLOTS: usize = 1 << SLOT_BITS;

impl Tag {
    /// Tags operations whose completion nobody waits for.
    pub(super) const CLEANUP: Tag = Tag {
        operation: Operation::Cleanup,
        slot: 0,
        generation: 0,
    };

    /// The 37 bits of the generation last for 137 billion sockets of one slot.
    #[inline]
    pub(super) fn to_user_data(self) -> u64 {
        (self.generation << (OPERATION_BITS + SLOT_BITS))
            | (u64::from(self.slot) << OPERATION_BITS)
            | self.operation as u64
    }

    /// `None` if it is not one of our tags.
    #[inline]
    pub(super) fn from_user_data(data: u64) -> Option<Self> {
        let operation = *Operation::ALL.get((data & ((1 << OPERATION_BITS) - 1)) as usize)?;
        let slot = ((data >> OPERATION_BITS) & (MOST_SLOTS as u64 - 1)) as u32;
        let generation = data >> (OPERATION_BITS + SLOT_BITS);
        Some(Self {
            operation,
            slot,
            generation,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tag_survives_the_round_trip() {
        for operation in Operation::ALL {
            for slot in [0, 1, MOST_SLOTS as u32 - 1] {
                for generation in [0, 1, (1 << 37) - 1] {
                    let tag = Tag {
                        operation,
                        slot,
                        generation,
                    };
                    assert_eq!(Tag::from_user_data(tag.to_user_data()), Some(tag));
                }
            }
        }
    }

    #[test]
    fn foreign_user_data_is_no_tag() {
        assert_eq!(Tag::from_user_data(6), None);
        assert_eq!(Tag::from_user_data(u64::MAX), None);
    }

    #[test]
    fn an_idle_slot_is_small() {
        assert!(size_of::<Slot>() <= 96);
    }
}
