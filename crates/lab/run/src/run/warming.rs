//! Warming a server up until it is steady.

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::{Duration, Instant};

use prony_load::{LoadPlan, LoadRunner, Progress};
use prony_model::{LoadResult, LoadShape, Outcome, RateCourse, Seconds};
use prony_server::ProcessTree;
use prony_stats::{Course, Pace, Reading, Warmth};

use super::process::Process;

/// The warm-up of the load that warms the server up. The search ends it.
const NEVER: Duration = Duration::from_secs(24 * 3600);

/// What sets the pace of a load of this shape.
pub(super) fn pace(shape: &LoadShape) -> Pace {
    if shape.is_open() {
        Pace::Schedule
    } else {
        Pace::Server
    }
}

/// The result of warming a server up until it was steady, or until the limit.
pub(super) struct WarmedUp {
    /// How long that took, in seconds.
    pub(super) searched_s: f64,
    /// After how long the server was warm; `None` if it still improved, or sent no ok response.
    pub(super) time_to_warm_s: Option<f64>,
    /// Whether it still improved when the limit was reached.
    pub(super) still_improving: bool,
    pub(super) load: LoadResult,
}

impl WarmedUp {
    /// How the load went.
    pub(super) fn course(&self) -> Option<RateCourse> {
        RateCourse::of(self.load.timeline.as_ref()?)
    }

    /// Adds its wrong responses, and its flows that could not go on, to those of the next load's warm-up: a server that
    /// causes them did not do the intended work.
    pub(super) fn add_wrong_to(&self, load: &mut LoadResult) {
        let (Some(searched), Some(warmup)) = (&self.load.warmup, &mut load.warmup) else {
            return;
        };
        for (outcome, count) in searched.outcomes.iter().filter(|(one, _)| one.is_wrong()) {
            warmup.outcomes[outcome] += count;
        }
        warmup.failed_without_request += searched.failed_without_request;
    }
}

/// A server that is being warmed up, and the time. In tests both are made up.
pub(super) trait Warmed {
    /// The time since the warm-up began.
    fn elapsed(&self) -> Duration;

    /// The CPU time of the server's processes so far, in seconds; `None` if they have ended.
    fn cpu_s(&self) -> Option<f64>;

    /// Whether the server has ended.
    fn has_ended(&mut self) -> bool;
}

/// The process of a real server.
pub(super) struct WarmedProcess<'a> {
    process: &'a mut Process,
    tree: ProcessTree,
    begun: Instant,
}

impl<'a> WarmedProcess<'a> {
    /// The server of this process, whose processes can be measured; its warm-up begins now.
    pub(super) fn new(process: &'a mut Process, tree: ProcessTree) -> Self {
        Self {
            process,
            tree,
            begun: Instant::now(),
        }
    }
}

impl Warmed for WarmedProcess<'_> {
    fn elapsed(&self) -> Duration {
        self.begun.elapsed()
    }

    fn cpu_s(&self) -> Option<f64> {
        self.tree.cpu_s().ok()
    }

    fn has_ended(&mut self) -> bool {
        self.process.exited().is_some()
    }
}

/// Lets `runner` run `plan` on a server until it is steady or `limit` is over; `observe` gets the time so far.
/// The load also ends if the server ends or `interrupt` is set.
pub(super) fn search(
    plan: &LoadPlan,
    limit: Duration,
    server: &mut dyn Warmed,
    runner: &dyn LoadRunner,
    interrupt: &AtomicBool,
    observe: &mut dyn FnMut(Duration),
) -> Result<WarmedUp, prony_load::LoadError> {
    let plan = plan.clone().with(|plan| {
        plan.load.warmup = Seconds(NEVER);
        plan.overtime = false;
    });
    let mut watch = Watch::begin(server, pace(&plan.load.shape));
    let stop = AtomicBool::new(false);
    let load = runner.run(&plan, &stop, &mut |progress| {
        let so_far = server.elapsed();
        observe(so_far);
        let is_steady = watch.look(&progress, server) == Warmth::Steady;
        let is_over = is_steady || so_far >= limit || interrupt.load(Relaxed);
        if is_over || server.has_ended() {
            stop.store(true, Relaxed);
        }
    })?;
    Ok(watch.end(load, server.elapsed()))
}

/// Reads the progress of the load and what it cost the server.
struct Watch {
    cpu_before_s: f64,
    last: CpuReading,
    course: Course,
    warmth: Warmth,
}

/// When the CPU time was read, and how much of it the load had cost by then.
#[derive(Default)]
struct CpuReading {
    /// In seconds since the warm-up began.
    at_s: f64,
    cpu_s: f64,
}

impl Watch {
    fn begin(server: &dyn Warmed, pace: Pace) -> Self {
        Self {
            cpu_before_s: server.cpu_s().unwrap_or(0.0),
            last: CpuReading::default(),
            course: Course::new(pace),
            warmth: Warmth::TooEarly,
        }
    }

    /// The counts are slightly older than the CPU time read here, so that is interpolated to their instant.
    fn look(&mut self, progress: &Progress, server: &dyn Warmed) -> Warmth {
        if progress.at_s <= self.course.end_s() {
            return self.warmth;
        }
        // The server has ended, so the load is about to end.
        let Some(cpu_s) = server.cpu_s() else {
            return self.warmth;
        };
        let last = &self.last;
        let now = CpuReading {
            at_s: server.elapsed().as_secs_f64(),
            cpu_s: cpu_s - self.cpu_before_s,
        };
        let share = ((progress.at_s - last.at_s) / (now.at_s - last.at_s)).clamp(0.0, 1.0);
        self.warmth = self.course.push(Reading {
            at_s: progress.at_s,
            ok: progress.ok as f64,
            cpu_s: last.cpu_s + share * (now.cpu_s - last.cpu_s),
        });
        self.last = now;
        self.warmth
    }

    fn end(self, load: LoadResult, took: Duration) -> WarmedUp {
        let outcomes = load.warmup.as_ref().map(|warmup| warmup.outcomes);
        let gave_any = outcomes.is_some_and(|outcomes| outcomes[Outcome::Ok] > 0);
        let still_improving = self.warmth != Warmth::Steady && gave_any && self.course.improves();
        let warm = gave_any && !still_improving;
        WarmedUp {
            searched_s: took.as_secs_f64(),
            time_to_warm_s: self.course.time_to_warm_s().filter(|_| warm),
            still_improving,
            load,
        }
    }
}

#[cfg(test)]
mod tests;
