//! `--find-capacity`: the highest rate at which the server meets an objective.

use std::cell::RefCell;
use std::error::Error;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::{Duration, Instant};

use clap::Args;
use prony_load::{Endpoint, LoadError, LoadPlan, Progress};
use prony_model::objective::Objectives;
use prony_model::{
    Ended as LoadEnded, LoadResult, LoadShape, Outcome as RequestOutcome, Schedule, Seconds,
};
use prony_run::capacity::{
    CapacityResult, Ended, Found, Generator, Lengths, Loaded, Observed, Planned, Precision,
    Question, Seen, chart_svg, find, is_hopeless,
};
use prony_server::OutsideMeter;

use super::advice::advice;
use super::ready_load::ReadyLoad;
use super::shape::TimeArguments;
use crate::arguments;
use crate::exit::{FAILURE, IMPRECISE, INTERRUPTED, Outcome};
use crate::result_file::{self, ResultFile};
use crate::view::capacity_progress::CapacityProgress;
use crate::view::{capacity_summary, width};

#[derive(Args)]
#[command(next_help_heading = "Capacity")]
pub(super) struct CapacityArguments {
    /// Find the highest rate (open loop), of requests or of the flows of a Hurl file, at which the server
    /// meets the --objective, and the curve of latency against rate; -d is the minimum time per rate
    #[arg(long, group = "schedule", conflicts_with_all = ["requests", "latency", "markdown", "junit", "hgrm", "hdr_log", "trace"])]
    pub(crate) find_capacity: bool,
    /// Report a capacity only if both ends of its 95 % interval are within this share of it; otherwise
    /// exit with status 4
    #[arg(long, value_name = "PERCENT", value_parser = precision, default_value = "10%",
        requires = "find_capacity", hide_short_help = true)]
    precision: f64,
    /// Find it at least this many times (six give a 95 % interval), and up to twice as often if the
    /// interval is too wide
    #[arg(long, value_name = "N", value_parser = arguments::whole(1..=1000_u32),
        default_value = "6", requires = "find_capacity", hide_short_help = true)]
    repeats: u32,
    /// Stop after this long, and show the result so far [default: 90s]
    #[arg(long, value_name = "DURATION", value_parser = arguments::some_duration,
        requires = "find_capacity", hide_short_help = true)]
    budget: Option<Duration>,
    /// Draw the curve with this many points, from 10 % to 110 % of the capacity; 0 for no curve
    #[arg(long, value_name = "N", value_parser = arguments::whole(0..=1000_u32),
        default_value = "10", requires = "find_capacity", hide_short_help = true)]
    curve_steps: u32,
    /// Write the curve as a chart (SVG) to this file
    #[arg(
        long,
        value_name = "FILE",
        requires = "find_capacity",
        hide_short_help = true
    )]
    pub(crate) chart: Option<PathBuf>,
}

impl CapacityArguments {
    /// What a search is to find.
    pub(super) fn question(
        &self,
        objectives: Objectives,
        time: &TimeArguments,
        seed: u64,
    ) -> Question {
        Question {
            objectives,
            precision: Precision {
                share: self.precision,
                repeats: self.repeats,
            },
            lengths: Lengths {
                warmup: time.warmup.unwrap_or(Lengths::USUAL.warmup),
                measured: time.duration.unwrap_or(Lengths::USUAL.measured),
            },
            budget: self.budget.unwrap_or(Lengths::USUAL_BUDGET),
            curve_steps: self.curve_steps,
            seed,
        }
    }
}

/// `10%` as a share.
fn precision(text: &str) -> Result<f64, String> {
    let share = prony_model::parse_percent(text);
    share
        .filter(|share| (0.005..=0.5).contains(share))
        .ok_or_else(|| format!("`{text}` is not from 0.5% to 50%; write for instance 10%"))
}

pub(super) fn run(
    load: &ReadyLoad,
    question: &Question,
    files: [Option<ResultFile>; 7],
) -> Outcome {
    let progress = RefCell::new(CapacityProgress::start(load.live, &load.plan, question));
    let mut engine = SearchLoads {
        load,
        plan: &load.plan,
        question,
        started: Instant::now(),
        progress: &progress,
        advice: None,
    };
    let found = find(question, &mut engine, &mut |event| {
        progress.borrow_mut().show_event(&event);
    });
    let advice = engine.advice;
    drop(progress.into_inner());
    let found = found.map_err(|error| match advice {
        Some(advice) => format!("{error}; {advice}").into(),
        None => Box::<dyn Error>::from(error),
    });
    let Some(result) = found? else {
        errln!("stopped before there was a result");
        return Ok(ExitCode::from(INTERRUPTED));
    };
    let summary = capacity_summary::text(&result, load.requests.as_deref(), width());
    result_file::show(&summary, &files);
    // An error in one file must not keep the other from being written.
    let [json, .., chart] = files;
    let charted = chart.map_or(Ok(()), |file| write_chart(&result, file));
    if let Some(file) = json {
        file.write_json(&result)?;
    }
    charted?;
    Ok(exit_code(&result))
}

fn write_chart(result: &CapacityResult, file: ResultFile) -> Result<(), Box<dyn Error>> {
    match chart_svg(result) {
        Some(svg) => file.write(&svg),
        None => {
            errln!("no chart was written, because there is no curve");
            Ok(())
        }
    }
}

fn exit_code(result: &CapacityResult) -> ExitCode {
    match (result.ended, &result.found) {
        (Ended::Interrupted, _) => ExitCode::from(INTERRUPTED),
        (Ended::Unsettled, _) => ExitCode::from(FAILURE),
        (_, Found::Capacity { .. } | Found::AtLeast { per_s: Some(_), .. }) => ExitCode::SUCCESS,
        (_, Found::Imprecise { .. }) => ExitCode::from(IMPRECISE),
        _ => ExitCode::from(FAILURE),
    }
}

/// How long the first closed loop takes, and its warm-up, at most.
const CLOSED_LOOP: Duration = Duration::from_secs(1);
/// No flow takes less, as far as the closed loop is concerned.
const LEAST_LOOP_S: f64 = 0.001;
/// How often a single request is tried until one gets an ok response.
const SETTLE_TRIES: u32 = 3;
const SETTLE_PAUSE: Duration = Duration::from_millis(500);

/// How soon a pause notices that the user stopped the command.
const LONGEST_SLEEP: Duration = Duration::from_millis(50);

/// The load engine, which runs the loads of the search.
struct SearchLoads<'a> {
    load: &'a ReadyLoad,
    /// The plan, of which each load changes shape, length and seed.
    plan: &'a LoadPlan,
    question: &'a Question,
    started: Instant,
    progress: &'a RefCell<CapacityProgress>,
    /// What helps if the first load got no ok response, if Prony knows that.
    advice: Option<&'static str>,
}

impl Generator for SearchLoads<'_> {
    type Error = LoadError;

    fn elapsed(&self) -> Duration {
        self.started.elapsed()
    }

    fn closed_loop(&mut self) -> Result<Option<LoadResult>, LoadError> {
        if self.plan.recorded().flows {
            return self.closed_flows();
        }
        let mut plan = self.closed(CLOSED_LOOP);
        plan.load.warmup = plan.load.warmup.min(Seconds(CLOSED_LOOP));
        let mut result = self.run(&plan, |_| false)?;
        if result.outcomes[RequestOutcome::Ok] == 0 && !self.is_stopped() {
            // The server may need longer to respond.
            plan = self.closed(*plan.load.timeout);
            plan.load.requests = Some(plan.load.connections as u64);
            plan.load.warmup = Seconds::ZERO;
            result = self.run(&plan, |_| false)?;
        }
        Ok(self.first_result(&plan, result))
    }

    fn open_loop(&mut self, planned: &Planned) -> Result<Loaded, LoadError> {
        if let Some(unsettled) = self.settle(planned)? {
            return Ok(unsettled);
        }
        let plan = self.open(planned);
        let mut is_cut = false;
        let meter = self.meter();
        let mut load = self.run(&plan, |progress| {
            is_cut |= planned.may_be_cut() && self.is_hopeless(&plan, planned.requests, progress);
            is_cut || self.is_out_of_time(planned)
        })?;
        let outside = meter.and_then(|meter| meter.finish().ok());
        load.server_throttled = outside.as_ref().and_then(|outside| outside.throttled);
        let ended = load.ended;
        let observed = Box::new(Observed { load, outside });
        Ok(match ended {
            _ if self.is_stopped() => Loaded::Stopped,
            LoadEnded::Interrupted if is_cut => Loaded::CutShort(observed),
            LoadEnded::Interrupted => Loaded::OutOfTime,
            _ => Loaded::Whole(observed),
        })
    }

    fn pause(&mut self, length: Duration) {
        let until = Instant::now() + length;
        while !self.is_stopped() && Instant::now() < until {
            let left = until.saturating_duration_since(Instant::now());
            std::thread::sleep(left.min(LONGEST_SLEEP));
        }
    }
}

impl SearchLoads<'_> {
    fn is_stopped(&self) -> bool {
        self.load.interrupt.load(Relaxed)
    }

    /// Observes the machine during a load; `None` if the system does not allow it.
    fn meter(&self) -> Option<OutsideMeter> {
        if self.load.loads.are_elsewhere() {
            // This machine's figures do not tell how busy theirs is.
            return None;
        }
        let address = match self.plan.endpoint {
            Endpoint::Tcp(address) => Some(address),
            Endpoint::Unix(_) => None,
        };
        OutsideMeter::start(address, &self.plan.here.cpus).ok()
    }

    fn is_out_of_time(&self, planned: &Planned) -> bool {
        planned.ends_by.is_some_and(|by| self.elapsed() >= by)
    }

    /// A closed loop whose users go through whole flows: first through one each and then, if that did not take long, as
    /// often as the time allows. So every flow has all of its requests.
    fn closed_flows(&mut self) -> Result<Option<LoadResult>, LoadError> {
        let mut plan = self.closed(self.question.budget).with(|plan| {
            plan.load.requests = Some(plan.load.connections as u64);
            plan.load.warmup = Seconds::ZERO;
        });
        let mut result = self.run(&plan, |_| false)?;
        let times = CLOSED_LOOP.as_secs_f64() / result.duration_s.max(LEAST_LOOP_S);
        if result.is_any_ok() && times >= 2.0 && !self.is_stopped() {
            plan.load.requests = plan.load.requests.map(|users| users * times as u64);
            result = self.run(&plan, |_| false)?;
        }
        Ok(self.first_result(&plan, result))
    }

    /// The result of the closed loop; `None` if the user stopped it.
    fn first_result(&mut self, plan: &LoadPlan, result: LoadResult) -> Option<LoadResult> {
        if self.is_stopped() {
            return None;
        }
        self.advice = advice(plan, &result, self.load.offered);
        Some(result)
    }

    /// Runs a load until it ends, the user stops it or `is_over` says so.
    fn run(
        &self,
        plan: &LoadPlan,
        mut is_over: impl FnMut(&Progress) -> bool,
    ) -> Result<LoadResult, LoadError> {
        let end = AtomicBool::new(false);
        self.load.loads.runner().run(plan, &end, &mut |progress| {
            end.store(self.is_stopped() || is_over(&progress), Relaxed);
            self.progress.borrow().show(&progress, Instant::now());
        })
    }

    /// Waits until an overloaded server has worked off its queue, that is until a single request gets an ok response, or a
    /// single flow is ok.
    /// Gives the outcome of the rate if that does not happen.
    fn settle(&self, planned: &Planned) -> Result<Option<Loaded>, LoadError> {
        let plan = self.closed(Duration::ZERO).with(|plan| {
            plan.load.connections = 1;
            plan.load.max_connections = Some(1);
            plan.agents = 1;
            plan.load.threads = 1;
            plan.load.pipeline = 1;
            plan.load.requests = Some(1);
            plan.load.duration = None;
            plan.load.warmup = Seconds::ZERO;
            plan.load.streams = 0;
        });
        let mut tries = 1;
        loop {
            let result = self.run(&plan, |_| self.is_out_of_time(planned))?;
            if self.is_stopped() {
                return Ok(Some(Loaded::Stopped));
            }
            if result.is_any_ok() {
                return Ok(None);
            }
            if self.is_out_of_time(planned) {
                return Ok(Some(Loaded::OutOfTime));
            }
            if tries == SETTLE_TRIES {
                return Ok(Some(Loaded::Unsettled(result.into())));
            }
            tries += 1;
            std::thread::sleep(SETTLE_PAUSE);
        }
    }

    /// The plan as a closed loop.
    fn closed(&self, duration: Duration) -> LoadPlan {
        self.plan.clone().with(|plan| {
            plan.load.shape = LoadShape::Closed;
            plan.load.duration = Some(Seconds(duration));
            plan.load.deadline = None;
            plan.load.spin = false;
        })
    }

    /// The plan at a rate.
    fn open(&self, planned: &Planned) -> LoadPlan {
        let shape = match &self.plan.load.shape {
            LoadShape::Rate(schedule) => LoadShape::Rate(Schedule {
                burst: schedule.burst,
                ..Schedule::constant(schedule.arrivals, planned.rate_per_s)
            }),
            other => other.clone(),
        };
        self.plan.clone().with(|plan| {
            plan.load.shape = shape;
            plan.load.duration = Some(Seconds(planned.measured));
            plan.load.warmup = Seconds(planned.warmup);
            plan.load.seed = planned.seed;
        })
    }

    fn is_hopeless(&self, plan: &LoadPlan, requests: f64, progress: &Progress) -> bool {
        let seen = Seen {
            ok: progress.ok,
            errors: progress.errors,
            p50_ns: progress.p50_ns,
            p99_ns: progress.p99_ns,
            threads: plan.load.threads * plan.agents,
        };
        progress.measuring && is_hopeless(&self.question.objectives, requests, &seen)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_precision_is_written_in_percent() {
        assert_eq!(precision("10%"), Ok(0.1));
        assert_eq!(precision("0.5 %"), Ok(0.005));
        assert_eq!(precision("50%"), Ok(0.5));
        for text in ["2", "0%", "0.4%", "51%", "-1%", "NaN%", "inf%", "fine"] {
            let error = precision(text).unwrap_err();
            assert!(error.contains("for instance 10%"), "{text}: {error}");
        }
    }
}
