//! Lets workers start their parts of one schedule at one instant.

use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use super::clock::{Clock, Nanoseconds};

/// Where workers wait for one another. Each takes a [`Place`] before it does anything that may fail.
#[derive(Debug)]
pub(super) struct StartLine {
    missing: AtomicUsize,
    /// The instant at which all start; 0 until it is known.
    start: AtomicU64,
}

/// One worker's place. The others do not wait for a place that is dropped.
#[derive(Debug)]
pub(super) struct Place<'a> {
    line: &'a StartLine,
    is_taken: bool,
}

/// How long before the start the last worker announces it: longer than any other worker takes to see it.
const NOTICE: Nanoseconds = 1_000_000;
/// How often the others look.
const LOOK: Duration = Duration::from_micros(200);

impl StartLine {
    pub(super) fn new(workers: usize) -> Self {
        Self {
            missing: AtomicUsize::new(workers),
            start: AtomicU64::new(0),
        }
    }

    pub(super) fn place(&self) -> Place<'_> {
        Place {
            line: self,
            is_taken: false,
        }
    }
}

impl Place<'_> {
    /// Waits until every worker is there or has given up, and returns the start. An interrupt ends the wait.
    pub(super) fn wait(mut self, clock: Clock, interrupt: &AtomicBool) -> Nanoseconds {
        self.take(|| clock.now() + NOTICE);
        loop {
            match self.line.start.load(Ordering::Acquire) {
                0 if interrupt.load(Ordering::Relaxed) => return clock.now(),
                0 => thread::sleep(LOOK),
                start => return start,
            }
        }
    }

    /// The last worker to arrive, or to give up, sets the start.
    fn take(&mut self, start: impl Fn() -> Nanoseconds) {
        if !std::mem::replace(&mut self.is_taken, true)
            && self.line.missing.fetch_sub(1, Ordering::AcqRel) == 1
        {
            self.line.start.store(start().max(1), Ordering::Release);
        }
    }
}

impl Drop for Place<'_> {
    fn drop(&mut self) {
        // This worker's clock is gone; 1 is in the past of the others, so they start at once.
        self.take(|| 1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_start_at_one_instant_without_waiting_for_those_that_gave_up() {
        let (line, clock, never) = (StartLine::new(3), Clock::start(), AtomicBool::new(false));
        let starts: Vec<Nanoseconds> = thread::scope(|scope| {
            let wait = |delay: u64| {
                let place = line.place();
                let never = &never;
                scope.spawn(move || {
                    thread::sleep(Duration::from_millis(delay));
                    place.wait(clock, never)
                })
            };
            let waiting = [wait(0), wait(30)];
            drop(line.place());
            waiting.map(|it| it.join().unwrap()).into()
        });
        assert_eq!(starts[0], starts[1]);
        assert!(starts[0] >= 30_000_000);
    }

    #[test]
    fn an_interrupt_ends_the_wait() {
        let line = StartLine::new(2);
        line.place().wait(Clock::start(), &AtomicBool::new(true));
    }
}
