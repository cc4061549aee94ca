//! Work of a known size for each request, so that a server can be made slower by a known amount.

use std::hint::black_box;

/// So many steps of arithmetic, of which each needs the result of the one before.
///
/// Neither compiler nor processor can leave a step out or do two at a time, so twice the steps take twice the
/// instructions and twice the time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Work {
    steps: u64,
}

impl Work {
    /// So many steps; 0 for no work at all.
    pub const fn steps(steps: u64) -> Self {
        Self { steps }
    }

    /// Does it, and gives the last step's result.
    pub fn carry_out(self) -> u64 {
        // The compiler may neither know the first value nor leave out what it takes to find the last.
        black_box((0..self.steps).fold(black_box(1), |value, _| step(value)))
    }
}

/// A step of a mixing function (splitmix64's finaliser has two such). It is not linear: a compiler would make one
/// multiplication of many linear steps.
const fn step(value: u64) -> u64 {
    (value ^ (value >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_step_is_done() {
        assert_eq!(Work::default().carry_out(), 1);
        assert_eq!(Work::steps(1).carry_out(), step(1));
        assert_eq!(Work::steps(3).carry_out(), step(step(step(1))));
    }
}
