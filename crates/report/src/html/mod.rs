//! The whole report as one HTML page: style and charts are in it, it loads nothing and runs nothing.

mod conditions;
mod costs;
mod generator;
mod noise;
mod overview;
mod published;
mod workload;

use maud::{DOCTYPE, Markup, PreEscaped, html};
use prony_model::Run;

use crate::{Comparison, prose};

const STYLE: &str = include_str!("style.css");

/// The whole report as one self-contained HTML page, light or dark as the reader's system has it.
pub fn html(run: &Run, comparison: &Comparison) -> String {
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                title { (run.title) " · Prony" }
                style { (PreEscaped(STYLE)) }
            }
            body {
                (head(run, comparison))
                main {
                    @if let Some(document) = &comparison.published {
                        @for table in &document.tables { (published::section(document, table)) }
                    }
                    (overview::section(comparison))
                    @for table in &comparison.tables {
                        (workload::section(table, comparison))
                    }
                    (noise::section(comparison))
                    (absences(comparison))
                    (reading(comparison))
                    (conditions::section(run))
                }
                footer { "Made by Prony " (run.prony_version) " · run " code { (run.id) } }
            }
        }
    };
    page.into_string()
}

fn head(run: &Run, comparison: &Comparison) -> Markup {
    let machine = &run.machine;
    html! {
        header {
            p class="kicker" { "Prony · " (run.suite) }
            h1 { (run.title) }
            dl class="facts" {
                (fact("Servers", &run.servers.len().to_string()))
                (fact("Workloads", &comparison.workloads().to_string()))
                (fact("Rounds", &comparison.rounds(run)))
                (fact("Machine", &format!("{} · {}", machine.cpu_model, prose::plural(machine.cpus, "CPU"))))
                (fact("Date", run.started_at.split('T').next().unwrap_or("")))
            }
            @if let Some(noisy) = prose::noisy(&comparison.quiet) { p class="note" { (noisy) } }
            @if let Some(wrong) = prose::wrong(comparison) { p class="note" { (wrong) } }
            @for note in run.notes.iter().map(String::as_str).chain(prose::end(run)) {
                p class="note" { (note) }
            }
            nav {
                @for table in comparison.published.iter().flat_map(|document| &document.tables) {
                    a href={ "#" (published::anchor(table)) } { (table.source.title) }
                }
                @for table in &comparison.tables {
                    a href={ "#" (workload::anchor(table)) } { (table.name()) }
                }
                @if comparison.quiet.trials > 0 { a href="#noise" { "How quiet the machine was" } }
                @if !comparison.absences.is_empty() { a href="#absent" { "Not measured" } }
                a href="#reading" { "How to read this" }
                a href="#conditions" { "Conditions" }
            }
        }
    }
}

fn fact(name: &str, value: &str) -> Markup {
    html! { div { dt { (name) } dd { (value) } } }
}

fn absences(comparison: &Comparison) -> Markup {
    html! {
        @if !comparison.absences.is_empty() {
            section id="absent" {
                h2 { "Not measured" }
                ul class="absent" {
                    @for absence in &comparison.absences {
                        li {
                            p {
                                strong { (absence.server.id) }
                                @if let Some(place) = comparison.missing_from(&absence.why) { " · " (place) }
                                " " span class="tag bad" { (absence.why.label()) }
                            }
                            pre { (absence.why.text()) }
                        }
                    }
                }
            }
        }
    }
}

fn reading(comparison: &Comparison) -> Markup {
    html! {
        section id="reading" {
            h2 { "How to read this" }
            ul class="reading" {
                @for text in prose::reading(comparison) {
                    @if let Some((term, rest)) = text.split_once(": ") {
                        li { strong { (term) ". " } (rest) }
                    } @else {
                        li { (text) }
                    }
                }
            }
        }
    }
}
