//! The section of one workload under one load: charts, and the whole table beneath.

use maud::{Markup, html};

use crate::chart::{self, ChartKind};
use crate::{Absence, Comparison, Percentile, Row, Standing, Table, format, prose};

/// The place of the `i`th table in the page.
pub(super) fn anchor(i: usize) -> String {
    format!("workload-{}", i + 1)
}

pub(super) fn section(table: &Table, comparison: &Comparison, i: usize) -> Markup {
    let chart = |kind: ChartKind| {
        html! { figure { (chart::inline(kind, table, &format!("{}-{}", anchor(i), kind.name()))) } }
    };
    html! {
        section id=(anchor(i)) {
            h2 { (table.workload) }
            p class="lead" { (prose::load(&table.load)) }
            @if table.rows.is_empty() {
                p { "No server gave figures." }
            } @else {
                div class="charts" { @for kind in ChartKind::ALL { (chart(kind)) } }
                (figures(table))
                (wrong_answers(table))
            }
            (missing(table, comparison))
        }
    }
}

fn figures(table: &Table) -> Markup {
    html! {
        div class="scroll" tabindex="0" {
            table {
                thead { tr {
                    th scope="col" { "Rank" }
                    th scope="col" class="text" { "Server" }
                    @for title in [
                        "req/s", "Of ceiling", "p50", "p90", "p99", "p99.9", "Transfer", "CPU/req",
                        "Peak memory", "Startup", "Artefact", "Reconnects per req",
                    ] { th scope="col" { (title) } }
                } }
                tbody {
                    @for (i, row) in table.rows.iter().enumerate() {
                        @let new_band = i > 0 && table.rows[i - 1].rank() != row.rank();
                        tr class=(classes(row, new_band)) { (cells(row)) }
                    }
                }
            }
        }
        p class="caption" { "Latency (p50 to p99.9) is of a closed loop, from the histograms of all rounds merged." }
    }
}

fn classes(row: &Row, new_band: bool) -> String {
    let mut classes = Vec::new();
    if new_band {
        classes.push("band");
    }
    if row.rank().is_none() {
        classes.push("unranked");
    }
    classes.join(" ")
}

fn cells(row: &Row) -> Markup {
    let figures = &row.figures;
    let interval = match figures.rate.n {
        1 => format::NONE.to_owned(),
        _ => format::count_interval(figures.rate.low, figures.rate.high),
    };
    html! {
        td { span class={ "rank" @if row.rank() == Some(1) { " first" } } { (prose::rank(row)) } }
        th scope="row" {
            (row.subject.id)
            small { (row.subject.title()) " · " (row.subject.class) }
            @for flag in row.flags() { span class=(flag_class(row)) { (flag) } " " }
        }
        td { strong { (format::count(figures.rate.median)) } small { (interval) } }
        (optional(row.share_of_ceiling, format::share))
        @for percentile in Percentile::ALL { (optional(figures.percentile(percentile), format::duration)) }
        td { (format::transfer(figures.transfer_per_s)) }
        (cpu(row))
        td { (format::bytes(figures.peak_memory_bytes as f64)) }
        (startup(row))
        (optional(row.subject.artefact_bytes.map(|bytes| bytes as f64), format::bytes))
        td { (format::count(figures.reconnects_per_request)) }
    }
}

fn optional(figure: Option<f64>, shown: fn(f64) -> String) -> Markup {
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
        Standing::Ranked(_) | Standing::ClientLimited => "tag warn",
    }
}

fn wrong_answers(table: &Table) -> Markup {
    html! {
        @for row in &table.rows {
            @if let Some(wrong) = &row.figures.first_wrong {
                p class="caption" { "First wrong answer of " strong { (row.subject.id) } ": " (wrong) }
            }
        }
    }
}

/// Who is not in this table; why is told in full further down.
fn missing(table: &Table, comparison: &Comparison) -> Markup {
    let here = |absence: &&Absence| {
        let workload = absence.why.workload();
        workload.is_none_or(|workload| workload == table.workload)
    };
    let missing: Vec<&Absence> = comparison.absences.iter().filter(here).collect();
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
