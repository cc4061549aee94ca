//! How to read a report: a paragraph for each of its terms.

use std::collections::BTreeSet;

use prony_present::number::seconds;
use prony_stats::Estimate;

use crate::figures::CostFigures;
use crate::summary::RunSummary;
use crate::table::ResultTable;

/// What a rank is, in short.
pub(crate) const RANK: &str = "Rank: the range of ranks that the data allow; 2–4 means that one server is clearly faster (95 %). Every \
     two servers are compared round by round; the probability that any row of a table is misplaced is at most 5 %.";

/// What the ratios of a document's table are.
pub(crate) const RATIOS: &str = "Each figure as a ratio to the document's best row that was measured here, of the same workload; that \
     row is 1.00. Shares are shown as they are. A question mark means that one of the two figures is a lower bound, missed its \
     rate or had wrong responses, so the ratio is not reliable.";

/// How to read the tables: the paragraphs that this report needs.
pub(crate) fn reading(summary: &RunSummary) -> Vec<String> {
    let has = |cost: fn(&CostFigures) -> Option<Estimate>| {
        summary.rows().any(|row| cost(&row.figures.costs).is_some())
    };
    let has_tables = !summary.tables.is_empty();
    let has_ceiling = summary.has_ceiling();
    let if_so =
        |is_so: bool, paragraphs: &'static [&'static str]| if is_so { paragraphs } else { &[] };
    let paragraphs = [
        if_so(summary.published.is_some(), &PUBLISHED),
        if_so(has_tables, &[RANKS]),
        if_so(has_ceiling, &[CEILING]),
        if_so(has_tables, &[BOUNDS]),
        if_so(has_ceiling, &[AT_CEILING]),
        if_so(summary.has_closed(), &[CLOSED]),
        if_so(summary.has_saturated(), &[SATURATED]),
        if_so(summary.has_users_closed(), &[USERS_CLOSED]),
        if_so(summary.has_open(), &OPEN),
        if_so(
            summary.tables.iter().any(ResultTable::has_events),
            &[EVENTS],
        ),
        if_so(
            summary.tables.iter().any(|table| table.load.flows),
            &[FLOWS],
        ),
        if_so(has_tables, &[PERCENTILES]),
        if_so(has_tables, &CPU),
        if_so(
            has(|costs| costs.instructions_per_request.or(costs.cycles_per_request)),
            &[COUNTERS],
        ),
        if_so(has(|costs| costs.growth_per_connection), &[GROWTH]),
        if_so(has(|costs| costs.joules_per_request), &[ENERGY]),
        if_so(has_tables, &[TRANSFER, GENERATOR]),
        if_so(has_tables, &NOISE),
    ];
    let paragraphs = paragraphs.concat().into_iter().map(str::to_owned);
    paragraphs
        .chain(warming(summary))
        .chain(intervals(summary))
        .collect()
}

const PUBLISHED: [&str; 2] = [
    "The document's tables: the rows are the document's, the figures were measured here. Another machine gives other figures, \
     so only relations within one table are compared with the document: each row as a ratio to the document's best row that was \
     measured here, and the order of the rows.",
    "The order: a pair of rows whose published figures differ is in the published order or reversed, or these rounds cannot \
     separate the two. For closed-loop rates the ranking decides; for other figures their ratio within the rounds that both have, \
     corrected for all pairs of the figure (Holm), or, if they have no rounds, whether their intervals overlap. A pair is not \
     separated after a single round, if the row that is behind is a lower bound, or if a row did not reach its rate or sent wrong \
     responses.",
];

const RANKS: &str = "Rank: the range of ranks that the data allow. 2–4: one server is clearly faster (95 %), and this one could be anywhere \
     from 2nd to 4th. Every two rows are compared by their ratio within the rounds that both have, so drift from round to round cancels \
     out. The comparisons are corrected for their number (Holm), so the probability that any row of a table is misplaced is at most 5 %. \
     Servers whose ranges overlap are listed by median; that order alone does not mean that one is faster.";

const CEILING: &str = "Ceiling: the built-in reference server does the least work that still responds correctly. It shows what this machine \
     can do and is never ranked. The share of the ceiling is the ratio within the rounds that both have.";

const BOUNDS: &str = "Lower bounds: a server may be better than shown if, in more than a quarter of its rounds, the load generator was the \
     bottleneck (client-limited) or the server was still getting faster when its warm-up reached its limit (still warming up). Its row \
     still ranks above the rows that are clearly slower; no row ranks above it.";

const AT_CEILING: &str = "At the ceiling: within 10 % of the reference server, so the machine may be the bottleneck. This is a lower bound, \
     too: the server may be faster than shown, and no row ranks above it.";

const CLOSED: &str = "Latency: from the send of a request to the last byte of its response, ok responses only, from the histograms \
     of all rounds merged. Each connection waits for a full response before it sends again (closed loop), so a server that stalls \
     gets fewer requests meanwhile. Compare latencies between rows of one table; they are not what independently arriving users \
     would see.";

const SATURATED: &str = "Saturation: several connections in a closed loop without think time keep the server busy, so their latencies \
     are those of a saturated server.";

const OPEN: [&str; 3] = [
    "Open loop: requests are due on a schedule regardless of response times. Latency runs from the scheduled arrival to the last byte \
     of the response, so it includes the time that a request waited for its user or for a free connection. A queued request was due \
     before there was one. The requests per second are those that were offered, so they rank no server.",
    "Sent: the share of the due requests that were sent, in the worst round. Below 99.9 % the rate was not reached, and the row says \
     so: its latencies are those of another rate.",
    "Schedule lag: the generator's own delay, from the instant at which a request was due and its user free to the one at which it \
     was sent, from the histograms of all rounds merged. The latency includes it; if the two are close, the figure is the \
     generator's.",
];

const EVENTS: &str = "Events: of responses that are event streams. The first event is timed from the start of the latency, the gap \
     from one event of a stream to the next; both are of the worst round, as their histograms are not on record. Rows are ranked by \
     whole responses, not by events.";

const FLOWS: &str = "Flows: users go through the requests of a Hurl file, and one pass is a flow. Servers are compared by whole flows, \
     because a flow may take more requests over one server than over another (redirects, retries): rates, times and costs are those \
     of flows, and times include all pauses. The table beneath has whole flows, then each request; a redirect or a retry is one more \
     request of its entry.";

const USERS_CLOSED: &str = "Users with think time: each waits for a response, thinks, and sends again. Think time sets most of the \
     pace, so requests per second tell servers apart only if these are slow compared with it; latency does.";

const PERCENTILES: &str = "Percentiles: from the histograms of all rounds merged, never averaged. One is shown only if at least 10 \
     responses lie beyond it: p99 takes 1,000 responses, p99.9 10,000. The p50 and p99 intervals are bootstrapped over rounds. Every \
     response counts alike, so a round with more responses weighs more.";

const CPU: [&str; 2] = [
    "Requests per CPU second: ok responses per second of user and kernel time of the server's whole process tree; both counts include \
     the warm-up. It has a ranking of its own: what a server costs, however much the generator could send. Other programs disturb it \
     far less than the rate.",
    "Memory: the most that the process tree held at once in any round.",
];

const COUNTERS: &str = "Instructions and cycles: of the server's process tree per ok response, in user mode and in the kernel, as \
     the processor counted them; both counts include the warm-up. Instructions hardly change with what else the machine does.";

const GROWTH: &str = "Memory growth per connection: peak memory less the memory before the load, per connection. It includes caches and \
     garbage that was not collected yet. With a garbage collector it depends as much on when the collector ran as on what a \
     connection needs. With few connections it is mostly caches and garbage.";

const ENERGY: &str = "Energy: what the processor's packages used per ok response, for server, generator and everything else on the \
     machine together. Compare it between rows of one table only.";

const TRANSFER: &str = "Transfer: every byte received, heads included. Rates count ok responses only; an error is never throughput.";

const GENERATOR: &str = "The generator's cost: CPU time, system calls, cycles and instructions of the load's own threads per request, in \
     user mode and in the kernel, measured part only, the median of the rounds; the busiest thread is that of the worst round. What the \
     machine cannot count is left out.";

const NOISE: [&str; 2] = [
    "Noisy trials: a trial is noisy if the hypervisor or other programs took too much of the CPU time of the server or the \
     generator, or if the rate was still rising during measurement. How fast a server is never decides whether Prony re-runs its \
     trial; Prony re-runs it as often as the run's limits allow and keeps every attempt on record.",
    "Follows the noise: over the rounds of a row its figure is the worse the more CPU time other programs and the hypervisor took \
     (Spearman's rank correlation, p below 0.01). Such a figure also reflects what else the machine did.",
];

/// How the servers of this run were warmed up, and which were kept running; `None` if no trial waited until its server was warm.
fn warming(summary: &RunSummary) -> Option<String> {
    let limit_s = summary.rows().filter_map(|row| row.figures.warming.limit_s);
    let limit = seconds(limit_s.reduce(f64::max)?);
    let mut text = format!(
        "Warm-up: before the first trial of a server under a load, Prony loads it until its rate and its CPU time per response \
         stop improving, for at most {limit}, unless the command line or the suite fixes the warm-up. A server that took a second or \
         less is restarted for each later trial and warmed up for as long again, or for the load's own warm-up if that is longer. \
         Time to warm is how long a new process was under load until it stopped improving; startup comes before it."
    );
    let kept = summary.rows().filter(|row| row.figures.warming.kept);
    let kept: BTreeSet<&str> = kept.map(|row| row.server.id.as_str()).collect();
    if !kept.is_empty() {
        text += &format!(
            " Servers that took longer keep running from round to round: {}. Before each later trial they get only the load's own \
             warm-up. Their intervals do not show how much another process of the same server would differ, and their peak memory is \
             that of the process's whole life.",
            Vec::from_iter(kept).join(", ")
        );
    }
    Some(text)
}

/// What the intervals mean for the numbers of rounds in this run.
pub(crate) fn intervals(summary: &RunSummary) -> Vec<String> {
    let counts = summary.round_counts();
    let few: Vec<String> = counts
        .iter()
        .filter(|n| (2..6).contains(*n))
        .map(usize::to_string)
        .collect();
    let mut sentences = Vec::new();
    if counts.contains(&1) {
        sentences.push(
            "With one round there is no interval, and no server can be ranked above another."
                .to_owned(),
        );
    }
    if counts.iter().any(|count| *count > 1) {
        sentences.push("Intervals are 95 % intervals over the rounds.".to_owned());
    }
    if counts.iter().any(|count| *count >= 6) {
        sentences.push(
            "With six or more measured rounds the intervals are distribution-free.".to_owned(),
        );
    }
    if !few.is_empty() {
        sentences.push(format!(
            "Rows with fewer than six measured rounds (here {}) have wider intervals, by Student's t, which assume roughly normal noise.",
            few.join(" and ")
        ));
    }
    sentences
}

/// What the latency of these tables is, in short.
pub(crate) fn latency(summary: &RunSummary) -> &'static str {
    if !summary.has_open() {
        "Latency is of a closed loop."
    } else if summary.has_closed() {
        "Latency of a closed loop runs from the send, of an open loop from the scheduled arrival."
    } else {
        "Latency is of an open loop: from the scheduled arrival."
    }
}
