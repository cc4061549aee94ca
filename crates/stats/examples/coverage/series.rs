//! How often a series seems to warm up or to grow, where it does and where it does not.

use fastrand::Rng;
use prony_stats::{grows, warm_up_rise};

use crate::simulated::{normal, share};
use crate::table::{begin, percent, row};

const RUNS: usize = 4000;
const LENGTHS: [usize; 5] = [12, 20, 40, 60, 500];

pub fn print() {
    let head: Vec<String> = std::iter::once("series".to_owned())
        .chain(LENGTHS.map(|n| n.to_string()))
        .collect();
    let about = format!(
        "In how many of 100 series, by the number of intervals; {RUNS} simulated series each. ρ is the correlation of \
         neighbours. A warm-up is a rise whose rest decays evenly; after a third of the time 5 % of it are left. A trend is \
         an even one, of five times the noise over the whole."
    );
    begin("Warm-up and growth", &about, &head);
    for correlation in [0.0, 0.5] {
        print_row(
            "noise of 10 %, called a warm-up",
            correlation,
            |n, random| warm_up_rise(&series(n, correlation, 0.1, |_| 1.0, random)).is_some(),
        );
        print_row(
            "warm-up of 20 %, noise of 3 %, seen",
            correlation,
            |n, random| {
                let level = |time: f64| 1.0 - 0.2 * (-9.0 * time).exp();
                warm_up_rise(&series(n, correlation, 0.03, level, random)).is_some()
            },
        );
        print_row("noise, said to grow", correlation, |n, random| {
            grows(&series(n, correlation, 0.1, |_| 1.0, random))
        });
        print_row("trend, seen", correlation, |n, random| {
            grows(&series(
                n,
                correlation,
                0.1,
                |time| 1.0 + 0.5 * time,
                random,
            ))
        });
    }
    println!();
}

fn print_row(what: &str, correlation: f64, once: impl Fn(usize, &mut Rng) -> bool) {
    let mut cells = vec![format!("{what}, ρ = {correlation}")];
    for n in LENGTHS {
        let mut random = Rng::with_seed(n as u64);
        cells.push(percent(share(RUNS, || once(n, &mut random))));
    }
    row(&cells);
}

/// A level over the time from 0 to 1, with noise of which neighbours are correlated.
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
