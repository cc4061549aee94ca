//! Random times between two arrivals.

/// A number from the exponential distribution whose mean is 1.
pub(super) fn exponential(random: &mut fastrand::Rng) -> f64 {
    // 1 - [0, 1) is never 0, whose logarithm would be infinite.
    -(1.0 - random.f64()).ln()
}

/// The random numbers of one source among many: the same seed makes the same ones, and no two sources
/// have the same.
pub(in crate::engine) fn source(seed: u64, number: u64) -> fastrand::Rng {
    // Neighbouring seeds must not make related numbers: each is hashed once (splitmix64's step).
    let mixed =
        (seed ^ number.wrapping_mul(0x9e37_79b9_7f4a_7c15)).wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    fastrand::Rng::with_seed(mixed ^ (mixed >> 27))
}
