//! How quiet the machine was: what was seen, and the trials of each table in their order.

use maud::{Markup, html};

use super::workload;
use crate::chart::{self, ChartKind};
use crate::{Comparison, Table, prose};

pub(super) fn section(comparison: &Comparison) -> Markup {
    let quiet = &comparison.quiet;
    let [noise, median, worst, worst_in] = prose::SEEN;
    html! {
        @if quiet.trials > 0 {
            section id="noise" {
                h2 { "How quiet the machine was" }
                p class="lead" { (prose::quiet(quiet).join(" ")) }
                div class="scroll" tabindex="0" {
                    table {
                        thead { tr {
                            th scope="col" class="text" { (noise) }
                            th scope="col" { (median) }
                            th scope="col" { (worst) }
                            th scope="col" class="text" { (worst_in) }
                        } }
                        tbody { @for row in prose::seen(quiet) { (line(row)) } }
                    }
                }
                div class="charts after" {
                    @for table in comparison.tables.iter().filter(|table| !table.rows.is_empty()) {
                        (course(table))
                    }
                }
            }
        }
    }
}

fn line([noise, median, worst, worst_in]: [String; 4]) -> Markup {
    html! {
        tr {
            th scope="row" { (noise) }
            td { (median) }
            td { (worst) }
            td class="text" { (worst_in) }
        }
    }
}

fn course(table: &Table) -> Markup {
    let id = format!("{}-{}", workload::anchor(table), ChartKind::Course.name());
    html! { figure { (chart::inline(ChartKind::Course, table, &id)) } }
}
