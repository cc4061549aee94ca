//! The conditions under which the figures came about.

use maud::{Markup, html};
use prony_model::Run;

use crate::{ServerLabel, prose};

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
                summary { "Servers, commands and sources" }
                div class="scroll" tabindex="0" {
                    table {
                        thead { tr {
                            @for title in ["Server", "Made with", "Class", "Command", "Sources (SHA-256)"] {
                                th scope="col" class="text" { (title) }
                            }
                        } }
                        tbody {
                            @for server in &run.servers {
                                tr {
                                    th scope="row" { (server.id) }
                                    td class="text" { (ServerLabel::from(server).title()) }
                                    td class="text" { (server.class) }
                                    td class="text" { code { (prose::command(&server.run_command)) } }
                                    td class="text" { code { (server.source_hash) } }
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
