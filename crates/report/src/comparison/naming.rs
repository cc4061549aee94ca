//! Names for tables of one workload under several loads, so that no two are the same.

use prony_record::{LoadShape, LoadSpec};

use super::Table;
use crate::{format, prose};

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

/// A word for a load in a title and in a file name.
#[derive(PartialEq)]
struct Part {
    words: String,
    slug: String,
}

/// As few parts of the load as tell it apart from the others.
fn distinguishing(load: &LoadSpec, all: &[&LoadSpec]) -> Vec<Part> {
    let mut own = parts(load);
    let enough = (1..=own.len()).find(|&count| {
        let same = |other: &&&LoadSpec| parts(other)[..count] == own[..count];
        all.iter().filter(same).count() == 1
    });
    own.truncate(enough.unwrap_or(own.len()));
    own
}

/// What a load is, the more telling first.
fn parts(load: &LoadSpec) -> Vec<Part> {
    let part = |words: String, slug: String| Part { words, slug };
    let connections = load.connections;
    let (arrivals, think) = match load.shape {
        LoadShape::Closed => (
            part(
                prose::plural(connections, "connection"),
                format!("closed-{connections}"),
            ),
            part("closed loop".into(), "loop".into()),
        ),
        LoadShape::UsersOpen { think_time_s } => (
            part(
                format!("{}, open loop", prose::plural(connections, "user")),
                format!("users-{connections}"),
            ),
            part(
                format!("think time {}", format::seconds(think_time_s)),
                format!("think-{think_time_s}s"),
            ),
        ),
    };
    let requests = load.requests.map_or("no end by requests".into(), |n| {
        format!("{} requests", format::exact(n))
    });
    let seconds = load
        .duration_s
        .map_or("no end by time".into(), format::seconds);
    vec![
        arrivals,
        think,
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
        assert!(names[0].0.ends_with(", 2 s") && names[1].0.ends_with(", 10 s"));
        assert_ne!(names[0].1, names[1].1);
    }

    #[test]
    fn slugs_are_file_names_and_never_the_same() {
        let names = named([table("a/b", closed(1)), table("a b", closed(1))]);
        assert_eq!([&names[0].1, &names[1].1], ["a-b", "a-b-2"]);
        assert_eq!(slug("../x"), "-..-x");
    }
}
