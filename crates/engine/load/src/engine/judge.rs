//! Whether a response counts as ok.

use std::rc::Rc;

use prony_model::Outcome;
use prony_traffic::expected::either;
use prony_traffic::{Collect, Expected, LONGEST_LINE, same_bytes};

use super::clock::Nanoseconds;
use super::sampler::Sampler;
use crate::plan::{LoadPlan, Sampling};
use crate::wire::Whole;
use crate::wire::grpc::Status;

/// How many responses a worker keeps at a time: each may be long.
const MOST_AT_A_TIME: usize = 128;

/// A worker keeps the start of the body of this many responses in each phase: one or more per connection in most loads.
const FIRST_KEPT: usize = 16;

/// Judges responses: every one by its status, its length and, if it is short, its body; the sampled ones whole.
pub(super) struct Judge<'a> {
    /// `None` if there is nothing to compare.
    sampling: Option<&'a Sampling>,
    /// What a response with a wrong status is reported by, if anything is expected: it hides secrets.
    check: Option<&'a Expected>,
    sampler: Sampler,
    /// How many of the next responses are the first ones of a phase. Their bodies are begun to be kept in any case: if
    /// they fail, the body says why.
    first_left: usize,
    /// The accepted statuses; if there are none, every 2xx and 3xx is.
    statuses: Vec<u16>,
    /// Whether the requests are gRPC calls.
    are_calls: bool,
    body_length: Option<u64>,
    /// The longest expected body: no more of a sampled one is kept.
    longest_body: u64,
    /// The body to compare with every response, if there is one.
    body: Option<&'a [u8]>,
    /// Each sample holds a clone, which counts the samples however their requests end.
    tickets: Rc<()>,
}

/// What was kept of a whole response.
#[derive(Default)]
pub(super) struct Kept<'a> {
    /// All of it, if it was sampled.
    pub(super) sample: Option<Box<Sample>>,
    /// Its body, if the wire kept that because it is short.
    pub(super) short_body: Option<&'a [u8]>,
    /// The `grpc-message` of a failed call.
    pub(super) message: Option<&'a str>,
}

/// A response being kept for comparison.
#[derive(Debug, Default)]
pub(super) struct Sample {
    pub(super) collect: Collect,
    _ticket: Rc<()>,
}

impl<'a> Judge<'a> {
    /// For one worker of `plan`; `random` chooses the samples.
    pub(super) fn new(plan: &'a LoadPlan, random: fastrand::Rng) -> Self {
        let sampling = plan.sampling.as_ref();
        let compared = sampling.filter(|sampling| sampling.check.compares());
        let choice = compared.map(|sampling| sampling.choice);
        Self {
            sampling: compared,
            check: sampling.map(|sampling| &*sampling.check),
            first_left: FIRST_KEPT,
            sampler: Sampler::new(choice, plan.all_threads(), random),
            statuses: sampling.map_or(Vec::new(), |sampling| sampling.check.statuses.clone()),
            are_calls: plan.protocol().is_grpc(),
            body_length: plan.body_length(),
            longest_body: sampling.map_or(0, |sampling| sampling.check.longest_body()),
            body: plan.body_compared_always(),
            tickets: Rc::default(),
        }
    }

    /// Samples the first response of a new phase.
    pub(super) fn begin_phase(&mut self) {
        self.first_left = FIRST_KEPT;
        self.sampler.begin_phase();
    }

    /// Keeps the response to the request that is sent now, if it is to be compared whole.
    #[inline]
    pub(super) fn sample_next(&mut self, now: Nanoseconds) -> Option<Box<Sample>> {
        let takes_next = self.sampler.takes_next(now);
        (takes_next && Rc::strong_count(&self.tickets) <= MOST_AT_A_TIME)
            .then(|| self.sample(self.longest_body))
    }

    /// The same, or keeps the beginning of one of the first responses of a phase.
    #[inline]
    pub(super) fn keep_next(&mut self, now: Nanoseconds) -> Option<Box<Sample>> {
        let sample = self.sample_next(now);
        // What is compared is kept whole, from the first response on.
        if self.first_left == 0 || self.compares() {
            return sample;
        }
        self.first_left -= 1;
        sample.or_else(|| Some(self.sample(LONGEST_LINE)))
    }

    fn sample(&self, longest_body: u64) -> Box<Sample> {
        Box::new(Sample {
            collect: Collect::of_bodies_up_to(longest_body),
            _ticket: Rc::clone(&self.tickets),
        })
    }

    /// Whether it compares what it keeps.
    pub(super) fn compares(&self) -> bool {
        self.sampling.is_some()
    }

    /// `Err` with the outcome and the reason, if the response is not ok.
    #[inline]
    pub(super) fn verdict(&self, whole: Whole, kept: Kept<'_>) -> Result<(), (Outcome, String)> {
        let status_is_right = match &self.statuses[..] {
            [] => (200..400).contains(&whole.status),
            statuses => statuses.contains(&whole.status),
        };
        if !status_is_right {
            return Err((
                Outcome::WrongStatus,
                self.wrong_status(whole.status, kept.sample),
            ));
        }
        match whole.rpc_status {
            None if !self.are_calls => {}
            Some(0) => {}
            rpc_status => {
                let detail = failed_call(whole.status, rpc_status, kept.message);
                return Err((Outcome::WrongStatus, detail));
            }
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
        match (kept.sample, self.sampling) {
            (Some(sample), Some(sampling)) => compare(sample.collect, sampling),
            _ => self.compare_body(kept.short_body),
        }
    }

    #[inline]
    fn compare_body(&self, actual: Option<&[u8]>) -> Result<(), (Outcome, String)> {
        match (self.body, actual) {
            (Some(expected), Some(actual)) if expected != actual => same_bytes(expected, actual)
                .map_err(|mismatch| (Outcome::WrongBody, mismatch.to_string())),
            _ => Ok(()),
        }
    }

    #[cold]
    fn wrong_status(&self, status: u16, sample: Option<Box<Sample>>) -> String {
        let response = sample.map(|sample| sample.collect.into_response());
        let found = match (&response, self.check) {
            (Some(response), Some(check)) => check.check(response).err(),
            _ => None,
        };
        if let Some(mismatch) = found {
            return mismatch.to_string();
        }
        let begin = response.filter(|_| self.check.is_none());
        let got = begin.map_or(status.to_string(), |response| response.status_and_line());
        match &self.statuses[..] {
            [] => format!("expected a status from 200 to 399, got {got}"),
            statuses => format!("expected status {}, got {got}", either(statuses)),
        }
    }
}

/// The detail of a gRPC call that failed. Something in front of the server may respond without gRPC.
#[cold]
fn failed_call(status: u16, rpc_status: Option<u32>, message: Option<&str>) -> String {
    match (rpc_status.map(Status), message) {
        (None, _) => {
            format!("expected a gRPC response, got HTTP status {status} without a grpc-status")
        }
        (Some(rpc), None) => format!("expected grpc-status 0 (OK), got {rpc}"),
        (Some(rpc), Some(message)) => {
            format!("expected grpc-status 0 (OK), got {rpc}: {message}")
        }
    }
}

fn compare(sample: Collect, sampling: &Sampling) -> Result<(), (Outcome, String)> {
    sampling
        .check
        .check(&sample.into_response())
        .map_err(|mismatch| (Outcome::WrongBody, mismatch.to_string()))
}

#[cfg(test)]
mod tests {
    use std::net::{Ipv4Addr, SocketAddr};
    use std::num::NonZeroU64;
    use std::sync::Arc;

    use super::*;
    use crate::plan::SampleChoice;
    use crate::wire::h1::Keep;
    use prony_traffic::RequestParts;
    use prony_traffic::expected::{Amount, BodyContent, BodyRules};

    /// A plan that may keep and compare all responses.
    fn plan(expected: Expected) -> LoadPlan {
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, 80));
        let request = RequestParts::new("GET", &"http://a/".parse().unwrap(), &[], b"").unwrap();
        LoadPlan::new(address.into(), "http://a/", request).with(|plan| {
            plan.sampling = Some(Sampling {
                check: Arc::new(expected),
                choice: SampleChoice::EveryNth(NonZeroU64::MIN),
            })
        })
    }

    fn judge(plan: &LoadPlan) -> Judge<'_> {
        Judge::new(plan, fastrand::Rng::with_seed(1))
    }

    fn verdict(plan: &LoadPlan, status: u16, body_bytes: u64) -> Result<(), (Outcome, String)> {
        let whole = Whole {
            status,
            body_bytes,
            keep_alive: true,
            rpc_status: None,
        };
        judge(plan).verdict(whole, Kept::default())
    }

    #[test]
    fn at_most_one_byte_more_than_expected_is_kept() {
        let plan = plan(Expected {
            body: BodyRules {
                content: Some(BodyContent::Exact(b"hello".to_vec())),
                ..BodyRules::default()
            },
            ..Expected::default()
        });
        let mut kept = judge(&plan).sample_next(0).unwrap().collect;
        (0..1000).for_each(|_| kept.body(&[b'x'; 10_000]));
        let kept = kept.into_response();
        assert_eq!((kept.body.len(), kept.body.capacity() < 100), (6, true));
    }

    #[test]
    fn one_of_several_statuses_is_ok() {
        let plan = plan(Expected {
            statuses: vec![201, 404],
            ..Expected::default()
        });
        let right = [201, 404].map(|status| verdict(&plan, status, 0));
        assert_eq!(right, [Ok(()), Ok(())]);
        let wrong = "expected status 201 or 404, got 200".to_owned();
        assert_eq!(verdict(&plan, 200, 0), Err((Outcome::WrongStatus, wrong)));
    }

    #[test]
    fn a_wrong_status_comes_with_the_first_line_of_the_body() {
        let none = plan(Expected::default()).with(|plan| plan.sampling = None);
        let only_status = plan(Expected {
            statuses: vec![201],
            ..Expected::default()
        });
        let json = "{\"error\": \"no token\"}";
        for (plan, field, body, expected) in [
            (
                &none,
                "",
                json,
                "a status from 200 to 399, got 401: {\"error\": \"no token\"}",
            ),
            (
                &none,
                "",
                "\r\n <p>\tNo ü\n</p>",
                "a status from 200 to 399, got 401: <p> No ü",
            ),
            (&none, "", "", "a status from 200 to 399, got 401"),
            (
                &none,
                "content-encoding: gzip\r\n",
                json,
                "a status from 200 to 399, got 401",
            ),
            (
                &only_status,
                "",
                json,
                "status 201, got 401: {\"error\": \"no token\"}",
            ),
        ] {
            let mut judge = judge(plan);
            let mut sample = judge.keep_next(0).expect("the first one is kept");
            assert!((1..FIRST_KEPT).all(|_| judge.keep_next(0).is_some()));
            assert!(judge.keep_next(0).is_none());
            let head = format!("HTTP/1.1 401 x\r\n{field}\r\n");
            sample.collect.head(head.as_bytes());
            sample.collect.body(body.as_bytes());
            let whole = Whole {
                status: 401,
                body_bytes: body.len() as u64,
                keep_alive: true,
                rpc_status: None,
            };
            let kept = Kept {
                sample: Some(sample),
                ..Kept::default()
            };
            let expected = Err((Outcome::WrongStatus, format!("expected {expected}")));
            assert_eq!(judge.verdict(whole, kept), expected);
            judge.begin_phase();
            assert!(judge.keep_next(0).is_some());
        }
    }

    #[test]
    fn nothing_is_kept_if_only_status_and_length_are_expected() {
        let plan = plan(Expected {
            statuses: vec![200],
            body: BodyRules {
                size: Some(Amount::exactly(1 << 40)),
                ..BodyRules::default()
            },
            ..Expected::default()
        });
        assert!(judge(&plan).sample_next(0).is_none());
        assert_eq!(verdict(&plan, 200, 1 << 40), Ok(()));
        assert!(verdict(&plan, 200, 5).is_err());
    }
}
