//! What the load cost the generator, folded away beneath each table.

use maud::{Markup, html};

use super::workload::optional;
use crate::{Row, Table, format};

pub(super) fn details(table: &Table) -> Markup {
    let titles = [
        "CPU/req",
        "Busiest thread",
        "System calls/req",
        "Cycles/req",
        "Instructions/req",
    ];
    html! {
        details {
            summary { "What it cost the generator" }
            div class="scroll" tabindex="0" {
                table {
                    thead { tr {
                        th scope="col" class="text" { "Server" }
                        @for title in titles { th scope="col" { (title) } }
                        th scope="col" class="text" { "Event loop" }
                    } }
                    tbody { @for row in &table.rows { (line(row)) } }
                }
            }
        }
    }
}

fn line(row: &Row) -> Markup {
    let cost = &row.figures.generator;
    html! {
        tr {
            th scope="row" { (row.server.id) }
            (optional(cost.cpu_ns_per_request, format::duration))
            td { (format::share(cost.busy_max)) }
            (optional(cost.system_calls_per_request, format::count))
            (optional(cost.cycles_per_request, format::count))
            (optional(cost.instructions_per_request, format::count))
            td class="text" { (cost.event_loops.join(", ")) }
        }
    }
}
