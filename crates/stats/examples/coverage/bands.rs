//! How often rank bands are wrong, and what differences they see.

use fastrand::Rng;
use prony_stats::{Band, Competitor, Known, Ratio, bands, common_rounds, holm};

use crate::simulated::{Noise, share};
use crate::table::{begin, name, percent, row};

const RUNS: usize = 2000;
const ROUNDS: [usize; 7] = [2, 3, 5, 6, 8, 12, 20];
const ROWS: [usize; 4] = [3, 4, 6, 17];

pub fn print() {
    equals_with_the_same_noise();
    equals_with_different_noise();
    neighbours();
}

fn equals_with_the_same_noise() {
    let about = format!(
        "`bands` of rows that are all alike, with noise of 4 %: in how many of 100 tables any row is placed at all, by the \
         number of rounds; {RUNS} simulated tables each."
    );
    begin("Equals told apart", &about, &head("rows, noise"));
    for rows in ROWS {
        for noise in Noise::ALL {
            let wrong = |rounds| placed(noise, &vec![0.04; rows], rounds);
            cells(format!("{rows}, {}", name(noise)), wrong);
        }
    }
    println!();
}

fn equals_with_different_noise() {
    let about = format!(
        "The same of rows whose noise differs, all of it normal or all of it with 1 in 10 at 5 σ; {RUNS} simulated tables \
         each."
    );
    begin(
        "Equals told apart, whose noise differs",
        &about,
        &head("rows, noise"),
    );
    for rows in ROWS {
        for (what, noise) in [
            ("", Noise::Normal),
            (", 1 in 10 at 5 σ", Noise::Contaminated),
        ] {
            for (how, sigmas) in [
                (
                    "2 %, one 20 %",
                    set(rows, |row| if row == 0 { 0.2 } else { 0.02 }),
                ),
                (
                    "2 %, half 20 %",
                    set(rows, |row| if row < rows / 2 { 0.2 } else { 0.02 }),
                ),
                (
                    "from 1 to 20 %",
                    set(rows, |row| {
                        0.01 * 20_f64.powf(row as f64 / (rows - 1) as f64)
                    }),
                ),
            ] {
                cells(format!("{rows}, {how}{what}"), |rounds| {
                    placed(noise, &sigmas, rounds)
                });
            }
        }
    }
    println!();
}

fn neighbours() {
    const TABLES: usize = 100;
    let about = format!(
        "`bands` of 17 rows, each faster than the one before by the given step: how many of 100 neighbours are told apart in the \
         right order, by the number of rounds; {TABLES} simulated tables each. The last lines have each \
         pair's noise from that pair alone."
    );
    begin("Neighbours told apart", &about, &head("noise, step"));
    for noise in [0.02, 0.05, 0.1] {
        for (what, step) in [
            ("5 %", 1.05),
            ("10 %", 1.1),
            ("25 %", 1.25),
            ("2 times", 2.0),
            ("10 times", 10.0),
        ] {
            let told = |rounds| neighbours_told(step, noise, rounds, TABLES, ranks_told);
            cells(format!("{} %, {what}", 100.0 * noise), told);
        }
    }
    for (what, noise, step) in [
        ("5 %, 25 %", 0.05, 1.25),
        ("10 %, 25 %", 0.1, 1.25),
        ("10 %, 2 times", 0.1, 2.0),
    ] {
        cells(format!("{what}, each pair by itself"), |rounds| {
            neighbours_told(step, noise, rounds, TABLES, alone_told)
        });
    }
    println!();
}

fn head(first: &str) -> Vec<String> {
    let rounds = ROUNDS.map(|n| n.to_string());
    std::iter::once(first.to_owned()).chain(rounds).collect()
}

fn cells(first: String, of: impl Fn(usize) -> f64) {
    let shares = ROUNDS.map(|rounds| percent(of(rounds)));
    row(&std::iter::once(first).chain(shares).collect::<Vec<_>>());
}

fn set(rows: usize, sigma: impl Fn(usize) -> f64) -> Vec<f64> {
    (0..rows).map(sigma).collect()
}

/// How often any of these is placed, of noise of that standard deviation each.
fn placed(noise: Noise, sigmas: &[f64], rounds: usize) -> f64 {
    let mut random = Rng::with_seed(rounds as u64);
    let open = Band {
        best: 1,
        worst: sigmas.len(),
    };
    share(RUNS, || {
        let equals: Vec<_> = sigmas
            .iter()
            .map(|&sigma| one(noise, 1000.0, sigma, rounds, &mut random))
            .collect();
        bands(&equals).iter().any(|band| *band != open)
    })
}

/// The share of neighbours that `told` says are in their order.
fn neighbours_told(
    step: f64,
    sigma: f64,
    rounds: usize,
    tables: usize,
    told: fn(&[Competitor]) -> usize,
) -> f64 {
    const ROWS: i32 = 17;
    let mut random = Rng::with_seed(rounds as u64);
    let told: usize = (0..tables)
        .map(|_| {
            let ladder: Vec<_> = (0..ROWS)
                .map(|row| one(Noise::Normal, step.powi(row), sigma, rounds, &mut random))
                .collect();
            told(&ladder)
        })
        .sum();
    told as f64 / (tables * (ROWS as usize - 1)) as f64
}

/// Neighbours of which the slower is surely behind the faster: the bands of a ladder are told by its neighbours.
fn ranks_told(ladder: &[Competitor]) -> usize {
    let order = prony_stats::Order::of(ladder);
    let pairs = (1..ladder.len()).filter(|&row| order.better(row - 1, row) == Some(row));
    pairs.count()
}

fn alone_told(ladder: &[Competitor]) -> usize {
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

fn one(noise: Noise, median: f64, sigma: f64, rounds: usize, random: &mut Rng) -> Competitor {
    Competitor {
        rounds: (0..rounds as u32)
            .map(|round| (round, noise.trial(median, sigma, random)))
            .collect(),
        known: Known::Exactly,
    }
}
