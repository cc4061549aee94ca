//! The live view of a search for a capacity: a line for each rate that was tried, on standard error.

use std::time::Instant;

use prony_load::{LoadPlan, Progress};
use prony_present::number;
use prony_run::capacity::{
    Event, Judgement, Planned, Purpose, Question, RateAttempt, Unit, supports,
};

use super::live_line::LiveLine;
use super::run_progress::noise_texts;
use super::screen_thread::LiveMode;

pub(crate) struct CapacityProgress {
    line: LiveLine,
    is_quiet: bool,
    unit: Unit,
    findings: u32,
    /// How long the search may take, in seconds.
    budget_s: f64,
    since: Instant,
    /// What runs now, for the live line.
    doing: String,
}

impl CapacityProgress {
    /// Says what Prony looks for, unless `mode` is quiet. A search has no screen.
    pub(crate) fn start(mode: LiveMode, plan: &LoadPlan, question: &Question) -> Self {
        let unit = Unit::of(&plan.recorded());
        let rate = match unit {
            Unit::Requests => "rate",
            Unit::Flows => "rate of flows",
        };
        if !mode.is_quiet() {
            errln!(
                "looking for the highest {rate} at which {} meets {}",
                plan.url,
                question.objectives
            );
        }
        Self {
            is_quiet: mode.is_quiet(),
            ..Self::on(mode.line(), (question, unit), Instant::now())
        }
    }

    pub(super) fn on(line: LiveLine, (question, unit): (&Question, Unit), now: Instant) -> Self {
        Self {
            line,
            is_quiet: false,
            unit,
            findings: question.precision.repeats,
            budget_s: question.budget.as_secs_f64(),
            since: now,
            doing: "closed loop, for a first guess".into(),
        }
    }

    pub(crate) fn show_event(&mut self, event: &Event<'_>) {
        if let Event::Trying(planned) = event {
            self.doing = self.tries(planned);
        }
        let is_warning = matches!(event, Event::Unsettled(_));
        if self.is_quiet && !is_warning {
            return;
        }
        if let Some(line) = self.event_text(event) {
            self.line.print(&format!("  {line}"));
        }
    }

    fn event_text(&self, event: &Event<'_>) -> Option<String> {
        match event {
            Event::Trying(_) => None,
            Event::Guessed(rate) => Some(format!("closed loop  {:>12}", self.unit.rate(*rate))),
            Event::Tried(attempt) => Some(format!(
                "{:<12} {:>12}  {}",
                self.purpose(attempt.purpose),
                self.unit.rate(attempt.rate_per_s),
                outcome(attempt)
            )),
            Event::Unsettled(received) => Some(format!(
                "the server sends no ok responses any more: {received}"
            )),
        }
    }

    pub(crate) fn show(&self, progress: &Progress, now: Instant) {
        let [p50, p99] = [progress.p50_ns, progress.p99_ns].map(|ns| number::duration(ns as f64));
        let mut parts = vec![self.doing.clone()];
        if progress.measuring && progress.ok > 0 {
            parts.extend([format!("p50 {p50}"), format!("p99 {p99}")]);
        } else {
            parts.push("warming up".into());
        }
        let elapsed = now - self.since;
        let share = elapsed.as_secs_f64() / self.budget_s;
        self.line.show(&parts, Some(share));
    }

    fn tries(&self, planned: &Planned) -> String {
        format!(
            "{} {} for {}",
            self.purpose(planned.purpose),
            self.unit.rate(planned.rate_per_s),
            number::seconds(planned.measured.as_secs_f64())
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

fn outcome(attempt: &RateAttempt) -> String {
    let why = attempt.judgement.why().join("; ");
    let verdict = match attempt.judgement {
        Judgement::Held => format!("held     {}", latency(attempt)),
        Judgement::Failed { .. } => format!("failed   {why}{}", slow_because(attempt)),
        Judgement::Limited { .. } => format!("unknown  {why}{}", slow_because(attempt)),
    };
    match noisy_by(attempt) {
        Some(by) => format!("{verdict} (noisy: {by})"),
        None => verdict,
    }
}

/// What disturbed an attempt; `None` if nothing did.
pub(crate) fn noisy_by(attempt: &RateAttempt) -> Option<String> {
    let noise = attempt.noise.as_ref().filter(|noise| noise.is_noisy())?;
    Some(noise_texts(&noise.noisy))
}

/// What the kernel's counters say about slow requests, after a reason.
fn slow_because(attempt: &RateAttempt) -> String {
    let because = attempt.slow_because.as_ref();
    because.map_or(String::new(), |because| format!("; {because}"))
}

fn latency(attempt: &RateAttempt) -> String {
    let Some(latency) = &attempt.latency_ns else {
        return String::new();
    };
    let p99 = if supports(attempt.ok, 0.99) {
        format!("  p99 {}", number::duration(latency.p99 as f64))
    } else {
        String::new()
    };
    format!("p50 {}{p99}", number::duration(latency.p50 as f64))
}
