//! When requests begin.

use prony_model::Outcome;

use super::growth::Needs;
use super::{BEGIN_AT_ONCE, Worker};
use crate::engine::clock::Nanoseconds;
use crate::engine::connection::{Activity, Connection, InFlight, Role};
use crate::engine::flows::Step;
use crate::engine::pacer::{Arrival, Next};
use crate::engine::phase::Begin;
use crate::wire::Wire;

impl<W: Wire> Worker<'_, W> {
    /// Starts the load on one connection.
    pub(super) fn begin_with(&mut self, index: usize) {
        if self.connections[index].role == Role::Stream {
            return self.begin_stream(index);
        }
        if self.pacer.needs_connections() {
            // So that it is open when its arrivals are due.
            self.open(index);
        } else {
            self.free(index);
        }
    }

    /// The connection has room for requests: begins the next ones now, later or never.
    #[inline]
    pub(super) fn free(&mut self, index: usize) {
        if self.connections[index].role == Role::Stream {
            return self.reopen_stream(index);
        }
        if matches!(self.connections[index].activity, Activity::Retrying { .. })
            || self.connections[index].is_timed
        {
            return self.flush(index);
        }
        let mut left = BEGIN_AT_ONCE.max(self.shared.plan.pipeline);
        while self.has_room(index) {
            let now = self.horizon();
            if left == 0 {
                // A user with thousands of requests too late to send yields to the others.
                self.connections[index].is_timed = true;
                self.timetable.add(now, index);
                break;
            }
            left -= 1;
            if self.is_in_flow(index) {
                if self.go_on(index) {
                    continue;
                } else {
                    break;
                }
            }
            match self.pacer.next(index - self.share.streams, now) {
                Next::Now(arrival) => {
                    self.begin(index, arrival);
                }
                Next::At(due) => {
                    self.connections[index].is_timed = true;
                    self.timetable.add(due, index);
                    break;
                }
                Next::Wait => {
                    self.wait_for_arrival(index);
                    break;
                }
                Next::Never => break,
            }
        }
        self.flush(index);
    }

    #[inline]
    fn has_room(&self, index: usize) -> bool {
        let connection = &self.connections[index];
        let in_flight = connection.in_flight.len();
        // One request may wait for room, so that it times out if the server never gives any. More would only wait in
        // line, also while the connection opens.
        let wire_has_room =
            in_flight == 0 || in_flight - connection.passed < connection.wire.room();
        in_flight < self.shared.plan.pipeline && !connection.is_used_up && wire_has_room
    }

    /// The earliest instant at which something should begin.
    #[inline]
    pub(super) fn next_due(&self) -> Nanoseconds {
        let arrival = if !self.idle.is_empty() || self.opens_for_each_arrival() {
            self.pacer.next_arrival()
        } else if self.can_grow() {
            self.pacer.next_arrival().max(self.growth.next_look())
        } else {
            Nanoseconds::MAX
        };
        let due = self.timetable.next().min(arrival);
        // What is due after the end of the phase does not begin in it, but what has begun goes on.
        let begins = if due < self.phase.ends {
            due
        } else {
            Nanoseconds::MAX
        };
        begins.min(self.pauses.next())
    }

    /// Whether each arrival opens a connection of its own: because none carries a second request, or none is open that could
    /// become free for it.
    fn opens_for_each_arrival(&self) -> bool {
        let none_is_left_open = self.open == 0 || self.shared.is_without_keep_alive();
        none_is_left_open && self.can_grow()
    }

    pub(super) fn can_grow(&self) -> bool {
        self.connections.len() - self.share.streams < self.share.most_connections
    }

    /// Begins the requests that are due.
    pub(super) fn begin_due(&mut self) {
        if self.next_due() == Nanoseconds::MAX {
            return;
        }
        self.read_clock();
        for _ in 0..BEGIN_AT_ONCE {
            let Some(index) = self.timetable.take_due(self.horizon()) else {
                break;
            };
            self.connections[index].is_timed = false;
            self.free(index);
            self.read_clock();
        }
        for _ in 0..BEGIN_AT_ONCE {
            let Some(index) = self.pauses.take_due(self.now) else {
                break;
            };
            self.connections[index].is_timed = false;
            self.free(index);
            self.read_clock();
        }
        for _ in 0..BEGIN_AT_ONCE {
            let at = self.pacer.next_arrival();
            if at > self.horizon() {
                break;
            }
            if !self.give_arrival(at) {
                self.grow();
                break;
            }
            self.read_clock();
        }
    }

    /// Gives an arrival of the shared schedule to a free connection; returns false if none is free.
    fn give_arrival(&mut self, at: Nanoseconds) -> bool {
        self.drop_lost_idle();
        let can_take = !self.idle.is_empty() || self.opens_for_each_arrival();
        if !can_take || !self.pacer.take_arrival() {
            return false;
        }
        let (index, free_since) = match self.take_idle() {
            Some(idle) => idle,
            None => (self.add_connection(), at),
        };
        self.tally.schedule.set_up_waits +=
            u64::from(free_since > at && self.waited_for_set_up(index));
        self.begin(index, Arrival::Scheduled { at, free_since });
        if self.is_in_flow(index) {
            self.free(index);
            return true;
        }
        self.flush(index);
        if self.has_room(index) {
            self.wait_for_arrival(index);
        }
        true
    }

    /// The connection takes the next arrival of the shared schedule. One that is not open, and does not open at once,
    /// must not: its arrivals would wait while other connections are idle.
    fn wait_for_arrival(&mut self, index: usize) {
        let connection = &mut self.connections[index];
        let is_ready = matches!(connection.activity, Activity::Open | Activity::Closed);
        if is_ready && connection.waiting_since.is_none() {
            connection.waiting_since = Some(self.now);
            self.idle.push_back(index);
        }
    }

    /// The connection that has waited longest for an arrival, and since when.
    fn take_idle(&mut self) -> Option<(usize, Nanoseconds)> {
        let index = self.idle.pop_front()?;
        let since = self.connections[index].waiting_since.take()?;
        Some((index, since))
    }

    /// Drops connections from the front of the queue that were lost, or lost their room, while they waited. One with
    /// room again waits again.
    fn drop_lost_idle(&mut self) {
        while let Some(&index) = self.idle.front()
            && !(self.connections[index].waiting_since.is_some() && self.has_room(index))
        {
            self.connections[index].waiting_since = None;
            self.idle.pop_front();
        }
    }

    /// Since when a connection has waited for an arrival, if one does.
    fn free_since(&self) -> Option<Nanoseconds> {
        self.connections[*self.idle.front()?].waiting_since
    }

    /// Opens more connections, if the requests that wait need them.
    fn grow(&mut self) {
        if !self.can_grow() || self.now < self.growth.next_look() {
            return;
        }
        let horizon = self.horizon();
        let is_retrying = |it: &Connection<W>| {
            it.role == Role::Load && matches!(it.activity, Activity::Retrying { .. })
        };
        // A server that refuses connections, or a lack of ports, does not get better by more of them.
        let waiting = if self.connections.iter().any(is_retrying) {
            0
        } else {
            self.pacer.waiting(horizon)
        };
        let all = self.connections.len() - self.share.streams;
        let needs = Needs {
            waiting,
            depth: self.shared.plan.pipeline,
            connections: all.saturating_sub(self.growth.setting_up()),
        };
        let more = self.growth.more(self.now, needs);
        for _ in 0..more.min(self.share.most_connections - all) {
            let index = self.add_connection();
            self.open(index);
        }
    }

    /// Whether a request that waited until that connection was free waited for connections that were being set up.
    fn waited_for_set_up(&self, index: usize) -> bool {
        self.growth.are_awaited() || self.connections[index].requests == 0
    }

    /// Adds a connection, which is not open.
    fn add_connection(&mut self) -> usize {
        let connection = Connection::new((self.new_wire)(), Role::Load);
        self.connections.push(connection);
        self.connections.len() - 1
    }

    #[inline]
    fn is_in_flow(&self, index: usize) -> bool {
        let flows = self.flows.as_ref();
        flows.is_some_and(|flows| flows.is_in_flow(index - self.share.streams))
    }

    /// The user of the connection goes on in its flow, with a request or to its end. Returns false if the user waits.
    fn go_on(&mut self, index: usize) -> bool {
        let user = index - self.share.streams;
        let Some(flows) = &mut self.flows else {
            return true;
        };
        match flows.step(user, self.now, &self.phase, self.tally.flows()) {
            Step::Send { entry, from } => {
                // What counts is the begin of its flow.
                self.begin_request(index, entry, from, false);
                true
            }
            Step::Pause(until) => {
                self.connections[index].is_timed = true;
                self.pauses.add(until, index);
                self.check_warmup_end();
                false
            }
            Step::Ended => {
                self.check_warmup_end();
                true
            }
        }
    }

    /// Begins a request, or a flow of requests; if it is too late to send, that is its outcome.
    #[inline]
    fn begin(&mut self, index: usize, arrival: Arrival) {
        let mut from = None;
        let mut queued = false;
        if let Arrival::Scheduled { at, free_since } = arrival {
            queued = free_since > at;
            let in_time = self.latest_send(at) > self.now;
            self.count_arrival(index, at, free_since, in_time);
            if !in_time {
                return self.shed(at);
            }
            from = Some(at);
        }
        match &mut self.flows {
            None => {
                let number = self.mix.next();
                self.begin_request(index, number, from, queued);
            }
            Some(flows) => {
                let begin = Begin {
                    due: from.unwrap_or(self.now),
                    at: self.now,
                    queued,
                };
                flows.begin(index - self.share.streams, begin, from);
            }
        }
    }

    /// Begins a request, whose latency runs from its due time if there is one.
    #[inline]
    fn begin_request(
        &mut self,
        index: usize,
        number: usize,
        from: Option<Nanoseconds>,
        queued: bool,
    ) {
        self.in_flight += 1;
        let latest_send = from.map_or(Nanoseconds::MAX, |at| self.latest_send(at));
        // Until it is sent.
        let deadline = self.latest_response(from).min(latest_send);
        let traced = self.recorder.trace.as_mut().and_then(|trace| {
            let connection = index - self.share.streams;
            trace.begin(connection, number, from, self.now)
        });
        let connection = &mut self.connections[index];
        connection.requests += 1;
        let most = self.shared.plan.requests_per_connection;
        connection.in_flight.push_back(InFlight {
            number,
            from,
            begun: self.now,
            deadline,
            queued,
            excess: connection.excess.take(),
            last: most.is_some_and(|most| connection.requests >= most.get()),
            traced,
            ..InFlight::default()
        });
        connection.is_used_up = most.is_some_and(|most| connection.requests >= most.get());
        match connection.activity {
            Activity::Open if connection.wire.room() > 0 => self.pass_to_wire(index),
            Activity::Closed => self.open(index),
            Activity::Open
            | Activity::Connecting { .. }
            | Activity::Handshaking { .. }
            | Activity::Retrying { .. } => {
                self.watch_deadline(index, deadline);
            }
        }
    }

    /// Until when a request due at `at` may be sent.
    pub(super) fn latest_send(&self, at: Nanoseconds) -> Nanoseconds {
        let after = self.deadline.unwrap_or(Nanoseconds::MAX);
        at.saturating_add(after)
    }

    /// Until when the response to a request sent now may arrive.
    #[inline]
    pub(super) fn latest_response(&self, scheduled: Option<Nanoseconds>) -> Nanoseconds {
        let latest = self.now.saturating_add(self.timeout);
        match scheduled {
            Some(at) if self.deadline_binds_responses => latest.min(self.latest_send(at)),
            _ => latest,
        }
    }

    #[inline]
    fn count_arrival(
        &mut self,
        index: usize,
        at: Nanoseconds,
        free_since: Nanoseconds,
        in_time: bool,
    ) {
        let is_refused = self.connections[index].refusals > 0;
        let schedule = &mut self.tally.schedule;
        if at >= self.phase.began {
            schedule.due += 1;
            schedule.sent += u64::from(in_time);
        }
        schedule.queued += u64::from(free_since > at);
        schedule.bound_hits += u64::from(free_since > at && !is_refused);
        if in_time {
            // The generator is not to blame while the user was busy.
            let lag = self.now.saturating_sub(at.max(free_since));
            schedule.begun(lag, self.phase.is_second_half(at));
        }
    }

    #[cold]
    fn shed(&mut self, at: Nanoseconds) {
        let deadline = self.shared.plan.deadline.unwrap_or_default();
        let detail = format!(
            "no connection was free until more than {deadline:?} after the request was due"
        );
        if self.flows.is_some() {
            self.tally.flows().shed(&detail);
        }
        if let Some(stage) = self.stage_of(at) {
            self.tally.stage(stage).outcomes[Outcome::Shed] += 1;
        }
        self.tally.not_ok(Outcome::Shed, || detail);
    }

    /// At the end of the load, counts overdue requests as unfinished.
    pub(super) fn count_overdue(&mut self) {
        let horizon = self.horizon();
        self.drop_lost_idle();
        let free_since = self.free_since();
        let overdue = self.pacer.overdue(horizon, self.phase.began);
        self.count_unfinished(0, overdue.count);
        if self.flows.is_some() {
            self.tally.flows().unfinished += overdue.count;
        }
        let schedule = &mut self.tally.schedule;
        schedule.due += overdue.in_phase;
        if let Some(since) = free_since {
            // Before that the server kept all connections.
            schedule.behind_by = self.now.saturating_sub(overdue.first.max(since));
            return;
        }
        schedule.queued += overdue.count;
        let load = &self.connections[self.share.streams..];
        if load.iter().all(|it| it.refusals == 0) {
            schedule.bound_hits += overdue.count;
        }
    }
}
