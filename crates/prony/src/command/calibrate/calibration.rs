//! All measurements of a calibration, one after the other.

use std::error::Error;

use serde::Serialize;

use super::bench::CalibrationBench;
use super::conditions::Conditions;
use super::engine::{Engine, ScheduleLag};
use super::round_trip::RoundTrips;
use super::timing::{Clock, Wakeups};

/// The `schema` field of the JSON.
const SCHEMA: &str = "prony-calibration/2";

/// All measurements; those after an interrupt are `None`.
#[derive(Debug, Default, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct Calibration {
    #[cfg_attr(test, schemars(extend("const" = SCHEMA)))]
    pub(crate) schema: &'static str,
    pub(crate) prony_version: &'static str,
    pub(crate) conditions: Option<Conditions>,
    pub(crate) clock: Option<Clock>,
    pub(crate) wakeups: Option<Wakeups>,
    pub(crate) round_trips: Option<RoundTrips>,
    pub(crate) engine: Option<Engine>,
    pub(crate) schedule_lag: Option<ScheduleLag>,
}

impl Calibration {
    /// One that has measured nothing yet.
    pub(crate) fn new() -> Self {
        Self {
            schema: SCHEMA,
            prony_version: env!("CARGO_PKG_VERSION"),
            ..Self::default()
        }
    }

    /// Measures one thing after the other, so that none disturbs another, until all is measured or the user stops it.
    pub(crate) fn measure(&mut self, bench: &CalibrationBench<'_>) -> Result<(), Box<dyn Error>> {
        let times = &bench.times;
        self.conditions = Some(Conditions::see(&bench.cpus));
        if begins(bench, "the clock") {
            self.clock = Some(Clock::measure(bench.load_cpu())?);
        }
        if begins(bench, "how late a sleep wakes") {
            self.wakeups = Some(Wakeups::measure(bench.load_cpu(), times.wakeups)?);
        }
        if begins(bench, "the round trip") {
            self.round_trips = Some(RoundTrips::measure(&bench.cpus, times.round_trips)?);
        }
        if begins(bench, "the engine's cost per request") {
            let (engine, noise) = Engine::measure(bench)?;
            self.engine = Some(engine);
            if let Some(conditions) = &mut self.conditions {
                conditions.add(&noise);
            }
        }
        if begins(bench, "the schedule lag") {
            self.schedule_lag = Some(ScheduleLag::measure(bench)?);
        }
        Ok(())
    }
}

/// Says what is measured next; false if the user stopped it.
fn begins(bench: &CalibrationBench<'_>, what: &str) -> bool {
    let goes_on = !bench.is_interrupted();
    if goes_on {
        errln!("measuring {what}");
    }
    goes_on
}
