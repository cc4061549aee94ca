//! The history as columns of the screen: each stands for the same time.

use prony_load::LatencyBands;

use super::history::RECENT_S;
use super::model::{LoadModel, per_second};

/// What happened in the time of a column. A slice that lies in several columns is shared out.
#[derive(Clone, Debug)]
pub(super) struct TimeColumn {
    /// The middle of its time, in seconds since the load's start.
    pub(crate) middle_s: f64,
    /// How many of its seconds were reported.
    pub(crate) seconds: f64,
    pub(crate) ok: f64,
    pub(crate) errors: f64,
    pub(crate) latency: Vec<f64>,
}

impl TimeColumn {
    /// Ok responses per second; `None` if nothing was reported.
    pub(super) fn rate(&self) -> Option<f64> {
        (self.seconds > 0.0).then(|| per_second(self.ok, self.seconds))
    }
}

#[derive(Clone, Debug)]
pub(super) struct TimeColumns {
    pub(crate) columns: Vec<TimeColumn>,
    pub(crate) from_s: f64,
    pub(crate) to_s: f64,
}

impl TimeColumns {
    /// The last seconds or the whole load, in this many columns. They fill from the left.
    pub(super) fn of(model: &LoadModel, is_whole: bool, width: usize) -> Self {
        let (from_s, to_s) = times(model, is_whole);
        let width = width.max(1);
        let each = (to_s - from_s) / width as f64;
        let column = |at: usize| TimeColumn {
            middle_s: from_s + (at as f64 + 0.5) * each,
            seconds: 0.0,
            ok: 0.0,
            errors: 0.0,
            latency: vec![0.0; LatencyBands::COUNT],
        };
        let mut columns: Vec<TimeColumn> = (0..width).map(column).collect();
        for slice in model.history.slices(is_whole) {
            let first = ((slice.from_s - from_s) / each).floor().max(0.0) as usize;
            for (at, column) in columns.iter_mut().enumerate().skip(first) {
                let begin = from_s + at as f64 * each;
                if begin >= slice.to_s {
                    break;
                }
                let overlap = slice.to_s.min(begin + each) - slice.from_s.max(begin);
                if overlap <= 0.0 {
                    continue;
                }
                let share = overlap / slice.seconds();
                column.seconds += overlap;
                column.ok += share * slice.ok as f64;
                column.errors += share * slice.errors as f64;
                for (sum, count) in column.latency.iter_mut().zip(slice.latency.counts()) {
                    *sum += share * *count as f64;
                }
            }
        }
        Self {
            columns,
            from_s,
            to_s,
        }
    }
}

fn times(model: &LoadModel, is_whole: bool) -> (f64, f64) {
    let now = model.last.at_s;
    let planned = model.whole();
    if is_whole {
        (0.0, planned.unwrap_or(0.0).max(now).max(1.0))
    } else {
        let length = planned.unwrap_or(RECENT_S).clamp(1.0, RECENT_S);
        ((now - length).max(0.0), now.max(length))
    }
}
