//! The comparison as a table in a terminal.

mod published;
mod text;

use crate::{Comparison, Percentile, Row, Standing, Table, format, prose};
use text::{Paint, cut, ends, wrapped};

/// The comparison as text with lines of at most `width` letters (40 at the least): the least
/// important columns are left out where there is no room for all. `colour` allows ANSI colours.
pub fn terminal(comparison: &Comparison, width: usize, colour: bool) -> String {
    let paint = Paint { colour };
    let width = width.max(40);
    let mut lines = Vec::new();
    if let Some(noisy) = prose::noisy(&comparison.quiet) {
        lines.extend(wrapped(&noisy, width).iter().map(|text| paint.warn(text)));
        lines.push(String::new());
    }
    if let Some(wrong) = prose::wrong(comparison) {
        lines.extend(wrapped(&wrong, width).iter().map(|text| paint.bad(text)));
        lines.push(String::new());
    }
    if let Some(document) = &comparison.published {
        for table in &document.tables {
            lines.extend(published::lines(document, table, width, paint));
            lines.push(String::new());
        }
    }
    for table in &comparison.tables {
        lines.extend(table_lines(table, width, paint));
        lines.push(String::new());
    }
    lines.extend(absence_lines(comparison, width, paint));
    if !comparison.tables.is_empty() {
        let intervals = prose::intervals(comparison).join(" ");
        let ranks = match comparison.has_closed() {
            true => prose::RANK,
            false => "",
        };
        let latency = prose::latency(comparison);
        for text in [
            intervals,
            format!("{ranks} {latency}"),
            prose::quiet(&comparison.quiet).join(" "),
        ] {
            lines.extend(wrapped(&text, width));
        }
    }
    let text = lines.join("\n");
    format!("{}\n", text.trim_end_matches('\n'))
}

/// A column. The first is aligned to the left.
struct Column {
    title: &'static str,
    /// The highest goes first where there is no room for all.
    luxury: usize,
    cell: fn(&Row) -> String,
}

const fn column(title: &'static str, luxury: usize, cell: fn(&Row) -> String) -> Column {
    Column {
        title,
        luxury,
        cell,
    }
}

const COLUMNS: [Column; 17] = [
    column("server", 0, |row| match row.standing {
        Standing::Reference => format!("{} (reference)", row.server.id),
        _ => row.server.id.clone(),
    }),
    column("req/s", 0, |row| format::count(row.figures.rate.median)),
    column("interval", 5, |row| match row.figures.rate.n {
        1 => format::NONE.to_owned(),
        _ => format::count_interval(row.figures.rate.low, row.figures.rate.high),
    }),
    column("ceiling", 3, |row| {
        optional(row.share_of_ceiling.map(|share| share.ratio), format::share)
    }),
    column("ratio", 4, |row| {
        let Some(ratio) = row.of_baseline else {
            return format::NONE.to_owned();
        };
        let (ratio, interval) = prose::relative(ratio, format::ratio);
        prose::with(ratio, interval)
    }),
    column("p50", 2, |row| percentile(row, Percentile::P50)),
    column("p99", 1, |row| percentile(row, Percentile::P99)),
    column("p99.9", 8, |row| percentile(row, Percentile::P999)),
    column("late", 3, |row| {
        optional(
            row.figures.open.map(|open| open.queued as f64),
            format::count,
        )
    }),
    column("lag p99", 7, |row| {
        optional(
            row.figures
                .open
                .and_then(|open| open.lag)
                .map(|lag| lag.p99_ns),
            format::duration,
        )
    }),
    column("sent", 4, |row| {
        let kept = row.figures.open.and_then(|open| open.kept);
        kept.map_or(format::NONE.to_owned(), |kept| kept.rate_ratio_text())
    }),
    column("events/s", 3, |row| {
        let events = row.figures.events;
        optional(events.map(|events| events.per_s.median), format::count)
    }),
    column("first event", 7, |row| {
        let first = row.figures.events.and_then(|events| events.first);
        optional(first.map(|first| first.p50_ns), format::duration)
    }),
    column("req/CPU s", 3, |row| {
        let rate = optional(row.figures.requests_per_cpu_s(), format::count);
        match row.cpu_band {
            Some(band) => format!("{rate} #{}", prose::band(Some(band))),
            None => rate,
        }
    }),
    column("memory", 6, |row| {
        format::bytes(row.figures.peak_memory_bytes as f64)
    }),
    column("start", 9, |row| {
        let startup = row.figures.startup_ns.map(|estimate| estimate.median);
        optional(startup, format::duration)
    }),
    column("to warm", 10, |row| {
        let warm = row.figures.warming.time_to_warm_ns;
        optional(warm.map(|warm| warm.median), format::time_to_warm)
    }),
];

/// A server's name is cut to this, so that figures keep their room.
const NAME_LETTERS: usize = 24;
const GAP: usize = 2;
/// How far the flags of a row are moved in.
const INDENT: usize = 4;

fn optional(figure: Option<f64>, shown: fn(f64) -> String) -> String {
    figure.map_or(format::NONE.to_owned(), shown)
}

fn percentile(row: &Row, percentile: Percentile) -> String {
    optional(row.figures.percentile(percentile), format::duration)
}

fn table_lines(table: &Table, width: usize, paint: Paint) -> Vec<String> {
    let cells: Vec<Vec<String>> = table
        .rows
        .iter()
        .map(|row| {
            let cells = COLUMNS.iter().map(|column| (column.cell)(row));
            cells.map(|cell| cut(&cell, NAME_LETTERS)).collect()
        })
        .collect();
    let ranks = RankColumn::of(table);
    let widths = shown_widths(table, &cells, width - ranks.width());
    let mut lines = heading(table, width, paint);
    let titles: Vec<String> = COLUMNS
        .iter()
        .map(|column| column.title.to_owned())
        .collect();
    lines.push(paint.dim(&format!("{}{}", ranks.cell("#"), line(&titles, &widths))));
    let mut unranked = false;
    for (row, cells) in table.rows.iter().zip(&cells) {
        if row.band().is_none() && !unranked && !table.is_open() {
            unranked = true;
            lines.push(paint.dim(&"╌".repeat(ranks.width() + used_width(&widths))));
        }
        let rank = ranks.cell(&prose::band(row.band()));
        let text = format!("{rank}{}", line(cells, &widths));
        lines.push(match row.band() {
            Some(_) if row.may_be_first() => paint.bold(&text),
            Some(_) => text,
            None if row.is_sound() => text,
            None => paint.dim(&text),
        });
        lines.extend(flag_lines(row, width, paint));
    }
    for note in notes(table) {
        lines.extend(wrapped(&note, width).iter().map(|text| paint.dim(text)));
    }
    lines
}

/// What must be said beneath a table.
fn notes(table: &Table) -> Vec<String> {
    let ratio = prose::baseline(table).map(|title| format!("Ratio: {title}, with its interval."));
    let notes = prose::unranked(table).into_iter().chain(ratio);
    notes.chain(prose::asides(table)).collect()
}

/// The column of the ranks, as wide as the widest of them.
struct RankColumn(usize);

impl RankColumn {
    fn of(table: &Table) -> Self {
        let ranks = table
            .rows
            .iter()
            .map(|row| prose::band(row.band()).chars().count());
        Self(ranks.max().unwrap_or(0).max(2))
    }

    /// With the gap behind it.
    fn width(&self) -> usize {
        self.0 + GAP
    }

    fn cell(&self, rank: &str) -> String {
        format!("{rank:>0$}{1:GAP$}", self.0, "")
    }
}

fn flag_lines(row: &Row, width: usize, paint: Paint) -> Vec<String> {
    let flags = match row.standing {
        Standing::Reference => row.figures.flags(), // Its name says the rest.
        _ => row.flags(),
    };
    if flags.is_empty() {
        return Vec::new();
    }
    let indent = " ".repeat(INDENT);
    wrapped(&flags.join(", "), width - INDENT - 2)
        .iter()
        .map(|text| format!("{indent}{}", paint.warn(&format!("↳ {text}"))))
        .collect()
}

fn heading(table: &Table, width: usize, paint: Paint) -> Vec<String> {
    let name = cut(&table.name(), width);
    let load = prose::load_in_rounds(&table.load, table.rounds);
    match name.chars().count() + 2 + load.chars().count() <= width {
        true => vec![format!("{}  {}", paint.bold(&name), paint.dim(&load))],
        false => std::iter::once(paint.bold(&name))
            .chain(wrapped(&load, width).iter().map(|text| paint.dim(text)))
            .collect(),
    }
}

/// The width of each column that fits; `None` for those that are left out, or say nothing here.
fn shown_widths(table: &Table, cells: &[Vec<String>], width: usize) -> Vec<Option<usize>> {
    let nothing = saying_nothing(table);
    let mut widths: Vec<Option<usize>> = COLUMNS
        .iter()
        .enumerate()
        .map(|(i, column)| {
            if nothing.contains(&column.title) {
                return None;
            }
            let letters = cells.iter().map(|row| row[i].chars().count());
            letters.chain([column.title.chars().count()]).max()
        })
        .collect();
    while used_width(&widths) > width {
        let most = (0..COLUMNS.len())
            .filter(|&i| widths[i].is_some() && COLUMNS[i].luxury > 0)
            .max_by_key(|&i| COLUMNS[i].luxury);
        match most {
            Some(i) => widths[i] = None,
            None => break,
        }
    }
    widths
}

/// The columns that say nothing of the table's load.
fn saying_nothing(table: &Table) -> Vec<&'static str> {
    let mut nothing = match table.is_open() {
        true => vec!["ceiling", "interval"],
        false => vec!["late", "lag p99"],
    };
    if table.baseline.is_none() {
        nothing.push("ratio");
    }
    if !table.has_cpu() {
        nothing.push("req/CPU s");
    }
    if !table.has_kept() {
        nothing.push("sent");
    }
    if !table.has_events() {
        nothing.extend(["events/s", "first event"]);
    }
    nothing
}

fn used_width(widths: &[Option<usize>]) -> usize {
    let columns: usize = widths.iter().flatten().map(|width| width + GAP).sum();
    columns - GAP
}

fn line(cells: &[String], widths: &[Option<usize>]) -> String {
    let mut text = String::new();
    for (column, (cell, width)) in cells.iter().zip(widths).enumerate() {
        let Some(width) = *width else { continue };
        match column {
            0 => text.push_str(&format!("{cell:<width$}")),
            _ => text.push_str(&format!("{:GAP$}{cell:>width$}", "")),
        }
    }
    text.trim_end().to_owned()
}

fn absence_lines(comparison: &Comparison, width: usize, paint: Paint) -> Vec<String> {
    if comparison.absences.is_empty() {
        return Vec::new();
    }
    let mut lines = vec![paint.bold("Not measured")];
    for absence in &comparison.absences {
        let place = comparison
            .missing_from(&absence.why)
            .map(|place| format!(" {place}"));
        let text = format!(
            "{}{}: {}: {}",
            absence.server.id,
            place.unwrap_or_default(),
            absence.why.label(),
            ends(&absence.why.text()),
        );
        let texts = wrapped(&text, width - 2);
        lines.extend(texts.iter().map(|text| format!("  {}", paint.bad(text))));
    }
    lines.push(String::new());
    lines
}
