//! Every shape of load.

use crate::sample;
use std::sync::LazyLock;

use prony_model::{TrialRecord, TrialResult};
use prony_report::{ResultTable, RunSummary, ServerRow, Standing};

/// Computed once, because that takes a while.
static RATES: LazyLock<RunSummary> = LazyLock::new(|| {
    let (run, trials) = sample::rates::rates();
    RunSummary::of(&run, &trials)
});

fn row<'a>(table: &'a ResultTable, server: &str) -> &'a ServerRow {
    let mut rows = table.rows.iter();
    rows.find(|row| row.server.id == server).unwrap()
}

fn named<'a>(comparison: &'a RunSummary, name: &str) -> &'a ResultTable {
    let mut tables = comparison.tables.iter();
    let table = tables.find(|table| table.name() == name);
    table.unwrap_or_else(|| panic!("no table {name}"))
}

const POISSON: &str = "hello, 20k/s, open loop";

#[test]
fn the_seeds_of_rounds_do_not_split_a_table() {
    let comparison = &*RATES;
    let names: Vec<_> = comparison.tables.iter().map(ResultTable::name).collect();
    assert_eq!(
        names,
        [
            "hello, 64 connections",
            "hello, 64 connections, pipelined 16 deep",
            POISSON,
            "hello, 500 users, closed loop",
            "sse",
        ]
    );
    assert_eq!(named(comparison, POISSON).slug, "hello-rate-20k");
    for table in &comparison.tables {
        assert_eq!((table.rounds, table.load.seed), (5, 0));
        assert!(table.rows.iter().all(|row| row.figures.rate.n == 5));
    }
}

#[test]
fn the_order_of_tables_does_not_depend_on_the_shuffle() {
    let (run, mut trials) = sample::rates::rates();
    let names = |trials: &[TrialRecord]| -> Vec<String> {
        let tables = RunSummary::of(&run, trials).tables;
        tables.iter().map(ResultTable::name).collect()
    };
    let in_order = names(&trials);
    trials.reverse();
    assert_eq!(names(&trials), in_order);
}

#[test]
fn a_missed_rate_and_a_connection_limit_are_flagged() {
    let comparison = &*RATES;
    let table = named(comparison, POISSON);
    let bun = row(table, "bun");
    let kept = bun.figures.open.unwrap().kept.unwrap();
    assert!((kept.rate_ratio - 0.973).abs() < 1e-9);
    assert_eq!((kept.due, kept.bound_hits), (5 * 40_000, 20_000));
    assert_eq!(kept.most_connections, 500);
    let flags = bun.flags();
    let has = |text: &str| flags.iter().any(|flag| flag.contains(text));
    assert!(
        has("in one round only 97.3 % of the due requests were sent"),
        "{flags:?}"
    );
    assert!(
        has("10 % of requests found every connection busy"),
        "{flags:?}"
    );
    let ceiling = row(table, "ceiling");
    assert!(ceiling.figures.open.unwrap().rate_made());
    assert_eq!(ceiling.flags(), [""; 0]);
}

#[test]
fn a_rate_that_is_missed_by_a_little_is_never_shown_as_reached() {
    for (ratio, text, made) in [
        (1.0, "100 %", true),
        (0.999, "100 %", true),
        (0.99899, "99.8 %", false),
        (0.5, "50.0 %", false),
    ] {
        let (run, mut trials) = sample::rates::rates();
        trials.retain(|record| record.trial.load.shape.is_open());
        for record in &mut trials {
            if let TrialResult::Measured(measured) = &mut record.result
                && let Some(open) = &mut measured.load.open
            {
                open.rate_ratio = ratio;
            }
        }
        let comparison = RunSummary::of(&run, &trials);
        let open = row(&comparison.tables[0], "ceiling").figures.open.unwrap();
        assert_eq!(open.kept.unwrap().rate_ratio_text(), text);
        assert_eq!(open.rate_made(), made);
    }
}

#[test]
fn records_without_counts_of_due_requests_are_not_flagged() {
    let (run, mut trials) = sample::documents::hydragen();
    for record in &mut trials {
        if let TrialResult::Measured(measured) = &mut record.result
            && let Some(open) = &mut measured.load.open
        {
            (open.due, open.sent, open.rate_ratio) = (0, 0, 0.0);
        }
    }
    let comparison = RunSummary::of(&run, &trials);
    let open = row(
        named(&comparison, "byte, 500 users, open loop"),
        "go-nethttp",
    );
    let schedule = open.figures.open.unwrap();
    assert!(schedule.kept.is_none() && schedule.rate_made() && schedule.queued > 0);
    assert!(!has_kept(named(&comparison, "byte, 500 users, open loop")));
    assert!(has_kept(named(&RATES, POISSON)));
    assert!(open.flags().is_empty());
}

#[test]
fn what_limited_the_generator_is_flagged() {
    let comparison = &*RATES;
    let go = row(named(comparison, POISSON), "go-nethttp");
    assert_eq!(go.standing, Standing::Offered, "one of five is tolerated");
    let expected = format!(
        "client-limited in 1 of 5 rounds ({})",
        sample::rates::EVIDENCE
    );
    assert_eq!(go.flags()[0], expected);
    let (run, mut trials) = sample::rates::rates();
    for record in &mut trials {
        if let TrialResult::Measured(measured) = &mut record.result {
            measured.load.generator.client_limited_by = None;
        }
    }
    let old = RunSummary::of(&run, &trials);
    let flags = row(named(&old, POISSON), "go-nethttp").flags();
    assert_eq!(flags[0], "client-limited in 1 of 5 rounds");
}

#[test]
fn events_and_held_streams_have_their_figures() {
    let comparison = &*RATES;
    let table = named(comparison, "sse");
    assert!(table.has_events() && has_first_byte(table));
    let bun = &row(table, "bun").figures;
    let events = bun.events.unwrap();
    assert_eq!(events.per_s.n, 5);
    assert!(events.first.unwrap().p50_ns > events.gap.unwrap().p50_ns);
    let held = bun.held.unwrap();
    assert_eq!((held.planned, held.open_at_end), (1_000, 993));
    let flags = row(table, "bun").flags();
    assert!(flags.contains(&"993 of 1,000 held streams were open at the end".to_owned()));
    assert!(row(table, "go-nethttp").flags().is_empty());
    let others = comparison
        .tables
        .iter()
        .filter(|other| other.workload != "sse");
    assert!(
        others
            .into_iter()
            .all(|other| !other.has_events() && !has_first_byte(other))
    );
}

#[test]
fn the_generators_costs_are_per_request() {
    let comparison = &*RATES;
    let generator = &row(named(comparison, POISSON), "ceiling").figures.generator;
    assert_eq!(generator.system_calls_per_request, Some(2.0));
    assert_eq!(generator.cycles_per_request, Some(20_700.0));
    assert_eq!(generator.instructions_per_request, None);
    assert_eq!(generator.cpu_ns_per_request, Some(1.2e9 / 40_000.0));
    assert_eq!(generator.event_loops, ["io_uring"]);
}

#[test]
fn pipelined_requests_count_as_many_at_a_time() {
    let comparison = &*RATES;
    let name = "hello, 64 connections, pipelined 16 deep";
    let flags = row(named(comparison, name), "bun").flags();
    assert!(flags.is_empty(), "{flags:?}");
    let (run, mut trials) = sample::rates::rates();
    for record in &mut trials {
        if let TrialResult::Measured(measured) = &mut record.result
            && let Some(latency) = &mut measured.load.latency_ns
        {
            latency.mean /= 4.0;
        }
    }
    let comparison = RunSummary::of(&run, &trials);
    let flags = row(named(&comparison, name), "bun").flags();
    assert!(
        flags[0].contains("of 1,024 requests were served at a time"),
        "{flags:?}"
    );
    let users = named(&comparison, "hello, 500 users, closed loop");
    // Users think in between, so most are idle; they set the pace of every server.
    assert_eq!(
        row(users, "bun").flags(),
        ["the users' think time set the pace"]
    );
}

fn has_kept(table: &ResultTable) -> bool {
    let mut rows = table.rows.iter();
    rows.any(|row| row.figures.open.and_then(|open| open.kept).is_some())
}

fn has_first_byte(table: &ResultTable) -> bool {
    table
        .rows
        .iter()
        .any(|row| row.figures.first_byte.is_some())
}
