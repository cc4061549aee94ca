//! System calls: how many, and what they tell.

use prony_model::CostFigure;
use prony_present::number::about_times;
use prony_stats::Estimate;

use super::{Case, NAMED, above, below, each, named};
use crate::costs::ServerCosts;
use crate::summary::WorkloadCosts;

/// The servers differ if one makes this many times the system calls of another.
const LEAST_RATIO: f64 = 1.2;
/// A call is named if a request makes it at least this often.
const NAMED_FROM: f64 = 0.05;
/// The most calls that are named.
const MOST_NAMED: usize = 4;

/// How many system calls a request makes: those of the server with the most by name. Of several servers only if they differ.
pub fn number(workload: &WorkloadCosts<'_>) -> Option<String> {
    let mut servers: Vec<(&ServerCosts<'_>, &Estimate)> = workload
        .servers
        .iter()
        .filter_map(|server| Some((server, server.figure(CostFigure::SystemCalls)?)))
        .filter(|(_, calls)| calls.n > 1)
        .collect();
    servers.sort_by(|a, b| b.1.median.total_cmp(&a.1.median));
    let ((most, times), least) = (servers.first()?, servers.last()?.1);
    if servers.len() > 1 && !above(times, least.high * LEAST_RATIO) {
        return None;
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
    let all: Vec<String> = std::iter::once(first).chain(shown).collect();
    Some(format!("{}{rest}.", all.join("; ")))
}

/// ` (read 1.0, write 1.0)`
fn by_name(server: &ServerCosts<'_>) -> String {
    let mut calls: Vec<(&str, f64)> = server
        .system_calls
        .iter()
        .map(|(name, times)| (*name, times.median))
        .filter(|(_, times)| *times >= NAMED_FROM)
        .collect();
    calls.sort_by(|a, b| b.1.total_cmp(&a.1));
    let names = calls.iter().take(MOST_NAMED);
    let names: Vec<String> = names
        .map(|(name, times)| format!("{name} {}", about_times(*times)))
        .collect();
    match names.is_empty() {
        true => String::new(),
        false => format!(" ({})", names.join(", ")),
    }
}

/// Threads wake each other if a request takes at least this many futex calls and wake-ups.
const LEAST_FUTEX: f64 = 0.5;
const LEAST_WAKE_UPS: f64 = 1.0;

/// Which servers hand requests from thread to thread.
pub fn hand_offs(workload: &WorkloadCosts<'_>) -> Option<String> {
    let cases = workload.servers.iter().filter_map(|server| {
        let futex = server
            .call("futex")
            .filter(|futex| above(futex, LEAST_FUTEX))?;
        let wake_ups = server.figure(CostFigure::WakeUps);
        let wake_ups = wake_ups.filter(|wake_ups| above(wake_ups, LEAST_WAKE_UPS))?;
        let has_threads = server
            .figure(CostFigure::Threads)
            .is_some_and(|threads| above(threads, 1.5));
        let (futex, wake_ups) = (futex.median, wake_ups.median);
        let words = format!(
            "{} futex calls and {} wake-ups {}",
            about_times(futex),
            about_times(wake_ups),
            each(workload.unit)
        );
        has_threads.then(|| Case::new(server, futex, words))
    });
    let servers = named(cases.collect())?.words;
    Some(format!(
        "Threads of {servers} wait for each other and wake each other while they serve."
    ))
}

/// A server changes its epoll set often if it does so at least this often for each request.
const LEAST_EPOLL_CTL: f64 = 0.5;

/// Which servers change what they wait for with nearly every request.
pub fn epoll_ctl(workload: &WorkloadCosts<'_>) -> Option<String> {
    let cases = workload.servers.iter().filter_map(|server| {
        let calls = server
            .call("epoll_ctl")
            .filter(|calls| above(calls, LEAST_EPOLL_CTL))?;
        Some(Case::new(server, calls.median, about_times(calls.median)))
    });
    let servers = named(cases.collect())?.and("changes", "change");
    Some(format!(
        "{servers} the set of sockets to wait for again and again (epoll_ctl, times {}), at one system call each.",
        each(workload.unit)
    ))
}

/// With io_uring, writes are no system calls: fewer than this for each request.
const FEW_WRITES: f64 = 0.05;

/// Which servers send through io_uring.
pub fn io_uring(workload: &WorkloadCosts<'_>) -> Option<String> {
    let cases = workload.servers.iter().filter_map(|server| {
        let enter = server
            .call("io_uring_enter")
            .filter(|calls| above(calls, 0.0))?;
        server
            .figure(CostFigure::Writes)
            .filter(|writes| below(writes, FEW_WRITES))?;
        Some(Case::new(
            server,
            enter.median,
            format!("io_uring_enter {}", about_times(enter.median)),
        ))
    });
    let servers = named(cases.collect())?.and("reads and writes", "read and write");
    Some(format!(
        "{servers} through io_uring; what is sent that way is no system call, and no write in the table."
    ))
}

#[cfg(test)]
mod tests {
    use super::super::tests::says;
    use super::*;
    use crate::made::Made;
    use prony_model::Explanation;

    fn calls(id: &str, times: f64) -> Explanation {
        Made::server(id).with(CostFigure::SystemCalls, times).done()
    }

    #[test]
    fn the_calls_of_the_server_with_the_most_are_named() {
        let go = Made::server("go-nethttp")
            .with(CostFigure::SystemCalls, 3.4)
            .call("read", 1.0)
            .call("write", 1.0)
            .call("epoll_pwait", 0.9)
            .call("futex", 0.5)
            .call("nanosleep", 0.06)
            .call("madvise", 0.01)
            .done();
        let both = [calls("rust-hyper", 2.0), go.clone()];
        assert_eq!(
            says(number, &both).unwrap(),
            "go-nethttp: 3.4 system calls a request (read 1.0, write 1.0, epoll_pwait 0.9, futex 0.5); rust-hyper: 2.0."
        );
        assert!(says(number, &[go]).unwrap().ends_with("futex 0.5)."));
    }

    #[test]
    fn servers_with_about_as_many_calls_are_not_mentioned() {
        assert!(says(number, &[calls("a", 2.5), calls("b", 2.0)]).is_some());
        assert_eq!(says(number, &[calls("a", 2.4), calls("b", 2.0)]), None);
    }

    #[test]
    fn of_many_servers_the_ends_are_named() {
        let servers: Vec<Explanation> = (1..=9)
            .map(|i| calls(&format!("s{i}"), f64::from(i)))
            .collect();
        let sentence = says(number, &servers).unwrap();
        assert!(
            sentence.starts_with("s9: 9.0 system calls a request; s8: 8.0;"),
            "{sentence}"
        );
        assert!(
            sentence.ends_with("; s1: 1.0 (4 more in between)."),
            "{sentence}"
        );
    }

    fn handing(futex: f64, wake_ups: f64, threads: f64) -> Option<String> {
        let server = Made::server("go")
            .call("futex", futex)
            .with(CostFigure::WakeUps, wake_ups)
            .with(CostFigure::Threads, threads);
        says(hand_offs, &[server.done()])
    }

    #[test]
    fn threads_hand_over_with_futex_calls_and_wake_ups() {
        assert_eq!(
            handing(1.2, 1.5, 4.0).unwrap(),
            "Threads of go (1.2 futex calls and 1.5 wake-ups a request) wait for each other and wake each other while they serve."
        );
        assert!(handing(0.52, 1.04, 2.0).is_some());
        assert_eq!(handing(0.5, 1.5, 4.0), None);
        assert_eq!(handing(1.2, 1.0, 4.0), None);
        assert_eq!(handing(1.2, 1.5, 1.0), None, "one thread has no other");
    }

    #[test]
    fn a_changing_epoll_set_is_mentioned_from_every_second_request_on() {
        let with = |times| {
            says(
                epoll_ctl,
                &[Made::server("a").call("epoll_ctl", times).done()],
            )
        };
        assert!(
            with(1.0)
                .unwrap()
                .starts_with("a (1.0) changes the set of sockets")
        );
        assert!(with(0.52).is_some());
        assert_eq!(with(0.5), None);
    }

    #[test]
    fn only_servers_that_hardly_write_by_system_calls_send_through_io_uring() {
        let with = |enters, writes| {
            let server = Made::server("a")
                .call("io_uring_enter", enters)
                .with(CostFigure::Writes, writes);
            says(io_uring, &[server.done()])
        };
        assert!(
            with(0.3, 0.04)
                .unwrap()
                .starts_with("a (io_uring_enter 0.3) reads and writes through io_uring")
        );
        assert_eq!(with(0.3, 0.05), None);
        assert_eq!(with(0.0, 0.0), None);
    }
}
