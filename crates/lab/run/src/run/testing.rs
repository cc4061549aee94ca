//! Made-up records of trials, and a made-up server with a clock of its own, for tests.

use std::cell::{Cell, RefCell};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Duration;

use prony_load::{Endpoint, LoadError, LoadPlan, LoadRunner, Progress};
use prony_model::sample::{plain_load, plain_measurement, plain_trial};
use prony_model::{
    LatencyHistogram, LoadResult, LoadShape, LoadSpec, Measurement, Outcome, Outcomes, ServerCost,
    Trial, TrialRecord, TrialResult, WarmupResult,
};
use prony_traffic::RequestParts;

use super::warming::{Warmed, WarmedUp, search};

/// A closed loop of one second at this rate, on a quiet machine.
pub(super) fn measurement(rate_per_s: f64) -> Measurement {
    let load = plain_load(LoadSpec::default(), 0.0, &LatencyHistogram::new());
    Measurement {
        server: Some(ServerCost::default()),
        ..plain_measurement(LoadResult { rate_per_s, ..load })
    }
}

/// A trial of `server` with this rate.
pub(super) fn record(server: &str, round: u32, rate_per_s: f64) -> TrialRecord {
    let trial = Trial {
        sequence: 0,
        server: server.to_owned(),
        workload: "hello".into(),
        load: LoadSpec::default(),
        round,
    };
    plain_trial(trial, TrialResult::Measured(measurement(rate_per_s)))
}

/// A plan of a load that no test runs.
pub(super) fn load_plan() -> LoadPlan {
    let nowhere = Endpoint::Tcp(([127, 0, 0, 1], 1).into());
    let url = "http://127.0.0.1:1/".parse().unwrap();
    let request = RequestParts::new("GET", &url, &[], b"").unwrap();
    LoadPlan::new(nowhere, "http://127.0.0.1:1/", request)
}

/// A server and its load in virtual time, which passes in tenths of a second while the load runs.
pub(super) struct VirtualServer<'a> {
    /// Responses per second at an age in seconds.
    pub(super) rate: &'a dyn Fn(f64) -> f64,
    /// CPU time per response at an age, in seconds; `None` for a server that always uses a whole CPU.
    pub(super) cpu_per_ok_s: Option<&'a dyn Fn(f64) -> f64>,
    pub(super) shape: LoadShape,
    /// When it crashes.
    pub(super) ends_at_s: f64,
    /// Its age in tenths of a second, its responses, and its CPU time in seconds.
    tenths: Cell<u64>,
    ok: Cell<f64>,
    cpu_s: Cell<f64>,
    /// What observers of the search noted.
    pub(super) observed: RefCell<Vec<Duration>>,
}

impl<'a> VirtualServer<'a> {
    pub(super) fn new(rate: &'a dyn Fn(f64) -> f64) -> Self {
        Self {
            rate,
            cpu_per_ok_s: None,
            shape: LoadSpec::default().shape,
            ends_at_s: f64::INFINITY,
            tenths: Cell::default(),
            ok: Cell::default(),
            cpu_s: Cell::default(),
            observed: RefCell::default(),
        }
    }

    pub(super) fn age_s(&self) -> f64 {
        self.tenths.get() as f64 / 10.0
    }

    /// A tenth of a second passes; the rate and the cost are those in the middle of it.
    fn tenth(&self) {
        let middle_s = self.age_s() + 0.05;
        if middle_s < self.ends_at_s {
            let ok = (self.rate)(middle_s) / 10.0;
            let cost = self.cpu_per_ok_s;
            let cpu_s = cost.map_or(0.1, |cost| ok * cost(middle_s));
            self.ok.set(self.ok.get() + ok);
            self.cpu_s.set(self.cpu_s.get() + cpu_s);
        }
        self.tenths.set(self.tenths.get() + 1);
    }

    /// A load of a number of tenths of a second: its rate, and its CPU time per response.
    pub(super) fn load(&self, tenths: u64) -> (f64, f64) {
        let before = (self.ok.get(), self.cpu_s.get());
        (0..tenths).for_each(|_| self.tenth());
        let ok = self.ok.get() - before.0;
        (
            ok * 10.0 / tenths as f64,
            (self.cpu_s.get() - before.1) / ok,
        )
    }

    /// Warms it up until it is steady.
    pub(super) fn search(
        &self,
        limit: Duration,
        interrupt: &AtomicBool,
    ) -> Result<WarmedUp, LoadError> {
        let plan = load_plan().with(|plan| plan.load.shape = self.shape.clone());
        let observe = &mut |so_far| self.observed.borrow_mut().push(so_far);
        search(&plan, limit, &mut &*self, self, interrupt, observe)
    }
}

impl Warmed for &VirtualServer<'_> {
    fn elapsed(&self) -> Duration {
        Duration::from_millis(100 * self.tenths.get())
    }

    fn cpu_s(&self) -> Option<f64> {
        (self.age_s() < self.ends_at_s).then(|| self.cpu_s.get())
    }

    fn has_ended(&mut self) -> bool {
        self.age_s() >= self.ends_at_s
    }
}

/// The load of the search.
impl LoadRunner for VirtualServer<'_> {
    fn run(
        &self,
        _: &LoadPlan,
        interrupt: &AtomicBool,
        observe: &mut dyn FnMut(Progress),
    ) -> Result<LoadResult, LoadError> {
        while !interrupt.load(Relaxed) {
            self.tenth();
            observe(Progress {
                at_s: self.age_s(),
                ok: self.ok.get() as u64,
                ..Progress::default()
            });
        }
        let mut outcomes = Outcomes::default();
        outcomes[Outcome::Ok] = self.ok.get().round() as u64;
        let warmup = Some(WarmupResult {
            duration_s: self.age_s(),
            outcomes,
            failed_without_request: 0,
        });
        Ok(LoadResult {
            warmup,
            ..measurement(0.0).load
        })
    }
}
