//! The whole report as Markdown.

use std::fmt::Write;

use prony_record::Run;

use crate::{Comparison, Percentile, Row, Table, Why, format, prose};

/// The whole report as Markdown: what was run, the tables, who is missing, how to read it, and
/// the conditions.
pub fn markdown(run: &Run, comparison: &Comparison) -> String {
    let mut text = String::new();
    let parts = [
        head(run),
        comparison.tables.iter().map(table).collect(),
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

fn head(run: &Run) -> String {
    let mut text = format!("# {}\n\n", escaped(&run.title));
    let machine = &run.machine;
    push(
        &mut text,
        &format!(
            "{} subjects, {}, on {} ({}), {}.\n",
            run.subjects.len(),
            prose::plural(run.rounds as usize, "round"),
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
    for note in run.notes.iter().cloned().chain(end) {
        push(&mut text, &format!("> {}", escaped(&note)));
        push(&mut text, ">");
    }
    text.trim_end_matches(['>', '\n']).to_owned()
}

fn table(table: &Table) -> String {
    let mut text = format!(
        "## {}\n\n{}.\n\n",
        escaped(&table.workload),
        prose::load(&table.load)
    );
    push(&mut text, "Rates, and latency of a closed loop:\n");
    text.push_str(&grid(table, &SPEED));
    push(&mut text, "\nWhat it cost the server:\n");
    text.push_str(&grid(table, &COST));
    for row in &table.rows {
        if let Some(wrong) = &row.figures.first_wrong {
            let id = escaped(&row.subject.id);
            push(
                &mut text,
                &format!("\nFirst wrong answer of {id}: {}", escaped(wrong)),
            );
        }
    }
    text.push('\n');
    text
}

fn grid(table: &Table, columns: &[Column]) -> String {
    let line = |cells: Vec<String>| format!("| {} |\n", cells.join(" | "));
    let mut text = line(
        columns
            .iter()
            .map(|column| column.title.to_owned())
            .collect(),
    );
    text.push_str(&line(
        columns
            .iter()
            .map(|column| column.rule.to_owned())
            .collect(),
    ));
    for row in &table.rows {
        text.push_str(&line(
            columns
                .iter()
                .map(|column| escaped(&(column.cell)(row)))
                .collect(),
        ));
    }
    text
}

struct Column {
    title: &'static str,
    /// Markdown's rule beneath the title, which says how the column is aligned.
    rule: &'static str,
    cell: fn(&Row) -> String,
}

const fn words(title: &'static str, cell: fn(&Row) -> String) -> Column {
    let rule = "---";
    Column { title, rule, cell }
}

const fn figure(title: &'static str, cell: fn(&Row) -> String) -> Column {
    let rule = "---:";
    Column { title, rule, cell }
}

const SPEED: [Column; 11] = [
    figure("rank", prose::rank),
    words("server", |row| row.subject.id.clone()),
    words("made with", |row| match row.subject.class.as_str() {
        "" => row.subject.title(),
        class => format!("{} ({class})", row.subject.title()),
    }),
    figure("req/s", |row| format::count(row.figures.rate.median)),
    figure("interval", |row| match row.figures.rate.n {
        1 => format::NONE.to_owned(),
        _ => format::count_interval(row.figures.rate.low, row.figures.rate.high),
    }),
    figure("of ceiling", |row| {
        optional(row.share_of_ceiling, format::share)
    }),
    figure("p50", |row| percentile(row, Percentile::P50)),
    figure("p90", |row| percentile(row, Percentile::P90)),
    figure("p99", |row| percentile(row, Percentile::P99)),
    figure("p99.9", |row| percentile(row, Percentile::P999)),
    words("flags", |row| row.flags().join(", ")),
];

const COST: [Column; 8] = [
    words("server", |row| row.subject.id.clone()),
    figure("CPU/req", |row| {
        optional(
            row.figures.cpu_ns_per_request.map(|cpu| cpu.median),
            format::duration,
        )
    }),
    figure("req per CPU s", |row| {
        optional(row.figures.requests_per_cpu_s(), format::count)
    }),
    figure("peak memory", |row| {
        format::bytes(row.figures.peak_memory_bytes as f64)
    }),
    figure("startup (interval)", startup),
    figure("artefact", |row| {
        optional(
            row.subject.artefact_bytes.map(|bytes| bytes as f64),
            format::bytes,
        )
    }),
    figure("transfer", |row| {
        format::transfer(row.figures.transfer_per_s)
    }),
    figure("reconnects/req", |row| {
        format::count(row.figures.reconnects_per_request)
    }),
];

fn startup(row: &Row) -> String {
    let Some(startup) = row.figures.startup_ns else {
        return format::NONE.to_owned();
    };
    let median = format::duration(startup.median);
    match startup.n {
        1 => median,
        _ => format!(
            "{median} ({})",
            format::duration_interval(startup.low, startup.high)
        ),
    }
}

fn optional(figure: Option<f64>, shown: fn(f64) -> String) -> String {
    figure.map_or(format::NONE.to_owned(), shown)
}

fn percentile(row: &Row, percentile: Percentile) -> String {
    optional(row.figures.percentile(percentile), format::duration)
}

fn absences(comparison: &Comparison) -> String {
    if comparison.absences.is_empty() {
        return String::new();
    }
    let mut text = "## Not measured\n\n".to_owned();
    for absence in &comparison.absences {
        let place = absence
            .why
            .workload()
            .map_or(String::new(), |workload| format!(", {}", escaped(workload)));
        let head = format!(
            "- **{}**{place}: {}",
            escaped(&absence.subject.id),
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
    let intervals = prose::intervals(comparison);
    for paragraph in prose::READING
        .into_iter()
        .chain(intervals.iter().map(String::as_str))
    {
        push(&mut text, &format!("- {}", escaped(paragraph)));
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
    push(&mut text, "\n### Subjects\n");
    push(
        &mut text,
        "| server | made with | class | command | sources (SHA-256) |\n|---|---|---|---|---|",
    );
    for subject in &run.subjects {
        push(
            &mut text,
            &format!(
                "| {} | {} | {} | {} | {} |",
                escaped(&subject.id),
                escaped(&crate::SubjectLabel::from(subject).title()),
                escaped(&subject.class),
                escaped(&prose::command(&subject.run_command)),
                escaped(&subject.source_hash),
            ),
        );
    }
    text
}

/// A code block inside of a list, with a fence longer than any in the text.
fn fenced(code: &str) -> String {
    let mut fence = "```".to_owned();
    while code.contains(&fence) {
        fence.push('`');
    }
    let mut text = format!("\n  {fence}\n");
    for line in code.lines() {
        let _ = writeln!(text, "  {line}"); // Writing to a string does not fail.
    }
    text + "  " + &fence + "\n"
}

fn push(text: &mut String, line: &str) {
    text.push_str(line);
    text.push('\n');
}

/// The text as text: nothing in it is Markdown or HTML, and it stays in its line or cell.
fn escaped(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\n' | '\r' | '\t' => safe.push(' '),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '&' => safe.push_str("&amp;"),
            '|' | '*' | '`' | '\\' | '[' | ']' | '_' | '#' | '~' => {
                safe.push('\\');
                safe.push(c);
            }
            c => safe.push(c),
        }
    }
    safe
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_comes_from_outside_stays_in_its_cell() {
        assert_eq!(escaped("a|b\n<i>*x*"), "a\\|b &lt;i&gt;\\*x\\*");
        assert!(fenced("a\n```\nb").contains("````\n"));
    }
}
