//! What one worker counted in one phase of the load.

use std::collections::BTreeMap;

use prony_record::{LatencyHistogram, Outcome, Outcomes, WrongAnswer};

/// Counters of one worker and one phase. Nothing here is shared while the load runs.
#[derive(Debug)]
pub(super) struct Tally {
    pub(super) outcomes: Outcomes,
    pub(super) latency: LatencyHistogram,
    pub(super) connect: LatencyHistogram,
    /// How late the generator was itself, where there is a schedule.
    pub(super) schedule_lag: LatencyHistogram,
    /// Ok requests whose instant had passed when their user became free.
    pub(super) late: u64,
    pub(super) bytes_read: u64,
    pub(super) bytes_written: u64,
    statuses: Box<[u64; 1000]>,
    pub(super) first_wrong: Option<WrongAnswer>,
}

impl Tally {
    pub(super) fn new() -> Self {
        Self {
            outcomes: Outcomes::default(),
            latency: LatencyHistogram::new(),
            connect: LatencyHistogram::new(),
            schedule_lag: LatencyHistogram::new(),
            late: 0,
            bytes_read: 0,
            bytes_written: 0,
            statuses: Box::new([0; 1000]),
            first_wrong: None,
        }
    }

    #[inline]
    pub(super) fn ok(&mut self, latency_ns: u64, late: bool) {
        self.outcomes[Outcome::Ok] += 1;
        self.late += u64::from(late);
        self.latency.record(latency_ns);
    }

    /// Counts a request that is not ok, and keeps what was wrong with the first one.
    #[cold]
    pub(super) fn not_ok(&mut self, outcome: Outcome, detail: impl FnOnce() -> String) {
        self.outcomes[outcome] += 1;
        if outcome.is_error() && self.first_wrong.is_none() {
            self.first_wrong = Some(WrongAnswer {
                outcome: outcome.name().into(),
                detail: detail(),
            });
        }
    }

    #[inline]
    pub(super) fn status(&mut self, status: u16) {
        if let Some(count) = self.statuses.get_mut(usize::from(status)) {
            *count += 1;
        }
    }

    pub(super) fn statuses(&self) -> BTreeMap<u16, u64> {
        (0u16..)
            .zip(self.statuses.iter().copied())
            .filter(|&(_, count)| count > 0)
            .collect()
    }

    pub(super) fn merge(&mut self, other: &Tally) {
        self.outcomes.merge(&other.outcomes);
        self.latency.merge(&other.latency);
        self.connect.merge(&other.connect);
        self.schedule_lag.merge(&other.schedule_lag);
        self.late += other.late;
        self.bytes_read += other.bytes_read;
        self.bytes_written += other.bytes_written;
        for (mine, theirs) in self.statuses.iter_mut().zip(other.statuses.iter()) {
            *mine += theirs;
        }
        if self.first_wrong.is_none() {
            self.first_wrong.clone_from(&other.first_wrong);
        }
    }
}
