//! How to read a report, and what must be said of a table besides its figures.

use super::verb;
use crate::{Comparison, Table, format};

/// What the intervals mean for as many rounds as there were.
pub fn intervals(comparison: &Comparison) -> Vec<String> {
    let counts = comparison.round_counts();
    let few: Vec<usize> = counts
        .iter()
        .copied()
        .filter(|n| (2..6).contains(n))
        .collect();
    let mut sentences = Vec::new();
    if counts.contains(&1) {
        sentences.push("With one round there is no interval, and nothing can be ranked apart.");
    }
    if counts.iter().any(|count| *count > 1) {
        sentences.push("Intervals are 95 % intervals over the rounds.");
    }
    if counts.iter().any(|count| *count >= 6) {
        sentences
            .push("From six rounds on that needs no assumption about how rounds are distributed.");
    }
    let mut sentences: Vec<String> = sentences.into_iter().map(str::to_owned).collect();
    if !few.is_empty() {
        let few: Vec<String> = few.iter().map(usize::to_string).collect();
        sentences.push(format!(
            "Of fewer than six rounds (here {}) they are as wide as Student's, which assumes that rounds scatter about \
             normally.",
            few.join(" and ")
        ));
    }
    sentences
}

/// How to read the tables, a paragraph each: those that this comparison needs.
pub fn reading(comparison: &Comparison) -> Vec<String> {
    let mut paragraphs: Vec<&str> = Vec::new();
    if comparison.published.is_some() {
        paragraphs.extend(PUBLISHED);
    }
    paragraphs.extend(RANKS);
    if comparison.has_closed() {
        paragraphs.push(CLOSED);
    }
    if comparison.has_users_closed() {
        paragraphs.push(USERS_CLOSED);
    }
    if comparison.has_open() {
        paragraphs.extend(OPEN);
    }
    if comparison.tables.iter().any(Table::has_events) {
        paragraphs.push(EVENTS);
    }
    paragraphs.push(PERCENTILES);
    paragraphs.extend(costs(comparison));
    paragraphs.push(GENERATOR);
    paragraphs.extend(NOISE);
    let mut paragraphs: Vec<String> = paragraphs.into_iter().map(str::to_owned).collect();
    paragraphs.extend(super::warming(comparison));
    paragraphs.extend(intervals(comparison));
    paragraphs
}

/// What the costs are, those that are known here.
fn costs(comparison: &Comparison) -> Vec<&'static str> {
    let has = |known| comparison.tables.iter().any(|table| table.has_cost(known));
    let mut paragraphs = CPU.to_vec();
    if has(|costs| costs.instructions_per_request.is_some() || costs.cycles_per_request.is_some()) {
        paragraphs.push(COUNTERS);
    }
    if has(|costs| costs.growth_per_connection.is_some()) {
        paragraphs.push(GROWTH);
    }
    if has(|costs| costs.joules_per_request.is_some()) {
        paragraphs.push(ENERGY);
    }
    paragraphs.push(TRANSFER);
    paragraphs
}

const PUBLISHED: [&str; 2] = [
    "The document's tables: the rows are the document's, the figures were measured here. Another machine gives other \
     figures, so only what stands inside of one table is held against the document: each row as a ratio to the \
     document's best row that was measured here, and the order of the rows.",
    "The order: a pair of rows whose published figures differ is in the published order, or reversed, or cannot be \
     told apart here. Rates of a closed loop are told apart as they are ranked, other figures by their ratio within the rounds that \
     both have, corrected for all pairs of the figure (Holm), or, if they have no rounds, by intervals that do not touch. A pair is \
     not told apart after a single round, if the row that is behind is a lower bound, or if a row did not get its rate or sent wrong responses.",
];

/// What the ratios beside a document's table are.
pub const RATIOS: &str = "Published → measured here, each as a ratio to the document's best row that was measured here, \
     of the same workload; that row is 1.00. Shares stand as they are. A question mark: the figure of the row, or of the one that is 1.00, \
     is a lower bound here, or the row did not get its rate or sent wrong responses, so the ratio is not that of the servers.";

/// What a rank is, in a line.
pub const RANK: &str = "Rank: the range of ranks that the data allow; 2–4 says that one server is certainly faster. \
     Every two are compared round by round; the chance that any row of a table is misplaced is at most 5 %.";

const RANKS: [&str; 4] = [
    "Rank: the range of ranks that the data allow. It begins at 1 plus one for each row that is certainly faster, and ends at \
     the number of rows minus one for each that is certainly slower. Every two rows are compared by their ratio within the rounds that both \
     have, so that what drifts from round to round cancels out, with noise judged over the whole table; the comparisons are corrected for their \
     number (Holm), so the chance that any row of a table is misplaced is at most 5 %. Rows whose ranges overlap \
     are listed by median; that order is not a result.",
    "Ceiling: the built-in reference server does the least work that still responds correctly. It shows what \
     this machine can do at all and is never ranked. The share of the ceiling is the ratio within the rounds that both have.",
    "Lower bounds: a row may be better than it shows. Client-limited: the load generator was at its limit while the \
     server was not. Still warming up: the server was still getting faster when its warm-up reached its limit. At the ceiling: the rate is \
     within 10 % of the reference server's, so the machine may be the bottleneck.",
    "A row that is client-limited or still warming up in more than a quarter of its rounds, or at the ceiling, is \
     ahead of the rows that it leads, and no row is ranked above it for certain.",
];

const CLOSED: &str = "Latency: from the send of a request to the last byte of its response, ok responses only, from the histograms of \
     all rounds merged. It is measured in a closed loop: a connection sends its next request only when it has \
     its response, so a server that stalls is asked less while it does. Compare it between rows of one table; it is \
     not what users who arrive by themselves would meet.";

const OPEN: [&str; 3] = [
    "Open loop: requests are due on a schedule that no response moves. Latency runs from the scheduled arrival to the last \
     byte of the response, so the time that a request had to wait for its user, or in a rate for a free connection, is in \
     it. A late request is one whose instant had passed when there was one. Requests a second are those that were \
     offered: they rank nobody.",
    "Sent: the share of the requests due in the measured time that were begun, in the worst round. Below 99.9 % the rate \
     that was asked for was not made, and the row says so: its latencies are those of another rate.",
    "Schedule lag: the generator's own delay, from the instant at which a request was due and its user free to the \
     one at which it was begun, from the histograms of all rounds merged. It is in the latency too; where it comes near it, the \
     figure is the generator's.",
];

const EVENTS: &str = "Events: of responses that are event streams. The first event is timed from where the latency begins, the gap \
     from one event of a stream to its next; both are of the worst round, as their histograms are not on record. Rows are ranked by whole responses, not by events.";

const USERS_CLOSED: &str = "Users who think: each waits for a response, thinks, and asks again. Their thinking sets most of the \
     pace, so their requests a second tell servers apart only where these are slow beside it; latency does.";

const GENERATOR: &str = "The generator's cost: CPU time, system calls, cycles and instructions of the load's own threads for one request, in user mode \
     and in the kernel, measured part only, the median of the rounds; how busy the busiest thread was in the worst one. What \
     the machine cannot count is left out.";

const PERCENTILES: &str = "Percentiles: merged from the histograms of all rounds, never averaged. One is shown only where at least 10 responses \
     lie beyond it: p99 takes 1,000 responses, p99.9 10,000. The intervals of p50 and p99 come from drawing rounds again (bootstrap). Every response \
     counts alike: a round with more responses weighs more.";

const CPU: [&str; 2] = [
    "Requests per CPU second: ok responses for a second of user and kernel time of the server's whole process tree, warm-up \
     included on both sides. It is a ranking of its own, by bands as the rate's: what a server costs, whatever the generator \
     could ask of it. Another program on the machine blurs it far less than the rate.",
    "Memory: the most that the process tree held at once in any round.",
];

const COUNTERS: &str = "Instructions and cycles: of the server's process tree for one ok response, in user mode and in the kernel, \
     warm-up included on both sides, as the processor counted them. Instructions hardly change with what else the machine does.";

const GROWTH: &str = "Memory growth per connection: the most memory that was held, less what was held before the load, for each connection \
     of it. All growth is in it, caches and garbage that was not collected yet too: of a server with a garbage collector it says \
     when that ran as much as what a connection takes. With few connections it is mostly the former.";

const ENERGY: &str = "Joules: what the processor's packages used meanwhile, for one ok response: of server, generator and everything \
     else on the machine together. Compare it between rows of one table only.";

const TRANSFER: &str = "Transfer counts every byte received, heads included. Rates count ok responses only; an error is never throughput.";

const NOISE: [&str; 2] = [
    "Noisy trials: a trial is noisy where others took too much of the CPUs of server or generator (the hypervisor, or other \
     programs), or where the rate had not come to rest when measuring began. It is judged by that alone, never by its figures; it is re-run \
     as far as the run's bounds allow, and both are kept on record.",
    "Follows the noise: over the rounds of a row its figure is the worse the more was lost to others (Spearman's rank \
     correlation, p below 0.01). Such a figure says something of the machine's other work as well.",
];

/// What must be said of a table's rows besides their figures, a sentence each.
pub fn asides(table: &Table) -> Vec<String> {
    let mut sentences: Vec<String> = super::too_few_rounds(table).into_iter().collect();
    sentences.extend(super::enough_sentence(table));
    sentences.extend(table.rows.iter().filter_map(resent));
    sentences.extend(table.rows.iter().filter_map(port_waits));
    sentences.extend(table.rows.iter().filter_map(held));
    sentences.extend(table.rows.iter().filter_map(|row| {
        let wrong = row.figures.first_wrong.as_ref()?;
        Some(format!(
            "First wrong response of {}: {wrong}",
            row.server.id
        ))
    }));
    sentences
}

/// Why the rows of a table have no rank, where that is the load's doing.
pub fn unranked(table: &Table) -> Option<String> {
    let lags = table.rows.iter().filter_map(|row| row.figures.open?.lag);
    let of = match lags.into_iter().any(|lag| lag.of_worst_round) {
        true => "of the worst round, where a round has no histogram of it",
        false => "of all rounds",
    };
    table.is_open().then(|| {
        format!(
            "Nobody is ranked: in an open loop the requests a second are those that were offered. Rows are ordered by \
             their median latency, which runs from the scheduled arrival. Late requests are those of all rounds; the \
             schedule lag is the generator's own delay, {of}."
        )
    })
}

/// The title of a table's column of ratios to the baseline; `None` where it has none.
pub fn baseline(table: &Table) -> Option<String> {
    let baseline = table.baseline.as_ref()?;
    Some(match table.is_open() {
        true => format!("p50 as ratio to {baseline}"),
        false => format!("ratio to {baseline}"),
    })
}

fn resent(row: &crate::Row) -> Option<String> {
    let count = row.figures.resent;
    (count > 0).then(|| {
        format!(
            "{}: {} sent again over a new connection, because the server had closed the old one after a whole response. \
             An orderly close is no error, and each of them counts once.",
            row.server.id,
            verb(count, "request was", "requests were"),
        )
    })
}

fn port_waits(row: &crate::Row) -> Option<String> {
    let count = row.figures.port_waits;
    (count > 0).then(|| {
        format!(
            "{}: {} a new connection had to wait for a free local port, so its figures are those of the machine's \
             ports too.",
            row.server.id,
            match count {
                1 => "once".to_owned(),
                n => format!("{} times", format::exact(n)),
            },
        )
    })
}

/// What the streams brought that were held beside the load.
fn held(row: &crate::Row) -> Option<String> {
    let held = row.figures.held?;
    let mut text = format!(
        "{}: the {} held beside the load brought {} a second",
        row.server.id,
        verb(held.asked, "stream", "streams"),
        match held.events.per_s.median {
            1.0 => "1 event".to_owned(),
            rate => format!("{} events", format::count(rate)),
        },
    );
    if let Some(gap) = held.events.gap {
        let (p50, p99) = (format::duration(gap.p50_ns), format::duration(gap.p99_ns));
        text.push_str(&format!(
            ", with {p50} from one to the next in the median and {p99} at p99 (worst round)"
        ));
    }
    Some(format!("{text}."))
}

/// What the latency of these tables is, in a line.
pub fn latency(comparison: &Comparison) -> &'static str {
    match (comparison.has_closed(), comparison.has_open()) {
        (_, false) => "Latency is of a closed loop.",
        (false, true) => "Latency is of an open loop: from the scheduled arrival.",
        (true, true) => {
            "Latency of a closed loop runs from the send, of an open loop from the scheduled arrival."
        }
    }
}
