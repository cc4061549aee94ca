//! The calibration on the terminal.

use prony_report::format::{count, duration, exact, share};
use prony_system::format_cpu_list;

use super::Calibration;
use super::clock::Clock;
use super::conditions::{Conditions, OpenFiles};
use super::cost::RequestCost;
use super::engine::Engine;
use super::meaning;
use super::percentiles::Percentiles;
use super::round_trip::RoundTrips;
use super::schedule::{AtRate, ScheduleLag};
use super::sleep::Wakeups;
use crate::command::generators::grid::Grid;

const NOT_KNOWN: &str = "–";

/// Everything that was measured, and what it means.
pub fn text(calibration: &Calibration) -> String {
    let waits = waits(calibration);
    let parts = [
        calibration.clock.as_ref().map(clock),
        (!waits.rows.is_empty()).then(|| waits.terminal()),
        calibration.engine.as_ref().map(engine),
        calibration.schedule_lag.as_ref().map(schedule_lag),
        calibration
            .conditions
            .as_ref()
            .map(|seen| conditions(seen, calibration.engine.as_ref())),
        meaning_list(calibration),
    ];
    parts.into_iter().flatten().collect::<Vec<_>>().join("\n")
}

fn words(cells: &[&str]) -> Vec<String> {
    cells.iter().map(|cell| (*cell).to_owned()).collect()
}

fn clock(clock: &Clock) -> String {
    format!(
        "Clock\n  reading it takes {}; its least step is {}\n",
        duration(clock.read_ns),
        duration(clock.step_ns as f64)
    )
}

/// Waking up, and the round trip: all of them durations.
fn waits(calibration: &Calibration) -> Grid {
    let mut rows = Vec::new();
    if let Some(Wakeups {
        asked_ns,
        sleeping,
        spinning,
    }) = calibration.wakeups
    {
        let asked = duration(asked_ns as f64);
        rows.push(times(format!("delay of a {asked} sleep"), sleeping));
        rows.push(times(
            format!("delay of {asked}, the last 200 µs spinning"),
            spinning,
        ));
    }
    if let Some(RoundTrips { two_cpus, one_cpu }) = calibration.round_trips {
        rows.push(times("round trip of a byte, two CPUs".to_owned(), two_cpus));
        rows.push(times("round trip of a byte, one CPU".to_owned(), one_cpu));
    }
    Grid {
        title: "Waking up, and the loopback network".to_owned(),
        headings: words(&["", "p50", "p99", "longest", "times"]),
        rows,
        notes: Vec::new(),
    }
}

fn times(name: String, found: Option<Percentiles>) -> Vec<String> {
    let mut row = vec![name];
    match found {
        None => row.extend([NOT_KNOWN; 4].map(str::to_owned)),
        Some(found) => row.extend([
            duration(found.p50 as f64),
            maybe(found.p99.map(|p99| p99 as f64), duration),
            duration(found.max as f64),
            exact(found.count),
        ]),
    }
    row
}

fn maybe(value: Option<f64>, text: fn(f64) -> String) -> String {
    value.map_or_else(|| NOT_KNOWN.to_owned(), text)
}

fn engine(engine: &Engine) -> String {
    let side = |name: &str, cost: &Option<RequestCost>, calls: Option<f64>, busy: f64| {
        let time = |of: fn(&RequestCost) -> f64| maybe(cost.as_ref().map(of), duration);
        vec![
            name.to_owned(),
            time(RequestCost::cpu_ns),
            time(|cost| cost.user_ns),
            time(|cost| cost.system_ns),
            maybe(cost.and_then(|cost| cost.instructions), count),
            maybe(cost.and_then(|cost| cost.cycles), count),
            calls.map_or_else(|| NOT_KNOWN.to_owned(), |calls| format!("{calls:.2}")),
            share(busy),
        ]
    };
    let mut notes = vec![format!("{} responses a second", count(engine.rate_per_s))];
    if let Some(Percentiles {
        p50,
        p99: Some(p99),
        ..
    }) = engine.latency_ns
    {
        let (p50, p99) = (duration(p50 as f64), duration(p99 as f64));
        notes.push(format!("latency of this closed loop: p50 {p50}, p99 {p99}"));
    }
    Grid {
        title: format!(
            "A request, small response, closed loop of 64 connections over {}",
            engine.event_loop
        ),
        headings: words(&[
            "",
            "CPU time",
            "user",
            "kernel",
            "instructions",
            "cycles",
            "system calls",
            "busy",
        ]),
        rows: vec![
            side(
                "generator",
                &engine.generator,
                engine.system_calls,
                engine.generator_busy,
            ),
            side("reference server", &engine.server, None, engine.server_busy),
        ],
        notes,
    }
    .terminal()
}

fn schedule_lag(lag: &ScheduleLag) -> String {
    let row = |waiting: &str, at: &AtRate| {
        vec![
            format!("{}/s, {waiting}", count(at.rate_per_s)),
            maybe(at.lag_ns.map(|lag| lag.p50 as f64), duration),
            maybe(
                at.lag_ns.and_then(|lag| lag.p99).map(|p99| p99 as f64),
                duration,
            ),
            format!("{:.3}", at.rate_ratio),
            share(at.generator_busy),
            at.client_limited_by.clone().unwrap_or_default(),
        ]
    };
    let sleeping = lag.sleeping.iter().map(|at| row("sleeping", at));
    let spinning = lag.spinning.iter().map(|at| row("spinning", at));
    Grid {
        title: "Schedule lag at a rate, even arrivals, one thread".to_owned(),
        headings: words(&["", "lag p50", "lag p99", "rate ratio", "busy", ""]),
        rows: sleeping.chain(spinning).collect(),
        notes: Vec::new(),
    }
    .terminal()
}

fn bound(bound: Option<u64>) -> String {
    bound.map_or_else(|| "any number".to_owned(), exact)
}

fn conditions(seen: &Conditions, engine: Option<&Engine>) -> String {
    let machine = &seen.machine;
    let unseen = || "not visible".to_owned();
    let lines = [
        (
            "CPU",
            format!("{}, {} on line", machine.cpu_model, machine.cpus),
        ),
        ("server on CPU", format_cpu_list(&seen.cpus.server)),
        ("generator on CPU", format_cpu_list(&seen.cpus.load)),
        ("kernel", machine.kernel.clone()),
        (
            "virtual machine",
            machine
                .virtualization
                .clone()
                .unwrap_or_else(|| "none seen".into()),
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
        (
            "cycles, instructions",
            match engine.and_then(|engine| engine.generator) {
                Some(RequestCost {
                    instructions: Some(_),
                    ..
                }) => "counted".to_owned(),
                Some(_) => "not counted".to_owned(),
                None => NOT_KNOWN.to_owned(),
            },
        ),
        (
            "energy",
            match seen.energy_is_told {
                Some(true) => "counted by the processor (RAPL)".to_owned(),
                Some(false) => unseen(),
                None => NOT_KNOWN.to_owned(),
            },
        ),
        ("steal under load", maybe(seen.steal_share, share)),
        (
            "open files",
            seen.open_files
                .map_or_else(unseen, |OpenFiles { now, most }| {
                    format!("{}, may be raised to {}", bound(now), bound(most))
                }),
        ),
        (
            "local ports",
            seen.local_ports.map_or_else(unseen, |[first, last]| {
                format!("{first} to {last} for each address")
            }),
        ),
    ];
    let lines = lines.map(|(name, text)| format!("  {name:<22}{text}\n"));
    format!("The machine\n{}", lines.concat())
}

fn meaning_list(calibration: &Calibration) -> Option<String> {
    let sentences = meaning::sentences(calibration);
    let lines: Vec<String> = sentences.iter().map(|line| format!("- {line}\n")).collect();
    (!lines.is_empty()).then(|| format!("What this means\n{}", lines.concat()))
}
