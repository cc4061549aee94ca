//! Makes the tables: groups trials by workload and load, sums each subject up, and ranks.

use std::cmp::Ordering;

use prony_record::{LoadShape, LoadSpec, Measurement, Run, Stage, TrialRecord, TrialResult};
use prony_stats::{Estimate, ranks, ratio_of_medians};

use super::{Figures, Percentile, Row, Standing, SubjectLabel, Table, naming};
use crate::prose;

/// The id of the built-in reference server, which does the least work. Others that are of class
/// `reference`, such as nginx, are held against it like everybody else.
const CEILING: &str = "ceiling";

pub(super) fn tables(run: &Run, trials: &[TrialRecord]) -> Vec<Table> {
    let mut tables: Vec<Table> = groups(run, trials)
        .into_iter()
        .map(|(workload, load)| {
            let here: Vec<_> = trials
                .iter()
                .filter(|record| {
                    record.trial.workload == workload && record.trial.load.same_load(&load)
                })
                .collect();
            Table {
                rows: rows(run, &here, prose::is_open(&load)),
                rounds: rounds(&here),
                slug: naming::slug(&workload),
                apart: None,
                workload,
                load,
            }
        })
        .collect();
    naming::tell_apart(&mut tables);
    tables
}

fn rounds(trials: &[&TrialRecord]) -> usize {
    let mut rounds: Vec<u32> = trials.iter().map(|record| record.trial.round).collect();
    rounds.sort_unstable();
    rounds.dedup();
    rounds.len()
}

/// Every workload and load that was tried. Trials are shuffled; the subjects' lists of verified
/// workloads have the suite's order.
fn groups(run: &Run, trials: &[TrialRecord]) -> Vec<(String, LoadSpec)> {
    let mut groups: Vec<(String, LoadSpec)> = Vec::new();
    for record in trials {
        let (workload, load) = (&record.trial.workload, &record.trial.load);
        if !groups
            .iter()
            .any(|(w, l)| w == workload && l.same_load(load))
        {
            let unseeded = LoadSpec {
                seed: 0,
                ..load.clone()
            };
            groups.push((workload.clone(), unseeded));
        }
    }
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

/// Few connections before many, and of the same number closed loops before open ones, low rates
/// before high ones.
fn by_load(a: &LoadSpec, b: &LoadSpec) -> Ordering {
    let counts = |load: &LoadSpec| {
        let anew = load.requests_per_connection.is_some();
        (load.shape.is_open(), load.pipeline, anew, load.streams)
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

/// The suite's workloads: those of the subject that has the most, then what others have besides.
fn workloads(run: &Run) -> Vec<&str> {
    let mut lists: Vec<_> = run.subjects.iter().map(|s| &s.verified).collect();
    lists.sort_by_key(|verified| std::cmp::Reverse(verified.len()));
    let mut order: Vec<&str> = Vec::new();
    for verified in lists.into_iter().flatten() {
        if !order.contains(&verified.workload.as_str()) {
            order.push(&verified.workload);
        }
    }
    order
}

fn rows(run: &Run, trials: &[&TrialRecord], open: bool) -> Vec<Row> {
    let mut rows: Vec<Row> = run
        .subjects
        .iter()
        .filter_map(|subject| {
            let label = SubjectLabel::from(subject);
            let own = trials.iter().filter(|r| r.trial.subject == subject.id);
            let measured: Vec<&Measurement> = own.clone().filter_map(|r| measurement(r)).collect();
            let failed = own.count() - measured.len();
            let figures = Figures::of(&measured, failed)?;
            Some(Row {
                standing: standing(&label, &figures, open),
                is_ceiling: subject.id == CEILING,
                subject: label,
                figures,
                share_of_ceiling: None,
            })
        })
        .collect();
    if open {
        rows.sort_by(|a, b| median_latency(a).total_cmp(&median_latency(b)));
        return rows;
    }
    relate_to_ceiling(&mut rows);
    rank(&mut rows);
    rows.sort_by(|a, b| {
        let place = |row: &Row| row.rank().unwrap_or(usize::MAX);
        let by_rate = b.figures.rate.median.total_cmp(&a.figures.rate.median);
        place(a).cmp(&place(b)).then(by_rate)
    });
    rows
}

/// Those without an answer come last.
fn median_latency(row: &Row) -> f64 {
    let latency = row.figures.percentile(Percentile::P50);
    latency.unwrap_or(f64::INFINITY)
}

fn measurement(record: &TrialRecord) -> Option<&Measurement> {
    match &record.result {
        TrialResult::Measured(measurement) => Some(measurement),
        TrialResult::Failed { .. } => None,
    }
}

/// Ranks are given later; here only what speaks against one.
fn standing(label: &SubjectLabel, figures: &Figures, open: bool) -> Standing {
    if figures.has_wrong_answers() {
        Standing::WrongAnswers
    } else if figures.client_limited {
        Standing::ClientLimited
    } else if label.is_reference() {
        Standing::Reference
    } else if open {
        Standing::Offered
    } else {
        Standing::Ranked(1)
    }
}

fn relate_to_ceiling(rows: &mut [Row]) {
    let ceiling = rows
        .iter()
        .find(|row| row.is_ceiling)
        .map(|row| row.figures.rate);
    for row in rows.iter_mut().filter(|row| !row.is_ceiling) {
        row.share_of_ceiling =
            ceiling.and_then(|ceiling| ratio_of_medians(&row.figures.rate, &ceiling));
    }
}

fn rank(rows: &mut [Row]) {
    let mut ranked: Vec<&mut Row> = rows.iter_mut().filter(|row| row.rank().is_some()).collect();
    let rates: Vec<Estimate> = ranked.iter().map(|row| row.figures.rate).collect();
    for (row, rank) in ranked.iter_mut().zip(ranks(&rates)) {
        row.standing = Standing::Ranked(rank);
    }
}
