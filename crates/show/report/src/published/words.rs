//! Words and units for a document's table.

use prony_model::{PublishedFigure, RoundSummary};

use prony_present::load;
use prony_present::words::{capital, counted, list, non_empty, plural};

use super::document::{Concordance, DocumentTable};
use super::measured::{Aggregation, about, aggregation};

/// The title of a column.
pub fn title(table: &DocumentTable, figure: PublishedFigure) -> String {
    let title = about(figure).title;
    match aggregation(figure) {
        Aggregation::Share => format!(
            "{title} {}",
            table.source.share_of.as_deref().unwrap_or("plain")
        ),
        _ => title.to_owned(),
    }
}

/// Formats a figure with its unit.
pub fn tick(figure: PublishedFigure) -> fn(f64) -> String {
    about(figure).shown
}

/// The name of a table's summary.
pub fn summary(table: &DocumentTable) -> &'static str {
    match table.source.summary {
        RoundSummary::Median => "median",
        RoundSummary::Mean => "mean",
    }
}

/// How each figure of a table was computed from its rounds, a sentence each.
pub fn how(table: &DocumentTable) -> Vec<String> {
    use Aggregation::*;
    let mut sentences: Vec<String> = [Summary, Merged, Highest, Sum, Starts, Share]
        .into_iter()
        .filter_map(|way| {
            let columns = table.source.columns.iter();
            let columns = columns.filter(|figure| aggregation(**figure) == way);
            let titles = Vec::from_iter(columns.map(|figure| title(table, *figure)));
            let titles = non_empty(list(&titles))?;
            Some(capital(&format!("{titles}: {}.", computed(table, way))))
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
    if table.source.columns.iter().copied().any(is_latency) {
        let kind = load::latency(&table.source.load);
        sentences.push(format!("Latency: {kind}."));
    }
    sentences
}

const ENDS: &str = "with the lowest and the highest round";

fn computed(table: &DocumentTable, way: Aggregation) -> String {
    let summary = summary(table);
    match way {
        Aggregation::Summary if table.source.each_round => {
            format!("each round, and their {summary}")
        }
        Aggregation::Summary => match table.source.summary {
            RoundSummary::Median => "median of the rounds and its interval".to_owned(),
            RoundSummary::Mean => format!("mean of the rounds, {ENDS}"),
        },
        Aggregation::Merged => format!("from the histograms of all rounds merged, {ENDS}"),
        Aggregation::Highest => format!("the highest of all rounds, {ENDS}"),
        Aggregation::Sum => {
            "of all rounds together, with the fewest and the most in one".to_owned()
        }
        Aggregation::Starts => "median of all starts and its interval".to_owned(),
        Aggregation::Share => {
            format!("the ratio of two {summary}s, with the interval of the ratios within rounds")
        }
        Aggregation::Build => String::new(),
    }
}

fn is_latency(figure: PublishedFigure) -> bool {
    use PublishedFigure::*;
    matches!(
        figure,
        LatencyMean | LatencyStdev | LatencyMax | LatencyP95 | LatencyP99
    )
}

/// Up to this many reversed pairs are named; more are only counted.
const NAMED: usize = 8;

/// Whether the published order held, a sentence for each figure.
pub fn sentences(table: &DocumentTable) -> Vec<String> {
    let figures = table.source.columns.iter();
    figures
        .filter_map(|figure| sentence(table, *figure))
        .collect()
}

fn sentence(table: &DocumentTable, figure: PublishedFigure) -> Option<String> {
    let concordances = table.concordances.iter();
    let concordances = concordances.filter(|one| one.figure == figure);
    let concordances = Vec::from_iter(concordances);
    let counts = Counts::of(concordances.iter().copied());
    if concordances.is_empty() {
        return None;
    }
    let title = title(table, figure);
    if counts.pairs == 0 {
        let pairs = counted(counts.not_measured as u64, "pair", "pairs");
        return Some(format!(
            "{title}: {pairs} in the document, none of them measured here."
        ));
    }
    let not_measured = match counts.not_measured {
        0 => String::new(),
        n => format!("; {n} more not measured"),
    };
    Some(format!(
        "{title}: {} of {} in the published order, {} reversed{}, {} not separated{not_measured}.",
        counts.in_order,
        plural(counts.pairs, "pair"),
        counts.reversed,
        reversed(&concordances),
        counts.open,
    ))
}

/// ` (here Go is ahead of Zig; Bun is ahead of Go on sse)`, or nothing.
fn reversed(concordances: &[&Concordance]) -> String {
    let mut names: Vec<String> = concordances
        .iter()
        .flat_map(|one| {
            let workload = one.workload.as_ref();
            let place = workload.map_or(String::new(), |workload| format!(" on {workload}"));
            let pairs = one.reversed.iter();
            pairs.map(move |pair| {
                let (first, then) = (&pair.better_here, &pair.better_there);
                format!("{first} is ahead of {then}{place}")
            })
        })
        .collect();
    if names.len() > NAMED {
        let more = names.len() - NAMED;
        names.truncate(NAMED);
        names.push(format!("and {more} more"));
    }
    let names = non_empty(names.join("; "));
    names.map_or(String::new(), |names| format!(" (here {names})"))
}

/// Whether the published order held over all figures; `None` if the document has no order.
pub fn overall(table: &DocumentTable) -> Option<String> {
    if table.concordances.is_empty() {
        return None;
    }
    let counts = Counts::of(&table.concordances);
    if counts.pairs == 0 {
        return Some("No two rows that differ in the document were both measured here.".to_owned());
    }
    let not_measured = match counts.not_measured {
        0 => String::new(),
        n => format!(" {n} more could not be compared, because a row was not measured."),
    };
    Some(format!(
        "Of {} of figures that differ in the document, {} in its order here and {} reversed, and these rounds cannot \
         separate {}.{not_measured}",
        plural(counts.pairs, "pair"),
        counted(counts.in_order as u64, "is", "are"),
        counted(counts.reversed as u64, "is", "are"),
        counts.open,
    ))
}

#[derive(Default)]
struct Counts {
    pairs: usize,
    in_order: usize,
    reversed: usize,
    open: usize,
    not_measured: usize,
}

impl Counts {
    fn of<'a>(concordances: impl IntoIterator<Item = &'a Concordance>) -> Counts {
        let mut counts = Counts::default();
        for one in concordances {
            counts.pairs += one.pairs();
            counts.in_order += one.in_order;
            counts.reversed += one.reversed.len();
            counts.open += one.open;
            counts.not_measured += one.not_measured;
        }
        counts
    }
}
