//! A load in words.

use prony_model::{LoadShape, LoadSpec};

use super::{plural, traits};
use crate::format;

/// The load in a line: `64 connections, 1 thread, closed loop, 2 s after 0.5 s of warm-up`,
/// `64 connections, open loop, 20k/s, Poisson, 10 s`, or
/// `500 users, open loop, mean think time 1 s, 10,000 requests`.
pub fn load(load: &LoadSpec) -> String {
    let mut parts = arrivals(load);
    match end(load) {
        Some(end) => parts.push(format!("{end}{}", after_warmup(load))),
        None if load.warmup_s > 0.0 => parts.push(after_warmup(load).trim_start().to_owned()),
        None => {}
    }
    parts.join(", ")
}

/// The load and how often it was put on: `…, closed loop, 2 s, 5 rounds`.
pub fn load_in_rounds(spec: &LoadSpec, rounds: usize) -> String {
    match rounds {
        0 => load(spec),
        rounds => format!("{}, {}", load(spec), plural(rounds, "round")),
    }
}

/// What the latency of this load is, in two words.
pub fn latency(load: &LoadSpec) -> &'static str {
    match is_open(load) {
        true => "from the scheduled arrival",
        false => "closed loop",
    }
}

/// Whether requests come on a schedule, whatever becomes of earlier ones.
pub fn is_open(load: &LoadSpec) -> bool {
    load.shape.is_open()
}

fn arrivals(load: &LoadSpec) -> Vec<String> {
    let threads = plural(load.threads, "thread");
    let several_threads = (load.threads > 1).then(|| threads.clone());
    let users = || plural(load.connections, "user");
    let think_time = |seconds| format!("mean think time {}", format::seconds(seconds));
    let mut parts = match &load.shape {
        // One connection has one thread, whatever was asked for.
        LoadShape::Closed if load.connections == 1 => {
            vec!["1 connection".into(), sequential(load).into()]
        }
        LoadShape::Closed => vec![
            plural(load.connections, "connection"),
            threads,
            "closed loop".into(),
        ],
        LoadShape::Rate(schedule) => {
            let mut parts = vec![connections(load), "open loop".into(), schedule.to_string()];
            parts.extend(several_threads);
            parts
        }
        LoadShape::UsersClosed { think_time_s } => {
            let mut parts = vec![users(), "closed loop".into(), think_time(*think_time_s)];
            parts.extend(several_threads);
            parts
        }
        LoadShape::UsersOpen { think_time_s } => {
            let mut parts = vec![users(), "open loop".into(), think_time(*think_time_s)];
            parts.extend(several_threads);
            parts
        }
    };
    parts.extend(traits(load).into_iter().map(|one| one.words));
    parts
}

fn sequential(load: &LoadSpec) -> &'static str {
    match load.pipeline {
        1 => "closed loop (sequential)",
        _ => "closed loop",
    }
}

/// `64 connections`, or `64 to 500 connections` where a rate may open more.
fn connections(load: &LoadSpec) -> String {
    match load.max_connections {
        Some(most) if most > load.connections => {
            format!("{} to {}", load.connections, plural(most, "connection"))
        }
        _ => plural(load.connections, "connection"),
    }
}

fn end(load: &LoadSpec) -> Option<String> {
    let requests = load
        .requests
        .map(|requests| format!("{} requests", format::exact(requests)));
    match (requests, load.duration_s.map(format::seconds)) {
        (Some(requests), Some(duration)) => Some(format!("{requests} or {duration}")),
        (requests, duration) => requests.or(duration),
    }
}

fn after_warmup(load: &LoadSpec) -> String {
    match load.warmup_s > 0.0 {
        true => format!(" after {} of warm-up", format::seconds(load.warmup_s)),
        false => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use prony_model::{Arrivals, Schedule, parse_stages};

    use super::*;

    fn closed() -> LoadSpec {
        LoadSpec {
            shape: LoadShape::Closed,
            connections: 64,
            threads: 1,
            duration_s: Some(2.0),
            requests: None,
            warmup_s: 0.5,
            timeout_s: 2.0,
            ..LoadSpec::default()
        }
    }

    #[test]
    fn a_closed_loop_says_so_and_when_it_ends() {
        let mut spec = closed();
        assert_eq!(
            load(&spec),
            "64 connections, 1 thread, closed loop, 2 s after 0.5 s of warm-up"
        );
        (spec.requests, spec.warmup_s) = (Some(10_000), 0.0);
        assert_eq!(
            load(&spec),
            "64 connections, 1 thread, closed loop, 10,000 requests or 2 s"
        );
        (spec.connections, spec.duration_s) = (1, None);
        assert_eq!(
            load(&spec),
            "1 connection, closed loop (sequential), 10,000 requests"
        );
        (spec.requests, spec.warmup_s) = (None, 1.0);
        assert_eq!(
            load(&spec),
            "1 connection, closed loop (sequential), after 1 s of warm-up"
        );
    }

    #[test]
    fn a_rate_says_how_its_requests_come() {
        let rate = LoadSpec {
            shape: LoadShape::Rate(Schedule::constant(Arrivals::Poisson, 20_000.0)),
            ..closed()
        };
        assert_eq!(
            load(&rate),
            "64 connections, open loop, 20k/s, Poisson, 2 s after 0.5 s of warm-up"
        );
        assert_eq!(latency(&rate), "from the scheduled arrival");
        let stages = parse_stages("1k/s:10s,1k/s..5k/s:30s").unwrap();
        let moving = LoadSpec {
            shape: LoadShape::Rate(Schedule {
                arrivals: Arrivals::Even,
                burst: 10,
                stages,
            }),
            max_connections: Some(500),
            threads: 2,
            deadline_s: Some(1.0),
            spin: true,
            duration_s: Some(40.0),
            warmup_s: 0.0,
            ..closed()
        };
        assert_eq!(
            load(&moving),
            "64 to 500 connections, open loop, 1k/s:10s, 1k/s..5k/s:30s, evenly spaced, bursts of 10, \
             2 threads, deadline 1 s, busy-waiting generator, 40 s"
        );
    }

    #[test]
    fn a_closed_loop_says_what_its_connections_do() {
        let spec = LoadSpec {
            pipeline: 16,
            requests_per_connection: Some(100),
            streams: 1_000,
            events: true,
            first_byte: true,
            warmup_s: 0.0,
            ..closed()
        };
        assert_eq!(
            load(&spec),
            "64 connections, 1 thread, closed loop, a new connection every 100 requests, \
             pipelined 16 deep, beside 1,000 held streams, events counted, \
             first byte timed, 2 s"
        );
        let (connections, requests_per_connection) = (1, Some(1));
        let spec = LoadSpec {
            connections,
            requests_per_connection,
            pipeline: 1,
            ..closed()
        };
        assert!(load(&spec).starts_with(
            "1 connection, closed loop (sequential), a new connection for each request, 2 s"
        ));
    }

    #[test]
    fn users_who_wait_for_their_responses_are_a_closed_loop() {
        let users = LoadSpec {
            shape: LoadShape::UsersClosed { think_time_s: 0.5 },
            connections: 500,
            warmup_s: 0.0,
            ..closed()
        };
        assert_eq!(
            load(&users),
            "500 users, closed loop, mean think time 0.5 s, 2 s"
        );
        assert_eq!(latency(&users), "closed loop");
    }

    #[test]
    fn an_open_loop_says_how_its_users_come() {
        let spec = LoadSpec {
            shape: LoadShape::UsersOpen { think_time_s: 1.0 },
            connections: 500,
            requests: Some(10_000),
            duration_s: None,
            warmup_s: 0.0,
            ..closed()
        };
        assert_eq!(
            load(&spec),
            "500 users, open loop, mean think time 1 s, 10,000 requests"
        );
        assert_eq!(latency(&spec), "from the scheduled arrival");
        assert_eq!(latency(&closed()), "closed loop");
    }
}
