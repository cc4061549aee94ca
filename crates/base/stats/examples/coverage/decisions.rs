//! How often verdicts, bands and trends are wrong, and how often they find what is there.

use fastrand::Rng;
use prony_stats::{
    Band, Better, Competitor, Known, Order, Ratio, Verdict, bands, common_rounds, grows, holm,
    judge, warm_up_rise,
};

use crate::simulated::{Noise, normal, share};
use crate::{begin, name, percent, row};

pub(crate) fn print() {
    verdicts();
    equals_with_the_same_noise();
    equals_with_different_noise();
    adjacent_rows();
    trends();
}

fn verdicts() {
    const RUNS: usize = 20_000;
    const THRESHOLD: f64 = 0.02;
    const ROUNDS: [usize; 5] = [5, 10, 15, 20, 30];
    // How often a server with that ratio to its baseline is called worse; an equal one, worse or improved.
    let called = |noise: Noise, sigma: f64, ratio: f64, n: usize| {
        let mut random = Rng::with_seed(n as u64);
        share(RUNS, || {
            let pairs: Vec<_> = (0..n)
                .map(|_| noise.pair(ratio, sigma, &mut random))
                .collect();
            let found = Ratio::paired(&pairs);
            match found.map(|found| judge(&found, found.p, THRESHOLD, Better::Higher)) {
                Some(Verdict::Worse) => true,
                Some(Verdict::Improved) => ratio == 1.0,
                _ => false,
            }
        })
    };
    for (title, ratio) in [
        ("Equal, but called different", 1.0),
        ("Slower by 3 %, and called worse", 0.97),
        ("Slower by 5 %, and called worse", 0.95),
    ] {
        let about = format!(
            "`judge` with a threshold of {} %: in how many of 100 comparisons, by the number of rounds; {RUNS} \
             simulated runs each.",
            100.0 * THRESHOLD
        );
        begin(title, &about, "noise of a trial", ROUNDS);
        for noise in [Noise::Normal, Noise::Contaminated] {
            for sigma in [0.005, 0.01, 0.02, 0.04, 0.08] {
                let label = format!("{}, {} %", name(noise), 100.0 * sigma);
                row(
                    &label,
                    ROUNDS.map(|n| percent(called(noise, sigma, ratio, n))),
                );
            }
        }
    }
}

const TABLES: usize = 2000;
const ROUNDS: [usize; 7] = [2, 3, 5, 6, 8, 12, 20];
const ROWS: [usize; 4] = [3, 4, 6, 17];

fn equals_with_the_same_noise() {
    let about = format!(
        "`bands` of equal rows, with noise of 4 %: in how many of 100 tables any row is placed at all, by the number of \
         rounds; {TABLES} simulated tables each."
    );
    begin("Equals told apart", &about, "rows, noise", ROUNDS);
    for rows in ROWS {
        for noise in Noise::ALL {
            let placed = ROUNDS.map(|rounds| placed(noise, &vec![0.04; rows], rounds));
            row(&format!("{rows}, {}", name(noise)), placed);
        }
    }
}

fn equals_with_different_noise() {
    let about = format!(
        "The same for rows whose noise differs, all of it normal or all of it with 1 in 10 at 5 σ; {TABLES} simulated \
         tables each."
    );
    begin(
        "Equals with different noise told apart",
        &about,
        "rows, noise",
        ROUNDS,
    );
    for rows in ROWS {
        let noisy = |count: usize| (0..rows).map(move |row| if row < count { 0.2 } else { 0.02 });
        let graded = (0..rows).map(|row| 0.01 * 20_f64.powf(row as f64 / (rows - 1) as f64));
        for (what, noise) in [
            ("", Noise::Normal),
            (", 1 in 10 at 5 σ", Noise::Contaminated),
        ] {
            let sets: [(&str, Vec<f64>); 3] = [
                ("2 %, one 20 %", noisy(1).collect()),
                ("2 %, half 20 %", noisy(rows / 2).collect()),
                ("from 1 to 20 %", graded.clone().collect()),
            ];
            for (how, sigmas) in sets {
                let placed = ROUNDS.map(|rounds| placed(noise, &sigmas, rounds));
                row(&format!("{rows}, {how}{what}"), placed);
            }
        }
    }
}

/// How often any of these rows is placed; each has noise of its own standard deviation.
fn placed(noise: Noise, sigmas: &[f64], rounds: usize) -> String {
    let mut random = Rng::with_seed(rounds as u64);
    let open = Band {
        best: 1,
        worst: sigmas.len(),
    };
    percent(share(TABLES, || {
        let equals: Vec<_> = sigmas
            .iter()
            .map(|&sigma| competitor(noise, 1000.0, sigma, rounds, &mut random))
            .collect();
        bands(&equals).iter().any(|band| *band != open)
    }))
}

fn adjacent_rows() {
    const TABLES: usize = 100;
    let about = format!(
        "`bands` of 17 rows, each faster than the one before by the given step: how many of 100 adjacent pairs it tells \
         apart in the right order, by the number of rounds; {TABLES} simulated tables each. The last lines use each \
         pair's own noise only."
    );
    begin("Adjacent rows told apart", &about, "noise, step", ROUNDS);
    for noise in [0.02, 0.05, 0.1] {
        for (what, step) in [
            ("5 %", 1.05),
            ("10 %", 1.1),
            ("25 %", 1.25),
            ("2 times", 2.0),
            ("10 times", 10.0),
        ] {
            let told = ROUNDS.map(|rounds| adjacent_told(step, noise, rounds, TABLES, by_order));
            row(&format!("{} %, {what}", 100.0 * noise), told);
        }
    }
    for (what, noise, step) in [
        ("5 %, 25 %", 0.05, 1.25),
        ("10 %, 25 %", 0.1, 1.25),
        ("10 %, 2 times", 0.1, 2.0),
    ] {
        let told = ROUNDS.map(|rounds| adjacent_told(step, noise, rounds, TABLES, by_ratios));
        row(&format!("{what}, each pair by itself"), told);
    }
}

/// The share of adjacent pairs that `told` finds in the right order.
fn adjacent_told(
    step: f64,
    sigma: f64,
    rounds: usize,
    tables: usize,
    told: fn(&[Competitor]) -> usize,
) -> String {
    const ROWS: i32 = 17;
    let mut random = Rng::with_seed(rounds as u64);
    let told: usize = (0..tables)
        .map(|_| {
            let ladder: Vec<_> = (0..ROWS)
                .map(|row| competitor(Noise::Normal, step.powi(row), sigma, rounds, &mut random))
                .collect();
            told(&ladder)
        })
        .sum();
    percent(told as f64 / (tables * (ROWS as usize - 1)) as f64)
}

fn by_order(ladder: &[Competitor]) -> usize {
    let order = Order::of(ladder);
    let pairs = (1..ladder.len()).filter(|&row| order.better(row - 1, row) == Some(row));
    pairs.count()
}

fn by_ratios(ladder: &[Competitor]) -> usize {
    let mut ratios = Vec::new();
    for (slow, one) in ladder.iter().enumerate() {
        for (fast, other) in ladder.iter().enumerate().skip(slow + 1) {
            let ratio = Ratio::paired(&common_rounds(&other.rounds, &one.rounds));
            ratios.extend(ratio.map(|ratio| (fast - slow, ratio)));
        }
    }
    let p: Vec<f64> = ratios.iter().map(|(_, ratio)| ratio.p).collect();
    let told = ratios.iter().zip(holm(&p));
    told.filter(|((apart, ratio), p)| *apart == 1 && *p < 0.05 && ratio.ratio > 1.0)
        .count()
}

fn competitor(
    noise: Noise,
    median: f64,
    sigma: f64,
    rounds: usize,
    random: &mut Rng,
) -> Competitor {
    Competitor {
        rounds: (0..rounds as u32)
            .map(|round| (round, noise.trial(median, sigma, random)))
            .collect(),
        known: Known::Exactly,
    }
}

fn trends() {
    const RUNS: usize = 4000;
    const LENGTHS: [usize; 5] = [12, 20, 40, 60, 500];
    let about = format!(
        "In how many of 100 series, by the number of intervals; {RUNS} simulated series each. ρ is the correlation of \
         adjacent values. The warm-up is an exponential approach of which 5 % remain after a third of the time; the \
         trend is linear, five times the noise over the whole series."
    );
    begin("Warm-up and growth", &about, "series", LENGTHS);
    let print = |what: &str, correlation: f64, found: &dyn Fn(usize, &mut Rng) -> bool| {
        let found = LENGTHS.map(|n| {
            let mut random = Rng::with_seed(n as u64);
            percent(share(RUNS, || found(n, &mut random)))
        });
        row(&format!("{what}, ρ = {correlation}"), found);
    };
    let warming = |time: f64| 1.0 - 0.2 * (-9.0 * time).exp();
    for rho in [0.0, 0.5] {
        print("noise of 10 %, called a warm-up", rho, &|n, random| {
            warm_up_rise(&series(n, rho, 0.1, |_| 1.0, random)).is_some()
        });
        print("warm-up of 20 %, noise of 3 %, seen", rho, &|n, random| {
            warm_up_rise(&series(n, rho, 0.03, warming, random)).is_some()
        });
        print("noise, called a trend", rho, &|n, random| {
            grows(&series(n, rho, 0.1, |_| 1.0, random))
        });
        print("trend, seen", rho, &|n, random| {
            grows(&series(n, rho, 0.1, |time| 1.0 + 0.5 * time, random))
        });
    }
}

/// A level over the time from 0 to 1, with noise whose adjacent values are correlated.
fn series(
    n: usize,
    correlation: f64,
    noise: f64,
    level: impl Fn(f64) -> f64,
    random: &mut Rng,
) -> Vec<f64> {
    let fresh = (1.0 - correlation * correlation).sqrt();
    let mut one = normal(random);
    (0..n)
        .map(|place| {
            one = correlation * one + fresh * normal(random);
            1000.0 * (level((place as f64 + 0.5) / n as f64) + noise * one)
        })
        .collect()
}
