//! Whether an answer counts as ok.

use prony_record::Outcome;

use crate::plan::Sampling;
use crate::wire::h1::{Collect, Whole};

/// Judges answers: every one by its status and length, the sampled ones whole.
pub(super) struct Judge<'a> {
    /// `None` if there is nothing to compare.
    sampling: Option<&'a Sampling>,
    status: Option<u16>,
    body_length: Option<u64>,
    /// How long a right body can be: no more is kept of one that is compared.
    longest_body: u64,
    until_sample: u64,
}

impl<'a> Judge<'a> {
    pub(super) fn new(sampling: Option<&'a Sampling>) -> Self {
        Self {
            sampling: sampling.filter(|sampling| sampling.check.compares()),
            status: sampling.and_then(|sampling| sampling.check.status()),
            body_length: sampling.and_then(|sampling| sampling.check.body_length()),
            longest_body: sampling.map_or(0, |sampling| sampling.check.longest_body()),
            until_sample: 0,
        }
    }

    /// Keeps a response that is sampled.
    pub(super) fn collect(&self) -> Box<Collect> {
        Box::new(Collect::of_bodies_up_to(self.longest_body))
    }

    /// The next answer is sampled in any case: a phase of the load begins.
    pub(super) fn begin_phase(&mut self) {
        self.until_sample = 0;
    }

    /// Whether the next answer is kept to be looked at whole.
    #[inline]
    pub(super) fn samples_next(&mut self) -> bool {
        let Some(sampling) = self.sampling else {
            return false;
        };
        if self.until_sample == 0 {
            self.until_sample = sampling.every.max(1) - 1;
            true
        } else {
            self.until_sample -= 1;
            false
        }
    }

    /// `Err` with the outcome and what was wrong, where the answer is not ok.
    #[inline]
    pub(super) fn verdict(
        &self,
        whole: Whole,
        sample: Option<Box<Collect>>,
    ) -> Result<(), (Outcome, String)> {
        let status_is_right = match self.status {
            Some(status) => whole.status == status,
            None => (200..400).contains(&whole.status),
        };
        if !status_is_right {
            return Err((Outcome::WrongStatus, self.wrong_status(whole.status)));
        }
        if let Some(rpc_status) = whole.rpc_status.filter(|&status| status != 0) {
            let detail = format!("expected grpc-status 0, got {rpc_status}");
            return Err((Outcome::WrongStatus, detail));
        }
        if let Some(length) = self.body_length
            && whole.body_bytes != length
        {
            let detail = format!(
                "expected a body of {length} bytes, got {}",
                whole.body_bytes
            );
            return Err((Outcome::WrongBody, detail));
        }
        match (sample, self.sampling) {
            (Some(sample), Some(sampling)) => compare(*sample, sampling),
            _ => Ok(()),
        }
    }

    #[cold]
    fn wrong_status(&self, status: u16) -> String {
        match self.status {
            Some(expected) => format!("expected status {expected}, got {status}"),
            None => format!("expected a status from 200 to 399, got {status}"),
        }
    }
}

fn compare(sample: Collect, sampling: &Sampling) -> Result<(), (Outcome, String)> {
    sampling
        .check
        .check(&sample.into_answer())
        .map_err(|mismatch| (Outcome::WrongBody, mismatch.to_string()))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::expectation::Expectation;
    use crate::wire::h1::Keep;

    fn sampling(expectation: Expectation) -> Sampling {
        Sampling {
            check: Arc::new(expectation),
            every: 1,
        }
    }

    #[test]
    fn of_a_longer_body_only_a_byte_more_than_expected_is_kept() {
        let expectation = Expectation {
            body: Some(b"hello".to_vec()),
            ..Expectation::default()
        };
        let sampling = sampling(expectation);
        let mut judge = Judge::new(Some(&sampling));
        assert!(judge.samples_next());
        let mut kept = judge.collect();
        (0..1000).for_each(|_| kept.body(&[b'x'; 10_000]));
        let kept = kept.into_answer();
        assert_eq!((kept.body.len(), kept.body.capacity() < 100), (6, true));
    }

    #[test]
    fn nothing_is_kept_where_only_status_and_length_are_expected() {
        let expectation = Expectation {
            status: Some(200),
            length: Some(1 << 40),
            ..Expectation::default()
        };
        let sampling = sampling(expectation);
        let mut judge = Judge::new(Some(&sampling));
        assert!(!judge.samples_next());
        let whole = |body_bytes| Whole {
            status: 200,
            body_bytes,
            keep_alive: true,
            rpc_status: None,
        };
        assert_eq!(judge.verdict(whole(1 << 40), None), Ok(()));
        assert!(judge.verdict(whole(5), None).is_err());
    }
}
