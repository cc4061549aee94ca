use proptest::prelude::*;

use super::*;

#[test]
fn the_correlation_of_rising_values_is_1_and_of_falling_ones_minus_1() {
    let one = [1.0, 2.0, 3.0, 4.0, 5.0];
    let Correlation { rho, p } = spearman(&one, &[10.0, 20.0, 400.0, 500.0, 501.0]).unwrap();
    // Of the 120 orders only two are as far out.
    assert!(
        (rho - 1.0).abs() < 1e-9 && (p - 2.0 / 120.0).abs() < 1e-9,
        "{rho} {p}"
    );
    let falling = spearman(&one, &[5.0, 4.0, 3.0, 2.0, 1.0]).unwrap();
    assert!((falling.rho + 1.0).abs() < 1e-9);
}

#[test]
fn p_values_match_published_tables() {
    // Ranks whose squared differences sum to 36: 1 - 6 × 36 / 990 = 0.782; tables give 0.05 at 0.648 and 0.01 at
    // 0.794 of ten.
    let one: Vec<f64> = (1..=10).map(f64::from).collect();
    let other = [4.0, 2.0, 3.0, 1.0, 5.0, 9.0, 7.0, 8.0, 6.0, 10.0];
    let Correlation { rho, p } = spearman(&one, &other).unwrap();
    assert!((rho - (1.0 - 6.0 * 36.0 / 990.0)).abs() < 1e-9, "{rho}");
    assert!((0.008..0.016).contains(&p), "{p}");
}

#[test]
fn values_that_cannot_be_ranked_have_no_correlation() {
    assert_eq!(spearman(&[1.0, 2.0, 3.0], &[1.0, 2.0, 3.0]), None);
    assert_eq!(spearman(&[1.0; 5], &[1.0, 2.0, 3.0, 4.0, 5.0]), None);
    assert_eq!(spearman(&[1.0, 2.0, 3.0, 4.0], &[1.0, 2.0, 3.0]), None);
    assert_eq!(
        spearman(&[1.0, 2.0, 3.0, f64::NAN], &[1.0, 2.0, 3.0, 4.0]),
        None
    );
}

#[test]
fn chance_gives_small_p_values_as_often_as_they_say() {
    for n in [6, 12] {
        let mut random = fastrand::Rng::with_seed(6);
        let mut values = || -> Vec<f64> { (0..n).map(|_| random.f64()).collect() };
        let called = (0..200)
            .filter(|_| spearman(&values(), &values()).unwrap().p < 0.05)
            .count();
        assert!(called <= 20, "{n}: {called}");
    }
}

proptest! {
    #[test]
    fn correlation_is_symmetric_and_changes_sign_with_either_side(
        pairs in prop::collection::vec((0f64..10.0, 0f64..10.0), 4..8),
    ) {
        let (one, other): (Vec<f64>, Vec<f64>) = pairs.into_iter().unzip();
        let negative: Vec<f64> = other.iter().map(|value| -value).collect();
        if let Some(Correlation { rho, p }) = spearman(&one, &other) {
            let back = spearman(&other, &one).unwrap();
            let turned = spearman(&one, &negative).unwrap();
            prop_assert!((rho - back.rho).abs() < 1e-9 && (rho + turned.rho).abs() < 1e-9);
            prop_assert!((p - back.p).abs() < 1e-9 && (p - turned.p).abs() < 1e-9);
            prop_assert!((-1.0..=1.0).contains(&rho) && (0.0..=1.0).contains(&p) && p > 0.0);
        }
    }
}
