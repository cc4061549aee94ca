//! How often verdicts are wrong, and how often they see what is there.

use fastrand::Rng;
use prony_stats::{Better, Ratio, Verdict, judge};

use crate::simulated::{Noise, share};
use crate::table::{begin, name, percent, row};

const RUNS: usize = 20_000;
const THRESHOLD: f64 = 0.02;
const ROUNDS: [usize; 5] = [5, 10, 15, 20, 30];

pub fn print() {
    for (title, ratio) in [
        ("Alike, and called different", 1.0),
        ("Slower by 3 %, and called worse", 0.97),
        ("Slower by 5 %, and called worse", 0.95),
    ] {
        let head: Vec<String> = std::iter::once("noise of a trial".to_owned())
            .chain(ROUNDS.map(|n| n.to_string()))
            .collect();
        let about = format!(
            "`judge` with a threshold of {} %: in how many of 100 comparisons, by the number of rounds; {RUNS} \
             simulated runs each.",
            100.0 * THRESHOLD
        );
        begin(title, &about, &head);
        for noise in [Noise::Normal, Noise::Contaminated] {
            for sigma in [0.005, 0.01, 0.02, 0.04, 0.08] {
                let mut cells = vec![format!("{}, {} %", name(noise), 100.0 * sigma)];
                cells.extend(ROUNDS.map(|n| percent(called(noise, sigma, ratio, n))));
                row(&cells);
            }
        }
        println!();
    }
}

/// How often one of that ratio to its baseline is called worse; of two alike, worse or improved.
fn called(noise: Noise, sigma: f64, ratio: f64, n: usize) -> f64 {
    let mut random = Rng::with_seed(n as u64);
    share(RUNS, || {
        let pairs: Vec<_> = (0..n)
            .map(|_| noise.pair(ratio, sigma, &mut random))
            .collect();
        let verdict =
            Ratio::paired(&pairs).map(|ratio| judge(&ratio, ratio.p, THRESHOLD, Better::Higher));
        match verdict {
            Some(Verdict::Worse) => true,
            Some(Verdict::Improved) => ratio == 1.0,
            _ => false,
        }
    })
}
