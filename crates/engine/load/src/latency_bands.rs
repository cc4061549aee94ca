//! Counts of latencies in few, logarithmic bands: enough to draw, and cheap to publish while a load runs.

use prony_model::LatencyHistogram;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Bands within a factor of two.
const PER_OCTAVE: usize = 4;
/// The first octave begins at 2⁸ = 256 ns; what is shorter belongs to its first band.
const FIRST_OCTAVE: u32 = 8;
/// The last one ends at 2⁴² ns, more than the hour that a latency takes at most.
const OCTAVES: usize = 34;

/// How many latencies fell into each band. Four bands of equal width divide each factor of two, so a band is at most 25 % wide.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LatencyBands([u64; LatencyBands::COUNT]);

impl Default for LatencyBands {
    fn default() -> Self {
        Self([0; Self::COUNT])
    }
}

impl LatencyBands {
    /// How many bands there are.
    pub const COUNT: usize = PER_OCTAVE * OCTAVES;

    /// The bands of the latencies in a histogram.
    pub(crate) fn of(histogram: &LatencyHistogram) -> Self {
        let mut bands = Self::default();
        for (nanoseconds, count) in histogram.counted() {
            bands.add(nanoseconds, count);
        }
        bands
    }

    pub(crate) fn band_of(nanoseconds: u64) -> usize {
        let octave = nanoseconds.max(1).ilog2();
        if octave < FIRST_OCTAVE {
            return 0;
        }
        let quarter = (nanoseconds >> (octave - 2)) & 0b11;
        let band = (octave - FIRST_OCTAVE) as usize * PER_OCTAVE + quarter as usize;
        band.min(Self::COUNT - 1)
    }

    /// Where a band begins, in nanoseconds; one after the last is where the last ends.
    pub fn begin_of(band: usize) -> u64 {
        let (octave, quarter) = (band / PER_OCTAVE, (band % PER_OCTAVE) as u64);
        let begin = 1u64 << (FIRST_OCTAVE as usize + octave);
        begin + begin / PER_OCTAVE as u64 * quarter
    }

    /// Counts `count` latencies of this length.
    pub fn add(&mut self, nanoseconds: u64, count: u64) {
        let band = &mut self.0[Self::band_of(nanoseconds)];
        *band = band.saturating_add(count);
    }

    /// Adds the counts of `other`.
    pub fn merge(&mut self, other: &Self) {
        for (mine, theirs) in self.0.iter_mut().zip(other.0) {
            *mine = mine.saturating_add(theirs);
        }
    }

    /// What was counted since `earlier`. Workers end their warm-up one after another, so some bands may have shrunk
    /// meanwhile: nothing was counted in those.
    pub fn since(&self, earlier: &Self) -> Self {
        let mut bands = self.clone();
        for (mine, theirs) in bands.0.iter_mut().zip(earlier.0) {
            *mine = mine.saturating_sub(theirs);
        }
        bands
    }

    /// The counts, band by band.
    pub fn counts(&self) -> &[u64; Self::COUNT] {
        &self.0
    }

    /// How many latencies were counted.
    pub fn total(&self) -> u64 {
        self.0
            .iter()
            .fold(0, |sum, count| sum.saturating_add(*count))
    }

    /// The latency below which this share of them is, in nanoseconds, interpolated within its band; `None` if there are none.
    pub fn quantile(&self, share: f64) -> Option<f64> {
        let wanted = share.clamp(0.0, 1.0) * self.total() as f64;
        let mut below = 0.0;
        let mut counted = (0..).zip(self.0).filter(|&(_, count)| count > 0).peekable();
        while let Some((band, count)) = counted.next() {
            let count = count as f64;
            if below + count >= wanted || counted.peek().is_none() {
                let [begin, end] = [band, band + 1].map(|band| Self::begin_of(band) as f64);
                return Some(begin + (end - begin) * ((wanted - below) / count).clamp(0.0, 1.0));
            }
            below += count;
        }
        None
    }
}

/// As pairs of band and count, without empty bands.
impl Serialize for LatencyBands {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let counted = self.0.iter().enumerate().filter(|(_, count)| **count > 0);
        serializer.collect_seq(counted)
    }
}

/// Bands that do not exist are an error: they come from another process.
impl<'de> Deserialize<'de> for LatencyBands {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut bands = Self::default();
        for (band, count) in Vec::<(usize, u64)>::deserialize(deserializer)? {
            let place = bands.0.get_mut(band);
            *place.ok_or_else(|| serde::de::Error::custom(format!("there is no band {band}")))? =
                count;
        }
        Ok(bands)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn every_latency_is_within_its_band(nanoseconds in 256u64..3_600_000_000_000) {
            let band = LatencyBands::band_of(nanoseconds);
            prop_assert!(LatencyBands::begin_of(band) <= nanoseconds);
            prop_assert!(nanoseconds < LatencyBands::begin_of(band + 1));
        }
    }

    #[test]
    fn bands_follow_each_other_and_extremes_have_one() {
        for band in 0..LatencyBands::COUNT {
            assert!(LatencyBands::begin_of(band) < LatencyBands::begin_of(band + 1));
            assert_eq!(LatencyBands::band_of(LatencyBands::begin_of(band)), band);
        }
        assert_eq!(LatencyBands::band_of(0), 0);
        assert_eq!(LatencyBands::band_of(u64::MAX), LatencyBands::COUNT - 1);
    }

    #[test]
    fn a_difference_is_what_came_since_and_never_less_than_nothing() {
        let mut bands = LatencyBands::default();
        bands.add(1_000, 5);
        let earlier = bands.clone();
        bands.add(1_000, 2);
        bands.add(9_000_000, 1);
        assert_eq!(bands.since(&earlier).total(), 3);
        assert_eq!(earlier.since(&bands).total(), 0);
    }

    #[test]
    fn a_quantile_is_within_its_band() {
        let mut bands = LatencyBands::default();
        assert_eq!(bands.quantile(0.5), None);
        bands.add(1_000, 90);
        bands.add(50_000_000, 10);
        for (quantile, latency) in [
            (0.5, 1_000),
            (0.9, 1_000),
            (0.99, 50_000_000),
            (1.0, 50_000_000),
        ] {
            let value = bands.quantile(quantile).unwrap();
            let band = LatencyBands::band_of(latency);
            let [from, to] = [band, band + 1].map(|band| LatencyBands::begin_of(band) as f64);
            assert!((from..=to).contains(&value), "{quantile}: {value}");
        }
    }

    #[test]
    fn counts_travel_without_empty_bands() {
        let mut bands = LatencyBands::default();
        bands.add(300, 7);
        let text = serde_json::to_string(&bands).unwrap();
        assert_eq!(text, "[[0,7]]");
        assert_eq!(serde_json::from_str::<LatencyBands>(&text).unwrap(), bands);
        assert!(serde_json::from_str::<LatencyBands>("[[999,1]]").is_err());
    }
}
