//! The whole report as Markdown.

mod published;
mod text;

use prony_record::Run;

use crate::{Comparison, Percentile, Row, Table, Why, format, prose};
use text::{cells, escaped, fenced, push};

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
            "{} subjects, {}, on {} ({}), {}.\n",
            run.subjects.len(),
            match comparison.rounds(run.rounds).as_str() {
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
    for note in run.notes.iter().cloned().chain(end) {
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
    push(&mut text, &format!("Rates, and latency ({latency}):\n"));
    let open = table.is_open();
    text.push_str(&grid(
        table,
        SPEED.iter().filter(|column| column.when.holds(open)),
    ));
    if let Some(why) = prose::unranked(table) {
        push(&mut text, &format!("\n{why}"));
    }
    push(&mut text, "\nWhat it cost the server:\n");
    text.push_str(&grid(table, COST.iter()));
    for aside in prose::asides(table) {
        push(&mut text, &format!("\n{}", escaped(&aside)));
    }
    text.push('\n');
    text
}

fn grid<'a>(table: &Table, columns: impl Iterator<Item = &'a Column> + Clone) -> String {
    let mut text = cells(columns.clone().map(|column| column.title.to_owned()));
    text.push_str(&cells(columns.clone().map(|column| column.rule.to_owned())));
    for row in &table.rows {
        text.push_str(&cells(
            columns.clone().map(|column| escaped(&(column.cell)(row))),
        ));
    }
    text
}

struct Column {
    title: &'static str,
    /// Markdown's rule beneath the title, which says how the column is aligned.
    rule: &'static str,
    when: When,
    cell: fn(&Row) -> String,
}

/// In which tables a column stands.
enum When {
    Always,
    Closed,
    Open,
}

impl When {
    fn holds(&self, open: bool) -> bool {
        match self {
            When::Always => true,
            When::Closed => !open,
            When::Open => open,
        }
    }
}

const fn words(title: &'static str, cell: fn(&Row) -> String) -> Column {
    Column {
        title,
        rule: "---",
        when: When::Always,
        cell,
    }
}

const fn figure(title: &'static str, cell: fn(&Row) -> String) -> Column {
    Column {
        title,
        rule: "---:",
        when: When::Always,
        cell,
    }
}

const fn only(when: When, column: Column) -> Column {
    Column { when, ..column }
}

const SPEED: [Column; 14] = [
    only(When::Closed, figure("rank", prose::rank)),
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
    only(
        When::Closed,
        figure("of ceiling", |row| {
            optional(row.share_of_ceiling, format::share)
        }),
    ),
    figure("p50", |row| percentile(row, Percentile::P50)),
    figure("p90", |row| percentile(row, Percentile::P90)),
    figure("p99", |row| percentile(row, Percentile::P99)),
    figure("p99.9", |row| percentile(row, Percentile::P999)),
    only(
        When::Open,
        figure("late", |row| {
            row.figures
                .open
                .map_or(format::NONE.to_owned(), |open| format::exact(open.late))
        }),
    ),
    only(
        When::Open,
        figure("lag p50", |row| {
            optional(
                row.figures.open.and_then(|open| open.lag_p50_ns),
                format::duration,
            )
        }),
    ),
    only(
        When::Open,
        figure("lag p99", |row| {
            optional(
                row.figures.open.and_then(|open| open.lag_p99_ns),
                format::duration,
            )
        }),
    ),
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
        let place = comparison
            .missing_from(&absence.why)
            .map_or(String::new(), |place| format!(", {}", escaped(&place)));
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
