//! Turns the kernel's completions into those of the caller.

use io_uring::cqueue;
use nix::errno::Errno;

use super::Ring;
use super::buffers::Chunk;
use super::slot::{LONGEST_SKIP, Operation, Receive, Tag};

/// The result of an operation on a slot.
#[derive(Debug)]
pub enum Completion {
    /// The socket is connected, or failed to connect: then close the slot.
    Connected(Result<(), Errno>),
    /// The kernel took all bytes of the last send, this many. An error means that the connection is broken.
    Sent(Result<usize, Errno>),
    /// Received bytes, at least one.
    Received(Chunk),
    /// How many bytes were thrown away: fewer than requested if the connection ended or broke first. The next receive
    /// tells which; it may report a reset as [`Completion::Ended`].
    Skipped(u64),
    /// The peer will send no more; the receive has ended.
    Ended,
    /// The connection is broken; the receive has ended.
    Failed(Errno),
}

impl Ring {
    /// The next completion and its slot, out of those that were there when [`Ring::wait`] returned.
    #[inline]
    #[expect(
        clippy::should_implement_trait,
        reason = "callers use the ring between two calls"
    )]
    pub fn next(&mut self) -> Option<(usize, Completion)> {
        loop {
            let entry = self.queue.pop()?;
            if let Some(completion) = self.complete(&entry) {
                return Some(completion);
            }
        }
    }

    /// What a kernel completion means to the caller; `None` if it is internal.
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
        // Dropping the chunk gives the kernel its buffer back, whatever the result was.
        let chunk = cqueue::buffer_select(entry.flags()).map(|buffer| {
            self.pool_of(tag.operation)
                .take(buffer, result.unwrap_or(0))
        });
        let slot = tag.slot as usize;
        if self.slots[slot].generation != tag.generation {
            if tag.operation == Operation::Send {
                self.orphaned_sends.remove(&entry.user_data());
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
                    // Events of a poll: the socket has the result of the connect.
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

    /// Counts an operation that has ended; returns whether it continues instead.
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
            // A short send: the next one reports the reason.
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

    /// Resumes the receives that had no buffer, now that there may be some.
    #[cold]
    pub(super) fn resume_starved(&mut self) {
        let mut starved = std::mem::take(&mut self.starved);
        starved.retain(|&tag| !self.resume(tag));
        self.starved = starved;
    }

    /// Returns whether the slot no longer waits for a buffer.
    fn resume(&mut self, tag: Tag) -> bool {
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
