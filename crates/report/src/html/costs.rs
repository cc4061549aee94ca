//! What a table's load cost the servers, the cheapest in CPU time first.

use maud::{Markup, html};

use super::workload::{estimate, figure_with, optional};
use crate::{Figures, Row, Table, format, prose};

/// A column.
struct Cost {
    title: &'static str,
    /// It stands where this is so of a row.
    known: fn(&Figures) -> bool,
    cell: fn(&Row) -> Markup,
}

const COSTS: [Cost; 10] = [
    Cost {
        title: "Req per CPU s",
        known: |row| row.costs.requests_per_cpu_s.is_some(),
        cell: |row| estimate(row.figures.costs.requests_per_cpu_s, format::count),
    },
    Cost {
        title: "CPU/req",
        known: |row| row.costs.cpu_ns_per_request.is_some(),
        cell: |row| estimate(row.figures.costs.cpu_ns_per_request, format::duration),
    },
    Cost {
        title: "Instructions/req",
        known: |row| row.costs.instructions_per_request.is_some(),
        cell: |row| estimate(row.figures.costs.instructions_per_request, format::count),
    },
    Cost {
        title: "Cycles/req",
        known: |row| row.costs.cycles_per_request.is_some(),
        cell: |row| estimate(row.figures.costs.cycles_per_request, format::count),
    },
    Cost {
        title: "Energy/req, whole package",
        known: |row| row.costs.joules_per_request.is_some(),
        cell: |row| estimate(row.figures.costs.joules_per_request, format::joules),
    },
    Cost {
        title: "Peak memory",
        known: |_| true,
        cell: |row| {
            figure_with(
                Some(format::bytes(row.figures.peak_memory_bytes as f64)),
                None,
            )
        },
    },
    Cost {
        title: "Growth per connection",
        known: |row| row.costs.growth_per_connection.is_some(),
        cell: |row| estimate(row.figures.costs.growth_per_connection, format::bytes),
    },
    Cost {
        title: "Startup",
        known: |_| true,
        cell: |row| estimate(row.figures.startup_ns, format::duration),
    },
    Cost {
        title: "Time to warm",
        known: |row| row.warming.time_to_warm_ns.is_some(),
        cell: |row| estimate(row.figures.warming.time_to_warm_ns, format::time_to_warm),
    },
    Cost {
        title: "Artefact",
        known: |_| true,
        cell: |row| {
            let bytes = row.server.artefact_bytes.map(|bytes| bytes as f64);
            optional(bytes, format::bytes)
        },
    },
];

pub(super) fn section(table: &Table) -> Markup {
    let costs: Vec<&Cost> = COSTS
        .iter()
        .filter(|cost| table.rows.iter().any(|row| (cost.known)(&row.figures)))
        .collect();
    html! {
        h3 { "What it cost the server" }
        div class="scroll" tabindex="0" {
            table {
                thead { tr {
                    @if table.has_cpu() { th scope="col" { "Rank by CPU" } }
                    th scope="col" class="text" { "Server" }
                    @for cost in &costs { th scope="col" { (cost.title) } }
                } }
                tbody { @for row in table.by_cpu() { (line(table, row, &costs)) } }
            }
        }
    }
}

fn line(table: &Table, row: &Row, costs: &[&Cost]) -> Markup {
    let first = row.cpu_band.is_some_and(|band| band.best == 1);
    html! {
        tr class=[row.cpu_band.is_none().then_some("unranked")] {
            @if table.has_cpu() {
                td { span class={ "rank" @if first { " first" } } { (prose::band(row.cpu_band)) } }
            }
            th scope="row" { (row.server.id) }
            @for cost in costs { ((cost.cell)(row)) }
        }
    }
}
