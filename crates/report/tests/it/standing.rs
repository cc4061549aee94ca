//! The standing of each server in a table: rank bands, and reasons for having none.

use crate::sample;
use prony_model::{Outcome, ProcessStart, TrialRecord, TrialResult, WarmUp};
use prony_report::{ResultTable, RunSummary, ServerRow, Standing, terminal};

fn table<'a>(comparison: &'a RunSummary, workload: &str) -> &'a ResultTable {
    let mut tables = comparison.tables.iter();
    tables.find(|table| table.workload == workload).unwrap()
}

fn row<'a>(table: &'a ResultTable, server: &str) -> &'a ServerRow {
    let mut rows = table.rows.iter();
    rows.find(|row| row.server.id == server).unwrap()
}

/// The summary of two tables after a change to their trials.
fn compare(change: impl Fn(&mut TrialRecord)) -> RunSummary {
    let mut trials = sample::trials();
    trials.retain(|record| ["hello", "quote"].contains(&record.trial.workload.as_str()));
    trials.iter_mut().for_each(change);
    RunSummary::of(&sample::run(), &trials)
}

#[test]
fn reference_rows_are_never_ranked_and_the_others_are_ordered_by_median() {
    let comparison = compare(|_| {});
    for table in &comparison.tables {
        assert_eq!(row(table, "ceiling").standing, Standing::Reference);
        assert_eq!(row(table, "ceiling").band(), None);
        let rows = || table.rows.iter();
        let ranked = rows().filter(|row| row.band().is_some());
        let medians: Vec<f64> = ranked.map(|row| -row.figures.rate.median).collect();
        assert!(medians.is_sorted(), "{medians:?}");
        assert!(rows().map(|row| row.band().is_none()).is_sorted());
    }
}

#[test]
fn bands_show_what_the_rounds_tell_apart() {
    // hyper and axum lie 2 % apart in every round, though both vary by far more from round to round.
    let comparison = compare(|record| {
        let drift = [1.0, 1.3, 0.7, 1.2, 0.9][record.trial.round as usize - 1];
        if let TrialResult::Measured(measured) = &mut record.result {
            let round = f64::from(record.trial.round);
            measured.load.rate_per_s = match record.trial.server.as_str() {
                "rust-hyper" => 10_200.0 * drift,
                "rust-axum" => (10_000.0 + round) * drift,
                "bun" => 5_000.0 * drift * (1.0 + 0.1 * round.sin()),
                "go-nethttp" => 5_000.0 * drift * (1.0 + 0.1 * round.cos()),
                "ceiling" => 20_000.0 * drift,
                _ => 100.0 * drift,
            };
        }
    });
    let quote = table(&comparison, "quote");
    let band = |server: &str| {
        row(quote, server)
            .band()
            .map(|band| (band.best, band.worst))
    };
    assert_eq!(band("rust-hyper"), Some((1, 1)));
    assert_eq!(band("rust-axum"), Some((2, 2)));
    assert_eq!(
        (band("bun"), band("go-nethttp")),
        (Some((3, 4)), Some((3, 4)))
    );
    assert_eq!(band("python-httpserver"), Some((5, 5)));
    let share = row(quote, "rust-hyper").share_of_ceiling.unwrap();
    let (low, high) = share.interval.unwrap();
    assert!((share.ratio - 0.51).abs() < 1e-9 && share.rounds == 5);
    assert!(
        (low - 0.51).abs() < 1e-6 && (high - 0.51).abs() < 1e-6,
        "drift cancels out"
    );
}

#[test]
fn a_client_limited_row_is_flagged_and_no_server_is_certainly_ahead_of_it() {
    let comparison = compare(|record| {
        if let TrialResult::Measured(measured) = &mut record.result {
            measured.load.rate_per_s = match record.trial.server.as_str() {
                "rust-hyper" => 7_000.0, // Client-limited on hello.
                "ceiling" => 20_000.0,
                "rust-axum" => 10_000.0,
                _ => 100.0,
            } + f64::from(record.trial.round);
        }
    });
    let hyper = row(table(&comparison, "hello"), "rust-hyper");
    assert!(matches!(hyper.standing, Standing::AtLeast(Some(_))));
    assert!(!hyper.is_sound() && hyper.may_be_first());
    assert_eq!(hyper.band().unwrap().worst, 2);
    assert_eq!(
        hyper.flags()[0],
        "client-limited in 2 of 5 rounds (a thread was 97 % busy): at least 7.00 k req/s"
    );
    let axum = row(table(&comparison, "hello"), "rust-axum")
        .band()
        .unwrap();
    assert_eq!((axum.best, axum.worst), (1, 2));
    let sound = row(table(&comparison, "quote"), "rust-hyper")
        .band()
        .unwrap();
    assert_eq!(
        (sound.best, sound.worst),
        (2, 2),
        "not client-limited there"
    );
}

#[test]
fn rows_at_the_ceiling_are_flagged_and_not_told_apart() {
    let comparison = compare(|record| {
        if let TrialResult::Measured(measured) = &mut record.result {
            measured.load.rate_per_s = match record.trial.server.as_str() {
                "ceiling" => 10_000.0,
                "rust-hyper" => 9_900.0,
                "rust-axum" => 9_100.0,
                "bun" => 8_900.0,
                _ => 100.0,
            } + f64::from(record.trial.round);
        }
    });
    let quote = table(&comparison, "quote");
    for server in ["rust-hyper", "rust-axum"] {
        let row = row(quote, server);
        assert!(matches!(row.standing, Standing::AtLeast(_)), "{server}");
        let band = row.band().unwrap();
        assert_eq!((band.best, band.worst), (1, 2));
        assert!(
            row.flags()[0].starts_with("at the ceiling (9"),
            "{:?}",
            row.flags()
        );
    }
    let bun = row(quote, "bun");
    assert!(matches!(bun.standing, Standing::Ranked(band) if band.best == 3));
}

#[test]
fn one_round_tells_no_servers_apart() {
    let mut trials = sample::trials();
    trials.retain(|record| record.trial.round == 1);
    let comparison = RunSummary::of(&sample::run(), &trials);
    let quote = table(&comparison, "quote");
    for row in quote.rows.iter().filter(|row| !row.is_reference()) {
        let band = row.band().unwrap();
        assert_eq!((band.best, band.worst), (1, 5));
        let share = row.share_of_ceiling.unwrap();
        assert_eq!((share.interval, share.rounds), (None, 1));
    }
}

#[test]
fn requests_per_cpu_second_have_their_own_ranks() {
    // The fastest burns the most CPU.
    let comparison = compare(|record| {
        if let TrialResult::Measured(measured) = &mut record.result {
            let responses = measured.load.outcomes[Outcome::Ok];
            let responses =
                responses + measured.load.warmup.as_ref().unwrap().outcomes[Outcome::Ok];
            let each = match record.trial.server.as_str() {
                "rust-axum" => 20e-6,
                "python-httpserver" => 10e-6,
                _ => 15e-6,
            };
            let varied = each * (1.0 + 0.001 * f64::from(record.trial.round));
            (
                measured.server.as_mut().unwrap().cpu_user_s,
                measured.server.as_mut().unwrap().cpu_system_s,
            ) = (0.0, responses as f64 * varied);
        }
    });
    let quote = table(&comparison, "quote");
    let band = |server: &str| row(quote, server).cpu_band.unwrap();
    assert_eq!(
        (
            band("python-httpserver").best,
            band("python-httpserver").worst
        ),
        (1, 1)
    );
    assert_eq!((band("rust-axum").best, band("rust-axum").worst), (5, 5));
    assert_eq!((band("bun").best, band("bun").worst), (2, 4));
    assert_eq!(row(quote, "ceiling").cpu_band, None);
    assert!(row(quote, "rust-axum").band().unwrap().best < 3);
}

#[test]
fn wrong_responses_under_load_cost_the_rank() {
    let comparison = compare(|record| {
        if let TrialResult::Measured(measured) = &mut record.result
            && record.trial.server == "rust-axum"
            && record.trial.round == 4
        {
            measured.load.outcomes[Outcome::WrongBody] = 1;
        }
    });
    let row = row(table(&comparison, "quote"), "rust-axum");
    assert_eq!(row.standing, Standing::WrongResponses);
    assert!(row.flags()[0].starts_with("wrong responses: 1 of "));
    assert_eq!((row.band(), row.cpu_band), (None, None));
}

#[test]
fn every_server_with_wrong_responses_is_reported() {
    let wrong = |outcome: Outcome, in_warm_up: bool| {
        compare(move |record| {
            if let TrialResult::Measured(measured) = &mut record.result
                && (record.trial.server.as_str(), record.trial.round) == ("bun", 2)
            {
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
        let bun = row(table(&comparison, "quote"), "bun");
        assert_eq!(bun.standing, Standing::WrongResponses, "{outcome:?}");
        assert_eq!(bun.figures.wrong.unwrap().wrong, 61);
        let sentence = prony_report::wrong_responses(&comparison).unwrap();
        assert!(
            sentence.starts_with(
                "1 of 5 servers sent wrong responses under load and is not ranked in those tables: bun (hello"
            ),
            "{sentence}"
        );
        assert!(sentence.contains("quote: 61 of "), "{sentence}");
    }
    assert_eq!(prony_report::wrong_responses(&compare(|_| {})), None);
    // A truncated or late response is an error, not a wrong response.
    assert_eq!(
        prony_report::wrong_responses(&wrong(Outcome::Truncated, false)),
        None
    );
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
    let comparison = compare(|record| {
        if let TrialResult::Measured(measured) = &mut record.result {
            measured.load.rate_per_s = match record.trial.server.as_str() {
                "ceiling" => 20_000.0,
                "rust-axum" => 10_000.0,
                "bun" => 3_400.0,
                _ => 100.0,
            } + f64::from(record.trial.round);
            measured.warm_up = (record.trial.server == "bun").then_some(warm_up);
        }
    });
    let quote = table(&comparison, "quote");
    let bun = row(quote, "bun");
    assert_eq!(bun.flags()[0], "still warming up: at least 3.40 k req/s");
    let band = |server: &str| row(quote, server).band().unwrap();
    assert_eq!((band("bun").best, band("bun").worst), (1, 2));
    assert_eq!((band("rust-axum").best, band("rust-axum").worst), (1, 2));
    assert_eq!(bun.cpu_band.unwrap().best, 1, "none is certainly cheaper");
}

#[test]
fn rows_ten_times_apart_are_ranked_by_two_rounds() {
    let mut trials = sample::trials();
    trials.retain(|record| record.trial.workload == "quote" && record.trial.round <= 2);
    for record in &mut trials {
        if let TrialResult::Measured(measured) = &mut record.result {
            let place = [
                "python-httpserver",
                "bun",
                "go-nethttp",
                "rust-axum",
                "rust-hyper",
            ]
            .iter()
            .position(|id| *id == record.trial.server);
            let noise =
                1.0 + 0.03 * f64::from(record.trial.round) * (place.unwrap_or(5) as f64).sin();
            measured.load.rate_per_s = 10_f64.powi(place.unwrap_or(7) as i32 + 1) * noise;
        }
    }
    let comparison = RunSummary::of(&sample::run(), &trials);
    let quote = table(&comparison, "quote");
    for (place, server) in [
        "rust-hyper",
        "rust-axum",
        "go-nethttp",
        "bun",
        "python-httpserver",
    ]
    .iter()
    .enumerate()
    {
        let band = row(quote, server).band().unwrap();
        assert_eq!((band.best, band.worst), (place + 1, place + 1), "{server}");
    }
}

#[test]
fn a_table_with_too_few_rounds_names_how_many_would_suffice() {
    let note = |rounds: u32, step: f64| {
        let mut trials = sample::trials();
        trials.retain(|record| record.trial.workload == "quote" && record.trial.round <= rounds);
        for record in &mut trials {
            if let TrialResult::Measured(measured) = &mut record.result {
                let id = record.trial.server.as_str();
                let place = id.len() as f64;
                let noise = 0.1 * (7.0 * place + f64::from(record.trial.round)).sin();
                let factor = if id == "ceiling" { 100.0 } else { 1.0 };
                measured.load.rate_per_s = 1000.0 * factor * step.powf(place) * noise.exp();
            }
        }
        let comparison = RunSummary::of(&sample::run(), &trials);
        let text = terminal(&comparison, 400, false);
        let line = text
            .lines()
            .find(|line| line.contains("Too few rounds to rank"));
        line.map(str::to_owned)
    };
    let one = note(1, 1.05).unwrap();
    assert!(
        one.contains("1 round cannot tell a difference from noise"),
        "{one}"
    );
    let three = note(3, 1.02).unwrap();
    let rounds = three
        .split("`--rounds ")
        .nth(1)
        .and_then(|text| text.split('`').next());
    let rounds: usize = rounds.expect(&three).parse().unwrap();
    assert!((4..=100).contains(&rounds), "{three}");
    assert!(
        three.contains("at this noise 3 rounds order only servers that differ by"),
        "{three}"
    );
    assert_eq!(note(5, 2.0), None, "enough");
}
