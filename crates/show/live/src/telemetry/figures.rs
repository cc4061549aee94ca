//! What a load has counted so far, phase by phase.

use prony_load::{LatencyBands, LoadPlan, Progress};

/// The figures of a load. The engine starts to count again after the warm-up; here the warm-up keeps its counts, so no counter
/// ever falls.
#[derive(Clone, Debug)]
pub struct Figures {
    /// `None` if the load has no warm-up.
    warmup: Option<Progress>,
    measured: Progress,
    /// Whether requests have due times, so that the generator can lag behind them.
    pub(crate) has_schedule: bool,
    /// The share of its time that the busiest thread was on a CPU.
    pub(crate) busy: f64,
    pub(crate) is_measuring: bool,
}

impl Figures {
    /// Those of a load that has not begun.
    pub fn of(plan: &LoadPlan) -> Self {
        Self::new(!plan.load.warmup.is_zero(), plan.load.shape.is_open())
    }

    pub(crate) fn new(has_warmup: bool, has_schedule: bool) -> Self {
        Self {
            warmup: has_warmup.then(Progress::default),
            measured: Progress::default(),
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
        // When the warm-up ends, some threads or agents start again earlier than others.
        if continues(progress, of_phase) {
            *of_phase = progress.clone();
        }
    }

    pub(crate) fn phases(&self) -> impl Iterator<Item = (&'static str, &Progress)> {
        let warmup = self.warmup.iter().map(|progress| ("warmup", progress));
        warmup.chain([("measured", &self.measured)])
    }
}

/// Whether no count is below that of `earlier`.
fn continues(now: &Progress, earlier: &Progress) -> bool {
    let counts = |of: &Progress| {
        let outcomes = of.outcomes.iter().map(|(_, count)| count);
        let bands = [&of.latency, &of.lag].map(LatencyBands::counts);
        let sums = [
            of.bytes_read,
            of.bytes_written,
            of.latency_sum_ns,
            of.lag_sum_ns,
        ];
        let bands = bands.into_iter().flatten().copied();
        outcomes.chain(bands).chain(sums).collect::<Vec<u64>>()
    };
    let mut pairs = counts(now).into_iter().zip(counts(earlier));
    pairs.all(|(now, then)| now >= then)
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
            .map(|(name, progress)| (name, progress.outcomes[Outcome::Ok]))
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
