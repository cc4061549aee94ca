//! Whether an answer counts as ok.

use prony_record::Outcome;

use crate::plan::Sampling;
use crate::wire::h1::{Collect, Whole};

/// Judges answers: every one by its status and length, the sampled ones whole.
pub(super) struct Judge<'a> {
    sampling: Option<&'a Sampling>,
    status: Option<u16>,
    body_length: Option<u64>,
    until_sample: u64,
}

impl<'a> Judge<'a> {
    pub(super) fn new(sampling: Option<&'a Sampling>) -> Self {
        Self {
            sampling,
            status: sampling.and_then(|sampling| sampling.check.status()),
            body_length: sampling.and_then(|sampling| sampling.check.body_length()),
            until_sample: 0,
        }
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
