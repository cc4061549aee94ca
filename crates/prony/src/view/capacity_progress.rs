//! The search for a capacity as it goes: a line for each rate that was tried, on standard error.

use std::io::IsTerminal;

use indicatif::{ProgressBar, ProgressStyle};
use prony_capacity::{
    Event, Judgement, MOST_RUNS, Planned, Purpose, Question, RateAttempt, per_second, supports,
};
use prony_load::{LoadPlan, Progress};
use prony_report::format;

use super::noisy;

/// Shows how far a search has come.
pub struct CapacityProgress {
    bar: ProgressBar,
    findings: u32,
    /// What is being done, for the line that moves.
    doing: String,
}

impl CapacityProgress {
    /// Says what is looked for.
    pub fn start(plan: &LoadPlan, question: &Question) -> Self {
        errln!(
            "looking for the greatest rate at which {} keeps {}",
            plan.url,
            question.slo
        );
        match std::io::stderr().is_terminal() {
            true => Self::on_bar(ProgressBar::new_spinner(), question),
            false => Self::on_bar(ProgressBar::hidden(), question),
        }
    }

    /// On a line of its own.
    pub(super) fn on_bar(bar: ProgressBar, question: &Question) -> Self {
        Self {
            bar: bar.with_style(style()),
            findings: question.precision.repeats,
            doing: "closed loop, for a first guess".into(),
        }
    }

    /// Shows what has happened.
    pub fn on(&mut self, event: &Event<'_>) {
        if let Event::Tries(planned) = event {
            self.doing = self.tries(planned);
        }
        if let Some(line) = self.line(event) {
            self.bar.suspend(|| errln!("  {line}"));
        }
    }

    /// What is said of an event.
    pub(super) fn line(&self, event: &Event<'_>) -> Option<String> {
        match event {
            Event::Tries(_) => None,
            Event::Guessed(rate) => Some(format!("closed loop  {:>12}", per_second(*rate))),
            Event::Tried(attempt) => Some(format!(
                "{:<12} {:>12}  {}",
                self.purpose(attempt.purpose),
                per_second(attempt.rate_per_s),
                outcome(attempt)
            )),
            Event::Unsettled(came) => Some(format!(
                "the server responds no request right any more: {came}"
            )),
        }
    }

    /// Shows the figures of now.
    pub fn show(&self, progress: &Progress) {
        let figures = match progress.measuring && progress.ok > 0 {
            true => format!(
                "p50 {}  p99 {}",
                format::duration(progress.p50_ns as f64),
                format::duration(progress.p99_ns as f64)
            ),
            false => "warming up".into(),
        };
        self.bar.set_message(format!("{}  {figures}", self.doing));
        self.bar.tick();
    }

    /// Clears the line that moved.
    pub fn finish(self) {
        self.bar.finish_and_clear();
    }

    fn tries(&self, planned: &Planned) -> String {
        format!(
            "{} {} for {}",
            self.purpose(planned.purpose),
            per_second(planned.rate_per_s),
            format::seconds(planned.measured.as_secs_f64())
        )
    }

    fn purpose(&self, purpose: Purpose) -> String {
        match purpose {
            Purpose::Approach => "approach".into(),
            Purpose::Finding { number } if number > self.findings => format!("finding {number}"),
            Purpose::Finding { number } => format!("finding {number}/{}", self.findings),
            Purpose::Confirm => "confirming".into(),
            Purpose::Curve => "curve".into(),
        }
    }
}

fn style() -> ProgressStyle {
    ProgressStyle::with_template("{elapsed:>4} {spinner} {wide_msg}")
        .unwrap_or_else(|_| ProgressStyle::default_spinner())
}

fn outcome(attempt: &RateAttempt) -> String {
    if let Some(by) = noisy_by(attempt) {
        let then = match (attempt.purpose, attempt.run < MOST_RUNS) {
            (Purpose::Curve, _) => "",
            (_, true) => "; this rate is run again",
            (_, false) => "; this rate stays undecided",
        };
        return format!("noisy    {by}{then}{}", slow_because(attempt));
    }
    let why = attempt.judgement.why().join("; ");
    match attempt.judgement {
        Judgement::Held => format!("held     {}", latency(attempt)),
        Judgement::Failed { .. } => format!("failed   {why}{}", slow_because(attempt)),
        Judgement::Limited { .. } => format!("unknown  {why}{}", slow_because(attempt)),
    }
}

/// What made an attempt noisy; `None` if nothing did.
pub fn noisy_by(attempt: &RateAttempt) -> Option<String> {
    let noise = attempt.noise.as_ref().filter(|noise| noise.is_noisy())?;
    let by: Vec<String> = noise.noisy.iter().map(noisy::by).collect();
    Some(by.join(", and "))
}

/// What the kernel says about slow requests, as it follows a reason.
fn slow_because(attempt: &RateAttempt) -> String {
    let because = attempt.slow_because.as_ref();
    because.map_or(String::new(), |because| format!("; {because}"))
}

fn latency(attempt: &RateAttempt) -> String {
    let Some(latency) = &attempt.latency_ns else {
        return String::new();
    };
    let p99 = match supports(attempt.ok, 0.99) {
        true => format!("  p99 {}", format::duration(latency.p99 as f64)),
        false => String::new(),
    };
    format!("p50 {}{p99}", format::duration(latency.p50 as f64))
}
