//! Whether the order of a document's rows held here.

use prony_record::PublishedFigure;
use prony_stats::{Ratio, common_rounds, holm};

use super::measured::{Gathering, Measured, gathering, is_of_load};
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

/// The order of every figure that has one. What the rounds tell apart is corrected for all pairs of the table.
pub(super) fn held(table: &DocumentTable) -> Vec<Held> {
    let figures = table.source.columns.iter();
    let groups: Vec<Group> = figures
        .flat_map(|&figure| {
            groups(table, figure)
                .into_iter()
                .filter_map(move |(workload, rows)| of_group(table, figure, workload, &rows))
        })
        .collect();
    let pairs = groups.iter().flat_map(|group| &group.pairs);
    let p_values: Vec<f64> = pairs.filter_map(|pair| pair.evidence.p()).collect();
    let mut corrected = holm(&p_values).into_iter();
    groups
        .into_iter()
        .map(|group| group.count(&mut corrected))
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
) -> Option<Group> {
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
    let mut pairs = Vec::new();
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
            pairs.push(Pair {
                better: name(better, rows),
                worse: name(worse, rows),
                evidence: evidence(figure, more_is_better, better, worse),
            });
        }
    }
    (!pairs.is_empty()).then(|| Group {
        figure,
        workload: workload.map(str::to_owned),
        pairs,
    })
}

/// The pairs of one figure on one workload.
struct Group {
    figure: PublishedFigure,
    workload: Option<String>,
    pairs: Vec<Pair>,
}

/// Two rows, as the document has them, and what was measured of them here.
struct Pair {
    better: String,
    worse: String,
    evidence: Evidence,
}

/// What was measured of two rows.
enum Evidence {
    /// One or both were not.
    NotMeasured,
    /// What the intervals say, or the lack of them: the better one is so here too, is not, or that is open.
    Plain(Option<bool>),
    /// The rounds that both have, compared within each: whether the better one is so here too, and the p-value of that.
    Paired { better: bool, p: f64 },
}

impl Evidence {
    fn p(&self) -> Option<f64> {
        match self {
            Evidence::Paired { p, .. } => Some(*p),
            Evidence::NotMeasured | Evidence::Plain(_) => None,
        }
    }
}

impl Group {
    /// `corrected` has the corrected p-value of every pair that was compared by rounds, in order.
    fn count(self, corrected: &mut impl Iterator<Item = f64>) -> Held {
        let mut held = Held {
            figure: self.figure,
            workload: self.workload,
            in_order: 0,
            reversed: Vec::new(),
            untold: 0,
            not_measured: 0,
        };
        for pair in self.pairs {
            let better = match pair.evidence {
                Evidence::NotMeasured => {
                    held.not_measured += 1;
                    continue;
                }
                Evidence::Plain(better) => better,
                Evidence::Paired { better, .. } => {
                    corrected.next().is_some_and(|p| p < 0.05).then_some(better)
                }
            };
            match better {
                None => held.untold += 1,
                Some(true) => held.in_order += 1,
                Some(false) => held.reversed.push((pair.worse, pair.better)),
            }
        }
        held
    }
}

/// Whether `one` is the better here too. The figures themselves must stand the same way as their rounds: a figure of
/// all rounds may lie outside of the interval of most.
fn evidence(
    figure: PublishedFigure,
    more_is_better: bool,
    one: &DocumentRow,
    other: &DocumentRow,
) -> Evidence {
    let (Some(a), Some(b)) = (one.measured.get(&figure), other.measured.get(&figure)) else {
        return Evidence::NotMeasured;
    };
    let doubtful = one.doubtful || other.doubtful || (one.at_ceiling && other.at_ceiling);
    if is_of_load(figure) && doubtful {
        return Evidence::Plain(None);
    }
    let by_round = |measured: &Measured| measured.rounds.iter().copied().collect();
    match Ratio::paired(&common_rounds(&by_round(a), &by_round(b))) {
        Some(ratio) if (ratio.ratio > 1.0) == (a.value > b.value) => Evidence::Paired {
            better: (ratio.ratio > 1.0) == more_is_better,
            p: ratio.p,
        },
        Some(_) => Evidence::Plain(None),
        None => Evidence::Plain(by_intervals(more_is_better, a, b)),
    }
}

/// Whether the first is the better, where the intervals are apart.
fn by_intervals(more_is_better: bool, a: &Measured, b: &Measured) -> Option<bool> {
    let (a_ends, b_ends) = (a.interval?, b.interval?);
    let above = a_ends.0 > b_ends.1 && a.value > b.value;
    let below = a_ends.1 < b_ends.0 && a.value < b.value;
    (above || below).then_some(above == more_is_better)
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
