//! The section of one workload under one load: charts, and the whole table beneath.

use maud::{Markup, html};

use super::generator;
use crate::chart::{self, ChartKind};
use crate::{Absence, Comparison, Percentile, Row, Standing, Table, WorstRound, format, prose};

/// The place of a table in the page.
pub(super) fn anchor(table: &Table) -> String {
    format!("workload-{}", table.slug)
}

pub(super) fn section(table: &Table, comparison: &Comparison) -> Markup {
    let chart = |kind: ChartKind| {
        let id = format!("{}-{}", anchor(table), kind.name());
        html! { figure { (chart::inline(kind, table, &id)) } }
    };
    html! {
        section id=(anchor(table)) {
            h2 { (table.name()) }
            p class="lead" { (prose::load_in_rounds(&table.load, table.rounds)) }
            @if table.rows.is_empty() {
                p { "No server gave figures." }
            } @else {
                div class="charts" { @for kind in ChartKind::of(table) { (chart(kind)) } }
                (figures(table))
                @for aside in prose::asides(table) { p class="caption" { (aside) } }
                (generator::details(table))
            }
            (missing(table, comparison))
        }
    }
}

/// The titles of the columns behind the server's; an open loop ranks nobody and has a schedule.
fn titles(table: &Table) -> Vec<&'static str> {
    let rate: &[&str] = match table.is_open() {
        true => &["req/s offered"],
        false => &["req/s", "Of ceiling"],
    };
    let schedule: &[&str] = match table.is_open() {
        true => &["Late", "Schedule lag p99"],
        false => &[],
    };
    let kept: &[&str] = match table.has_kept() {
        true => &["Sent"],
        false => &[],
    };
    let first_byte: &[&str] = match table.has_first_byte() {
        true => &["First byte p99"],
        false => &[],
    };
    let events: &[&str] = match table.has_events() {
        true => &["Events/s", "First event p99", "Gap p99"],
        false => &[],
    };
    let costs = [
        "Transfer",
        "CPU/req",
        "Peak memory",
        "Startup",
        "Artefact",
        "Reconnects per req",
    ];
    [
        rate,
        &Percentile::ALL.map(Percentile::name),
        schedule,
        kept,
        first_byte,
        events,
        &costs,
    ]
    .concat()
}

fn figures(table: &Table) -> Markup {
    html! {
        div class="scroll" tabindex="0" {
            table {
                thead { tr {
                    @if !table.is_open() { th scope="col" { "Rank" } }
                    th scope="col" class="text" { "Server" }
                    @for title in titles(table) { th scope="col" { (title) } }
                } }
                tbody {
                    @for (i, row) in table.rows.iter().enumerate() {
                        @let new_band = i > 0 && table.rows[i - 1].rank() != row.rank();
                        tr class=(classes(row, new_band)) { (cells(table, row)) }
                    }
                }
            }
        }
        p class="caption" {
            "Latency (p50 to p99.9): " (prose::latency_of(&table.load)) ", from the histograms of all rounds merged."
        }
        @if let Some(why) = prose::unranked(table) { p class="caption" { (why) } }
    }
}

fn classes(row: &Row, new_band: bool) -> String {
    let mut classes = Vec::new();
    if new_band {
        classes.push("band");
    }
    if !row.is_sound() {
        classes.push("unranked");
    }
    classes.join(" ")
}

fn cells(table: &Table, row: &Row) -> Markup {
    let figures = &row.figures;
    let interval = match figures.rate.n {
        1 => format::NONE.to_owned(),
        _ => format::count_interval(figures.rate.low, figures.rate.high),
    };
    html! {
        @if !table.is_open() {
            td { span class={ "rank" @if row.rank() == Some(1) { " first" } } { (prose::rank(row)) } }
        }
        th scope="row" {
            (row.subject.id)
            small { (row.subject.title()) " · " (row.subject.class) }
            @for flag in row.flags() { span class=(flag_class(row)) { (flag) } " " }
        }
        td { strong { (format::count(figures.rate.median)) } small { (interval) } }
        @if !table.is_open() { (optional(row.share_of_ceiling, format::share)) }
        @for percentile in Percentile::ALL { (optional(figures.percentile(percentile), format::duration)) }
        @if table.is_open() { (schedule(row)) }
        @if table.has_kept() { (kept(row)) }
        @if table.has_first_byte() { (worst(figures.first_byte)) }
        @if table.has_events() { (events(row)) }
        td { (format::transfer(figures.transfer_per_s)) }
        (cpu(row))
        td { (format::bytes(figures.peak_memory_bytes as f64)) }
        (startup(row))
        (optional(row.subject.artefact_bytes.map(|bytes| bytes as f64), format::bytes))
        td { (format::count(figures.reconnects_per_request)) }
    }
}

fn schedule(row: &Row) -> Markup {
    let open = row.figures.open;
    html! {
        (optional(open.map(|open| open.late as f64), |late| format::exact(late as u64)))
        (worst(open.and_then(|open| open.lag)))
    }
}

/// The share of what was due that was sent, and over how many connections.
fn kept(row: &Row) -> Markup {
    html! {
        @match row.figures.open.and_then(|open| open.kept) {
            None => td class="none" { (format::NONE) },
            Some(kept) => td {
                (kept.rate_ratio_text())
                small {
                    (prose::plural(kept.most_connections as usize, "connection"))
                    @if kept.bound_hits > 0 { ", " (format::exact(kept.bound_hits)) " found all busy" }
                }
            },
        }
    }
}

fn events(row: &Row) -> Markup {
    let events = row.figures.events;
    html! {
        (optional(events.map(|events| events.per_s.median), format::count))
        (worst(events.and_then(|events| events.first)))
        (worst(events.and_then(|events| events.gap)))
    }
}

/// The p99 of a time, and beneath it the median.
fn worst(time: Option<WorstRound>) -> Markup {
    html! {
        @match time {
            None => td class="none" { (format::NONE) },
            Some(time) => td { (format::duration(time.p99_ns)) small { "p50 " (format::duration(time.p50_ns)) } },
        }
    }
}

pub(super) fn optional(figure: Option<f64>, shown: fn(f64) -> String) -> Markup {
    html! {
        @match figure {
            Some(figure) => td { (shown(figure)) },
            None => td class="none" { (format::NONE) },
        }
    }
}

fn cpu(row: &Row) -> Markup {
    html! {
        @match row.figures.cpu_ns_per_request {
            None => td class="none" { (format::NONE) },
            Some(cpu) => td {
                (format::duration(cpu.median))
                @if let Some(rate) = row.figures.requests_per_cpu_s() {
                    small { (format::count(rate)) "/CPU s" }
                }
            },
        }
    }
}

fn startup(row: &Row) -> Markup {
    html! {
        @match row.figures.startup_ns {
            None => td class="none" { (format::NONE) },
            Some(startup) => td {
                (format::duration(startup.median))
                @if startup.n > 1 { small { (format::duration_interval(startup.low, startup.high)) } }
            },
        }
    }
}

fn flag_class(row: &Row) -> &'static str {
    match row.standing {
        Standing::WrongAnswers => "tag bad",
        Standing::Reference => "tag",
        Standing::Ranked(_) | Standing::Offered | Standing::ClientLimited => "tag warn",
    }
}

/// Who is not in this table; why is told in full further down.
fn missing(table: &Table, comparison: &Comparison) -> Markup {
    let here = comparison
        .absences
        .iter()
        .filter(|absence| absence.is_from(table));
    let missing: Vec<&Absence> = here.collect();
    html! {
        @if !missing.is_empty() {
            p class="caption" {
                "Not in this table: "
                @for (i, absence) in missing.iter().enumerate() {
                    @if i > 0 { ", " }
                    (absence.subject.id) " (" (absence.why.label()) ")"
                }
                ". " a href="#absent" { "Why" } "."
            }
        }
    }
}
