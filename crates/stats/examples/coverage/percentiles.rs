//! Coverage of the bootstrap interval of a p99 of merged histograms.

use fastrand::Rng;
use prony_stats::bootstrap_of;

use crate::simulated::{normal, share};
use crate::table::{begin, percent, row};

const RUNS: usize = 1000;
const DRAWS: usize = 400;
const ROUNDS: [usize; 6] = [2, 3, 5, 8, 12, 20];
const RESPONSES: usize = 500;
const BUCKETS: usize = 400;

pub fn print() {
    let head: Vec<String> = std::iter::once("rounds differ by".to_owned())
        .chain(ROUNDS.map(|n| n.to_string()))
        .collect();
    let about = format!(
        "`bootstrap_of` with {DRAWS} draws: the p99 of merged histograms, {RESPONSES} responses a round, their latencies \
         log-normal, each round's slower or faster by chance; {RUNS} simulated runs each."
    );
    begin("A p99 of merged rounds", &about, &head);
    for spread in [0.0, 0.05, 0.1, 0.2, 0.3] {
        let truth = truth(spread);
        let mut cells = vec![format!("{} %", 100.0 * spread)];
        for n in ROUNDS {
            let mut random = Rng::with_seed(n as u64);
            cells.push(percent(share(RUNS, || {
                let rounds: Vec<_> = (0..n).map(|_| histogram(spread, &mut random)).collect();
                let merged = |drawn: &[usize]| Some(p99(&merge(&rounds, drawn)));
                bootstrap_of(n, DRAWS, merged)
                    .is_some_and(|(low, high)| low <= truth && truth <= high)
            })));
        }
        row(&cells);
    }
    println!();
}

/// Of logarithms with a standard deviation of 0.5 within a round; 2.3263 leaves 1 % beyond.
fn truth(spread: f64) -> f64 {
    (2.3263 * (0.25 + spread * spread).sqrt()).exp()
}

fn histogram(spread: f64, random: &mut Rng) -> Vec<u32> {
    let round = spread * normal(random);
    let mut buckets = vec![0; BUCKETS];
    for _ in 0..RESPONSES {
        let place = (0.5 * normal(random) + round + 4.0) / 8.0 * BUCKETS as f64;
        buckets[place.clamp(0.0, BUCKETS as f64 - 1.0) as usize] += 1;
    }
    buckets
}

fn merge(rounds: &[Vec<u32>], drawn: &[usize]) -> Vec<u32> {
    let mut merged = vec![0; BUCKETS];
    for &round in drawn {
        for (sum, count) in merged.iter_mut().zip(&rounds[round]) {
            *sum += count;
        }
    }
    merged
}

fn p99(buckets: &[u32]) -> f64 {
    let wanted = 0.99 * f64::from(buckets.iter().sum::<u32>());
    let mut below = 0.0;
    for (place, &count) in buckets.iter().enumerate() {
        let count = f64::from(count);
        if below + count >= wanted {
            let within = (wanted - below) / count.max(1.0);
            return ((place as f64 + within) / BUCKETS as f64 * 8.0 - 4.0).exp();
        }
        below += count;
    }
    f64::INFINITY
}
