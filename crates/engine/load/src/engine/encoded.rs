//! Counts in a form that other processes read.

use std::collections::BTreeMap;

use prony_model::{LatencyHistogram, Scheduling, Throttled};
use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Latencies that can be merged, whatever form they have.
pub(super) trait Latencies: Default {
    fn add_to(&self, sum: &mut LatencyHistogram);

    fn add(&mut self, other: &impl Latencies);
}

impl Latencies for LatencyHistogram {
    fn add_to(&self, sum: &mut LatencyHistogram) {
        sum.merge(self);
    }

    fn add(&mut self, other: &impl Latencies) {
        other.add_to(self);
    }
}

/// A histogram as text: HdrHistogram V2 in base64, or nothing if it is empty. It takes some kilobytes where the histogram
/// itself takes 270, whatever it holds.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub(super) struct Encoded(String);

/// No process has counted this many responses. As many agents as there may be do not overflow a counter together.
pub(super) const MOST_COUNTED: u64 = 1 << 48;

impl From<&LatencyHistogram> for Encoded {
    fn from(histogram: &LatencyHistogram) -> Self {
        Self(match histogram.count() {
            0 => String::new(),
            _ => histogram.to_base64(),
        })
    }
}

impl Encoded {
    pub(super) fn into_text(self) -> String {
        self.0
    }
}

impl Latencies for Encoded {
    fn add_to(&self, sum: &mut LatencyHistogram) {
        if let Ok(Some(histogram)) = decoded(&self.0) {
            sum.merge(&histogram);
        }
    }

    fn add(&mut self, other: &impl Latencies) {
        let mut sum = LatencyHistogram::new();
        self.add_to(&mut sum);
        other.add_to(&mut sum);
        *self = Self::from(&sum);
    }
}

fn decoded(text: &str) -> Result<Option<LatencyHistogram>, String> {
    if text.is_empty() {
        return Ok(None);
    }
    let histogram = LatencyHistogram::from_base64(text).map_err(|error| error.to_string())?;
    if histogram.count() <= MOST_COUNTED {
        Ok(Some(histogram))
    } else {
        Err("the histogram's counts are impossibly high".into())
    }
}

impl<'de> Deserialize<'de> for Encoded {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        decoded(&text).map_err(D::Error::custom)?;
        Ok(Self(text))
    }
}

/// A map as a list of pairs: in JSON, a key that is a number would become a text.
pub(super) mod pairs {
    use super::*;

    /// No counter has more keys: these are statuses.
    const MOST: usize = 1000;

    pub(in crate::engine) fn serialize<K: Serialize, S: Serializer>(
        map: &BTreeMap<K, u64>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(map)
    }

    pub(in crate::engine) fn deserialize<'de, K, D>(
        deserializer: D,
    ) -> Result<BTreeMap<K, u64>, D::Error>
    where
        K: Deserialize<'de> + Ord,
        D: Deserializer<'de>,
    {
        let pairs = Vec::<(K, u64)>::deserialize(deserializer)?;
        if pairs.len() <= MOST {
            Ok(pairs.into_iter().collect())
        } else {
            Err(D::Error::custom("there are too many different statuses"))
        }
    }
}

/// Reads seconds, or a share: at least 0, and small enough that no sum of them is infinite.
pub(super) fn some_seconds<'de, D: Deserializer<'de>>(deserializer: D) -> Result<f64, D::Error> {
    possible(f64::deserialize(deserializer)?)
}

/// Reads what a CPU quota did, whose figures are of the same size.
pub(super) fn possibly_throttled<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<Throttled>, D::Error> {
    let throttled = Option::<Throttled>::deserialize(deserializer)?;
    if let Some(throttled) = &throttled {
        possible::<D::Error>(throttled.quota_cpus)?;
        possible::<D::Error>(throttled.throttled_s)?;
    }
    Ok(throttled)
}

/// Reads how threads were scheduled.
pub(super) fn possibly_scheduled<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<Scheduling>, D::Error> {
    let scheduling = Option::<Scheduling>::deserialize(deserializer)?;
    if let Some(scheduling) = &scheduling {
        possible::<D::Error>(scheduling.run_queue_wait_s)?;
    }
    Ok(scheduling)
}

fn possible<E: Error>(seconds: f64) -> Result<f64, E> {
    if (0.0..1e12).contains(&seconds) {
        Ok(seconds)
    } else {
        Err(E::custom("a time is below 0 or impossibly long"))
    }
}
