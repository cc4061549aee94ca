//! The verdict in sentences: which server is fastest, what cannot be told apart, and what was limited.

use prony_model::{Bound, FigureKind};
use prony_present::number::{self, count, duration};
use prony_present::words::{Joined, list};
use prony_stats::Known;

use crate::counts::CountTable;
use crate::figures::Percentile;
use crate::notes::{exact_pairs, too_few_rounds};
use crate::pairs::times;
use crate::summary::RunSummary;
use crate::table::{ResultTable, ServerRow};

/// A sentence names as many servers as this; of more it has the ends.
const MOST_NAMED: usize = 4;

/// The verdict on one workload: `hello: rust-hyper is fastest at 49.9 k requests per second. …`
pub(crate) fn verdict(table: &ResultTable) -> String {
    let first = if table.is_open() {
        let why = "No server is ranked by rate, because the load sets it.";
        lowest_latency(table, why)
    } else if table.is_paced_by_users() {
        let why = "The users' think time sets the pace, so the rates separate no servers.";
        lowest_latency(table, why)
    } else {
        fastest(table)
    };
    let open = open_pairs(table).into_iter().chain(limited(table));
    let sentences = std::iter::once(first).chain(open).joined(" ");
    format!("{}: {sentences}", table.name())
}

/// The verdict on each workload and load of a run, and what its counts of instructions say.
pub fn verdicts(summary: &RunSummary) -> Vec<String> {
    let ranked = summary.tables.iter().map(verdict);
    let counted = summary.counts.iter().filter_map(CountTable::sentence);
    ranked.chain(counted).collect()
}

/// How many servers of each kind there are: `6 ranked, 1 reference, 2 skipped`.
pub(crate) fn servers<'a>(summary: &RunSummary, ids: impl Iterator<Item = &'a String>) -> String {
    let counted = |id: &str| {
        let mut rows = summary.counts.iter().flat_map(|table| &table.rows);
        rows.any(|row| row.server == id && row.per_request.is_some())
    };
    let mut kinds: Vec<(&str, usize)> = ["ranked", "unranked", "reference"]
        .map(|kind| (kind, 0))
        .into();
    for id in ids {
        let rows = || summary.rows().filter(|row| row.server.id == *id);
        let mut absences = summary.absences.iter();
        let kind = match rows().next() {
            Some(row) if row.is_reference() => "reference",
            Some(_) if rows().any(|row| row.band().is_some()) => "ranked",
            Some(_) => "unranked",
            None if counted(id) => "counted",
            None => absences
                .find(|absence| absence.server.id == *id)
                .map_or("not tried", |absence| absence.why.label()),
        };
        match kinds.iter_mut().find(|(known, _)| *known == kind) {
            Some((_, count)) => *count += 1,
            None => kinds.push((kind, 1)),
        }
    }
    let present = kinds.iter().filter(|(_, count)| *count > 0);
    present
        .map(|(kind, count)| format!("{count} {kind}"))
        .joined(", ")
}

fn fastest(table: &ResultTable) -> String {
    let ranked = table.ranked().count();
    let first: Vec<&ServerRow> = table.rows.iter().filter(|row| row.may_be_first()).collect();
    let rate = |row: &ServerRow| {
        let more = if row.is_sound() { "" } else { " or more" };
        let of_what = per_second(table);
        format!("{} {of_what}{more}", count(row.figures.rate.median))
    };
    match first.as_slice() {
        [] => "no server could be ranked.".to_owned(),
        [only] if ranked == 1 => format!("only {} was ranked, at {}.", only.server.id, rate(only)),
        [only] => format!(
            "{} is fastest at {}{}.",
            only.server.id,
            rate(only),
            ahead_of_next(table, only)
        ),
        [highest, ..] if table.rounds == 1 => format!(
            "one round cannot rank the servers; {} had the highest rate, {}.",
            highest.server.id,
            rate(highest)
        ),
        // A lower bound far behind may be the fastest too, but that is all that is known of it.
        [highest, others @ ..] if !others.iter().any(|row| row.is_sound()) => {
            let id = &highest.server.id;
            format!("{id} has the highest rate, {}.", rate(highest))
        }
        several => tied(table, several, ranked),
    }
}

/// Several servers may be the fastest, of as many as are `ranked`.
fn tied(table: &ResultTable, several: &[&ServerRow], ranked: usize) -> String {
    let rate = |row: &ServerRow| count(row.figures.rate.median);
    let of_what = per_second(table);
    if let [highest, .., lowest] = several
        && several.len() > MOST_NAMED
    {
        return format!(
            "{} servers may be the fastest, from {} ({}) to {} ({} {of_what}): the rounds do not tell them apart.",
            several.len(),
            highest.server.id,
            rate(highest),
            lowest.server.id,
            rate(lowest),
        );
    }
    let rated = several.iter().enumerate().map(|(i, row)| {
        let unit = if i + 1 == several.len() {
            format!(" {of_what}")
        } else {
            String::new()
        };
        format!("{} ({}{unit})", row.server.id, rate(row))
    });
    let rated: Vec<String> = rated.collect();
    match rated.as_slice() {
        all if all.len() == ranked => format!("the rounds do not tell {} apart.", list(all)),
        [one, other] => {
            format!("{one} or {other} may be the fastest: the rounds do not tell them apart.")
        }
        any => format!(
            "any of {} may be the fastest: the rounds do not tell them apart.",
            list(any)
        ),
    }
}

/// How far the fastest server is ahead: `, 1.23× (95 % interval 1.17–1.30) the rate of go-nethttp, the next`.
fn ahead_of_next(table: &ResultTable, fastest: &ServerRow) -> String {
    let next = table
        .ranked()
        .find(|row| row.server.id != fastest.server.id);
    let order = table.order.as_ref();
    let Some((next, pair)) = next.zip(order).and_then(|(next, order)| {
        let pair = order.beside(&fastest.server.id, &next.server.id)?;
        Some((next, pair))
    }) else {
        return String::new();
    };
    let least = if fastest.is_sound() { "" } else { "at least " };
    let interval = pair.interval().filter(|_| fastest.is_sound());
    let interval = interval.map(|(low, high)| number::interval(low, high, number::ratio));
    let interval = interval.filter(|interval| *interval != number::ratio(pair.ratio.ratio));
    let interval = interval.map_or(String::new(), |interval| {
        format!(" (95 % interval {interval})")
    });
    format!(
        ", {least}{}{interval} the rate of {}, the next",
        times(pair.ratio.ratio),
        next.server.id
    )
}

fn per_second(table: &ResultTable) -> &'static str {
    if table.load.flows {
        "flows per second"
    } else {
        "requests per second"
    }
}

/// `why` says why the rates do not decide.
fn lowest_latency(table: &ResultTable, why: &str) -> String {
    let is_known = |row: &&ServerRow| row.known(FigureKind::Latency) == Known::Exactly;
    let rows = table.rows.iter().filter(|row| !row.is_reference());
    let rows = rows.filter(is_known);
    let latencies = rows.filter_map(|row| Some((row, row.figures.percentile(Percentile::P50)?)));
    let mut latencies: Vec<(&ServerRow, f64)> = latencies.collect();
    latencies.sort_by(|a, b| a.1.total_cmp(&b.1));
    match latencies[..] {
        [(row, latency)] => format!(
            "{} has a median latency of {}.",
            row.server.id,
            duration(latency)
        ),
        [(row, latency), ..] => format!(
            "{} has the lowest median latency, {}. {why}",
            row.server.id,
            duration(latency)
        ),
        [] => "no latency is known.".to_owned(),
    }
}

/// How many pairs the rounds order, if more are open than those of the leading servers, which the first sentence names.
fn open_pairs(table: &ResultTable) -> Option<String> {
    if table.rounds == 1 {
        return None;
    }
    if too_few_rounds(table).is_some() {
        return Some("There are too few rounds to rank them all.".to_owned());
    }
    let order = table.rate_order()?;
    let (pairs, ordered) = (order.order.pairs(), order.order.separated());
    let leading = table.rows.iter();
    let leading = leading.filter(|row| row.may_be_first() && row.is_sound());
    let leading = leading.count();
    (pairs - ordered > leading * leading.saturating_sub(1) / 2).then(|| {
        format!(
            "Of the {}, the rounds separate {ordered}.",
            exact_pairs(order)
        )
    })
}

/// Which servers have lower bounds or wrong responses, a sentence for each cause.
fn limited(table: &ResultTable) -> Vec<String> {
    let mut causes: Vec<(&str, Vec<&str>)> = Vec::new();
    for row in table.rows.iter().filter(|row| !row.is_reference()) {
        let wrong = row.figures.wrong.map(|_| "wrong");
        let bounds = row.shown_bounds().filter(|bound| bound.binds());
        let bounds = bounds.map(Bound::name);
        for cause in bounds.chain(wrong) {
            match causes.iter_mut().find(|(known, _)| *known == cause) {
                Some((_, rows)) => rows.push(&row.server.id),
                None => causes.push((cause, vec![&row.server.id])),
            }
        }
    }
    let sentence = |(cause, rows): &(&str, Vec<&str>)| {
        let (are, servers) = match rows.len() {
            1 => ("is", "the server was"),
            _ => ("are", "the servers were"),
        };
        let may_be_faster = format!("{} may be faster than shown", list(rows));
        match *cause {
            "wrong" => format!("{} sent wrong responses and {are} not ranked.", list(rows)),
            "at the ceiling" => format!(
                "{may_be_faster}: at the ceiling (within 10 % of the reference server) the machine may be the bottleneck."
            ),
            "client-limited" => {
                format!("{may_be_faster}: the load generator was the bottleneck (client-limited).")
            }
            cause => format!("{may_be_faster}: {servers} {cause}."),
        }
    };
    causes.iter().map(sentence).collect()
}
