//! Tests of searches on simulated servers.

use proptest::prelude::*;

use super::*;
use crate::capacity::tests::{PRECISION, capacity, held_if, imprecise};

/// A server that sustains a rate with a probability that falls from 1 to 0 around its capacity: the logistic of
/// the distance, as a share of the capacity, over `blur`.
struct Noisy {
    capacity: f64,
    blur: f64,
    random: fastrand::Rng,
}

impl Noisy {
    fn new(capacity: f64, blur: f64, seed: u64) -> Self {
        Self {
            capacity,
            blur,
            random: fastrand::Rng::with_seed(seed),
        }
    }

    fn responses(&mut self, rate: f64) -> Tried {
        let away = (rate / self.capacity - 1.0) / self.blur;
        held_if(self.random.f64() < 1.0 / (1.0 + away.exp()))
    }
}

/// The rate to try next.
fn next(search: &Search) -> f64 {
    match search.next() {
        Step::Try { rate, .. } => rate,
        Step::Done => panic!("it is over"),
    }
}

/// Searches to the end; returns the result, and how many rates were tried.
fn search(start: f64, seed: u64, mut server: impl FnMut(f64) -> Tried) -> (Found, usize) {
    let mut search = Search::new(start, PRECISION, seed);
    let mut tries = 0;
    while let Step::Try { rate, .. } = search.next() {
        assert!((LEAST_RATE..=MOST_RATE).contains(&rate));
        search.tried(rate, server(rate));
        tries += 1;
        assert!(tries < 400, "it does not end");
    }
    (search.result(), tries)
}

proptest! {
    #[test]
    fn without_noise_it_finds_the_capacity_to_the_precision_from_any_guess(
        true_capacity in 2f64..1e6,
        guess in 0.02f64..50.0,
        seed: u64,
    ) {
        let mut server = Noisy::new(true_capacity, 1e-9, seed);
        let (found, tries) = search(true_capacity * guess, seed, |rate| server.responses(rate));
        let (found, low, high) = capacity(&found);
        prop_assert!((found / true_capacity - 1.0).abs() < 0.011, "{found}");
        prop_assert!(low <= true_capacity && true_capacity <= high, "{low} to {high}");
        prop_assert!(high / low < 1.041, "{low} to {high}");
        // About four for each of six findings, up to 13 for the approach, and six to confirm.
        prop_assert!(tries <= 51, "{tries}");
    }

    #[test]
    fn it_always_ends(seed: u64, start in 0.1f64..1e7) {
        let mut random = fastrand::Rng::with_seed(seed);
        let (_, tries) = search(start, seed, |_| match random.u8(..3) {
            0 => Tried::Held,
            1 => Tried::Failed,
            _ => Tried::Limited,
        });
        prop_assert!(tries < 400);
    }

    #[test]
    fn the_same_seed_tries_the_same_rates(seed: u64) {
        let rates = || {
            let mut server = Noisy::new(5000.0, 0.02, seed);
            let mut rates = Vec::new();
            search(4000.0, seed, |rate| {
                rates.push(rate);
                server.responses(rate)
            });
            rates
        };
        prop_assert_eq!(rates(), rates());
    }
}

#[test]
fn despite_noise_it_nearly_always_finds_the_capacity() {
    for blur in [0.003, 0.01, 0.03] {
        let (mut off, mut uncovered, mut refused, mut tries_in_all) = (0, 0, 0, 0);
        for seed in 0..500 {
            let mut server = Noisy::new(2000.0, blur, seed);
            let (found, tries) = search(1300.0, seed, |rate| server.responses(rate));
            tries_in_all += tries;
            if matches!(found, Found::Imprecise { .. }) {
                refused += 1;
                continue;
            }
            let (found, low, high) = capacity(&found);
            off += usize::from((found / 2000.0 - 1.0).abs() > 0.05);
            uncovered += usize::from(!(low..=high).contains(&2000.0));
        }
        assert!(off <= 5, "{blur}: {off} of 500 are off by more than 5 %");
        // The interval should miss at most 1 in 20.
        assert!(uncovered <= 25, "{blur}: {uncovered} of 500 intervals miss");
        assert!(refused <= 30, "{blur}: {refused} of 500 give no capacity");
        assert!(tries_in_all / 500 <= 45, "{blur}: {tries_in_all}");
    }
}

#[test]
fn a_noisy_trial_misleads_at_most_one_finding() {
    for noisy in 0..12 {
        let mut numbers = 0..;
        let (found, _) = search(1300.0, 7, |rate| {
            held_if(rate <= 2000.0 && numbers.next() != Some(noisy))
        });
        let (found, ..) = capacity(&found);
        assert!((found / 2000.0 - 1.0).abs() < 0.02, "{noisy}: {found}");
    }
}

#[test]
fn a_momentary_generator_limit_costs_no_findings() {
    let limited_in = |tries: std::ops::Range<usize>| {
        let mut numbers = 1..;
        search(1300.0, 7, move |rate| {
            let number = numbers.next().unwrap();
            if rate <= 2000.0 {
                Tried::Held
            } else if tries.contains(&number) {
                Tried::Limited
            } else {
                Tried::Failed
            }
        })
    };
    let (found, ..) = capacity(&limited_in(12..19).0);
    assert!((found / 2000.0 - 1.0).abs() < 0.011, "{found}");
    // If the generator stays the limit from the approach on, there are no findings.
    let (found, tries) = limited_in(7..usize::MAX);
    assert!(matches!(found, Found::AtLeast { per_s: Some(held), .. } if held <= 2000.0));
    assert!(tries < 30, "{tries}");
}

#[test]
fn a_server_that_sustains_no_rate_gives_that_result() {
    let (found, tries) = search(1000.0, 1, |_| Tried::Failed);
    assert_eq!(found, Found::Nothing { tried_per_s: 1.0 });
    assert!(tries < 15, "{tries}");
}

#[test]
fn the_result_so_far_is_always_available() {
    let mut search = Search::new(1000.0, PRECISION, 1);
    let between = |held_per_s, failed_per_s| Found::Between {
        held_per_s,
        failed_per_s,
    };
    assert_eq!(search.result(), between(None, None));
    search.tried(1000.0, Tried::Failed);
    assert_eq!(search.result(), between(None, Some(1000.0)));
    let rate = next(&search);
    search.tried(rate, Tried::Held);
    assert_eq!(search.result(), between(Some(rate), Some(1000.0)));
    let mut server = Noisy::new(900.0, 1e-9, 1);
    while search.findings.len() < 2 {
        let rate = next(&search);
        search.tried(rate, server.responses(rate));
        // The results of the approach are known during the first finding, too.
        let is_known = match search.result() {
            Found::Between {
                held_per_s: Some(held),
                failed_per_s: Some(failed),
            } => held <= 900.0 && 900.0 < failed,
            Found::Capacity { .. } => !search.findings.is_empty(),
            _ => false,
        };
        assert!(is_known, "{:?}", search.result());
    }
    let found = search.result();
    assert!(matches!(&found, Found::Capacity { findings_per_s, .. } if findings_per_s.len() == 2));
}

/// The result of a search on a server whose capacity changes for each finding and confirmation.
fn changing(seed: u64, mut next: impl FnMut() -> f64) -> Found {
    let (mut looked_for, mut capacity) = (Purpose::Approach, next());
    let mut search = Search::new(9000.0, PRECISION, seed);
    let mut tries = 0;
    while let Step::Try { rate, purpose } = search.next() {
        if purpose != looked_for {
            (looked_for, capacity) = (purpose, next());
        }
        search.tried(rate, held_if(rate <= capacity));
        tries += 1;
        assert!(tries < 300, "it does not end");
    }
    search.result()
}

/// The findings, from one server.
const CHANGING: [f64; 3] = [10_200.0, 6_400.0, 39_500.0];

#[test]
fn a_server_whose_capacity_keeps_changing_gives_no_capacity() {
    for seed in 0..50 {
        let mut capacities = CHANGING.into_iter().cycle();
        let found = changing(seed, || capacities.next().unwrap());
        let (low, high) = imprecise(&found);
        assert!((6000.0..6400.0).contains(&low), "{seed}: {low}");
        assert!((39_500.0..41_500.0).contains(&high), "{seed}: {high}");
    }
    // In any order.
    let (mut decided, searches) = (0, 500);
    for seed in 0..searches {
        let mut random = fastrand::Rng::with_seed(seed);
        let found = changing(seed, || random.choice(CHANGING).unwrap());
        decided += usize::from(matches!(found, Found::Capacity { .. }));
    }
    // By chance all findings of a search may see the same capacity.
    assert!(decided <= 10, "{decided} of {searches}");
}

#[test]
fn a_finding_that_is_contradicted_and_not_confirmed_is_dropped() {
    // From this try on, for some tries, the server sustains three times as much.
    for from in 8..18 {
        let mut tries = 0;
        let mut confirmed = 0;
        let mut search = Search::new(1500.0, PRECISION, 3);
        while let Step::Try { rate, purpose } = search.next() {
            tries += 1;
            confirmed += usize::from(purpose == Purpose::Confirm);
            let is_faster = (from..from + 7).contains(&tries);
            let capacity = if is_faster { 6000.0 } else { 2000.0 };
            search.tried(rate, held_if(rate <= capacity));
        }
        let (found, low, high) = capacity(&search.result());
        assert!((found / 2000.0 - 1.0).abs() < 0.02, "{from}: {found}");
        assert!(low <= 2000.0 && 2000.0 < high);
        assert!(confirmed <= 12, "{from}: {confirmed}");
        assert!(tries < 80, "{from}: {tries}");
    }
}

#[test]
fn a_server_that_sustains_each_rate_half_of_the_time_usually_gives_no_capacity() {
    // Each try sustains 2000 or 3000 at random. Findings are close together, since each begins where the last one ended.
    let (mut misled, searches) = (0, 300);
    for seed in 0..searches {
        let mut random = fastrand::Rng::with_seed(seed);
        let (found, tries) = search(1500.0, seed, |rate| {
            held_if(rate <= if random.bool() { 2000.0 } else { 3000.0 })
        });
        assert!(tries < 200, "{seed}: {tries}");
        match found {
            Found::Capacity { .. } => misled += 1,
            _ => {
                let (low, high) = imprecise(&found);
                assert!((1600.0..3000.0).contains(&low) && (2000.0..3600.0).contains(&high));
            }
        }
    }
    assert!(misled < searches / 6, "{misled} of {searches}");
}

#[test]
fn the_best_estimate_is_the_middle_of_what_is_known() {
    let imprecise = |low_per_s, high_per_s, findings: &[f64]| Found::Imprecise {
        low_per_s,
        high_per_s,
        findings_per_s: findings.to_vec(),
    };
    let between = |held_per_s, failed_per_s| Found::Between {
        held_per_s,
        failed_per_s,
    };
    for (found, best) in [
        (
            imprecise(Some(100.0), Some(900.0), &[110.0, 120.0, 880.0]),
            Some(120.0),
        ),
        (imprecise(Some(100.0), Some(400.0), &[]), Some(200.0)),
        (imprecise(None, None, &[]), None),
        (between(Some(100.0), Some(400.0)), Some(200.0)),
        (between(Some(100.0), None), Some(100.0)),
        (between(None, Some(400.0)), Some(400.0)),
        (Found::Nothing { tried_per_s: 1.0 }, None),
    ] {
        assert_eq!(found.best_per_s(), best, "{found:?}");
    }
}

#[test]
fn findings_that_agree_with_those_that_were_dropped_give_a_capacity() {
    let precision = Precision {
        repeats: 6,
        ..PRECISION
    };
    let mut search = Search::new(35_000.0, precision, 1);
    // Two of six findings did not stand, but all lie between the same rates.
    search.findings = [34_000.0, 35_000.0, 35_500.0, 36_000.0]
        .map(|held| Bisected {
            held,
            failed: held * 1.02,
        })
        .into();
    search.found = 6;
    search.extremes = Some(Interval {
        low: 32_987.0,
        high: 37_825.0,
    });
    assert_eq!(search.narrow(), None);
    let (found, low, high) = capacity(&search.result());
    assert_eq!((low, high), (32_987.0, 37_825.0));
    assert!((found / 35_600.0 - 1.0).abs() < 0.01, "{found}");
    search.extremes = Some(Interval {
        low: 30_000.0,
        high: 41_000.0,
    });
    assert_eq!(imprecise(&search.result()), (30_000.0, 41_000.0));
}

#[test]
fn a_single_finding_is_a_capacity_only_if_one_was_requested() {
    let mut server = Noisy::new(2000.0, 1e-9, 1);
    let mut first_finding = |repeats| {
        let precision = Precision {
            repeats,
            ..PRECISION
        };
        let mut search = Search::new(1500.0, precision, 1);
        while search.findings.is_empty() {
            let rate = next(&search);
            search.tried(rate, server.responses(rate));
        }
        search.result()
    };
    assert!(matches!(first_finding(1), Found::Capacity { coverage, .. } if coverage == 0.0));
    assert!(matches!(first_finding(6), Found::Between { .. }));
}
