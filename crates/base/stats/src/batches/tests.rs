use super::*;

fn near(value: f64, expected: f64) -> bool {
    (value - expected).abs() <= expected.abs() * 2e-3
}

#[test]
fn with_equal_sizes_it_is_students_interval_of_the_mean() {
    // Mean 10, standard deviation 2, standard error 2 / √8; t of 7 degrees of freedom: 2.3646.
    let values = [8.0, 12.0, 8.0, 12.0, 8.0, 12.0, 10.0, 10.0];
    let stdev = (24.0_f64 / 7.0).sqrt();
    let batches = values.map(|value| (value * 3.0, 3.0));
    let interval = ratio_of_sums(&batches).unwrap();
    let reach = 2.3646 * stdev / 8.0_f64.sqrt();
    assert!(near(interval.low, 10.0 - reach), "{interval:?}");
    assert!(near(interval.high, 10.0 + reach), "{interval:?}");
}

#[test]
fn a_batch_counts_by_its_size() {
    let mut batches = vec![(1.0, 100.0); 10];
    batches.push((5.0, 5.0));
    let interval = ratio_of_sums(&batches).unwrap();
    assert!(interval.low < 15.0 / 1005.0 && 15.0 / 1005.0 < interval.high);
    assert!(interval.high < 0.05, "one tiny batch is no half of them");
}

#[test]
fn few_batches_have_no_interval() {
    assert_eq!(ratio_of_sums(&[(1.0, 2.0); 5]), None);
    assert_eq!(ratio_of_sums(&[(0.0, 0.0); 9]), None);
    assert!(ratio_of_sums(&[(1.0, 2.0); 6]).is_some());
}

#[test]
fn shares_match_published_intervals() {
    // Newcombe 1998, table I, method 3.
    for (count, all, low, high) in [
        (81, 263, 0.2553, 0.3662),
        (15, 148, 0.0624, 0.1605),
        (0, 20, 0.0, 0.1611),
        (1, 29, 0.0061, 0.1718),
    ] {
        let Interval {
            low: from,
            high: to,
        } = share_of(count, all);
        assert!((from - low).abs() < 6e-5, "{count} of {all}: {from}");
        assert!((to - high).abs() < 6e-5, "{count} of {all}: {to}");
    }
}

#[test]
fn a_share_of_nothing_is_unknown() {
    assert_eq!(
        share_of(0, 0),
        Interval {
            low: 0.0,
            high: 1.0
        }
    );
    assert!(share_of(7, 7).high > 1.0 - 1e-12);
    let of_many = share_of(10_000, 100_000_000);
    assert!(
        near(of_many.low, 0.980_6e-4) && near(of_many.high, 1.019_8e-4),
        "{of_many:?}"
    );
}

/// The share of intervals that contain the true ratio: batches of a first-order autoregression whose memory is shorter
/// than a batch.
#[test]
fn the_interval_covers_the_true_ratio() {
    let mut random = fastrand::Rng::with_seed(7);
    let loads = 2000;
    let mut covered = 0;
    for _ in 0..loads {
        let mut level = 0.0;
        let mut batch = || {
            let mut part = 0.0;
            for _ in 0..50 {
                level = 0.6 * level + random.f64() - 0.5;
                part += 1.0 + level;
            }
            (part, 50.0)
        };
        let batches: Vec<(f64, f64)> = (0..20).map(|_| batch()).collect();
        let interval = ratio_of_sums(&batches).unwrap();
        covered += u32::from(interval.low <= 1.0 && 1.0 <= interval.high);
    }
    let share = f64::from(covered) / f64::from(loads);
    assert!((0.925..=0.97).contains(&share), "{share}");
}

#[test]
fn as_many_cases_as_are_needed_show_a_limit_and_one_less_does_not() {
    assert_eq!(
        [0.001, 0.01, 0.5].map(cases_to_show),
        [Some(3838), Some(381), Some(4)]
    );
    assert_eq!(
        [0.0, 1.0, f64::NAN, 1e-300].map(cases_to_show),
        [None, None, None, Some(u64::MAX)]
    );
    for limit in [0.0001, 0.001, 0.02, 0.3] {
        let needed = cases_to_show(limit).unwrap();
        assert!(share_of(0, needed).high < limit, "{limit}");
        assert!(share_of(0, needed - 1).high >= limit, "{limit}");
    }
}
