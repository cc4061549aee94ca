//! Keeps some requests of a worker, each with the time of its steps.

use prony_model::{Outcome, ThreadTrace, TracedPhase, TracedRequest, TracedResponse};

use super::clock::Nanoseconds;
use crate::wire::Whole;

/// Multiples of the golden ratio are spread evenly, and no period of the load falls in step with them.
const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;

/// Keeps one in N of the requests that begin, on average, where N is a power of two that grows until they fit. They are
/// spread evenly over the load, however many requests it has, and the same requests are kept if it runs in the same way
/// again.
#[derive(Debug)]
pub(super) struct RequestTrace {
    most: usize,
    /// One request in this many is kept, on average.
    every: u64,
    begun: u64,
    kept: Vec<Traced>,
}

/// Whether the nth request is kept if one in `every` is. Those of a larger `every` are among those of a smaller one.
#[inline]
fn is_kept(nth: u64, every: u64) -> bool {
    nth.wrapping_mul(GOLDEN) <= u64::MAX / every
}

/// A request that may be kept when it ends.
#[derive(Debug)]
pub(super) struct Traced {
    /// Its number among all that the worker begins.
    nth: u64,
    request: TracedRequest,
}

impl RequestTrace {
    /// Keeps at most this many requests, at least one.
    pub(super) fn new(most: usize) -> Self {
        Self {
            most: most.max(1),
            every: 1,
            begun: 0,
            kept: Vec::new(),
        }
    }

    /// Counts a request that begins. Returns where to note its times, if it may be kept.
    #[inline]
    pub(super) fn begin(
        &mut self,
        connection: usize,
        number: usize,
        due: Option<Nanoseconds>,
        now: Nanoseconds,
    ) -> Option<Box<Traced>> {
        let nth = self.begun;
        self.begun += 1;
        is_kept(nth, self.every).then(|| {
            Box::new(Traced {
                nth,
                request: TracedRequest {
                    number,
                    connection,
                    due_ns: due,
                    begun_ns: now,
                    sent_ns: None,
                    first_byte_ns: None,
                    ended_ns: now,
                    outcome: Outcome::Unfinished,
                    is_resent: false,
                    response: None,
                },
            })
        })
    }

    /// Keeps a request that ends.
    pub(super) fn end(&mut self, mut traced: Traced, outcome: Outcome, now: Nanoseconds) {
        traced.request.outcome = outcome;
        traced.request.ended_ns = now;
        if is_kept(traced.nth, self.every) {
            self.kept.push(traced);
        }
        while self.kept.len() > self.most {
            self.every = self.every.saturating_mul(2);
            let every = self.every;
            self.kept.retain(|it| is_kept(it.nth, every));
        }
    }

    /// What was kept.
    pub(super) fn finish(self, phases: Vec<TracedPhase>) -> ThreadTrace {
        ThreadTrace {
            phases,
            every: self.every,
            requests: self.kept.into_iter().map(|it| it.request).collect(),
        }
    }
}

impl Traced {
    /// It is sent, perhaps again.
    pub(super) fn sent(&mut self, now: Nanoseconds) {
        self.request.is_resent |= self.request.sent_ns.is_some();
        self.request.sent_ns = Some(now);
        self.request.first_byte_ns = None;
    }

    /// The first byte of its response has arrived.
    pub(super) fn begun(&mut self, now: Nanoseconds) {
        self.request.first_byte_ns = Some(now);
    }

    /// Its response is complete.
    pub(super) fn responded(&mut self, whole: &Whole) {
        self.request.response = Some(TracedResponse {
            status: whole.status,
            rpc_status: whole.rpc_status,
            body_bytes: whole.body_bytes,
        });
    }
}

/// Moves the times of a worker to those from the start of the load, which its clock shows as `start`.
pub(super) fn from_start(trace: &mut ThreadTrace, start: Nanoseconds) {
    let shift = |at: &mut Nanoseconds| *at = at.saturating_sub(start);
    for phase in &mut trace.phases {
        shift(&mut phase.from_ns);
        shift(&mut phase.to_ns);
    }
    for request in &mut trace.requests {
        shift(&mut request.begun_ns);
        shift(&mut request.ended_ns);
        let perhaps = [
            &mut request.due_ns,
            &mut request.sent_ns,
            &mut request.first_byte_ns,
        ];
        perhaps.into_iter().flatten().for_each(shift);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Requests that begin at 0, 10, 20, … and take 5.
    fn load(most: usize, requests: u64) -> ThreadTrace {
        let mut trace = RequestTrace::new(most);
        for nth in 0..requests {
            if let Some(traced) = trace.begin(3, 0, None, nth * 10) {
                trace.end(*traced, Outcome::Ok, nth * 10 + 5);
            }
        }
        trace.finish(Vec::new())
    }

    fn begun(trace: &ThreadTrace) -> Vec<u64> {
        trace.requests.iter().map(|it| it.begun_ns / 10).collect()
    }

    #[test]
    fn every_request_is_kept_if_they_fit() {
        let trace = load(8, 8);
        assert_eq!(trace.every, 1);
        assert_eq!(begun(&trace), [0, 1, 2, 3, 4, 5, 6, 7]);
    }

    #[test]
    fn more_requests_are_thinned_evenly() {
        for most in [1, 2, 7, 100, 1000] {
            for requests in [1, 10, 999, 12_345, 100_000] {
                let trace = load(most, requests);
                assert_eq!(
                    trace,
                    load(most, requests),
                    "the same load keeps the same requests"
                );
                let kept = trace.requests.len();
                assert!((1..=most).contains(&kept), "{kept} of {most}");
                let all_fit = requests <= most as u64;
                assert!(all_fit || kept >= most / 3, "{kept} of {most}");
                let begun = begun(&trace);
                let is_even = |pair: &[u64]| pair[1] - pair[0] <= 4 * trace.every;
                assert!(begun.windows(2).all(is_even), "{begun:?}");
                assert!(requests - begun[kept - 1] <= 4 * trace.every, "{begun:?}");
            }
        }
    }

    #[test]
    fn no_period_of_the_load_falls_in_step_with_the_kept_requests() {
        for period in [2, 3, 8] {
            let mut of_residue = vec![0; period];
            let trace = load(1000, 1_000_000);
            for nth in begun(&trace) {
                of_residue[nth as usize % period] += 1;
            }
            let even = trace.requests.len() / period;
            let is_near = |&count: &usize| (even * 9 / 10..=even * 11 / 10).contains(&count);
            assert!(of_residue.iter().all(is_near), "{of_residue:?}");
        }
    }

    #[test]
    fn requests_that_end_in_another_order_are_thinned_alike() {
        let mut trace = RequestTrace::new(4);
        let in_flight: Vec<_> = (0..8)
            .map(|nth| trace.begin(0, 0, None, nth * 10).unwrap())
            .collect();
        for traced in in_flight.into_iter().rev() {
            trace.end(*traced, Outcome::Ok, 100);
        }
        let trace = trace.finish(Vec::new());
        assert_eq!((trace.every, begun(&trace)), (4, vec![5, 2, 0]));
    }

    #[test]
    fn the_times_of_a_request_are_those_of_its_last_attempt() {
        let mut trace = RequestTrace::new(4);
        let mut traced = trace.begin(2, 1, Some(1005), 1010).unwrap();
        traced.sent(1020);
        traced.begun(1030);
        traced.sent(1040);
        trace.end(*traced, Outcome::TimedOut, 1050);
        let phase = |from_ns, to_ns| TracedPhase {
            is_measured: true,
            from_ns,
            to_ns,
        };
        let mut trace = trace.finish(vec![phase(1000, 1060)]);
        from_start(&mut trace, 1000);
        assert_eq!(trace.phases, [phase(0, 60)]);
        let expected = TracedRequest {
            number: 1,
            connection: 2,
            due_ns: Some(5),
            begun_ns: 10,
            sent_ns: Some(40),
            first_byte_ns: None,
            ended_ns: 50,
            outcome: Outcome::TimedOut,
            is_resent: true,
            response: None,
        };
        assert_eq!(trace.requests, [expected]);
    }
}
