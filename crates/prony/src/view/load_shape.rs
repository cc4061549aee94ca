//! The shape of a load in words.

use prony_model::{Arrivals, LoadShape, LoadSpec, Schedule, Stage};
use prony_report::format;

use super::plural;

/// Who asks and when: `2 threads and 8 connections, closed loop`.
pub fn shape(load: &LoadSpec) -> String {
    let threads = plural(load.threads, "thread");
    let users = || plural(load.connections, "user");
    match &load.shape {
        LoadShape::Closed => {
            let connections = plural(load.connections, "connection");
            format!("{threads} and {connections}, closed loop")
        }
        LoadShape::Rate(schedule) => {
            let connections = connections_of_a_rate(load);
            let schedule = self::schedule(schedule, load.duration_s);
            format!("{threads} and {connections}, open loop at {schedule}")
        }
        LoadShape::UsersClosed { think_time_s } => format!(
            "{threads} and {}, closed loop: each thinks for {} on the average before it asks",
            users(),
            format::seconds(*think_time_s),
        ),
        LoadShape::UsersOpen { think_time_s } => format!(
            "{threads} and {}, open loop: each has a request due every {} on the average",
            users(),
            format::seconds(*think_time_s),
        ),
    }
}

/// What the load has besides its shape, a few words each.
pub fn besides(load: &LoadSpec) -> Vec<String> {
    let mut parts = Vec::new();
    if load.pipeline > 1 {
        parts.push(format!(
            "{} at a time over a connection",
            requests(load.pipeline as u64)
        ));
    }
    if let Some(responses) = load.requests_per_connection {
        parts.push(format!(
            "a new connection after {}",
            plural(responses as usize, "response")
        ));
    }
    if let Some(deadline) = load.deadline_s {
        parts.push(format!(
            "deadline {} after the scheduled arrival",
            format::seconds(deadline)
        ));
    }
    if load.streams > 0 {
        parts.push(format!(
            "{} held open beside it",
            plural(load.streams, "stream")
        ));
    }
    if load.spin {
        parts.push("busy-waiting".into());
    }
    parts
}

/// What its latency runs from, in a few words.
pub fn latency(load: &LoadSpec) -> &'static str {
    match load.shape.is_open() {
        true => "from the scheduled arrival",
        false => "closed loop",
    }
}

fn requests(count: u64) -> String {
    plural(count as usize, "request")
}

/// How many connections, of a load that may open more: `10 to 1,000 connections`.
pub fn connections_of_a_rate(load: &LoadSpec) -> String {
    match load.max_connections {
        Some(most) if most > load.connections => format!(
            "{} to {}",
            format::exact(load.connections as u64),
            plural(most, "connection"),
        ),
        _ => plural(load.connections, "connection"),
    }
}

fn schedule(schedule: &Schedule, duration_s: Option<f64>) -> String {
    let stages: Vec<String> = match schedule.stages.as_slice() {
        // What is held for the whole of the load needs no duration.
        [only] if is_held(only) && only.duration_s.is_none_or(|held| Some(held) == duration_s) => {
            vec![per_second(only.from_per_s)]
        }
        stages => stages.iter().map(stage).collect(),
    };
    let spaced = match schedule.arrivals {
        Arrivals::Even => "evenly spaced",
        Arrivals::Poisson => "at random (Poisson)",
    };
    let bursts = match schedule.burst {
        1 => String::new(),
        burst => format!(" in bursts of {}", format::exact(burst)),
    };
    format!("{}{bursts}, {spaced}", stages.join(", then "))
}

fn is_held(stage: &Stage) -> bool {
    stage.from_per_s == stage.to_per_s
}

fn stage(stage: &Stage) -> String {
    let rate = match is_held(stage) {
        true => per_second(stage.from_per_s),
        false => format!(
            "{} to {}",
            per_second(stage.from_per_s),
            per_second(stage.to_per_s)
        ),
    };
    match stage.duration_s {
        Some(duration) if is_held(stage) => format!("{rate} for {}", format::seconds(duration)),
        Some(duration) => format!("{rate} over {}", format::seconds(duration)),
        None => rate,
    }
}

/// `5,000/s`, or with its fraction: a rate that was asked for is shown as it was.
fn per_second(rate: f64) -> String {
    match rate.fract() {
        0.0 => format!("{}/s", format::exact(rate as u64)),
        _ => format!("{}/s", (rate * 1000.0).round() / 1000.0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn load(shape: LoadShape) -> LoadSpec {
        LoadSpec {
            shape,
            connections: 10,
            duration_s: Some(40.0),
            ..LoadSpec::default()
        }
    }

    #[test]
    fn closed_loops_say_who_waits() {
        let closed = load(LoadShape::Closed);
        assert_eq!(shape(&closed), "1 thread and 10 connections, closed loop");
        assert_eq!(latency(&closed), "closed loop");
        let users = load(LoadShape::UsersClosed { think_time_s: 0.5 });
        assert_eq!(
            shape(&users),
            "1 thread and 10 users, closed loop: each thinks for 0.5 s on the average before it asks"
        );
        assert_eq!(latency(&users), "closed loop");
    }

    #[test]
    fn open_loops_say_their_schedule() {
        let users = load(LoadShape::UsersOpen { think_time_s: 1.0 });
        assert_eq!(
            shape(&users),
            "1 thread and 10 users, open loop: each has a request due every 1 s on the average"
        );
        assert_eq!(latency(&users), "from the scheduled arrival");
        let mut rate = load(LoadShape::Rate(Schedule::constant(Arrivals::Even, 5000.0)));
        assert_eq!(
            shape(&rate),
            "1 thread and 10 connections, open loop at 5,000/s, evenly spaced"
        );
        rate.max_connections = Some(1000);
        rate.shape = LoadShape::Rate(Schedule {
            burst: 20,
            ..Schedule::constant(Arrivals::Poisson, 1.0 / 3.0)
        });
        assert_eq!(
            shape(&rate),
            "1 thread and 10 to 1,000 connections, open loop at 0.333/s in bursts of 20, at random (Poisson)"
        );
    }

    #[test]
    fn stages_follow_one_another() {
        let stage = |from_per_s, to_per_s, duration_s| Stage {
            from_per_s,
            to_per_s,
            duration_s,
        };
        let staged = |stages| {
            shape(&load(LoadShape::Rate(Schedule {
                stages,
                ..Schedule::constant(Arrivals::Even, 0.0)
            })))
        };
        let text = staged(vec![
            stage(1000.0, 1000.0, Some(10.0)),
            stage(1000.0, 5000.0, Some(30.0)),
            stage(5000.0, 5000.0, None),
        ]);
        assert_eq!(
            text,
            "1 thread and 10 connections, open loop at 1,000/s for 10 s, then 1,000/s to 5,000/s over 30 s, \
             then 5,000/s, evenly spaced"
        );
        assert!(staged(vec![stage(7.0, 7.0, Some(40.0))]).ends_with("at 7/s, evenly spaced"));
        assert!(
            staged(vec![stage(7.0, 7.0, Some(4.0))]).ends_with("at 7/s for 4 s, evenly spaced")
        );
    }

    #[test]
    fn what_is_besides_is_only_what_there_is() {
        assert!(besides(&load(LoadShape::Closed)).is_empty());
        let all = LoadSpec {
            pipeline: 16,
            requests_per_connection: Some(1),
            deadline_s: Some(0.1),
            streams: 2000,
            spin: true,
            ..LoadSpec::default()
        };
        assert_eq!(
            besides(&all).join("; "),
            "16 requests at a time over a connection; a new connection after 1 response; deadline 0.1 s after \
             the scheduled arrival; 2,000 streams held open beside it; busy-waiting"
        );
    }
}
