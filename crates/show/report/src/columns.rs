//! The registry of columns: the cells of each, its priority, and its tooltip.

use prony_model::{RateText, ServerRecord};
use prony_present::number::{self, NONE, bytes, count, duration, exact, joules, ratio, share};
use prony_present::table::{Badge, Cell, Column, Facet, Head, Row, Table, Tone};
use prony_present::words::{Joined, non_empty, plural};
use prony_stats::{Band, Estimate};

use crate::figures::{Figures, PartFigures, Percentile, Relative, RoundFigures, WorstRound};
use crate::rates::Rates;
use crate::table::{ResultTable, ServerRow, Standing};

type Col = Column<ServerRow>;

const SERVER: Col = Col::words("server", |row| {
    let made_with = [row.server.title(), row.server.class.clone()].into_iter();
    let name = if row.is_reference() {
        format!("{} (reference)", row.server.id)
    } else {
        row.server.id.clone()
    };
    Cell::text(name).with(Some(made_with.filter_map(non_empty).joined(", ")))
});

/// Rates and latency.
static SPEED: [Col; 18] = [
    Col::figure("rank", |row| {
        rank(row.band(), String::new(), Cell::default())
    })
    .hint("The range of ranks that the data allow"),
    SERVER,
    Col::figure("req/s", rate)
        .hint("Ok responses per second: the median of the rounds and its 95 % interval")
        .detail("interval", 5),
    Col::figure("of ceiling", |row| relative(row.share_of_ceiling, share))
        .hint(
            "Ok responses per second as a share of the ceiling's (reference server), within rounds",
        )
        .drop(3),
    Col::figure("ratio", |row| relative(row.of_baseline, ratio))
        .hint("The figure that rows are compared by as a ratio to the baseline's, within rounds")
        .drop(4)
        .detail("interval", 11),
    Col::figure("p50", |row| percentile(row, Percentile::P50))
        .hint("Latency that half of the responses did not exceed")
        .drop(2),
    Col::figure("p90", |row| percentile(row, Percentile::P90))
        .hint("Latency that 90 % of the responses did not exceed")
        .drop(20),
    Col::figure("p99", |row| percentile(row, Percentile::P99))
        .hint("Latency that 99 % of the responses did not exceed")
        .drop(1),
    Col::figure("p99.9", |row| percentile(row, Percentile::P999))
        .hint("Latency that 99.9 % of the responses did not exceed")
        .drop(8),
    Col::figure("queued", |row| {
        Cell::optional(row.figures.open.map(|open| open.queued as f64), whole)
    })
    .hint("Requests that were due before their user or a connection was free, in all rounds")
    .drop(3),
    Col::figure("lag p99", |row| {
        let lag = row.figures.open.and_then(|open| open.lag);
        times(lag.map(|lag| (lag.p99_ns, lag.p50_ns)))
    })
    .hint("Schedule lag: the generator's own delay, which the latency includes")
    .drop(7),
    Col::figure("sent", |row| sent(&row.figures))
        .hint("The share of the due requests that were sent, in the worst round")
        .drop(4),
    Col::figure("first byte p99", |row| worst(row.figures.first_byte))
        .hint("Time to the first byte of a response, in the worst round")
        .drop(9),
    Col::figure("events/s", |row| {
        let events = row.figures.events;
        Cell::optional(events.map(|events| events.per_s.median), count)
    })
    .hint("Events of event streams per second")
    .drop(3),
    Col::figure("first event p99", |row| {
        worst(row.figures.events.and_then(|events| events.first))
    })
    .hint("Time to the first event of a stream, in the worst round")
    .drop(7),
    Col::figure("gap p99", |row| {
        worst(row.figures.events.and_then(|events| events.gap))
    })
    .hint("Time from one event of a stream to the next, in the worst round")
    .drop(12),
    Col::figure("transfer", |row| {
        Cell::text(number::transfer(row.figures.transfer_per_s))
    })
    .hint("Bytes received per second, heads included")
    .drop(21),
    Col::figure("reconnects/req", |row| {
        let reconnects = row.figures.reconnects_per_request;
        Cell::optional((reconnects > 0.0).then_some(reconnects), count)
    })
    .hint("New connections per request, because the old one was closed")
    .drop(22),
];

/// What the load cost the server.
static COST: [Col; 10] = [
    Col::figure("req/CPU s", |row| {
        let cell = estimate(row.figures.costs.requests_per_cpu_s, count);
        rank(row.cpu_band, String::new(), cell)
    })
    .hint("Ok responses per second of server CPU time, with the rank by it")
    .drop(3),
    Col::figure("CPU/req", |row| {
        estimate(row.figures.costs.cpu_ns_per_request, duration)
    })
    .hint("Server CPU time per ok response")
    .drop(14),
    Col::figure("instructions/req", |row| {
        estimate(row.figures.costs.instructions_per_request, count)
    })
    .hint("Server instructions per ok response, user mode and kernel")
    .drop(15),
    Col::figure("cycles/req", |row| {
        estimate(row.figures.costs.cycles_per_request, count)
    })
    .hint("Server CPU cycles per ok response, user mode and kernel")
    .drop(16),
    Col::figure("energy/req", |row| {
        estimate(row.figures.costs.joules_per_request, joules)
    })
    .hint("Joules of the whole processor package per ok response, the rest of the machine included")
    .drop(17),
    Col::figure("peak memory", |row| {
        let peak = row.figures.peak_memory_bytes;
        Cell::optional(peak.map(|peak| peak as f64), bytes)
    })
    .hint("The most memory that the process tree held in any round")
    .drop(6),
    Col::figure("growth/connection", |row| {
        estimate(row.figures.costs.growth_per_connection, bytes)
    })
    .hint("Memory growth under load per connection")
    .drop(18),
    Col::figure("startup", |row| estimate(row.figures.startup_ns, duration))
        .hint("From the start of the process to its first expected response")
        .drop(9),
    Col::figure("to warm", |row| {
        let time = row.figures.warming.time_to_warm_ns;
        // `at once` is no figure to sort by.
        estimate(time, number::time_to_warm).order(time.map(|time| time.median))
    })
    .hint("How long a new process was under load until it stopped getting faster")
    .drop(10),
    Col::figure("artefact", |row| {
        Cell::optional(row.server.artefact_bytes.map(|size| size as f64), bytes)
    })
    .hint("Size of the build's result")
    .drop(19),
];

/// What the load cost the generator.
static GENERATOR: [Col; 7] = [
    SERVER,
    Col::figure("CPU/req", |row| {
        Cell::optional(row.figures.generator.cpu_ns_per_request, duration)
    }),
    Col::figure("busiest thread", |row| {
        Cell::text(share(row.figures.generator.busy_max))
    }),
    Col::figure("system calls/req", |row| {
        Cell::optional(row.figures.generator.system_calls_per_request, count)
    }),
    Col::figure("cycles/req", |row| {
        Cell::optional(row.figures.generator.cycles_per_request, count)
    }),
    Col::figure("instructions/req", |row| {
        Cell::optional(row.figures.generator.instructions_per_request, count)
    }),
    Col::words("event loop", |row| {
        Cell::text(row.figures.generator.event_loops.join(", "))
    }),
];

/// A part of what a server did: its flows, one of their requests, or a stage.
struct PartRow<'a> {
    server: &'a str,
    figures: &'a PartFigures,
}

type PartCol<'a> = Column<PartRow<'a>>;

/// What the columns about a part of a load are called and say.
struct PartWords {
    part: &'static str,
    p50: &'static str,
    p99: &'static str,
    total: &'static str,
}

const FLOW_WORDS: PartWords = PartWords {
    part: "request",
    p50: "Time that half of them did not exceed; that of whole flows includes pauses",
    p99: "Time that 99 % of them did not exceed; that of whole flows includes pauses",
    total: "Flows that began or were due, and requests that were sent or due, in all rounds",
};

const STAGE_WORDS: PartWords = PartWords {
    part: "stage",
    p50: "Latency that half of the requests due in the stage did not exceed",
    p99: "Latency that 99 % of the requests due in the stage did not exceed",
    total: "Requests that were due in the stage and began, in all rounds",
};

fn part_columns<'a>(words: &PartWords) -> [PartCol<'a>; 7] {
    [
        PartCol::words("server", |one| Cell::text(one.server)),
        PartCol::words(words.part, |one| {
            Cell::text(one.figures.name.as_deref().unwrap_or("whole flows"))
        }),
        PartCol::figure("ok/s", |one| estimate(Some(one.figures.rate), count))
            .hint("How many were ok per second: the median of the rounds and its 95 % interval"),
        PartCol::figure("p50", |one| Cell::optional(one.figures.p50(), duration)).hint(words.p50),
        PartCol::figure("p99", |one| Cell::optional(one.figures.p99(), duration)).hint(words.p99),
        PartCol::figure("total", |one| Cell::text(exact(one.figures.count)))
            .hint(words.total)
            .drop(2),
        PartCol::figure("not ok", |one| Cell::text(exact(one.figures.not_ok)))
            .hint("Those with an error, in all rounds")
            .drop(1),
    ]
}

/// The flows of each server and their requests; `None` if the load has none.
pub(crate) fn flows(table: &ResultTable) -> Option<Table> {
    parts(table, &FLOW_WORDS, |figures| &figures.flows)
}

/// The stages of each server; `None` if the load has no more than one.
pub(crate) fn stages(table: &ResultTable) -> Option<Table> {
    parts(table, &STAGE_WORDS, |figures| &figures.stages)
}

fn parts(
    table: &ResultTable,
    words: &PartWords,
    of: fn(&Figures) -> &Vec<PartFigures>,
) -> Option<Table> {
    let mut rows = Vec::new();
    for row in &table.rows {
        let server = &row.server.id;
        let parts = of(&row.figures).iter().enumerate();
        let row = |(number, figures)| {
            let set = Row::default().begins_group(number == 0);
            (PartRow { server, figures }, set)
        };
        rows.extend(parts.map(row));
    }
    let columns = part_columns(words);
    let lines = rows.iter().map(|(one, set)| (one, set.clone()));
    (!rows.is_empty()).then(|| Table::of(&columns, lines))
}

/// What columns are about if servers are compared by flows: the title, the title then, and the hint then.
const OF_FLOWS: [(&str, &str, &str); 10] = [
    (
        "req/s",
        "flows/s",
        "Ok flows per second: the median of the rounds and its 95 % interval",
    ),
    (
        "p50",
        "flow p50",
        "Time that half of the flows did not exceed, pauses included",
    ),
    (
        "p90",
        "flow p90",
        "Time that 90 % of the flows did not exceed, pauses included",
    ),
    (
        "p99",
        "flow p99",
        "Time that 99 % of the flows did not exceed, pauses included",
    ),
    (
        "p99.9",
        "flow p99.9",
        "Time that 99.9 % of the flows did not exceed, pauses included",
    ),
    (
        "req/CPU s",
        "flows/CPU s",
        "Ok flows per second of server CPU time, with the rank by it",
    ),
    ("CPU/req", "CPU/flow", "Server CPU time per ok flow"),
    (
        "instructions/req",
        "instructions/flow",
        "Server instructions per ok flow, user mode and kernel",
    ),
    (
        "cycles/req",
        "cycles/flow",
        "Server CPU cycles per ok flow, user mode and kernel",
    ),
    (
        "energy/req",
        "energy/flow",
        "Joules of the whole processor package per ok flow, the rest of the machine included",
    ),
];

/// The table with the titles and hints that its load needs.
fn about(table: &ResultTable, mut shown: Table) -> Table {
    if table.load.flows {
        for head in &mut shown.heads {
            let about = OF_FLOWS.iter().find(|(title, ..)| head.title == *title);
            if let Some((_, title, hint)) = about {
                (head.title, head.hint) = ((*title).into(), hint);
            }
        }
    }
    shown
}

/// Rates and latency, with the flags of each row.
pub(crate) fn speed(table: &ResultTable) -> Table {
    let shown = Table::of(&SPEED, rows(table)).titled("ratio", baseline_title(table));
    about(table, shown)
}

/// What the load cost the server, the cheapest in CPU time first.
pub(crate) fn cost(table: &ResultTable) -> Table {
    let columns = SPEED[1..2].iter().chain(&COST);
    let rows = table.by_cpu().into_iter().map(|row| {
        let is_first = row.cpu_band.is_some_and(|band| band.best == 1);
        let set = Row::default().tone(tone(row, is_first));
        (row, set.facets(facets(&row.server)))
    });
    about(table, Table::of(columns, rows))
}

/// What the load cost the generator.
pub(crate) fn generator(table: &ResultTable) -> Table {
    let rows = table.rows.iter();
    let rows = rows.map(|row| (row, Row::default().facets(facets(&row.server))));
    Table::of(&GENERATOR, rows)
}

/// What a page filters the rows of a server by.
pub(crate) fn facets(server: &ServerRecord) -> Vec<Facet> {
    let facets = [("language", &server.language), ("class", &server.class)];
    let known = facets.into_iter().filter(|(_, value)| !value.is_empty());
    known
        .map(|(name, value)| Facet::of(name, value.clone()))
        .collect()
}

/// The most important columns of all, for a terminal.
pub(crate) fn all(table: &ResultTable) -> Table {
    let columns = SPEED.iter().chain(&COST);
    about(table, Table::of(columns, rows(table)))
}

/// The most important columns of one workload at several rates, for a terminal.
pub(crate) fn at_rates(rates: &Rates<'_>) -> Table {
    let columns = SPEED.iter().chain(&COST);
    let all = rates.tables.iter().flat_map(|(_, table)| rows(table));
    let mut shown = Table::of(columns, all);
    shown.heads.insert(0, Head::figure("rate"));
    let mut shown_rows = shown.rows.iter_mut();
    for (rate, table) in &rates.tables {
        let of_table = shown_rows.by_ref().take(table.rows.len());
        for (number, row) in of_table.enumerate() {
            row.begins_group = number == 0 && table.rows.len() > 1;
            row.cells.insert(0, Cell::text(RateText(*rate).to_string()));
        }
    }
    match rates.tables.first() {
        Some((_, first)) => about(first, shown),
        None => shown,
    }
}

fn rows(table: &ResultTable) -> impl Iterator<Item = (&ServerRow, Row)> {
    let mut above: Option<Option<Band>> = None;
    table.rows.iter().map(move |row| {
        let begins_group = above.is_some_and(|above| above != row.band()) && !table.is_open();
        above = Some(row.band());
        let set = Row {
            tone: tone(row, row.may_be_first()),
            begins_group,
            flags: row.weighted_flags(true),
            ..Row::default()
        };
        (row, set.facets(facets(&row.server)))
    })
}

/// Only rows that are not compared with the others are dimmed; a ranked row at the ceiling is compared.
fn tone(row: &ServerRow, is_first: bool) -> Tone {
    match row.standing {
        Standing::Reference | Standing::WrongResponses => Tone::Aside,
        _ if row.is_reference() => Tone::Aside,
        _ if is_first => Tone::Leading,
        _ => Tone::Plain,
    }
}

/// The title of a table's ratios to the baseline; `None` if it has none.
pub(crate) fn baseline_title(table: &ResultTable) -> Option<String> {
    let baseline = table.baseline.as_ref()?;
    Some(if table.is_open() {
        format!("median latency relative to {baseline}")
    } else {
        format!("ratio to {baseline}")
    })
}

/// A range of ranks: `1`, `2–4`.
pub(crate) fn band(band: Option<Band>) -> String {
    band.map_or(NONE.to_owned(), |Band { best, worst }| {
        number::interval(best as f64, worst as f64, |rank| rank.to_string())
    })
}

/// A cell with a rank, if there is one.
pub(crate) fn rank(of: Option<Band>, hint: String, cell: Cell) -> Cell {
    // A cell with nothing but a rank is sorted by it, the narrower range first.
    let alone = of.filter(|_| cell.text.is_empty());
    let order = alone.map(|Band { best, worst }| best as f64 + worst as f64 / 1e4);
    let badge = of.map(|range| Badge {
        text: band(Some(range)),
        is_first: range.best == 1,
        hint,
    });
    Cell {
        badge,
        order: order.or(cell.order),
        ..cell
    }
}

fn estimate(estimate: Option<Estimate>, shown: fn(f64) -> String) -> Cell {
    let interval = estimate.filter(|estimate| estimate.n > 1);
    let interval = interval.map(|it| number::interval(it.low, it.high, shown));
    let tip = estimate.map(|it| plural(it.n, "round")).unwrap_or_default();
    let cell = Cell::optional(estimate.map(|it| it.median), shown);
    cell.with(interval).tip(tip)
}

/// The rate, and in its tip each round's.
fn rate(row: &ServerRow) -> Cell {
    let of = row.figures.rate;
    let interval = (of.n > 1).then(|| number::interval(of.low, of.high, count));
    let rounds = each(row, |round| Some(count(round.rate)));
    estimate(Some(of), count).tip(tip(interval.as_deref(), of.n, &rounds))
}

/// A figure of each round that counts, in words.
fn each(row: &ServerRow, shown: impl Fn(&RoundFigures) -> Option<String>) -> Vec<String> {
    let counted = row.figures.rounds.iter().filter(|attempt| attempt.counts);
    let figures = counted.filter_map(|attempt| attempt.result.as_ref().ok());
    figures
        .map(|round| shown(round).unwrap_or(NONE.to_owned()))
        .collect()
}

/// The lines of a figure's tip: its interval and its rounds.
fn tip(interval: Option<&str>, n: usize, rounds: &[String]) -> String {
    let interval = interval.map(|interval| format!("95 % interval: {interval}"));
    let figures = match rounds {
        [] => String::new(),
        rounds => format!(": {}", rounds.join(", ")),
    };
    let rounds = format!("{}{figures}", plural(n, "round"));
    interval.into_iter().chain([rounds]).joined("\n")
}

fn relative(relative: Option<Relative>, shown: fn(f64) -> String) -> Cell {
    let interval = relative.and_then(|relative| relative.interval);
    let interval = interval.map(|(low, high)| number::interval(low, high, shown));
    let tip = relative.map(|it| plural(it.rounds, "round"));
    let cell = Cell::optional(relative.map(|relative| relative.ratio), shown);
    cell.with(interval).tip(tip.unwrap_or_default())
}

fn percentile(row: &ServerRow, percentile: Percentile) -> Cell {
    let interval = row.figures.interval(percentile);
    let interval = interval.map(|(low, high)| number::interval(low, high, duration));
    let cell = Cell::optional(row.figures.percentile(percentile), duration);
    let of_round: fn(&RoundFigures) -> Option<f64> = match percentile {
        Percentile::P50 => |round| round.p50_ns,
        Percentile::P99 => |round| round.p99_ns,
        Percentile::P90 | Percentile::P999 => return cell.with(interval),
    };
    if cell.is_empty() {
        return cell;
    }
    let rounds = each(row, |round| of_round(round).map(duration));
    let tip = tip(interval.as_deref(), rounds.len(), &rounds);
    cell.with(interval).tip(tip)
}

fn worst(time: Option<WorstRound>) -> Cell {
    times(time.map(|time| (time.p99_ns, time.p50_ns)))
}

/// A p99 with its median.
fn times(times: Option<(f64, f64)>) -> Cell {
    let (p99, p50) = times.unzip();
    Cell::optional(p99, duration).with(p50.map(|p50| format!("p50 {}", duration(p50))))
}

/// The share of the due requests that were sent, and the number of connections.
fn sent(figures: &Figures) -> Cell {
    let Some(sent) = figures.open.and_then(|open| open.sent) else {
        return Cell::default();
    };
    let connections = plural(sent.most_connections as usize, "connection");
    let busy = match sent.bound_hits {
        0 => String::new(),
        hits => format!(", {} waited: all connections busy", exact(hits)),
    };
    Cell::text(sent.rate_ratio_text()).with(Some(format!("{connections}{busy}")))
}

fn whole(value: f64) -> String {
    exact(value as u64)
}
