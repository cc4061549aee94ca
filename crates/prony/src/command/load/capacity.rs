//! `--find-capacity`: the greatest rate at which the server keeps what is asked of it.

use std::cell::RefCell;
use std::error::Error;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::{Duration, Instant};

use clap::Args;
use prony_capacity::{
    CapacityResult, Ended, Found, Generator, Lengths, Loaded, Observed, Planned, Precision,
    Question, Seen, Slo, chart_svg, find, is_hopeless,
};
use prony_load::{Endpoint, LoadError, LoadPlan, Progress};
use prony_model::{Ended as LoadEnded, LoadResult, LoadShape, Outcome as RequestOutcome, Schedule};

use prony_server::OutsideMeter;

use super::Arguments;
use super::plan::Asked;
use crate::arguments;
use crate::exit::{FAILURE, INTERRUPTED, Outcome, TOO_NOISY};
use crate::interrupt;
use crate::result_file::{self, ResultFile};
use crate::view::capacity_progress::CapacityProgress;
use crate::view::capacity_summary;

/// The greatest rate that holds.
#[derive(Args)]
#[command(next_help_heading = "Capacity")]
pub struct CapacityArguments {
    /// Find the greatest rate, of an open loop, at which the server keeps the --slo, and the curve
    /// of latency against rate. -d is then how long each rate is tried (default 5s), --warmup
    /// how long before that (default 1s), and --arrivals are poisson unless said otherwise
    #[arg(long, group = "schedule", conflicts_with_all = ["requests", "latency"])]
    find_capacity: bool,
    /// What the server is to keep: p50, p90, p95, p99, p99.9, mean or max below a time, errors below
    /// a share (0.1% unless said), separated by commas
    #[arg(
        long,
        value_name = "BOUNDS",
        default_value = "p99<100ms,errors<0.1%",
        requires = "find_capacity"
    )]
    slo: Slo,
    /// Give no capacity (exit status 4) if an end of its 95 % interval is farther from it than this
    #[arg(long, value_name = "PERCENT", value_parser = precision, default_value = "10%",
        requires = "find_capacity", hide_short_help = true)]
    precision: f64,
    /// Find it at least this many times (six give a 95 % interval), and up to twice as often if the
    /// interval is too wide
    #[arg(long, value_name = "N", value_parser = arguments::whole(1..=1000_u32),
        default_value = "6", requires = "find_capacity", hide_short_help = true)]
    repeats: u32,
    /// How long all of it may take; what is known by then is shown
    #[arg(long, value_name = "TIME", value_parser = arguments::some_duration, default_value = "6m",
        requires = "find_capacity", hide_short_help = true)]
    budget: Duration,
    /// Draw the curve with this many points, from a tenth of the capacity to a tenth above it; 0 for
    /// no curve
    #[arg(long, value_name = "N", value_parser = arguments::whole(0..=1000_u32),
        default_value = "10", requires = "find_capacity", hide_short_help = true)]
    curve_steps: u32,
    /// Write the curve as a chart (SVG) to a file
    #[arg(
        long,
        value_name = "FILE",
        requires = "find_capacity",
        hide_short_help = true
    )]
    chart: Option<PathBuf>,
}

impl CapacityArguments {
    /// Whether the capacity is asked for, and not a load.
    pub fn is_asked(&self) -> bool {
        self.find_capacity
    }
}

/// `10%` as a share.
fn precision(text: &str) -> Result<f64, String> {
    let share = prony_model::parse_percent(text);
    share
        .filter(|share| (0.005..=0.5).contains(share))
        .ok_or_else(|| format!("`{text}` is not from 0.5% to 50%; write for instance 10%"))
}

/// How long a rate is tried where nothing is said.
const MEASURED: Duration = Duration::from_secs(5);
/// How long load is put on before that.
const WARMUP: Duration = Duration::from_secs(1);

/// Finds the capacity, and shows and writes what was found.
pub fn run(arguments: &Arguments) -> Outcome {
    let Asked { plan, requests, .. } = Asked::by(arguments)?;
    let files = result_file::open([
        ("--json", arguments.output.json.as_deref()),
        ("--chart", arguments.capacity.chart.as_deref()),
    ])?;
    let question = question(arguments, plan.seed);
    let interrupt = interrupt::on_signals()?;
    let progress = RefCell::new(CapacityProgress::start(&plan, &question));
    let mut engine = Engine {
        plan: &plan,
        slo: &question.slo,
        interrupt,
        started: Instant::now(),
        progress: &progress,
    };
    let found = find(&question, &mut engine, &mut |event| {
        progress.borrow_mut().on(&event);
    });
    progress.into_inner().finish();
    let Some(result) = found? else {
        errln!("stopped before anything was known");
        return Ok(ExitCode::from(INTERRUPTED));
    };
    tell(files, &result, requests.as_deref())?;
    Ok(exit_code(&result))
}

fn question(arguments: &Arguments, seed: u64) -> Question {
    let capacity = &arguments.capacity;
    Question {
        slo: capacity.slo.clone(),
        precision: Precision {
            share: capacity.precision,
            repeats: capacity.repeats,
        },
        lengths: Lengths {
            warmup: arguments.ends.warmup.unwrap_or(WARMUP),
            measured: arguments.ends.duration.unwrap_or(MEASURED),
        },
        budget: capacity.budget,
        curve_steps: capacity.curve_steps,
        seed,
    }
}

/// Shows it, and writes what is to be written, all of it before an error of any is told.
fn tell(
    files: [Option<ResultFile>; 2],
    result: &CapacityResult,
    requests: Option<&str>,
) -> Result<(), Box<dyn Error>> {
    let summary = capacity_summary::text(result, requests);
    match files.iter().flatten().any(ResultFile::is_stdout) {
        true => err!("{summary}"),
        false => out!("{summary}"),
    }
    let [json, chart] = files;
    let charted = chart.map_or(Ok(()), |file| write_chart(result, file));
    if let Some(file) = json {
        file.write_json(result)?;
    }
    charted
}

fn write_chart(result: &CapacityResult, file: ResultFile) -> Result<(), Box<dyn Error>> {
    let Some(svg) = chart_svg(result) else {
        errln!("no chart was written: there is no curve");
        return Ok(());
    };
    file.write(&svg)
}

fn exit_code(result: &CapacityResult) -> ExitCode {
    match (result.ended, &result.found) {
        (Ended::Interrupted, _) => ExitCode::from(INTERRUPTED),
        (Ended::Unsettled, _) => ExitCode::from(FAILURE),
        (_, Found::Capacity { .. } | Found::AtLeast { per_s: Some(_), .. }) => ExitCode::SUCCESS,
        (_, Found::Imprecise { .. }) => ExitCode::from(TOO_NOISY),
        _ => ExitCode::from(FAILURE),
    }
}

/// How long the first closed loop takes, and its warm-up, at the most.
const CLOSED_LOOP: Duration = Duration::from_secs(1);
/// How often a single request is sent until one is responded correctly.
const SETTLE_TRIES: u32 = 3;
/// How long a server that responded wrong, or refused, is left alone before the next one.
const SETTLE_PAUSE: Duration = Duration::from_millis(500);

/// How long a pause goes on before it is seen that the user stopped it.
const LONGEST_SLEEP: Duration = Duration::from_millis(50);

/// The load engine, as the search asks it for loads.
struct Engine<'a> {
    /// Of which each load has its own shape, length and seed.
    plan: &'a LoadPlan,
    slo: &'a Slo,
    /// The user's.
    interrupt: Arc<AtomicBool>,
    started: Instant,
    progress: &'a RefCell<CapacityProgress>,
}

impl Generator for Engine<'_> {
    type Error = LoadError;

    fn elapsed(&self) -> Duration {
        self.started.elapsed()
    }

    fn closed_loop(&mut self) -> Result<Option<LoadResult>, LoadError> {
        let mut plan = self.closed(CLOSED_LOOP);
        plan.warmup = plan.warmup.min(CLOSED_LOOP);
        let mut result = self.run(&plan, |_| false)?;
        if result.outcomes[RequestOutcome::Ok] == 0 && !self.is_stopped() {
            // It may take longer than that to respond.
            plan = self.closed(plan.timeout);
            plan.requests = Some(plan.connections as u64);
            plan.warmup = Duration::ZERO;
            result = self.run(&plan, |_| false)?;
        }
        Ok((!self.is_stopped()).then_some(result))
    }

    fn open_loop(&mut self, planned: &Planned) -> Result<Loaded, LoadError> {
        if let Some(unsettled) = self.settle(planned)? {
            return Ok(unsettled);
        }
        let plan = self.open(planned);
        let requests = planned.rate_per_s * planned.measured.as_secs_f64();
        let mut is_cut = false;
        let meter = self.meter();
        let load = self.run(&plan, |progress| {
            is_cut |= planned.may_be_cut() && self.is_hopeless(&plan, requests, progress);
            is_cut || self.is_out_of_time(planned)
        })?;
        let outside = meter.and_then(|meter| meter.finish().ok());
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

impl Engine<'_> {
    fn is_stopped(&self) -> bool {
        self.interrupt.load(Relaxed)
    }

    /// Observes the machine beside a load; `None` if the system does not let it.
    fn meter(&self) -> Option<OutsideMeter> {
        let address = match self.plan.endpoint {
            Endpoint::Tcp(address) => Some(address),
            Endpoint::Unix(_) => None,
        };
        OutsideMeter::start(address, &self.plan.cpus).ok()
    }

    fn is_out_of_time(&self, planned: &Planned) -> bool {
        planned.ends_by.is_some_and(|by| self.elapsed() >= by)
    }

    /// Makes a load, until it ends, the user stops it or `is_over` says so.
    fn run(
        &self,
        plan: &LoadPlan,
        mut is_over: impl FnMut(&Progress) -> bool,
    ) -> Result<LoadResult, LoadError> {
        let end = AtomicBool::new(false);
        prony_load::run(plan, &end, &mut |progress| {
            end.store(self.is_stopped() || is_over(&progress), Relaxed);
            self.progress.borrow().show(&progress);
        })
    }

    /// A server that had more to do than it could may still be at it: the next rate begins when a single
    /// request is responded correctly, which waits for what is before it. What keeps the rate from being tried
    /// where none is.
    fn settle(&self, planned: &Planned) -> Result<Option<Loaded>, LoadError> {
        let plan = LoadPlan {
            connections: 1,
            max_connections: 1,
            threads: 1,
            pipeline: 1,
            requests: Some(1),
            duration: None,
            warmup: Duration::ZERO,
            streams: 0,
            ..self.closed(Duration::ZERO)
        };
        let mut tries = 1;
        loop {
            let result = self.run(&plan, |_| self.is_out_of_time(planned))?;
            if self.is_stopped() {
                return Ok(Some(Loaded::Stopped));
            }
            if result.outcomes[RequestOutcome::Ok] > 0 {
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

    /// The plan in a closed loop.
    fn closed(&self, duration: Duration) -> LoadPlan {
        LoadPlan {
            shape: LoadShape::Closed,
            duration: Some(duration),
            deadline: None,
            spin: false,
            ..self.plan.clone()
        }
    }

    /// The plan at a rate.
    fn open(&self, planned: &Planned) -> LoadPlan {
        let shape = match &self.plan.shape {
            LoadShape::Rate(schedule) => LoadShape::Rate(Schedule {
                burst: schedule.burst,
                ..Schedule::constant(schedule.arrivals, planned.rate_per_s)
            }),
            other => other.clone(),
        };
        LoadPlan {
            shape,
            duration: Some(planned.measured),
            warmup: planned.warmup,
            seed: planned.seed,
            ..self.plan.clone()
        }
    }

    fn is_hopeless(&self, plan: &LoadPlan, requests: f64, progress: &Progress) -> bool {
        let seen = Seen {
            ok: progress.ok,
            errors: progress.errors,
            p50_ns: progress.p50_ns,
            p99_ns: progress.p99_ns,
            threads: plan.threads,
        };
        progress.measuring && is_hopeless(self.slo, requests, &seen)
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
            assert!(
                precision(text).unwrap_err().contains("for instance 10%"),
                "{text}"
            );
        }
    }
}
