//! Coverage of intervals that ended the measuring by being narrow.

use fastrand::Rng;
use prony_stats::{LEAST_ROUNDS, Ratio, enough};

use crate::simulated::Noise;
use crate::table::{begin, name, percent, row};

const RUNS: usize = 10_000;
const MOST_ROUNDS: usize = 200;
const PRECISION: f64 = 0.03;
const SIGMAS: [f64; 6] = [0.01, 0.02, 0.03, 0.04, 0.05, 0.06];

pub fn print() {
    for comparisons in [1, 4] {
        let head: Vec<String> = std::iter::once("noise of a trial".to_owned())
            .chain(SIGMAS.map(|sigma| format!("{} %", 100.0 * sigma)))
            .collect();
        let about = format!(
            "`enough`, asked after every round, {comparisons} comparison{} to ±{} %: how many of 100 intervals hold the \
             truth at the end, and after how many rounds (mean) it came; {} simulated runs each.",
            if comparisons > 1 { "s at once" } else { "" },
            100.0 * PRECISION,
            RUNS / comparisons,
        );
        let title =
            format!("Rounds added until {comparisons} of {comparisons} intervals are narrow");
        begin(&title, &about, &head);
        for noise in [Noise::Normal, Noise::Laplace, Noise::Contaminated] {
            let mut cells = vec![name(noise).to_owned()];
            for sigma in SIGMAS {
                let (held, rounds) = simulate(noise, sigma, comparisons);
                cells.push(format!("{} ({rounds:.0})", percent(held)));
            }
            row(&cells);
        }
        println!();
    }
}

/// The share of all intervals that held the truth, and the mean number of rounds.
fn simulate(noise: Noise, sigma: f64, comparisons: usize) -> (f64, f64) {
    let mut random = Rng::with_seed(11);
    let (mut held, mut rounds) = (0, 0);
    let runs = RUNS / comparisons;
    for _ in 0..runs {
        // Each is compared with the same baseline, so that the comparisons depend on each other.
        let mut pairs = vec![Vec::new(); comparisons];
        let ratios = loop {
            let baseline = noise.trial(1000.0, sigma, &mut random);
            for pairs in &mut pairs {
                pairs.push((noise.trial(1000.0, sigma, &mut random), baseline));
            }
            let made = pairs[0].len();
            if made < LEAST_ROUNDS {
                continue;
            }
            let ratios: Vec<Ratio> = pairs
                .iter()
                .filter_map(|pairs| Ratio::paired(pairs))
                .collect();
            if enough(&ratios, PRECISION) || made == MOST_ROUNDS {
                rounds += made;
                break ratios;
            }
        };
        held += ratios
            .iter()
            .filter(|ratio| ratio.low <= 1.0 && 1.0 <= ratio.high)
            .count();
    }
    (
        held as f64 / (runs * comparisons) as f64,
        rounds as f64 / runs as f64,
    )
}
