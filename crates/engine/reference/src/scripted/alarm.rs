//! The script's clock, and the timer for the next response.

use std::os::fd::{AsFd, BorrowedFd};
use std::time::Duration;

use nix::errno::Errno;
use nix::sys::time::TimeSpec;
use nix::sys::timerfd::{ClockId, Expiration, TimerFd, TimerFlags, TimerSetTimeFlags};
use nix::time::{ClockId as Clock, clock_gettime};

/// A clock with its own origin, and a timer descriptor that becomes readable at one instant.
///
/// A timer descriptor is precise; the timeouts of `epoll_pwait2` and the like may be late by a thousandth of their length,
/// the kernel's timer slack.
#[derive(Debug)]
pub(super) struct Alarm {
    timer: TimerFd,
    /// Time since boot.
    origin: Duration,
    set_for: Option<Duration>,
}

impl Alarm {
    /// Starts counting now.
    pub(super) fn new() -> Result<Self, Errno> {
        let flags = TimerFlags::TFD_NONBLOCK | TimerFlags::TFD_CLOEXEC;
        Ok(Self {
            timer: TimerFd::new(ClockId::CLOCK_MONOTONIC, flags)?,
            origin: monotonic()?,
            set_for: None,
        })
    }

    /// Starts counting again, from now.
    pub(super) fn restart(&mut self) -> Result<(), Errno> {
        self.origin = monotonic()?;
        Ok(())
    }

    /// The time since the origin.
    pub(super) fn now(&self) -> Result<Duration, Errno> {
        Ok(monotonic()?.saturating_sub(self.origin))
    }

    /// Rings at `instant`, at once if that has passed; never for `None`.
    pub(super) fn set(&mut self, instant: Option<Duration>) -> Result<(), Errno> {
        if instant == self.set_for {
            return Ok(());
        }
        match instant {
            None => self.timer.unset()?,
            Some(instant) => self.timer.set(
                Expiration::OneShot(TimeSpec::from_duration(self.origin + instant)),
                TimerSetTimeFlags::TFD_TIMER_ABSTIME,
            )?,
        }
        self.set_for = instant;
        Ok(())
    }
}

impl AsFd for Alarm {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.timer.as_fd()
    }
}

fn monotonic() -> Result<Duration, Errno> {
    Ok(clock_gettime(Clock::CLOCK_MONOTONIC)?.into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use nix::sys::epoll::{Epoll, EpollCreateFlags, EpollEvent, EpollFlags};

    #[test]
    fn the_alarm_rings_at_its_instant_and_not_before() {
        let mut alarm = Alarm::new().unwrap();
        let events = Epoll::new(EpollCreateFlags::empty()).unwrap();
        let ring = EpollEvent::new(EpollFlags::EPOLLIN, 0);
        events.add(&alarm, ring).unwrap();
        let rings_within = |milliseconds: u16| {
            let mut event = [EpollEvent::empty()];
            events.wait(&mut event, milliseconds).unwrap() == 1
        };
        let instant = alarm.now().unwrap() + Duration::from_millis(3);
        alarm.set(Some(instant)).unwrap();
        assert!(rings_within(20_000));
        assert!(alarm.now().unwrap() >= instant);
        let in_an_hour = instant + Duration::from_secs(3600);
        alarm.set(Some(in_an_hour)).unwrap();
        assert!(!rings_within(0), "set again");
        alarm.set(Some(Duration::from_nanos(1))).unwrap();
        assert!(rings_within(20_000), "an instant in the past");
        alarm.set(None).unwrap();
        assert!(!rings_within(0), "unset");
    }
}
