//! What the comparison of made-up runs finds.

use crate::sample;
use crate::sample::{Made, SERVER, between, closed, findings, has, made, row, within};
use prony_compare::{Comparison, Finding, Incomparable, Question, What};
use prony_model::*;

const QUIET: f64 = 0.004;

fn pair(new: sample::Server, spread: f64) -> Made {
    made("20261122-050000-ab", spread)
        .with("x@1111111", SERVER, 12)
        .with("x@2222222", new, 12)
}

fn compared(run: &Made) -> Comparison {
    within(run, "x@1111111", "x@2222222")
}

#[test]
fn equal_servers_show_no_change() {
    let comparison = compared(&pair(SERVER, QUIET));
    let names = ["rate", "cpu", "instructions", "p99"];
    let expected: Vec<_> = names.map(|name| (name, Finding::NoChangeSeen)).into();
    assert_eq!(findings(&comparison), expected);
    assert!(!comparison.is_worse() && !comparison.is_open());
}

#[test]
fn more_work_is_worse_and_less_is_improved() {
    let worse = compared(&pair(SERVER.working(1.05), QUIET));
    let improved = compared(&pair(SERVER.working(1.0 / 1.05), QUIET));
    for name in ["rate", "cpu", "instructions"] {
        assert_eq!(row(&worse, name).finding, Finding::Worse, "{name}");
        assert_eq!(row(&improved, name).finding, Finding::Improved, "{name}");
    }
    assert!(worse.is_worse() && !improved.is_worse());
    let change = row(&worse, "rate").change.unwrap();
    assert!(
        change.low < 1.0 / 1.05 && 1.0 / 1.05 < change.high,
        "{change:?}"
    );
    assert!(change.p_corrected >= change.p, "{change:?}");
}

#[test]
fn a_noisy_machine_makes_findings_inconclusive() {
    let comparison = compared(&pair(SERVER, 0.3));
    assert_eq!(row(&comparison, "rate").finding, Finding::Inconclusive);
    assert!(comparison.is_open() && !comparison.is_worse());
    let once = made("20261122-050000-ab", QUIET)
        .with("a", SERVER, 1)
        .with("b", SERVER, 1);
    let comparison = within(&once, "a", "b");
    let rate = row(&comparison, "rate");
    assert_eq!((rate.finding, rate.change), (Finding::Inconclusive, None));
    assert!(rate.notes[0].contains("two rounds"), "{:?}", rate.notes);
}

#[test]
fn a_limited_rate_gives_no_finding_but_its_cost_does() {
    let limited = |_: u32, one: &mut Measurement| one.load.generator.client_limited = true;
    let slow = SERVER.working(1.05);
    let both = pair(slow, QUIET)
        .change("x@1111111", limited)
        .change("x@2222222", limited);
    let comparison = compared(&both);
    assert_eq!(row(&comparison, "cpu").finding, Finding::Worse);
    for name in ["rate", "p99"] {
        let found = row(&comparison, name);
        assert_eq!(found.finding, Finding::Limited, "{name}");
        assert!(found.notes[0].contains("base: client-limited"), "{found:?}");
    }

    // BASE would have been even faster.
    let base = pair(slow, QUIET).change("x@1111111", limited);
    assert_eq!(row(&compared(&base), "rate").finding, Finding::Worse);

    // One round of twelve does not move the middle.
    let once = pair(slow, QUIET).change("x@2222222", |round, one| {
        one.load.generator.client_limited = round == 3;
    });
    assert_eq!(row(&compared(&once), "rate").finding, Finding::Worse);
}

#[test]
fn near_the_ceiling_the_machine_is_the_limit() {
    let run = pair(SERVER, QUIET).with_ceiling(SERVER.working(0.93), 12);
    let comparison = compared(&run);
    let rate = row(&comparison, "rate");
    assert_eq!(rate.finding, Finding::Limited);
    assert!(
        rate.notes[0].contains("at the ceiling (93 % of its rate)"),
        "{rate:?}"
    );
    // The ceiling limits the rate, not the latency.
    let p99 = row(&comparison, "p99");
    assert_eq!((p99.finding, p99.notes.len()), (Finding::NoChangeSeen, 0));
}

#[test]
fn wrong_responses_are_worse_and_their_figures_are_not_compared() {
    let wrong = |_: u32, one: &mut Measurement| one.load.outcomes[Outcome::WrongStatus] = 3;
    let both = pair(SERVER, QUIET)
        .change("x@1111111", wrong)
        .change("x@2222222", wrong);
    let comparison = compared(&both);
    for name in ["rate", "cpu", "p99"] {
        let found = row(&comparison, name);
        assert_eq!(found.finding, Finding::Limited, "{name}");
        assert!(
            found
                .notes
                .contains(&"new: responses were wrong".to_owned()),
            "{found:?}"
        );
    }
    assert!(comparison.is_worse(), "NEW is wrong, whatever BASE sent");
    assert!(
        comparison.warnings[0].contains("NEW sent wrong responses"),
        "{:?}",
        comparison.warnings
    );

    let base = compared(&pair(SERVER, QUIET).change("x@1111111", wrong));
    assert_eq!(row(&base, "rate").finding, Finding::Limited);
    assert!(!base.is_worse());

    let in_warm_up = |_: u32, one: &mut Measurement| {
        let mut outcomes = Outcomes::default();
        outcomes[Outcome::WrongBody] = 1;
        one.load.warmup = Some(WarmupResult {
            duration_s: 0.5,
            outcomes,
            failed_without_request: 0,
        });
    };
    let new = compared(&pair(SERVER, QUIET).change("x@2222222", in_warm_up));
    assert!(new.is_worse(), "{:?}", new.warnings);
}

#[test]
fn new_errors_are_worse_whatever_the_rate() {
    let errors = |outcome: Outcome, rounds: u32| {
        let run = pair(SERVER.working(0.9), QUIET);
        run.change("x@2222222", move |round, one| {
            if round <= rounds {
                one.load.outcomes[outcome] += 1;
            }
        })
    };
    let finding = |run: &Made| row(&compared(run), "errors").finding;
    assert_eq!(finding(&errors(Outcome::WrongBody, 1)), Finding::Worse);
    assert_eq!(finding(&errors(Outcome::TimedOut, 2)), Finding::Worse);
    // A machine that stalls for a moment causes this.
    assert_eq!(
        finding(&errors(Outcome::TimedOut, 1)),
        Finding::Inconclusive
    );
    assert!(!has(&compared(&pair(SERVER, QUIET)), What::Errors));
    let before = errors(Outcome::WrongBody, 3);
    let turned = within(&before, "x@2222222", "x@1111111");
    assert_eq!(row(&turned, "errors").finding, Finding::Improved);
}

/// Makes the first rounds of a server fail.
fn fail(run: &mut Made, id: &str, kind: FailureKind, rounds: u32) {
    for record in run.of(id).filter(|record| record.trial.round <= rounds) {
        let message = "it is gone".into();
        record.result = TrialResult::Failed { kind, message };
    }
}

#[test]
fn more_failed_rounds_are_worse_whatever_failed_before() {
    use FailureKind::*;
    let finding = |then: (FailureKind, u32), now: (FailureKind, u32)| {
        let mut run = pair(SERVER, QUIET);
        fail(&mut run, "x@1111111", then.0, then.1);
        fail(&mut run, "x@2222222", now.0, now.1);
        let comparison = compared(&run);
        let turned = within(&run, "x@2222222", "x@1111111");
        let of = |comparison| row(comparison, "failure").finding;
        (of(&comparison), of(&turned))
    };
    let (worse, noisy, same) = (Finding::Worse, Finding::Inconclusive, Finding::NoChangeSeen);
    let is_worse = (worse, Finding::Improved);
    let none = (NotReady, 0);
    assert_eq!(finding(none, (ServerExited, 1)), is_worse);
    for kind in [NotReady, NoResponse] {
        assert_eq!(finding(none, (kind, 12)), is_worse);
        assert_eq!(finding(none, (kind, 2)), is_worse);
        assert_eq!(finding(none, (kind, 1)), (noisy, same));
        // As bad as before, a little worse, much worse, no figures at all.
        assert_eq!(finding((kind, 3), (kind, 3)), (same, same));
        assert_eq!(finding((kind, 3), (kind, 6)), (noisy, same));
        assert_eq!(finding((kind, 3), (kind, 7)), is_worse);
        assert_eq!(finding((kind, 6), (kind, 12)), is_worse);
    }
    assert_eq!(finding((ServerExited, 1), (ServerExited, 12)), is_worse);
    assert_eq!(finding((ServerExited, 11), (ServerExited, 12)), is_worse);
}

#[test]
fn without_anything_to_compare_there_is_no_verdict() {
    let mut run = pair(SERVER, QUIET);
    fail(&mut run, "x@1111111", FailureKind::ServerExited, 12);
    fail(&mut run, "x@2222222", FailureKind::NoResponse, 12);
    let question = Question::default();
    let of = |run: &Made, question: &Question| {
        Comparison::of(run.side("x@1111111"), run.side("x@2222222"), question)
    };
    let error = of(&run, &question).unwrap_err();
    assert!(matches!(error, Incomparable::Nothing { .. }), "{error:?}");
    let text = error.to_string();
    assert!(
        text.contains("every round of both failed (no-response)"),
        "{text}"
    );

    // In an open loop the rate is not compared; in the closed loop of the same run it is.
    let rates = Question {
        metrics: vec!["rate".parse().unwrap()],
        ..Question::default()
    };
    let users = LoadSpec {
        shape: LoadShape::UsersOpen { think_time_s: 0.01 },
        ..closed(64)
    };
    let mut open = made("r", QUIET);
    for id in ["x@1111111", "x@2222222"] {
        open.server(id, "framework", ServerStatus::Ready);
        open.measure(id, SERVER, 6, &users);
    }
    let error = of(&open, &rates).unwrap_err().to_string();
    assert!(error.contains("mean nothing under this load"), "{error}");
    for id in ["x@1111111", "x@2222222"] {
        open.measure(id, SERVER, 6, &closed(64));
    }
    let comparison = of(&open, &rates).unwrap();
    assert_eq!(findings(&comparison), [("rate", Finding::NoChangeSeen)]);
    assert_eq!(comparison.left_out.len(), 1);
    assert!(comparison.is_open());
}

#[test]
fn a_new_server_that_cannot_be_built_is_worse_under_every_load() {
    let mut run = made("r", QUIET).with("base", SERVER, 1);
    let output = "main.go:4: no such package\nmore".into();
    let status = ServerStatus::BuildFailed { output };
    let broken = run.server("new", "framework", status).clone();
    let named = |id| run.side(id).named();
    let load = closed(64);
    let measures = [("hello", &load), ("page", &load)];
    let found = Comparison::without_new(named("base"), named("new"), ("base", &broken), measures);
    assert!(found.is_worse());
    assert_eq!(findings(&found), [("failure", Finding::Worse); 2]);
}

#[test]
fn a_server_that_is_broken_or_wrong_only_in_new_is_worse() {
    let base = made("base", QUIET)
        .with("x", SERVER, 6)
        .with("y", SERVER, 6);
    let mut broken = made("new", QUIET).with("y", SERVER, 6);
    let output = "main.go:4: no such package\nmore".into();
    broken.server("x", "framework", ServerStatus::BuildFailed { output });
    let comparison = between(&base, &broken);
    let failure = row(&comparison, "failure");
    assert_eq!(failure.finding, Finding::Worse);
    assert_eq!(
        failure.notes,
        ["new: its build failed: main.go:4: no such package"]
    );
    assert_eq!(
        row(&between(&broken, &base), "failure").finding,
        Finding::Improved
    );

    let mut wrong = made("new", QUIET).with("y", SERVER, 6);
    wrong.server("x", "framework", ServerStatus::Ready).verified[0].verdict =
        VerifyVerdict::Wrong {
            expected: "hello".into(),
            received: "bye".into(),
        };
    assert!(between(&base, &wrong).is_worse());
}

#[test]
fn servers_without_figures_through_no_fault_of_theirs_are_left_out() {
    let base = made("base", QUIET)
        .with("x", SERVER, 6)
        .with("y", SERVER, 6);
    let mut new = made("new", QUIET).with("y", SERVER, 6);
    let (missing, install) = ("go".to_owned(), "apt-get install go".to_owned());
    new.server("x", "framework", ServerStatus::Skipped { missing, install });
    let comparison = between(&base, &new);
    assert!(!comparison.is_worse() && comparison.is_open());
    assert!(comparison.left_out[0].contains("toolchain is not installed: go"));
    let without = made("new", QUIET).with("y", SERVER, 6);
    assert_eq!(between(&base, &without).left_out, ["x: not in NEW"]);
}

#[test]
fn servers_and_loads_only_in_new_are_listed_and_are_not_inconclusive() {
    let base = made("base", QUIET).with("y", SERVER, 6);
    let mut new = made("new", QUIET).with("x", SERVER, 6).with("y", SERVER, 6);
    new.measure("y", SERVER, 6, &closed(8));
    let comparison = between(&base, &new);
    let expected = [
        "y × hello, 8 connections: in BASE it was measured under another load",
        "x: not in BASE",
    ];
    assert_eq!(comparison.only_new, expected);
    assert!(!comparison.is_open(), "{comparison:?}");
}

#[test]
fn the_last_attempt_that_was_not_noisy_counts_as_the_round() {
    let mut run = pair(SERVER, QUIET);
    // Every round of NEW was run twice; the noisy attempt is far slower.
    let mut again: Vec<TrialRecord> = run.of("x@2222222").map(|one| one.clone()).collect();
    for record in &mut again {
        record.attempt = 2;
    }
    for record in run.of("x@2222222") {
        record.noisy = vec![NoiseCause::OtherPrograms { share: 0.4 }];
        if let TrialResult::Measured(measurement) = &mut record.result {
            measurement.load.rate_per_s /= 2.0;
        }
    }
    run.trials.extend(again);
    let comparison = compared(&run);
    assert_eq!(row(&comparison, "rate").finding, Finding::NoChangeSeen);
    assert!(comparison.noise.is_noisy());
    assert_eq!(
        (comparison.noise.attempts, comparison.noise.noisy),
        (36, 12)
    );
    assert_eq!(comparison.noise.foreign_share, Some(0.4));

    // If every attempt was noisy, the last one counts, with a note.
    for record in run.of("x@2222222").filter(|record| record.trial.round < 3) {
        record.noisy = vec![NoiseCause::Steal { share: 0.1 }];
    }
    let comparison = compared(&run);
    let rate = row(&comparison, "rate");
    assert_eq!(rate.finding, Finding::NoChangeSeen);
    assert_eq!(
        rate.notes,
        ["new: 2 of 12 rounds were noisy in every attempt"]
    );
}

#[test]
fn an_open_loop_is_judged_by_latency_and_cost() {
    let load = LoadSpec {
        shape: LoadShape::UsersOpen { think_time_s: 0.01 },
        ..closed(64)
    };
    let mut run = made("20261122-050000-ab", QUIET);
    for (id, times) in [("a", 1.0), ("b", 1.5)] {
        run.server(id, "framework", ServerStatus::Ready);
        run.measure(id, SERVER.working(times), 12, &load);
    }
    let comparison = within(&run, "a", "b");
    let names = ["cpu", "instructions", "p50", "p99"];
    let expected: Vec<_> = names.map(|name| (name, Finding::Worse)).into();
    assert_eq!(findings(&comparison), expected);
}

#[test]
fn a_requested_metric_has_a_row_even_without_figures() {
    let bare = sample::Server {
        instructions: None,
        ..SERVER
    };
    let run = made("r", QUIET).with("a", bare, 8).with("b", bare, 8);
    assert!(
        !findings(&within(&run, "a", "b"))
            .iter()
            .any(|(name, _)| *name == "instructions")
    );
    let question = Question {
        metrics: vec!["instructions".parse().unwrap(), "memory".parse().unwrap()],
        ..Question::default()
    };
    let comparison = Comparison::of(run.side("a"), run.side("b"), &question).unwrap();
    let expected = [
        ("instructions", Finding::Inconclusive),
        ("memory", Finding::NoChangeSeen),
    ];
    assert_eq!(findings(&comparison), expected);
}

#[test]
fn percentiles_need_ten_responses_beyond_them() {
    let few = |_: u32, one: &mut Measurement| {
        let mut histogram = LatencyHistogram::new();
        (0..900).for_each(|_| histogram.record(1_000_000));
        one.load.histogram = histogram.to_base64();
    };
    let run = pair(SERVER, QUIET)
        .change("x@1111111", few)
        .change("x@2222222", few);
    assert!(
        !findings(&compared(&run))
            .iter()
            .any(|(name, _)| *name == "p99")
    );
}

#[test]
fn sides_that_cannot_be_compared_are_rejected() {
    let run = made("r", QUIET).with("a", SERVER, 2);
    let of = |base, new| Comparison::of(base, new, &Question::default()).unwrap_err();
    let same = Incomparable::Same("r".into());
    assert_eq!(of(run.side(None), run.side(None)), same);
    assert_eq!(of(run.side("a"), run.side(None)), same);
    let unknown = of(run.side("a"), run.side("c")).to_string();
    assert_eq!(unknown, "the run r has no server `c`, only a");
    let other = made("s", QUIET).with("b", SERVER, 2);
    let nothing = of(run.side(None), other.side(None)).to_string();
    assert!(nothing.contains("no server in common"), "{nothing}");
}
