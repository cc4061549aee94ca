//! The section of one workload under one load: charts, and the whole table beneath.

use maud::{Markup, html};
use prony_stats::Estimate;

use super::{costs, generator};
use crate::chart::{self, ChartKind};
use crate::{
    Absence, Comparison, Lag, Percentile, Relative, Row, Standing, Table, WorstRound, format, prose,
};

/// The place of a table in the page.
pub(super) fn anchor(table: &Table) -> String {
    format!("workload-{}", table.slug)
}

pub(super) fn section(table: &Table, comparison: &Comparison) -> Markup {
    let chart = |kind: ChartKind| {
        let id = format!("{}-{}", anchor(table), kind.name());
        html! { figure { (chart::inline(kind, table, &id)) } }
    };
    // The course of the trials stands with the noise.
    let kinds = ChartKind::of(table).filter(|kind| *kind != ChartKind::Course);
    html! {
        section id=(anchor(table)) {
            h2 { (table.name()) }
            p class="lead" { (prose::load_in_rounds(&table.load, table.rounds)) }
            @if table.rows.is_empty() {
                p { "No server gave figures." }
            } @else {
                div class="charts" { @for kind in kinds { (chart(kind)) } }
                (figures(table))
                (costs::section(table))
                @for aside in prose::asides(table) { p class="caption" { (aside) } }
                (generator::details(table))
            }
            (missing(table, comparison))
        }
    }
}

/// The titles of the columns behind the server's; an open loop ranks nobody and has a schedule.
fn titles(table: &Table) -> Vec<String> {
    let mut titles: Vec<&str> = match table.is_open() {
        true => vec!["req/s offered"],
        false => vec!["req/s", "Of ceiling"],
    };
    let baseline = prose::baseline(table).map(capital);
    titles.extend(baseline.as_deref());
    titles.extend(Percentile::ALL.map(Percentile::name));
    if table.is_open() {
        titles.extend(["Late", "Schedule lag p99"]);
    }
    if table.has_kept() {
        titles.push("Sent");
    }
    if table.has_first_byte() {
        titles.push("First byte p99");
    }
    if table.has_events() {
        titles.extend(["Events/s", "First event p99", "Gap p99"]);
    }
    titles.extend(["Transfer", "Reconnects per req"]);
    titles.into_iter().map(str::to_owned).collect()
}

fn capital(text: String) -> String {
    let mut letters = text.chars();
    let first = letters.next().map(|first| first.to_ascii_uppercase());
    first.into_iter().chain(letters).collect()
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
                        @let new_band = i > 0 && table.rows[i - 1].band() != row.band();
                        tr class=(classes(row, new_band)) { (cells(table, row)) }
                    }
                }
            }
        }
        p class="caption" {
            "Latency (p50 to p99.9): " (prose::latency_of(&table.load)) ", from the histograms of all rounds merged. \
             Beneath figures stand their 95 % intervals."
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
            td { span class={ "rank" @if row.may_be_first() { " first" } } { (prose::band(row.band())) } }
        }
        th scope="row" {
            (row.server.id)
            small { (row.server.title()) " · " (row.server.class) }
            @for flag in row.flags() { span class=(flag_class(row)) { (flag) } " " }
        }
        td { strong { (format::count(figures.rate.median)) } small { (interval) } }
        @if !table.is_open() { (relative(row.share_of_ceiling, format::share)) }
        @if table.baseline.is_some() { (relative(row.of_baseline, format::ratio)) }
        @for kind in Percentile::ALL { (percentile(row, kind)) }
        @if table.is_open() { (schedule(row)) }
        @if table.has_kept() { (kept(row)) }
        @if table.has_first_byte() { (worst(figures.first_byte)) }
        @if table.has_events() { (events(row)) }
        td { (format::transfer(figures.transfer_per_s)) }
        td { (format::count(figures.reconnects_per_request)) }
    }
}

fn schedule(row: &Row) -> Markup {
    let open = row.figures.open;
    html! {
        (optional(open.map(|open| open.queued as f64), |late| format::exact(late as u64)))
        (lag(open.and_then(|open| open.lag)))
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
    p99_and_p50(time.map(|time| (time.p99_ns, time.p50_ns)))
}

fn lag(lag: Option<Lag>) -> Markup {
    p99_and_p50(lag.map(|lag| (lag.p99_ns, lag.p50_ns)))
}

fn p99_and_p50(times: Option<(f64, f64)>) -> Markup {
    html! {
        @match times {
            None => td class="none" { (format::NONE) },
            Some((p99, p50)) => td { (format::duration(p99)) small { "p50 " (format::duration(p50)) } },
        }
    }
}

fn percentile(row: &Row, kind: Percentile) -> Markup {
    let interval = row.figures.interval(kind);
    let interval = interval.map(|(low, high)| format::duration_interval(low, high));
    let figure = row.figures.percentile(kind);
    figure_with(figure.map(format::duration), interval)
}

fn relative(ratio: Option<Relative>, shown: fn(f64) -> String) -> Markup {
    let (ratio, interval) = ratio.map(|ratio| prose::relative(ratio, shown)).unzip();
    figure_with(ratio, interval.flatten())
}

/// The median, and beneath it the interval.
pub(super) fn estimate(estimate: Option<Estimate>, shown: fn(f64) -> String) -> Markup {
    let several = estimate.filter(|estimate| estimate.n > 1);
    let ends = |it: Estimate| format::interval(it.low, it.high, shown);
    let figure = estimate.map(|estimate| shown(estimate.median));
    figure_with(figure, several.map(ends))
}

/// A figure, and beneath it what belongs to it.
pub(super) fn figure_with(figure: Option<String>, small: Option<String>) -> Markup {
    html! {
        @match figure {
            None => td class="none" { (format::NONE) },
            Some(figure) => td {
                (figure)
                @if let Some(small) = small.filter(|small| *small != figure) { small { (small) } }
            },
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

fn flag_class(row: &Row) -> &'static str {
    match row.standing {
        Standing::WrongResponses => "tag bad",
        Standing::Reference => "tag",
        Standing::Ranked(_) | Standing::Offered | Standing::AtLeast(_) => "tag warn",
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
                    (absence.server.id) " (" (absence.why.label()) ")"
                }
                ". " a href="#absent" { "Why" } "."
            }
        }
    }
}
