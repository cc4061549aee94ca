//! Lets workers start their parts of one schedule at one instant.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::thread::{self, Thread};
use std::time::Instant;

use super::clock::{Clock, Nanoseconds};

/// When a part of a load begins.
pub trait Start: Sync {
    /// Called once, when the part is prepared and its connections are open (if its shape needs them), on a thread of its
    /// own. Waits until the instant is known; `None` if the load is not to begin, as when `interrupt` is set.
    fn at(&self, interrupt: &AtomicBool) -> Option<Instant>;
}

/// Where workers wait for one another. Each takes a [`Place`] before it does anything that may fail.
#[derive(Debug)]
pub(super) struct StartLine {
    clock: Clock,
    missing: AtomicUsize,
    /// The instant at which all start; [`UNKNOWN`] or [`CALLED_OFF`].
    start: AtomicU64,
    /// The thread that finds out when the load begins, if others begin at the same instant.
    starter: OnceLock<Thread>,
    is_shared: bool,
}

/// One worker's place. If one is dropped before its worker arrives, the load does not begin.
#[derive(Debug)]
pub(super) struct Place<'a> {
    line: &'a StartLine,
    is_taken: bool,
}

/// What is known of the start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Begin {
    /// Nothing yet: look again after this time.
    Unknown(Nanoseconds),
    At(Nanoseconds),
    /// The load does not begin.
    CalledOff,
}

const UNKNOWN: Nanoseconds = 0;
const CALLED_OFF: Nanoseconds = Nanoseconds::MAX;

/// How long before the start the last worker announces it: longer than any other worker takes to see it.
const NOTICE: Nanoseconds = 1_000_000;
/// How often the others look.
const LOOK: Nanoseconds = 200_000;
/// The same if the start comes from outside: that takes longer, and is announced 200 ms before. Hundreds of agents on one
/// host would keep it busy by looking more often.
const LOOK_OUTSIDE: Nanoseconds = 50_000_000;

impl StartLine {
    /// For that many workers. If the start `is_shared` with other processes, one thread must
    /// [find out](Self::find_out) when it is.
    pub(super) fn new(clock: Clock, workers: usize, is_shared: bool) -> Self {
        Self {
            clock,
            missing: AtomicUsize::new(workers),
            start: AtomicU64::new(UNKNOWN),
            starter: OnceLock::new(),
            is_shared,
        }
    }

    pub(super) fn place(&self) -> Place<'_> {
        Place {
            line: self,
            is_taken: false,
        }
    }

    /// Waits until all workers are there, and then learns from `start` when the load begins.
    pub(super) fn find_out(&self, start: &dyn Start, interrupt: &AtomicBool) {
        // Also if `start` panics, nobody waits for ever.
        let _gives_up = CallOff(self);
        // A worker that arrives later sees the thread, and one that arrived before is no longer missing.
        self.starter.get_or_init(thread::current);
        while self.missing.load(Ordering::SeqCst) > 0 && self.begin() != Begin::CalledOff {
            thread::park_timeout(std::time::Duration::from_millis(100));
        }
        if self.begin() == Begin::CalledOff {
            return;
        }
        if let Some(instant) = start.at(interrupt) {
            let at = self.clock.at(instant).clamp(UNKNOWN + 1, CALLED_OFF - 1);
            self.set(at);
        }
    }

    /// Sets the start, unless it is set.
    fn set(&self, start: Nanoseconds) {
        let (success, failure) = (Ordering::AcqRel, Ordering::Acquire);
        let _ = self
            .start
            .compare_exchange(UNKNOWN, start, success, failure);
    }

    fn begin(&self) -> Begin {
        match self.start.load(Ordering::Acquire) {
            UNKNOWN if self.is_shared => Begin::Unknown(LOOK_OUTSIDE),
            UNKNOWN => Begin::Unknown(LOOK),
            CALLED_OFF => Begin::CalledOff,
            start => Begin::At(start),
        }
    }
}

/// Calls the load off when it is dropped, unless it is known when it begins.
struct CallOff<'a>(&'a StartLine);

impl Drop for CallOff<'_> {
    fn drop(&mut self) {
        self.0.set(CALLED_OFF);
    }
}

impl Place<'_> {
    /// Whether other processes start at the same instant, so that no request may leave before it.
    pub(super) fn is_shared(&self) -> bool {
        self.line.is_shared
    }

    /// The worker is there. The last one announces the start, unless that comes from outside.
    pub(super) fn arrive(&mut self) {
        if self.take() {
            if self.line.is_shared {
                self.wake_starter();
            } else {
                self.line.set(self.line.clock.now() + NOTICE);
            }
        }
    }

    /// What is known of the start.
    pub(super) fn begin(&self) -> Begin {
        self.line.begin()
    }

    /// Whether the worker was the last one missing.
    fn take(&mut self) -> bool {
        !std::mem::replace(&mut self.is_taken, true)
            && self.line.missing.fetch_sub(1, Ordering::SeqCst) == 1
    }

    fn wake_starter(&self) {
        if let Some(starter) = self.line.starter.get() {
            starter.unpark();
        }
    }
}

impl Drop for Place<'_> {
    fn drop(&mut self) {
        if !self.is_taken {
            self.line.set(CALLED_OFF);
            self.take();
            self.wake_starter();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use super::*;

    const LATER: Duration = Duration::from_millis(30);

    /// Begins at an instant, if at all.
    struct Given(Option<Instant>);

    impl Start for Given {
        fn at(&self, _: &AtomicBool) -> Option<Instant> {
            self.0
        }
    }

    /// What a worker that arrives after `delay` learns of the start.
    fn arrive(line: &StartLine, delay: Duration) -> Begin {
        let mut place = line.place();
        thread::sleep(delay);
        place.arrive();
        loop {
            match place.begin() {
                Begin::Unknown(pause) => thread::sleep(Duration::from_nanos(pause)),
                known => return known,
            }
        }
    }

    /// What two workers learn, of whom one arrives later.
    fn arrive_two(line: &StartLine, start: Option<&Given>) -> [Begin; 2] {
        thread::scope(|scope| {
            let delays = [Duration::ZERO, LATER];
            let waiting = delays.map(|delay| scope.spawn(move || arrive(line, delay)));
            if let Some(start) = start {
                line.find_out(start, &AtomicBool::new(false));
            }
            waiting.map(|it| it.join().unwrap())
        })
    }

    #[test]
    fn all_start_at_one_instant_once_the_last_is_there() {
        let line = StartLine::new(Clock::start(), 2, false);
        let [first, second] = arrive_two(&line, None);
        assert_eq!(first, second);
        assert!(
            matches!(first, Begin::At(at) if at >= 30_000_000),
            "{first:?}"
        );
    }

    #[test]
    fn the_start_may_come_from_outside() {
        let line = StartLine::new(Clock::start(), 2, true);
        let start = Instant::now() + Duration::from_secs(5);
        let expected = Begin::At(line.clock.at(start));
        assert_eq!(arrive_two(&line, Some(&Given(Some(start)))), [expected; 2]);
    }

    #[test]
    fn nobody_begins_without_a_start_or_without_all_workers() {
        let line = StartLine::new(Clock::start(), 2, true);
        let learnt = arrive_two(&line, Some(&Given(None)));
        assert_eq!(learnt, [Begin::CalledOff; 2]);
        for is_shared in [false, true] {
            let line = StartLine::new(Clock::start(), 3, is_shared);
            let start = is_shared.then(|| Given(Some(Instant::now())));
            drop(line.place());
            let learnt = arrive_two(&line, start.as_ref());
            assert_eq!(learnt, [Begin::CalledOff; 2], "shared: {is_shared}");
        }
    }
}
