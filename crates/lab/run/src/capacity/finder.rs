//! The whole procedure: a first guess, the search, and the curve.

use std::ops::ControlFlow::{self, Break, Continue};
use std::time::Duration;

use prony_model::objective::Objectives;
use prony_model::{HistogramError, LoadResult, Outside, RunFleet};

use crate::capacity::attempt::{RateAttempt, Unjudged};
use crate::capacity::curve;
use crate::capacity::guess::{Guess, received_instead};
use crate::capacity::length::Lengths;
use crate::capacity::result::{CapacityResult, Ended};
use crate::capacity::search::{Found, Precision, Purpose, Search, Step, Tried};

/// What to search for, and how.
#[derive(Clone, Debug, PartialEq)]
pub struct Question {
    /// The objective that the server must meet.
    pub objectives: Objectives,
    /// The precision of the capacity.
    pub precision: Precision,
    /// How long each rate is tried.
    pub lengths: Lengths,
    /// The time limit for everything.
    pub budget: Duration,
    /// The number of points of the curve; 0 for no curve.
    pub curve_steps: u32,
    /// The seed from which the seeds of the loads are drawn.
    pub seed: u64,
}

/// A load to send: an open loop at one rate.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Planned {
    /// Why the search sends it.
    pub purpose: Purpose,
    /// Requests, or flows, due per second.
    pub rate_per_s: f64,
    /// Requests expected in the measured part.
    pub requests: f64,
    /// The duration of the warm-up.
    pub warmup: Duration,
    /// The duration of the measured part.
    pub measured: Duration,
    /// The seed of its random arrivals.
    pub seed: u64,
    /// When it must have ended, counted from the creation of the generator; `None` for no deadline.
    pub ends_by: Option<Duration>,
}

impl Planned {
    /// Whether it may be cut short if the server cannot sustain it. Loads of the curve always run to their end, because
    /// the curve shows what happens above the capacity.
    pub fn may_be_cut(&self) -> bool {
        self.purpose != Purpose::Curve
    }
}

/// Sends the loads.
pub trait Generator {
    /// Why a load could not be sent.
    type Error;

    /// The time since the generator was created.
    fn elapsed(&self) -> Duration;

    /// Runs a short closed loop, whose rate is the first guess. `None` if the user stopped it.
    fn closed_loop(&mut self) -> Result<Option<LoadResult>, Self::Error>;

    /// Waits until the server has worked off the backlog of earlier loads, and then runs an open loop at one rate. The
    /// wait counts towards [`Self::elapsed`].
    fn open_loop(&mut self, planned: &Planned) -> Result<Loaded, Self::Error>;

    /// Leaves the server idle for that long, or until the user stops the search.
    fn pause(&mut self, length: Duration);
}

/// A load, and what was observed during it.
#[derive(Clone, Debug, PartialEq)]
pub struct Observed {
    pub load: LoadResult,
    /// What else happened on the machine; `None` if that cannot be observed.
    pub outside: Option<Outside>,
}

/// How a load ended.
#[derive(Clone, Debug, PartialEq)]
pub enum Loaded {
    /// It ended by itself.
    Whole(Box<Observed>),
    /// It was cut short, because the server could no longer meet the objective.
    CutShort(Box<Observed>),
    /// It had not ended by its deadline.
    OutOfTime,
    /// It was not sent, because the idle server did not respond as expected: the result of a single request.
    Unsettled(Box<LoadResult>),
    /// The user stopped it.
    Stopped,
}

/// Progress, for a display.
#[derive(Clone, Copy, Debug)]
pub enum Event<'a> {
    /// The rate of the closed loop, in expected responses or ok flows per second.
    Guessed(f64),
    /// A load begins.
    Trying(&'a Planned),
    /// A load has ended.
    Tried(&'a RateAttempt),
    /// The server does not respond correctly any more; this is what came instead.
    Unsettled(&'a str),
}

/// Why a search failed.
#[derive(Debug, thiserror::Error)]
pub enum FindError<E> {
    /// A load could not be sent.
    #[error(transparent)]
    Load(E),
    #[error("no response was as expected: {0}")]
    NoResponse(String),
    #[error("no flow was ok: {0}")]
    NoFlow(String),
    /// The generator's histogram is unreadable.
    #[error(transparent)]
    Histogram(#[from] HistogramError),
}

/// Finds the greatest rate that the server sustains. `None` if the user stopped it before there was any result.
///
/// # Errors
/// If a load cannot be sent, or the server does not respond correctly even without load.
pub fn find<G: Generator>(
    question: &Question,
    generator: &mut G,
    watch: &mut dyn FnMut(Event<'_>),
) -> Result<Option<CapacityResult>, FindError<G::Error>> {
    let Some(closed) = generator.closed_loop().map_err(FindError::Load)? else {
        return Ok(None);
    };
    if !closed.is_any_ok() {
        return Err(none_ok(&closed));
    }
    let guess = Guess::of(&closed);
    let guess_per_s = guess.per_s;
    let lengths = Lengths {
        warmup: question.lengths.warmup.max(guess.least_warmup()),
        ..question.lengths
    };
    watch(Event::Guessed(guess_per_s));
    let requests_per_flow = guess.requests_per_flow;
    let mut finder = Finder {
        question,
        guess,
        lengths,
        generator,
        watch,
        seeds: fastrand::Rng::with_seed(question.seed),
        first_load: None,
        longest_extra: Duration::ZERO,
        noisy_rates: 0,
    };
    let mut search = Search::new(guess_per_s * BELOW_GUESS, question.precision, question.seed);
    let (attempts, mut ended) = finder.search(&mut search)?;
    let mut found = search.result();
    if finder.rests_on_noise(&attempts) {
        found = found.without_precision();
    }
    let mut curve = Vec::new();
    if matches!(ended, Ended::Complete | Ended::Budget) {
        let rates = curve::rates(&found, question.curve_steps);
        ended = finder.curve(&rates, &mut curve)?.unwrap_or(ended);
    }
    let noisy_rates = finder.noisy_rates;
    Ok(finder.first_load.map(|load| CapacityResult {
        target: closed.target,
        load,
        fleet: closed.fleet.as_ref().map(RunFleet::of),
        objectives: question.objectives.clone(),
        precision: question.precision.share,
        resolution: question.precision.resolution(),
        repeats: question.precision.repeats,
        budget_s: question.budget.as_secs_f64(),
        seed: question.seed,
        guess_per_s,
        requests_per_flow,
        ended,
        best_per_s: found.best_per_s(),
        found,
        noisy_rates,
        knee_per_s: curve::knee_of(&curve),
        attempts,
        curve,
        duration_s: generator.elapsed().as_secs_f64(),
    }))
}

/// The first rate of the search, as a share of the closed loop's rate. A server rarely sustains more than this in an
/// open loop, and would then have to work off a backlog.
const BELOW_GUESS: f64 = 0.75;
/// Each point of the curve is measured for at most this many times the requested duration.
const MOST_CURVE_LENGTH: u32 = 2;

/// The most runs of a rate, if each is noisy. For each rate that stayed noisy, later ones get one run fewer, but at least one: on a
/// machine that is always busy, more runs are no better.
pub const MOST_RUNS: u32 = 3;
/// The largest share of the rates that may have been judged by a noisy run for the result to be a capacity.
const MOST_NOISY: f64 = 0.25;
/// The longest pause before a noisy rate is re-run, to outlast the disturbance.
const LONGEST_PAUSE: Duration = Duration::from_secs(5);

struct Finder<'a, G> {
    question: &'a Question,
    guess: Guess,
    /// How long each rate is tried.
    lengths: Lengths,
    generator: &'a mut G,
    watch: &'a mut dyn FnMut(Event<'_>),
    seeds: fastrand::Rng,
    /// The first open loop; `None` until it has ended.
    first_load: Option<prony_model::LoadSpec>,
    /// The longest that a load has taken beyond its planned time so far: the wait for the backlog before it and for
    /// late responses after it.
    longest_extra: Duration,
    /// How many rates the search judged by a noisy run.
    noisy_rates: u32,
}

impl<G: Generator> Finder<'_, G> {
    fn search(
        &mut self,
        search: &mut Search,
    ) -> Result<(Vec<RateAttempt>, Ended), FindError<G::Error>> {
        let mut attempts = Vec::new();
        while let Step::Try { rate, purpose } = search.next() {
            // Without a capacity there is no curve.
            let reserved = match search.result() {
                Found::Capacity { .. } => self.reserved_for_curve(),
                _ => Duration::ZERO,
            };
            match self.try_rate(rate, purpose, reserved, &mut attempts)? {
                Continue(tried) => search.tried(rate, tried),
                Break(ended) => return Ok((attempts, ended)),
            }
        }
        Ok((attempts, Ended::Complete))
    }

    /// Tries a rate until a run of it is not noisy, at most a few times. If all are, the least disturbed one counts, whatever
    /// its result.
    fn try_rate(
        &mut self,
        rate: f64,
        purpose: Purpose,
        reserved: Duration,
        attempts: &mut Vec<RateAttempt>,
    ) -> Result<ControlFlow<Ended, Tried>, FindError<G::Error>> {
        let first = attempts.len();
        for run in 1..=MOST_RUNS.saturating_sub(self.noisy_rates).max(1) {
            let planned = self.plan(rate, purpose);
            let pause = match run {
                1 => Duration::ZERO,
                _ => self.lengths.measured.min(LONGEST_PAUSE),
            };
            if !self.fits(&planned, reserved + pause) {
                if run == 1 {
                    return Ok(Break(Ended::Budget));
                }
                break;
            }
            if !pause.is_zero() {
                self.generator.pause(pause);
            }
            let attempt = match self.attempt(&planned, run)? {
                Continue(attempt) => attempt,
                Break(ended) => return Ok(Break(ended)),
            };
            let (is_noisy, tried) = (attempt.is_noisy(), attempt.judgement.tried());
            attempts.push(attempt);
            if !is_noisy {
                return Ok(Continue(tried));
            }
        }
        self.noisy_rates += 1;
        let runs = attempts[first..].iter();
        let least = runs.min_by(|a, b| a.lost().total_cmp(&b.lost()));
        Ok(Continue(
            least.map_or(Tried::Limited, |run| run.judgement.tried()),
        ))
    }

    /// Whether too many rates were judged by a noisy run.
    fn rests_on_noise(&self, attempts: &[RateAttempt]) -> bool {
        let rates = attempts.iter().filter(|attempt| attempt.run == 1).count();
        f64::from(self.noisy_rates) > MOST_NOISY * rates as f64
    }

    /// Measures the curve; also returns why it ended early, if it did.
    fn curve(
        &mut self,
        rates: &[f64],
        curve: &mut Vec<RateAttempt>,
    ) -> Result<Option<Ended>, FindError<G::Error>> {
        for &rate in rates {
            let planned = self.plan(rate, Purpose::Curve);
            if !self.fits(&planned, Duration::ZERO) {
                return Ok(Some(Ended::Budget));
            }
            match self.attempt(&planned, 1)? {
                Continue(attempt) => curve.push(attempt),
                Break(ended) => return Ok(Some(ended)),
            }
        }
        Ok(None)
    }

    /// The time to reserve for the curve: at most half of the budget.
    fn reserved_for_curve(&self) -> Duration {
        let lengths = self.lengths;
        let each = lengths.warmup + lengths.measured + self.longest_extra;
        (each * self.question.curve_steps).min(self.question.budget / 2)
    }

    /// Whether the load is likely to end within the budget, with the time `reserved` left over.
    fn fits(&self, planned: &Planned, reserved: Duration) -> bool {
        let takes = planned.warmup + planned.measured + self.longest_extra;
        let ends = self.generator.elapsed() + takes + reserved;
        planned.ends_by.is_none_or(|by| ends <= by)
    }

    fn measured(&self, rate: f64, purpose: Purpose) -> Duration {
        let quantile = self.question.objectives.highest_quantile();
        let measured = self.lengths.at(self.guess.requests_per_s(rate), quantile);
        match purpose {
            Purpose::Curve => measured.min(self.lengths.measured * MOST_CURVE_LENGTH),
            _ => measured,
        }
    }

    fn plan(&mut self, rate_per_s: f64, purpose: Purpose) -> Planned {
        let measured = self.measured(rate_per_s, purpose);
        Planned {
            purpose,
            rate_per_s,
            requests: self.guess.requests_per_s(rate_per_s) * measured.as_secs_f64(),
            warmup: self.lengths.warmup,
            measured,
            // Short enough to retype.
            seed: self.seeds.u64(..1_000_000_000),
            // The first rate is tried even if it does not fit, because there would be no result without it.
            ends_by: self.first_load.as_ref().map(|_| self.question.budget),
        }
    }

    /// Sends a load and judges it, or returns why the search ends.
    fn attempt(
        &mut self,
        planned: &Planned,
        run: u32,
    ) -> Result<ControlFlow<Ended, RateAttempt>, FindError<G::Error>> {
        (self.watch)(Event::Trying(planned));
        let began = self.generator.elapsed();
        let (observed, cut_short) =
            match self.generator.open_loop(planned).map_err(FindError::Load)? {
                Loaded::Whole(observed) => (observed, false),
                Loaded::CutShort(observed) => (observed, true),
                Loaded::OutOfTime => return Ok(Break(Ended::Budget)),
                Loaded::Unsettled(load) => return self.unsettled(&load),
                Loaded::Stopped => return Ok(Break(Ended::Interrupted)),
            };
        let took = self.generator.elapsed().saturating_sub(began);
        let extra = took.saturating_sub(planned.warmup + planned.measured);
        self.longest_extra = self.longest_extra.max(extra);
        let Observed { load, outside } = *observed;
        let unjudged = Unjudged {
            purpose: planned.purpose,
            run,
            rate_per_s: planned.rate_per_s,
            cut_short,
            outside: outside.as_ref(),
        };
        let resolution = self.question.precision.resolution();
        let attempt = RateAttempt::of(&load, &unjudged, &self.question.objectives, resolution)?;
        self.first_load.get_or_insert(load.load);
        (self.watch)(Event::Tried(&attempt));
        Ok(Continue(attempt))
    }

    /// Ends the search, because the next rate would be unfair to a server that has not recovered. Fails if there is no
    /// result yet.
    fn unsettled(
        &mut self,
        load: &LoadResult,
    ) -> Result<ControlFlow<Ended, RateAttempt>, FindError<G::Error>> {
        if self.first_load.is_none() {
            return Err(none_ok(load));
        }
        let received = received_instead(load);
        (self.watch)(Event::Unsettled(&received));
        Ok(Break(Ended::Unsettled))
    }
}

/// What is wrong with a load without an expected response or an ok flow.
fn none_ok<E>(load: &LoadResult) -> FindError<E> {
    let received = received_instead(load);
    match load.flows {
        None => FindError::NoResponse(received),
        Some(_) => FindError::NoFlow(received),
    }
}

#[cfg(test)]
mod tests;
