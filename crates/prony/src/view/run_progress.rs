//! The live view of a run: what runs now, what is done, and the time that is left.

use std::collections::{BTreeMap, BTreeSet};
use std::error::Error;
use std::time::{Duration, Instant};

use prony_load::Progress;
use prony_model::{
    FailureKind, NoiseCause, ProcessStart, ServerRecord, ServerStatus, Trial, TrialRecord,
    TrialResult, VerifyVerdict, WarmUp,
};
use prony_present::number;
use prony_present::words::plural;
use prony_store::Store;
use prony_suite::TrialAttempt;
use prony_suite::run::{Finished, RunEvent, RunRequest, run as run_suite};
use prony_suite::{AdaptiveRounds, Planned};

use crate::fleet;

use super::live_line::LiveLine;
use super::time_left::{TimeLeft, minutes};

/// How many noisy trials are shown one by one: on a noisy machine nearly all may be noisy.
const MOST_NOISY_LINES: usize = 10;

/// Runs a suite with the live view.
pub fn run(request: RunRequest<'_>, store: &Store) -> Result<Finished, Box<dyn Error>> {
    let mut view = RunProgress::start(LiveLine::start(), &request, Instant::now());
    let finished = run_suite(request, store, &mut |event| {
        view.show(&event, Instant::now())
    })?;
    view.finish();
    Ok(finished)
}

/// Says which server is built now, for commands without the live view.
pub fn say_what_is_built(event: RunEvent<'_>) {
    if let Some(server) = built_now(&event) {
        errln!("building {server}");
    }
}

/// The same, with how many of this many servers are done.
pub fn say_what_is_built_of(servers: usize) -> impl FnMut(RunEvent<'_>) {
    let mut done = 0;
    move |event| {
        done += usize::from(matches!(event, RunEvent::Prepared { .. }));
        if let Some(server) = built_now(&event) {
            errln!("building {server} ({done} of {servers} done)");
        }
    }
}

fn built_now<'a>(event: &RunEvent<'a>) -> Option<&'a str> {
    match *event {
        RunEvent::Preparing {
            server,
            step: "building",
        } => Some(server),
        _ => None,
    }
}

/// Shows how far a run has come, on standard error: lines that stay, and on a terminal one that changes.
pub(super) struct RunProgress {
    line: LiveLine,
    /// What Prony does for each server that it prepares.
    preparing: BTreeMap<String, String>,
    rounds: u32,
    adaptive: Option<AdaptiveRounds>,
    /// With adaptive rounds: the widest interval after the last round, and what was left of the budget then.
    compared: Option<(Option<f64>, Duration)>,
    /// The current round. With adaptive rounds, trials of later ones are not expected yet.
    round: u32,
    last_expected_round: u32,
    trials: u64,
    done: u64,
    time_left: TimeLeft,
    /// When the last event was.
    now: Instant,
    round_since: Instant,
    trial_since: Instant,
    /// Attempts that were noisy, and those that were re-run.
    noisy: usize,
    re_run: usize,
    /// Failures that were shown in full: server, workload and kind.
    failures: BTreeSet<(String, String, &'static str)>,
}

impl RunProgress {
    /// Says what is about to run.
    pub(super) fn start(line: LiveLine, request: &RunRequest<'_>, now: Instant) -> Self {
        let view = Self {
            line,
            preparing: BTreeMap::new(),
            rounds: request.rounds(),
            adaptive: request.adaptive,
            compared: None,
            round: 0,
            last_expected_round: 0,
            trials: 0,
            done: 0,
            time_left: TimeLeft::default(),
            now,
            round_since: now,
            trial_since: now,
            noisy: 0,
            re_run: 0,
            failures: BTreeSet::new(),
        };
        let cpus = &request.bench.cpus;
        view.line.print(&format!(
            "{} ({}): {}, {}, {}, seed {}",
            request.suite.title,
            request.suite.id,
            plural(request.servers.len(), "server"),
            plural(request.tasks.len(), "workload"),
            rounds(request),
            request.seed,
        ));
        let load = match request.generator.fleet() {
            None => format!("on CPU {}", prony_system::format_cpu_list(&cpus.load)),
            Some(agents) => format!("from {}", fleet::described(agents.count, &agents.on)),
        };
        view.line.print(&format!(
            "servers on CPU {}, load {load}{}",
            prony_system::format_cpu_list(&cpus.server),
            match cpus.shared() && request.generator.fleet().is_none_or(|it| it.are_here) {
                true => ": they share CPUs, which distorts every figure",
                false => "",
            },
        ));
        view
    }

    /// Shows an event.
    pub(super) fn show(&mut self, event: &RunEvent<'_>, now: Instant) {
        self.now = now;
        match event {
            RunEvent::Preparing { server, step } => {
                self.preparing
                    .insert((*server).to_owned(), (*step).to_owned());
                self.show_preparing();
            }
            RunEvent::Prepared { server } => {
                self.preparing.remove(&server.id);
                self.line.print(&prepared(server));
                self.show_preparing();
            }
            RunEvent::Verifying { server } => self.line.show(&[format!("verifying {server}")]),
            RunEvent::Verified { server, logs } => {
                for line in verified(server) {
                    self.line.print(&line);
                }
                for logs in *logs {
                    self.line
                        .print(&format!("logs     {}: {}", server.id, logs.paths()));
                }
            }
            RunEvent::Planned { trials } => self.planned(trials),
            RunEvent::Round { trials } => self.round(trials),
            RunEvent::Trial { attempt } => self.trial(attempt),
            RunEvent::WarmingUp { attempt, so_far } => self.warming_up(attempt, *so_far),
            RunEvent::KeptEnded { attempt, exit } => {
                self.line.print(&kept_ended(&attempt.trial, exit));
            }
            RunEvent::Loading { attempt, progress } => self.loading(attempt, progress),
            RunEvent::TrialOver { record, again } => self.measured(record, *again),
            RunEvent::RoundOver { widest, time_left } => {
                self.compared = Some((*widest, *time_left))
            }
        }
    }

    /// Says how many trials were noisy, and clears the live line.
    pub(super) fn finish(self) {
        if self.noisy > 0 {
            self.line.print(&format!(
                "{} of {} noisy, {} re-run",
                self.noisy,
                plural(self.done as usize, "trial"),
                self.re_run
            ));
        }
        self.line.finish();
        errln!();
    }

    fn show_preparing(&self) {
        let steps = self.preparing.iter();
        let steps = steps.map(|(server, step)| format!("{server}: {step}"));
        self.line.show(&steps.collect::<Vec<_>>());
    }

    fn planned(&mut self, trials: &[Trial]) {
        self.expect(trials.iter());
        self.last_expected_round = trials.last().map_or(0, |trial| trial.round);
        self.come_to(0.0);
        let (count, about) = (trials.len(), minutes(self.time_left.left()));
        self.line.print(&match &self.adaptive {
            None => format!("{count} trials, about {about}"),
            Some(adaptive) => format!(
                "{} first: {count} trials, about {about}; then more until every comparison is within \
                 ±{}. The budget of {} may end it earlier.",
                plural(self.last_expected_round as usize, "round"),
                adaptive.precision,
                minutes(adaptive.budget),
            ),
        });
    }

    fn expect<'a>(&mut self, trials: impl Iterator<Item = &'a Trial>) {
        for trial in trials {
            self.time_left.expect(trial);
            self.trials += 1;
        }
    }

    fn round(&mut self, trials: &[Planned]) {
        let Some(first) = trials.first() else { return };
        self.round = first.trial.round;
        if self.round > self.last_expected_round {
            self.last_expected_round = self.round;
            self.expect(trials.iter().map(|planned| &planned.trial));
        }
        self.round_since = self.now;
        self.trial_since = self.now;
        // Without a terminal, one line per round is enough.
        if !self.line.is_on_terminal() {
            let precision = self.precision_so_far();
            let precision = precision.map_or(String::new(), |text| format!(" ({text})"));
            let (round, left) = (self.round_text(), self.time_left());
            self.line.print(&format!("{round}{precision}, {left} left"));
        }
    }

    /// `round 2 of 6`; with adaptive rounds, `round 9`.
    fn round_text(&self) -> String {
        match self.adaptive {
            Some(_) => format!("round {}", self.round),
            None => format!("round {} of {}", self.round, self.rounds),
        }
    }

    /// `±5.1 % so far, target ±3 %`; `None` if the number of rounds is fixed.
    fn precision_so_far(&self) -> Option<String> {
        let target = format!("target ±{}", self.adaptive.as_ref()?.precision);
        Some(match self.compared {
            // After two or three rounds it may be millions of percent.
            Some((Some(widest), _)) if widest > 1.0 => {
                format!("more than ±100 % so far, {target}")
            }
            Some((Some(widest), _)) => {
                format!("±{} so far, {target}", number::share(widest))
            }
            _ => target,
        })
    }

    fn trial(&mut self, attempt: &TrialAttempt) {
        self.trial_since = self.now;
        self.show_trial(&attempt.trial);
    }

    /// The progress of a load is that of its requests or its time, whichever is further.
    fn loading(&mut self, attempt: &TrialAttempt, progress: &Progress) {
        let load = &attempt.trial.load;
        let by_requests = load
            .requests
            .map_or(0.0, |requests| match progress.measuring {
                true => (progress.ok + progress.errors) as f64 / requests as f64,
                false => 0.0,
            });
        let by_time = load.duration_s.map_or(0.0, |duration_s| {
            (self.now - self.trial_since).as_secs_f64() / (attempt.warmup_s + duration_s)
        });
        self.come_to(by_requests.max(by_time));
        self.show_trial(&attempt.trial);
    }

    /// Without a terminal, only the result of a warm-up is shown.
    fn warming_up(&mut self, attempt: &TrialAttempt, so_far: Duration) {
        // The trial's own load is still to come.
        self.trial_since = self.now;
        let Trial {
            server, workload, ..
        } = &attempt.trial;
        self.show_now(format!(
            "warming up {server} on {workload}: {} of at most {} s",
            so_far.as_secs(),
            attempt.warmup_limit_s,
        ));
    }

    fn show_trial(&self, trial: &Trial) {
        self.show_now(format!("{} × {}", trial.server, trial.workload));
    }

    /// `3/45  40 s left  go-nethttp × hello  round 2 of 6`.
    fn show_now(&self, what: String) {
        self.line.show(&[
            format!("{}/{}", self.done, self.trials),
            format!("{} left", self.time_left()),
            what,
            self.round_text(),
            self.precision_so_far().unwrap_or_default(),
        ]);
    }

    /// Moves the bar to the finished trials and this share of the next one.
    fn come_to(&self, share: f64) {
        let done = self.done as f64 + share.min(1.0);
        self.line.move_to(done / self.trials.max(1) as f64);
    }

    fn measured(&mut self, record: &TrialRecord, again: bool) {
        self.done += 1;
        self.time_left
            .done(&record.trial, self.now - self.trial_since);
        if again {
            self.expect([&record.trial].into_iter());
        }
        self.come_to(0.0);
        self.re_run += usize::from(again);
        if let Some(line) = warm_up_line(record) {
            self.line.print(&line);
        }
        if let Some(line) = noisy_line(record, again) {
            self.noisy += 1;
            match self.noisy {
                ..=MOST_NOISY_LINES => self.line.print(&line),
                count if count == MOST_NOISY_LINES + 1 => {
                    self.line
                        .print("noisy    more noisy trials follow; see the record");
                }
                _ => {}
            }
        }
        if let TrialResult::Failed { kind, message } = &record.result {
            self.failed(&record.trial, *kind, message);
        }
    }

    /// Shows the first failure of a kind in full, with the server's last lines, and later ones in a line.
    fn failed(&mut self, trial: &Trial, kind: FailureKind, message: &str) {
        let kind = kind.name();
        let head = format!("FAILED   {} ({kind})", trial_text(trial));
        let (server, workload) = (trial.server.clone(), trial.workload.clone());
        let is_new = self.failures.insert((server, workload, kind));
        self.line.print(&match is_new {
            true => format!("{head}: {message}"),
            false => format!("{head} again"),
        });
    }

    /// `40 s`; with adaptive rounds, what is left of the budget: `up to 9 min 30 s`.
    fn time_left(&self) -> String {
        let trials = self.time_left.left();
        let trials = trials.saturating_sub(self.now - self.trial_since);
        let Some(adaptive) = &self.adaptive else {
            return minutes(trials);
        };
        let budget = match self.compared {
            Some((_, left)) => left.saturating_sub(self.now - self.round_since),
            None => adaptive.budget,
        };
        format!("up to {}", minutes(budget.max(trials)))
    }
}

/// `3 rounds`, `3 to 20 rounds` if measures differ, or `rounds until ±3 %`.
fn rounds(request: &RunRequest<'_>) -> String {
    if let Some(adaptive) = &request.adaptive {
        return format!("rounds until ±{}", adaptive.precision);
    }
    let most = request.rounds();
    let rounds = request.measures.iter().map(|measure| measure.rounds);
    match rounds.min() {
        Some(least) if least < most => format!("{least} to {most} rounds"),
        _ => plural(most as usize, "round"),
    }
}

/// A kept server should not end; this explains why Prony warms up another.
fn kept_ended(trial: &Trial, exit: &str) -> String {
    format!(
        "ENDED    {} × {}: the process that was kept running {exit} between two trials; Prony starts and warms up another",
        trial.server, trial.workload
    )
}

fn prepared(server: &ServerRecord) -> String {
    status_line(&server.id, &server.status).unwrap_or_else(|| ready(server))
}

fn ready(server: &ServerRecord) -> String {
    let id = &server.id;
    let version = server.version.as_deref().unwrap_or("");
    match server.build_s {
        Some(seconds) => format!("built    {id} {version} in {}", tenths(seconds)),
        None => format!("ready    {id} {version}"),
    }
}

fn verified(server: &ServerRecord) -> Vec<String> {
    if let Some(line) = status_line(&server.id, &server.status) {
        return vec![line];
    }
    let wrong = server
        .verified
        .iter()
        .filter_map(|result| match &result.verdict {
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
pub fn status_line(id: &str, status: &ServerStatus) -> Option<String> {
    let label = match status {
        ServerStatus::Skipped { .. } => "SKIPPED ",
        _ => "FAILED  ",
    };
    not_ready(status).map(|reason| format!("{label} {id}: {reason}"))
}

/// Why a server is not measured; `None` if it is ready.
pub fn not_ready(status: &ServerStatus) -> Option<String> {
    match status {
        ServerStatus::Ready => None,
        ServerStatus::Skipped { missing, install } => {
            Some(format!("{missing} is missing; to install it: {install}"))
        }
        ServerStatus::BuildFailed { output: reason }
        | ServerStatus::StartFailed { reason }
        | ServerStatus::Unreachable { reason } => Some(reason.clone()),
    }
}

/// `go-nethttp × hello, round 2`.
fn trial_text(trial: &Trial) -> String {
    let Trial {
        server,
        workload,
        round,
        ..
    } = trial;
    format!("{server} × {workload}, round {round}")
}

/// `noisy    go-nethttp × hello, round 2: other programs used 23 % of the CPU time; Prony
/// re-runs it …`; `None` if nothing disturbed it.
fn noisy_line(record: &TrialRecord, again: bool) -> Option<String> {
    let by: Vec<String> = record.noisy.iter().map(noise_text).collect();
    let then = match again {
        true => "Prony re-runs it at the end of the round",
        false if record.noisy.iter().any(NoiseCause::is_from_outside) => {
            "Prony does not re-run it, because the limit of re-runs is reached"
        }
        false => "Prony does not re-run it",
    };
    (!by.is_empty()).then(|| {
        let by = by.join(", and ");
        format!("noisy    {}: {by}; {then}", trial_text(&record.trial))
    })
}

/// What disturbed a trial or an attempt.
pub fn noise_text(cause: &NoiseCause) -> String {
    match cause {
        NoiseCause::Steal { share } => format!(
            "the hypervisor took {} of the CPU time",
            number::share(*share)
        ),
        NoiseCause::OtherPrograms { share } => format!(
            "other programs used {} of the CPU time",
            number::share(*share)
        ),
        NoiseCause::WarmUp { rise } => format!(
            "its rate rose by {} while it was measured",
            number::share(*rise)
        ),
    }
}

/// `warm     java-jdk × hello, round 1: took 8.2 s under load to warm up …`, or that a server is still getting
/// faster; `None` if there is nothing to report.
fn warm_up_line(record: &TrialRecord) -> Option<String> {
    let TrialResult::Measured(measurement) = &record.result else {
        return None;
    };
    let (head, text) = warm_up_text(measurement.warm_up.as_ref()?)?;
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
