//! The whole report as Markdown.

mod columns;
mod published;
mod text;

use prony_model::Run;

use crate::chart::{self, ChartKind};
use crate::{Comparison, Row, Table, Why, prose};
use columns::{COST, Column, GENERATOR, SPEED};
pub use text::escaped;
use text::{cells, fenced, push};

/// The whole report as Markdown: what was run, the tables, who is missing, how to read it, and
/// the conditions.
pub fn markdown(run: &Run, comparison: &Comparison) -> String {
    let mut text = String::new();
    let parts = [
        head(run, comparison),
        comparison
            .published
            .as_ref()
            .map(published::document)
            .unwrap_or_default(),
        comparison.tables.iter().map(table).collect(),
        noise(comparison),
        absences(comparison),
        reading(comparison),
        conditions(run),
    ];
    for part in parts.iter().filter(|part| !part.is_empty()) {
        text.push_str(part.trim_end());
        text.push_str("\n\n");
    }
    format!("{}\n", text.trim_end())
}

fn head(run: &Run, comparison: &Comparison) -> String {
    let mut text = format!("# {}\n\n", escaped(&run.title));
    let machine = &run.machine;
    push(
        &mut text,
        &format!(
            "{} servers, {}, on {} ({}), {}.\n",
            run.servers.len(),
            match comparison.rounds(run).as_str() {
                "1" => "1 round".to_owned(),
                rounds => format!("{rounds} rounds"),
            },
            escaped(if machine.cpu_model.is_empty() {
                "an unknown CPU"
            } else {
                &machine.cpu_model
            }),
            prose::plural(machine.cpus, "CPU"),
            escaped(&run.started_at),
        ),
    );
    let end = prose::end(run).map(str::to_owned);
    let noisy = prose::noisy(&comparison.quiet);
    for note in noisy
        .into_iter()
        .chain(prose::wrong(comparison))
        .chain(run.notes.iter().cloned())
        .chain(end)
    {
        push(&mut text, &format!("> {}", escaped(&note)));
        push(&mut text, ">");
    }
    text.trim_end_matches(['>', '\n']).to_owned()
}

fn table(table: &Table) -> String {
    let mut text = format!(
        "## {}\n\n{}.\n\n",
        escaped(&table.name()),
        prose::load_in_rounds(&table.load, table.rounds)
    );
    let latency = prose::latency_of(&table.load);
    let in_order: Vec<&Row> = table.rows.iter().collect();
    push(&mut text, &format!("Rates, and latency ({latency}):\n"));
    text.push_str(&grid(table, &in_order, &SPEED));
    if let Some(why) = prose::unranked(table) {
        push(&mut text, &format!("\n{why}"));
    }
    push(
        &mut text,
        "\nWhat it cost the server, the cheapest in CPU time first:\n",
    );
    text.push_str(&grid(table, &table.by_cpu(), &COST));
    if table.has_cpu() {
        let file = chart::file_name(ChartKind::Cpu, table);
        push(
            &mut text,
            &format!("\n![Requests per CPU second](charts/{file})"),
        );
    }
    push(&mut text, "\nWhat it cost the generator:\n");
    text.push_str(&grid(table, &in_order, &GENERATOR));
    for aside in prose::asides(table) {
        push(&mut text, &format!("\n{}", escaped(&aside)));
    }
    text.push('\n');
    text
}

fn grid(table: &Table, rows: &[&Row], columns: &[Column]) -> String {
    let columns = columns.iter().filter(|column| column.stands_in(table));
    let mut text = cells(columns.clone().map(|column| escaped(&column.title(table))));
    text.push_str(&cells(columns.clone().map(|column| column.rule.to_owned())));
    for row in rows {
        text.push_str(&cells(
            columns.clone().map(|column| escaped(&(column.cell)(row))),
        ));
    }
    text
}

/// How quiet the machine was.
fn noise(comparison: &Comparison) -> String {
    let quiet = &comparison.quiet;
    if quiet.trials == 0 {
        return String::new();
    }
    let sentences = prose::quiet(quiet).join(" ");
    let mut text = format!(
        "## How quiet the machine was\n\n{}\n\n",
        escaped(&sentences)
    );
    text.push_str(&cells(prose::SEEN.map(str::to_owned)));
    text.push_str(&cells(["---", "---:", "---:", "---"].map(str::to_owned)));
    for row in prose::seen(quiet) {
        text.push_str(&cells(row.map(|cell| escaped(&cell))));
    }
    for table in comparison
        .tables
        .iter()
        .filter(|table| !table.rows.is_empty())
    {
        let file = chart::file_name(ChartKind::Course, table);
        let name = escaped(&table.name());
        push(
            &mut text,
            &format!("\n![Trials in the order in which they were made: {name}](charts/{file})"),
        );
    }
    text
}

fn absences(comparison: &Comparison) -> String {
    if comparison.absences.is_empty() {
        return String::new();
    }
    let mut text = "## Not measured\n\n".to_owned();
    for absence in &comparison.absences {
        let place = comparison
            .missing_from(&absence.why)
            .map_or(String::new(), |place| format!(", {}", escaped(&place)));
        let head = format!(
            "- **{}**{place}: {}",
            escaped(&absence.server.id),
            absence.why.label()
        );
        match &absence.why {
            Why::Skipped { missing, install } => {
                push(
                    &mut text,
                    &format!("{head}; {} is missing. Install:", escaped(missing)),
                );
                push(&mut text, &fenced(install));
            }
            why if why.text().contains('\n') => {
                push(&mut text, &format!("{head}:"));
                push(&mut text, &fenced(&why.text()));
            }
            why => push(&mut text, &format!("{head}: {}", escaped(&why.text()))),
        }
    }
    text
}

fn reading(comparison: &Comparison) -> String {
    let mut text = "## How to read this\n\n".to_owned();
    for paragraph in prose::reading(comparison) {
        push(&mut text, &format!("- {}", escaped(&paragraph)));
    }
    text
}

fn conditions(run: &Run) -> String {
    let mut text = "## Conditions\n\n| | |\n|---|---|\n".to_owned();
    for (name, value) in prose::conditions(run) {
        push(&mut text, &format!("| {name} | {} |", escaped(&value)));
    }
    for (title, lines) in [
        ("Mitigations in force", &run.machine.mitigations),
        ("Network settings", &run.machine.tcp_settings),
    ] {
        push(&mut text, &format!("\n### {title}\n"));
        match lines.is_empty() {
            true => push(&mut text, "None seen."),
            false => push(&mut text, fenced(&lines.join("\n")).trim_start()),
        }
    }
    push(&mut text, "\n### Servers\n");
    push(
        &mut text,
        "| server | made with | class | command | sources (SHA-256) |\n|---|---|---|---|---|",
    );
    for server in &run.servers {
        push(
            &mut text,
            &format!(
                "| {} | {} | {} | {} | {} |",
                escaped(&server.id),
                escaped(&crate::ServerLabel::from(server).title()),
                escaped(&server.class),
                escaped(&prose::command(&server.run_command)),
                escaped(&server.source_hash),
            ),
        );
    }
    text
}
