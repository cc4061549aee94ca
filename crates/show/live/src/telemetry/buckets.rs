//! The buckets of histograms: the engine's bands, of which there are too many for a scrape, two by two.

use prony_load::LatencyBands;

/// Everything below this band, 8.192 µs, is in the first bucket.
const FIRST_BAND: usize = 20;
/// Everything from this band on, 68.7 s, is in the last bucket.
const LAST_BAND: usize = 112;
/// Two buckets for each factor of two.
const BANDS_IN_BUCKET: usize = 2;
/// How many buckets have an upper bound. One more has none.
const BOUNDED: usize = (LAST_BAND - FIRST_BAND) / BANDS_IN_BUCKET + 1;

/// The longest duration in each bucket, in nanoseconds, ascending. The last bucket has none.
pub(crate) fn bounds() -> impl Iterator<Item = u64> {
    (FIRST_BAND..=LAST_BAND)
        .step_by(BANDS_IN_BUCKET)
        .map(|band| LatencyBands::begin_of(band) - 1)
}

/// How many durations are in each bucket, the last one included.
pub(crate) fn counts(bands: &LatencyBands) -> Vec<u64> {
    let mut counts = vec![0u64; BOUNDED + 1];
    for (band, count) in bands.counts().iter().enumerate() {
        let bucket = &mut counts[bucket_of(band)];
        *bucket = bucket.saturating_add(*count);
    }
    counts
}

fn bucket_of(band: usize) -> usize {
    match band.checked_sub(FIRST_BAND) {
        None => 0,
        Some(above) => (above / BANDS_IN_BUCKET + 1).min(BOUNDED),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_bounds_are_few_and_cover_what_servers_take() {
        let bounds: Vec<u64> = bounds().collect();
        assert_eq!((bounds.len(), BOUNDED), (47, 47));
        assert_eq!([bounds[0], bounds[46]], [8_191, 68_719_476_735]);
        assert!(bounds.is_sorted());
    }

    proptest! {
        #[test]
        fn a_duration_is_in_the_first_bucket_whose_bound_it_does_not_exceed(
            nanoseconds in prop_oneof![0u64..100_000, 0u64..200_000_000_000, Just(u64::MAX)],
        ) {
            let mut bands = LatencyBands::default();
            bands.add(nanoseconds, 1);
            let expected = bounds().position(|bound| nanoseconds <= bound).unwrap_or(BOUNDED);
            prop_assert_eq!(counts(&bands).iter().position(|count| *count == 1), Some(expected));
        }

        #[test]
        fn a_bound_itself_is_within_its_bucket(index in 0usize..BOUNDED) {
            let bound = bounds().nth(index).unwrap();
            let mut bands = LatencyBands::default();
            bands.add(bound, 1);
            bands.add(bound + 1, 10);
            let counts = counts(&bands);
            prop_assert_eq!((counts[index], counts[index + 1]), (1, 10));
        }
    }
}
