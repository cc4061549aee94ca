use proptest::prelude::*;

use super::*;
use crate::simulated::{Noise, share};

fn ratio(low: f64, middle: f64, high: f64) -> Ratio {
    let p = if low <= 1.0 && 1.0 <= high {
        0.5
    } else {
        0.001
    };
    Ratio {
        ratio: middle,
        low,
        high,
        p,
        n: 12,
    }
}

fn verdict(ratio: Ratio, better: Better) -> Verdict {
    judge(&ratio, ratio.p, 0.02, better)
}

#[test]
fn which_way_is_better_decides_what_a_change_is_called() {
    let up = ratio(1.03, 1.05, 1.07);
    assert_eq!(verdict(up, Better::Higher), Verdict::Improved);
    assert_eq!(verdict(up, Better::Lower), Verdict::Worse);
    let down = ratio(0.93, 0.95, 0.97);
    assert_eq!(verdict(down, Better::Higher), Verdict::Worse);
    assert_eq!(verdict(down, Better::Lower), Verdict::Improved);
}

#[test]
fn a_change_below_the_threshold_is_no_change_if_the_interval_excludes_more() {
    assert_eq!(
        verdict(ratio(1.005, 1.01, 1.015), Better::Higher),
        Verdict::NoChangeSeen
    );
    assert_eq!(
        verdict(ratio(0.99, 1.0, 1.01), Better::Higher),
        Verdict::NoChangeSeen
    );
    // Certainly a change, but whether it exceeds the threshold is open.
    assert_eq!(
        verdict(ratio(1.001, 1.015, 1.03), Better::Higher),
        Verdict::Inconclusive
    );
    assert_eq!(
        verdict(ratio(0.9, 1.0, 1.1), Better::Higher),
        Verdict::Inconclusive
    );
}

#[test]
fn the_corrected_p_counts_and_not_the_ratios_own() {
    let up = ratio(1.03, 1.05, 1.07);
    assert_eq!(judge(&up, 0.2, 0.02, Better::Higher), Verdict::Inconclusive);
}

#[test]
fn equals_are_rarely_called_different_and_slower_servers_mostly_worse() {
    let called = |base: f64, sigma: f64, wanted: &[Verdict]| {
        let mut random = fastrand::Rng::with_seed(5);
        share(1500, || {
            let pairs: Vec<(f64, f64)> = (0..12)
                .map(|_| Noise::Contaminated.pair(base, sigma, &mut random))
                .collect();
            let ratio = Ratio::paired(&pairs).unwrap();
            wanted.contains(&judge(&ratio, ratio.p, 0.02, Better::Higher))
        })
    };
    for sigma in [0.01, 0.04, 0.1] {
        let wrong = called(1.0, sigma, &[Verdict::Improved, Verdict::Worse]);
        assert!(wrong <= 0.06, "{sigma}: {wrong}");
    }
    let seen = called(0.95, 0.02, &[Verdict::Worse]);
    assert!(seen > 0.95, "{seen}");
}

proptest! {
    #[test]
    fn with_the_sides_swapped_improved_is_worse(
        pairs in prop::collection::vec((50f64..150.0, 50f64..150.0), 2..12),
        threshold in 0.001f64..0.2,
    ) {
        let turned: Vec<(f64, f64)> = pairs.iter().map(|&(a, b)| (b, a)).collect();
        let (one, other) = (Ratio::paired(&pairs).unwrap(), Ratio::paired(&turned).unwrap());
        let expected = match judge(&one, one.p, threshold, Better::Higher) {
            Verdict::Improved => Verdict::Worse,
            Verdict::Worse => Verdict::Improved,
            same => same,
        };
        prop_assert_eq!(judge(&other, other.p, threshold, Better::Higher), expected);
        prop_assert_eq!(judge(&one, one.p, threshold, Better::Lower), expected);
    }
}
