//! How many values a percentile needs.

/// So many values must lie beyond a percentile, at the least, for it to say something.
pub const LEAST_BEYOND: f64 = 10.0;

/// Whether `count` values support the percentile that a share `beyond` (0 to 1) of them exceeds: 0.01 for p99.
pub fn supports_percentile(count: u64, beyond: f64) -> bool {
    // 1 - 0.9 is a little less than a tenth.
    count as f64 * beyond >= LEAST_BEYOND - 1e-9
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ten_values_must_lie_beyond() {
        assert!(supports_percentile(1000, 0.01) && !supports_percentile(999, 0.01));
        for (count, quantile) in [(20, 0.5), (100, 0.9), (1000, 0.99), (10_000, 0.999)] {
            assert!(supports_percentile(count, 1.0 - quantile), "{quantile}");
        }
    }
}
