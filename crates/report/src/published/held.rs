//! Whether the order of a document's rows held here.

use prony_record::PublishedFigure;

use super::measured::{Gathering, gathering, is_of_load};
use super::{DocumentRow, DocumentTable};

/// How the published order of one figure held on one workload: every pair of rows whose published
/// figures differ is counted once.
#[derive(Clone, Debug, PartialEq)]
pub struct Held {
    /// The figure.
    pub figure: PublishedFigure,
    /// The workload; `None` for a figure that does not hang on it, and in a table of one workload.
    pub workload: Option<String>,
    /// The pairs that stand in the published order.
    pub in_order: usize,
    /// The pairs that stand the other way round: the name of the one that is better here, then of
    /// the one that was better in the document.
    pub reversed: Vec<(String, String)>,
    /// The pairs that cannot be told apart here.
    pub untold: usize,
    /// The pairs of which one or both were not measured.
    pub not_measured: usize,
}

impl Held {
    /// The pairs that were measured.
    pub fn pairs(&self) -> usize {
        self.in_order + self.reversed.len() + self.untold
    }
}

/// The order of every figure that has one.
pub(super) fn held(table: &DocumentTable) -> Vec<Held> {
    let figures = table.source.columns.iter();
    figures
        .flat_map(|&figure| {
            groups(table, figure)
                .into_iter()
                .filter_map(move |(workload, rows)| of_group(table, figure, workload, &rows))
        })
        .collect()
}

/// The document's rows that can be held against each other: those of a workload.
pub(super) fn groups(
    table: &DocumentTable,
    figure: PublishedFigure,
) -> Vec<(Option<&str>, Vec<&DocumentRow>)> {
    let rows = || table.rows.iter().filter(|row| row.in_document);
    // What a build makes is the same whatever is asked of it.
    if !table.has_workloads() || gathering(figure) == Gathering::Build {
        return vec![(None, rows().collect())];
    }
    table
        .workloads()
        .into_iter()
        .map(|workload| {
            let here = rows().filter(|row| row.workload == workload);
            (Some(workload), here.collect())
        })
        .collect()
}

/// A row whose figure was published.
struct Entry<'a> {
    row: &'a DocumentRow,
    published: f64,
}

fn of_group(
    table: &DocumentTable,
    figure: PublishedFigure,
    workload: Option<&str>,
    rows: &[&DocumentRow],
) -> Option<Held> {
    let more_is_better = figure.more_is_better()?;
    let mut entries: Vec<Entry> = Vec::new();
    for row in rows {
        let Some(published) = table.published(row, figure) else {
            continue;
        };
        // A subject that stands twice with the same figure makes each pair once.
        let again =
            |entry: &Entry| entry.row.subject == row.subject && entry.published == published;
        if !entries.iter().any(again) {
            entries.push(Entry { row, published });
        }
    }
    let mut held = Held {
        figure,
        workload: workload.map(str::to_owned),
        in_order: 0,
        reversed: Vec::new(),
        untold: 0,
        not_measured: 0,
    };
    for (i, one) in entries.iter().enumerate() {
        for other in &entries[i + 1..] {
            // The same subject twice is measured once: its two rows cannot differ here.
            if one.row.subject == other.row.subject || one.published == other.published {
                continue;
            }
            let (better, worse) = match (one.published > other.published) == more_is_better {
                true => (one.row, other.row),
                false => (other.row, one.row),
            };
            match comes_first(figure, more_is_better, better, worse) {
                Told::NotMeasured => held.not_measured += 1,
                Told::Untold => held.untold += 1,
                Told::Yes => held.in_order += 1,
                Told::No => held.reversed.push((name(worse, rows), name(better, rows))),
            }
        }
    }
    (held.pairs() + held.not_measured > 0).then_some(held)
}

enum Told {
    Yes,
    No,
    Untold,
    NotMeasured,
}

/// Whether `one` is the better here too. The intervals must be apart, and the figures themselves
/// must stand the same way: a figure of all rounds may lie outside of the interval of most.
fn comes_first(
    figure: PublishedFigure,
    more_is_better: bool,
    one: &DocumentRow,
    other: &DocumentRow,
) -> Told {
    let (Some(a), Some(b)) = (one.measured.get(&figure), other.measured.get(&figure)) else {
        return Told::NotMeasured;
    };
    if is_of_load(figure) && (one.doubtful || other.doubtful) {
        return Told::Untold;
    }
    let (Some(a_ends), Some(b_ends)) = (a.interval, b.interval) else {
        return Told::Untold;
    };
    let above = a_ends.0 > b_ends.1 && a.value > b.value;
    let below = a_ends.1 < b_ends.0 && a.value < b.value;
    match (above, below, more_is_better) {
        (true, _, true) | (_, true, false) => Told::Yes,
        (true, _, false) | (_, true, true) => Told::No,
        _ => Told::Untold,
    }
}

/// The document's name of a row, with the subject where two rows have the same.
fn name(row: &DocumentRow, rows: &[&DocumentRow]) -> String {
    let same = rows
        .iter()
        .filter(|other| other.name == row.name && other.subject != row.subject);
    match same.count() {
        0 => row.name.clone(),
        _ => format!("{} ({})", row.name, row.subject),
    }
}
