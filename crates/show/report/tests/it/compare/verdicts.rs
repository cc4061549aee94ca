//! What the comparison of made-up runs finds.

use crate::compare::sample;
use crate::compare::sample::{
    SERVER, SampleRun, between, closed, compared_by, finding, findings, made, question, row, within,
};
use prony_model::*;
use prony_report::compare::{
    Comparison, Finding, Incomparable, Question, What, junit, markdown, terminal,
};
use prony_testkit::contains;

const QUIET: f64 = 0.004;
const BASE: &str = "x@1111111";
const NEW: &str = "x@2222222";

fn pair(new: sample::Server, spread: f64) -> SampleRun {
    made("20261122-050000-ab", spread)
        .with(BASE, SERVER, 12)
        .with(NEW, new, 12)
}

fn compared(run: &SampleRun) -> Comparison {
    within(run, BASE, NEW)
}

fn users() -> LoadSpec {
    LoadSpec {
        shape: LoadShape::UsersOpen { think_time_s: 0.01 },
        ..closed(64)
    }
}

#[test]
fn equal_servers_show_no_change() {
    let comparison = compared(&pair(SERVER, QUIET));
    let names = ["rate", "cpu", "instructions", "p99"];
    let expected = names.map(|name| (name, Finding::NoChangeSeen));
    assert_eq!(findings(&comparison), expected);
    assert!(!comparison.is_worse() && !comparison.is_open());
}

#[test]
fn more_work_is_worse_and_less_is_improved() {
    let worse = compared(&pair(SERVER.working(1.05), QUIET));
    let improved = compared(&pair(SERVER.working(1.0 / 1.05), QUIET));
    for name in ["rate", "cpu", "instructions"] {
        let found = (finding(&worse, name), finding(&improved, name));
        assert_eq!(found, (Finding::Worse, Finding::Improved), "{name}");
    }
    assert!(worse.is_worse() && !improved.is_worse());
    let change = row(&worse, "rate").change.unwrap();
    let is_within = (change.low..change.high).contains(&(1.0 / 1.05));
    assert!(is_within, "{change:?}");
    assert!(change.p_corrected >= change.p, "{change:?}");
}

#[test]
fn a_noisy_machine_makes_findings_inconclusive() {
    let comparison = compared(&pair(SERVER, 0.3));
    assert_eq!(finding(&comparison, "rate"), Finding::Inconclusive);
    assert!(comparison.is_open() && !comparison.is_worse());
    let once = made("r", QUIET).with("a", SERVER, 1).with("b", SERVER, 1);
    let comparison = within(&once, "a", "b");
    let rate = row(&comparison, "rate");
    assert_eq!((rate.finding, rate.change), (Finding::Inconclusive, None));
    contains(&rate.notes[0], "two rounds");
}

#[test]
fn a_limited_rate_gives_no_finding_but_its_cost_does() {
    let limited = |_: u32, one: &mut Measurement| one.load.generator.client_limited = true;
    let slow = SERVER.working(1.05);
    let both = pair(slow, QUIET).change(BASE, limited).change(NEW, limited);
    let comparison = compared(&both);
    assert_eq!(finding(&comparison, "cpu"), Finding::Worse);
    for name in ["rate", "p99"] {
        let found = row(&comparison, name);
        assert_eq!(found.finding, Finding::Limited, "{name}");
        contains(&found.notes[0], "base: client-limited");
    }

    // BASE would have been even faster.
    let base = pair(slow, QUIET).change(BASE, limited);
    assert_eq!(finding(&compared(&base), "rate"), Finding::Worse);

    // One round of twelve does not move the middle.
    let once = pair(slow, QUIET).change(NEW, |round, one| {
        one.load.generator.client_limited = round == 3;
    });
    assert_eq!(finding(&compared(&once), "rate"), Finding::Worse);
}

#[test]
fn near_the_ceiling_the_machine_is_the_limit() {
    let comparison = compared(&pair(SERVER, QUIET).with_ceiling(SERVER.working(0.93), 12));
    let rate = row(&comparison, "rate");
    assert_eq!(rate.finding, Finding::Limited);
    contains(&rate.notes[0], "at the ceiling (93 % of its rate)");
    // The ceiling limits the rate, not the latency.
    let p99 = row(&comparison, "p99");
    assert_eq!((p99.finding, p99.notes.len()), (Finding::NoChangeSeen, 0));
}

#[test]
fn wrong_responses_are_worse_and_their_figures_are_not_compared() {
    let wrong = |_: u32, one: &mut Measurement| one.load.outcomes[Outcome::WrongStatus] = 3;
    let both = pair(SERVER, QUIET).change(BASE, wrong).change(NEW, wrong);
    let comparison = compared(&both);
    for name in ["rate", "cpu", "p99"] {
        let found = row(&comparison, name);
        assert_eq!(found.finding, Finding::Limited, "{name}");
        let mut notes = found.notes.iter();
        assert!(
            notes.any(|note| note == "new: responses were wrong"),
            "{found:?}"
        );
    }
    assert!(comparison.is_worse(), "NEW is wrong, whatever BASE sent");
    contains(&comparison.warnings[0], "NEW sent wrong responses");
    let markdown = markdown(&comparison);
    assert!(markdown.starts_with("### Prony: worse\n"), "{markdown}");

    let base = compared(&pair(SERVER, QUIET).change(BASE, wrong));
    assert_eq!(finding(&base, "rate"), Finding::Limited);
    assert!(!base.is_worse());

    let in_warm_up = pair(SERVER, QUIET).change(NEW, |_, one| {
        let mut outcomes = Outcomes::default();
        outcomes[Outcome::WrongBody] = 1;
        one.load.warmup = Some(WarmupResult {
            duration_s: 0.5,
            outcomes,
            failed_without_request: 0,
        });
    });
    assert!(compared(&in_warm_up).is_worse());
}

#[test]
fn new_errors_are_worse_whatever_the_rate() {
    let errors = |outcome: Outcome, rounds: u32| {
        pair(SERVER.working(0.9), QUIET).change(NEW, move |round, one| {
            one.load.outcomes[outcome] += u64::from(round <= rounds);
        })
    };
    for (outcome, rounds, expected) in [
        (Outcome::WrongBody, 1, Finding::Worse),
        (Outcome::TimedOut, 2, Finding::Worse),
        // A machine that stalls for a moment causes this.
        (Outcome::TimedOut, 1, Finding::Inconclusive),
    ] {
        let found = compared(&errors(outcome, rounds));
        assert_eq!(finding(&found, "errors"), expected, "{outcome:?}, {rounds}");
    }
    // So does a machine that was noisy in every attempt.
    let mut noisy = errors(Outcome::TimedOut, 3);
    for record in noisy.of(NEW).filter(|record| record.trial.round < 3) {
        record.noisy = vec![NoiseCause::OtherPrograms { share: 0.4 }];
    }
    assert_eq!(finding(&compared(&noisy), "errors"), Finding::Inconclusive);
    let turned = within(&errors(Outcome::WrongBody, 3), NEW, BASE);
    assert_eq!(finding(&turned, "errors"), Finding::Improved);
}

#[test]
fn outages_are_worse_however_few_errors_they_cause() {
    let dead = |rounds: u32| {
        pair(SERVER, QUIET).change(NEW, move |round, one| {
            if round <= rounds {
                one.load.outages = vec![Outage {
                    from_s: 1.0,
                    length_s: 1.5,
                }];
            }
        })
    };
    for (rounds, expected) in [(2, Finding::Worse), (1, Finding::Inconclusive)] {
        let found = compared(&dead(rounds));
        assert_eq!(finding(&found, "errors"), expected, "{rounds}");
        contains(
            &row(&found, "errors").notes[1],
            "no ok response for up to 1.5 s in",
        );
    }
    let turned = |rounds| within(&dead(rounds), NEW, BASE);
    for (rounds, expected) in [(3, Finding::Improved), (1, Finding::NoChangeSeen)] {
        assert_eq!(finding(&turned(rounds), "errors"), expected, "{rounds}");
    }
    // An outage in a noisy round is the machine's.
    let mut noisy = dead(1);
    for record in noisy.of(NEW).filter(|record| record.trial.round == 1) {
        record.noisy = vec![NoiseCause::OtherPrograms { share: 0.4 }];
    }
    assert!(
        compared(&noisy).cases[0]
            .rows
            .iter()
            .all(|row| row.what != What::Errors)
    );
}

/// Makes the first rounds of a server fail.
fn fail(run: &mut SampleRun, id: &str, (kind, rounds): (FailureKind, u32)) {
    for record in run.of(id).filter(|record| record.trial.round <= rounds) {
        let message = "it is gone".into();
        record.result = TrialResult::Failed { kind, message };
    }
}

#[test]
fn more_failed_rounds_are_worse_whatever_failed_before() {
    use FailureKind::*;
    let found = |then: (FailureKind, u32), now: (FailureKind, u32)| {
        let mut run = pair(SERVER, QUIET);
        fail(&mut run, BASE, then);
        fail(&mut run, NEW, now);
        let turned = within(&run, NEW, BASE);
        (
            finding(&compared(&run), "failure"),
            finding(&turned, "failure"),
        )
    };
    let (worse, noisy, same) = (Finding::Worse, Finding::Inconclusive, Finding::NoChangeSeen);
    let is_worse = (worse, Finding::Improved);
    for kind in [NotReady, NoResponse] {
        // The rounds that failed then and now: none and some, as bad as before, a little worse, much worse, no figures at all.
        for (then, now, expected) in [
            (0, 12, is_worse),
            (0, 2, is_worse),
            (0, 1, (noisy, same)),
            (3, 3, (same, same)),
            (3, 6, (noisy, same)),
            (3, 7, is_worse),
            (6, 12, is_worse),
        ] {
            let found = found((kind, then), (kind, now));
            assert_eq!(found, expected, "{kind:?}: {then}, {now}");
        }
    }
    for (then, now) in [(0, 1), (1, 12), (11, 12)] {
        let ended = found((ServerExited, then), (ServerExited, now));
        assert_eq!(ended, is_worse, "{then}, {now}");
    }
}

#[test]
fn without_anything_to_compare_there_is_no_verdict() {
    let of = |run: &SampleRun, question: &Question| {
        Comparison::of(run.side(BASE), run.side(NEW), question)
    };
    let mut run = pair(SERVER, QUIET);
    fail(&mut run, BASE, (FailureKind::ServerExited, 12));
    fail(&mut run, NEW, (FailureKind::NoResponse, 12));
    let error = of(&run, &Question::default()).unwrap_err();
    assert!(matches!(error, Incomparable::Nothing { .. }), "{error:?}");
    let error = error.to_string();
    contains(&error, "every round of both failed (no-response)");

    // In an open loop the rate is not compared; in the closed loop of the same run it is.
    let rates = question("rate", "");
    let mut open = made("r", QUIET)
        .with_load(BASE, SERVER, 6, &users())
        .with_load(NEW, SERVER, 6, &users());
    let error = of(&open, &rates).unwrap_err().to_string();
    contains(&error, "mean nothing under this load");
    for id in [BASE, NEW] {
        open.measure(id, SERVER, 6, &closed(64));
    }
    let comparison = of(&open, &rates).unwrap();
    assert_eq!(findings(&comparison), [("rate", Finding::NoChangeSeen)]);
    assert_eq!(comparison.left_out.len(), 1);
    assert!(comparison.is_open());
}

#[test]
fn a_server_that_is_broken_or_wrong_only_in_new_is_worse() {
    let base = made("base", QUIET)
        .with("x", SERVER, 6)
        .with("y", SERVER, 6);
    let broken = made("new", QUIET).with("y", SERVER, 6).with_broken("x");
    let comparison = between(&base, &broken);
    let failure = row(&comparison, "failure");
    assert_eq!(failure.finding, Finding::Worse);
    let note = "new: its build failed: main.go:4: no such package";
    assert_eq!(failure.notes, [note]);
    let turned = between(&broken, &base);
    assert_eq!(finding(&turned, "failure"), Finding::Improved);

    let mut wrong = made("new", QUIET).with("y", SERVER, 6);
    let verified = &mut wrong.server("x", "framework", ServerStatus::Ready).verified;
    verified[0].verdict = VerifyVerdict::Wrong {
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
    assert_eq!(between(&base, &new).left_out, ["x: not in NEW"]);
    let (missing, install) = ("go".to_owned(), "apt-get install go".to_owned());
    new.server("x", "framework", ServerStatus::Skipped { missing, install });
    let comparison = between(&base, &new);
    assert!(!comparison.is_worse() && comparison.is_open());
    contains(&comparison.left_out[0], "toolchain is not installed: go");
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
    let mut again: Vec<TrialRecord> = run.of(NEW).map(|one| one.clone()).collect();
    again.iter_mut().for_each(|record| record.attempt = 2);
    run = run.change(NEW, |_, one| one.load.rate_per_s /= 2.0);
    for record in run.of(NEW) {
        record.noisy = vec![NoiseCause::OtherPrograms { share: 0.4 }];
    }
    run.trials.extend(again);
    let comparison = compared(&run);
    assert_eq!(finding(&comparison, "rate"), Finding::NoChangeSeen);
    let noise = &comparison.noise;
    assert!(noise.is_noisy());
    assert_eq!((noise.attempts, noise.noisy), (36, 12));
    assert_eq!(noise.foreign_share, Some(0.4));

    // If every attempt was noisy, the least disturbed one counts, with a note.
    for record in run.of(NEW).filter(|record| record.trial.round < 3) {
        let share = if record.attempt == 1 { 0.4 } else { 0.1 };
        record.noisy = vec![NoiseCause::Steal { share }];
    }
    let comparison = compared(&run);
    let rate = row(&comparison, "rate");
    assert_eq!(rate.finding, Finding::NoChangeSeen);
    let change = rate.change.unwrap();
    assert_eq!((change.rounds, change.quiet_rounds), (12, 10));
    let note =
        "in 2 of 12 rounds of new every attempt was noisy, and the least disturbed one counts";
    assert_eq!(comparison.cases[0].notes, [note]);
    let texts = [terminal(&comparison, false), markdown(&comparison)];
    for text in texts {
        for words in ["every attempt was noisy", "The machine was noisy"] {
            assert_eq!(text.matches(words).count(), 1, "{text}");
        }
    }
    // Once in each case, which a CI system shows alone.
    let xml = junit(&comparison, true);
    assert_eq!(
        xml.matches("every attempt was noisy").count(),
        comparison.cases[0].rows.len()
    );
}

#[test]
fn a_verdict_needs_rounds_that_were_not_noisy_in_every_attempt() {
    let slow = SERVER.working(1.2);
    for (rounds, noisy, expected) in [
        (2, 0, Finding::Inconclusive),
        (5, 0, Finding::Inconclusive),
        (6, 0, Finding::Worse),
        (7, 2, Finding::Inconclusive),
        (8, 2, Finding::Worse),
    ] {
        let mut run = made("r", QUIET)
            .with(BASE, SERVER, rounds)
            .with(NEW, slow, rounds);
        // One round of each side.
        for (id, round) in [(BASE, 1), (NEW, 2)] {
            for record in run
                .of(id)
                .filter(|one| noisy > 0 && one.trial.round == round)
            {
                record.noisy = vec![NoiseCause::OtherPrograms { share: 0.4 }];
            }
        }
        let comparison = compared(&run);
        let rate = row(&comparison, "rate");
        assert_eq!(rate.finding, expected, "{rounds}, {noisy}");
        assert_eq!(rate.change.unwrap().quiet_rounds as u32, rounds - noisy);
        assert_eq!(comparison.is_worse(), expected == Finding::Worse);
        let told = terminal(&comparison, false).contains("A verdict needs at least 6");
        assert_eq!(told, expected == Finding::Inconclusive);
    }
}

/// A comparison of equals is wrong if any metric of any workload is called different, so p-values are corrected for all.
#[test]
fn comparisons_of_equals_with_many_metrics_are_seldom_wrong() {
    let wrong = (0..60).filter(|run| {
        let id = format!("equals-{run}");
        let mut run = made(&id, 0.1).with(BASE, SERVER, 7).with(NEW, SERVER, 7);
        for load in [closed(8), closed(1)] {
            run.measure(BASE, SERVER, 7, &load);
            run.measure(NEW, SERVER, 7, &load);
        }
        let tally = compared(&run).tally;
        tally.worse + tally.improved > 0
    });
    let wrong = wrong.count();
    assert!(wrong <= 6, "{wrong} of 60");
}

#[test]
fn an_open_loop_is_judged_by_latency_and_cost() {
    let run = made("r", QUIET)
        .with_load("a", SERVER, 12, &users())
        .with_load("b", SERVER.working(1.5), 12, &users());
    let names = ["cpu", "instructions", "p50", "p99"];
    let expected = names.map(|name| (name, Finding::Worse));
    assert_eq!(findings(&within(&run, "a", "b")), expected);
}

#[test]
fn a_metric_without_figures_has_a_row_only_if_it_is_requested() {
    let bare = sample::Server {
        instructions: None,
        ..SERVER
    };
    let few = |_: u32, one: &mut Measurement| {
        let mut histogram = LatencyHistogram::new();
        (0..900).for_each(|_| histogram.record(1_000_000));
        one.load.histogram = histogram.to_base64();
    };
    let run = made("r", QUIET).with("a", bare, 8).with("b", bare, 8);
    // A percentile needs ten responses beyond it.
    let run = run.change("a", few).change("b", few);
    let names: Vec<_> = findings(&within(&run, "a", "b"))
        .into_iter()
        .map(|one| one.0)
        .collect();
    assert_eq!(names, ["rate", "cpu"]);
    let requested = compared_by(run.side("a"), run.side("b"), "instructions memory", "");
    let expected = [
        ("instructions", Finding::Inconclusive),
        ("memory", Finding::NoChangeSeen),
    ];
    assert_eq!(findings(&requested), expected);
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
    contains(&nothing, "no server in common");
}
