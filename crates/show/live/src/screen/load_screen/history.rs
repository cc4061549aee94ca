//! What a load did over time, in a bounded number of slices.

use prony_load::LatencyBands;

/// How far back the short view goes, in seconds.
pub(super) const RECENT_S: f64 = 30.0;
const MOST_RECENT: usize = 400;
/// The most slices of the whole load: then each is merged with the next one.
const MOST_OF_WHOLE: usize = 400;

/// What happened within a short time. Times are seconds since the load's start.
#[derive(Clone, Debug, Default)]
pub(super) struct Slice {
    pub(crate) from_s: f64,
    pub(crate) to_s: f64,
    pub(crate) ok: u64,
    pub(crate) errors: u64,
    pub(crate) ok_flows: u64,
    pub(crate) bytes_read: u64,
    pub(crate) bytes_written: u64,
    pub(crate) latency: LatencyBands,
    pub(crate) lag: LatencyBands,
}

impl Slice {
    pub(super) fn seconds(&self) -> f64 {
        self.to_s - self.from_s
    }

    fn merge(&mut self, next: &Self) {
        self.to_s = next.to_s;
        self.ok += next.ok;
        self.errors += next.errors;
        self.ok_flows += next.ok_flows;
        self.bytes_read += next.bytes_read;
        self.bytes_written += next.bytes_written;
        self.latency.merge(&next.latency);
        self.lag.merge(&next.lag);
    }
}

/// The slices of the last seconds, and those of the whole load, which grow longer as it does.
#[derive(Clone, Debug, Default)]
pub(super) struct History {
    recent: Vec<Slice>,
    whole: Vec<Slice>,
    /// How many reports each slice of the whole has; 0 counts as 1.
    merged: usize,
    /// How many the last one has.
    in_last: usize,
}

impl History {
    pub(super) fn add(&mut self, slice: Slice) {
        let since = slice.to_s - RECENT_S;
        self.add_to_whole(&slice);
        self.recent.push(slice);
        let old = self.recent.iter().take_while(|one| one.to_s <= since);
        let too_many = self.recent.len().saturating_sub(MOST_RECENT);
        self.recent.drain(..old.count().max(too_many));
    }

    fn add_to_whole(&mut self, slice: &Slice) {
        let each = self.merged.max(1);
        if let Some(last) = self.whole.last_mut().filter(|_| self.in_last < each) {
            last.merge(slice);
            self.in_last += 1;
            return;
        }
        if self.whole.len() == MOST_OF_WHOLE {
            let pairs = self.whole.chunks(2).map(|pair| {
                let mut both = pair[0].clone();
                pair[1..].iter().for_each(|next| both.merge(next));
                both
            });
            self.whole = pairs.collect();
            self.merged = 2 * each;
        }
        self.whole.push(slice.clone());
        self.in_last = 1;
    }

    /// The slices of the last seconds, or those of the whole load.
    pub(super) fn slices(&self, is_whole: bool) -> &[Slice] {
        if is_whole { &self.whole } else { &self.recent }
    }

    /// The last second as one slice; `None` if nothing was reported.
    pub(super) fn last_second(&self) -> Option<Slice> {
        let since = self.recent.last()?.to_s - 1.0;
        // A slice that began a little earlier belongs to it, too.
        let mut slices = self.recent.iter().filter(|one| one.from_s > since - 0.1);
        let mut second = slices.next().or(self.recent.last())?.clone();
        slices.for_each(|next| second.merge(next));
        Some(second)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_load_keeps_few_slices_and_loses_no_response() {
        let mut history = History::default();
        for at in 0..20_000 {
            history.add(Slice {
                from_s: f64::from(at) * 0.2,
                to_s: f64::from(at + 1) * 0.2,
                ok: 1,
                ..Slice::default()
            });
        }
        let whole = history.slices(true);
        assert!((MOST_OF_WHOLE / 2..=MOST_OF_WHOLE).contains(&whole.len()));
        assert_eq!(whole.iter().map(|one| one.ok).sum::<u64>(), 20_000);
        assert!(whole.windows(2).all(|two| two[0].to_s == two[1].from_s));
        let recent = history.slices(false);
        assert!((150..=151).contains(&recent.len()), "{}", recent.len());
        let second = history.last_second().unwrap();
        assert!((0.9..1.2).contains(&second.seconds()) && second.ok == 5);
    }
}
