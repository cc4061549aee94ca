//! Tests: searches on simulated servers.

use proptest::prelude::*;

use super::*;

const PRECISION: Precision = Precision {
    share: 0.02,
    repeats: 6,
};

/// A server that holds a rate with a chance that falls from 1 to 0 around its capacity: the logistic of
/// the distance, as a share of the capacity, over `blur`.
struct Noisy {
    capacity: f64,
    blur: f64,
    random: fastrand::Rng,
}

impl Noisy {
    fn new(capacity: f64, blur: f64, seed: u64) -> Self {
        let random = fastrand::Rng::with_seed(seed);
        Self {
            capacity,
            blur,
            random,
        }
    }

    fn answers(&mut self, rate: f64) -> Tried {
        let away = (rate / self.capacity - 1.0) / self.blur;
        match self.random.f64() < 1.0 / (1.0 + away.exp()) {
            true => Tried::Held,
            false => Tried::Failed,
        }
    }
}

/// Searches to the end; the answer, and how many rates were tried.
fn search(start: f64, seed: u64, mut server: impl FnMut(f64) -> Tried) -> (Answer, usize) {
    let mut search = Search::new(start, PRECISION, seed);
    let mut tries = 0;
    while let Step::Try { rate, .. } = search.next() {
        assert!((LEAST_RATE..=MOST_RATE).contains(&rate));
        search.tried(rate, server(rate));
        tries += 1;
        assert!(tries < 400, "it does not end");
    }
    (search.answer(), tries)
}

fn capacity(answer: &Answer) -> (f64, f64, f64) {
    match answer {
        Answer::Capacity {
            per_s,
            low_per_s,
            high_per_s,
            ..
        } => (*per_s, *low_per_s, *high_per_s),
        other => panic!("{other:?}"),
    }
}

proptest! {
    #[test]
    fn without_noise_it_finds_the_capacity_to_the_precision_from_any_guess(
        true_capacity in 2f64..1e6,
        guess in 0.02f64..50.0,
        seed: u64,
    ) {
        let mut server = Noisy::new(true_capacity, 1e-9, seed);
        let (answer, tries) = search(true_capacity * guess, seed, |rate| server.answers(rate));
        let (found, low, high) = capacity(&answer);
        prop_assert!((found / true_capacity - 1.0).abs() < 0.011, "{found}");
        prop_assert!(low <= true_capacity && true_capacity <= high, "{low} to {high}");
        prop_assert!(high / low < 1.041, "{low} to {high}");
        // About four for each of six, and up to 13 to come near.
        prop_assert!(tries <= 45, "{tries}");
    }

    #[test]
    fn it_ends_whatever_the_server_does(seed: u64, start in 0.1f64..1e7) {
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
                server.answers(rate)
            });
            rates
        };
        prop_assert_eq!(rates(), rates());
    }
}

#[test]
fn with_noise_it_finds_the_capacity_nearly_always() {
    for blur in [0.003, 0.01, 0.03] {
        let (mut off, mut uncovered, mut tries_in_all) = (0, 0, 0);
        for seed in 0..500 {
            let mut server = Noisy::new(2000.0, blur, seed);
            let (answer, tries) = search(1300.0, seed, |rate| server.answers(rate));
            let (found, low, high) = capacity(&answer);
            off += usize::from((found / 2000.0 - 1.0).abs() > 0.05);
            uncovered += usize::from(!(low..=high).contains(&2000.0));
            tries_in_all += tries;
        }
        assert!(off <= 5, "{blur}: {off} of 500 are off by more than 5 %");
        // The interval claims to miss no more than 1 of 20.
        assert!(uncovered <= 25, "{blur}: {uncovered} of 500 intervals miss");
        assert!(tries_in_all / 500 <= 40, "{blur}: {tries_in_all}");
    }
}

#[test]
fn a_trial_that_is_spoilt_misleads_one_finding_at_most() {
    for spoilt in 0..12 {
        let mut server = Noisy::new(2000.0, 1e-9, 1);
        let mut number = 0;
        let (answer, _) = search(1300.0, 7, |rate| {
            number += 1;
            match number - 1 == spoilt {
                true => Tried::Failed,
                false => server.answers(rate),
            }
        });
        let (found, ..) = capacity(&answer);
        assert!((found / 2000.0 - 1.0).abs() < 0.02, "{spoilt}: {found}");
    }
}

#[test]
fn where_the_generator_is_the_limit_no_capacity_is_told() {
    let (answer, _) = search(100.0, 1, |rate| match rate <= 5000.0 {
        true => Tried::Held,
        false => Tried::Limited,
    });
    let Answer::AtLeast {
        per_s: Some(held),
        limited_at_per_s,
    } = answer
    else {
        panic!("{answer:?}");
    };
    assert!(held <= 5000.0 && 5000.0 < limited_at_per_s && limited_at_per_s / held < 1.101);
}

#[test]
fn a_generator_that_is_the_limit_for_a_moment_takes_no_findings_away() {
    let mut number = 0;
    let (answer, _) = search(1300.0, 7, |rate| {
        number += 1;
        match (rate <= 2000.0, number) {
            (true, _) => Tried::Held,
            (false, 12..=18) => Tried::Limited,
            (false, _) => Tried::Failed,
        }
    });
    let (found, ..) = capacity(&answer);
    assert!((found / 2000.0 - 1.0).abs() < 0.011, "{found}");
    // After the approach for good: nothing was ever found.
    let mut number = 0;
    let (answer, tries) = search(1300.0, 7, |rate| {
        number += 1;
        match (rate <= 2000.0, number) {
            (true, _) => Tried::Held,
            (false, 7..) => Tried::Limited,
            (false, _) => Tried::Failed,
        }
    });
    assert!(matches!(answer, Answer::AtLeast { per_s: Some(held), .. } if held <= 2000.0));
    assert!(tries < 30, "{tries}");
}

#[test]
fn where_nothing_holds_it_says_so() {
    let (answer, tries) = search(1000.0, 1, |_| Tried::Failed);
    assert_eq!(answer, Answer::Nothing { tried_per_s: 1.0 });
    assert!(tries < 15, "{tries}");
}

#[test]
fn it_can_be_asked_at_any_time() {
    let mut search = Search::new(1000.0, PRECISION, 1);
    let between = |held_per_s, failed_per_s| Answer::Between {
        held_per_s,
        failed_per_s,
    };
    assert_eq!(search.answer(), between(None, None));
    search.tried(1000.0, Tried::Failed);
    assert_eq!(search.answer(), between(None, Some(1000.0)));
    let Step::Try { rate, repeat: 0 } = search.next() else {
        panic!();
    };
    search.tried(rate, Tried::Held);
    assert_eq!(search.answer(), between(Some(rate), Some(1000.0)));
    let mut server = Noisy::new(900.0, 1e-9, 1);
    while search.findings() < 2 {
        let Step::Try { rate, .. } = search.next() else {
            panic!();
        };
        search.tried(rate, server.answers(rate));
        // What the approach has seen is known while the first finding is looked for, too.
        let is_known = match search.answer() {
            Answer::Between {
                held_per_s: Some(held),
                failed_per_s: Some(failed),
            } => held <= 900.0 && 900.0 < failed,
            Answer::Capacity { .. } => search.findings() > 0,
            _ => false,
        };
        assert!(is_known, "{:?}", search.answer());
    }
    let answer = search.answer();
    assert!(
        matches!(&answer, Answer::Capacity { findings_per_s, .. } if findings_per_s.len() == 2)
    );
}
