//! The whole report as a page, as Markdown and as text in a terminal.

use prony_model::{RateText, Run, ServerRecord, ServerStatus};
use prony_present::load;
use prony_present::number::{count, duration};
use prony_present::page::{Block, LEAST_WIDTH, Page, Section};
use prony_present::table::{Cell, Facet, Head, Row, Table, Tone, Weight};
use prony_present::terminal::{Paint, ends};
use prony_present::words::{command_line, plural};

use crate::absence::{Absence, Why};
use crate::charts::{self, ChartKind};
use crate::columns::{self, rank};
use crate::conditions::{conditions, end};
use crate::counts::CountTable;
use crate::figures::Percentile;
use crate::notes;
use crate::opened::{self, LogRoom};
use crate::pairs::{self, Pairs};
use crate::published::{Document, DocumentTable, tables, words};
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
            let section = document_head(document, table);
            Section {
                lead: format!("From: {}. {}", section.kicker, section.lead),
                blocks: std::iter::once(Block::Table(tables::summaries(table)))
                    .chain(order(table))
                    .collect(),
                ..section
            }
        }));
    }
    sections.extend(results(summary, width.max(LEAST_WIDTH)));
    sections.extend(summary.counts.iter().map(CountTable::section));
    let titled = |title: &str, items: Vec<String>| Section {
        title: title.to_owned(),
        blocks: vec![Block::List(items)],
        ..Section::default()
    };
    if !summary.absences.is_empty() {
        let line = |absence: &Absence| {
            let place = summary
                .missing_from(&absence.why)
                .map_or(String::new(), |place| format!(" on {place}"));
            format!(
                "{}{place}: {}: {}",
                absence.server.id,
                absence.why.label(),
                ends(&absence.why.text())
            )
        };
        sections.push(titled(
            "Not measured",
            summary.absences.iter().map(line).collect(),
        ));
    }
    if !summary.tables.is_empty() {
        let ranks = if summary.has_closed() { RANK } else { "" };
        let mut about = vec![
            reading::intervals(summary).join(" "),
            format!("{ranks} {}", reading::latency(summary)),
        ];
        about.push(match notes::noisy(&summary.quiet) {
            // The callout about it follows.
            Some(_) => notes::beside_noisy(&summary.quiet).join(" "),
            None => notes::quiet(&summary.quiet).join(" "),
        });
        sections.push(Section {
            blocks: about
                .into_iter()
                .map(Block::Caption)
                .chain(callouts(summary))
                .collect(),
            ..Section::default()
        });
        sections.push(titled(
            "Verdict",
            summary.tables.iter().map(verdict).collect(),
        ));
    }
    let page = Page {
        sections,
        ..Page::default()
    };
    page.terminal(width, Paint { colour })
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
    Section {
        title: table.name(),
        lead: load::in_rounds(&table.load, table.rounds),
        blocks: std::iter::once(Block::Table(all))
            .chain(notes.into_iter().map(Block::Caption))
            .chain(columns::flows(table).map(Block::Table))
            .chain(columns::stages(table).map(Block::Table))
            .collect(),
        ..Section::default()
    }
}

fn result_at_rates(rates: &Rates<'_>, title: String, width: usize) -> Section {
    let all = columns::at_rates(rates);
    let notes = rates.notes(|table| notes_below(table, &all, width));
    let flows = rates.tables.iter().filter_map(|(rate, table)| {
        let caption = RateText(*rate).to_string();
        let flows = columns::flows(table)?;
        Some(Table { caption, ..flows })
    });
    Section {
        title,
        lead: rates.line(),
        blocks: std::iter::once(Block::Table(all.clone()))
            .chain(notes.into_iter().map(Block::Caption))
            .chain(flows.map(Block::Table))
            .collect(),
        ..Section::default()
    }
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
    let blocks = pairs.blocks();
    Section {
        id: "pairs".into(),
        title: if pairs.is_large() {
            "Pairs of servers".into()
        } else {
            pairs::TITLE.into()
        },
        blocks: if pairs.is_large() {
            vec![Block::Fold(pairs::TITLE.into(), blocks)]
        } else {
            blocks
        },
        ..Section::default()
    }
}

/// The report as every medium shows it.
pub fn document(run: &Run, summary: &RunSummary) -> Page {
    let machine = &run.machine;
    let cpu = if machine.cpu_model.is_empty() {
        "an unknown CPU"
    } else {
        &machine.cpu_model
    };
    let mut intro = Vec::new();
    let verdicts = verdicts(summary);
    if !verdicts.is_empty() {
        intro.push(Block::List(verdicts));
    }
    // The weightier first.
    intro.extend(end(run).map(|end| Block::Callout(Weight::Bad, end.to_owned())));
    intro.extend(callouts(summary));
    intro.extend(
        run.notes
            .iter()
            .map(|note| Block::Callout(Weight::Note, note.clone())),
    );
    let mut sections = Vec::new();
    if let Some(document) = &summary.published {
        sections.extend(
            document
                .tables
                .iter()
                .map(|table| document_section(document, table)),
        );
    }
    let room = LogRoom::of(summary);
    sections.extend(
        summary
            .tables
            .iter()
            .map(|table| workload(table, summary, room)),
    );
    sections.extend(summary.counts.iter().map(CountTable::section));
    sections.extend(rates(summary));
    sections.extend(noise(summary));
    sections.extend(absences(summary));
    let reading = reading::reading(summary);
    if !reading.is_empty() {
        sections.push(Section::of(
            "reading",
            "How to read this",
            vec![Block::List(reading)],
        ));
    }
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
        let kinds = ChartKind::of(table).filter(|kind| !kind.is_of_noise());
        blocks.push(Block::Charts(
            kinds.map(|kind| charts::figure(kind, table)).collect(),
        ));
        blocks.push(Block::OpenTable(
            columns::speed(table),
            opened::details(table, room),
        ));
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
        if let Some(flows) = columns::flows(table) {
            blocks.push(Block::Heading("Flows and their requests".into()));
            blocks.push(Block::Table(flows));
        }
        if let Some(stages) = columns::stages(table) {
            blocks.push(Block::Heading("Stages".into()));
            blocks.push(Block::Table(stages));
        }
        blocks.push(Block::Heading("Cost to the server".into()));
        blocks.push(Block::Table(columns::cost(table)));
        blocks.extend(notes::asides(table).into_iter().map(Block::Caption));
        let generator = vec![Block::Table(columns::generator(table))];
        blocks.push(Block::Fold("Cost to the generator".into(), generator));
    }
    let here = summary
        .absences
        .iter()
        .filter(|absence| absence.is_from(table));
    let missing: Vec<String> = here
        .map(|absence| format!("{} ({})", absence.server.id, absence.why.label()))
        .collect();
    if !missing.is_empty() {
        let missing = missing.join(", ");
        blocks.push(Block::Caption(format!(
            "Not in this table: {missing}. “Not measured” says why."
        )));
    }
    Section {
        id: format!("workload-{}", table.slug),
        title: table.name(),
        lead: load::in_rounds(&table.load, table.rounds),
        blocks,
        facets: facets(table),
        ..Section::default()
    }
}

/// Workloads that were measured at several rates.
fn rates(summary: &RunSummary) -> Option<Section> {
    let figures = charts::rate_figures(summary);
    (!figures.is_empty()).then(|| Section {
        id: "rates".into(),
        title: "Latency against rate".into(),
        lead: "Each server's p50 and p99 at each rate; all panels of a chart have the same scales."
            .into(),
        blocks: vec![Block::Charts(figures)],
        ..Section::default()
    })
}

/// What a page filters the tables of a workload by.
fn facets(table: &ResultTable) -> Vec<Facet> {
    let wire = table.wire().map(|value| Facet::of("wire", value));
    let workload = Facet::of("workload", table.workload.clone());
    std::iter::once(workload).chain(wire).collect()
}

fn noise(summary: &RunSummary) -> Option<Section> {
    let quiet = &summary.quiet;
    let tables = summary.tables.iter().filter(|table| !table.rows.is_empty());
    let rows = quiet.seen.iter().map(|seen| {
        Row::of([
            Cell::text(seen.kind),
            Cell::text(&seen.median),
            Cell::text(&seen.worst),
            Cell::text(seen.worst_in.clone().unwrap_or_default()),
        ])
    });
    let heads = [
        Head::words("noise"),
        Head::figure("median trial"),
        Head::figure("worst trial"),
        Head::words("worst in"),
    ];
    let seen = Table::with(heads, rows);
    let courses = tables.flat_map(|table| {
        let kinds = ChartKind::of(table).filter(|kind| kind.is_of_noise());
        kinds.map(move |kind| charts::figure(kind, table))
    });
    (quiet.disturbance.trials > 0).then(|| Section {
        id: "noise".into(),
        title: "How quiet the machine was".into(),
        lead: notes::quiet(quiet).join(" "),
        blocks: vec![Block::Table(seen), Block::Charts(courses.collect())],
        ..Section::default()
    })
}

fn absences(summary: &RunSummary) -> Option<Section> {
    let blocks = summary.absences.iter().flat_map(|absence| {
        let place = summary
            .missing_from(&absence.why)
            .map_or(String::new(), |place| format!(", {place}"));
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
        let made_with = server.title();
        let started_by = match &server.outside {
            Some(outside) => format!("already ran at {}", outside.url),
            None => command_line(&server.run_command),
        };
        let cells = [
            &server.id,
            &made_with,
            &server.class,
            &started_by,
            &server.source_hash,
        ];
        Row::of(cells.map(Cell::text))
    });
    let servers = Table::with(
        [
            "server",
            "built with",
            "class",
            "command",
            "sources (SHA-256)",
        ]
        .map(Head::words),
        rows,
    );
    Section::of(
        "conditions",
        "Conditions",
        vec![
            Block::Facts(conditions(run)),
            lines("Mitigations in force", &run.machine.mitigations),
            lines("Network settings", &run.machine.tcp_settings),
            Block::Fold(
                "Servers, commands and sources".into(),
                vec![Block::Table(servers)],
            ),
        ],
    )
}

/// The title and the explanations of a document's table.
fn document_head(document: &Document, table: &DocumentTable) -> Section {
    Section {
        id: format!("published-{}", table.number),
        kicker: document.published.document.clone(),
        title: table.source.title.clone(),
        lead: format!(
            "Measured here: {}",
            load::in_rounds(&table.source.load, table.rounds)
        ),
        ..Section::default()
    }
}

fn document_section(document: &Document, table: &DocumentTable) -> Section {
    let mut blocks: Vec<Block> = tables::measured_here(table)
        .into_iter()
        .map(Block::Table)
        .collect();
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
        ("Document", document.published.document.clone()),
        ("Machine", document.published.machine.clone()),
        ("Method", document.published.method.clone()),
    ])];
    published.extend(tables::as_published(table).into_iter().map(Block::Table));
    blocks.push(Block::Fold(
        "As published, on another machine".into(),
        published,
    ));
    Section {
        blocks,
        ..document_head(document, table)
    }
}

/// Whether the document's order held.
fn order(table: &DocumentTable) -> Vec<Block> {
    let overall = words::overall(table).map(Block::Text).into_iter();
    let sentences = words::sentences(table);
    overall
        .chain((!sentences.is_empty()).then_some(Block::List(sentences)))
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
    let rows = by_place(summary).into_iter().map(|server| Row {
        tone: if server.is_reference() {
            Tone::Aside
        } else {
            Tone::Plain
        },
        cells: std::iter::once(name(server))
            .chain(
                summary
                    .tables
                    .iter()
                    .map(|table| overview_cell(summary, table, server)),
            )
            .collect(),
        facets: columns::facets(server),
        ..Row::default()
    });
    let everywhere = summary
        .absences
        .iter()
        .filter(|absence| absence.why.workload().is_none());
    let absent = everywhere.map(|absence| Row {
        cells: vec![name(&absence.server)],
        absent: Some(absence.why.label().to_owned()),
        facets: columns::facets(&absence.server),
        ..Row::default()
    });
    let table = Table::with(
        std::iter::once(Head::words("server")).chain(heads),
        rows.chain(absent),
    );
    Section {
        id: "overview".into(),
        title: "At a glance".into(),
        lead: format!(
            "Requests per second, median of the rounds, and the rank, or a range such as 1–2 if the data leave the order open. \
             A bar is the share of the highest rate in its column.{ceiling} The verdict's ratios are taken round by round, so they \
             may differ from those of the medians.{open}"
        ),
        blocks: vec![Block::Table(table)],
        ..Section::default()
    }
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
