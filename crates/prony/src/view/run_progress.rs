//! The live view of a run: what runs now, what is done, and the time that is left.

use std::collections::{BTreeMap, BTreeSet};
use std::error::Error;
use std::time::{Duration, Instant};

use prony_live::screen::{
    CellId, Column, FigureUnit, Left, Now, Readiness, RoundState, RunModel, RunNoteKind, RunScreen,
};
use prony_load::Progress;
use prony_model::{
    CountedRounds, FailureKind, MeasuredBy, Measurement, NoiseCause, ProcessStart, ServerRecord,
    ServerStatus, Trial, TrialRecord, TrialResult, VerifyResult, VerifyVerdict, WarmUp,
};
use prony_present::number;
use prony_present::words::{Joined, non_empty, not_ready, plural};
use prony_run::TrialAttempt;
use prony_run::run::{Finished, RunEvent, RunRequest, run as run_suite};
use prony_run::{AdaptiveRounds, Measure, Planned};
use prony_server::Logs;
use prony_stats::Estimate;
use prony_store::Store;

use crate::fleet;

use super::live_view::LiveView;
use super::minutes;
use super::screen_thread::{LiveMode, ScreenSettings};
use super::time_left::{TimeLeft, explaining};

/// How many noisy trials are shown one by one: on a noisy machine nearly all may be noisy.
const MOST_NOISY_LINES: u64 = 10;
/// With fewer rounds an interval is so wide that it does not tell how many more are needed.
const ROUNDS_TO_TELL: u32 = 6;

pub(crate) fn run(
    request: &RunRequest<'_>,
    store: &Store,
    mode: LiveMode,
) -> Result<Finished, Box<dyn Error>> {
    let begun = Instant::now();
    let screen = |colour| RunScreen::new(model(request), colour);
    let settings = || ScreenSettings {
        begun,
        // Not on the CPUs of the servers. Where it cannot be pinned, the run's notes say so.
        cpus: request.testbed.cpus.load.clone(),
        interrupt: request.testbed.interrupt.clone(),
        ending: "ending: the trial that runs is dropped, what was measured is kept; Ctrl-C ends at once",
        look: Box::new(|| None),
    };
    let view = LiveView::start(mode, screen, settings);
    let mut view = RunProgress::start(view, request, begun);
    let finished = run_suite(request, store, &mut |event| {
        view.show(&event, Instant::now())
    })?;
    view.finish();
    Ok(finished)
}

/// Says which server is built now, for commands without the live view; with how many are done `of` several.
pub(crate) fn say_what_is_built(of: Option<usize>) -> impl FnMut(RunEvent<'_>) {
    let mut done = 0;
    move |event| {
        done += usize::from(matches!(event, RunEvent::Prepared(_)));
        if let RunEvent::Preparing { server, step } = event
            && step == "building"
        {
            let progress = of.map(|servers| format!(" ({done} of {servers} done)"));
            errln!("building {server}{}", progress.unwrap_or_default());
        }
    }
}

pub(super) struct RunProgress<'a> {
    view: LiveView<RunModel>,
    request: &'a RunRequest<'a>,
    model: RunModel,
    records: BTreeMap<CellId, Vec<TrialRecord>>,
    /// With adaptive rounds: the widest interval after the last round, and what was left of the budget then.
    compared: Option<(Option<f64>, Duration)>,
    /// The current round. With adaptive rounds, trials of later ones are not expected yet.
    round: u32,
    rounds_over: u32,
    last_expected_round: u32,
    time_left: TimeLeft,
    /// How long it still takes to explain the servers after the trials.
    explaining: Duration,
    begun: Instant,
    /// When the last event was. This and the other times count from the run's beginning.
    now: Duration,
    explaining_since: Option<Duration>,
    trials_since: Duration,
    round_since: Duration,
    over_since: Duration,
    attempt: Option<TrialAttempt>,
    /// The responses and the time of the load's last progress.
    last_progress: Option<(bool, u64, f64)>,
    /// How long the latest round takes if it is repeated.
    round_takes: Duration,
    /// Failures that were shown in full: server, workload and kind.
    failures: BTreeSet<(String, String, &'static str)>,
}

impl<'a> RunProgress<'a> {
    /// Says what is about to run.
    pub(super) fn start(
        view: LiveView<RunModel>,
        request: &'a RunRequest<'a>,
        begun: Instant,
    ) -> Self {
        let mut view = Self {
            view,
            request,
            model: model(request),
            records: BTreeMap::new(),
            compared: None,
            round: 0,
            rounds_over: 0,
            last_expected_round: 0,
            time_left: TimeLeft::new(request.measures.clone()),
            explaining: Duration::ZERO,
            begun,
            now: Duration::ZERO,
            explaining_since: None,
            trials_since: Duration::ZERO,
            round_since: Duration::ZERO,
            over_since: Duration::ZERO,
            attempt: None,
            last_progress: None,
            round_takes: Duration::ZERO,
            failures: BTreeSet::new(),
        };
        let cpus = &request.testbed.cpus;
        let RunModel { title, plan, .. } = &view.model;
        let line = format!("{title}: {plan}, seed {}", request.seed);
        view.view.keep(&line);
        let load = match request.generator.fleet() {
            None => format!("on CPU {}", prony_kernel::format_cpu_list(&cpus.load)),
            Some(agents) => format!("from {}", fleet::described(agents.count, &agents.on)),
        };
        let servers = prony_kernel::format_cpu_list(&cpus.server);
        let line = format!("servers on CPU {servers}, load {load}");
        if cpus.shared() && request.generator.fleet().is_none_or(|it| it.are_here) {
            let line = format!("{line}: they share CPUs, which distorts every figure");
            view.warn(RunNoteKind::Plain, &line);
        } else {
            view.view.keep(&line);
        }
        view
    }

    pub(super) fn show(&mut self, event: &RunEvent<'_>, now: Instant) {
        self.now = now - self.begun;
        self.take(event);
        self.estimate();
        match &self.view {
            LiveView::Lines(line) => line.show(&self.model.line(self.now), Some(self.model.share)),
            LiveView::Quiet => {}
            LiveView::Screen(screen) => screen.send(self.model.clone()),
        }
    }

    fn take(&mut self, event: &RunEvent<'_>) {
        match event {
            RunEvent::Preparing { server, step } => {
                self.server(server, Readiness::Preparing((*step).to_owned()));
            }
            RunEvent::Prepared(server) => {
                self.server(&server.id, readiness(server, Readiness::Prepared));
                self.say_of_server(server.status == ServerStatus::Ready, &prepared(server));
            }
            RunEvent::Verifying(server) => self.server(server, Readiness::Verifying),
            RunEvent::Verified { server, logs } => self.verified(server, logs),
            RunEvent::Planned(trials) => self.planned(trials),
            RunEvent::Round(trials) => self.round(trials),
            RunEvent::Trial(attempt) => self.trial(attempt),
            RunEvent::WarmingUp { attempt, so_far } => {
                self.model.now = Some(Now::WarmingUp {
                    so_far: *so_far,
                    limit: attempt.warmup_limit,
                });
            }
            RunEvent::KeptEnded { attempt, exit } => {
                // A kept server should not end; this explains why Prony warms up another.
                let Trial {
                    server, workload, ..
                } = &attempt.trial;
                let line = format!(
                    "ENDED    {server} × {workload}: the process that was kept running {exit} between two trials; Prony \
                     starts and warms up another"
                );
                self.warn(RunNoteKind::Failed, &line);
            }
            RunEvent::Loading { progress, .. } => self.loading(progress),
            RunEvent::TrialOver { record, again } => self.measured(record, *again),
            RunEvent::Explaining {
                server,
                workload,
                step,
                done,
                steps,
            } => {
                let what = format!("explaining {server} × {workload}: {step}");
                if self.view.is_plain() {
                    self.view.print(&what);
                }
                self.explaining = self.explaining_left(*done as u32, *steps as u32);
                self.model.now = Some(Now::Explaining {
                    what,
                    done: *done,
                    steps: *steps,
                });
            }
            RunEvent::RoundOver { widest, time_left } => {
                self.compared = Some((*widest, *time_left));
                self.rounds_over += 1;
            }
        }
    }

    /// How long the explanations still take if each step goes on to take as long as so far.
    fn explaining_left(&mut self, done: u32, steps: u32) -> Duration {
        let since = *self.explaining_since.get_or_insert(self.now);
        match done {
            0 => self.explaining,
            done => (self.now - since) * steps.saturating_sub(done) / done,
        }
    }

    fn server(&mut self, id: &str, readiness: Readiness) {
        self.model.server(id, readiness, self.now);
    }

    fn print(&mut self, kind: RunNoteKind, line: &str) {
        self.model.note(kind, line, self.now);
        self.view.print(line);
    }

    fn warn(&mut self, kind: RunNoteKind, line: &str) {
        self.model.note(kind, line, self.now);
        self.view.warn(line);
    }

    /// A line about a server, which is a warning if something is wrong with it.
    fn say_of_server(&mut self, is_right: bool, line: &str) {
        if is_right {
            self.print(RunNoteKind::Plain, line);
        } else {
            self.warn(RunNoteKind::Failed, line);
        }
    }

    fn verified(&mut self, server: &ServerRecord, logs: &[Logs]) {
        let right = |result: &VerifyResult| result.verdict == VerifyVerdict::Right;
        let (lines, is_right) = (verified(server), server.verified.iter().all(right));
        let state = if is_right {
            readiness(server, |_| Readiness::Verified)
        } else {
            Readiness::Wrong(lines.join("; "))
        };
        self.server(&server.id, state);
        for line in &lines {
            self.say_of_server(is_right && server.status == ServerStatus::Ready, line);
        }
        for logs in logs {
            let line = format!("logs     {}: {}", server.id, logs.paths());
            self.warn(RunNoteKind::Plain, &line);
        }
    }

    /// Says how many trials were noisy, and clears the live line.
    pub(super) fn finish(self) {
        let attempts = self.model.attempts;
        if attempts.noisy > 0 {
            let trials = plural(attempts.done as usize, "trial");
            let (noisy, re_run) = (attempts.noisy, attempts.re_run);
            self.view
                .keep(&format!("{noisy} of {trials} noisy, {re_run} re-run"));
        }
        let is_shown = !matches!(self.view, LiveView::Quiet);
        drop(self.view);
        if is_shown {
            errln!();
        }
    }

    fn planned(&mut self, trials: &[Trial]) {
        self.model.is_planned = true;
        self.time_left.counted_trial = self.request.suite.adaptive.map(|adaptive| {
            let first = trials.first().map(|trial| trial.round);
            let of_first = trials.iter().filter(|trial| Some(trial.round) == first);
            adaptive.counted_trial(of_first.count())
        });
        self.expect(trials.iter());
        self.trials_since = self.now;
        self.over_since = self.now;
        self.last_expected_round = trials.last().map_or(0, |trial| trial.round);
        let explained = self.explained(trials) as u32;
        let explain = self.request.explain.as_ref();
        self.explaining = explain.map_or(Duration::ZERO, |plan| explaining(plan, explained));
        let left = self.time_left.left(None);
        let adaptive = &self.request.suite.adaptive;
        let within = adaptive.map_or(left, |adaptive| left.min(adaptive.budget));
        let about = minutes(within + self.explaining);
        let count = plural(trials.len(), "trial");
        let text = match adaptive {
            // A run that only explains.
            _ if trials.is_empty() => format!("about {about}"),
            None => format!("{count}, about {about}"),
            Some(adaptive) => format!(
                "{} first: {count}, about {about}; then more until every comparison is within \
                 ±{}. The budget of {} may end it earlier.",
                plural(self.last_expected_round as usize, "round"),
                adaptive.precision,
                minutes(adaptive.budget),
            ),
        };
        self.print(RunNoteKind::Plain, &text);
    }

    /// How many cells are explained: those with trials, or all if the run only explains.
    fn explained(&self, trials: &[Trial]) -> usize {
        if trials.is_empty() {
            return self.model.servers.len() * self.request.measures.len();
        }
        let cells: BTreeSet<CellId> = trials.iter().filter_map(|trial| self.cell(trial)).collect();
        cells.len()
    }

    fn expect<'t>(&mut self, trials: impl Iterator<Item = &'t Trial>) {
        for trial in trials {
            if let Some(cell) = self.cell(trial) {
                self.time_left.expect(cell);
                self.model.expect(cell, trial.round);
            }
        }
    }

    fn cell(&self, trial: &Trial) -> Option<CellId> {
        let mut servers = self.model.servers.iter();
        let is_measure = |measure: &Measure| {
            measure.workload == trial.workload && measure.load.same_load(&trial.load)
        };
        Some(CellId {
            server: servers.position(|one| one.id == trial.server)?,
            column: self.request.measures.iter().position(is_measure)?,
        })
    }

    fn round(&mut self, trials: &[Planned]) {
        let Some(first) = trials.first() else { return };
        self.round = first.trial.round;
        if self.round > self.last_expected_round {
            self.last_expected_round = self.round;
            self.expect(trials.iter().map(|planned| &planned.trial));
        }
        self.round_since = self.now;
        self.over_since = self.now;
        let cells = trials.iter().filter_map(|one| self.cell(&one.trial));
        self.round_takes = self.time_left.round(cells);
        self.estimate();
        // Without a terminal, one line per round is enough.
        if self.view.is_plain() {
            let round = &self.model.round;
            let precision = match self.model.precision.as_str() {
                "" => String::new(),
                text => format!(" ({text})"),
            };
            let left = self.model.time_left(self.now);
            self.view.print(&format!("{round}{precision}, {left} left"));
        }
    }

    /// `round 2 of 6`; with adaptive rounds, `round 9`; empty before the first one.
    fn round_text(&self) -> String {
        match (self.round, self.request.suite.adaptive) {
            (0, _) => String::new(),
            (round, Some(_)) => format!("round {round}"),
            (round, None) => format!("round {round} of {}", self.request.rounds()),
        }
    }

    /// `±5.1 % so far, target ±3 %`; empty if the number of rounds is fixed.
    fn precision_so_far(&self) -> String {
        let Some(adaptive) = &self.request.suite.adaptive else {
            return String::new();
        };
        let so_far = match self.compared {
            // After two or three rounds it may be millions of percent.
            Some((Some(widest), _)) if widest > 1.0 => "more than ±100 % so far, ".to_owned(),
            Some((Some(widest), _)) => format!("±{} so far, ", number::share(widest)),
            _ => String::new(),
        };
        format!("{so_far}target ±{}", adaptive.precision)
    }

    fn trial(&mut self, attempt: &TrialAttempt) {
        self.last_progress = None;
        if let Some(cell) = self.cell(&attempt.trial) {
            self.model.begin(cell, attempt.trial.round);
        }
        self.attempt = Some(attempt.clone());
    }

    fn loading(&mut self, progress: &Progress) {
        self.model.now = Some(Now::Loading {
            is_warm_up: !progress.measuring,
            rate_per_s: self.live_rate(progress),
            p99_ns: progress.p99_ns,
            errors: progress.errors,
        });
    }

    /// Ok responses per second since the last progress; `None` for the first of a phase, whose counts start again.
    fn live_rate(&mut self, progress: &Progress) -> Option<f64> {
        let now = (progress.measuring, progress.ok, progress.at_s);
        let (was_measuring, ok, at_s) = self.last_progress.replace(now)?;
        let took_s = progress.at_s - at_s;
        let is_same_phase = was_measuring == progress.measuring && took_s > 0.0;
        let more = progress.ok.checked_sub(ok).filter(|_| is_same_phase)?;
        Some(more as f64 / took_s)
    }

    /// Tells the model what depends on the time and the rounds so far, once there is a plan.
    fn estimate(&mut self) {
        if !self.model.is_planned {
            return;
        }
        let left = self.left();
        let about = left.least;
        let spent = (self.now - self.trials_since).as_secs_f64();
        let all = (spent + about.as_secs_f64()).max(f64::MIN_POSITIVE);
        self.model.share = spent / all;
        self.model.left = Some((left, self.now));
        self.model.round = self.round_text();
        self.model.precision = self.precision_so_far();
    }

    fn measured(&mut self, record: &TrialRecord, again: bool) {
        if let Some(attempt) = self.attempt.take()
            && let Some(cell) = self.cell(&attempt.trial)
        {
            let took = self.now - self.over_since;
            self.time_left.done(cell, &attempt, record, took, again);
        }
        self.over_since = self.now;
        self.end(record, again);
        if let Some(line) = warm_up_line(record) {
            self.print(RunNoteKind::WarmUp, &line);
        }
        if let Some(line) = noisy_line(record, again) {
            let count = self.model.attempts.noisy;
            if count <= MOST_NOISY_LINES || matches!(self.view, LiveView::Screen(_)) {
                self.print(RunNoteKind::Noisy, &line);
            } else if count == MOST_NOISY_LINES + 1 {
                let line = "noisy    more noisy trials follow; see the record";
                self.print(RunNoteKind::Noisy, line);
            }
        }
        if let TrialResult::Failed { kind, message } = &record.result {
            self.failed(&record.trial, *kind, message);
        }
    }

    fn end(&mut self, record: &TrialRecord, again: bool) {
        let Some(cell) = self.cell(&record.trial) else {
            return;
        };
        let state = match &record.result {
            TrialResult::Failed { .. } => RoundState::Failed,
            TrialResult::Measured(_) if again => RoundState::ReRun,
            TrialResult::Measured(_) if !record.noisy.is_empty() => RoundState::Noisy,
            TrialResult::Measured(_) => RoundState::Done,
        };
        // By the rules of the report: over the rounds so far, of the attempts that count.
        let records = self.records.entry(cell).or_default();
        records.push(record.clone());
        let by_round = CountedRounds::of(&*records).by_round(Measurement::headline);
        let figures: Vec<f64> = by_round.into_values().collect();
        let figure = Estimate::of(&figures);
        self.model.end(cell, record.trial.round, state, figure);
    }

    /// Shows the first failure of a kind in full, with the server's last lines, and later ones in a line.
    fn failed(&mut self, trial: &Trial, kind: FailureKind, message: &str) {
        let kind = kind.name();
        let head = format!("FAILED   {} ({kind})", trial_text(trial));
        let (server, workload) = (trial.server.clone(), trial.workload.clone());
        let is_new = self.failures.insert((server, workload, kind));
        let line = if is_new {
            format!("{head}: {message}")
        } else {
            format!("{head} again")
        };
        self.warn(RunNoteKind::Failed, &line);
    }

    fn left(&self) -> Left {
        if self.explaining_since.is_some() {
            return Left::about(self.explaining);
        }
        let since_over = self.now - self.over_since;
        let running = self.attempt.as_ref();
        let running = running.and_then(|attempt| Some((self.cell(&attempt.trial)?, since_over)));
        let trials = self.time_left.left(running);
        let Some(adaptive) = &self.request.suite.adaptive else {
            return Left::about(trials + self.explaining);
        };
        let budget = match self.compared {
            Some((_, left)) => left.saturating_sub(self.now - self.round_since),
            None => adaptive.budget,
        };
        // The budget ends no round that has begun.
        let most = budget.max(self.round_takes);
        match self.rounds_to_go(adaptive) {
            None => Left {
                least: trials.min(most) + self.explaining,
                most: most + self.explaining,
            },
            Some(rounds) => {
                let trials = trials + self.round_takes.mul_f64(rounds);
                Left::about(trials.min(most) + self.explaining)
            }
        }
    }

    /// How many rounds are needed beyond the expected ones, if intervals go on to narrow with the square root of the
    /// rounds. `None` if too few are over to tell.
    fn rounds_to_go(&self, adaptive: &AdaptiveRounds) -> Option<f64> {
        let (widest, _) = self.compared?;
        let over = self.rounds_over;
        if over < ROUNDS_TO_TELL {
            return None;
        }
        let over = f64::from(over);
        let ratio = widest.map_or(0.0, |widest| widest / adaptive.precision.share());
        let needed = (over * ratio * ratio).min(f64::from(self.request.rounds()));
        Some((needed - f64::from(self.last_expected_round)).max(0.0))
    }
}

fn model(request: &RunRequest<'_>) -> RunModel {
    let flows = |workload: &str| {
        let mut tasks = request.tasks.iter();
        tasks.any(|task| task.workload.id == workload && task.traffic.request().is_none())
    };
    let column = |measure: &Measure| Column {
        workload: measure.workload.clone(),
        load: prony_present::load::short(&measure.load),
        unit: if measure.load.by == MeasuredBy::Instructions {
            FigureUnit::Instructions
        } else if measure.load.shape.is_open() {
            FigureUnit::MedianLatency
        } else if flows(&measure.workload) {
            FigureUnit::FlowsPerSecond
        } else {
            FigureUnit::RequestsPerSecond
        },
    };
    RunModel::new(
        format!("{} ({})", request.suite.title, request.suite.id),
        planned_text(request),
        request.measures.iter().map(column).collect(),
        request.servers.iter().map(|one| one.id.clone()),
    )
}

fn readiness(server: &ServerRecord, ready: impl Fn(String) -> Readiness) -> Readiness {
    let why = not_ready(&server.status).unwrap_or_default();
    match &server.status {
        ServerStatus::Ready => ready(prepared(server)),
        ServerStatus::Skipped { .. } => Readiness::Skipped(why),
        _ => Readiness::Failed(why),
    }
}

/// `9 servers, 3 workloads, 6 rounds`; a run that only explains has no rounds.
fn planned_text(request: &RunRequest<'_>) -> String {
    let rounds = (request.rounds() > 0).then(|| rounds(request));
    let parts = [
        plural(request.servers.len(), "server"),
        plural(request.tasks.len(), "workload"),
    ];
    parts.into_iter().chain(rounds).joined(", ")
}

/// `3 rounds`, `3 to 20 rounds` if measures differ, or `rounds until ±3 %`.
fn rounds(request: &RunRequest<'_>) -> String {
    if let Some(adaptive) = &request.suite.adaptive {
        return format!("rounds until ±{}", adaptive.precision);
    }
    let most = request.rounds();
    let rounds = request.measures.iter().map(|measure| measure.rounds);
    match rounds.min() {
        Some(least) if least < most => format!("{least} to {most} rounds"),
        _ => plural(most as usize, "round"),
    }
}

fn prepared(server: &ServerRecord) -> String {
    status_line(&server.id, &server.status).unwrap_or_else(|| ready(server))
}

fn ready(server: &ServerRecord) -> String {
    let named = [Some(&server.id), server.version.as_ref()];
    let named = named.into_iter().flatten().joined(" ");
    match server.build_s {
        Some(seconds) => format!("built    {named} in {}", tenths(seconds)),
        None => format!("ready    {named}"),
    }
}

fn verified(server: &ServerRecord) -> Vec<String> {
    if let Some(line) = status_line(&server.id, &server.status) {
        return vec![line];
    }
    let results = server.verified.iter();
    let wrong = results.filter_map(|result| match &result.verdict {
        VerifyVerdict::Right => None,
        VerifyVerdict::Wrong { expected, received } => Some(format!(
            "WRONG    {} × {}: expected {expected}; received {received}",
            server.id, result.workload
        )),
    });
    let wrong: Vec<String> = wrong.collect();
    if wrong.is_empty() {
        return vec![format!("verified {}", server.id)];
    }
    wrong
}

/// Why a server is not measured, in a line; `None` if it is ready.
pub(crate) fn status_line(id: &str, status: &ServerStatus) -> Option<String> {
    let label = match status {
        ServerStatus::Skipped { .. } => "SKIPPED ",
        _ => "FAILED  ",
    };
    not_ready(status).map(|reason| format!("{label} {id}: {reason}"))
}

/// `go-nethttp × hello, round 2`.
fn trial_text(trial: &Trial) -> String {
    format!(
        "{} × {}, round {}",
        trial.server, trial.workload, trial.round
    )
}

/// `noisy    go-nethttp × hello, round 2: other programs used 23 % of the CPU time; Prony
/// re-runs it …`; `None` if nothing disturbed it.
fn noisy_line(record: &TrialRecord, again: bool) -> Option<String> {
    let by = non_empty(noise_texts(&record.noisy))?;
    let then = if again {
        "Prony re-runs it at the end of the round"
    } else if record.noisy.iter().any(NoiseCause::is_from_outside) {
        "Prony does not re-run it, because the limit of re-runs is reached"
    } else {
        "Prony does not re-run it"
    };
    let trial = trial_text(&record.trial);
    Some(format!("noisy    {trial}: {by}; {then}"))
}

/// What disturbed a trial or an attempt; empty if nothing did.
pub(crate) fn noise_texts(causes: &[NoiseCause]) -> String {
    let texts = causes.iter().map(|cause| {
        let (did, share, what) = match *cause {
            NoiseCause::Steal { share } => ("the hypervisor took", share, "of the CPU time"),
            NoiseCause::OtherPrograms { share } => {
                ("other programs used", share, "of the CPU time")
            }
            NoiseCause::WarmUp { rise } => ("its rate rose by", rise, "while it was measured"),
        };
        format!("{did} {} {what}", number::share(share))
    });
    texts.joined(", and ")
}

/// `warm     java-jdk × hello, round 1: took 8.2 s under load to warm up …`, or that a server is still getting
/// faster; `None` if there is nothing to report.
fn warm_up_line(record: &TrialRecord) -> Option<String> {
    let (head, text) = warm_up_text(record.measurement()?.warm_up.as_ref()?)?;
    Some(format!("{head:<8} {}: {text}", trial_text(&record.trial)))
}

fn warm_up_text(warm_up: &WarmUp) -> Option<(&'static str, String)> {
    if warm_up.still_improving {
        let loaded = tenths(warm_up.loaded_s);
        let text = format!(
            "still getting faster after {loaded} under load, so the server may be faster than \
             shown; a longer --warmup-limit may help"
        );
        return Some(("warming", text));
    }
    // Only the report shows a shorter one.
    let warm_s = warm_up.time_to_warm_s.filter(|_| warm_up.is_slow())?;
    let and = match warm_up.process {
        ProcessStart::Restarted => ", after a restart; Prony keeps it running",
        ProcessStart::New | ProcessStart::Kept => "; Prony keeps it running",
        ProcessStart::Outside => ", although it already ran",
    };
    let warm = tenths(warm_s);
    Some(("warm", format!("took {warm} under load to warm up{and}")))
}

fn tenths(seconds: f64) -> String {
    number::seconds((seconds * 10.0).round() / 10.0)
}

#[cfg(test)]
mod tests {
    use prony_model::sample::plain_server;

    use super::*;

    #[test]
    fn a_server_without_a_known_version_has_no_blank_for_it() {
        let line = |version: Option<&str>, build_s| {
            ready(&ServerRecord {
                version: version.map(str::to_owned),
                build_s,
                ..plain_server("shop")
            })
        };
        assert_eq!(line(None, None), "ready    shop");
        assert_eq!(line(Some("1.2"), None), "ready    shop 1.2");
        assert_eq!(line(None, Some(4.21)), "built    shop in 4.2 s");
    }
}
