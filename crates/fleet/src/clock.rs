//! How an agent's clock relates to that of the fleet.

use std::time::Duration;

/// The offset of an agent's clock, from one ping.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ClockOffset {
    /// The agent's clock minus that of the fleet. Each counts from the start of its own process.
    pub(crate) offset_ns: i64,
    /// How long the ping and its reply took: the offset is known to within half of that.
    pub(crate) round_trip: Duration,
}

impl ClockOffset {
    /// If an agent whose clock shows `clock_ns` replied to a ping between two instants, at their middle.
    pub(crate) fn of(sent: Duration, received: Duration, clock_ns: u64) -> Self {
        let round_trip = received.saturating_sub(sent);
        let middle = signed(sent + round_trip / 2);
        Self {
            offset_ns: i64::try_from(clock_ns)
                .unwrap_or(i64::MAX)
                .saturating_sub(middle),
            round_trip,
        }
    }

    /// An instant of the fleet's clock on the agent's.
    pub(crate) fn on_agent_ns(self, at: Duration) -> u64 {
        u64::try_from(signed(at).saturating_add(self.offset_ns)).unwrap_or(0)
    }

    /// The one with the shorter round trip.
    pub(crate) fn better(self, other: Option<Self>) -> Self {
        other
            .filter(|other| other.round_trip <= self.round_trip)
            .unwrap_or(self)
    }
}

fn signed(time: Duration) -> i64 {
    i64::try_from(time.as_nanos()).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn ms(time: u64) -> Duration {
        Duration::from_millis(time)
    }

    #[test]
    fn the_shortest_round_trip_wins() {
        let slow = ClockOffset::of(ms(0), ms(9), 1);
        let fast = ClockOffset::of(ms(10), ms(12), 2);
        assert_eq!(slow.better(Some(fast)), fast);
        assert_eq!(fast.better(Some(slow)), fast);
        assert_eq!(fast.better(None), fast);
    }

    proptest! {
        /// Whatever the offset, the error is at most half of the round trip.
        #[test]
        fn an_instant_is_known_to_within_half_of_the_round_trip(
            offset in -1_000_000_000i64..1_000_000_000_000,
            there in 0u64..50_000_000,
            back in 0u64..50_000_000,
        ) {
            let sent = Duration::from_secs(10);
            let replied = 10_000_000_000 + there;
            let clock = u64::try_from(replied as i64 + offset).unwrap();
            let received = sent + Duration::from_nanos(there + back);
            let clocks = ClockOffset::of(sent, received, clock);
            let at = Duration::from_secs(60);
            let truth = 60_000_000_000 + offset;
            let error = (clocks.on_agent_ns(at) as i64 - truth).unsigned_abs();
            prop_assert!(error <= (there + back) / 2 + 1, "{error}");
        }
    }
}
