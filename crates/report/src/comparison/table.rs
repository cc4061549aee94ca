//! Makes the tables: groups trials by workload and load, sums each server up, and ranks.

use std::cmp::Ordering;

use prony_model::{CEILING, LoadShape, LoadSpec, Run, Stage, TrialRecord};

use super::relative::Relative;
use super::rounds::Rounds;
use super::{
    EnoughRounds, Figures, Percentile, RateOrder, Row, ServerLabel, Standing, Table, course,
    naming, ranking,
};
use crate::prose;

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
            let open = prose::is_open(&load);
            let (rows, order) = rows(run, &here, open);
            Table {
                baseline: baseline(run, &rows),
                rows,
                order,
                rounds: rounds(&here),
                course: course::course(&here, open),
                enough: EnoughRounds::of(run, &workload, &load),
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

/// Every workload and load that was tried. Trials are shuffled; the servers' lists of verified
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

/// The suite's workloads: those of the server that has the most, then what others have besides.
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

fn rows(run: &Run, trials: &[&TrialRecord], open: bool) -> (Vec<Row>, Option<RateOrder>) {
    let mut rows: Vec<Row> = run
        .servers
        .iter()
        .filter_map(|server| {
            let label = ServerLabel::from(server);
            let own = trials.iter().filter(|r| r.trial.server == server.id);
            let figures = Figures::of(&Rounds::of(own.copied()), open)?;
            Some(Row {
                standing: Standing::Offered,
                bounds: Vec::new(),
                is_ceiling: server.id == CEILING,
                server: label,
                figures,
                share_of_ceiling: None,
                of_baseline: None,
                cpu_band: None,
            })
        })
        .collect();
    relate(run, &mut rows, open);
    ranking::assess(&mut rows, open);
    ranking::rank_by_cpu(&mut rows);
    if open {
        rows.sort_by(|a, b| median_latency(a).total_cmp(&median_latency(b)));
        return (rows, None);
    }
    let order = ranking::rank(&mut rows);
    rows.sort_by(|a, b| {
        let unranked = |row: &Row| row.band().is_none();
        let by_rate = b.figures.rate.median.total_cmp(&a.figures.rate.median);
        unranked(a).cmp(&unranked(b)).then(by_rate)
    });
    (rows, Some(order))
}

/// Those without a response come last.
fn median_latency(row: &Row) -> f64 {
    let latency = row.figures.percentile(Percentile::P50);
    latency.unwrap_or(f64::INFINITY)
}

/// The server that the others are compared with, where it is not the ceiling, which has a column anyway.
fn baseline(run: &Run, rows: &[Row]) -> Option<String> {
    let ids = run.servers.iter().map(|server| server.id.as_str());
    let has_row = |id: &str| rows.iter().any(|row| row.server.id == id);
    let baseline = prony_model::baseline(run.baseline.as_deref(), ids, has_row)?;
    (baseline != CEILING && rows.len() > 1).then(|| baseline.to_owned())
}

/// Takes the ratios to the ceiling and to the baseline. In an open loop the rate is the offered one, so that it has no
/// share of the ceiling's.
fn relate(run: &Run, rows: &mut [Row], open: bool) {
    let by_round = |row: &Row| row.figures.compared.clone();
    let ceiling = rows
        .iter()
        .find(|row| row.is_ceiling && !open)
        .map(by_round);
    let baseline = baseline(run, rows);
    let base = rows
        .iter()
        .find(|row| Some(&row.server.id) == baseline.as_ref());
    let base = base.map(by_round);
    for row in rows {
        let to = |base: &_| Relative::of(&row.figures.compared, base);
        if !row.is_ceiling {
            row.share_of_ceiling = ceiling.as_ref().and_then(to);
        }
        if Some(&row.server.id) != baseline.as_ref() {
            row.of_baseline = base.as_ref().and_then(to);
        }
    }
}
