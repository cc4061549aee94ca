//! Which request of a set to send next.

use prony_traffic::Order;

/// Chooses requests for one worker.
#[derive(Debug)]
pub(super) struct RequestMix {
    choice: Choice,
}

#[derive(Debug)]
enum Choice {
    One,
    InTurn {
        next: usize,
        count: usize,
    },
    Random {
        /// The cumulative weights.
        sums: Vec<u64>,
        random: fastrand::Rng,
    },
}

impl RequestMix {
    /// Chooses one of that many requests, in that order. Random choices come from `random`.
    pub(super) fn new(requests: (usize, &Order), random: fastrand::Rng) -> Self {
        let choice = match requests {
            (1, _) => Choice::One,
            (count, Order::InTurn) => Choice::InTurn { next: 0, count },
            (_, Order::Random(weights)) => Choice::Random {
                sums: weights
                    .iter()
                    .scan(0, |sum, &weight| {
                        *sum += u64::from(weight);
                        Some(*sum)
                    })
                    .collect(),
                random,
            },
        };
        Self { choice }
    }

    /// The number of the next request.
    #[inline]
    pub(super) fn next(&mut self) -> usize {
        match &mut self.choice {
            Choice::One => 0,
            Choice::InTurn { next, count } => {
                let number = *next;
                *next = (number + 1) % *count;
                number
            }
            Choice::Random { sums, random } => {
                let drawn = random.u64(0..sums.last().copied().unwrap_or(1));
                sums.partition_point(|&sum| sum <= drawn)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mix(count: usize, order: Order) -> RequestMix {
        RequestMix::new((count, &order), fastrand::Rng::with_seed(7))
    }

    #[test]
    fn requests_come_in_turn() {
        let mut mix = mix(3, Order::InTurn);
        let numbers: Vec<usize> = (0..7).map(|_| mix.next()).collect();
        assert_eq!(numbers, [0, 1, 2, 0, 1, 2, 0]);
    }

    #[test]
    fn requests_are_drawn_in_proportion_to_their_weights() {
        let mut mix = mix(3, Order::Random(vec![3, 0, 1]));
        let mut counts = [0; 3];
        (0..40_000).for_each(|_| counts[mix.next()] += 1);
        assert_eq!(counts[1], 0);
        // Binomial: 30,000 with a standard deviation of 87.
        assert!((29_500..30_500).contains(&counts[0]), "{counts:?}");
    }
}
