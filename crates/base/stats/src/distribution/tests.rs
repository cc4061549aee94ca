use super::*;

#[test]
fn counts_match_published_tables() {
    assert_eq!(signed_rank_counts(3), [1.0, 1.0, 1.0]);
    assert_eq!(
        signed_rank_counts(5),
        [1.0, 1.0, 1.0, 2.0, 2.0, 3.0, 3.0, 3.0]
    );
    assert_eq!(rank_sum_counts(2, 2), [1.0, 1.0]);
    assert_eq!(rank_sum_counts(3, 3), [1.0, 1.0, 2.0, 3.0, 3.0]);
}

#[test]
fn signed_rank_chances_match_published_tables() {
    // The greatest sums that a one-sided test at 2.5 % still refuses (Wilcoxon and Wilcox 1964).
    for (n, critical) in [
        (6, 0),
        (8, 3),
        (10, 8),
        (15, 25),
        (20, 52),
        (25, 89),
        (30, 137),
    ] {
        let chances = signed_rank(n);
        assert!(chances[critical] <= 0.025, "{n}: {}", chances[critical]);
        assert!(
            chances[critical + 1] > 0.025,
            "{n}: {}",
            chances[critical + 1]
        );
    }
    assert!((signed_rank(10)[8] - 25.0 / 1024.0).abs() < 1e-12);
}

#[test]
fn rank_sum_chances_match_published_tables() {
    // Likewise for the Mann-Whitney statistic (Mann and Whitney 1947; Milton 1964).
    for (n, m, critical) in [
        (4, 4, 0),
        (5, 5, 2),
        (5, 8, 6),
        (8, 8, 13),
        (10, 10, 23),
        (20, 20, 127),
    ] {
        let chances = rank_sum(n, m);
        assert!(chances[critical] <= 0.025, "{n} {m}: {}", chances[critical]);
        assert!(
            chances[critical + 1] > 0.025,
            "{n} {m}: {}",
            chances[critical + 1]
        );
    }
}

#[test]
fn every_way_is_counted_once() {
    for n in 1..=9 {
        for m in 1..=9 {
            let (counted, tried) = (rank_sum_counts(n, m), rank_sum_tried(n, m));
            assert_eq!(counted, tried[..counted.len()], "{n} {m}");
        }
    }
}

/// By enumerating each choice of `n` places among `n + m`.
fn rank_sum_tried(n: usize, m: usize) -> Vec<f64> {
    let mut counts = vec![0.0; n * m + 1];
    for choice in 0_u32..1 << (n + m) {
        if choice.count_ones() as usize == n {
            let pairs: u32 = (0..n + m)
                .filter(|place| choice >> place & 1 == 1)
                .map(|place| (!choice & ((1 << place) - 1)).count_ones())
                .sum();
            counts[pairs as usize] += 1.0;
        }
    }
    counts
}

#[test]
fn the_approximation_agrees_with_the_counts_at_the_switch() {
    let close = |counted: Vec<f64>, approximated: Vec<f64>| {
        assert_eq!(counted.len(), approximated.len());
        for (one, other) in counted.iter().zip(&approximated) {
            assert!(
                *one < 1e-4 || (one / other - 1.0).abs() < 0.03,
                "{one} {other}"
            );
        }
    };
    let n = COUNTED_PAIRS + 1;
    let counts = signed_rank_counts(n);
    close(at_most(counts, 0.5_f64.powi(n as i32)), signed_rank(n));
    let counts = rank_sum_counts(51, 60);
    close(
        at_most(counts, 1.0 / ways_to_choose(51, 111)),
        rank_sum(60, 51),
    );
    let counts = rank_sum_counts(25, 300);
    close(
        at_most(counts, 1.0 / ways_to_choose(25, 325)),
        rank_sum(25, 300),
    );
}

#[test]
fn chances_grow_to_one_half_for_any_size() {
    for chances in [
        signed_rank(2),
        signed_rank(59),
        signed_rank(500),
        rank_sum(2, 2),
        rank_sum(49, 50),
        rank_sum(300, 400),
    ] {
        assert!(chances.windows(2).all(|pair| pair[0] <= pair[1]));
        let last = chances[chances.len() - 1];
        assert!(chances[0] > 0.0 && (0.3..=0.5).contains(&last), "{last}");
    }
}

#[test]
fn students_quantiles_match_published_tables() {
    for (freedom, miss_chance, expected) in [
        (1.0, 0.05, 12.706),
        (4.0, 0.05, 2.776),
        (4.0, 0.01, 4.604),
        (9.0, 0.001, 4.781),
        (1000.0, 0.05, 1.962),
    ] {
        let reached = student_reach(miss_chance, freedom);
        assert!((reached - expected).abs() < 1e-3, "{freedom} {reached}");
        assert!((student_miss(reached, freedom) - miss_chance).abs() < 1e-9);
    }
}
