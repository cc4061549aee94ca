//! The live view of a load: a line that moves on a terminal, a line now and then in a pipe.

use std::io::IsTerminal;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};
use prony_load::{LoadPlan, Progress};
use prony_report::format;

/// Shows how far a load has come, on standard error.
pub struct LoadProgress {
    bar: ProgressBar,
    plain: bool,
    /// When measuring began, as far as is known: at the start, or when the warm-up was seen to end.
    measuring_since: Instant,
    warms_up: bool,
    whole: Whole,
    next_line: Instant,
    pause: Duration,
}

/// By what the end of the load is known.
enum Whole {
    Duration(Duration),
    Requests(u64),
}

impl LoadProgress {
    /// Says what is about to run.
    pub fn start(plan: &LoadPlan) -> Self {
        let whole = match (plan.duration, plan.requests) {
            (Some(duration), _) => Whole::Duration(duration),
            (None, requests) => Whole::Requests(requests.unwrap_or(0)),
        };
        let plain = !std::io::stderr().is_terminal();
        let bar = if plain {
            ProgressBar::hidden()
        } else {
            ProgressBar::new(1000).with_style(style())
        };
        // About ten lines in a pipe, however long it takes.
        let pause = plan
            .duration
            .map_or(Duration::from_secs(1), |whole| whole / 10);
        let pause = pause.max(Duration::from_secs(1));
        Self {
            bar,
            plain,
            measuring_since: Instant::now(),
            warms_up: !plan.warmup.is_zero(),
            whole,
            next_line: Instant::now() + pause,
            pause,
        }
    }

    /// Shows the figures of now.
    pub fn show(&mut self, progress: &Progress) {
        let now = Instant::now();
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
        let line = line(progress, elapsed);
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

fn line(progress: &Progress, elapsed: Duration) -> String {
    let seconds = elapsed.as_secs_f64();
    let rate = if seconds > 0.0 {
        progress.ok as f64 / seconds
    } else {
        0.0
    };
    let mut line = format!(
        "{}  p50 {}  p99 {}",
        format::rate(rate),
        format::duration(progress.p50_ns as f64),
        format::duration(progress.p99_ns as f64),
    );
    if progress.errors > 0 {
        line.push_str(&format!("  {} errors", format::exact(progress.errors)));
    }
    line
}
