//! What the comparison of two runs finds.

use crate::sample;
use crate::sample::{Made, SERVER, between, closed, made, row};
use prony_compare::{Basis, Comparison, Finding, Question};
use prony_model::*;

const QUIET: f64 = 0.004;

/// A run of `server` and the ceiling, on a machine that takes `slowdown` times as long for everything.
fn session(id: &str, slowdown: f64, server: sample::Server) -> Made {
    made(id, QUIET)
        .with("x", server.working(slowdown), 10)
        .with_ceiling(SERVER.working(0.4 * slowdown), 10)
}

fn basis(comparison: &Comparison, name: &str) -> Basis {
    row(comparison, name).change.unwrap().basis
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
    assert!(
        drift.contains("the rate of the ceiling (reference server)"),
        "{drift}"
    );
    // A server that is slower relative to the ceiling is worse.
    let slower = between(&then, &session("now", 0.9, SERVER.working(1.15)));
    assert_eq!(row(&slower, "rate").finding, Finding::Worse);
    // Without the ceiling the machine's effect cannot be separated from the server's.
    let alone = |id: &str, slowdown| made(id, QUIET).with("x", SERVER.working(slowdown), 10);
    let comparison = between(&alone("then", 1.0), &alone("now", 1.12));
    assert_eq!(row(&comparison, "rate").finding, Finding::Worse);
    let slightly = between(&alone("then", 1.0), &alone("now", 1.03));
    assert_eq!(row(&slightly, "rate").finding, Finding::NoChangeSeen);
}

#[test]
fn different_ceilings_do_not_show_how_the_machine_changed() {
    let then = session("then", 1.0, SERVER);
    let now = || session("now", 1.0, SERVER);
    assert_eq!(basis(&between(&then, &now()), "rate"), Basis::ToCeiling);
    let assert_unpaired = |new: &Made, why: &str| {
        let comparison = between(&then, new);
        for name in ["rate", "cpu", "instructions", "p99"] {
            assert_eq!(basis(&comparison, name), Basis::Unpaired, "{name}");
        }
        let warned = comparison.warnings.join("\n");
        assert!(warned.contains(why), "{warned}");
        let text = comparison.differences.join("\n");
        assert!(
            !text.contains("the rate of the ceiling (reference server)"),
            "{text}"
        );
    };
    let mut newer = now();
    newer.run.prony_version = "0.2.0".into();
    assert_unpaired(&newer, "Prony: 0.1.0 → 0.2.0");
    let other_loop = now().change("ceiling", |_, one| {
        one.load.generator.event_loop = "io_uring".into();
    });
    assert_unpaired(&other_loop, "the event loop: epoll → io_uring");
    let mut changed = now();
    let mut servers = changed.run.servers.iter_mut();
    let ceiling = servers.find(|one| one.id == CEILING).unwrap();
    ceiling.source_hash = "cd".repeat(32);
    assert_unpaired(&changed, "its files differ");
    let mut wider = now();
    wider.run.cpus.load = vec![1, 2];
    assert_unpaired(&wider, "1 and 1 → 1 and 2");
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
        assert_eq!(basis(&comparison, name), Basis::ToCeiling, "{name}");
        assert_eq!(
            row(&comparison, name).finding,
            Finding::NoChangeSeen,
            "{name}"
        );
    }
    assert_eq!(basis(&comparison, "p99"), Basis::Unpaired);
    let notes = row(&comparison, "p99").notes.join("\n");
    assert!(notes.contains("which the generator limited"), "{notes}");
    assert_eq!(basis(&between(&then, &limited(2)), "p99"), Basis::ToCeiling);
}

#[test]
fn different_conditions_are_reported_and_different_loads_are_not_compared() {
    let base = made("then", QUIET).with("x", SERVER, 8);
    let mut new = made("now", QUIET).with("x", SERVER, 8);
    new.run.machine.kernel = "6.13.1".into();
    new.run.cpus.server = vec![0, 1];
    new.run.end = RunEnd::Interrupted;
    let question = Question {
        thresholds: "1%".parse().unwrap(),
        ..Question::default()
    };
    let comparison = Comparison::of(base.side(None), new.side(None), &question).unwrap();
    let text = comparison.differences.join("\n");
    assert!(text.contains("kernel: 6.12.0 → 6.13.1"), "{text}");
    assert!(text.contains("CPUs of server and generator"), "{text}");
    let warned = comparison.warnings.join("\n");
    assert!(
        warned.contains("NEW: the run now was interrupted"),
        "{warned}"
    );
    assert!(warned.contains("narrower than the difference"), "{warned}");

    new.run.fleet = Some(RunFleet {
        on: "slurm".into(),
        agents: 12,
    });
    let comparison = Comparison::of(base.side(None), new.side(None), &question).unwrap();
    let text = comparison.differences.join("\n");
    let from = "load: from this machine → from 12 agents on slurm";
    assert!(text.contains(from), "{text}");

    let mut other = made("now", QUIET);
    other.server("x", "framework", ServerStatus::Ready);
    other.measure("x", SERVER, 8, &closed(32));
    let error = Comparison::of(base.side(None), other.side(None), &Question::default());
    let error = error.unwrap_err().to_string();
    assert!(error.contains("measured under another load"), "{error}");
}
