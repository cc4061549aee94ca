//! Drops a ring without freeing anything that the kernel still uses.

use std::mem;
use std::rc::Rc;
use std::time::Duration;

use super::Ring;

/// How often, and how long each time, to wait for the kernel to end operations.
const ATTEMPTS: u32 = 100;
const PATIENCE: Duration = Duration::from_millis(10);

impl Drop for Ring {
    fn drop(&mut self) {
        if !self.drain() {
            self.leak_memory();
        }
    }
}

impl Ring {
    /// Submits what is queued (including closes) and waits until no operation is under way. Returns whether that
    /// succeeded.
    fn drain(&mut self) -> bool {
        self.starved.clear();
        if self.queue.submit().is_err() {
            return false;
        }
        let mut idle_waits = 0;
        self.queue.cancel_all();
        while self.under_way > 0 || !self.queue.is_submitted() {
            let before = self.under_way;
            if self.queue.wait(PATIENCE).is_err() {
                return false;
            }
            // Only count what has ended; start nothing again.
            while let Some(entry) = self.queue.pop() {
                self.count_end(&entry);
            }
            if self.under_way < before {
                continue;
            }
            idle_waits += 1;
            if idle_waits == ATTEMPTS {
                return false;
            }
            self.queue.cancel_all();
        }
        true
    }

    /// The kernel does not end some operation: leak whatever it might use.
    #[cold]
    fn leak_memory(&mut self) {
        mem::forget(mem::take(&mut self.slots));
        mem::forget(mem::take(&mut self.orphaned_sends));
        mem::forget(mem::take(&mut self.addresses));
        mem::forget(Rc::clone(&self.small));
        mem::forget(Rc::clone(&self.large));
        mem::forget(Rc::clone(&self.sink));
    }
}
