//! The conditions under which the figures came about.

use maud::{Markup, html};
use prony_record::Run;

use crate::{SubjectLabel, prose};

pub(super) fn section(run: &Run) -> Markup {
    html! {
        section id="conditions" {
            h2 { "Conditions" }
            dl class="conditions" {
                @for (name, value) in prose::conditions(run) { dt { (name) } dd { (value) } }
            }
            (lines("Mitigations in force", &run.machine.mitigations))
            (lines("Network settings", &run.machine.tcp_settings))
            details {
                summary { "Subjects, commands and sources" }
                div class="scroll" tabindex="0" {
                    table {
                        thead { tr {
                            @for title in ["Server", "Made with", "Class", "Command", "Sources (SHA-256)"] {
                                th scope="col" class="text" { (title) }
                            }
                        } }
                        tbody {
                            @for subject in &run.subjects {
                                tr {
                                    th scope="row" { (subject.id) }
                                    td class="text" { (SubjectLabel::from(subject).title()) }
                                    td class="text" { (subject.class) }
                                    td class="text" { code { (prose::command(&subject.run_command)) } }
                                    td class="text" { code { (subject.source_hash) } }
                                }
                            }
                        }
                    }
                }
            }
        }
    }
}

fn lines(title: &str, lines: &[String]) -> Markup {
    html! {
        details {
            summary { (title) " (" (lines.len()) ")" }
            @if lines.is_empty() { p { "None seen." } } @else { pre { (lines.join("\n")) } }
        }
    }
}
