//! The calibration on the terminal.

use prony_kernel::format_cpu_list;
use prony_model::quota;
use prony_present::number::{NONE, count, duration, exact, exact_rate, share};
use prony_present::page::{Block, Page, Section};
use prony_present::table::{Cell, Head, Row, Table, Weight};
use prony_present::terminal::Paint;

use super::calibration::Calibration;
use super::conditions::{Conditions, OpenFiles};
use super::engine::{AtRate, Engine, RequestCost, ScheduleLag};
use super::meaning;
use super::round_trip::RoundTrips;
use super::timing::{Clock, Percentiles, Wakeups};

/// Everything that was measured, and what it means, in lines of at most `width` characters.
pub(super) fn text(calibration: &Calibration, width: usize) -> String {
    let engine = calibration.engine.as_ref();
    let conditions = calibration.conditions.as_ref();
    let means = meaning::sentences(calibration);
    let sections = [
        calibration.clock.as_ref().map(clock),
        waits(calibration),
        engine.map(self::engine),
        calibration.schedule_lag.as_ref().map(schedule_lag),
        conditions.map(|seen| self::conditions(seen, engine)),
        (!means.is_empty()).then(|| Section::of("", "What this means", vec![Block::List(means)])),
    ];
    let page = Page {
        sections: sections.into_iter().flatten().collect(),
        ..Page::default()
    };
    page.terminal(width, Paint { colour: false })
}

fn clock(clock: &Clock) -> Section {
    let (read, step) = (duration(clock.read_ns), duration(clock.step_ns as f64));
    let text = format!("reading it takes {read}; its resolution is {step}");
    Section::of("", "Clock", vec![Block::List(vec![text])])
}

/// A table whose first column is words, and the others figures.
fn table<const N: usize>(titles: [&'static str; N], rows: Vec<Row>) -> Block {
    let figures = titles.into_iter().map(Head::figure);
    Block::Table(Table::with(
        std::iter::once(Head::words("")).chain(figures),
        rows,
    ))
}

/// The timers, and the round trip: all of them durations.
fn waits(calibration: &Calibration) -> Option<Section> {
    let mut rows = Vec::new();
    if let Some(Wakeups {
        asked_ns,
        sleeping,
        spinning,
    }) = calibration.wakeups
    {
        let asked = duration(asked_ns as f64);
        rows.push(times(format!("wake-up delay after {asked}"), sleeping));
        rows.push(times("  the last 200 µs spinning".into(), spinning));
    }
    if let Some(RoundTrips { two_cpus, one_cpu }) = calibration.round_trips {
        rows.push(times("round trip, two CPUs".into(), two_cpus));
        rows.push(times("round trip, one CPU".into(), one_cpu));
    }
    (!rows.is_empty()).then(|| {
        let title = "Timers, and a byte over the loopback network";
        let table = table(["p50", "p99", "max", "samples"], rows);
        Section::of("", title, vec![table])
    })
}

fn times(name: String, found: Option<Percentiles>) -> Row {
    let ns = |of: fn(Percentiles) -> Option<u64>| optional(found.and_then(of));
    Row::of([
        Cell::text(name),
        ns(|found| Some(found.p50)),
        ns(|found| found.p99),
        ns(|found| Some(found.max)),
        Cell::text(found.map_or(NONE.into(), |found| exact(found.count))),
    ])
}

fn optional(ns: Option<u64>) -> Cell {
    Cell::optional(ns.map(|ns| ns as f64), duration)
}

fn engine(engine: &Engine) -> Section {
    let side = |name: &str, cost: Option<RequestCost>, calls: Option<f64>, busy: f64| {
        let time = |of: fn(&RequestCost) -> f64| Cell::optional(cost.as_ref().map(of), duration);
        Row::of([
            Cell::text(name),
            time(RequestCost::cpu_ns),
            time(|cost| cost.user_ns),
            time(|cost| cost.system_ns),
            Cell::optional(cost.and_then(|cost| cost.instructions), count),
            Cell::optional(cost.and_then(|cost| cost.cycles), count),
            Cell::optional(calls, |calls| format!("{calls:.2}")),
            Cell::text(share(busy)),
        ])
    };
    let table = table(
        [
            "CPU time",
            "user",
            "kernel",
            "instructions",
            "cycles",
            "system calls",
            "busy",
        ],
        vec![
            side(
                "generator",
                engine.generator,
                engine.system_calls,
                engine.generator_busy,
            ),
            side("reference server", engine.server, None, engine.server_busy),
        ],
    );
    let mut text = format!("{} responses per second", count(engine.rate_per_s));
    if let Some(Percentiles {
        p50,
        p99: Some(p99),
        ..
    }) = engine.latency_ns
    {
        let (p50, p99) = (duration(p50 as f64), duration(p99 as f64));
        text += &format!("; latency (closed loop): p50 {p50}, p99 {p99}");
    }
    let title = format!(
        "Cost per request: small response, closed loop of 64 connections over {}",
        engine.event_loop
    );
    Section::of("", title, vec![table, Block::List(vec![text])])
}

fn schedule_lag(lag: &ScheduleLag) -> Section {
    let row = |waiting: &str, at: &AtRate| {
        let limited = at.client_limited_by.iter();
        let limited = limited.map(|why| format!("the generator was the bottleneck: {why}"));
        Row {
            cells: vec![
                Cell::text(format!("{}, {waiting}", exact_rate(at.rate_per_s))),
                optional(at.lag_ns.map(|lag| lag.p50)),
                optional(at.lag_ns.and_then(|lag| lag.p99)),
                Cell::text(format!("{:.3}", at.rate_ratio)),
                Cell::text(share(at.generator_busy)),
            ],
            ..Row::flagged(Weight::Note, limited)
        }
    };
    let sleeping = lag.sleeping.iter().map(|at| row("sleeping", at));
    let spinning = lag.spinning.iter().map(|at| row("spinning", at));
    let rows = sleeping.chain(spinning).collect();
    let table = table(["lag p50", "lag p99", "sent", "busy"], rows);
    let title = "Schedule lag: evenly spaced requests, one thread";
    Section::of("", title, vec![table])
}

fn conditions(seen: &Conditions, engine: Option<&Engine>) -> Section {
    let machine = &seen.machine;
    let unseen = || "not visible".to_owned();
    let counted = match engine.and_then(|engine| engine.generator) {
        Some(cost) if cost.instructions.is_some() => "counted",
        Some(_) => "not counted",
        None => NONE,
    };
    let energy = match seen.energy_is_told {
        Some(true) => "counted by the processor (RAPL)".to_owned(),
        Some(false) => unseen(),
        None => NONE.to_owned(),
    };
    let limit = |limit: Option<u64>| limit.map_or_else(|| "unlimited".to_owned(), exact);
    let facts = vec![
        (
            "CPU",
            format!("{}, {} online", machine.cpu_model, machine.cpus),
        ),
        ("CPU quota", machine.cpu_quota.map_or("none".into(), quota)),
        ("server on CPU", format_cpu_list(&seen.cpus.server)),
        ("generator on CPU", format_cpu_list(&seen.cpus.load)),
        ("kernel", machine.kernel.clone()),
        (
            "virtual machine",
            machine
                .virtualization
                .clone()
                .unwrap_or_else(|| "none detected".into()),
        ),
        (
            "frequency governor",
            machine.governor.clone().unwrap_or_else(unseen),
        ),
        (
            "frequency under load",
            seen.frequency_mhz
                .map_or_else(unseen, |(low, high)| format!("{low:.0} to {high:.0} MHz")),
        ),
        ("cycles, instructions", counted.to_owned()),
        ("energy", energy),
        (
            "CPU steal under load",
            seen.steal_share.map_or(NONE.to_owned(), share),
        ),
        (
            "open files",
            seen.open_files
                .map_or_else(unseen, |OpenFiles { now, most }| {
                    format!("{}, can be raised to {}", limit(now), limit(most))
                }),
        ),
        (
            "local ports",
            seen.local_ports.map_or_else(unseen, |[first, last]| {
                format!("{first} to {last} for each address")
            }),
        ),
    ];
    Section::of("", "The machine", vec![Block::Facts(facts)])
}
