//! What a load has counted so far, phase by phase.

use prony_load::{LatencyBands, LoadPlan, Progress};
use prony_model::Outcomes;

/// The figures of a load. The engine starts to count again after the warm-up; here the warm-up keeps its counts, so no counter
/// ever falls.
#[derive(Clone, Debug)]
pub struct Figures {
    /// `None` if the load has no warm-up.
    warmup: Option<Counted>,
    measured: Counted,
    /// Whether requests have due times, so that the generator can lag behind them.
    pub(crate) has_schedule: bool,
    /// The share of its time that the busiest thread was on a CPU.
    pub(crate) busy: f64,
    pub(crate) is_measuring: bool,
}

/// What one phase has counted.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Counted {
    pub(crate) outcomes: Outcomes,
    pub(crate) bytes_received: u64,
    pub(crate) bytes_sent: u64,
    pub(crate) latency: Durations,
    pub(crate) lag: Durations,
}

/// Durations, and their sum in nanoseconds.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Durations {
    pub(crate) bands: LatencyBands,
    pub(crate) sum_ns: u64,
}

impl Figures {
    /// Those of a load that has not begun.
    pub fn of(plan: &LoadPlan) -> Self {
        Self::new(!plan.load.warmup.is_zero(), plan.load.shape.is_open())
    }

    pub(crate) fn new(has_warmup: bool, has_schedule: bool) -> Self {
        Self {
            warmup: has_warmup.then(Counted::default),
            measured: Counted::default(),
            has_schedule,
            busy: 0.0,
            is_measuring: false,
        }
    }

    /// Takes the latest figures of the load. The latest figures count from the start of their phase.
    pub fn take(&mut self, progress: &Progress) {
        self.busy = progress.busy;
        self.is_measuring = progress.measuring;
        let of_phase = match &mut self.warmup {
            Some(warmup) if !progress.measuring => warmup,
            _ => &mut self.measured,
        };
        let counted = Counted::of(progress);
        // When the warm-up ends, some threads or agents start again earlier than others.
        if counted.continues(of_phase) {
            *of_phase = counted;
        }
    }

    /// What each phase of the load has counted, with its name.
    pub(crate) fn phases(&self) -> impl Iterator<Item = (&'static str, &Counted)> {
        let warmup = self.warmup.iter().map(|counted| ("warmup", counted));
        warmup.chain([("measured", &self.measured)])
    }
}

impl Counted {
    fn of(progress: &Progress) -> Self {
        Self {
            outcomes: progress.outcomes,
            bytes_received: progress.bytes_read,
            bytes_sent: progress.bytes_written,
            latency: Durations {
                bands: progress.latency.clone(),
                sum_ns: progress.latency_sum_ns,
            },
            lag: Durations {
                bands: progress.lag.clone(),
                sum_ns: progress.lag_sum_ns,
            },
        }
    }

    /// Whether no count is below that of `earlier`.
    fn continues(&self, earlier: &Self) -> bool {
        let outcomes = self.outcomes.iter().zip(earlier.outcomes.iter());
        self.bytes_received >= earlier.bytes_received
            && self.bytes_sent >= earlier.bytes_sent
            && outcomes
                .into_iter()
                .all(|((_, now), (_, then))| now >= then)
            && self.latency.continues(&earlier.latency)
            && self.lag.continues(&earlier.lag)
    }
}

impl Durations {
    fn continues(&self, earlier: &Self) -> bool {
        let mut bands = self.bands.counts().iter().zip(earlier.bands.counts());
        self.sum_ns >= earlier.sum_ns && bands.all(|(now, then)| now >= then)
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use prony_model::Outcome;

    /// Progress with `ok` responses of 1 ms and `refused` connections.
    fn progress(measuring: bool, ok: u64, refused: u64) -> Progress {
        let mut progress = Progress {
            measuring,
            bytes_read: 100 * ok,
            bytes_written: 10 * ok,
            latency_sum_ns: 1_000_000 * ok,
            lag_sum_ns: 20_000 * ok,
            busy: 0.25,
            ..Progress::default()
        };
        progress.outcomes[Outcome::Ok] = ok;
        progress.outcomes[Outcome::Refused] = refused;
        progress.latency.add(1_000_000, ok);
        progress.lag.add(20_000, ok);
        progress
    }

    /// Those of a load after its warm-up.
    pub(crate) fn figures() -> Figures {
        let mut figures = Figures::new(true, true);
        figures.take(&progress(false, 7, 0));
        figures.take(&progress(true, 1000, 2));
        figures
    }

    fn ok(figures: &Figures) -> Vec<(&'static str, u64)> {
        let phases = figures.phases();
        phases
            .map(|(name, counted)| (name, counted.outcomes[Outcome::Ok]))
            .collect()
    }

    #[test]
    fn the_warm_up_keeps_its_counts_when_measuring_begins() {
        let mut figures = Figures::new(true, false);
        figures.take(&progress(false, 50, 0));
        figures.take(&progress(false, 90, 0));
        // One of two threads measures already.
        figures.take(&progress(false, 47, 0));
        assert_eq!(ok(&figures), [("warmup", 90), ("measured", 0)]);
        assert!(!figures.is_measuring);
        figures.take(&progress(true, 5, 0));
        assert_eq!(ok(&figures), [("warmup", 90), ("measured", 5)]);
        assert!(figures.is_measuring);
    }

    #[test]
    fn a_load_without_a_warm_up_measures_from_the_start() {
        let mut figures = Figures::new(false, false);
        // As a fleet before its start.
        figures.take(&Progress::default());
        figures.take(&progress(true, 5, 0));
        assert_eq!(ok(&figures), [("measured", 5)]);
    }

    #[test]
    fn no_count_falls() {
        let mut figures = Figures::new(false, true);
        figures.take(&progress(true, 50, 3));
        for fewer in [
            progress(true, 60, 2),
            Progress {
                lag_sum_ns: 0,
                ..progress(true, 60, 3)
            },
            Progress {
                latency: LatencyBands::default(),
                ..progress(true, 60, 3)
            },
            Progress {
                bytes_written: 1,
                ..progress(true, 60, 3)
            },
        ] {
            figures.take(&fewer);
            assert_eq!(ok(&figures), [("measured", 50)]);
        }
        figures.take(&progress(true, 60, 3));
        assert_eq!(ok(&figures), [("measured", 60)]);
    }
}
