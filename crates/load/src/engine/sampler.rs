//! Which responses are kept whole and compared with the expected one.

use super::clock::Nanoseconds;
use crate::plan::SampleChoice;

/// How many responses a second are compared, over all workers, if they are drawn at random. A server that is wrong in
/// 1 % of its responses is found within a second with a probability of 1 − 0.99^700 = 99.9 %. To keep and compare a page
/// of 100 KiB takes some 20 µs: 1.4 % of a CPU at the most.
const COMPARED_PER_S: f64 = 700.0;
/// How often the rate is looked at, from which follows the share that is drawn.
const LOOK: Nanoseconds = 10_000_000;
/// The first time, so that few are compared before anything is known of the rate.
const FIRST_LOOK: Nanoseconds = 1_000_000;
/// What is left of the rate after one interval without a request: after a pause the next burst is not drawn whole.
const DECAY: f64 = 0.9;

/// Chooses responses for one worker. Each request is drawn or not by a coin of its own, so that no period of a server,
/// and no place in a batch, is seen more often than another.
#[derive(Debug)]
pub(super) struct Sampler {
    choice: Choice,
    /// Whether the next response is compared in any case.
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
    /// How many this worker is to compare a second.
    target_per_s: f64,
    /// The share (0 to 1) that is drawn at present.
    share: f64,
    /// How many requests are passed over before the next one that is drawn.
    gap: u64,
    /// Requests since the rate was last looked at, and when that was and will be.
    requests: u64,
    looked: Nanoseconds,
    look: Nanoseconds,
    rate_per_s: f64,
}

impl Sampler {
    /// One worker of `workers`; `None` compares nothing.
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

    /// The next response is compared in any case: a phase of the load begins.
    pub(super) fn begin_phase(&mut self) {
        self.first = true;
    }

    /// Whether the response to the request that is sent now is kept.
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
            Choice::AtRandom(coins) => coins.toss(now),
        };
        std::mem::replace(&mut self.first, false) || drawn
    }
}

impl Coins {
    #[inline]
    fn toss(&mut self, now: Nanoseconds) -> bool {
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

    /// Sets the share from the rate of late.
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
        // Coins have no memory, so that the gap may be drawn anew.
        self.draw_gap();
    }

    /// How many coins in a row say no: geometrically distributed.
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

    /// Of `seconds` of requests at an even rate, the numbers of those drawn.
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
    fn as_many_are_compared_in_a_second_whatever_the_rate() {
        for rate in [1_000.0, 10_000.0, 100_000.0, 1_000_000.0] {
            let count = drawn(&mut at_random(1, 1), 0.0, rate, 1.0).len();
            // Within the first millisecond all are, and a rate of ten requests an interval is known roughly.
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
            let missed = (0..300).filter(misses).count();
            assert!(missed <= 2, "missed in {missed} of 300 loads at {rate}/s");
        }
    }

    #[test]
    fn no_period_of_a_server_hides_from_it() {
        // What is wrong once in a hundred, in turn, must be met as often as it comes.
        let numbers = drawn(&mut at_random(1, 3), 0.0, 50_000.0, 10.0);
        for residue in [0, 1, 57, 99] {
            let met = numbers.iter().filter(|&&number| number % 100 == residue);
            let met = met.count();
            assert!((40..=110).contains(&met), "{met} times {residue}");
        }
    }

    #[test]
    fn a_rate_that_changes_is_followed() {
        let mut sampler = at_random(1, 4);
        drawn(&mut sampler, 0.0, 200_000.0, 1.0);
        // After a second at a thousandth of the rate, nearly all are drawn again.
        drawn(&mut sampler, 1.0, 200.0, 1.0);
        let slow = drawn(&mut sampler, 2.0, 200.0, 1.0).len();
        assert!(slow >= 190, "{slow} of 200");
        // A burst after a pause of 20 ms is not drawn whole.
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
    fn the_same_seed_draws_the_same() {
        let run = |seed| drawn(&mut at_random(1, seed), 0.0, 20_000.0, 0.5);
        assert_eq!(run(7), run(7));
        assert_ne!(run(7), run(8));
    }
}
