//! Chooses the responses that are compared whole with the expected one.

use super::clock::Nanoseconds;
use crate::plan::SampleChoice;

/// How many responses per second to compare at random, over all workers of all agents. A server that is wrong in 1 % of its responses
/// is found within a second with a probability of 1 − 0.99^700 = 99.9 %. Keeping and comparing a page of 100 KiB takes
/// some 20 µs: at most 1.4 % of a CPU.
const COMPARED_PER_S: f64 = 700.0;
/// How often to measure the rate, which determines the share to sample.
const LOOK: Nanoseconds = 10_000_000;
/// The first time is earlier, so that few are compared before the rate is known.
const FIRST_LOOK: Nanoseconds = 1_000_000;
/// The part of the rate that remains after an interval without a request: after a pause not all of the next burst is
/// sampled.
const DECAY: f64 = 0.9;

/// Chooses responses for one worker. Each request is sampled independently at random, so that no period of a server,
/// and no place in a batch, is favoured.
#[derive(Debug)]
pub(super) struct Sampler {
    choice: Choice,
    /// Whether to sample the next response in any case.
    first: bool,
}

#[derive(Debug)]
enum Choice {
    Never,
    EveryNth { n: u64, until_next: u64 },
    AtRandom(Coins),
}

#[derive(Debug)]
struct Coins {
    random: fastrand::Rng,
    /// How many responses this worker should compare per second.
    target_per_s: f64,
    /// The current share (0 to 1) to sample.
    share: f64,
    /// How many requests to pass over before the next sampled one.
    gap: u64,
    /// Requests since the rate was last measured, when that was and when it is next.
    requests: u64,
    looked: Nanoseconds,
    look: Nanoseconds,
    rate_per_s: f64,
}

impl Sampler {
    /// For one of `workers` workers; `None` compares nothing.
    pub(super) fn new(choice: Option<SampleChoice>, workers: usize, random: fastrand::Rng) -> Self {
        let choice = match choice {
            None => Choice::Never,
            Some(SampleChoice::EveryNth(n)) => Choice::EveryNth {
                n: n.get(),
                until_next: 0,
            },
            Some(SampleChoice::AtRandom) => Choice::AtRandom(Coins {
                random,
                target_per_s: COMPARED_PER_S / workers as f64,
                share: 1.0,
                gap: 0,
                requests: 0,
                looked: 0,
                look: 0,
                rate_per_s: 0.0,
            }),
        };
        Self {
            choice,
            first: true,
        }
    }

    /// Samples the first response of a new phase.
    pub(super) fn begin_phase(&mut self) {
        self.first = true;
    }

    /// Whether to keep the response to the request that is sent now.
    #[inline]
    pub(super) fn takes_next(&mut self, now: Nanoseconds) -> bool {
        let drawn = match &mut self.choice {
            Choice::Never => return false,
            Choice::EveryNth { n, until_next } => {
                if self.first {
                    *until_next = 0;
                }
                let is_due = *until_next == 0;
                *until_next = if is_due { *n } else { *until_next } - 1;
                is_due
            }
            Choice::AtRandom(coins) => coins.draw(now),
        };
        std::mem::replace(&mut self.first, false) || drawn
    }
}

impl Coins {
    #[inline]
    fn draw(&mut self, now: Nanoseconds) -> bool {
        if now >= self.look {
            self.look_at_rate(now);
        }
        self.requests += 1;
        if self.gap > 0 {
            self.gap -= 1;
            return false;
        }
        self.draw_gap();
        true
    }

    /// Sets the share from the recent rate.
    #[cold]
    fn look_at_rate(&mut self, now: Nanoseconds) {
        if self.look == 0 {
            (self.looked, self.look) = (now, now + FIRST_LOOK);
            return;
        }
        let elapsed = (now - self.looked).max(1) as f64;
        let rate_per_s = self.requests as f64 / (elapsed / 1e9);
        let before = self.rate_per_s * DECAY.powf(elapsed / LOOK as f64);
        self.rate_per_s = rate_per_s.max(before);
        self.share = (self.target_per_s / self.rate_per_s).min(1.0);
        (self.requests, self.looked, self.look) = (0, now, now + LOOK);
        // The samples are independent, so the gap may be redrawn.
        self.draw_gap();
    }

    /// How many requests in a row are not sampled: geometrically distributed.
    fn draw_gap(&mut self) {
        self.gap = if self.share >= 1.0 {
            0
        } else {
            // Above 0, so that its logarithm is finite.
            let uniform = 1.0 - self.random.f64();
            (uniform.ln() / (-self.share).ln_1p()) as u64
        };
    }
}

#[cfg(test)]
mod tests {
    use std::num::NonZeroU64;

    use super::*;

    /// The numbers of the requests sampled in `seconds` at an even rate.
    fn drawn(sampler: &mut Sampler, from_s: f64, rate_per_s: f64, seconds: f64) -> Vec<u64> {
        let requests = (rate_per_s * seconds) as u64;
        let at = |number: u64| ((from_s + number as f64 / rate_per_s) * 1e9) as Nanoseconds;
        (0..requests)
            .filter(|&number| sampler.takes_next(at(number) + 1))
            .collect()
    }

    fn at_random(workers: usize, seed: u64) -> Sampler {
        let random = fastrand::Rng::with_seed(seed);
        Sampler::new(Some(SampleChoice::AtRandom), workers, random)
    }

    #[test]
    fn the_number_compared_per_second_does_not_depend_on_the_rate() {
        for rate in [1_000.0, 10_000.0, 100_000.0, 1_000_000.0] {
            let count = drawn(&mut at_random(1, 1), 0.0, rate, 1.0).len();
            // In the first millisecond all are sampled, and a rate of ten requests per interval is known only roughly.
            assert!((600..=1_800).contains(&count), "{count} of {rate}/s");
            let later = drawn(&mut at_random(1, 2), 1.0, rate, 5.0).len();
            assert!((3_000..=6_000).contains(&later), "{later} of {rate}/s");
        }
        assert_eq!(drawn(&mut at_random(1, 1), 0.0, 400.0, 1.0).len(), 400);
        let half = drawn(&mut at_random(2, 1), 0.0, 100_000.0, 1.0).len();
        assert!((300..=550).contains(&half), "{half} by one of two workers");
    }

    #[test]
    fn one_wrong_response_in_a_hundred_is_found_within_a_second() {
        for rate in [1_000.0, 5_000.0, 60_000.0] {
            let misses = |seed: &u64| {
                let numbers = drawn(&mut at_random(1, *seed), 0.0, rate, 1.0);
                !numbers.iter().any(|number| number % 100 == 99)
            };
            let missed = (0..100).filter(misses).count();
            assert!(missed <= 1, "missed in {missed} of 100 loads at {rate}/s");
        }
    }

    #[test]
    fn periodic_errors_are_found() {
        // A response that is wrong once in a hundred must be sampled in that proportion.
        let numbers = drawn(&mut at_random(1, 3), 0.0, 50_000.0, 10.0);
        for residue in [0, 1, 57, 99] {
            let met = numbers.iter().filter(|&&number| number % 100 == residue);
            let met = met.count();
            assert!((40..=110).contains(&met), "{met} times {residue}");
        }
    }

    #[test]
    fn the_share_follows_the_rate() {
        let mut sampler = at_random(1, 4);
        drawn(&mut sampler, 0.0, 200_000.0, 1.0);
        // After a second at a thousandth of the rate, nearly all are sampled again.
        drawn(&mut sampler, 1.0, 200.0, 1.0);
        let slow = drawn(&mut sampler, 2.0, 200.0, 1.0).len();
        assert!(slow >= 190, "{slow} of 200");
        // Not all of a burst after a pause of 20 ms is sampled.
        let mut sampler = at_random(1, 5);
        let bursts: usize = (0..50)
            .map(|burst| drawn(&mut sampler, 0.02 * f64::from(burst), 1e8, 1e-5).len())
            .sum();
        assert!(bursts < 5_000, "{bursts} of 50 bursts of 1000");
    }

    #[test]
    fn every_nth_is_counted_from_the_first_of_a_phase() {
        let n = NonZeroU64::new(3).unwrap();
        let choice = Some(SampleChoice::EveryNth(n));
        let mut sampler = Sampler::new(choice, 1, fastrand::Rng::with_seed(0));
        let mut taken =
            |count| -> Vec<bool> { (0..count).map(|_| sampler.takes_next(0)).collect() };
        assert_eq!(taken(5), [true, false, false, true, false]);
        sampler.begin_phase();
        let mut taken =
            |count| -> Vec<bool> { (0..count).map(|_| sampler.takes_next(0)).collect() };
        assert_eq!(taken(4), [true, false, false, true]);
        let mut never = Sampler::new(None, 1, fastrand::Rng::with_seed(0));
        assert!(!never.takes_next(0));
    }

    #[test]
    fn the_same_seed_samples_the_same_requests() {
        let run = |seed| drawn(&mut at_random(1, seed), 0.0, 20_000.0, 0.5);
        assert_eq!(run(7), run(7));
        assert_ne!(run(7), run(8));
    }
}
