//! The columns of the tables, and in which tables each stands.

use prony_stats::Estimate;

use crate::{CostFigures, Kept, Lag, Percentile, Relative, Row, Table, WorstRound, format, prose};

/// A column of a table.
pub(super) struct Column {
    title: &'static str,
    /// Markdown's rule beneath the title, which says how the column is aligned.
    pub rule: &'static str,
    when: When,
    pub cell: fn(&Row) -> String,
}

impl Column {
    /// Its title in a table.
    pub fn title(&self, table: &Table) -> String {
        let of_baseline = matches!(self.when, When::Baseline);
        let baseline = prose::baseline(table).filter(|_| of_baseline);
        baseline.unwrap_or_else(|| self.title.to_owned())
    }

    /// Whether it says something of the table's load.
    pub fn stands_in(&self, table: &Table) -> bool {
        match self.when {
            When::Always => true,
            When::Closed => !table.is_open(),
            When::Open => table.is_open(),
            When::Kept => table.has_kept(),
            When::Events => table.has_events(),
            When::FirstByte => table.has_first_byte(),
            When::Baseline => table.baseline.is_some(),
            When::Cost(known) => table.has_cost(known),
            When::Known(known) => table.rows.iter().any(known),
        }
    }
}

/// In which tables a column stands.
enum When {
    Always,
    Closed,
    Open,
    Kept,
    Events,
    FirstByte,
    Baseline,
    /// Where it is known of a row.
    Cost(fn(&CostFigures) -> bool),
    /// If it is known of a row.
    Known(fn(&Row) -> bool),
}

const fn words(title: &'static str, cell: fn(&Row) -> String) -> Column {
    Column {
        title,
        rule: "---",
        when: When::Always,
        cell,
    }
}

const fn figure(title: &'static str, cell: fn(&Row) -> String) -> Column {
    Column {
        title,
        rule: "---:",
        when: When::Always,
        cell,
    }
}

const fn only(when: When, column: Column) -> Column {
    Column { when, ..column }
}

/// Rates and latency.
pub(super) const SPEED: [Column; 24] = [
    only(When::Closed, figure("rank", |row| prose::band(row.band()))),
    words("server", |row| row.server.id.clone()),
    words("made with", |row| match row.server.class.as_str() {
        "" => row.server.title(),
        class => format!("{} ({class})", row.server.title()),
    }),
    figure("req/s", |row| format::count(row.figures.rate.median)),
    figure("interval", |row| match row.figures.rate.n {
        1 => format::NONE.to_owned(),
        _ => format::count_interval(row.figures.rate.low, row.figures.rate.high),
    }),
    only(
        When::Closed,
        figure("of ceiling", |row| {
            relative(row.share_of_ceiling, format::share)
        }),
    ),
    only(
        When::Baseline,
        figure("ratio to the baseline", |row| {
            relative(row.of_baseline, format::ratio)
        }),
    ),
    figure("p50", |row| percentile(row, Percentile::P50)),
    figure("p90", |row| percentile(row, Percentile::P90)),
    figure("p99", |row| percentile(row, Percentile::P99)),
    figure("p99.9", |row| percentile(row, Percentile::P999)),
    only(
        When::Open,
        figure("late", |row| {
            row.figures
                .open
                .map_or(format::NONE.to_owned(), |open| format::exact(open.queued))
        }),
    ),
    only(
        When::Open,
        figure("lag p50", |row| lag(row, |lag| lag.p50_ns)),
    ),
    only(
        When::Open,
        figure("lag p99", |row| lag(row, |lag| lag.p99_ns)),
    ),
    only(
        When::Kept,
        figure("sent", |row| kept(row, |kept| kept.rate_ratio_text())),
    ),
    only(
        When::Kept,
        figure("found all busy", |row| {
            kept(row, |kept| format::exact(kept.bound_hits))
        }),
    ),
    only(
        When::Kept,
        figure("most connections", |row| {
            kept(row, |kept| format::exact(kept.most_connections))
        }),
    ),
    only(
        When::FirstByte,
        figure("first byte p50", |row| {
            time(row.figures.first_byte, |time| time.p50_ns)
        }),
    ),
    only(
        When::FirstByte,
        figure("first byte p99", |row| {
            time(row.figures.first_byte, |time| time.p99_ns)
        }),
    ),
    only(
        When::Events,
        figure("events/s", |row| {
            let events = row.figures.events;
            optional(events.map(|events| events.per_s.median), format::count)
        }),
    ),
    only(
        When::Events,
        figure("first event p50", |row| {
            let events = row.figures.events;
            time(events.and_then(|events| events.first), |time| time.p50_ns)
        }),
    ),
    only(
        When::Events,
        figure("first event p99", |row| {
            let events = row.figures.events;
            time(events.and_then(|events| events.first), |time| time.p99_ns)
        }),
    ),
    only(
        When::Events,
        figure("gap p99", |row| {
            let events = row.figures.events;
            time(events.and_then(|events| events.gap), |time| time.p99_ns)
        }),
    ),
    words("flags", |row| row.flags().join(", ")),
];

/// What it cost the server.
pub(super) const COST: [Column; 14] = [
    words("server", |row| row.server.id.clone()),
    only(
        When::Cost(|costs| costs.requests_per_cpu_s.is_some()),
        figure("rank by CPU", |row| prose::band(row.cpu_band)),
    ),
    figure("req per CPU s", |row| {
        estimate(row.figures.costs.requests_per_cpu_s, format::count)
    }),
    figure("CPU/req", |row| {
        median(row.figures.costs.cpu_ns_per_request, format::duration)
    }),
    only(
        When::Cost(|costs| costs.instructions_per_request.is_some()),
        figure("instructions/req", |row| {
            estimate(row.figures.costs.instructions_per_request, format::count)
        }),
    ),
    only(
        When::Cost(|costs| costs.cycles_per_request.is_some()),
        figure("cycles/req", |row| {
            estimate(row.figures.costs.cycles_per_request, format::count)
        }),
    ),
    only(
        When::Cost(|costs| costs.joules_per_request.is_some()),
        figure("energy/req, whole package", |row| {
            median(row.figures.costs.joules_per_request, format::joules)
        }),
    ),
    figure("peak memory", |row| {
        format::bytes(row.figures.peak_memory_bytes as f64)
    }),
    only(
        When::Cost(|costs| costs.growth_per_connection.is_some()),
        figure("memory growth per connection", |row| {
            median(row.figures.costs.growth_per_connection, format::bytes)
        }),
    ),
    figure("startup (interval)", startup),
    only(
        When::Known(|row| row.figures.warming.time_to_warm_ns.is_some()),
        figure("time to warm (interval)", |row| {
            estimate(row.figures.warming.time_to_warm_ns, format::time_to_warm)
        }),
    ),
    figure("artefact", |row| {
        optional(
            row.server.artefact_bytes.map(|bytes| bytes as f64),
            format::bytes,
        )
    }),
    figure("transfer", |row| {
        format::transfer(row.figures.transfer_per_s)
    }),
    figure("reconnects/req", |row| {
        format::count(row.figures.reconnects_per_request)
    }),
];

/// What it cost the generator.
pub(super) const GENERATOR: [Column; 7] = [
    words("server", |row| row.server.id.clone()),
    figure("CPU/req", |row| {
        optional(row.figures.generator.cpu_ns_per_request, format::duration)
    }),
    figure("busiest thread", |row| {
        format::share(row.figures.generator.busy_max)
    }),
    figure("system calls/req", |row| {
        optional(
            row.figures.generator.system_calls_per_request,
            format::count,
        )
    }),
    figure("cycles/req", |row| {
        optional(row.figures.generator.cycles_per_request, format::count)
    }),
    figure("instructions/req", |row| {
        optional(
            row.figures.generator.instructions_per_request,
            format::count,
        )
    }),
    words("event loop", |row| {
        row.figures.generator.event_loops.join(", ")
    }),
];

fn lag(row: &Row, of: fn(&Lag) -> f64) -> String {
    let lag = row.figures.open.and_then(|open| open.lag);
    optional(lag.as_ref().map(of), format::duration)
}

fn time(time: Option<WorstRound>, of: fn(&WorstRound) -> f64) -> String {
    optional(time.as_ref().map(of), format::duration)
}

fn kept(row: &Row, text: fn(&Kept) -> String) -> String {
    let kept = row.figures.open.and_then(|open| open.kept);
    kept.as_ref().map_or(format::NONE.to_owned(), text)
}

fn startup(row: &Row) -> String {
    estimate(row.figures.startup_ns, format::duration)
}

fn optional(figure: Option<f64>, shown: fn(f64) -> String) -> String {
    figure.map_or(format::NONE.to_owned(), shown)
}

fn median(estimate: Option<Estimate>, shown: fn(f64) -> String) -> String {
    optional(estimate.map(|estimate| estimate.median), shown)
}

/// `45.3 k (44.9–46.0 k)`; the interval where there is one.
fn estimate(estimate: Option<Estimate>, shown: fn(f64) -> String) -> String {
    let Some(estimate) = estimate else {
        return format::NONE.to_owned();
    };
    let interval = format::interval(estimate.low, estimate.high, shown);
    prose::with(shown(estimate.median), (estimate.n > 1).then_some(interval))
}

fn relative(relative: Option<Relative>, shown: fn(f64) -> String) -> String {
    let Some(relative) = relative else {
        return format::NONE.to_owned();
    };
    let (ratio, interval) = prose::relative(relative, shown);
    prose::with(ratio, interval)
}

fn percentile(row: &Row, percentile: Percentile) -> String {
    let Some(value) = row.figures.percentile(percentile) else {
        return format::NONE.to_owned();
    };
    let interval = row.figures.interval(percentile);
    prose::with(
        format::duration(value),
        interval.map(|(low, high)| format::duration_interval(low, high)),
    )
}
