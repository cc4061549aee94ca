//! Names for tables of one workload under several loads, so that no two are the same.

use prony_model::{LoadShape, LoadSpec};

use super::Table;
use crate::format;
use crate::prose::{self, TraitKind};

/// Gives every table that shares its workload with another the words that tell it apart, and every
/// table a slug of its own.
pub(super) fn tell_apart(tables: &mut [Table]) {
    for i in 0..tables.len() {
        let same = |other: &&Table| other.workload == tables[i].workload;
        let loads: Vec<&LoadSpec> = tables
            .iter()
            .filter(same)
            .map(|other| &other.load)
            .collect();
        if loads.len() > 1 {
            let (words, slugs): (Vec<_>, Vec<_>) = distinguishing(&tables[i].load, &loads)
                .into_iter()
                .map(|part| (part.words, part.slug))
                .unzip();
            tables[i].slug = slug(&format!("{} {}", tables[i].workload, slugs.join(" ")));
            tables[i].apart = Some(words.join(", "));
        }
        tables[i].slug = free(&tables[..i], &tables[i].slug);
    }
}

/// The slug, with a number where another table has it already.
fn free(others: &[Table], slug: &str) -> String {
    let is_free = |slug: &String| !others.iter().any(|other| other.slug == *slug);
    let numbered = (2..).map(|n| format!("{slug}-{n}"));
    let mut slugs = std::iter::once(slug.to_owned()).chain(numbered);
    slugs.find(is_free).unwrap_or_default()
}

/// A word for a load in a title and in a file name; empty where there is nothing to say.
#[derive(Default, PartialEq)]
struct Part {
    words: String,
    slug: String,
}

/// As few parts of the load as tell it apart from the others: the first one, and those in which it
/// differs from one that is still like it.
fn distinguishing(load: &LoadSpec, all: &[&LoadSpec]) -> Vec<Part> {
    let mut alike: Vec<Vec<Part>> = all.iter().map(|other| parts(other)).collect();
    let mut telling = Vec::new();
    for (i, part) in parts(load).into_iter().enumerate() {
        let before = alike.len();
        alike.retain(|other| other[i] == part);
        if i == 0 || alike.len() < before {
            telling.push(part);
        }
    }
    telling.retain(|part| !part.words.is_empty());
    telling
}

/// What a load is, the more telling first; as many parts for every load.
fn parts(load: &LoadSpec) -> Vec<Part> {
    let mut parts: Vec<Part> = arrivals(load).into();
    let traits = prose::traits(load);
    parts.extend(TraitKind::ALL.map(|kind| {
        let own = traits.iter().find(|one| one.kind == kind);
        own.map_or(Part::default(), |one| part(&one.words, &one.slug))
    }));
    parts.extend(extent(load));
    parts
}

fn part(words: impl Into<String>, slug: impl Into<String>) -> Part {
    Part {
        words: words.into(),
        slug: slug.into(),
    }
}

/// The shape; what it is about, users or connections; and how many of them there may be.
fn arrivals(load: &LoadSpec) -> [Part; 5] {
    let count = load.connections;
    let connections = prose::plural(count, "connection");
    let users = prose::plural(count, "user");
    let think = |seconds: f64| {
        part(
            format!("think time {}", format::seconds(seconds)),
            format!("think-{seconds}s"),
        )
    };
    let nothing = Part::default;
    match &load.shape {
        LoadShape::Closed => [
            part(connections, format!("closed-{count}")),
            nothing(),
            nothing(),
            nothing(),
            nothing(),
        ],
        LoadShape::UsersClosed { think_time_s } => [
            part(
                format!("{users}, closed loop"),
                format!("users-closed-{count}"),
            ),
            think(*think_time_s),
            nothing(),
            nothing(),
            nothing(),
        ],
        LoadShape::UsersOpen { think_time_s } => [
            part(format!("{users}, open loop"), format!("users-{count}")),
            think(*think_time_s),
            nothing(),
            nothing(),
            nothing(),
        ],
        LoadShape::Rate(schedule) => {
            let stages = schedule.stages_text();
            let most = load.max_connections.filter(|most| *most > count);
            [
                part(format!("{stages}, open loop"), rate_slug(&stages)),
                part(schedule.arrivals.to_string(), schedule.arrivals.name()),
                match schedule.burst {
                    1 => nothing(),
                    burst => part(format!("bursts of {burst}"), format!("bursts-{burst}")),
                },
                part(connections, format!("{count}-connections")),
                most.map_or_else(nothing, |most| {
                    part(
                        format!("at most {most} connections"),
                        format!("most-{most}"),
                    )
                }),
            ]
        }
    }
}

/// `rate-20k`, `rate-1k-10s-1k..5k-30s`.
fn rate_slug(stages: &str) -> String {
    let stages = stages.replace("/s", "").replace(", ", "-");
    format!("rate-{}", stages.replace(':', "-"))
}

/// When it ends, and what it is made with.
fn extent(load: &LoadSpec) -> [Part; 5] {
    let requests = load.requests.map_or("no end by requests".into(), |n| {
        format!("{} requests", format::exact(n))
    });
    let seconds = load
        .duration_s
        .map_or("no end by time".into(), format::seconds);
    [
        part(
            requests,
            format!("{}-requests", load.requests.unwrap_or_default()),
        ),
        part(seconds, format!("{}s", load.duration_s.unwrap_or_default())),
        part(
            prose::plural(load.threads, "thread"),
            format!("{}-threads", load.threads),
        ),
        part(
            format!("{} of warm-up", format::seconds(load.warmup_s)),
            format!("warmup-{}s", load.warmup_s),
        ),
        part(
            format!("timeout {}", format::seconds(load.timeout_s)),
            format!("timeout-{}s", load.timeout_s),
        ),
    ]
}

/// The text as it can stand in a file name and an anchor.
pub(super) fn slug(text: &str) -> String {
    let plain = |c: char| match c {
        'a'..='z' | 'A'..='Z' | '0'..='9' | '-' | '_' | '.' => c,
        _ => '-',
    };
    let mut slug: String = text.chars().map(plain).collect();
    // Neither a hidden file nor a folder.
    if slug.starts_with('.') {
        slug.insert(0, '-');
    }
    slug
}

#[cfg(test)]
mod tests {
    use prony_model::{Arrivals, Schedule, parse_stages};

    use super::*;

    fn closed(connections: usize) -> LoadSpec {
        LoadSpec {
            shape: LoadShape::Closed,
            connections,
            threads: 1,
            duration_s: Some(2.0),
            requests: None,
            warmup_s: 0.5,
            timeout_s: 2.0,
            ..LoadSpec::default()
        }
    }

    fn table(workload: &str, load: LoadSpec) -> Table {
        Table {
            workload: workload.into(),
            load,
            rounds: 1,
            apart: None,
            slug: slug(workload),
            rows: Vec::new(),
            baseline: None,
            order: None,
            course: Vec::new(),
            enough: None,
        }
    }

    fn named(tables: impl IntoIterator<Item = Table>) -> Vec<(String, String)> {
        let mut tables: Vec<Table> = tables.into_iter().collect();
        tell_apart(&mut tables);
        tables
            .iter()
            .map(|table| (table.name(), table.slug.clone()))
            .collect()
    }

    fn pair(name: &str, slug: &str) -> (String, String) {
        (name.into(), slug.into())
    }

    #[test]
    fn a_workload_alone_keeps_its_name() {
        let names = named([table("hello", closed(64)), table("page", closed(64))]);
        assert_eq!(names, [pair("hello", "hello"), pair("page", "page")]);
    }

    #[test]
    fn two_loads_on_one_workload_are_told_apart() {
        let users = LoadSpec {
            shape: LoadShape::UsersOpen { think_time_s: 1.0 },
            ..closed(500)
        };
        let names = named([table("byte", closed(1)), table("byte", users)]);
        assert_eq!(
            names,
            [
                pair("byte, 1 connection", "byte-closed-1"),
                pair("byte, 500 users, open loop", "byte-users-500")
            ]
        );
    }

    #[test]
    fn loads_that_differ_in_little_say_that_little() {
        let longer = LoadSpec {
            duration_s: Some(10.0),
            ..closed(64)
        };
        let names = named([table("byte", closed(64)), table("byte", longer)]);
        assert_eq!(
            names,
            [
                pair("byte, 64 connections, 2 s", "byte-closed-64-2s"),
                pair("byte, 64 connections, 10 s", "byte-closed-64-10s")
            ]
        );
    }

    fn rate(stages: &str) -> LoadSpec {
        LoadSpec {
            shape: LoadShape::Rate(Schedule {
                stages: parse_stages(stages).unwrap(),
                ..Schedule::constant(Arrivals::Poisson, 1.0)
            }),
            ..closed(64)
        }
    }

    #[test]
    fn rates_are_told_apart_by_what_they_ask() {
        let names = named([
            table("byte", closed(64)),
            table("byte", rate("20k/s")),
            table("byte", rate("40k/s")),
            table("byte", rate("1k/s:10s,1k/s..5k/s:30s")),
        ]);
        assert_eq!(
            names,
            [
                pair("byte, 64 connections", "byte-closed-64"),
                pair("byte, 20k/s, open loop", "byte-rate-20k"),
                pair("byte, 40k/s, open loop", "byte-rate-40k"),
                pair(
                    "byte, 1k/s:10s, 1k/s..5k/s:30s, open loop",
                    "byte-rate-1k-10s-1k..5k-30s"
                ),
            ]
        );
    }

    #[test]
    fn what_the_connections_do_is_told_where_it_differs() {
        let with = |change: fn(&mut LoadSpec)| {
            let mut load = closed(64);
            change(&mut load);
            table("byte", load)
        };
        let names = named([
            with(|_| {}),
            with(|load| load.pipeline = 16),
            with(|load| load.requests_per_connection = Some(1)),
            with(|load| load.shape = LoadShape::UsersClosed { think_time_s: 1.0 }),
        ]);
        assert_eq!(
            names,
            [
                pair("byte, 64 connections", "byte-closed-64"),
                pair(
                    "byte, 64 connections, pipelined 16 deep",
                    "byte-closed-64-pipeline-16"
                ),
                pair(
                    "byte, 64 connections, a new connection for each request",
                    "byte-closed-64-anew-1"
                ),
                pair("byte, 64 users, closed loop", "byte-users-closed-64"),
            ]
        );
    }

    #[test]
    fn rates_that_differ_in_little_say_that_little() {
        let even = LoadSpec {
            shape: LoadShape::Rate(Schedule::constant(Arrivals::Even, 20_000.0)),
            ..closed(64)
        };
        let wider = LoadSpec {
            max_connections: Some(500),
            ..rate("20k/s")
        };
        let names = named([
            table("byte", rate("20k/s")),
            table("byte", even),
            table("byte", wider),
        ]);
        let names: Vec<&str> = names.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(
            names,
            [
                "byte, 20k/s, open loop, Poisson",
                "byte, 20k/s, open loop, evenly spaced",
                "byte, 20k/s, open loop, Poisson, at most 500 connections",
            ]
        );
    }

    #[test]
    fn slugs_are_file_names_and_never_the_same() {
        let names = named([table("a/b", closed(1)), table("a b", closed(1))]);
        assert_eq!([&names[0].1, &names[1].1], ["a-b", "a-b-2"]);
        assert_eq!(slug("../x"), "-..-x");
    }
}
