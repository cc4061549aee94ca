//! Builds the tables: groups trials by workload and load, sums up each server, ranks, and names each table.

use std::cmp::Ordering;
use std::collections::BTreeSet;

use prony_model::{
    CEILING, CountedRounds, LoadShape, LoadSpec, Run, Stage, TrialRecord, measures_of,
};
use prony_present::load::{Distinction, distinction};

use crate::course::course;
use crate::figures::{Figures, Percentile, Relative};
use crate::ranking;
use crate::table::{RateOrder, ResultTable, RoundsReached, ServerRow, Standing};

/// The tables of a run, in the suite's order.
pub(crate) fn tables(run: &Run, trials: &[TrialRecord]) -> Vec<ResultTable> {
    let mut tables: Vec<ResultTable> = groups(run, trials)
        .into_iter()
        .map(|(workload, load)| {
            let here = trials.iter().filter(|record| {
                record.trial.workload == workload && record.trial.load.same_load(&load)
            });
            let here: Vec<&TrialRecord> = here.collect();
            let Ranked {
                rows,
                order,
                cpu_order,
            } = rows(run, &here, &load.shape);
            ResultTable {
                baseline: baseline(run, &rows),
                rows,
                order,
                cpu_order,
                rounds: tried_rounds(&here),
                course: course(&here),
                enough: RoundsReached::of(run, &workload, &load),
                slug: slug(&workload),
                apart: None,
                workload,
                load,
            }
        })
        .collect();
    tell_apart(&mut tables);
    tables
}

fn tried_rounds(trials: &[&TrialRecord]) -> usize {
    let rounds = trials.iter().map(|record| record.trial.round);
    rounds.collect::<BTreeSet<_>>().len()
}

/// Every workload and load that was tried. Trials are shuffled, so the order comes from the servers' lists of verified
/// workloads, which have the suite's order.
fn groups(run: &Run, trials: &[TrialRecord]) -> Vec<(String, LoadSpec)> {
    let groups = measures_of(trials).into_iter().map(|(workload, load)| {
        let load = load.clone();
        (workload.to_owned(), LoadSpec { seed: 0, ..load })
    });
    let mut groups: Vec<(String, LoadSpec)> = groups.collect();
    let order = workloads(run);
    let place = |workload: &str| {
        let place = order.iter().position(|w| *w == workload);
        place.unwrap_or(usize::MAX)
    };
    groups.sort_by(|(a, a_load), (b, b_load)| {
        let by_workload = (place(a), a).cmp(&(place(b), b));
        by_workload.then_with(|| by_load(a_load, b_load))
    });
    groups
}

/// Few connections before many; for the same number, closed loops before open ones, and low rates before high ones.
fn by_load(a: &LoadSpec, b: &LoadSpec) -> Ordering {
    let counts = |load: &LoadSpec| {
        let churn = load.requests_per_connection.is_some();
        (load.shape.is_open(), load.pipeline, churn, load.streams)
    };
    let rate = |load: &LoadSpec| match &load.shape {
        LoadShape::Rate(schedule) => {
            let peaks = schedule.stages.iter().map(Stage::peak_per_s);
            peaks.fold(0.0, f64::max)
        }
        _ => 0.0,
    };
    let by_connections = a.connections.cmp(&b.connections);
    by_connections
        .then_with(|| counts(a).cmp(&counts(b)))
        .then_with(|| rate(a).total_cmp(&rate(b)))
}

/// The suite's workloads: those of the server that has the most, then what the others have besides.
fn workloads(run: &Run) -> Vec<&str> {
    let mut lists: Vec<_> = run.servers.iter().map(|s| &s.verified).collect();
    lists.sort_by_key(|verified| std::cmp::Reverse(verified.len()));
    let mut order: Vec<&str> = Vec::new();
    for verified in lists.into_iter().flatten() {
        if !order.contains(&verified.workload.as_str()) {
            order.push(&verified.workload);
        }
    }
    order
}

/// The rows of a table, and which of them the rounds tell apart.
struct Ranked {
    rows: Vec<ServerRow>,
    order: Option<RateOrder>,
    cpu_order: RateOrder,
}

fn rows(run: &Run, trials: &[&TrialRecord], shape: &LoadShape) -> Ranked {
    let open = shape.is_open();
    let mut rows: Vec<ServerRow> = run
        .servers
        .iter()
        .filter_map(|server| {
            let own = trials.iter().filter(|r| r.trial.server == server.id);
            let figures = Figures::of(&CountedRounds::of(own.copied()))?;
            Some(ServerRow {
                standing: Standing::Offered,
                bounds: Vec::new(),
                server: server.clone(),
                figures,
                share_of_ceiling: None,
                of_baseline: None,
                thinks: matches!(shape, LoadShape::UsersClosed { .. }),
                cpu_band: None,
            })
        })
        .collect();
    relate(run, &mut rows, open);
    ranking::assess(&mut rows, open);
    let cpu_order = ranking::rank_by_cpu(&mut rows);
    if open {
        rows.sort_by(|a, b| median_latency(a).total_cmp(&median_latency(b)));
        return Ranked {
            rows,
            order: None,
            cpu_order,
        };
    }
    let order = ranking::rank(&mut rows);
    rows.sort_by(|a, b| {
        let unranked = |row: &ServerRow| row.band().is_none();
        let by_rate = b.figures.rate.median.total_cmp(&a.figures.rate.median);
        unranked(a).cmp(&unranked(b)).then(by_rate)
    });
    Ranked {
        rows,
        order: Some(order),
        cpu_order,
    }
}

/// Those without a response come last.
fn median_latency(row: &ServerRow) -> f64 {
    let latency = row.figures.percentile(Percentile::P50);
    latency.unwrap_or(f64::INFINITY)
}

/// The server that the others are compared with, unless it is the ceiling, which has a column anyway.
fn baseline(run: &Run, rows: &[ServerRow]) -> Option<String> {
    let ids = run.servers.iter().map(|server| server.id.as_str());
    let has_row = |id: &str| rows.iter().any(|row| row.server.id == id);
    let baseline = prony_model::baseline(run.baseline.as_deref(), ids, has_row)?;
    (baseline != CEILING && rows.len() > 1).then(|| baseline.to_owned())
}

/// Computes the ratios to the ceiling and to the baseline. In an open loop the rate is the offered one, so there is no share
/// of the ceiling's.
fn relate(run: &Run, rows: &mut [ServerRow], open: bool) {
    let by_round = |row: &ServerRow| row.figures.headline.clone();
    let baseline = baseline(run, rows);
    let is_base = |row: &&ServerRow| Some(&row.server.id) == baseline.as_ref();
    let ceiling = rows.iter().find(|row| row.server.is_ceiling() && !open);
    let (ceiling, base) = (
        ceiling.map(by_round),
        rows.iter().find(is_base).map(by_round),
    );
    for row in rows {
        let to = |base: &_| Relative::of(&row.figures.headline, base);
        if !row.server.is_ceiling() {
            row.share_of_ceiling = ceiling.as_ref().and_then(to);
        }
        if Some(&row.server.id) != baseline.as_ref() {
            row.of_baseline = base.as_ref().and_then(to);
        }
    }
}

/// Names each table that shares its workload with another by how their loads differ, and gives every table a unique slug.
fn tell_apart(tables: &mut [ResultTable]) {
    for i in 0..tables.len() {
        let same = |other: &&ResultTable| other.workload == tables[i].workload;
        let same = tables.iter().filter(same);
        let loads: Vec<&LoadSpec> = same.map(|other| &other.load).collect();
        if loads.len() > 1 {
            let Distinction { words, slug: own } = distinction(&tables[i].load, &loads);
            tables[i].slug = slug(&format!("{} {own}", tables[i].workload));
            tables[i].apart = Some(words);
        }
        tables[i].slug = free(&tables[..i], &tables[i].slug);
    }
}

/// The slug, with a number if another table already has it.
fn free(others: &[ResultTable], slug: &str) -> String {
    let is_free = |slug: &String| !others.iter().any(|other| other.slug == *slug);
    let numbered = (2..).map(|n| format!("{slug}-{n}"));
    let mut slugs = std::iter::once(slug.to_owned()).chain(numbered);
    slugs.find(is_free).unwrap_or_default()
}

/// The text with only those characters that are safe in a file name and an anchor.
fn slug(text: &str) -> String {
    let plain = |c: char| match c {
        'a'..='z' | 'A'..='Z' | '0'..='9' | '-' | '_' | '.' => c,
        _ => '-',
    };
    let slug: String = text.chars().map(plain).collect();
    // Neither a hidden file nor a folder.
    if slug.starts_with('.') {
        format!("-{slug}")
    } else {
        slug
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The name and the slug of each table.
    fn named(workloads: [&str; 2], loads: [usize; 2]) -> Vec<String> {
        let table = |(workload, connections): (&str, usize)| ResultTable {
            workload: workload.into(),
            load: LoadSpec {
                connections,
                ..LoadSpec::default()
            },
            rounds: 1,
            apart: None,
            slug: slug(workload),
            rows: Vec::new(),
            baseline: None,
            order: None,
            cpu_order: ranking::rank_by_cpu(&mut []),
            course: Vec::new(),
            enough: None,
        };
        let mut tables: Vec<ResultTable> = workloads.into_iter().zip(loads).map(table).collect();
        tell_apart(&mut tables);
        let words = tables
            .iter()
            .map(|table| format!("{} | {}", table.name(), table.slug));
        words.collect()
    }

    #[test]
    fn tables_are_distinguished_only_within_their_workload_and_by_file_names() {
        for (workloads, connections, expected) in [
            (
                ["hello", "page"],
                [64, 64],
                ["hello | hello", "page | page"],
            ),
            (
                ["byte", "byte"],
                [1, 64],
                [
                    "byte, 1 connection | byte-closed-1",
                    "byte, 64 connections | byte-closed-64",
                ],
            ),
            (["a/b", "a b"], [1, 1], ["a/b | a-b", "a b | a-b-2"]),
        ] {
            assert_eq!(named(workloads, connections), expected);
        }
        assert_eq!(slug("../x"), "-..-x");
    }
}
