//! The standing of each server in a table: rank bands, and reasons for having none. The golden files have reference rows,
//! the order of the others, and the ranks after a single round.

use crate::summary::{assert_flagged, assert_ranks, changed, only, ranks, row, summary, tour};
use prony_model::{Measurement, Outcome, ProcessStart, Trial, WarmUp};
use prony_report::{RunSummary, Standing, terminal, wrong_responses};

/// The summary of two tables after a change to their trials.
fn compare(change: impl FnMut(&Trial, &mut Measurement)) -> RunSummary {
    let two = only(tour(), |trial| {
        ["hello", "quote"].contains(&trial.workload.as_str())
    });
    summary(&changed(two, change))
}

/// Sets the rate of a server that has one of these, and of the others; each rises a little from round to round.
fn set_rate(trial: &Trial, measured: &mut Measurement, rates: &[(&str, f64)]) {
    let own = rates.iter().find(|(server, _)| *server == trial.server);
    let rate = own.map_or(100.0, |(_, rate)| *rate);
    measured.load.rate_per_s = rate + f64::from(trial.round);
}

#[test]
fn bands_show_what_the_rounds_tell_apart() {
    // hyper and axum lie 2 % apart in every round, though both vary by far more from round to round.
    let comparison = compare(|trial, measured| {
        let round = f64::from(trial.round);
        let drift = [1.0, 1.3, 0.7, 1.2, 0.9][trial.round as usize - 1];
        let rate = match trial.server.as_str() {
            "rust-hyper" => 10_200.0,
            "rust-axum" => 10_000.0 + round,
            "bun" => 5_000.0 * (1.0 + 0.1 * round.sin()),
            "go-nethttp" => 5_000.0 * (1.0 + 0.1 * round.cos()),
            "ceiling" => 20_000.0,
            _ => 100.0,
        };
        measured.load.rate_per_s = rate * drift;
    });
    let expected = [
        ("rust-hyper", 1, 1),
        ("rust-axum", 2, 2),
        ("bun", 3, 4),
        ("go-nethttp", 3, 4),
        ("python-httpserver", 5, 5),
    ];
    assert_ranks(&comparison, "quote", &expected);
    let hyper = row(&comparison, "quote", "rust-hyper");
    let share = hyper.share_of_ceiling.unwrap();
    let (low, high) = share.interval.unwrap();
    assert!((share.ratio - 0.51).abs() < 1e-9 && share.rounds == 5);
    let is_narrow = (low - 0.51).abs() < 1e-6 && (high - 0.51).abs() < 1e-6;
    assert!(is_narrow, "drift cancels out");
}

#[test]
fn a_client_limited_row_is_flagged_and_no_server_is_certainly_ahead_of_it() {
    // hyper is client-limited on hello.
    let rates = [
        ("ceiling", 20_000.0),
        ("rust-axum", 10_000.0),
        ("rust-hyper", 7_000.0),
    ];
    let comparison = compare(|trial, measured| set_rate(trial, measured, &rates));
    let hyper = row(&comparison, "hello", "rust-hyper");
    assert!(matches!(hyper.standing, Standing::AtLeast(Some(_))));
    assert!(!hyper.is_sound() && hyper.may_be_first());
    assert_eq!(
        hyper.flags()[0],
        "client-limited in 2 of 5 rounds (a thread was 97 % busy): at least 7.00 k req/s"
    );
    assert_eq!(hyper.band().unwrap().worst, 2);
    assert_ranks(&comparison, "hello", &[("rust-axum", 1, 2)]);
    assert_ranks(&comparison, "quote", &[("rust-hyper", 2, 2)]);
}

#[test]
fn rows_at_the_ceiling_are_flagged_and_not_told_apart() {
    let rates = [
        ("ceiling", 10_000.0),
        ("rust-hyper", 9_900.0),
        ("rust-axum", 9_100.0),
        ("bun", 8_900.0),
    ];
    let comparison = compare(|trial, measured| set_rate(trial, measured, &rates));
    for server in ["rust-hyper", "rust-axum"] {
        let row = row(&comparison, "quote", server);
        assert!(matches!(row.standing, Standing::AtLeast(_)), "{server}");
        assert_ranks(&comparison, "quote", &[(server, 1, 2)]);
        assert_flagged(row, "at the ceiling (9");
    }
    let bun = row(&comparison, "quote", "bun");
    assert!(matches!(bun.standing, Standing::Ranked(band) if band.best == 3));
}

#[test]
fn requests_per_cpu_second_have_their_own_ranks() {
    // The fastest burns the most CPU.
    let comparison = compare(|trial, measured| {
        let warm = measured.load.warmup.as_ref().unwrap().outcomes[Outcome::Ok];
        let responses = measured.load.outcomes[Outcome::Ok] + warm;
        let each = match trial.server.as_str() {
            "rust-axum" => 20e-6,
            "python-httpserver" => 10e-6,
            _ => 15e-6,
        };
        let server = measured.server.as_mut().unwrap();
        let varied = each * (1.0 + 0.001 * f64::from(trial.round));
        (server.cpu_user_s, server.cpu_system_s) = (0.0, responses as f64 * varied);
    });
    let bands = ["python-httpserver", "rust-axum", "bun", "ceiling"].map(|server| {
        let band = row(&comparison, "quote", server).cpu_band?;
        Some((band.best, band.worst))
    });
    assert_eq!(bands, [Some((1, 1)), Some((5, 5)), Some((2, 4)), None]);
    assert!(ranks(&comparison, "quote", "rust-axum").unwrap().0 < 3);
}

#[test]
fn wrong_responses_under_load_cost_the_rank_and_are_reported() {
    let wrong = |outcome: Outcome, in_warm_up: bool| {
        compare(move |trial, measured| {
            if (trial.server.as_str(), trial.round) == ("bun", 2) {
                match (&mut measured.load.warmup, in_warm_up) {
                    (Some(warmup), true) => warmup.outcomes[outcome] = 61,
                    _ => measured.load.outcomes[outcome] = 61,
                }
            }
        })
    };
    for (outcome, in_warm_up) in [
        (Outcome::WrongStatus, false),
        (Outcome::WrongBody, true),
        (Outcome::Malformed, false),
    ] {
        let comparison = wrong(outcome, in_warm_up);
        let bun = row(&comparison, "quote", "bun");
        assert_eq!(bun.standing, Standing::WrongResponses, "{outcome:?}");
        assert_eq!((bun.band(), bun.cpu_band), (None, None));
        assert!(bun.flags()[0].starts_with("wrong responses: 61 of "));
        assert_eq!(bun.figures.wrong.unwrap().wrong, 61);
        let sentence = wrong_responses(&comparison).unwrap();
        let start = "1 of 5 servers sent wrong responses under load and is not ranked in those tables: bun (hello";
        assert!(sentence.starts_with(start), "{sentence}");
        assert!(sentence.contains("quote: 61 of "), "{sentence}");
    }
    // A truncated or late response is an error, not a wrong response.
    let truncated = wrong(Outcome::Truncated, false);
    assert_eq!(wrong_responses(&truncated), None);
}

#[test]
fn the_rate_and_cost_of_a_server_that_is_still_warming_up_are_lower_bounds() {
    let warm_up = WarmUp {
        searched_s: 4.8,
        process: ProcessStart::New,
        loaded_s: 5.0,
        limit_s: 5.0,
        time_to_warm_s: None,
        still_improving: true,
    };
    let rates = [
        ("ceiling", 20_000.0),
        ("rust-axum", 10_000.0),
        ("bun", 3_400.0),
    ];
    let comparison = compare(|trial, measured| {
        set_rate(trial, measured, &rates);
        measured.warm_up = (trial.server == "bun").then_some(warm_up);
    });
    let bun = row(&comparison, "quote", "bun");
    assert_eq!(bun.flags()[0], "still warming up: at least 3.40 k req/s");
    assert_ranks(&comparison, "quote", &[("bun", 1, 2), ("rust-axum", 1, 2)]);
    assert_eq!(bun.cpu_band.unwrap().best, 1, "none is certainly cheaper");
}

#[test]
fn rows_ten_times_apart_are_ranked_by_two_rounds() {
    let fastest_first = [
        "rust-hyper",
        "rust-axum",
        "go-nethttp",
        "bun",
        "python-httpserver",
    ];
    let place = |server: &str| fastest_first.iter().position(|id| *id == server);
    let two = only(tour(), |trial| {
        trial.workload == "quote" && trial.round <= 2
    });
    let comparison = summary(&changed(two, |trial, measured| {
        let behind = place(&trial.server).map_or(-2.0, |place| place as f64);
        let noise = 1.0 + 0.03 * f64::from(trial.round) * behind.sin();
        measured.load.rate_per_s = 10_f64.powf(6.0 - behind) * noise;
    }));
    for server in fastest_first {
        let rank = place(server).unwrap() + 1;
        assert_ranks(&comparison, "quote", &[(server, rank, rank)]);
    }
}

#[test]
fn a_table_with_too_few_rounds_names_how_many_would_suffice() {
    let note = |rounds: u32, step: f64| {
        let few = only(tour(), |trial| {
            trial.workload == "quote" && trial.round <= rounds
        });
        let few = changed(few, |trial, measured| {
            let place = trial.server.len() as f64;
            let noise = 0.1 * (7.0 * place + f64::from(trial.round)).sin();
            let factor = if trial.server == "ceiling" {
                100.0
            } else {
                1.0
            };
            measured.load.rate_per_s = 1000.0 * factor * step.powf(place) * noise.exp();
        });
        let text = terminal(&summary(&few), 400, false);
        let mut lines = text.lines();
        let line = lines.find(|line| line.contains("Too few rounds to rank"));
        line.map(str::to_owned)
    };
    let one = note(1, 1.05).unwrap();
    assert!(
        one.contains("1 round cannot tell a difference from noise"),
        "{one}"
    );
    let three = note(3, 1.02).unwrap();
    let (_, rounds) = three.split_once("`--rounds ").expect(&three);
    let rounds: usize = rounds.split('`').next().unwrap().parse().unwrap();
    assert!((4..=100).contains(&rounds), "{three}");
    let noise = "at this noise 3 rounds order only servers that differ by";
    assert!(three.contains(noise), "{three}");
    assert_eq!(note(5, 2.0), None, "enough");
}
