//! The overview: every server against every workload.

use maud::{Markup, html};

use crate::{Comparison, Row, SubjectLabel, Table, format};

pub(super) fn section(comparison: &Comparison) -> Markup {
    let subjects = subjects(comparison);
    html! {
        @if comparison.tables.len() > 1 {
            section id="overview" {
                h2 { "At a glance" }
                p class="lead" {
                    "Requests per second, median of the rounds. The small figure is the rank: one more than the \
                     rows whose whole interval lies above. Bars are drawn against the fastest of each workload."
                }
                div class="scroll" tabindex="0" {
                    table class="overview" {
                        thead { tr {
                            th scope="col" { "Server" }
                            @for (i, table) in comparison.tables.iter().enumerate() {
                                th scope="col" {
                                    a href={ "#" (super::workload::anchor(i)) } { (table.workload) }
                                    @if is_repeated(comparison, table) {
                                        small { (table.load.connections) " conn." }
                                    }
                                }
                            }
                        } }
                        tbody {
                            @for subject in subjects {
                                tr {
                                    th scope="row" { (subject.id) small { (subject.title()) } }
                                    @for table in &comparison.tables { (cell(comparison, table, subject)) }
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

/// Whether the same workload has another table too, so that its name alone does not tell them apart.
fn is_repeated(comparison: &Comparison, table: &Table) -> bool {
    let same = comparison
        .tables
        .iter()
        .filter(|other| other.workload == table.workload);
    same.count() > 1
}

/// Everyone with a row anywhere, those first who have the better place over all tables, the
/// reference server last.
fn subjects(comparison: &Comparison) -> Vec<&SubjectLabel> {
    let mut subjects: Vec<(&SubjectLabel, f64, usize)> = Vec::new();
    for table in &comparison.tables {
        let best = best_rate(table);
        for row in &table.rows {
            let share = row.figures.rate.median / best;
            match subjects
                .iter_mut()
                .find(|(label, ..)| label.id == row.subject.id)
            {
                Some((_, sum, count)) => (*sum, *count) = (*sum + share, *count + 1),
                None => subjects.push((&row.subject, share, 1)),
            }
        }
    }
    subjects.sort_by(|(a, a_sum, a_count), (b, b_sum, b_count)| {
        let by_mean = (b_sum / *b_count as f64).total_cmp(&(a_sum / *a_count as f64));
        a.is_reference().cmp(&b.is_reference()).then(by_mean)
    });
    subjects.into_iter().map(|(label, ..)| label).collect()
}

fn best_rate(table: &Table) -> f64 {
    let rates = table.rows.iter().map(|row| row.figures.rate.median);
    rates.fold(f64::MIN_POSITIVE, f64::max)
}

fn cell(comparison: &Comparison, table: &Table, subject: &SubjectLabel) -> Markup {
    let row = table.rows.iter().find(|row| row.subject.id == subject.id);
    html! {
        @match row {
            None => td class="none" { (why_none(comparison, table, subject)) },
            Some(row) => td {
                span class="figure" { (format::count(row.figures.rate.median)) }
                (standing(row))
                span class={ "meter" @if row.rank().is_none() { " unranked" } } {
                    span style={ "width:" (percent(row, table)) "%" } {}
                }
            },
        }
    }
}

fn why_none(comparison: &Comparison, table: &Table, subject: &SubjectLabel) -> &'static str {
    comparison
        .absences
        .iter()
        .find(|absence| {
            absence.subject.id == subject.id && absence.why.workload() == Some(&table.workload)
        })
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
                th scope="row" { (absence.subject.id) small { (absence.subject.title()) } }
                td class="none text" colspan=(comparison.tables.len()) {
                    a href="#absent" { (absence.why.label()) }
                }
            }
        }
    }
}

fn standing(row: &Row) -> Markup {
    html! {
        @match row.rank() {
            Some(rank) => span class={ "rank" @if rank == 1 { " first" } } title={ "rank " (rank) } { (rank) },
            None => span class="rank" title=(row.flags().join(", ")) { (format::NONE) },
        }
    }
}

fn percent(row: &Row, table: &Table) -> String {
    format!("{:.1}", row.figures.rate.median / best_rate(table) * 100.0)
}
