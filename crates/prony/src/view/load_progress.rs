//! The live view of a load: a line that moves on a terminal, a line now and then in a pipe.

use std::collections::VecDeque;
use std::io::IsTerminal;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};
use prony_load::{LoadPlan, Progress};
use prony_model::{LoadShape, Stage};
use prony_report::format;

use super::offered::due_by;

/// Over how long the rate of now is taken, where it is held against a schedule.
const NOW: Duration = Duration::from_secs(1);

/// Shows how far a load has come, on standard error.
pub struct LoadProgress {
    bar: ProgressBar,
    plain: bool,
    /// When measuring began, as far as is known: at the start, or when the warm-up was seen to end.
    measuring_since: Instant,
    warms_up: bool,
    whole: Whole,
    rate: Rate,
    next_line: Instant,
    pause: Duration,
}

/// How the rate is shown.
enum Rate {
    /// The mean so far.
    Mean,
    /// The rate of now beside the one that was asked for.
    Scheduled(Scheduled),
}

/// What was asked for and what was made in the last second.
struct Scheduled {
    stages: Vec<Stage>,
    /// When the schedule ends. Responses may still come.
    ends: Option<Duration>,
    /// How many responses there were when, the oldest first.
    responses: VecDeque<(Duration, u64)>,
}

/// By what the end of the load is known.
enum Whole {
    Duration(Duration),
    Requests(u64),
}

impl LoadProgress {
    /// Says what is about to run.
    pub fn start(plan: &LoadPlan) -> Self {
        match std::io::stderr().is_terminal() {
            true => Self::on(ProgressBar::new(1000), false, plan, Instant::now()),
            false => Self::on(ProgressBar::hidden(), true, plan, Instant::now()),
        }
    }

    /// On a line of its own.
    pub(super) fn on(bar: ProgressBar, plain: bool, plan: &LoadPlan, now: Instant) -> Self {
        let whole = match (plan.duration, plan.requests) {
            (Some(duration), _) => Whole::Duration(duration),
            (None, requests) => Whole::Requests(requests.unwrap_or(0)),
        };
        let rate = match &plan.shape {
            LoadShape::Rate(schedule) => Rate::Scheduled(Scheduled {
                stages: schedule.stages.clone(),
                ends: plan.duration,
                responses: VecDeque::from([(Duration::ZERO, 0)]),
            }),
            _ => Rate::Mean,
        };
        // About ten lines in a pipe, however long it takes.
        let pause = plan
            .duration
            .map_or(Duration::from_secs(1), |whole| whole / 10);
        let pause = pause.max(Duration::from_secs(1));
        Self {
            bar: bar.with_style(style()),
            plain,
            measuring_since: now,
            warms_up: !plan.warmup.is_zero(),
            whole,
            rate,
            next_line: now + pause,
            pause,
        }
    }

    /// Shows the figures of now.
    pub fn show(&mut self, progress: &Progress) {
        self.show_at(progress, Instant::now());
    }

    pub(super) fn show_at(&mut self, progress: &Progress, now: Instant) {
        if !progress.measuring {
            if self.warms_up {
                self.measuring_since = now;
                self.bar.set_message("warming up");
            }
            return;
        }
        let elapsed = now - self.measuring_since;
        self.bar
            .set_position((self.done(progress, elapsed) * 1000.0) as u64);
        let line = line(progress, &self.rate.now(progress.ok, elapsed));
        if self.plain && now >= self.next_line {
            self.next_line = now + self.pause;
            errln!("  {:>5.1} s  {line}", elapsed.as_secs_f64());
        }
        self.bar.set_message(line);
    }

    /// Clears the line that moved.
    pub fn finish(self) {
        self.bar.finish_and_clear();
    }

    fn done(&self, progress: &Progress, elapsed: Duration) -> f64 {
        match self.whole {
            Whole::Duration(whole) => elapsed.as_secs_f64() / whole.as_secs_f64(),
            Whole::Requests(whole) => (progress.ok + progress.errors) as f64 / whole as f64,
        }
    }
}

fn style() -> ProgressStyle {
    ProgressStyle::with_template("{elapsed:>4} {bar:24} {wide_msg}")
        .unwrap_or_else(|_| ProgressStyle::default_bar())
}

impl Rate {
    /// The rate as it is shown, with `ok` responses after `elapsed`.
    fn now(&mut self, ok: u64, elapsed: Duration) -> String {
        match self {
            Rate::Mean => format::rate(per_second(ok as f64, elapsed)),
            Rate::Scheduled(scheduled) => {
                let (asked, made) = scheduled.now(ok, elapsed);
                format!("{} of {} asked", format::rate(made), format::count(asked))
            }
        }
    }
}

impl Scheduled {
    /// The rates, asked for and made, of the last second.
    fn now(&mut self, ok: u64, elapsed: Duration) -> (f64, f64) {
        self.responses.push_back((elapsed, ok));
        let since = elapsed.saturating_sub(NOW);
        // The newest that is a second old stays: it is what the others are held against.
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
        let asked = per_second(due(elapsed) - due(then), elapsed - then);
        let made = per_second(ok.saturating_sub(before) as f64, elapsed - then);
        (asked, made)
    }
}

fn per_second(count: f64, time: Duration) -> f64 {
    match time.is_zero() {
        true => 0.0,
        false => count / time.as_secs_f64(),
    }
}

fn line(progress: &Progress, rate: &str) -> String {
    let mut line = format!(
        "{rate}  p50 {}  p99 {}",
        format::duration(progress.p50_ns as f64),
        format::duration(progress.p99_ns as f64),
    );
    if progress.errors > 0 {
        line.push_str(&format!("  {} errors", format::exact(progress.errors)));
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rate_is_held_against_what_was_due_in_the_last_second() {
        let ramp = Stage {
            from_per_s: 0.0,
            to_per_s: 100.0,
            duration_s: Some(10.0),
        };
        let mut scheduled = Scheduled {
            stages: vec![ramp],
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
        let (asked, made) = scheduled.now(50, at(50));
        assert!((asked - 45.0).abs() < 1e-9, "{asked}");
        assert_eq!(made, 10.0);
        assert!(scheduled.responses.len() <= 12);
        // The schedule is over, and responses still come.
        assert_eq!(scheduled.now(60, at(60)), (0.0, 10.0));
    }
}
