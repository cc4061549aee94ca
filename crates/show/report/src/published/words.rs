//! Words for a document's table.

use prony_model::{PublishedFigure, RoundSummary};

use prony_present::load;
use prony_present::words::{capital, counted, list, plural};

use super::concordance::{Concordance, ReversedPair};
use super::document::DocumentTable;
use super::measured::{About, Aggregation, about};

pub(crate) fn title(table: &DocumentTable, figure: PublishedFigure) -> String {
    let About {
        title, aggregation, ..
    } = about(figure);
    match &table.source.share_of {
        Some(base) if aggregation == Aggregation::Share => format!("{title} {base}"),
        None if aggregation == Aggregation::Share => format!("{title} plain"),
        _ => title.to_owned(),
    }
}

/// Formats a figure with its unit.
pub(crate) fn tick(figure: PublishedFigure) -> fn(f64) -> String {
    about(figure).shown
}

/// The name of a table's summary.
pub(crate) fn summary(table: &DocumentTable) -> &'static str {
    match table.source.summary {
        RoundSummary::Median => "median",
        RoundSummary::Mean => "mean",
    }
}

/// How each figure of a table was computed from its rounds, a sentence each.
pub(crate) fn how(table: &DocumentTable) -> Vec<String> {
    use Aggregation::*;
    let mut sentences: Vec<String> = [Summary, Merged, Highest, Sum, Starts, Share]
        .into_iter()
        .filter_map(|way| {
            let columns = table.source.columns.iter();
            let titles: Vec<String> = columns
                .filter(|figure| about(**figure).aggregation == way)
                .map(|figure| title(table, *figure))
                .collect();
            (!titles.is_empty())
                .then(|| capital(&format!("{}: {}.", list(&titles), computed(table, way))))
        })
        .collect();
    let has = |figure| table.source.columns.contains(&figure);
    if has(PublishedFigure::Transfer) {
        sentences.push("MiB are what wrk calls MB: 1024² bytes.".to_owned());
    }
    if has(PublishedFigure::WithinStdev) {
        sentences.push(
            "± stdev is the share of latencies within one standard deviation of their mean."
                .to_owned(),
        );
    }
    let is_latency = |figure: &PublishedFigure| {
        *figure == PublishedFigure::LatencyMax || about(*figure).aggregation == Merged
    };
    if table.source.columns.iter().any(is_latency) {
        let kind = load::latency(&table.source.load);
        sentences.push(format!("Latency: {kind}."));
    }
    sentences
}

fn computed(table: &DocumentTable, way: Aggregation) -> String {
    use Aggregation::*;
    let words = match (way, table.source.summary) {
        (Summary, _) if table.source.each_round => {
            return format!("each round, and their {}", summary(table));
        }
        (Summary, RoundSummary::Median) => "median of the rounds and its interval",
        (Summary, RoundSummary::Mean) => {
            "mean of the rounds, with the lowest and the highest round"
        }
        (Merged, _) => {
            "from the histograms of all rounds merged, with the lowest and the highest round"
        }
        (Highest, _) => "the highest of all rounds, with the lowest and the highest round",
        (Sum, _) => "of all rounds together, with the fewest and the most in one",
        (Starts, _) => "median of all starts and its interval",
        (Share, _) => "the ratio within rounds and its interval",
        (Build, _) => "",
    };
    words.to_owned()
}

/// Up to this many reversed pairs are named; more are only counted.
const NAMED: usize = 8;

/// Whether the published order held: a sentence for each figure.
pub(crate) fn sentences(table: &DocumentTable) -> Vec<String> {
    let held = table.concordances.iter();
    held.map(|held| format!("{}: {}.", title(table, held.figure), sentence(held)))
        .collect()
}

fn sentence(held: &Concordance) -> String {
    if held.pairs() == 0 {
        let pairs = counted(held.not_measured as u64, "pair", "pairs");
        return format!("{pairs} in the document, none of them measured here");
    }
    let not_measured = match held.not_measured {
        0 => String::new(),
        n => format!("; {n} more not measured"),
    };
    format!(
        "{} of {} in the published order, {} reversed{}, {} not separated{not_measured}",
        held.in_order,
        plural(held.pairs(), "pair"),
        held.reversed.len(),
        reversed(&held.reversed),
        held.open,
    )
}

/// ` (here Go is ahead of Zig; Bun is ahead of Go on sse)`, or nothing.
fn reversed(pairs: &[ReversedPair]) -> String {
    let name = |pair: &ReversedPair| {
        let place = pair.workload.as_ref();
        let place = place.map_or(String::new(), |workload| format!(" on {workload}"));
        format!(
            "{} is ahead of {}{place}",
            pair.better_here, pair.better_there
        )
    };
    let more = pairs.len().saturating_sub(NAMED);
    let more = (more > 0).then(|| format!("and {more} more"));
    let names: Vec<String> = pairs.iter().take(NAMED).map(name).chain(more).collect();
    if names.is_empty() {
        String::new()
    } else {
        format!(" (here {})", names.join("; "))
    }
}

/// Whether the published order held over all figures; `None` if the document has no order.
pub(crate) fn overall(table: &DocumentTable) -> Option<String> {
    if table.concordances.is_empty() {
        return None;
    }
    let sum = |of: fn(&Concordance) -> usize| table.concordances.iter().map(of).sum::<usize>();
    let pairs = sum(Concordance::pairs);
    if pairs == 0 {
        return Some("No two rows that differ in the document were both measured here.".to_owned());
    }
    let not_measured = match sum(|held| held.not_measured) {
        0 => String::new(),
        n => format!(" {n} more could not be compared, because a row was not measured."),
    };
    Some(format!(
        "Of {} of figures that differ in the document, {} in its order here and {} reversed, and these rounds cannot \
         separate {}.{not_measured}",
        plural(pairs, "pair"),
        counted(sum(|held| held.in_order) as u64, "is", "are"),
        counted(sum(|held| held.reversed.len()) as u64, "is", "are"),
        sum(|held| held.open),
    ))
}
