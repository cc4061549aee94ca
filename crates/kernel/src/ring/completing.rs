//! From what the kernel tells to what the caller is told.

use io_uring::cqueue;
use nix::errno::Errno;

use super::Ring;
use super::buffers::Chunk;
use super::slot::{LONGEST_SKIP, Operation, Receive, Tag};

/// What has come of something that a slot was asked for.
#[derive(Debug)]
pub enum Completion {
    /// The socket is connected, or cannot be: then the slot is to be closed.
    Connected(Result<(), Errno>),
    /// The bytes of the last send were taken by the kernel, all of them, and so many there were. An error means that
    /// the connection is broken.
    Sent(Result<usize, Errno>),
    /// Bytes came; never none.
    Received(Chunk),
    /// So many bytes were thrown away: less than was asked for where the connection ended or broke before. What of the
    /// two it was, the next receive tells; a reset may then be told as [`Completion::Ended`].
    Skipped(u64),
    /// The peer will send no more. Nothing is being received any more.
    Ended,
    /// The connection is broken. Nothing is being received any more.
    Failed(Errno),
}

impl Ring {
    /// The next of the completions that were there when [`Ring::wait`] returned, with its slot.
    #[inline]
    #[expect(
        clippy::should_implement_trait,
        reason = "the ring is used between two of them"
    )]
    pub fn next(&mut self) -> Option<(usize, Completion)> {
        loop {
            let entry = self.queue.pop()?;
            if let Some(told) = self.complete(&entry) {
                return Some(told);
            }
        }
    }

    /// What a completion of the kernel's means to the caller; `None` where it is none of his business.
    #[inline]
    fn complete(&mut self, entry: &cqueue::Entry) -> Option<(usize, Completion)> {
        let tag = Tag::from_user_data(entry.user_data())?;
        if tag == Tag::CLEANUP {
            return None;
        }
        let goes_on = self.count_end(entry);
        let result = match entry.result() {
            value @ 0.. => Ok(value as u32),
            value => Err(Errno::from_raw(-value)),
        };
        // A buffer that the kernel took is given back when the chunk is dropped, whatever came of it.
        let chunk = cqueue::buffer_select(entry.flags()).map(|buffer| {
            self.pool_of(tag.operation)
                .take(buffer, result.unwrap_or(0))
        });
        let slot = tag.slot as usize;
        if self.slots[slot].generation != tag.generation {
            if tag.operation == Operation::Send {
                self.orphans.remove(&entry.user_data());
            }
            return None;
        }
        if let Operation::ReceiveOnce | Operation::Skip = tag.operation {
            self.slots[slot].has_more = cqueue::sock_nonempty(entry.flags());
        }
        let completion = match tag.operation {
            Operation::Cleanup => None,
            Operation::Connect => {
                self.slots[slot].connecting = false;
                let result = match result {
                    // The events of a poll: what came of connecting is said by the socket.
                    Ok(1..) => self.slots[slot].pending_error(),
                    connected => connected.map(drop),
                };
                Some(Completion::Connected(result))
            }
            Operation::Send => self.sent(slot, result).map(Completion::Sent),
            Operation::ReceiveMany | Operation::ReceiveOnce => {
                self.received(tag, result, chunk, goes_on)
            }
            Operation::Skip => self.skipped(slot, result),
        };
        completion.map(|completion| (slot, completion))
    }

    /// Counts an operation that has ended; whether it goes on instead.
    #[inline]
    pub(super) fn count_end(&mut self, entry: &cqueue::Entry) -> bool {
        let goes_on = cqueue::more(entry.flags());
        if !goes_on && entry.user_data() != Tag::CLEANUP.to_user_data() {
            self.under_way -= 1;
        }
        goes_on
    }

    #[inline]
    fn sent(&mut self, slot: usize, result: Result<u32, Errno>) -> Option<Result<usize, Errno>> {
        let it = &mut self.slots[slot];
        it.sent += result.unwrap_or(0);
        if matches!(result, Ok(1..)) && (it.sent as usize) < it.send_buffer.len() {
            // Broken off on the way: the rest tells why.
            self.send_rest(slot);
            return None;
        }
        it.sending = false;
        Some(result.map(|_| it.sent as usize))
    }

    #[inline]
    fn skipped(&mut self, slot: usize, result: Result<u32, Errno>) -> Option<Completion> {
        let it = &mut self.slots[slot];
        let Some(Receive::Skip(wanted)) = it.receiving else {
            return None;
        };
        it.skipped += u64::from(result.unwrap_or(0));
        if matches!(result, Ok(1..)) && it.skipped < wanted.min(LONGEST_SKIP) {
            self.arm(slot, Receive::Skip(wanted));
            return None;
        }
        it.receiving = None;
        Some(match (it.skipped, result) {
            (1.., _) => Completion::Skipped(it.skipped),
            (0, Ok(_)) => Completion::Ended,
            (0, Err(errno)) => Completion::Failed(errno),
        })
    }

    #[inline]
    fn received(
        &mut self,
        tag: Tag,
        result: Result<u32, Errno>,
        chunk: Option<Chunk>,
        goes_on: bool,
    ) -> Option<Completion> {
        let slot = tag.slot as usize;
        let completion = match (result, chunk) {
            (Ok(1..), Some(chunk)) => {
                match self.slots[slot].receiving {
                    Some(Receive::Many) if goes_on => {}
                    Some(Receive::Many) => self.arm(slot, Receive::Many),
                    _ => self.slots[slot].receiving = None,
                }
                return Some(Completion::Received(chunk));
            }
            (Err(Errno::ENOBUFS), _) => {
                self.pool_of(tag.operation).grow();
                self.starved.push(tag);
                return None;
            }
            (Ok(_), _) => Completion::Ended,
            (Err(errno), _) => Completion::Failed(errno),
        };
        self.slots[slot].receiving = None;
        Some(completion)
    }

    /// Lets those receive again who could not, where there are buffers now.
    #[cold]
    pub(super) fn feed_starved(&mut self) {
        let mut starved = std::mem::take(&mut self.starved);
        starved.retain(|&tag| !self.feed(tag));
        self.starved = starved;
    }

    /// Whether that slot starves no longer.
    fn feed(&mut self, tag: Tag) -> bool {
        let slot = tag.slot as usize;
        let it = &self.slots[slot];
        let Some(what) = it.receiving.filter(|_| it.generation == tag.generation) else {
            return true;
        };
        let is_supplied = self.pool_of(tag.operation).is_kernel_supplied();
        if is_supplied {
            self.arm(slot, what);
        }
        is_supplied
    }
}
