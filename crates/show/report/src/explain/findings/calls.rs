//! System calls: how many, and what they tell.

use prony_model::CostFigure;
use prony_present::number::about_times;
use prony_present::words::{Joined, non_empty};
use prony_stats::Estimate;

use super::{NAMED, above, below, each, named};
use crate::explain::costs::ServerCosts;
use crate::explain::summary::WorkloadCosts;

/// The servers differ if one makes this many times the system calls of another.
const LEAST_RATIO: f64 = 1.2;
/// A call is named if a request makes it at least this often.
const NAMED_FROM: f64 = 0.05;
const MOST_NAMED: usize = 4;

/// How many system calls a request makes: those of the server with the most by name. Of several servers only if they differ.
pub(super) fn number(workload: &WorkloadCosts<'_>) -> Option<String> {
    let mut servers: Vec<(&ServerCosts<'_>, &Estimate)> = workload
        .servers
        .iter()
        .filter_map(|server| Some((server, server.figure(CostFigure::SystemCalls)?)))
        .filter(|(_, calls)| calls.n > 1)
        .collect();
    servers.sort_by(|a, b| b.1.median.total_cmp(&a.1.median));
    let ((most, times), least) = (servers.first()?, servers.last()?.1);
    if servers.len() > 1 {
        above(Some(times), least.high * LEAST_RATIO)?;
    }
    let first = format!(
        "{}: {} system calls {}{}",
        most.server(),
        about_times(times.median),
        each(workload.unit),
        by_name(most)
    );
    let others = servers.iter().skip(1);
    let others =
        others.map(|(server, calls)| format!("{}: {}", server.server(), about_times(calls.median)));
    let others: Vec<String> = others.collect();
    // Of many, the ends.
    let (shown, rest) = match others.len().checked_sub(NAMED) {
        Some(rest @ 1..) => (
            [&others[..NAMED - 1], &others[others.len() - 1..]].concat(),
            rest,
        ),
        _ => (others, 0),
    };
    let rest = if rest > 0 {
        format!(" ({rest} more in between)")
    } else {
        String::new()
    };
    let all = std::iter::once(first).chain(shown).joined("; ");
    Some(format!("{all}{rest}."))
}

/// ` (read 1.0, write 1.0)`
fn by_name(server: &ServerCosts<'_>) -> String {
    let calls = server.system_calls.iter();
    let calls = calls.map(|(name, times)| (*name, times.median));
    let mut calls: Vec<(&str, f64)> = calls.filter(|(_, times)| *times >= NAMED_FROM).collect();
    calls.sort_by(|a, b| b.1.total_cmp(&a.1));
    let names = calls.iter().take(MOST_NAMED);
    let names = names.map(|(name, times)| format!("{name} {}", about_times(*times)));
    let names = non_empty(names.joined(", "));
    names.map_or(String::new(), |names| format!(" ({names})"))
}

/// Threads wake each other if a request takes at least this many futex calls and wake-ups.
const LEAST_FUTEX: f64 = 0.5;
const LEAST_WAKE_UPS: f64 = 1.0;

/// Which servers hand requests from thread to thread.
pub(super) fn hand_offs(workload: &WorkloadCosts<'_>) -> Option<String> {
    let servers = named(workload, |server| {
        let futex = above(server.call("futex"), LEAST_FUTEX)?;
        let wake_ups = above(server.figure(CostFigure::WakeUps), LEAST_WAKE_UPS)?;
        above(server.figure(CostFigure::Threads), 1.5)?;
        let words = format!(
            "{} futex calls and {} wake-ups {}",
            about_times(futex),
            about_times(wake_ups),
            each(workload.unit)
        );
        Some((futex, words))
    })?;
    let servers = servers.words;
    Some(format!(
        "Threads of {servers} wait for each other and wake each other while they serve."
    ))
}

/// A server changes its epoll set often if it does so at least this often for each request.
const LEAST_EPOLL_CTL: f64 = 0.5;

/// Which servers change what they wait for with nearly every request.
pub(super) fn epoll_ctl(workload: &WorkloadCosts<'_>) -> Option<String> {
    let servers = named(workload, |server| {
        let calls = above(server.call("epoll_ctl"), LEAST_EPOLL_CTL)?;
        Some((calls, about_times(calls)))
    })?;
    let servers = servers.and("changes", "change");
    Some(format!(
        "{servers} the set of sockets to wait for again and again (epoll_ctl, times {}), at one system call each.",
        each(workload.unit)
    ))
}

/// With io_uring, writes are no system calls: fewer than this for each request.
const FEW_WRITES: f64 = 0.05;

/// Which servers send through io_uring.
pub(super) fn io_uring(workload: &WorkloadCosts<'_>) -> Option<String> {
    let servers = named(workload, |server| {
        let enter = above(server.call("io_uring_enter"), 0.0)?;
        below(server.figure(CostFigure::Writes), FEW_WRITES)?;
        Some((enter, format!("io_uring_enter {}", about_times(enter))))
    })?;
    let servers = servers.and("reads and writes", "read and write");
    Some(format!(
        "{servers} through io_uring; what is sent that way is no system call, and no write in the table."
    ))
}

#[cfg(test)]
mod tests {
    use super::super::tests::assert_says;
    use super::*;

    #[test]
    fn the_calls_of_the_server_with_the_most_are_named() {
        assert_says(
            number,
            "
            rust-hyper system-calls=2 + go-nethttp system-calls=3.4 read()=1 write()=1 epoll_pwait()=0.9 futex()=0.5 nanosleep()=0.06 madvise()=0.01 | go-nethttp: 3.4 system calls a request (read 1.0, write 1.0, epoll_pwait 0.9, futex 0.5); rust-hyper: 2.0.
            go-nethttp system-calls=3.4 read()=1 write()=1 epoll_pwait()=0.9 futex()=0.5 nanosleep()=0.06 | …futex 0.5).
            // Of many servers the ends are named.
            s1 system-calls=1 + s2 system-calls=2 + s3 system-calls=3 + s4 system-calls=4 + s5 system-calls=5 + s6 system-calls=6 + s7 system-calls=7 + s8 system-calls=8 + s9 system-calls=9 | s9: 9.0 system calls a request; s8: 8.0;…; s1: 1.0 (4 more in between).
            // Servers with about as many calls are not mentioned.
            a system-calls=2.5 + b system-calls=2 | …
            a system-calls=2.4 + b system-calls=2 | -
            ",
        );
    }

    #[test]
    fn threads_hand_over_with_futex_calls_and_wake_ups() {
        assert_says(
            hand_offs,
            "
            go futex()=1.2 wake-ups=1.5 threads=4 | Threads of go (1.2 futex calls and 1.5 wake-ups a request) wait for each other and wake each other while they serve.
            go futex()=0.52 wake-ups=1.04 threads=2 | …
            go futex()=0.5 wake-ups=1.5 threads=4 | -
            go futex()=1.2 wake-ups=1 threads=4 | -
            // One thread has no other.
            go futex()=1.2 wake-ups=1.5 threads=1 | -
            ",
        );
    }

    #[test]
    fn a_changing_epoll_set_is_mentioned_from_every_second_request_on() {
        assert_says(
            epoll_ctl,
            "
            a epoll_ctl()=1 | a (1.0) changes the set of sockets…
            a epoll_ctl()=0.52 | …
            a epoll_ctl()=0.5 | -
            ",
        );
    }

    #[test]
    fn only_servers_that_hardly_write_by_system_calls_send_through_io_uring() {
        assert_says(
            io_uring,
            "
            a io_uring_enter()=0.3 writes=0.04 | a (io_uring_enter 0.3) reads and writes through io_uring…
            a io_uring_enter()=0.3 writes=0.05 | -
            a io_uring_enter()=0 writes=0 | -
            ",
        );
    }
}
