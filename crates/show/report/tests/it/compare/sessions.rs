//! What the comparison of two runs finds.

use crate::compare::sample;
use crate::compare::sample::{
    SERVER, SampleRun, basis, between, closed, compared_by, finding, made, row,
};
use prony_model::*;
use prony_report::compare::{Basis, Comparison, Finding, Question};
use prony_testkit::{contains, lacks};

const QUIET: f64 = 0.004;

/// A run of `server` and the ceiling, on a machine that takes `slowdown` times as long for everything.
fn session(id: &str, slowdown: f64, server: sample::Server) -> SampleRun {
    made(id, QUIET)
        .with("x", server.working(slowdown), 10)
        .with_ceiling(SERVER.working(0.4 * slowdown), 10)
}

#[test]
fn two_sessions_are_compared_relative_to_the_ceiling() {
    // The machine is 12 % slower the second time, and the server is the same.
    let then = session("then", 1.0, SERVER);
    let comparison = between(&then, &session("now", 1.12, SERVER));
    assert!(!comparison.is_worse(), "{comparison:#?}");
    assert_eq!(comparison.cases.len(), 1, "the ceiling is not compared");
    let change = row(&comparison, "rate").change.unwrap();
    assert!((change.ratio - 1.0).abs() < 0.02, "{change:?}");
    assert_eq!(change.threshold, 0.05);
    let drift = comparison.differences.last().unwrap();
    contains(drift, "the rate of the ceiling (reference server)");
    // A server that is slower relative to the ceiling is worse.
    let slower = between(&then, &session("now", 0.9, SERVER.working(1.15)));
    assert_eq!(finding(&slower, "rate"), Finding::Worse);
    // Without the ceiling the machine's effect cannot be separated from the server's.
    let alone = |id: &str, slowdown| made(id, QUIET).with("x", SERVER.working(slowdown), 10);
    for (slowdown, expected) in [(1.12, Finding::Worse), (1.03, Finding::NoChangeSeen)] {
        let comparison = between(&alone("then", 1.0), &alone("now", slowdown));
        assert_eq!(finding(&comparison, "rate"), expected);
    }
}

#[test]
fn different_ceilings_do_not_show_how_the_machine_changed() {
    let then = session("then", 1.0, SERVER);
    let now = || session("now", 1.0, SERVER);
    assert_eq!(basis(&between(&then, &now()), "rate"), Basis::ToCeiling);
    let (mut newer, mut changed, mut wider) = (now(), now(), now());
    newer.run.prony_version = "0.2.0".into();
    let ceiling = changed.run.servers.last_mut().unwrap();
    ceiling.source_hash = "cd".repeat(32);
    wider.run.cpus.load = vec![1, 2];
    let other_loop = now().change("ceiling", |_, one| {
        one.load.generator.event_loop = "io_uring".into();
    });
    for (new, why) in [
        (newer, "Prony: 0.1.0 → 0.2.0"),
        (other_loop, "the event loop: epoll → io_uring"),
        (changed, "its files differ"),
        (wider, "1 and 1 → 1 and 2"),
    ] {
        let comparison = between(&then, &new);
        for name in ["rate", "cpu", "instructions", "p99"] {
            assert_eq!(basis(&comparison, name), Basis::Unpaired, "{name}");
        }
        contains(&comparison.warnings.join("\n"), why);
        let differences = comparison.differences.join("\n");
        lacks(&differences, "the rate of the ceiling (reference server)");
    }
}

#[test]
fn a_ceiling_that_the_generator_limits_is_used_for_rates_and_costs_but_not_for_latency() {
    let then = session("then", 1.0, SERVER);
    // Of 10 rounds, 3 are more than the quarter that is tolerated, and 2 are not.
    let limited = |rounds: u32| {
        session("now", 1.12, SERVER).change("ceiling", move |round, one| {
            one.load.generator.client_limited = round <= rounds;
        })
    };
    let comparison = between(&then, &limited(3));
    for name in ["rate", "cpu", "instructions"] {
        let found = (basis(&comparison, name), finding(&comparison, name));
        assert_eq!(found, (Basis::ToCeiling, Finding::NoChangeSeen), "{name}");
    }
    assert_eq!(basis(&comparison, "p99"), Basis::Unpaired);
    let notes = row(&comparison, "p99").notes.join("\n");
    contains(&notes, "which the generator limited");
    assert_eq!(basis(&between(&then, &limited(2)), "p99"), Basis::ToCeiling);
}

#[test]
fn different_conditions_are_reported_and_different_loads_are_not_compared() {
    let base = made("then", QUIET).with("x", SERVER, 8);
    let mut new = made("now", QUIET).with("x", SERVER, 8);
    new.run.machine.kernel = "6.13.1".into();
    new.run.cpus.server = vec![0, 1];
    new.run.end = RunEnd::Interrupted;
    new.run.fleet = Some(RunFleet {
        on: "slurm".into(),
        agents: 12,
    });
    let comparison = compared_by(base.side(None), new.side(None), "", "1%");
    let differences = comparison.differences.join("\n");
    contains(&differences, "kernel: 6.12.0 → 6.13.1");
    contains(&differences, "CPUs of server and generator");
    let origin = "load: from this machine → from 12 agents on slurm";
    contains(&differences, origin);
    let warnings = comparison.warnings.join("\n");
    contains(&warnings, "NEW: the run now was interrupted");
    contains(&warnings, "narrower than the difference");

    let other = made("now", QUIET).with_load("x", SERVER, 8, &closed(32));
    let error = Comparison::of(base.side(None), other.side(None), &Question::default());
    let error = error.unwrap_err().to_string();
    contains(&error, "measured under another load");
}
