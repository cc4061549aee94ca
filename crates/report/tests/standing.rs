//! Who stands where in a table: rank bands, and what speaks against one.

mod sample;

use prony_record::{Outcome, TrialRecord, TrialResult};
use prony_report::{Comparison, Row, Standing, Table};

fn table<'a>(comparison: &'a Comparison, workload: &str) -> &'a Table {
    let mut tables = comparison.tables.iter();
    tables.find(|table| table.workload == workload).unwrap()
}

fn row<'a>(table: &'a Table, subject: &str) -> &'a Row {
    let mut rows = table.rows.iter();
    rows.find(|row| row.subject.id == subject).unwrap()
}

/// The comparison of two tables after a change to their trials.
fn compare(change: impl Fn(&mut TrialRecord)) -> Comparison {
    let mut trials = sample::trials();
    trials.retain(|record| ["hello", "quote"].contains(&record.trial.workload.as_str()));
    trials.iter_mut().for_each(change);
    Comparison::of(&sample::run(), &trials)
}

#[test]
fn reference_rows_are_never_ranked_and_the_others_stand_by_their_medians() {
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
fn bands_say_what_the_rounds_tell_apart() {
    // hyper and axum lie 2 % apart in every round, though both vary by far more from round to round.
    let comparison = compare(|record| {
        let drift = [1.0, 1.3, 0.7, 1.2, 0.9][record.trial.round as usize - 1];
        if let TrialResult::Measured(measured) = &mut record.result {
            let round = f64::from(record.trial.round);
            measured.load.rate_per_s = match record.trial.subject.as_str() {
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
    let band = |subject: &str| {
        row(quote, subject)
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
fn a_client_limited_row_is_marked_and_nobody_is_surely_ahead_of_it() {
    let comparison = compare(|record| {
        if let TrialResult::Measured(measured) = &mut record.result {
            measured.load.rate_per_s = match record.trial.subject.as_str() {
                "rust-hyper" => 7_000.0, // Client-limited on hello.
                "ceiling" => 20_000.0,
                "rust-axum" => 10_000.0,
                _ => 100.0,
            } + f64::from(record.trial.round);
        }
    });
    let hyper = row(table(&comparison, "hello"), "rust-hyper");
    assert!(matches!(hyper.standing, Standing::ClientLimited(Some(_))));
    assert!(!hyper.is_sound() && hyper.may_be_first());
    assert_eq!(hyper.band().unwrap().worst, 2);
    assert!(hyper.flags()[0].starts_with("client-limited"));
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
fn rows_at_the_ceiling_are_marked_and_not_told_apart() {
    let comparison = compare(|record| {
        if let TrialResult::Measured(measured) = &mut record.result {
            measured.load.rate_per_s = match record.trial.subject.as_str() {
                "ceiling" => 10_000.0,
                "rust-hyper" => 9_900.0,
                "rust-axum" => 9_100.0,
                "bun" => 8_900.0,
                _ => 100.0,
            } + f64::from(record.trial.round);
        }
    });
    let quote = table(&comparison, "quote");
    for subject in ["rust-hyper", "rust-axum"] {
        let row = row(quote, subject);
        assert!(matches!(row.standing, Standing::AtCeiling(_)), "{subject}");
        let band = row.band().unwrap();
        assert_eq!((band.best, band.worst), (1, 2));
        assert_eq!(row.flags()[0], "at the ceiling");
    }
    let bun = row(quote, "bun");
    assert!(matches!(bun.standing, Standing::Ranked(band) if band.best == 3));
}

#[test]
fn one_round_ranks_nobody_apart() {
    let mut trials = sample::trials();
    trials.retain(|record| record.trial.round == 1);
    let comparison = Comparison::of(&sample::run(), &trials);
    let quote = table(&comparison, "quote");
    for row in quote.rows.iter().filter(|row| !row.is_reference()) {
        let band = row.band().unwrap();
        assert_eq!((band.best, band.worst), (1, 5));
        let share = row.share_of_ceiling.unwrap();
        assert_eq!((share.interval, share.rounds), (None, 1));
    }
}

#[test]
fn requests_per_cpu_second_rank_by_themselves() {
    // The fastest burns the most CPU.
    let comparison = compare(|record| {
        if let TrialResult::Measured(measured) = &mut record.result {
            let answers = measured.load.outcomes[Outcome::Ok];
            let answers = answers + measured.load.warmup.as_ref().unwrap().outcomes[Outcome::Ok];
            let each = match record.trial.subject.as_str() {
                "rust-axum" => 20e-6,
                "python-httpserver" => 10e-6,
                _ => 15e-6,
            };
            let varied = each * (1.0 + 0.001 * f64::from(record.trial.round));
            (measured.server.cpu_user_s, measured.server.cpu_system_s) =
                (0.0, answers as f64 * varied);
        }
    });
    let quote = table(&comparison, "quote");
    let band = |subject: &str| row(quote, subject).cpu_band.unwrap();
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
fn wrong_answers_under_load_cost_the_rank() {
    let comparison = compare(|record| {
        if let TrialResult::Measured(measured) = &mut record.result
            && record.trial.subject == "rust-axum"
            && record.trial.round == 4
        {
            measured.load.outcomes[Outcome::WrongBody] = 1;
        }
    });
    let row = row(table(&comparison, "quote"), "rust-axum");
    assert_eq!(row.standing, Standing::WrongAnswers);
    assert!(row.flags().contains(&"wrong answers".to_owned()));
    assert_eq!((row.band(), row.cpu_band), (None, None));
}
