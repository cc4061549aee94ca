//! Whether an answer counts as ok.

use std::rc::Rc;

use prony_record::Outcome;

use super::clock::Nanoseconds;
use super::sampler::Sampler;
use crate::difference::same_bytes;
use crate::plan::{LoadPlan, Sampling};
use crate::wire::h1::{Collect, Whole};

/// How many responses a worker keeps at a time: each may be long.
const MOST_AT_A_TIME: usize = 128;

/// Judges answers: every one by its status, its length and, if it is short, its body; the sampled ones whole.
pub(super) struct Judge<'a> {
    sampling: Option<&'a Sampling>,
    sampler: Sampler,
    status: Option<u16>,
    body_length: Option<u64>,
    /// The one body that every response must have, if every one is compared with it.
    body: Option<&'a [u8]>,
    /// Each sample holds one: so samples are counted however their requests end.
    tickets: Rc<()>,
}

/// An answer that is being kept, to be compared.
#[derive(Debug, Default)]
pub(super) struct Sample {
    pub(super) collect: Collect,
    _ticket: Rc<()>,
}

impl<'a> Judge<'a> {
    /// Of one worker of `plan`; what is sampled is drawn from `random`.
    pub(super) fn new(plan: &'a LoadPlan, random: fastrand::Rng) -> Self {
        let sampling = plan.sampling.as_ref();
        let choice = sampling.map(|sampling| sampling.choice);
        Self {
            sampling,
            sampler: Sampler::new(choice, plan.threads, random),
            status: sampling.and_then(|sampling| sampling.check.status()),
            body_length: sampling.and_then(|sampling| sampling.check.body_length()),
            body: plan.body_compared_always(),
            tickets: Rc::default(),
        }
    }

    /// The next answer is sampled in any case: a phase of the load begins.
    pub(super) fn begin_phase(&mut self) {
        self.sampler.begin_phase();
    }

    /// What keeps the answer to the request that is sent now, if it is to be looked at whole.
    #[inline]
    pub(super) fn sample_next(&mut self, now: Nanoseconds) -> Option<Box<Sample>> {
        let takes_next = self.sampler.takes_next(now);
        (takes_next && Rc::strong_count(&self.tickets) <= MOST_AT_A_TIME).then(|| {
            Box::new(Sample {
                collect: Collect::default(),
                _ticket: Rc::clone(&self.tickets),
            })
        })
    }

    /// `Err` with the outcome and what was wrong, where the answer is not ok. `body` is what the wire kept of a short
    /// one.
    #[inline]
    pub(super) fn verdict(
        &self,
        whole: Whole,
        sample: Option<Box<Sample>>,
        body: Option<&[u8]>,
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
            (Some(sample), Some(sampling)) => compare(sample.collect, sampling),
            _ => self.compare_body(body),
        }
    }

    #[inline]
    fn compare_body(&self, came: Option<&[u8]>) -> Result<(), (Outcome, String)> {
        match (self.body, came) {
            (Some(expected), Some(came)) if expected != came => same_bytes(expected, came)
                .map_err(|mismatch| (Outcome::WrongBody, mismatch.to_string())),
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
