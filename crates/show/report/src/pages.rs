//! The whole report as a page, as Markdown and as text in a terminal.

use std::iter;

use prony_model::{RateText, Run, ServerRecord, ServerStatus};
use prony_present::load;
use prony_present::number::{count, duration};
use prony_present::page::{Block, Figure, LEAST_WIDTH, Page, Section};
use prony_present::table::{Cell, Column, Facet, Head, Row, Table, Tone, Weight};
use prony_present::terminal::{Paint, ends};
use prony_present::words::{Joined, non_empty, plural};

use crate::absence::Why;
use crate::charts::{self, ChartKind};
use crate::columns::{self, rank};
use crate::conditions::{conditions, end};
use crate::counts::CountTable;
use crate::figures::Percentile;
use crate::notes;
use crate::opened::{self, LogRoom};
use crate::pairs::{self, Pairs};
use crate::published::{Document, DocumentTable, tables, words};
use crate::quiet::Seen;
use crate::rates::Rates;
use crate::reading::{self, RANK, RATIOS};
use crate::summary::RunSummary;
use crate::table::ResultTable;
use crate::verdict::{servers, verdict, verdicts};

/// The whole report as one self-contained HTML page, light or dark like the reader's system.
pub fn html(run: &Run, summary: &RunSummary) -> String {
    page(run, summary).html()
}

/// The whole report as Markdown with links to the charts in the folder `charts`.
pub fn markdown(run: &Run, summary: &RunSummary) -> String {
    document(run, summary).markdown()
}

/// The results as text with lines of at most `width` characters (at least 40); the least important columns are left out if
/// there is no room for all. The verdict comes last, so that a terminal shows it. `colour` allows ANSI colours.
pub fn terminal(summary: &RunSummary, width: usize, colour: bool) -> String {
    let mut sections = Vec::new();
    if let Some(document) = &summary.published {
        sections.extend(document.tables.iter().map(|table| {
            let summaries = Block::Table(tables::summaries(table));
            let blocks = iter::once(summaries).chain(order(table)).collect();
            let section = document_head(document, table, blocks);
            let lead = format!("From: {}. {}", section.kicker, section.lead);
            section.lead(lead)
        }));
    }
    sections.extend(results(summary, width.max(LEAST_WIDTH)));
    sections.extend(summary.counts.iter().map(CountTable::section));
    let absent = summary.absences.iter().map(|absence| {
        let place = summary.missing_from(&absence.why);
        let place = place.map_or(String::new(), |place| format!(" on {place}"));
        format!(
            "{}{place}: {}: {}",
            absence.server.id,
            absence.why.label(),
            ends(&absence.why.text())
        )
    });
    sections.extend(Section::list("", "Not measured", absent.collect()));
    if !summary.tables.is_empty() {
        let ranks = if summary.has_closed() { RANK } else { "" };
        let about = [
            reading::intervals(summary).join(" "),
            format!("{ranks} {}", reading::latency(summary)),
            match notes::noisy(&summary.quiet) {
                // The callout about it follows.
                Some(_) => notes::beside_noisy(&summary.quiet).join(" "),
                None => notes::quiet(&summary.quiet).join(" "),
            },
        ];
        let about = about.into_iter().map(Block::Caption);
        let blocks = about.chain(callouts(summary)).collect();
        sections.push(Section::of("", "", blocks));
        let verdicts = summary.tables.iter().map(verdict);
        sections.extend(Section::list("", "Verdict", verdicts.collect()));
    }
    Page::of(sections).terminal(width, Paint { colour })
}

/// The tables for a terminal of this width; those of one workload at several rates are one.
fn results(summary: &RunSummary, width: usize) -> Vec<Section> {
    let rates = Rates::of(&summary.tables);
    let mut sections = Vec::new();
    for table in &summary.tables {
        match rates.iter().find(|group| group.has(table)) {
            None => sections.push(result(table, width)),
            Some(group) if group.begins_with(table) => {
                sections.push(result_at_rates(group, group.name(&rates), width));
            }
            // It is in the section of the first.
            Some(_) => {}
        }
    }
    sections
}

fn result(table: &ResultTable, width: usize) -> Section {
    let all = columns::all(table);
    let notes = notes_below(table, &all, width);
    let blocks = iter::once(Block::Table(all))
        .chain(notes.into_iter().map(Block::Caption))
        .chain(columns::flows(table).map(Block::Table))
        .chain(columns::stages(table).map(Block::Table));
    let lead = load::in_rounds(&table.load, table.rounds);
    Section::of("", table.name(), blocks.collect()).lead(lead)
}

fn result_at_rates(rates: &Rates<'_>, title: String, width: usize) -> Section {
    let all = columns::at_rates(rates);
    let notes = rates.notes(|table| notes_below(table, &all, width));
    let flows = rates.tables.iter().filter_map(|(rate, table)| {
        Some(columns::flows(table)?.caption(RateText(*rate).to_string()))
    });
    let blocks = iter::once(Block::Table(all))
        .chain(notes.into_iter().map(Block::Caption))
        .chain(flows.map(Block::Table));
    Section::of("", title, blocks.collect()).lead(rates.line())
}

/// The notes below the table that is shown of these results.
fn notes_below(table: &ResultTable, shown: &Table, width: usize) -> Vec<String> {
    let ratio = columns::baseline_title(table)
        .filter(|_| shown.shows("ratio", width))
        .map(|title| {
            format!(
                "ratio: {}, round by round.",
                title.trim_start_matches("ratio ")
            )
        });
    notes::unranked(table)
        .into_iter()
        .chain(ratio)
        .chain(notes::asides(table))
        .collect()
}

/// The whole report as a page for a browser, which has room for more than Markdown: every server on every workload at a
/// glance, and which pairs are told apart.
pub fn page(run: &Run, summary: &RunSummary) -> Page {
    let mut page = document(run, summary);
    fold_notes(&mut page.intro);
    let of_workload = |section: &Section| section.id.starts_with("workload-");
    let Some(first) = page.sections.iter().position(of_workload) else {
        return page;
    };
    if let [table] = &summary.tables[..] {
        let pairs = Pairs::of(table);
        page.sections
            .splice(0..0, pairs.map(|pairs| pairs_section(&pairs)));
        return page;
    }
    let workloads = page
        .sections
        .iter_mut()
        .filter(|section| of_workload(section));
    for (section, table) in workloads.zip(&summary.tables) {
        let part = Pairs::of(table).map(|pairs| pairs.part());
        section.blocks.splice(0..0, part.into_iter().flatten());
    }
    page.sections.insert(first, overview(summary));
    page
}

/// Folds several notes into one line, so that the figures are near the verdict.
fn fold_notes(intro: &mut Vec<Block>) {
    let is_note = |block: &mut Block| matches!(block, Block::Callout(Weight::Note, _));
    let notes: Vec<Block> = intro.extract_if(.., is_note).collect();
    match notes.len() {
        0 | 1 => intro.extend(notes),
        several => intro.push(Block::Fold(format!("{several} notes on this run"), notes)),
    }
}

/// The matrix of a run with a single table, which then follows the verdict.
fn pairs_section(pairs: &Pairs<'_>) -> Section {
    if pairs.is_large() {
        Section::of("pairs", "Pairs of servers", pairs.part())
    } else {
        Section::of("pairs", pairs::TITLE, pairs.blocks())
    }
}

/// The report as every medium shows it.
pub fn document(run: &Run, summary: &RunSummary) -> Page {
    let machine = &run.machine;
    let cpu = non_empty(machine.cpu_model.clone()).unwrap_or("an unknown CPU".into());
    let mut intro: Vec<Block> = Block::list(verdicts(summary)).into_iter().collect();
    // The weightier first.
    intro.extend(end(run).map(|end| Block::Callout(Weight::Bad, end.to_owned())));
    intro.extend(callouts(summary));
    let notes = run.notes.iter().cloned();
    intro.extend(notes.map(|note| Block::Callout(Weight::Note, note)));
    let mut sections = Vec::new();
    if let Some(document) = &summary.published {
        let tables = document.tables.iter();
        sections.extend(tables.map(|table| document_section(document, table)));
    }
    let room = LogRoom::of(summary);
    let tables = summary.tables.iter();
    sections.extend(tables.map(|table| workload(table, summary, room)));
    sections.extend(summary.counts.iter().map(CountTable::section));
    sections.extend(rates(summary));
    sections.extend(noise(summary));
    sections.extend(absences(summary));
    let reading = reading::reading(summary);
    sections.extend(Section::list("reading", "How to read this", reading));
    sections.push(conditions_section(run));
    Page {
        kicker: format!("Prony · {}", run.suite),
        title: run.title.clone(),
        facts: vec![
            (
                "Servers",
                servers(summary, run.servers.iter().map(|server| &server.id)),
            ),
            ("Workloads", summary.workloads().to_string()),
            ("Rounds", summary.rounds(run)),
            ("Machine", format!("{cpu}, {}", plural(machine.cpus, "CPU"))),
            (
                "Date",
                run.started_at.split('T').next().unwrap_or("").to_owned(),
            ),
        ],
        intro,
        sections,
        footer: format!("Written by Prony {} · run {}", run.prony_version, run.id),
        ..Page::default()
    }
}

/// What to read before the figures, the weightier first.
fn callouts(summary: &RunSummary) -> Vec<Block> {
    let wrong = notes::wrong(summary).map(|wrong| Block::Callout(Weight::Bad, wrong));
    let noisy = notes::noisy(&summary.quiet).map(|noisy| Block::Callout(Weight::Warning, noisy));
    wrong.into_iter().chain(noisy).collect()
}

fn workload(table: &ResultTable, summary: &RunSummary, room: LogRoom) -> Section {
    let mut blocks = Vec::new();
    if table.rows.is_empty() {
        blocks.push(Block::Text("No server gave figures.".into()));
    } else {
        blocks.push(Block::Charts(charts_of(table, false).collect()));
        let details = opened::details(table, room);
        blocks.push(Block::OpenTable(columns::speed(table), details));
        let mut rows = table.rows.iter();
        let intervals = if rows.any(|row| row.figures.interval(Percentile::P50).is_some()) {
            " Next to a figure is its 95 % interval."
        } else {
            ""
        };
        blocks.push(Block::Caption(format!(
            "Latency: {}, all rounds merged.{intervals}",
            load::latency(&table.load)
        )));
        blocks.extend(notes::unranked(table).map(Block::Caption));
        for (title, table) in [
            ("Flows and their requests", columns::flows(table)),
            ("Stages", columns::stages(table)),
            ("Cost to the server", Some(columns::cost(table))),
        ] {
            let table = table.map(|table| [Block::Heading(title.into()), Block::Table(table)]);
            blocks.extend(table.into_iter().flatten());
        }
        blocks.extend(notes::asides(table).into_iter().map(Block::Caption));
        let generator = vec![Block::Table(columns::generator(table))];
        blocks.push(Block::Fold("Cost to the generator".into(), generator));
    }
    let here = summary
        .absences
        .iter()
        .filter(|absence| absence.is_from(table));
    let missing = here.map(|one| format!("{} ({})", one.server.id, one.why.label()));
    blocks.extend(non_empty(missing.joined(", ")).map(|missing| {
        Block::Caption(format!(
            "Not in this table: {missing}. “Not measured” says why."
        ))
    }));
    Section {
        lead: load::in_rounds(&table.load, table.rounds),
        facets: facets(table),
        ..Section::of(format!("workload-{}", table.slug), table.name(), blocks)
    }
}

/// Workloads that were measured at several rates.
fn rates(summary: &RunSummary) -> Option<Section> {
    let figures = charts::rate_figures(summary);
    (!figures.is_empty()).then(|| {
        let charts = vec![Block::Charts(figures)];
        Section::of("rates", "Latency against rate", charts).lead(
            "Each server's p50 and p99 at each rate; all panels of a chart have the same scales.",
        )
    })
}

/// What a page filters the tables of a workload by.
fn facets(table: &ResultTable) -> Vec<Facet> {
    let wire = table.wire().map(|value| Facet::of("wire", value));
    let workload = Facet::of("workload", table.workload.clone());
    std::iter::once(workload).chain(wire).collect()
}

/// The charts of a table: those of its noise, or the others.
fn charts_of(table: &ResultTable, of_noise: bool) -> impl Iterator<Item = Figure> {
    let kinds = ChartKind::of(table).filter(move |kind| kind.is_of_noise() == of_noise);
    kinds.map(|kind| charts::figure(kind, table))
}

const SEEN: [Column<Seen>; 4] = [
    Column::words("noise", |seen| Cell::text(seen.kind)),
    Column::figure("median trial", |seen| Cell::text(&seen.median)),
    Column::figure("worst trial", |seen| Cell::text(&seen.worst)),
    Column::words("worst in", |seen| {
        Cell::text(seen.worst_in.clone().unwrap_or_default())
    }),
];

fn noise(summary: &RunSummary) -> Option<Section> {
    let quiet = &summary.quiet;
    let tables = summary.tables.iter().filter(|table| !table.rows.is_empty());
    let seen = Table::of(&SEEN, quiet.seen.iter().map(|seen| (seen, Row::default())));
    let courses = tables.flat_map(|table| charts_of(table, true));
    (quiet.disturbance.trials > 0).then(|| {
        let blocks = vec![Block::Table(seen), Block::Charts(courses.collect())];
        let section = Section::of("noise", "How quiet the machine was", blocks);
        section.lead(notes::quiet(quiet).join(" "))
    })
}

fn absences(summary: &RunSummary) -> Option<Section> {
    let blocks = summary.absences.iter().flat_map(|absence| {
        let place = summary.missing_from(&absence.why);
        let place = place.map_or(String::new(), |place| format!(", {place}"));
        let head = format!("{}{place}: {}", absence.server.id, absence.why.label());
        let (line, code) = match &absence.why {
            Why::NotReady(ServerStatus::Skipped { missing, install }) => (
                format!("{head}; {missing} is missing. To install it:"),
                Some(install.clone()),
            ),
            why if why.text().contains('\n') => (format!("{head}:"), Some(why.text())),
            why => (format!("{head}: {}", why.text()), None),
        };
        std::iter::once(Block::List(vec![line])).chain(code.map(Block::Code))
    });
    (!summary.absences.is_empty()).then(|| Section::of("absent", "Not measured", blocks.collect()))
}

fn conditions_section(run: &Run) -> Section {
    let lines = |title: &str, lines: &[String]| {
        let block = if lines.is_empty() {
            Block::Text("None detected.".into())
        } else {
            Block::Code(lines.join("\n"))
        };
        Block::Fold(format!("{title} ({})", lines.len()), vec![block])
    };
    let rows = run.servers.iter().map(|server| {
        Row::of([
            Cell::text(&server.id),
            Cell::text(server.title()),
            Cell::text(&server.class),
            Cell::text(opened::started_by(server)),
            Cell::text(&server.source_hash),
        ])
    });
    let titles = [
        "server",
        "built with",
        "class",
        "command",
        "sources (SHA-256)",
    ];
    let servers = vec![Block::Table(Table::with(titles.map(Head::words), rows))];
    let blocks = vec![
        Block::Facts(conditions(run)),
        lines("Mitigations in force", &run.machine.mitigations),
        lines("Network settings", &run.machine.tcp_settings),
        Block::Fold("Servers, commands and sources".into(), servers),
    ];
    Section::of("conditions", "Conditions", blocks)
}

/// The title and the explanations of a document's table.
fn document_head(document: &Document, table: &DocumentTable, blocks: Vec<Block>) -> Section {
    let load = load::in_rounds(&table.source.load, table.rounds.len());
    let id = format!("published-{}", table.number);
    Section {
        kicker: document.name.clone(),
        lead: format!("Measured here: {load}"),
        ..Section::of(id, &table.source.title, blocks)
    }
}

fn document_section(document: &Document, table: &DocumentTable) -> Section {
    let measured = tables::measured_here(table).into_iter();
    let mut blocks: Vec<Block> = measured.map(Block::Table).collect();
    blocks.push(Block::Caption(words::how(table).join(" ")));
    blocks.extend(table.source.notes.iter().cloned().map(Block::Caption));
    blocks.push(Block::Charts(charts::document_figures(table)));
    blocks.extend(
        words::overall(table).map(|_| Block::Heading("Did the published order hold?".into())),
    );
    blocks.extend(order(table));
    if let Some(ratios) = tables::ratios(table) {
        blocks.extend([Block::Table(ratios), Block::Caption(RATIOS.into())]);
    }
    let mut published = vec![Block::Facts(vec![
        ("Document", document.name.clone()),
        ("Machine", document.machine.clone()),
        ("Method", document.method.clone()),
    ])];
    published.extend(tables::as_published(table).into_iter().map(Block::Table));
    blocks.push(Block::Fold(
        "As published, on another machine".into(),
        published,
    ));
    document_head(document, table, blocks)
}

/// Whether the document's order held.
fn order(table: &DocumentTable) -> Vec<Block> {
    let overall = words::overall(table).map(Block::Text).into_iter();
    overall
        .chain(Block::list(words::sentences(table)))
        .collect()
}

/// Every server against every workload.
fn overview(summary: &RunSummary) -> Section {
    let open = if summary.has_open() {
        " Open loops show the median latency, because the load sets the rate."
    } else {
        ""
    };
    let ceiling = if summary.has_ceiling() {
        " The ceiling is the reference server, which shows what this machine can do at all."
    } else {
        ""
    };
    let heads = summary.tables.iter().map(|table| {
        if table.is_open() {
            Head::figure(format!("{}, median latency", table.name()))
        } else {
            Head::figure(table.name())
        }
    });
    let name = |server: &ServerRecord| Cell::text(&server.id).with(Some(server.title()));
    let rows = by_place(summary).into_iter().map(|server| {
        let tone = if server.is_reference() {
            Tone::Aside
        } else {
            Tone::Plain
        };
        let cells = summary.tables.iter();
        let cells = cells.map(|table| overview_cell(summary, table, server));
        let row = Row::of(iter::once(name(server)).chain(cells));
        row.tone(tone).facets(columns::facets(server))
    });
    let everywhere = summary.absences.iter();
    let everywhere = everywhere.filter(|absence| absence.why.workload().is_none());
    let absent = everywhere.map(|absence| {
        let row = Row::of([name(&absence.server)]).absent(absence.why.label().to_owned());
        row.facets(columns::facets(&absence.server))
    });
    let heads = iter::once(Head::words("server")).chain(heads);
    let table = Table::with(heads, rows.chain(absent));
    Section::of("overview", "At a glance", vec![Block::Table(table)]).lead(format!(
        "Requests per second, median of the rounds, and the rank, or a range such as 1–2 if the data leave the order open. \
         A bar is the share of the highest rate in its column.{ceiling} The verdict's ratios are taken round by round, so they \
         may differ from those of the medians.{open}"
    ))
}

fn overview_cell(summary: &RunSummary, table: &ResultTable, server: &ServerRecord) -> Cell {
    let Some(row) = table.row(&server.id) else {
        let mut absences = summary.absences.iter();
        let absence =
            absences.find(|absence| absence.server.id == server.id && absence.is_from(table));
        return absence.map_or_else(Cell::default, |absence| Cell::text(absence.why.label()));
    };
    if table.is_open() {
        return Cell::optional(row.figures.percentile(Percentile::P50), duration);
    }
    let rate = row.figures.rate.median;
    let at_least = if row.is_reference() || row.is_sound() {
        ""
    } else {
        "≥ "
    };
    let cell = Cell {
        bar: Some(rate / highest_rate(table)),
        ..Cell::text(format!("{at_least}{}", count(rate)))
    };
    rank(row.band(), row.flags().join("; "), cell)
}

fn highest_rate(table: &ResultTable) -> f64 {
    let rates = table.rows.iter().map(|row| row.figures.rate.median);
    rates.fold(f64::MIN_POSITIVE, f64::max)
}

/// Every server with a row: by the first workload that it could be in, then by its mean share of the highest rate; the
/// reference server last.
fn by_place(summary: &RunSummary) -> Vec<&ServerRecord> {
    let mut servers: Vec<&ServerRecord> = Vec::new();
    for row in summary.rows() {
        if !servers.iter().any(|label| label.id == row.server.id) {
            servers.push(&row.server);
        }
    }
    servers.sort_by(|a, b| {
        let first = |label| first_place(summary, label);
        let by_mean = mean_share(summary, b).total_cmp(&mean_share(summary, a));
        (a.is_reference(), first(a))
            .cmp(&(b.is_reference(), first(b)))
            .then(by_mean)
    });
    servers
}

/// The first table that has a server, or that it is missing from.
fn first_place(summary: &RunSummary, label: &ServerRecord) -> Option<usize> {
    summary.tables.iter().position(|table| {
        let mut absences = summary.absences.iter();
        table.row(&label.id).is_some()
            || absences.any(|absence| absence.server.id == label.id && absence.is_from(table))
    })
}

/// A server's rate as a share of the highest, over all tables that rank it by rate; 0 if there are none.
fn mean_share(summary: &RunSummary, label: &ServerRecord) -> f64 {
    let ranking = summary.tables.iter().filter(|table| !table.is_open());
    let share =
        |table: &ResultTable| Some(table.row(&label.id)?.figures.rate.median / highest_rate(table));
    let shares: Vec<f64> = ranking.filter_map(share).collect();
    shares.iter().sum::<f64>() / shares.len().max(1) as f64
}
