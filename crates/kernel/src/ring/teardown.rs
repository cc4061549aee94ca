//! The end of a ring: nothing that the kernel still uses is freed.

use std::mem;
use std::rc::Rc;
use std::time::Duration;

use super::Ring;

/// How often in vain it is waited for the kernel to let go of something, and how long each time.
const ATTEMPTS: u32 = 100;
const PATIENCE: Duration = Duration::from_millis(10);

impl Drop for Ring {
    fn drop(&mut self) {
        if !self.come_to_rest() {
            self.leave_memory();
        }
    }
}

impl Ring {
    /// Submits what is queued, closes of sockets among it, and waits until no operation is under way. Whether it came
    /// to that.
    fn come_to_rest(&mut self) -> bool {
        self.starved.clear();
        if self.queue.submit().is_err() {
            return false;
        }
        let mut in_vain = 0;
        self.queue.cancel_all();
        while self.under_way > 0 || !self.queue.is_submitted() {
            let before = self.under_way;
            if self.queue.wait(PATIENCE).is_err() {
                return false;
            }
            // Nothing begins again: what has ended is only counted.
            while let Some(entry) = self.queue.pop() {
                self.count_end(&entry);
            }
            if self.under_way < before {
                continue;
            }
            in_vain += 1;
            if in_vain == ATTEMPTS {
                return false;
            }
            self.queue.cancel_all();
        }
        true
    }

    /// The kernel does not let go of something: whatever it might use stays for ever.
    #[cold]
    fn leave_memory(&mut self) {
        mem::forget(mem::take(&mut self.slots));
        mem::forget(mem::take(&mut self.orphans));
        mem::forget(mem::take(&mut self.addresses));
        mem::forget(Rc::clone(&self.small));
        mem::forget(Rc::clone(&self.large));
        mem::forget(Rc::clone(&self.void));
    }
}
