//! Coverage of the intervals: of medians, of ratios, of merged percentiles, and of those that end the measuring.

use fastrand::Rng;
use prony_stats::{Estimate, LEAST_ROUNDS, Ratio, bootstrap_of, enough};

use crate::simulated::{Noise, normal, share};
use crate::{begin, name, percent, row};

pub(crate) fn print() {
    medians_and_ratios();
    merged_percentiles();
    added_rounds(1);
    added_rounds(4);
}

fn medians_and_ratios() {
    /// The noise of a trial.
    const SIGMA: f64 = 0.04;
    /// The true ratio to the baseline.
    const RATIO: f64 = 0.95;
    let holds = |ratio: Ratio| ratio.low <= RATIO && RATIO <= ratio.high;
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
                    let (first, second) = if random.bool() {
                        (0.25, 0.75)
                    } else {
                        (0.75, 0.25)
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

fn coverage(title: &str, what: &str, mut once: impl FnMut(Noise, usize, &mut Rng) -> bool) {
    const RUNS: usize = 20_000;
    const ROUNDS: [usize; 10] = [2, 3, 4, 5, 6, 8, 10, 15, 20, 30];
    let about = format!(
        "{what}: how many of 100 intervals contain the truth, by the number of rounds; {RUNS} simulated runs each."
    );
    begin(title, &about, "noise", ROUNDS);
    for noise in Noise::ALL {
        let held = ROUNDS.map(|n| {
            let mut random = Rng::with_seed(n as u64);
            percent(share(RUNS, || once(noise, n, &mut random)))
        });
        row(name(noise), held);
    }
}

const BUCKETS: usize = 400;
const RESPONSES: usize = 500;

fn merged_percentiles() {
    const RUNS: usize = 1000;
    const DRAWS: usize = 400;
    const ROUNDS: [usize; 6] = [2, 3, 5, 8, 12, 20];
    let about = format!(
        "`bootstrap_of` with {DRAWS} draws: the p99 of merged histograms, {RESPONSES} responses a round with log-normal \
         latencies, each round slower or faster by chance; {RUNS} simulated runs each."
    );
    begin("A p99 of merged rounds", &about, "rounds differ by", ROUNDS);
    for spread in [0.0_f64, 0.05, 0.1, 0.2, 0.3] {
        // Logarithms have a standard deviation of 0.5 within a round; 2.3263 leaves 1 % beyond.
        let truth = (2.3263 * (0.25 + spread * spread).sqrt()).exp();
        let held = ROUNDS.map(|n| {
            let mut random = Rng::with_seed(n as u64);
            percent(share(RUNS, || {
                let rounds: Vec<_> = (0..n).map(|_| histogram(spread, &mut random)).collect();
                let merged = |drawn: &[usize]| Some(p99(&merge(&rounds, drawn)));
                bootstrap_of(n, DRAWS, merged)
                    .is_some_and(|(low, high)| low <= truth && truth <= high)
            }))
        });
        row(&format!("{} %", 100.0 * spread), held);
    }
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

/// Intervals that ended the measuring by being narrow.
fn added_rounds(comparisons: usize) {
    const SIGMAS: [f64; 6] = [0.01, 0.02, 0.03, 0.04, 0.05, 0.06];
    let about = format!(
        "`enough`, asked after every round, {comparisons} comparison{} to ±{} %: how many of 100 intervals contain the \
         truth at the end, and after how many rounds (mean) it came; {} simulated runs each.",
        if comparisons > 1 { "s at once" } else { "" },
        100.0 * PRECISION,
        STOPPED_RUNS / comparisons,
    );
    let title = format!("Rounds added until {comparisons} of {comparisons} intervals are narrow");
    let columns = SIGMAS.map(|sigma| format!("{} %", 100.0 * sigma));
    begin(&title, &about, "noise of a trial", columns);
    for noise in [Noise::Normal, Noise::Laplace, Noise::Contaminated] {
        let cells = SIGMAS.map(|sigma| {
            let (held, rounds) = until_narrow(noise, sigma, comparisons);
            format!("{} ({rounds:.0})", percent(held))
        });
        row(name(noise), cells);
    }
}

const STOPPED_RUNS: usize = 10_000;
const MOST_ROUNDS: usize = 200;
const PRECISION: f64 = 0.03;

/// The share of intervals that contained the truth, and the mean number of rounds.
fn until_narrow(noise: Noise, sigma: f64, comparisons: usize) -> (f64, f64) {
    let mut random = Rng::with_seed(11);
    let (mut held, mut rounds) = (0, 0);
    let runs = STOPPED_RUNS / comparisons;
    for _ in 0..runs {
        // All are compared with the same baseline, so the comparisons depend on each other.
        let mut pairs = vec![Vec::new(); comparisons];
        let ratios = loop {
            let baseline = noise.trial(1000.0, sigma, &mut random);
            for pairs in &mut pairs {
                pairs.push((noise.trial(1000.0, sigma, &mut random), baseline));
            }
            let measured = pairs[0].len();
            if measured < LEAST_ROUNDS {
                continue;
            }
            let ratios: Vec<Ratio> = pairs
                .iter()
                .filter_map(|pairs| Ratio::paired(pairs))
                .collect();
            if enough(&ratios, PRECISION) || measured == MOST_ROUNDS {
                rounds += measured;
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
