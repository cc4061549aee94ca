//! A server: its figures over all runs, and its versions.

use prony_model::{LoadSpec, MeasuredBy, RunEnd, ServerRecord};
use prony_present::chart::{Axis, HistoryChart, HistoryPoint, Scale};
use prony_present::load;
use prony_present::number::{self, NONE, bytes, duration};
use prony_present::page::{Block, Figure as ChartFigure, Page, Section};
use prony_present::table::{Cell, Colour, Head, Row, Table};
use prony_present::words::{Joined, capital, non_empty, plural};
use prony_report::compare::differences;

use super::{end, end_cell, footer, linked, machine_cell, run_cell, time_cell, words};
use crate::catalog::grouped;
use crate::digest::{Figure, RunDigest, ServerFigures, Trust};
use crate::page_address::{PageAddress, trail};

/// A chart shows this many runs at most, the newest; more would be closer than their marks are wide.
const MOST_POINTS: usize = 60;
/// How much of a hash of sources is shown.
const HASH: usize = 8;

/// One of a server's runs, with its figures on one workload under one load.
struct Measured<'a> {
    digest: &'a RunDigest,
    entry: &'a ServerFigures,
}

/// The page of a server; `runs` are those that requested it, the oldest first.
pub(crate) fn server(id: &str, runs: &[&RunDigest]) -> Page {
    let here = PageAddress::Server(id.to_owned());
    let histories = histories(id, runs);
    let mut sections: Vec<Section> = histories
        .iter()
        .enumerate()
        .map(|(i, history)| {
            let alike = histories.iter().map(|other| other[0].entry);
            let alike = alike.filter(|other| other.workload == history[0].entry.workload);
            let loads: Vec<&LoadSpec> = alike.map(|other| &other.load).collect();
            of_load(i, id, &name(history[0].entry, &loads), history, &here)
        })
        .collect();
    let versions = Block::Table(versions(id, runs, &here));
    sections.push(Section::of("versions", "Versions", vec![versions]));
    sections.extend(absent(id, runs, &here));
    let last = runs.last().and_then(|digest| digest.server(id));
    let text = |of: fn(&ServerRecord) -> String| last.map(of).unwrap_or_default();
    let version = text(|it| it.version.clone().unwrap_or_default());
    let facts = [
        ("Language", text(|it| it.language.clone())),
        ("Framework", text(|it| it.framework.clone())),
        ("Class", text(|it| it.class.clone())),
        ("Latest version", version),
        ("Runs", runs.len().to_string()),
    ];
    let facts = facts.into_iter().filter(|(_, value)| !value.is_empty());
    Page {
        trail: trail(&here),
        kicker: "Prony · server over time".into(),
        title: id.to_owned(),
        facts: facts.collect(),
        intro: vec![Block::Text(READING.into())],
        sections,
        footer: footer(),
    }
}

const READING: &str = "Each point is the median of a run's rounds with its 95 % interval, in the order of the runs. A line joins two \
runs only if their conditions are the same by the rule of “prony compare”: machine, system, kernel, CPUs, Prony's version and where the load \
came from. A triangle marks another version of the server, or other sources. Points of two runs that are not interleaved can differ by \
more than their intervals say; the verdicts in the table allow for that.";

/// The figures of a server, apart by workload and load; loads that were measured last come first.
fn histories<'a>(id: &'a str, runs: &[&'a RunDigest]) -> Vec<Vec<Measured<'a>>> {
    let newest_first = runs.iter().rev().flat_map(|digest| {
        let entries = digest.entries_of(id);
        entries.map(move |entry| Measured { digest, entry })
    });
    let mut histories = grouped(newest_first, |one, other| one.entry.is_like(other.entry));
    for history in &mut histories {
        history.reverse();
    }
    histories
}

fn of_load(
    i: usize,
    id: &str,
    name: &str,
    history: &[Measured<'_>],
    here: &PageAddress,
) -> Section {
    let entry = history[0].entry;
    let mut blocks = Vec::new();
    if history.iter().any(|one| one.entry.figure.is_some()) {
        let chart = chart(id, name, history, here).draw();
        blocks.push(Block::Charts(vec![ChartFigure {
            file: format!("history-{i}.svg"),
            chart,
        }]));
    }
    blocks.push(Block::Table(table(id, history, here)));
    Section::of(format!("history-{i}"), name, blocks).lead(load::line(&entry.load))
}

/// The workload and the load, in words that tell it from the other loads of the workload.
fn name(entry: &ServerFigures, loads: &[&LoadSpec]) -> String {
    let words = load::distinction(&entry.load, loads).words;
    format!("{}, {words}", entry.workload)
}

fn chart(id: &str, name: &str, history: &[Measured<'_>], here: &PageAddress) -> HistoryChart {
    let drawn: Vec<(&Measured<'_>, Figure)> = history
        .iter()
        .filter_map(|measured| Some((measured, measured.entry.figure?)))
        .collect();
    let older = drawn.len().saturating_sub(MOST_POINTS);
    let drawn = &drawn[older..];
    let ends = drawn.iter().flat_map(|(_, figure)| {
        let (low, high) = figure.interval.unwrap_or((figure.value, figure.value));
        [low, high, figure.value]
    });
    let entry = history[0].entry;
    let scale = Scale::around(ends, 4);
    let mut notes = vec![entry.figure_name().to_owned()];
    if !scale.starts_at_zero() {
        notes.push("axis not from 0".into());
    }
    if older > 0 {
        notes.push(format!("latest {MOST_POINTS} runs"));
    }
    let points = drawn.iter().enumerate().map(|(i, (measured, figure))| {
        let before = i.checked_sub(1).map(|before| drawn[before].0);
        point(id, measured, *figure, before, here)
    });
    HistoryChart {
        title: name.to_owned(),
        subtitle: notes.join(" · "),
        description: format!(
            "{} of {id} on {} in {}; the table below has the same figures.",
            capital(entry.figure_name()),
            entry.workload,
            plural(drawn.len(), "run")
        ),
        y: Axis::new("", scale, entry.written()),
        points: points.collect(),
    }
}

fn point(
    id: &str,
    measured: &Measured<'_>,
    figure: Figure,
    before: Option<&Measured<'_>>,
    here: &PageAddress,
) -> HistoryPoint {
    let digest = measured.digest;
    let conditions = before.map_or_else(Vec::new, |before| {
        differences(&before.digest.run, &digest.run)
    });
    let changed = before.map_or_else(String::new, |before| {
        server_change(id, before.digest, digest)
    });
    let unsure = care(measured);
    let mut tip = vec![
        format!("{}, run {}", digest.time(), digest.run.id),
        written(measured.entry, &figure),
    ];
    tip.extend(
        [&unsure, &changed]
            .into_iter()
            .cloned()
            .filter_map(non_empty),
    );
    HistoryPoint {
        date: digest.date().to_owned(),
        value: figure.value,
        interval: figure.interval,
        is_unsure: !unsure.is_empty(),
        joins_previous: before.is_some() && conditions.is_empty(),
        conditions: conditions.join("\n"),
        server: changed,
        tip: tip.join("\n"),
        href: PageAddress::Run(digest.run.id.clone()).from(here),
    }
}

/// Why a figure needs care; empty if it does not.
fn care(measured: &Measured<'_>) -> String {
    let trust = match measured.entry.trust {
        Trust::Sound => None,
        Trust::LowerBound => Some("a lower bound".to_owned()),
        Trust::Wrong => Some("wrong responses".to_owned()),
    };
    let ended = match measured.digest.run.end {
        RunEnd::Complete => None,
        other => Some(format!("the run is {}", end(other))),
    };
    trust.into_iter().chain(ended).joined(", ")
}

/// How a server differs between two runs: its version, or its sources.
fn server_change(id: &str, before: &RunDigest, now: &RunDigest) -> String {
    let (Some(then), Some(now)) = (before.server(id), now.server(id)) else {
        return String::new();
    };
    let version =
        |server: &ServerRecord| server.version.clone().unwrap_or_else(|| "unknown".into());
    if then.version != now.version {
        return format!("version {} → {}", version(then), version(now));
    }
    if then.source_hash == now.source_hash {
        String::new()
    } else {
        format!("sources {} → {}", hash(then), hash(now))
    }
}

fn hash(server: &ServerRecord) -> String {
    if server.source_hash.is_empty() {
        NONE.to_owned()
    } else {
        server.source_hash.chars().take(HASH).collect()
    }
}

/// A figure with its interval and unit, in words.
fn written(entry: &ServerFigures, figure: &Figure) -> String {
    let shown = entry.written();
    match figure.interval {
        Some((low, high)) => format!(
            "{} {} (95 % interval {}), {}",
            shown(figure.value),
            entry.figure_name(),
            number::interval(low, high, shown),
            plural(entry.rounds, "round")
        ),
        None => format!("{} {}, one round", shown(figure.value), entry.figure_name()),
    }
}

fn table(id: &str, history: &[Measured<'_>], here: &PageAddress) -> Table {
    let entry = history[0].entry;
    let figure = match (entry.load.by, entry.load.shape.is_open()) {
        (MeasuredBy::Instructions, _) => "instructions/req",
        (MeasuredBy::Time, true) => "p50",
        (MeasuredBy::Time, false) if entry.load.flows => "flows/s",
        (MeasuredBy::Time, false) => "req/s",
    };
    let mut heads = words(&["run", "date", "version", "sources"]);
    heads.extend([figure, "p99", "memory", "rounds"].map(Head::figure));
    heads.push(Head::words("against the run before").hint(
        "The finding of the regression check on this figure, against the run before of the same suite",
    ));
    heads.extend(words(&["conditions", "care"]));
    let rows = history.iter().enumerate().rev().map(|(i, measured)| {
        let before = i.checked_sub(1).map(|before| &history[before]);
        row(id, i, measured, before, here)
    });
    Table::with(heads, rows)
}

fn row(
    id: &str,
    i: usize,
    measured: &Measured<'_>,
    before: Option<&Measured<'_>>,
    here: &PageAddress,
) -> Row {
    let Measured { digest, entry } = measured;
    let record = digest.server(id);
    let (version, sources) = (record.and_then(|it| it.version.clone()), record.map(hash));
    let figure = |figure: Option<Figure>, shown: fn(f64) -> String| {
        let interval = figure.and_then(|figure| figure.interval);
        let interval = interval.map(|(low, high)| number::interval(low, high, shown));
        sorted(figure.map(|figure| figure.value), shown).with(interval)
    };
    let changed = before
        .map(|before| server_change(id, before.digest, digest))
        .unwrap_or_default();
    let conditions = before.map_or_else(Vec::new, |before| {
        differences(&before.digest.run, &digest.run)
    });
    let mark = |text: String, is_marked: bool| {
        Cell::blank(text).colour(is_marked.then_some(Colour::Warning))
    };
    Row {
        begins_group: !conditions.is_empty(),
        cells: vec![
            run_cell(digest, here),
            time_cell(i, digest),
            mark(
                version.unwrap_or(NONE.into()),
                changed.starts_with("version"),
            ),
            mark(
                sources.unwrap_or(NONE.into()),
                changed.starts_with("sources"),
            ),
            figure(entry.figure, entry.written()),
            figure(entry.p99, duration),
            sorted(entry.memory_bytes.map(|size| size as f64), bytes),
            Cell::text(entry.rounds.to_string()),
            against(measured, here),
            mark(conditions.join("; "), true).tip(conditions.join("\n")),
            mark(care(measured), true),
        ],
        ..Row::default()
    }
}

/// A figure that a page sorts by its value.
fn sorted(figure: Option<f64>, shown: fn(f64) -> String) -> Cell {
    Cell::optional(figure, shown).order(figure)
}

/// The finding against the run before.
fn against(measured: &Measured<'_>, here: &PageAddress) -> Cell {
    let Some(change) = &measured.digest.change else {
        return Cell::blank("");
    };
    let page = PageAddress::runs(&change.base, &measured.digest.run.id);
    let tip = format!("compared with the run {}", change.base);
    if change.conditions_differ {
        let tip = format!("{tip}\n{}", change.differences.join("\n"));
        let cell = linked("other conditions", &page, here);
        return cell.tip(tip).colour(Colour::Soft);
    }
    let Some(found) = change.of_entry(measured.entry) else {
        return Cell::blank("");
    };
    let cell = linked(found.finding.name(), &page, here).with(non_empty(found.text.clone()));
    cell.tip(tip).colour(found.finding.colour())
}

/// Each version with its sources, and when it was measured.
fn versions(id: &str, runs: &[&RunDigest], here: &PageAddress) -> Table {
    let known = runs.iter().filter_map(|run| Some((run.server(id)?, *run)));
    let versions = grouped(known, |(one, _), (other, _)| {
        one.version == other.version && one.source_hash == other.source_hash
    });
    let mut heads = words(&["version", "sources (SHA-256)"]);
    heads.push(Head::figure("runs"));
    heads.extend(words(&["first run", "last run", "machine of the last run"]));
    let rows = versions.iter().rev().filter_map(|runs| {
        let ((record, first), (_, last)) = (*runs.first()?, *runs.last()?);
        Some(Row::of([
            Cell::text(record.version.clone().unwrap_or_else(|| NONE.into())),
            Cell::blank(&record.source_hash),
            Cell::text(runs.len().to_string()),
            linked(first.time(), &PageAddress::Run(first.run.id.clone()), here),
            linked(last.time(), &PageAddress::Run(last.run.id.clone()), here),
            machine_cell(last, here),
        ]))
    });
    Table::with(heads, rows)
}

/// The runs that have no figures of the server, or not on every workload.
fn absent(id: &str, runs: &[&RunDigest], here: &PageAddress) -> Option<Section> {
    let rows = runs.iter().rev().flat_map(|digest| {
        let absences = digest
            .absences
            .iter()
            .filter(|absence| absence.server.id == id);
        absences.map(|absence| {
            Row::of([
                run_cell(digest, here),
                Cell::text(digest.time()),
                Cell::text(absence.why.workload().unwrap_or("all workloads")),
                Cell::text(absence.why.label()),
                end_cell(digest),
            ])
        })
    });
    let rows: Vec<Row> = rows.collect();
    (!rows.is_empty()).then(|| {
        let heads = words(&["run", "date", "workload", "why", "end"]);
        let table = Table::with(heads, rows);
        Section::of("without", "Runs without figures", vec![Block::Table(table)])
    })
}
