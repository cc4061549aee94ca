use super::*;

const EIGHTHS: [f64; 8] = [0.125; 8];

fn near(value: f64, expected: f64) -> bool {
    (value - expected).abs() <= expected * 1e-3
}

#[test]
fn p_values_match_published_ones() {
    // A die of 60 throws (NIST's and many textbooks' kind of example): chi-square 13.4 with 5 degrees of freedom.
    let die = goodness_of_fit(&[5, 8, 9, 8, 10, 20], &[1.0 / 6.0; 6]);
    assert!(near(die, 0.019_905), "{die}");
    // A table of two rows, without Yates' correction: chi-square 21.63 with 1 degree of freedom.
    let table = independence(&[vec![90, 60], vec![30, 70]]);
    assert!(near(table, 3.298_45e-6), "{table}");
    // Of 10 throws of a coin, 9 heads: 2 × 11 / 1024.
    assert!(near(binomial(9, 10, 0.5), 22.0 / 1024.0));
    assert!(near(binomial(1, 10, 0.5), 22.0 / 1024.0));
    assert_eq!(binomial(5, 10, 0.5), 1.0);
    assert!(near(binomial(0, 50, 0.125), 2.0 * 0.875f64.powi(50)));
}

#[test]
fn without_degrees_of_freedom_nothing_is_found() {
    assert_eq!(goodness_of_fit(&[7], &[1.0]), 1.0);
    assert_eq!(goodness_of_fit(&[], &[]), 1.0);
    assert_eq!(independence(&[]), 1.0);
    assert_eq!(independence(&[vec![9, 0], vec![0, 0]]), 1.0);
    assert_eq!(binomial(0, 0, 0.5), 1.0);
}

/// Draws by `next` from the value before: counts, pairs, repeats.
fn chain(draws: usize, mut next: impl FnMut(usize) -> usize) -> (Vec<u64>, Vec<Vec<u64>>, u64) {
    let (mut counts, mut pairs, mut repeats) = (vec![0; 8], vec![vec![0; 8]; 8], 0);
    let mut before = next(0);
    counts[before] += 1;
    for _ in 1..draws {
        let value = next(before);
        counts[value] += 1;
        pairs[before][value] += 1;
        repeats += u64::from(value == before);
        before = value;
    }
    (counts, pairs, repeats)
}

/// At the level 1/500, which can be counted, 400 random draws are rejected about as often as the level says. Farther
/// tails use the same distributions.
#[test]
fn random_draws_are_rejected_as_rarely_as_the_level_says() {
    let (level, sets) = (0.002, 20_000);
    let mut random = fastrand::Rng::with_seed(11);
    let (mut refused, mut least) = ([0; 3], [1.0f64; 3]);
    for _ in 0..sets {
        let (counts, pairs, repeats) = chain(400, |_| random.usize(..8));
        let values = [
            goodness_of_fit(&counts, &EIGHTHS),
            independence(&pairs),
            binomial(repeats, 399, 0.125),
        ];
        for (test, value) in values.into_iter().enumerate() {
            refused[test] += usize::from(value < level);
            least[test] = least[test].min(value);
        }
    }
    // 40 are expected.
    assert!(
        refused.iter().all(|count| (15..=75).contains(count)),
        "{refused:?}"
    );
    assert!(least.iter().all(|&value| value > 1e-7), "{least:?}");
}

#[test]
fn draws_that_are_not_random_are_rejected_beyond_doubt() {
    let mut random = fastrand::Rng::with_seed(12);
    let (in_turn, pairs, _) = chain(400, |before| (before + 1) % 8);
    assert!(
        goodness_of_fit(&in_turn, &EIGHTHS) > 0.99,
        "as even as can be"
    );
    assert!(independence(&pairs) < 1e-100);
    let (two, ..) = chain(400, |_| random.usize(..2));
    assert!(goodness_of_fit(&two, &EIGHTHS) < 1e-100);
    let (_, _, never_again) = chain(400, |before| (before + random.usize(1..8)) % 8);
    assert!(binomial(never_again, 399, 0.125) < 1e-20);
    let (.., sticky) = chain(400, |before| {
        if random.bool() {
            before
        } else {
            random.usize(..8)
        }
    });
    assert!(binomial(sticky, 399, 0.125) < 1e-20);
}
