//! Simulated trials whose truth is known, for the tests and for `examples/coverage`.

use fastrand::Rng;

/// How trials fluctuate around their median, with a standard deviation of 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Noise {
    /// The sum of many small causes.
    Normal,
    /// More small and more large deviations than normal.
    Laplace,
    /// Farther to one side than to the other.
    Skewed,
    /// Normal, but one in ten is five times as far out: another program runs now and then.
    Contaminated,
    /// Evenly between two limits.
    Uniform,
}

impl Noise {
    pub(crate) const ALL: [Noise; 5] = [
        Noise::Normal,
        Noise::Laplace,
        Noise::Skewed,
        Noise::Contaminated,
        Noise::Uniform,
    ];

    /// One deviation from the median.
    pub(crate) fn draw(self, random: &mut Rng) -> f64 {
        match self {
            Noise::Normal => normal(random),
            Noise::Laplace => {
                let size = -(1.0 - random.f64()).ln() / std::f64::consts::SQRT_2;
                if random.bool() { size } else { -size }
            }
            Noise::Skewed => ((normal(random) / 2.0).exp() - 1.0) / 0.604,
            Noise::Contaminated => {
                let far = if random.u8(..10) == 0 { 5.0 } else { 1.0 };
                far * normal(random) / 1.844
            }
            Noise::Uniform => (random.f64() * 2.0 - 1.0) * 3.0_f64.sqrt(),
        }
    }

    /// The value of a trial, with the median `median` and noise of this share of it.
    pub(crate) fn trial(self, median: f64, share: f64, random: &mut Rng) -> f64 {
        median * (share * self.draw(random)).exp()
    }

    /// A round: the value of a trial and of its baseline, with `ratio` between their medians.
    pub(crate) fn pair(self, ratio: f64, share: f64, random: &mut Rng) -> (f64, f64) {
        (
            self.trial(ratio * 1000.0, share, random),
            self.trial(1000.0, share, random),
        )
    }
}

/// A draw from the normal distribution (Box and Muller 1958).
pub(crate) fn normal(random: &mut Rng) -> f64 {
    let radius = (-2.0 * (1.0 - random.f64()).ln()).sqrt();
    radius * (std::f64::consts::TAU * random.f64()).cos()
}

/// How often `once` is true, as a share.
pub(crate) fn share(times: usize, mut once: impl FnMut() -> bool) -> f64 {
    (0..times).filter(|_| once()).count() as f64 / times as f64
}
