//! How a server writes its responses.

use prony_model::{CostFigure, CostUnit};
use prony_present::load::ack_wait;
use prony_present::number::about_times;
use prony_present::words::{Joined, non_empty};

use super::{NAMED, above, below, named, range_of_others, sent};
use crate::explain::costs::ServerCosts;
use crate::explain::summary::WorkloadCosts;

/// From this many writes or segments on, something is sent in parts.
const APART: f64 = 1.5;

/// Which servers write a response or event in parts.
pub(super) fn apart(workload: &WorkloadCosts<'_>) -> Option<String> {
    let times = |server: &ServerCosts<'_>| above(server.figure(CostFigure::Writes), APART);
    let named = named(workload, |server| {
        let times = times(server)?;
        Some((times, about_times(times)))
    })?;
    let servers = workload.servers.iter();
    let found: Vec<_> = servers.filter(|server| times(server).is_some()).collect();
    let names: Vec<&str> = found.iter().map(|server| server.server()).collect();
    let lows = found.iter().filter_map(|it| it.figure(CostFigure::Writes));
    let lowest = lows.map(|it| it.low).fold(f64::INFINITY, f64::min);
    let others = range_of_others(workload, &names, |server| server.figure(CostFigure::Writes));
    let others = others.filter(|others| others.highest_end < lowest);
    let others = others.map_or_else(String::new, |others| format!(", {}", others.words()));
    let what = sent(workload.unit);
    let mut segments = found.iter().map(|it| it.figure(CostFigure::Segments));
    let in_parts = segments.all(|segments| above(segments, APART).is_some());
    let reason = if !in_parts {
        String::new()
    } else if named.is_one {
        format!("; it sends {what} in parts")
    } else {
        format!("; they send {what} in parts")
    };
    let verb = if named.is_one { "writes" } else { "write" };
    let sentence = match found.as_slice() {
        [server] => {
            let times = about_times(times(server)?);
            format!("{} {verb} {times} times", server.server())
        }
        _ => format!("{} {verb} several times", named.words),
    };
    Some(format!("{sentence} {what}{others}{reason}."))
}

/// Which servers' responses wait for the acknowledgement of their first part.
pub(super) fn awaited(workload: &WorkloadCosts<'_>) -> Option<String> {
    let sentences = workload.servers.iter().filter_map(|server| {
        let waits = above(server.figure(CostFigure::AckWaits), 0.0)?;
        Some(format!("{}: {}.", server.server(), ack_wait(waits)))
    });
    non_empty(sentences.take(NAMED).joined(" "))
}

/// Below this many writes, one write has several responses or events.
const TOGETHER: f64 = 0.75;
/// Below this, too few writes were seen: the server sends in another way.
const HARDLY_ANY: f64 = 0.01;

/// Which servers send several responses or events with one write.
pub(super) fn together(workload: &WorkloadCosts<'_>) -> Option<String> {
    let named = named(workload, |server| {
        let writes = server.figure(CostFigure::Writes);
        let times = below(writes, TOGETHER).and(above(writes, HARDLY_ANY))?;
        let by_calls_alone =
            !server.system_calls.is_empty() && server.call("io_uring_enter").is_none();
        by_calls_alone.then(|| (-times, about_times(times)))
    })?;
    let what = match workload.unit {
        CostUnit::Request => "responses",
        CostUnit::Event => "events",
    };
    Some(format!(
        "{} less than once {}; one write often has several {what}.",
        named.and("writes", "write"),
        sent(workload.unit)
    ))
}

/// A response takes more segments than writes from this ratio and this difference on.
const MORE: f64 = 1.2;
const MORE_BY: f64 = 0.3;
/// With fewer writes than this, the server sends in another way.
const FEW_WRITES: f64 = 0.05;

/// Which servers' writes become several TCP segments.
pub(super) fn segments(workload: &WorkloadCosts<'_>) -> Option<String> {
    let servers = named(workload, |server| {
        let writes = server.figure(CostFigure::Writes)?;
        let limit = (writes.high * MORE).max(writes.high + MORE_BY);
        let segments = above(server.figure(CostFigure::Segments), limit)?;
        let writes = about_times(above(Some(writes), FEW_WRITES)?);
        let words = format!("{} segments, {writes} writes", about_times(segments));
        Some((segments, words))
    })?;
    let servers = servers.and("needs", "need");
    Some(format!(
        "{servers} more TCP segments than writes for {}.",
        sent(workload.unit)
    ))
}

#[cfg(test)]
mod tests {
    use super::super::tests::assert_says;
    use super::*;

    #[test]
    fn a_server_that_sends_in_parts_stands_out() {
        assert_says(
            apart,
            "
            python-x writes=21 segments=21 write()=21 + go writes=1 segments=1 write()=1 + rust writes=1.2 segments=1 write()=1.2 | python-x writes 21.0 times a response, the others 1.0 to 1.2; it sends a response in parts.
            a writes=3 segments=3 write()=3 + b writes=2 segments=2 write()=2 + c writes=1 segments=1 write()=1 | a (3.0) and b (2.0) write several times a response, the other 1.0; they send a response in parts.
            a events writes=4 segments=4 | a writes 4.0 times an event; it sends an event in parts.
            // Writes beside a response in one segment are no parts of it.
            node writes=2 segments=1 write()=2 + go writes=1 segments=1 write()=1 | node writes 2.0 times a response, the other 1.0.
            // Parts begin above one and a half writes.
            a writes=1.56 segments=1.56 write()=1.56 | …
            a writes=1.5 segments=1.5 write()=1.5 | -
            // Others whose interval overlaps are not named.
            a writes=1.9 segments=1.9 write()=1.9 + b writes=1,1.1,2.2,1.2,1.3 | a writes 1.9 times a response; it sends a response in parts.
            ",
        );
    }

    #[test]
    fn responses_that_wait_for_an_acknowledgement_are_the_first_thing_to_know() {
        assert_says(
            awaited,
            "
            python ack-waits=1 + go ack-waits=0 | python: each response waits 40 ms: the server writes its head and body apart, and the second part is sent when…
            a ack-waits=0.5 | a: 50 % of the responses wait 40 ms:…
            a ack-waits=0 | -
            ",
        );
    }

    #[test]
    fn several_events_share_a_write_below_three_quarters_of_a_write() {
        assert_says(
            together,
            "
            a events writes=0.2 write()=0.2 | a (0.2) writes less than once an event; one write often has several events.
            a events writes=0.72 write()=0.72 | …
            a events writes=0.75 write()=0.75 | -
            // It sends in another way.
            a events writes=0.009 write()=0.009 | -
            a writes=0.2 io_uring_enter()=1 | -
            ",
        );
    }

    #[test]
    fn more_segments_than_writes_are_told() {
        assert_says(
            segments,
            "
            a writes=1 segments=3 write()=1 | a (3.0 segments, 1.0 writes) needs more TCP segments than writes for a response.
            a writes=1 segments=1.4 write()=1 | …
            a writes=1 segments=1.3 write()=1 | -
            a writes=0.05 segments=3 write()=0.05 | -
            ",
        );
    }
}
