//! Counts the lines that the responses of a load draw.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use super::LineOf;

/// How often each line was drawn. Clones count together.
#[derive(Clone, Debug)]
pub struct CountedDraws {
    lines: LineOf,
    counts: Arc<Vec<AtomicU64>>,
}

impl CountedDraws {
    /// Of these lines.
    pub fn of(lines: &LineOf) -> Self {
        let counts = (0..lines.count()).map(|_| AtomicU64::new(0));
        Self {
            counts: Arc::new(counts.collect()),
            lines: lines.clone(),
        }
    }

    pub(super) fn count(&self, body: &[u8]) {
        if let Some(line) = self.lines.number(body) {
            self.counts[line].fetch_add(1, Relaxed);
        }
    }

    pub fn lines(&self) -> &LineOf {
        &self.lines
    }

    /// How often each was drawn so far.
    pub fn counts(&self) -> Vec<u64> {
        self.counts.iter().map(|it| it.load(Relaxed)).collect()
    }

    /// Whether this process has counted a response, so that there is something to judge.
    pub fn has_counted(&self) -> bool {
        self.counts().iter().any(|&count| count > 0)
    }
}
