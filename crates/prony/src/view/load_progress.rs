//! The live view of a load: a line that changes on a terminal, and a line now and then without one.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use prony_load::{LoadPlan, Progress};
use prony_model::{LoadShape, Stage};
use prony_present::number;
use prony_present::words::plural;

use super::live_line::LiveLine;

/// The time over which the current rate is taken, to compare it with a schedule.
const NOW: Duration = Duration::from_secs(1);
/// The least time between two lines without a terminal.
const PAUSE: Duration = Duration::from_secs(1);

/// Shows how far a load has come, on standard error.
pub struct LoadProgress {
    line: LiveLine,
    /// When measuring began, as far as is known: at the start, or when the end of the warm-up was seen.
    measuring_since: Instant,
    warms_up: bool,
    /// How many requests end the load; 0 if only its duration does.
    requests: u64,
    /// How long the load is measured; `None` if only `requests` ends it.
    duration: Option<Duration>,
    /// A schedule, with which the current rate is compared; without one the mean rate so far is shown.
    scheduled: Option<Scheduled>,
    next_line: Instant,
    pause: Duration,
    /// `3 agents`; empty if this process generates the load.
    agents: String,
}

/// A schedule, and the responses of the last second.
struct Scheduled {
    stages: Vec<Stage>,
    /// When the schedule ends. Responses may still come later.
    ends: Option<Duration>,
    /// How many responses there were at which time, the oldest first.
    responses: VecDeque<(Duration, u64)>,
}

impl LoadProgress {
    pub fn start(line: LiveLine, plan: &LoadPlan) -> Self {
        Self::on(line, plan, Instant::now())
    }

    pub(super) fn on(line: LiveLine, plan: &LoadPlan, now: Instant) -> Self {
        let scheduled = match &plan.shape {
            // The figures are those of single requests.
            LoadShape::Rate(schedule) if plan.request.set().is_some() => Some(Scheduled {
                stages: schedule.stages.clone(),
                ends: plan.duration,
                responses: VecDeque::from([(Duration::ZERO, 0)]),
            }),
            _ => None,
        };
        // About ten lines without a terminal, however long the load takes.
        let pause = plan.duration.map_or(PAUSE, |whole| whole / 10).max(PAUSE);
        Self {
            line,
            measuring_since: now,
            warms_up: !plan.warmup.is_zero(),
            requests: plan.requests.unwrap_or(0),
            duration: plan.duration,
            scheduled,
            next_line: now + pause,
            pause,
            agents: match plan.agents {
                1 => String::new(),
                agents => plural(agents, "agent"),
            },
        }
    }

    /// Shows the current figures.
    pub fn show(&mut self, progress: &Progress, silent: Option<String>) {
        self.show_at(progress, silent, Instant::now());
    }

    /// `silent` names an agent that may be lost.
    pub(super) fn show_at(&mut self, progress: &Progress, silent: Option<String>, now: Instant) {
        if !progress.measuring {
            if self.warms_up {
                self.measuring_since = now;
                let parts = ["warming up".into(), silent.unwrap_or_default()];
                self.line.show(&parts);
            }
            return;
        }
        let elapsed = now - self.measuring_since;
        self.line.move_to(self.done(progress, elapsed));
        let mut parts = parts(progress, self.rate(progress.ok, elapsed));
        if let Some(silent) = silent {
            // What a user must see soonest, if the line is short.
            parts.insert(1, silent);
        }
        if !self.agents.is_empty() {
            parts.push(self.agents.clone());
        }
        if !self.line.is_on_terminal() && now >= self.next_line {
            self.next_line = now + self.pause;
            errln!("  {:>5.1} s  {}", elapsed.as_secs_f64(), parts.join("  "));
        }
        self.line.show(&parts);
    }

    /// Prints a line that stays.
    pub fn print(&self, line: &str) {
        self.line.print_whole(line);
    }

    /// Clears the live line.
    pub fn finish(self) {
        self.line.finish();
    }

    fn done(&self, progress: &Progress, elapsed: Duration) -> f64 {
        match self.duration {
            Some(whole) => elapsed.as_secs_f64() / whole.as_secs_f64(),
            None => (progress.ok + progress.errors) as f64 / self.requests as f64,
        }
    }

    /// The rate in words, with `ok` responses after `elapsed`.
    fn rate(&mut self, ok: u64, elapsed: Duration) -> String {
        match &mut self.scheduled {
            None => number::rate(per_second(ok as f64, elapsed)),
            Some(scheduled) => {
                let (due, ok) = scheduled.now(ok, elapsed);
                format!("{} of {}", number::count(ok), number::rate(due))
            }
        }
    }
}

impl Scheduled {
    /// The rates of the last second: of due requests, and of ok responses.
    fn now(&mut self, ok: u64, elapsed: Duration) -> (f64, f64) {
        self.responses.push_back((elapsed, ok));
        let since = elapsed.saturating_sub(NOW);
        // The newest entry that is at least a second old stays, as the start of the last second.
        while self
            .responses
            .get(1)
            .is_some_and(|&(when, _)| when <= since)
        {
            self.responses.pop_front();
        }
        let (then, before) = self.responses[0];
        let ends = self.ends.unwrap_or(Duration::MAX);
        let due = |when: Duration| due_by(&self.stages, when.min(ends).as_secs_f64());
        let due = per_second(due(elapsed) - due(then), elapsed - then);
        let ok = per_second(ok.saturating_sub(before) as f64, elapsed - then);
        (due, ok)
    }
}

/// How many requests are due in the first `seconds` of a schedule; on average, if arrivals are random. The rate at
/// the end of the last stage continues.
fn due_by(stages: &[Stage], seconds: f64) -> f64 {
    let (mut due, mut left) = (0.0, seconds.max(0.0));
    for stage in stages {
        let length = stage.duration_s.unwrap_or(f64::INFINITY);
        let spent = left.min(length);
        // The rate moves evenly, so its mean is half-way. An endless stage does not move.
        let moved = match length.is_finite() {
            true => (stage.to_per_s - stage.from_per_s) * spent / length,
            false => 0.0,
        };
        due += (stage.from_per_s + moved / 2.0) * spent;
        left -= spent;
        if left <= 0.0 {
            return due;
        }
    }
    due + stages.last().map_or(0.0, |last| last.to_per_s * left)
}

fn per_second(count: f64, time: Duration) -> f64 {
    match time.is_zero() {
        true => 0.0,
        false => count / time.as_secs_f64(),
    }
}

/// The rate, the errors and the latency, the most important first.
fn parts(progress: &Progress, rate: String) -> Vec<String> {
    let errors = match progress.errors {
        0 => String::new(),
        1 => "1 error".into(),
        errors => format!("{} errors", number::exact(errors)),
    };
    if progress.ok == 0 {
        return vec!["no ok response yet".into(), errors];
    }
    let [p50, p99] = [progress.p50_ns, progress.p99_ns].map(|ns| number::duration(ns as f64));
    let parts = [rate, errors, format!("p50 {p50}"), format!("p99 {p99}")];
    let mut parts = Vec::from(parts);
    parts.retain(|part| !part.is_empty());
    parts
}

#[cfg(test)]
mod tests {
    use super::*;
    use prony_model::parse_stages;

    #[test]
    fn a_rate_is_compared_with_what_was_due_in_the_last_second() {
        let mut scheduled = Scheduled {
            stages: parse_stages("0..100/s:10s").unwrap(),
            ends: Some(Duration::from_secs(5)),
            responses: VecDeque::from([(Duration::ZERO, 0)]),
        };
        let at = |tenths: u64| Duration::from_millis(tenths * 100);
        assert_eq!(scheduled.now(0, at(0)), (0.0, 0.0));
        assert_eq!(scheduled.now(1, at(5)), (2.5, 2.0));
        for tenths in 6..50 {
            scheduled.now(tenths, at(tenths));
        }
        // From 4 s to 5 s the ramp goes from 40/s to 50/s.
        let (due, ok) = scheduled.now(50, at(50));
        assert!((due - 45.0).abs() < 1e-9, "{due}");
        assert_eq!(ok, 10.0);
        assert!(scheduled.responses.len() <= 12);
        // The schedule is over, and responses still come.
        assert_eq!(scheduled.now(60, at(60)), (0.0, 10.0));
    }

    #[test]
    fn a_load_without_an_ok_response_shows_no_latency() {
        let mut progress = Progress {
            ok: 0,
            errors: 1234,
            ..Progress::default()
        };
        let line = |progress: &Progress| parts(progress, "5 req/s".into()).join("  ");
        assert_eq!(line(&progress), "no ok response yet  1,234 errors");
        progress.ok = 5;
        assert_eq!(line(&progress), "5 req/s  1,234 errors  p50 0 ns  p99 0 ns");
    }

    #[test]
    fn a_constant_rate_is_due_evenly() {
        let endless = parse_stages("500/s").unwrap();
        assert_eq!(due_by(&endless, 0.0), 0.0);
        assert_eq!(due_by(&endless, 2.5), 1250.0);
        assert_eq!(due_by(&[], 2.5), 0.0);
    }

    #[test]
    fn a_ramp_is_due_by_the_area_below_it() {
        let ramp = parse_stages("100/s:10s,100/s..300/s:10s,300/s:1s").unwrap();
        assert_eq!(due_by(&ramp, 10.0), 1000.0);
        assert_eq!(due_by(&ramp, 15.0), 1000.0 + 750.0);
        assert_eq!(due_by(&ramp, 20.0), 3000.0);
        // The last rate goes on.
        assert_eq!(due_by(&ramp, 23.0), 3000.0 + 900.0);
    }
}
