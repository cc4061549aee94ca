//! The overview: every server against every workload.

use maud::{Markup, html};

use crate::{Comparison, Percentile, Row, ServerLabel, Table, format, prose};

pub(super) fn section(comparison: &Comparison) -> Markup {
    let servers = servers(comparison);
    html! {
        @if comparison.tables.len() > 1 {
            section id="overview" {
                h2 { "At a glance" }
                p class="lead" {
                    "Requests per second, median of the rounds. The small figure is the rank, from the best to the worst that \
                     the data allow. Bars are drawn against the fastest of each workload."
                    @if comparison.has_open() {
                        " Of an open loop the median latency is shown: its requests per second are those that were \
                         offered."
                    }
                }
                div class="scroll" tabindex="0" {
                    table class="overview" {
                        thead { tr {
                            th scope="col" { "Server" }
                            @for table in &comparison.tables {
                                th scope="col" {
                                    a href={ "#" (super::workload::anchor(table)) } { (table.workload) }
                                    @if let Some(apart) = &table.apart { small { (apart) } }
                                    @if table.is_open() { small { "median latency" } }
                                }
                            }
                        } }
                        tbody {
                            @for server in servers {
                                tr {
                                    th scope="row" { (server.id) small { (server.title()) } }
                                    @for table in &comparison.tables { (cell(comparison, table, server)) }
                                }
                            }
                            (absent(comparison))
                        }
                    }
                }
            }
        }
    }
}

/// Everyone with a row anywhere: by the first workload they could be in, then those first who have
/// the better place over all tables; the reference server last.
fn servers(comparison: &Comparison) -> Vec<&ServerLabel> {
    let mut servers: Vec<&ServerLabel> = Vec::new();
    for row in comparison.tables.iter().flat_map(|table| &table.rows) {
        if !servers.iter().any(|label| label.id == row.server.id) {
            servers.push(&row.server);
        }
    }
    servers.sort_by(|a, b| {
        let first = |label| first_place(comparison, label);
        let by_mean = mean_share(comparison, b).total_cmp(&mean_share(comparison, a));
        (a.is_reference(), first(a))
            .cmp(&(b.is_reference(), first(b)))
            .then(by_mean)
    });
    servers
}

/// The first table in which a server stands or is missed.
fn first_place(comparison: &Comparison, label: &ServerLabel) -> Option<usize> {
    comparison.tables.iter().position(|table| {
        let stands = table.rows.iter().any(|row| row.server.id == label.id);
        let mut absences = comparison.absences.iter();
        stands || absences.any(|absence| absence.server.id == label.id && absence.is_from(table))
    })
}

/// A server's rate as a share of the fastest, over all tables that rank by it; 0 where it has none.
fn mean_share(comparison: &Comparison, label: &ServerLabel) -> f64 {
    let ranking = comparison.tables.iter().filter(|table| !table.is_open());
    let shares: Vec<f64> = ranking
        .filter_map(|table| {
            let row = table.rows.iter().find(|row| row.server.id == label.id)?;
            Some(row.figures.rate.median / best_rate(table))
        })
        .collect();
    shares.iter().sum::<f64>() / shares.len().max(1) as f64
}

fn best_rate(table: &Table) -> f64 {
    let rates = table.rows.iter().map(|row| row.figures.rate.median);
    rates.fold(f64::MIN_POSITIVE, f64::max)
}

fn cell(comparison: &Comparison, table: &Table, server: &ServerLabel) -> Markup {
    let row = table.rows.iter().find(|row| row.server.id == server.id);
    html! {
        @match row {
            None => td class="none" { (why_none(comparison, table, server)) },
            Some(row) if table.is_open() => td {
                span class="figure" { (median_latency(row)) }
            },
            Some(row) => td {
                span class="figure" { (format::count(row.figures.rate.median)) }
                (standing(row))
                span class={ "meter" @if !row.is_sound() { " unranked" } } {
                    span style={ "width:" (percent(row, table)) "%" } {}
                }
            },
        }
    }
}

fn median_latency(row: &Row) -> String {
    let latency = row.figures.percentile(Percentile::P50);
    latency.map_or(format::NONE.to_owned(), format::duration)
}

fn why_none(comparison: &Comparison, table: &Table, server: &ServerLabel) -> &'static str {
    comparison
        .absences
        .iter()
        .find(|absence| absence.server.id == server.id && absence.is_from(table))
        .map_or(format::NONE, |absence| absence.why.label())
}

/// Those who have no row anywhere, and why.
fn absent(comparison: &Comparison) -> Markup {
    let everywhere = comparison
        .absences
        .iter()
        .filter(|absence| absence.why.workload().is_none());
    html! {
        @for absence in everywhere {
            tr {
                th scope="row" { (absence.server.id) small { (absence.server.title()) } }
                td class="none text" colspan=(comparison.tables.len()) {
                    a href="#absent" { (absence.why.label()) }
                }
            }
        }
    }
}

fn standing(row: &Row) -> Markup {
    let flags = row.flags().join(", ");
    html! {
        span class={ "rank" @if row.may_be_first() { " first" } } title=[Some(flags).filter(|flags| !flags.is_empty())] {
            (prose::band(row.band()))
        }
    }
}

fn percent(row: &Row, table: &Table) -> String {
    format!("{:.1}", row.figures.rate.median / best_rate(table) * 100.0)
}
