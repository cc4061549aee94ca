//! Rounds that are added until the comparisons are precise.

use super::*;

#[test]
fn a_suite_may_add_rounds_until_it_is_precise() {
    let asked = "precision = \"2.5%\"\nbudget = \"10m\"\nrounds = 6";
    let suite = read(&TOUR.replace("rounds = 6", asked), "tour").unwrap();
    let adaptive = suite.adaptive.unwrap();
    assert_eq!(adaptive.precision.share(), 0.025);
    assert_eq!(adaptive.budget, Duration::from_secs(600));
    let most = AdaptiveRounds::MOST_ROUNDS;
    let measures = suite.measures_on(NonZeroUsize::MIN);
    assert!(measures.iter().all(|one| one.rounds == most));
    for (asked, expected) in [
        (
            "budget = \"10m\"",
            "tour.toml:4: `budget` needs `precision`",
        ),
        ("precision = \"3\"", "tour.toml:4: `3` is not a precision"),
        ("precision = \"3%\"\nbudget = \"0s\"", "tour.toml:5: "),
        ("precision = \"99%\"", "at most 50%"),
    ] {
        let text = TOUR.replace("rounds = 6", &format!("{asked}\nrounds = 6"));
        let error = read(&text, "tour").unwrap_err();
        assert!(error.contains(expected), "{error}");
    }
}

#[test]
fn the_note_of_an_adaptive_quick_run_has_no_number_of_rounds() {
    let asked = "precision = \"3%\"\nrounds = 3\nservers";
    let text = WHOLE.replacen("rounds = 3\nservers", asked, 1);
    let mut suite = read(&text, "tour").unwrap();
    let note = suite.quicken(&Changes::default()).unwrap();
    assert!(
        note.contains("busy: trials of 1s (in full trials of 20s)"),
        "{note}"
    );
}
