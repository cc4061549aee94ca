//! The course of a load in few intervals.

use serde::{Deserialize, Serialize};

use crate::Timeline;

/// The ok responses of a load in few intervals of equal length, from its start.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RateCourse {
    /// The length of an interval, in seconds.
    pub interval_s: f64,
    /// Ok responses in each interval.
    pub ok: Vec<u64>,
}

impl RateCourse {
    pub(crate) const MOST_INTERVALS: usize = 64;

    /// The course of a load, warm-up included, in whole intervals; `None` if it has none.
    pub fn of(timeline: &Timeline) -> Option<Self> {
        let each = timeline.ok.len().div_ceil(Self::MOST_INTERVALS);
        (each > 0).then(|| {
            let intervals = timeline.ok.chunks_exact(each);
            Self {
                interval_s: timeline.interval_s * each as f64,
                ok: intervals.map(|counts| counts.iter().sum()).collect(),
            }
        })
    }

    /// How long it is, in seconds.
    pub fn lasted_s(&self) -> f64 {
        self.interval_s * self.ok.len() as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn course(intervals: usize) -> Option<RateCourse> {
        RateCourse::of(&Timeline {
            interval_s: 0.5,
            ok: vec![3; intervals],
            ..Timeline::default()
        })
    }

    #[test]
    fn a_course_has_few_whole_intervals() {
        assert_eq!(course(0), None);
        assert_eq!(course(64).unwrap().ok, [3; 64]);
        let merged = course(129).unwrap();
        assert_eq!((merged.interval_s, merged.ok), (1.5, vec![9; 43]));
        let merged = course(512).unwrap();
        assert_eq!((merged.lasted_s(), merged.ok.len()), (256.0, 64));
        assert_eq!(
            course(65).unwrap().ok,
            [6; 32],
            "the last, single interval is left out"
        );
    }
}
