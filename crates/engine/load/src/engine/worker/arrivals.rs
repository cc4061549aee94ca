//! When the requests of a worker begin.

use super::connections::Connections;
use super::idle::Idle;
use super::shared::BEGIN_AT_ONCE;
use crate::engine::clock::{Nanoseconds, Timetable};
use crate::engine::connection::Activity;
use crate::engine::flows::Step;
use crate::engine::pacer::{Arrival, Next, Pacer};
use crate::engine::phase::Begin;
use crate::engine::request_mix::RequestMix;
use crate::wire::Wire;

/// Gives connections their requests.
pub(in crate::engine) struct Arrivals<'a> {
    pub(super) pacer: Box<dyn Pacer + 'a>,
    mix: RequestMix,
    /// How many requests a connection carries at a time.
    depth: usize,
    /// Users who wait for their due times.
    timetable: Timetable,
    /// Users who wait in the middle of a flow.
    pauses: Timetable,
}

impl<'a> Arrivals<'a> {
    pub(in crate::engine) fn new(
        pacer: Box<dyn Pacer + 'a>,
        mix: RequestMix,
        depth: usize,
    ) -> Self {
        Self {
            pacer,
            mix,
            depth,
            timetable: Timetable::default(),
            pauses: Timetable::default(),
        }
    }

    /// Starts the load on one connection.
    pub(super) fn begin_with<W: Wire>(&mut self, to: &mut Connections<'_, W>, index: usize) {
        if to.ledger.is_stream(index) {
            to.begin_stream(index, self.mix.next());
        } else if self.pacer.needs_connections() {
            // So that it is open when its arrivals are due.
            to.open(index);
        } else {
            self.free(to, index);
        }
    }

    /// The pause of a connection is over.
    pub(super) fn resume<W: Wire>(&mut self, to: &mut Connections<'_, W>, index: usize) {
        if !to.all[index].in_flight.is_empty() {
            to.open(index);
        } else if to.ledger.is_stream(index) {
            to.begin_stream(index, self.mix.next());
        } else {
            self.free(to, index);
        }
    }

    /// The connection has room for requests: begins the next ones now, later or never.
    #[inline]
    pub(super) fn free<W: Wire>(&mut self, to: &mut Connections<'_, W>, index: usize) {
        if to.ledger.is_stream(index) {
            return to.continue_stream(index);
        }
        if !to.all[index].is_retrying() && !to.all[index].is_timed {
            self.fill(to, index);
        }
        to.flush(index);
    }

    /// Begins requests until the connection has no more room, or the next one is not due.
    #[inline]
    fn fill<W: Wire>(&mut self, to: &mut Connections<'_, W>, index: usize) {
        let mut left = BEGIN_AT_ONCE.max(self.depth);
        while to.all[index].has_room(self.depth) {
            let now = to.ledger.horizon();
            if left == 0 {
                // A user with thousands of requests too late to send yields to the others.
                to.all[index].is_timed = true;
                return self.timetable.add(now, index);
            }
            left -= 1;
            if to.ledger.is_in_flow(index) {
                if !self.go_on(to, index) {
                    return;
                }
                continue;
            }
            match self.pacer.next(to.ledger.user(index), now) {
                Next::Now(arrival) => self.begin(to, index, arrival),
                Next::At(due) => {
                    to.all[index].is_timed = true;
                    return self.timetable.add(due, index);
                }
                Next::Wait => return wait_for_arrival(to, index),
                Next::Never => return,
            }
        }
    }

    /// The earliest instant at which something should begin.
    #[inline]
    pub(super) fn next_due<W: Wire>(&self, to: &Connections<'_, W>) -> Nanoseconds {
        let arrival = if !to.idle.is_empty() || to.opens_for_each_arrival() {
            self.pacer.next_arrival()
        } else if to.growth.is_possible() {
            self.pacer.next_arrival().max(to.growth.next_look())
        } else {
            Nanoseconds::MAX
        };
        let due = self.timetable.next().min(arrival);
        // What is due after the end of the phase does not begin in it, but what has begun goes on.
        let begins = if due < to.ledger.phases.current.ends {
            due
        } else {
            Nanoseconds::MAX
        };
        begins.min(self.pauses.next())
    }

    /// Begins the requests that are due.
    pub(super) fn begin_due<W: Wire>(&mut self, to: &mut Connections<'_, W>) {
        if self.next_due(to) == Nanoseconds::MAX {
            return;
        }
        to.ledger.read_clock();
        for _ in 0..BEGIN_AT_ONCE {
            let Some(index) = self.timetable.take_due(to.ledger.horizon()) else {
                break;
            };
            self.wake(to, index);
        }
        for _ in 0..BEGIN_AT_ONCE {
            let Some(index) = self.pauses.take_due(to.ledger.now) else {
                break;
            };
            self.wake(to, index);
        }
        for _ in 0..BEGIN_AT_ONCE {
            let at = self.pacer.next_arrival();
            if at > to.ledger.horizon() {
                break;
            }
            if !self.give_arrival(to, at) {
                self.grow(to);
                break;
            }
            to.ledger.read_clock();
        }
    }

    /// The time for which a user waited has come.
    fn wake<W: Wire>(&mut self, to: &mut Connections<'_, W>, index: usize) {
        to.all[index].is_timed = false;
        self.free(to, index);
        to.ledger.read_clock();
    }

    /// Gives an arrival of the shared schedule to a free connection; returns false if none is free.
    fn give_arrival<W: Wire>(&mut self, to: &mut Connections<'_, W>, at: Nanoseconds) -> bool {
        self.drop_lost_idle(to);
        let can_take = !to.idle.is_empty() || to.opens_for_each_arrival();
        if !can_take || !self.pacer.take_arrival() {
            return false;
        }
        let idle = to.idle.take();
        let Idle { index, since } = idle.unwrap_or_else(|| Idle {
            index: to.add(),
            since: at,
        });
        // Until that connection was free, the request waited for connections that were being set up.
        let waited_for_set_up = to.growth.are_awaited() || to.all[index].requests == 0;
        to.ledger.tally.schedule.set_up_waits += u64::from(since > at && waited_for_set_up);
        let free_since = since;
        self.begin(to, index, Arrival::Scheduled { at, free_since });
        if to.ledger.is_in_flow(index) {
            self.free(to, index);
            return true;
        }
        to.flush(index);
        if to.all[index].has_room(self.depth) {
            wait_for_arrival(to, index);
        }
        true
    }

    /// Drops connections from the front of the queue that were lost, or lost their room, while they waited. One with
    /// room again waits again.
    pub(super) fn drop_lost_idle<W: Wire>(&self, to: &mut Connections<'_, W>) {
        let all = &to.all;
        to.idle.drop_lost(|index| all[index].has_room(self.depth));
    }

    /// Opens more connections, if the requests that wait need them.
    fn grow<W: Wire>(&mut self, to: &mut Connections<'_, W>) {
        let now = to.ledger.now;
        if !to.growth.is_possible() || now < to.growth.next_look() {
            return;
        }
        let mut load = to.all[to.ledger.streams..].iter();
        // A server that refuses connections, or a lack of ports, does not get better by more of them.
        let waiting = if load.any(|it| it.is_retrying()) {
            0
        } else {
            self.pacer.waiting(to.ledger.horizon())
        };
        for _ in 0..to.growth.more(now, waiting) {
            let index = to.add();
            to.open(index);
        }
    }

    /// The user of the connection goes on in its flow, with a request or to its end. Returns false if the user waits.
    fn go_on<W: Wire>(&mut self, to: &mut Connections<'_, W>, index: usize) -> bool {
        let ledger = &mut to.ledger;
        let (user, now) = (ledger.user(index), ledger.now);
        let Some(flows) = &mut ledger.flows else {
            return true;
        };
        match flows.step(user, now, &ledger.phases.current, ledger.tally.flows()) {
            Step::Send { entry, from } => {
                // What counts is when its flow began.
                to.begin(index, entry, from, false);
                true
            }
            Step::Pause(until) => {
                to.all[index].is_timed = true;
                self.pauses.add(until, index);
                to.check_warmup_end();
                false
            }
            Step::Ended => {
                to.check_warmup_end();
                true
            }
        }
    }

    /// Begins a request, or a flow of requests; if it is too late to send, that is its outcome.
    #[inline]
    fn begin<W: Wire>(&mut self, to: &mut Connections<'_, W>, index: usize, arrival: Arrival) {
        let (mut due, mut queued) = (None, false);
        if let Arrival::Scheduled { at, free_since } = arrival {
            let was_refused = to.all[index].refusals > 0;
            if !to.ledger.arrived(at, free_since, was_refused) {
                return;
            }
            (due, queued) = (Some(at), free_since > at);
        }
        let ledger = &mut to.ledger;
        let (user, now) = (ledger.user(index), ledger.now);
        match &mut ledger.flows {
            None => to.begin(index, self.mix.next(), due, queued),
            Some(flows) => {
                let begin = Begin {
                    due: due.unwrap_or(now),
                    at: now,
                    queued,
                };
                flows.begin(user, begin, due);
            }
        }
    }
}

/// The connection takes the next arrival of the shared schedule. One that is not open, and does not open at once, must
/// not: its arrivals would wait while other connections are idle.
fn wait_for_arrival<W: Wire>(to: &mut Connections<'_, W>, index: usize) {
    if matches!(to.all[index].activity, Activity::Open | Activity::Closed) {
        to.idle.add(index, to.ledger.now);
    }
}
