//! Every shape of load. The golden files have its tables, flags and figures.

use crate::sample;
use crate::summary::{changed, only, row, summary, table};
use prony_report::{ResultTable, terminal};

const POISSON: &str = "hello, 20k/s, open loop";

#[test]
fn a_rate_that_is_missed_by_a_little_is_never_shown_as_reached() {
    let open = only(sample::rates::rates(), |trial| trial.load.shape.is_open());
    for (ratio, text, made) in [
        (1.0, "100 %", true),
        (0.999, "100 %", true),
        (0.99899, "99.8 %", false),
        (0.5, "50.0 %", false),
    ] {
        let comparison = summary(&changed(open.clone(), |_, measured| {
            measured.load.open.as_mut().unwrap().rate_ratio = ratio;
        }));
        let open = comparison.tables[0]
            .row("ceiling")
            .unwrap()
            .figures
            .open
            .unwrap();
        let shown = (open.sent.unwrap().rate_ratio_text(), open.rate_made());
        assert_eq!(shown, (text.into(), made));
    }
}

#[test]
fn several_rates_of_a_workload_are_one_table_in_a_terminal() {
    let curve = sample::rates::curve();
    let text = terminal(&summary(&curve), 120, false);
    let firsts = text
        .lines()
        .filter_map(|line| line.split_whitespace().next());
    let rates: Vec<&str> = firsts.filter(|word| word.ends_with("/s")).collect();
    let each = ["4k/s", "8k/s", "12k/s", "16k/s", "20k/s"];
    assert_eq!(rates, each.map(|rate| [rate; 2]).concat(), "{text}");
    let once = |text: &str, words: &str| assert_eq!(text.matches(words).count(), 1, "{text}");
    once(&text, "5 rates, open loop, Poisson, 64 connections");
    once(&text, "Rows are in order of median latency");

    let alone = only(curve, |trial| trial.server == "go-nethttp");
    let text = terminal(&summary(&alone), 120, false);
    once(
        &text,
        "hello, 4k/s, open loop: go-nethttp has a median latency of ",
    );
    assert!(!text.contains("lowest"), "{text}");
}

#[test]
fn records_without_counts_of_due_requests_are_not_flagged() {
    let has_sent = |table: &ResultTable| {
        let mut open = table.rows.iter().filter_map(|row| row.figures.open);
        open.any(|open| open.sent.is_some())
    };
    let without = changed(sample::documents::hydragen(), |_, measured| {
        if let Some(open) = &mut measured.load.open {
            (open.due, open.sent, open.rate_ratio) = (0, 0, 0.0);
        }
    });
    let without = summary(&without);
    let users = table(&without, "byte, 500 users, open loop");
    let open = users.row("go-nethttp").unwrap();
    let schedule = open.figures.open.unwrap();
    assert!(schedule.rate_made() && schedule.queued > 0);
    assert!(!has_sent(users) && open.flags().is_empty());
    assert!(has_sent(table(&summary(&sample::rates::rates()), POISSON)));
}

#[test]
fn a_limited_generator_without_a_known_reason_is_flagged() {
    let old = summary(&changed(sample::rates::rates(), |_, measured| {
        measured.load.generator.client_limited_by = None;
    }));
    let flags = row(&old, POISSON, "go-nethttp").flags();
    assert_eq!(flags[0], "client-limited in 1 of 5 rounds");
}

#[test]
fn pipelined_requests_count_as_many_at_a_time_and_users_think_in_between() {
    let comparison = summary(&changed(sample::rates::rates(), |_, measured| {
        measured.load.latency_ns.as_mut().unwrap().mean /= 4.0;
    }));
    let pipelined = "hello, 64 connections, pipelined 16 deep";
    let flags = row(&comparison, pipelined, "bun").flags();
    assert!(
        flags[0].contains("of 1,024 requests were served at a time"),
        "{flags:?}"
    );
    // Most users are idle, and set the pace of every server.
    let flags = row(&comparison, "hello, 500 users, closed loop", "bun").flags();
    assert_eq!(flags, ["the users' think time set the pace"]);
}
