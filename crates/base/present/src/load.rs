//! A load in words: in full, in a table's name, and in a file's name.

use prony_model::{LoadResult, LoadShape, LoadSpec, MeasuredBy, Outage, Seconds};

use crate::number::{self, exact, seconds};
use crate::words::{Joined, non_empty, plural};

/// The load in one line: who sends and when, what connections do, and when it ends.
///
/// ```
/// use prony_model::{LoadSpec, Seconds};
/// let load = LoadSpec { connections: 64, duration: Some(Seconds::from_secs(2)), warmup: Seconds::from_millis(500), ..LoadSpec::default() };
/// assert_eq!(
///     prony_present::load::line(&load),
///     "64 connections, closed loop, 1 thread, 2 s after 0.5 s of warm-up"
/// );
/// ```
pub fn line(load: &LoadSpec) -> String {
    let mut words = vec![shape(load)];
    words.extend(traits(load));
    words.extend(end(load));
    words.join(", ")
}

/// The load and how often it was applied: `…, closed loop, 2 s, 5 rounds`.
pub fn in_rounds(load: &LoadSpec, rounds: usize) -> String {
    match rounds {
        0 => line(load),
        rounds => format!("{}, {}", line(load), plural(rounds, "round")),
    }
}

/// Who sends requests and when: `64 connections, closed loop, 1 thread`, `20k/s, open loop, Poisson, 64 connections`.
pub fn shape(load: &LoadSpec) -> String {
    let words = arrivals(load).into_iter().map(|property| property.words);
    let mut words: Vec<String> = words.filter(|words| !words.is_empty()).collect();
    match (&load.shape, load.connections, load.pipeline) {
        // One connection has one thread, whatever the user requested.
        (LoadShape::Closed, 1, 1) => words[1] += " (sequential)",
        (LoadShape::Closed, 1, _) => {}
        _ => words.push(plural(load.threads, "thread")),
    }
    words.join(", ")
}

/// How the load differs from a plain one, a few words each: `pipelined 16 deep`, `deadline 1 s`.
pub fn traits(load: &LoadSpec) -> Vec<String> {
    let properties = trait_properties(load).into_iter();
    properties
        .map(|property| property.words)
        .chain(by(load))
        .filter(|words| !words.is_empty())
        .collect()
}

fn by(load: &LoadSpec) -> Option<String> {
    (load.by == MeasuredBy::Instructions).then(|| "by instructions".to_owned())
}

/// When no response was ok, and for how long: `no response was ok for 9 s, from 3 s to 12 s`; `None` without an
/// outage.
pub fn outages(result: &LoadResult) -> Option<String> {
    let outages = &result.outages;
    let longest = Outage::longest(outages.iter().copied())?;
    let until_s = longest.from_s + longest.length_s;
    let until = if until_s >= result.duration_s - AT_THE_END_S {
        "until the end".to_owned()
    } else {
        format!("to {}", seconds(until_s))
    };
    let when = format!("from {} {until}", seconds(longest.from_s));
    Some(match outages.len() {
        1 => format!(
            "no response was ok for {}, {when}",
            seconds(longest.length_s)
        ),
        count => format!(
            "no response was ok for {} in {count} outages, the longest {when}",
            seconds(outages.iter().map(|it| it.length_s).sum())
        ),
    })
}

/// An outage that ends within this time of the end, in seconds, lasts until the end.
const AT_THE_END_S: f64 = 0.05;

fn time(time: Seconds) -> String {
    seconds(time.as_secs_f64())
}

/// The load in a few words: `64 connections`, `1k/s over 64 connections, pipelined 16 deep`.
pub fn short(load: &LoadSpec) -> String {
    let connections = plural(load.connections, "connection");
    let users = plural(load.connections, "user");
    let by_users = |kind: &str, think_time: &Seconds| {
        format!("{users}, {kind} loop, think time {}", time(*think_time))
    };
    let who = match &load.shape {
        LoadShape::Closed if load.flows => format!("flows of {users}"),
        LoadShape::Closed => connections,
        LoadShape::Rate(schedule) => {
            let what = if load.flows { "flows at " } else { "" };
            format!("{what}{} over {connections}", schedule.stages_text())
        }
        LoadShape::UsersClosed { think_time } => by_users("closed", think_time),
        LoadShape::UsersOpen { think_time } => by_users("open", think_time),
    };
    let [churn, in_flight, _, streams, ..] = trait_properties(load);
    let besides = [in_flight, churn, streams].map(|property| property.words);
    let besides = besides.into_iter().chain(by(load));
    let besides = besides.filter(|words| !words.is_empty());
    std::iter::once(who).chain(besides).joined(", ")
}

/// From when to when this load's latency is measured, in a few words.
pub fn latency(load: &LoadSpec) -> &'static str {
    if load.shape.is_open() {
        "from the scheduled arrival"
    } else {
        "closed loop"
    }
}

/// Why this share (0 to 1) of the responses takes 40 ms longer than needed.
pub fn ack_wait(share: f64) -> String {
    let who = if share > 0.9 {
        "each response waits 40 ms".to_owned()
    } else {
        format!("{} of the responses wait 40 ms", number::share(share))
    };
    format!(
        "{who}: the server writes its head and body apart, and the second part is sent when the first is acknowledged \
         (Nagle's algorithm and delayed acknowledgements; TCP_NODELAY, or a single write, avoids that)"
    )
}

pub fn latency_name(load: &LoadSpec) -> &'static str {
    if load.flows {
        "time of flows"
    } else {
        "latency"
    }
}

/// The fewest words that distinguish a load from the others, for a title and for a file name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Distinction {
    /// For a title: `64 connections, pipelined 16 deep`.
    pub words: String,
    /// For a file name: `closed-64 pipeline-16`.
    pub slug: String,
}

/// Distinguishes each load from all others of `all`: by its first property, and by those in which it differs from a load
/// that still has the same name.
pub fn distinction(load: &LoadSpec, all: &[&LoadSpec]) -> Distinction {
    let telling = telling(load, all).into_iter().enumerate();
    let named = telling.filter(|(place, (_, differs))| *place == 0 || *differs);
    let named = named.map(|(_, (property, _))| property);
    let named = named.filter(|property| !property.words.is_empty());
    let (words, slugs): (Vec<_>, Vec<_>) = named.map(|it| (it.words, it.slug)).unzip();
    Distinction {
        words: words.join(", "),
        slug: slugs.join(" "),
    }
}

/// How a load differs from all others of `all`, whose shapes are alike: `128 connections`. Empty if there is nothing to tell.
pub fn difference(load: &LoadSpec, all: &[&LoadSpec]) -> String {
    let telling = telling(load, all)
        .into_iter()
        .filter(|(_, differs)| *differs);
    let words = telling.map(|(property, _)| property.words);
    words.filter(|words| !words.is_empty()).joined(", ")
}

/// Each property of a load, and whether it differs in it from one that is like it in all properties before.
fn telling(load: &LoadSpec, all: &[&LoadSpec]) -> Vec<(Property, bool)> {
    let mut alike: Vec<Vec<Property>> = all.iter().map(|other| properties(other)).collect();
    let telling = properties(load)
        .into_iter()
        .enumerate()
        .map(|(i, property)| {
            let before = alike.len();
            alike.retain(|other| other[i] == property);
            (property, alike.len() < before)
        });
    telling.collect()
}

/// One property of a load; empty if there is nothing to mention.
#[derive(Default, PartialEq)]
struct Property {
    words: String,
    slug: String,
}

fn property(words: impl Into<String>, slug: impl Into<String>) -> Property {
    Property {
        words: words.into(),
        slug: slug.into(),
    }
}

fn property_if(is_there: bool, words: impl Into<String>, slug: impl Into<String>) -> Property {
    if is_there {
        property(words, slug)
    } else {
        Property::default()
    }
}

/// Every property of a load, the more telling ones first; every load has the same number of properties.
fn properties(load: &LoadSpec) -> Vec<Property> {
    let shape = arrivals(load).into_iter();
    shape
        .chain(trait_properties(load))
        .chain(extent(load))
        .collect()
}

/// The shape; what sends, users or connections; and how many there may be: five properties.
fn arrivals(load: &LoadSpec) -> Vec<Property> {
    let count = load.connections;
    let connections = plural(count, "connection");
    let users = plural(count, "user");
    let of_flows = if load.flows { " of flows" } else { "" };
    let by_users = |kind: &str, slug: &str, think: &Seconds| {
        let who = format!("{users}, {kind} loop{of_flows}");
        let think_time = format!("think time {}", time(*think));
        vec![
            property(who, format!("{slug}-{count}")),
            property(think_time, format!("think-{think}s")),
        ]
    };
    let mut properties = match &load.shape {
        LoadShape::Closed => {
            let who = if load.flows { &users } else { &connections };
            vec![
                property(who, format!("closed-{count}")),
                property(format!("closed loop{of_flows}"), "closed"),
            ]
        }
        LoadShape::UsersClosed { think_time } => by_users("closed", "users-closed", think_time),
        LoadShape::UsersOpen { think_time } => by_users("open", "users", think_time),
        LoadShape::Rate(schedule) => {
            let stages = schedule.stages_text();
            let most = load.most_connections();
            let burst = schedule.burst;
            let of_what = if load.flows { "flows at " } else { "" };
            // `rate-20k`, `rate-1-per-h`, `rate-1k-10s-1k..5k-30s`.
            let slug = stages
                .replace("/s", "")
                .replace('/', "-per-")
                .replace(", ", "-")
                .replace(':', "-");
            let at_most = format!("at most {}", plural(most, "connection"));
            vec![
                property(
                    format!("{of_what}{stages}, open loop"),
                    format!("rate-{slug}"),
                ),
                property(schedule.arrivals.to_string(), schedule.arrivals.name()),
                property_if(
                    burst > 1,
                    format!("bursts of {burst}"),
                    format!("bursts-{burst}"),
                ),
                property(connections, format!("{count}-connections")),
                property_if(most > count, at_most, format!("most-{most}")),
            ]
        }
    };
    properties.resize_with(5, Property::default);
    properties
}

fn trait_properties(load: &LoadSpec) -> [Property; 7] {
    let churn = load.requests_per_connection.map(|requests| {
        let words = match requests {
            1 => "a new connection for each request".to_owned(),
            n => format!("a new connection every {} requests", exact(n)),
        };
        property(words, format!("reconnect-{requests}"))
    });
    let deadline = load
        .deadline
        .map(|s| property(format!("deadline {}", time(s)), format!("deadline-{s}s")));
    let streams = load.streams;
    [
        churn.unwrap_or_default(),
        in_flight(load),
        deadline.unwrap_or_default(),
        property_if(
            streams > 0,
            format!("beside {} held streams", exact(streams as u64)),
            format!("streams-{streams}"),
        ),
        if load.messages {
            property_if(load.events, "messages counted", "messages")
        } else {
            property_if(load.events, "events counted", "events")
        },
        property_if(load.first_byte, "first byte timed", "first-byte"),
        property_if(load.spin, "busy-waiting generator", "spin"),
    ]
}

fn in_flight(load: &LoadSpec) -> Property {
    match (load.pipeline, load.multiplexed) {
        (..=1, _) => Property::default(),
        (depth, false) => property(
            format!("pipelined {depth} deep"),
            format!("pipeline-{depth}"),
        ),
        (streams, true) => property(
            format!("{streams} streams per connection"),
            format!("streams-per-connection-{streams}"),
        ),
    }
}

fn counted(load: &LoadSpec, count: u64) -> String {
    plural(count as usize, if load.flows { "flow" } else { "request" })
}

/// When the load ends, and which protocol and generator it uses.
fn extent(load: &LoadSpec) -> [Property; 5] {
    let (requests, duration) = (load.requests, load.duration);
    let (threads, warmup, timeout) = (load.threads, load.warmup, load.timeout);
    let by_requests = requests.map_or("no end by requests".into(), |n| counted(load, n));
    let by_time = duration.map_or("no end by time".into(), time);
    let warmed_up = format!("{} of warm-up", time(warmup));
    [
        property(
            by_requests,
            format!("{}-requests", requests.unwrap_or_default()),
        ),
        property(by_time, format!("{}s", duration.unwrap_or_default())),
        property(plural(threads, "thread"), format!("{threads}-threads")),
        property(warmed_up, format!("warmup-{warmup}s")),
        property(
            format!("timeout {}", time(timeout)),
            format!("timeout-{timeout}s"),
        ),
    ]
}

/// `10,000 requests or 2 s after 0.5 s of warm-up`.
fn end(load: &LoadSpec) -> Option<String> {
    let requests = load.requests.map(|n| counted(load, n));
    let ends = requests.into_iter().chain(load.duration.map(time));
    let warm_up =
        (!load.warmup.is_zero()).then(|| format!("after {} of warm-up", time(load.warmup)));
    let parts = [non_empty(ends.joined(" or ")), warm_up];
    non_empty(parts.into_iter().flatten().joined(" "))
}

#[cfg(test)]
mod tests {
    use prony_model::{Arrivals, Schedule, parse_stages};

    use super::*;

    fn closed() -> LoadSpec {
        LoadSpec {
            connections: 64,
            duration: Some(Seconds::from_secs(2)),
            warmup: Seconds::from_millis(500),
            timeout: Seconds::from_secs(2),
            ..LoadSpec::default()
        }
    }

    /// A load of 64 connections after a change.
    fn with(change: impl FnOnce(&mut LoadSpec)) -> LoadSpec {
        let mut load = closed();
        change(&mut load);
        load
    }

    fn schedule(arrivals: Arrivals, burst: u64, stages: &str) -> LoadShape {
        LoadShape::Rate(Schedule {
            arrivals,
            burst,
            stages: parse_stages(stages).unwrap(),
        })
    }

    fn rate(stages: &str) -> LoadSpec {
        with(|load| load.shape = schedule(Arrivals::Poisson, 1, stages))
    }

    #[test]
    fn a_line_says_what_is_sent_when_it_ends_and_what_connections_do() {
        let ends = |requests, duration: Option<u64>, warmup| {
            with(|load| {
                load.connections = if duration == Some(2) { 64 } else { 1 };
                load.duration = duration.map(Seconds::from_secs);
                (load.requests, load.warmup) = (requests, Seconds::from_secs(warmup));
            })
        };
        let moving = with(|load| {
            load.shape = schedule(Arrivals::Even, 10, "1k/s:10s,1k/s..5k/s:30s");
            (load.max_connections, load.threads, load.spin) = (Some(500), 2, true);
            load.deadline = Some(Seconds::from_secs(1));
            (load.duration, load.warmup) = (Some(Seconds::from_secs(40)), Seconds::ZERO);
        });
        let users = with(|load| {
            load.shape = LoadShape::UsersOpen {
                think_time: Seconds::from_secs(1),
            };
            (load.connections, load.warmup) = (1_500, Seconds::ZERO);
        });
        let busy = with(|load| {
            (load.pipeline, load.requests_per_connection, load.streams) = (16, Some(100), 1_000);
            (load.events, load.first_byte, load.warmup) = (true, true, Seconds::ZERO);
        });
        let multiplexed = with(|load| (load.pipeline, load.multiplexed) = (32, true));
        for (load, expected) in [
            (
                &ends(Some(10_000), Some(2), 0),
                "64 connections, closed loop, 1 thread, 10,000 requests or 2 s",
            ),
            (
                &ends(Some(10_000), None, 0),
                "1 connection, closed loop (sequential), 10,000 requests",
            ),
            (
                &ends(None, None, 1),
                "1 connection, closed loop (sequential), after 1 s of warm-up",
            ),
            (
                &rate("20k/s"),
                "20k/s, open loop, Poisson, 64 connections, 1 thread, 2 s after 0.5 s of warm-up",
            ),
            (
                &moving,
                "1k/s:10s, 1k/s..5k/s:30s, open loop, evenly spaced, bursts of 10, 64 connections, at most 500 connections, \
                 2 threads, deadline 1 s, busy-waiting generator, 40 s",
            ),
            (
                &users,
                "1,500 users, open loop, think time 1 s, 1 thread, 2 s",
            ),
            (
                &busy,
                "64 connections, closed loop, 1 thread, a new connection every 100 requests, pipelined 16 deep, \
                 beside 1,000 held streams, events counted, first byte timed, 2 s",
            ),
            (
                &multiplexed,
                "64 connections, closed loop, 1 thread, 32 streams per connection, 2 s after 0.5 s of warm-up",
            ),
        ] {
            assert_eq!(line(load), expected);
        }
        for (load, expected) in [
            (&moving, "1k/s:10s, 1k/s..5k/s:30s over 64 connections"),
            (&users, "1,500 users, open loop, think time 1 s"),
            (
                &busy,
                "64 connections, pipelined 16 deep, a new connection every 100 requests, beside 1,000 held streams",
            ),
            (&multiplexed, "64 connections, 32 streams per connection"),
        ] {
            assert_eq!(short(load), expected);
        }
        assert_eq!(latency(&rate("20k/s")), "from the scheduled arrival");
        assert_eq!(latency(&closed()), "closed loop");
    }

    /// The words and the slug of each load.
    fn told_apart(loads: &[LoadSpec]) -> Vec<String> {
        let all: Vec<&LoadSpec> = loads.iter().collect();
        let of = |load: &&LoadSpec| {
            let Distinction { words, slug } = distinction(load, &all);
            format!("{words} | {slug}")
        };
        all.iter().map(of).collect()
    }

    #[test]
    fn outages_have_their_times() {
        let histogram = prony_model::LatencyHistogram::new();
        let mut load = prony_model::sample::plain_load(closed(), 0.0, &histogram);
        load.duration_s = 12.003;
        let outage = |from_s, length_s| Outage { from_s, length_s };
        for (outages, expected) in [
            (vec![], None),
            (
                vec![outage(3.02, 8.98)],
                Some("no response was ok for 8.98 s, from 3.02 s until the end"),
            ),
            (
                vec![outage(0.0, 1.0), outage(4.0, 2.5), outage(9.0, 1.25)],
                Some("no response was ok for 4.75 s in 3 outages, the longest from 4 s to 6.5 s"),
            ),
        ] {
            load.outages = outages;
            assert_eq!(super::outages(&load).as_deref(), expected);
        }
    }

    #[test]
    fn names_of_similar_loads_show_only_the_difference() {
        let longer = with(|load| load.duration = Some(Seconds::from_secs(10)));
        assert_eq!(
            told_apart(&[closed(), longer]),
            [
                "64 connections, 2 s | closed-64 2s",
                "64 connections, 10 s | closed-64 10s"
            ]
        );
        let even = with(|load| load.shape = schedule(Arrivals::Even, 1, "20k/s"));
        let mut wider = rate("20k/s");
        wider.max_connections = Some(500);
        let names = told_apart(&[rate("20k/s"), even, wider]);
        let words: Vec<&str> = names
            .iter()
            .filter_map(|name| name.split(" | ").next())
            .collect();
        assert_eq!(
            words,
            [
                "20k/s, open loop, Poisson",
                "20k/s, open loop, evenly spaced",
                "20k/s, open loop, Poisson, at most 500 connections",
            ]
        );
    }

    #[test]
    fn loads_are_distinguished_by_shape_rate_and_traits() {
        let names = told_apart(&[
            closed(),
            with(|load| load.pipeline = 16),
            with(|load| (load.pipeline, load.multiplexed) = (32, true)),
            with(|load| load.requests_per_connection = Some(1)),
            with(|load| {
                load.shape = LoadShape::UsersClosed {
                    think_time: Seconds::from_secs(1),
                }
            }),
            rate("40k/s"),
            rate("1/h"),
            rate("1k/s:10s,1k/s..5k/s:30s"),
        ]);
        assert_eq!(
            names,
            [
                "64 connections | closed-64",
                "64 connections, pipelined 16 deep | closed-64 pipeline-16",
                "64 connections, 32 streams per connection | closed-64 streams-per-connection-32",
                "64 connections, a new connection for each request | closed-64 reconnect-1",
                "64 users, closed loop | users-closed-64",
                "40k/s, open loop | rate-40k",
                "1/h, open loop | rate-1-per-h",
                "1k/s:10s, 1k/s..5k/s:30s, open loop | rate-1k-10s-1k..5k-30s",
            ]
        );
    }
}
