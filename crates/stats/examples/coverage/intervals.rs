//! Coverage of the intervals of medians and of ratios.

use fastrand::Rng;
use prony_stats::{Estimate, Ratio};

use crate::simulated::{Noise, share};
use crate::table::{begin, name, percent, row};

const RUNS: usize = 20_000;
const ROUNDS: [usize; 10] = [2, 3, 4, 5, 6, 8, 10, 15, 20, 30];
/// The noise of a trial.
const SIGMA: f64 = 0.04;
/// What one truly is to its baseline.
const RATIO: f64 = 0.95;

pub fn print() {
    coverage("A median", "`Estimate`", |noise, n, random| {
        let rounds: Vec<f64> = (0..n).map(|_| noise.trial(1000.0, SIGMA, random)).collect();
        Estimate::of(&rounds).is_some_and(|found| found.low <= 1000.0 && 1000.0 <= found.high)
    });
    coverage("A paired ratio", "`Ratio::paired`", |noise, n, random| {
        let pairs: Vec<_> = (0..n).map(|_| noise.pair(RATIO, SIGMA, random)).collect();
        Ratio::paired(&pairs).is_some_and(holds)
    });
    coverage(
        "A paired ratio on a machine that drifts",
        "`Ratio::paired`; the machine loses 40 % of its speed over the run, and the two are measured half a round \
         apart, in random order",
        |noise, n, random| {
            let pairs: Vec<_> = (0..n)
                .map(|round| {
                    let machine = |part: f64| 1.0 - 0.4 * (round as f64 + part) / n as f64;
                    let (first, second) = match random.bool() {
                        true => (0.25, 0.75),
                        false => (0.75, 0.25),
                    };
                    let (one, baseline) = noise.pair(RATIO, SIGMA, random);
                    (machine(first) * one, machine(second) * baseline)
                })
                .collect();
            Ratio::paired(&pairs).is_some_and(holds)
        },
    );
    coverage(
        "A ratio of two sessions",
        "`Ratio::unpaired`",
        |noise, n, random| {
            let (values, baseline): (Vec<f64>, Vec<f64>) =
                (0..n).map(|_| noise.pair(RATIO, SIGMA, random)).unzip();
            Ratio::unpaired(&values, &baseline).is_some_and(holds)
        },
    );
}

fn holds(ratio: Ratio) -> bool {
    ratio.low <= RATIO && RATIO <= ratio.high
}

fn coverage(title: &str, what: &str, mut once: impl FnMut(Noise, usize, &mut Rng) -> bool) {
    let about = format!(
        "{what}: how many of 100 intervals hold the truth, by the number of rounds; {RUNS} simulated runs each."
    );
    let head: Vec<String> = std::iter::once("noise".to_owned())
        .chain(ROUNDS.map(|n| n.to_string()))
        .collect();
    begin(title, &about, &head);
    for noise in Noise::ALL {
        let mut cells = vec![name(noise).to_owned()];
        for n in ROUNDS {
            let mut random = Rng::with_seed(n as u64);
            cells.push(percent(share(RUNS, || once(noise, n, &mut random))));
        }
        row(&cells);
    }
    println!();
}
