//! The live view of a load: a line that changes on a terminal, and a line now and then without one.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use prony_load::{LatencyBands, LoadPlan, Progress};
use prony_model::{LoadShape, Stage};
use prony_present::number;
use prony_present::words::plural;

use super::live_line::LiveLine;

/// The time that the figures are of, in seconds: a mean since the start would hide what happens now.
const NOW_S: f64 = 1.0;
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
    recent: Recent,
    /// A schedule, with which the rate is compared.
    schedule: Option<Vec<Stage>>,
    next_line: Instant,
    pause: Duration,
    /// `3 agents`; empty if this process generates the load.
    agents: String,
}

/// What was reported within the last second. Times are seconds from the start of the load.
#[derive(Default)]
struct Recent {
    /// The oldest first. The first one is a second old, or when measuring began.
    reports: VecDeque<Report>,
    measuring_since_s: f64,
    last_ok_s: f64,
}

#[derive(Clone, Default)]
struct Report {
    at_s: f64,
    ok: u64,
    latency: LatencyBands,
}

/// The last second.
struct LastSecond {
    /// Times from the start of measuring.
    from_s: f64,
    to_s: f64,
    ok: u64,
    latency: LatencyBands,
    /// How long ago the last ok response came, in seconds.
    silent_s: f64,
}

impl LoadProgress {
    pub fn start(line: LiveLine, plan: &LoadPlan) -> Self {
        Self::on(line, plan, Instant::now())
    }

    pub(super) fn on(line: LiveLine, plan: &LoadPlan, now: Instant) -> Self {
        let schedule = match &plan.shape {
            // The figures are those of single requests.
            LoadShape::Rate(schedule) if plan.request.set().is_some() => {
                Some(schedule.stages.clone())
            }
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
            recent: Recent::default(),
            schedule,
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
                self.recent.measure_from(progress.at_s);
                let parts = ["warming up".into(), silent.unwrap_or_default()];
                self.line.show(&parts);
            }
            return;
        }
        let elapsed = now - self.measuring_since;
        self.line.move_to(self.done(progress, elapsed));
        let second = self.recent.with(progress);
        let mut parts = parts(progress, &second, self.rate(&second));
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

    /// The rate in words; with a schedule that of due requests, too.
    fn rate(&self, second: &LastSecond) -> String {
        let ok = second.per_second(second.ok as f64);
        let Some(stages) = &self.schedule else {
            return number::rate(ok);
        };
        // Responses may still come after its end.
        let ends_s = self.duration.map_or(f64::INFINITY, |it| it.as_secs_f64());
        let due = |at_s: f64| due_by(stages, at_s.min(ends_s));
        let due = second.per_second(due(second.to_s) - due(second.from_s));
        format!("{} of {}", number::count(ok), number::rate(due))
    }
}

impl Recent {
    fn measure_from(&mut self, at_s: f64) {
        *self = Self {
            reports: VecDeque::new(),
            measuring_since_s: at_s,
            last_ok_s: at_s,
        };
    }

    /// Takes what is reported, which is more often than there are new figures.
    fn with(&mut self, progress: &Progress) -> LastSecond {
        let newest = Report {
            at_s: progress.at_s,
            ok: progress.ok,
            latency: progress.latency.clone(),
        };
        if self.reports.is_empty() {
            self.reports.push_back(Report {
                at_s: self.measuring_since_s,
                ..Report::default()
            });
        }
        let before = &self.reports[self.reports.len() - 1];
        if newest.ok > before.ok {
            self.last_ok_s = newest.at_s;
        }
        if newest.at_s > before.at_s {
            self.reports.push_back(newest.clone());
        }
        let since = newest.at_s - NOW_S;
        while self.reports.get(1).is_some_and(|next| next.at_s <= since) {
            self.reports.pop_front();
        }
        let oldest = &self.reports[0];
        LastSecond {
            from_s: oldest.at_s - self.measuring_since_s,
            to_s: newest.at_s - self.measuring_since_s,
            ok: newest.ok.saturating_sub(oldest.ok),
            latency: newest.latency.since(&oldest.latency),
            silent_s: newest.at_s - self.last_ok_s,
        }
    }
}

impl LastSecond {
    fn per_second(&self, count: f64) -> f64 {
        let seconds = self.to_s - self.from_s;
        if seconds > 0.0 { count / seconds } else { 0.0 }
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

/// The rate, the errors and the latency, the most important first.
fn parts(progress: &Progress, second: &LastSecond, rate: String) -> Vec<String> {
    let errors = match progress.errors {
        0 => String::new(),
        1 => "1 error".into(),
        errors => format!("{} errors", number::exact(errors)),
    };
    let events = match progress.events {
        0 => String::new(),
        1 => "1 event".into(),
        events => format!("{} events", number::exact(events)),
    };
    let (first, last) = match progress.ok {
        // The load only holds streams.
        0 if progress.events > 0 => (events, String::new()),
        0 => ("no ok response yet".into(), events),
        _ if second.silent_s >= NOW_S => {
            let silent_s = second.silent_s.floor();
            (format!("no ok response for {silent_s:.0} s"), events)
        }
        _ => (rate, events),
    };
    let mut parts = vec![first, errors];
    for (name, share) in [("p50", 0.5), ("p99", 0.99)] {
        let latency = second.latency.quantile(share).map(number::duration);
        parts.extend(latency.map(|latency| format!("{name} {latency}")));
    }
    parts.push(last);
    parts.retain(|part| !part.is_empty());
    parts
}

#[cfg(test)]
mod tests {
    use super::*;
    use prony_model::parse_stages;

    /// What is shown of a load at the end of each second, if the workers report every 0.2 s. It begins with a second of
    /// warm-up, and has ok responses of 1 ms until `ends_s`, and from then on errors.
    fn shown(schedule: Option<&str>, ends_s: u32) -> Vec<String> {
        let mut recent = Recent::default();
        recent.measure_from(1.0);
        let mut progress = Progress::default();
        let plan = prony_load::LoadPlan {
            duration: Some(Duration::from_secs(4)),
            ..super::super::tests::plan()
        };
        let mut view = LoadProgress::on(LiveLine::plain(), &plan, Instant::now());
        view.schedule = schedule.map(|text| parse_stages(text).unwrap());
        let mut lines = Vec::new();
        for fifth in 1..=25 {
            if fifth <= 5 * ends_s {
                progress.ok += 10 * u64::from(fifth);
                progress.latency.add(1_000_000, 10 * u64::from(fifth));
            } else {
                progress.errors += 3;
            }
            progress.at_s = 1.0 + f64::from(fifth) * 0.2;
            let second = recent.with(&progress);
            // The command looks more often than there is news.
            let second_look = recent.with(&progress);
            assert_eq!(
                (second.ok, second.from_s),
                (second_look.ok, second_look.from_s)
            );
            assert!(recent.reports.len() <= 7);
            if fifth % 5 == 0 {
                lines.push(parts(&progress, &second, view.rate(&second)).join("  "));
            }
        }
        lines
    }

    #[test]
    fn the_figures_are_those_of_the_last_second() {
        let latency = "p50 983 µs  p99 1.05 ms";
        assert_eq!(
            shown(None, 2),
            [
                format!("150 req/s  {latency}"),
                format!("400 req/s  {latency}"),
                "no ok response for 1 s  15 errors".into(),
                "no ok response for 2 s  30 errors".into(),
                "no ok response for 3 s  45 errors".into(),
            ]
        );
        let no_second = shown(None, 0);
        assert_eq!(no_second[1], "no ok response yet  30 errors");
    }

    #[test]
    fn a_rate_is_compared_with_what_was_due_in_the_last_second() {
        let lines = shown(Some("0..100/s:10s"), 5);
        let rates = lines.iter().map(|line| line.split("  ").next().unwrap());
        let rates: Vec<&str> = rates.collect();
        // The schedule is over after 4 s, and responses still come.
        let expected = [
            "150 of 5 req/s",
            "400 of 15 req/s",
            "650 of 25 req/s",
            "900 of 35 req/s",
            "1.15 k of 0 req/s",
        ];
        assert_eq!(rates, expected);
    }

    #[test]
    fn a_load_that_only_holds_streams_shows_their_events() {
        let mut recent = Recent::default();
        let mut progress = Progress {
            errors: 1234,
            events: 1000,
            ..Progress::default()
        };
        let mut line = |progress: &Progress| {
            let second = recent.with(progress);
            parts(progress, &second, "5 req/s".into()).join("  ")
        };
        assert_eq!(line(&progress), "1,000 events  1,234 errors");
        (progress.at_s, progress.ok) = (0.2, 5);
        progress.latency.add(1_000_000, 5);
        assert_eq!(
            line(&progress),
            "5 req/s  1,234 errors  p50 983 µs  p99 1.05 ms  1,000 events"
        );
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
