//! When a rate opens another connection.
//!
//! A request that is due takes the first connection that has room: one whose response has arrived, or a new one. Prony opens new
//! ones only if waiting for a busy one takes longer than opening one, and few at a time: hundreds at once, above all over
//! TLS, would be a load of their own, which delays the requests that they are for.

use super::shared::BEGIN_AT_ONCE;
use crate::engine::clock::Nanoseconds;

/// Requests may wait this long without another connection, however fast one is set up: accepting it costs the server time.
const LEAST_SET_UP: f64 = 1e6;
/// As long as any request waits, another connection is opened this often.
const AT_LEAST_EVERY: Nanoseconds = 10_000_000;
/// How often to look whether more connections are needed.
const LOOK_EVERY: Nanoseconds = 1_000_000;

/// The connections that a worker opens as its arrivals need them.
#[derive(Debug)]
pub(super) struct Growth {
    /// How many requests a connection carries at a time.
    depth: usize,
    /// How many connections of the load there are, and may be at most.
    connections: usize,
    most: usize,
    /// How many are being set up.
    setting_up: usize,
    /// How long it takes to set one up, and how long a request keeps its connection busy.
    set_up: RecentMean,
    busy: RecentMean,
    next_look: Nanoseconds,
    last_opened: Nanoseconds,
    /// Whether those that wait needed more connections at the last look.
    are_needed: bool,
}

impl Growth {
    /// From `connections` to at most `most`, which carry `depth` requests at a time.
    pub(super) fn new(connections: usize, most: usize, depth: usize) -> Self {
        Self {
            depth,
            connections,
            most,
            setting_up: 0,
            set_up: RecentMean::default(),
            busy: RecentMean::default(),
            next_look: 0,
            last_opened: 0,
            are_needed: false,
        }
    }

    /// Whether there may be more connections.
    #[inline]
    pub(super) fn is_possible(&self) -> bool {
        self.connections < self.most
    }

    /// A connection has been added.
    pub(super) fn added(&mut self) {
        self.connections += 1;
    }

    /// The earliest instant at which [`Self::more`] may say something new.
    pub(super) fn next_look(&self) -> Nanoseconds {
        self.next_look
    }

    /// Whether connections are being set up because requests would wait longer for a busy one.
    pub(super) fn are_awaited(&self) -> bool {
        self.are_needed && self.setting_up > 0
    }

    /// A connection begins to be set up.
    pub(super) fn begins_set_up(&mut self) {
        self.setting_up += 1;
    }

    /// A connection has been set up in that time, or could not be.
    pub(super) fn ends_set_up(&mut self, now: Nanoseconds, took: Option<Nanoseconds>) {
        self.setting_up -= 1;
        if let Some(took) = took {
            self.set_up.add(now, took);
        }
    }

    /// A request has kept a connection busy for that long.
    #[inline]
    pub(super) fn served(&mut self, now: Nanoseconds, took: Nanoseconds) {
        self.busy.add(now, took);
    }

    /// How many connections to open now: enough for the requests that wait to be served within the time that opening one
    /// takes.
    pub(super) fn more(&mut self, now: Nanoseconds, waiting: u64) -> usize {
        self.next_look = now + LOOK_EVERY;
        let one_each = waiting.div_ceil(self.depth as u64);
        let enough = match self.busy.get() {
            // Nothing shows yet that a connection will be free soon.
            None => one_each,
            Some(busy) => {
                let opening = self.set_up.get().unwrap_or(0.0).max(LEAST_SET_UP);
                let enough = (one_each as f64 * busy / opening).ceil() as u64;
                let ready = self.connections.saturating_sub(self.setting_up) as u64;
                one_each.min(enough.saturating_sub(ready))
            }
        };
        self.are_needed = enough > 0;
        let is_time = now >= self.last_opened + AT_LEAST_EVERY;
        let least = usize::from(is_time && waiting > 0);
        let most = BEGIN_AT_ONCE.saturating_sub(self.setting_up);
        let possible = self.most.saturating_sub(self.connections);
        let more = (enough.min(BEGIN_AT_ONCE as u64) as usize)
            .saturating_sub(self.setting_up)
            .max(least)
            .min(most)
            .min(possible);
        if more > 0 {
            self.last_opened = now;
        }
        more
    }
}

/// How long a mean looks back: much longer than a pause of the server, which must not look like its usual pace.
const WINDOW: Nanoseconds = 100_000_000;

/// The mean of the last window that had values, or of the first one while it lasts.
#[derive(Debug, Default)]
struct RecentMean {
    last: Option<f64>,
    since: Nanoseconds,
    sum: Nanoseconds,
    count: u64,
}

impl RecentMean {
    #[inline]
    fn add(&mut self, now: Nanoseconds, value: Nanoseconds) {
        if now.saturating_sub(self.since) >= WINDOW {
            self.last = self.mean().or(self.last);
            (self.since, self.sum, self.count) = (now, 0, 0);
        }
        self.sum = self.sum.saturating_add(value);
        self.count += 1;
    }

    fn mean(&self) -> Option<f64> {
        (self.count > 0).then(|| self.sum as f64 / self.count as f64)
    }

    fn get(&self) -> Option<f64> {
        self.last.or_else(|| self.mean())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Nanoseconds = 1_000_000;

    /// How many connections are opened beside ten, 5 ms after the last one, if setting one up takes `set_up_ms`.
    fn opened(waiting: u64, busy_us: u64, set_up_ms: u64, depth: usize) -> usize {
        let mut growth = Growth::new(10, 1000, depth);
        growth.begins_set_up();
        growth.ends_set_up(200 * MS, Some(set_up_ms * MS));
        growth.served(200 * MS, busy_us * 1000);
        growth.last_opened = 200 * MS;
        growth.more(205 * MS, waiting)
    }

    #[test]
    fn as_many_connections_are_opened_as_serve_those_that_wait_in_the_time_that_opening_one_takes()
    {
        for (waiting, busy_us, set_up_ms, depth, more) in [
            // After a pause of 20 ms at 45k/s, ten connections serve all within the time of a handshake or two.
            (900, 200, 18, 1, 0),
            (900, 200, 9, 1, 10),
            // A slow service: nothing will be free soon.
            (7, 1_000_000, 1, 1, 7),
            (500, 1_000_000, 1, 1, 64),
            (7, 1_000_000, 1, 4, 2),
            // However fast a connection is set up.
            (40, 250, 0, 1, 0),
            (0, 1_000_000, 0, 1, 0),
        ] {
            let case = format!("{waiting} wait, {busy_us} µs, {set_up_ms} ms, {depth}");
            assert_eq!(opened(waiting, busy_us, set_up_ms, depth), more, "{case}");
        }
    }

    #[test]
    fn if_requests_wait_at_all_a_connection_is_added_now_and_then() {
        let mut growth = Growth::new(10, 1000, 1);
        growth.served(0, 100_000);
        growth.last_opened = 100 * MS;
        assert_eq!(
            [109, 110, 111, 120].map(|at| growth.more(at * MS, 3)),
            [0, 1, 0, 1]
        );
        assert_eq!(growth.more(200 * MS, 0), 0);
    }

    #[test]
    fn there_are_never_more_connections_than_allowed() {
        let mut growth = Growth::new(10, 12, 1);
        let more = growth.more(200 * MS, 50);
        assert_eq!(more, 2);
        (0..more).for_each(|_| growth.added());
        assert!(!growth.is_possible());
        assert_eq!(growth.more(300 * MS, 50), 0);
    }

    #[test]
    fn a_pause_of_the_server_does_not_look_like_its_usual_pace() {
        let mut mean = RecentMean::default();
        assert_eq!(mean.get(), None);
        (0..1000).for_each(|at| mean.add(at * MS / 5, 200));
        (0..10).for_each(|_| mean.add(220 * MS, 20 * MS));
        assert_eq!(mean.get(), Some(200.0));
    }
}
