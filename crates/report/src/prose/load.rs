//! A load in words.

use prony_record::{LoadShape, LoadSpec};

use super::plural;
use crate::format;

/// The load in a line: `64 connections, 1 thread, closed loop, 2 s after 0.5 s of warm-up`, or
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
    match load.shape {
        LoadShape::Closed => false,
        LoadShape::UsersOpen { .. } => true,
    }
}

fn arrivals(load: &LoadSpec) -> Vec<String> {
    let threads = plural(load.threads, "thread");
    match load.shape {
        // One connection has one thread, whatever was asked for.
        LoadShape::Closed if load.connections == 1 => {
            vec!["1 connection".into(), "closed loop (sequential)".into()]
        }
        LoadShape::Closed => vec![
            plural(load.connections, "connection"),
            threads,
            "closed loop".into(),
        ],
        LoadShape::UsersOpen { think_time_s } => {
            let mut parts = vec![plural(load.connections, "user"), "open loop".into()];
            parts.push(format!("mean think time {}", format::seconds(think_time_s)));
            parts.extend((load.threads > 1).then_some(threads));
            parts
        }
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
