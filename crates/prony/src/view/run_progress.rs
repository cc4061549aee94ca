//! The live view of a run: what runs now, what is done, the time that is left.

use std::collections::{BTreeMap, BTreeSet};
use std::io::IsTerminal;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};
use prony_load::Progress;
use prony_model::{FailureKind, ServerRecord, Trial, TrialRecord, TrialResult, VerifyVerdict};
use prony_report::format;
use prony_suite::TrialAttempt as Attempt;
use prony_suite::run::{RunEvent as Event, RunRequest};
use prony_suite::{AdaptiveRounds, Planned};

use super::time_left::TimeLeft;
use super::{noisy, plural, server_status, suites_table, warm_up};

/// How many noisy trials are told of one by one: on a noisy machine it may be nearly all.
const NOISY_TOLD: usize = 10;
/// How many steps of the bar a trial is.
const A_TRIAL: u64 = 1000;

/// Shows how far a run has come, on standard error: lines that stay, and on a terminal one that
/// moves.
pub struct RunProgress {
    bar: ProgressBar,
    on_terminal: bool,
    /// What each server that is being prepared is at.
    preparing: BTreeMap<String, String>,
    rounds: u32,
    adaptive: Option<AdaptiveRounds>,
    /// Where rounds are added as needed: the widest interval after the last round, and what was left of
    /// the budget then.
    compared: Option<(Option<f64>, Duration)>,
    /// The round that runs; trials of later ones are not expected yet.
    round: u32,
    last_expected_round: u32,
    trials: u64,
    done: u64,
    time_left: TimeLeft,
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
    pub fn start(request: &RunRequest<'_>) -> Self {
        let on_terminal = std::io::stderr().is_terminal();
        let bar = if on_terminal {
            ProgressBar::new(0)
        } else {
            ProgressBar::hidden()
        };
        bar.enable_steady_tick(Duration::from_millis(200));
        Self::on(bar, on_terminal, request)
    }

    /// On a line of its own.
    pub(super) fn on(bar: ProgressBar, on_terminal: bool, request: &RunRequest<'_>) -> Self {
        bar.set_style(style("{spinner} {wide_msg}"));
        let view = Self {
            bar,
            on_terminal,
            preparing: BTreeMap::new(),
            rounds: request.rounds(),
            adaptive: request.adaptive,
            compared: None,
            round: 0,
            last_expected_round: 0,
            trials: 0,
            done: 0,
            time_left: TimeLeft::default(),
            round_since: Instant::now(),
            trial_since: Instant::now(),
            noisy: 0,
            re_run: 0,
            failures: BTreeSet::new(),
        };
        let cpus = &request.bench.cpus;
        view.line(&format!(
            "{} ({}): {}, {}, {}, seed {}",
            request.suite.title,
            request.suite.id,
            plural(request.servers.len(), "server"),
            plural(request.tasks.len(), "workload"),
            rounds(request),
            request.seed,
        ));
        view.line(&format!(
            "servers on CPU {}, load on CPU {}{}",
            prony_system::format_cpu_list(&cpus.server),
            prony_system::format_cpu_list(&cpus.load),
            if cpus.shared() {
                ": they share CPUs, which blurs every figure"
            } else {
                ""
            },
        ));
        view
    }

    /// Shows an event.
    pub fn show(&mut self, event: &Event<'_>) {
        match event {
            Event::Preparing { server, step } => {
                self.preparing
                    .insert((*server).to_owned(), (*step).to_owned());
                self.show_preparing();
            }
            Event::Prepared { server } => {
                self.preparing.remove(&server.id);
                self.line(&prepared(server));
                self.show_preparing();
            }
            Event::Verifying { server } => {
                self.bar
                    .set_message(format!("checking the responses of {server}"));
            }
            Event::Verified { server, logs } => {
                verified(server).iter().for_each(|line| self.line(line));
                if let Some(logs) = logs {
                    self.line(&format!("logs     {}: {}", server.id, logs.paths()));
                }
            }
            Event::Planned { trials } => self.planned(trials),
            Event::Round { trials } => self.round(trials),
            Event::Trial { attempt } => self.trial(attempt),
            Event::WarmingUp { attempt, so_far } => self.warming_up(attempt, *so_far),
            Event::KeptEnded { attempt, exit } => self.line(&kept_ended(&attempt.trial, exit)),
            Event::Loading { attempt, progress } => self.loading(attempt, progress),
            Event::Measured { record, again } => self.measured(record, *again),
            Event::Compared { widest, time_left } => self.compared = Some((*widest, *time_left)),
        }
    }

    /// Tells what was noisy, and clears the line that moves.
    pub fn finish(self) {
        if self.noisy > 0 {
            self.line(&format!(
                "{} of {} noisy, {} re-run",
                self.noisy,
                plural(self.done as usize, "trial"),
                self.re_run
            ));
        }
        self.bar.finish_and_clear();
        errln!();
    }

    fn line(&self, text: &str) {
        if self.on_terminal {
            self.bar.println(text);
        } else {
            errln!("{text}");
        }
    }

    fn show_preparing(&self) {
        let steps: Vec<String> = self
            .preparing
            .iter()
            .map(|(server, step)| format!("{server}: {step}"))
            .collect();
        self.bar.set_message(steps.join("   "));
    }

    fn planned(&mut self, trials: &[Trial]) {
        self.bar
            .set_style(style("{elapsed:>4} {bar:24} {prefix}  {wide_msg}"));
        self.expect(trials.iter());
        self.last_expected_round = trials.last().map_or(0, |trial| trial.round);
        self.come_to(0.0);
        let (count, about) = (trials.len(), suites_table::duration(self.time_left.left()));
        match &self.adaptive {
            None => self.line(&format!("{count} trials, about {about}")),
            Some(adaptive) => self.line(&format!(
                "at least {}: {count} trials, about {about}; then more until every comparison is within \
                 ±{}, up to {} of trials",
                plural(self.last_expected_round as usize, "round"),
                adaptive.precision,
                suites_table::duration(adaptive.budget),
            )),
        }
    }

    fn expect<'a>(&mut self, trials: impl Iterator<Item = &'a Trial>) {
        for trial in trials {
            self.time_left.expect(trial);
            self.trials += 1;
        }
        self.bar.set_length(self.trials * A_TRIAL);
    }

    fn round(&mut self, trials: &[Planned]) {
        let Some(first) = trials.first() else { return };
        self.round = first.trial.round;
        if self.round > self.last_expected_round {
            self.last_expected_round = self.round;
            self.expect(trials.iter().map(|planned| &planned.trial));
        }
        self.round_since = Instant::now();
        self.trial_since = Instant::now();
        // In a pipe a line a round is enough.
        if !self.on_terminal {
            let (round, left) = (self.round_text(), self.time_left());
            self.line(&format!("round {round}, {left} left"));
        }
    }

    /// `2 of 6`; where rounds are added as needed, how far it has come: `9 (±5.1 % so far, ±3 % is
    /// asked)`.
    fn round_text(&self) -> String {
        let round = self.round;
        let Some(adaptive) = &self.adaptive else {
            return format!("{round} of {}", self.rounds);
        };
        let asked = format!("±{} is asked", adaptive.precision);
        match self.compared {
            // Of two or three rounds it may be millions of percent.
            Some((Some(widest), _)) if widest > 1.0 => {
                format!("{round} (more than ±100 % so far, {asked})")
            }
            Some((Some(widest), _)) => {
                format!("{round} (±{} so far, {asked})", format::share(widest))
            }
            _ => format!("{round} ({asked})"),
        }
    }

    fn trial(&mut self, attempt: &Attempt) {
        self.trial_since = Instant::now();
        self.say_what_runs(&attempt.trial);
    }

    /// By requests where requests end the load, else by its time.
    fn loading(&mut self, attempt: &Attempt, progress: &Progress) {
        let load = &attempt.trial.load;
        let by_requests = load
            .requests
            .map_or(0.0, |requests| match progress.measuring {
                true => (progress.ok + progress.errors) as f64 / requests as f64,
                false => 0.0,
            });
        let by_time = load.duration_s.map_or(0.0, |duration_s| {
            self.trial_since.elapsed().as_secs_f64() / (attempt.warmup_s + duration_s)
        });
        self.come_to(by_requests.max(by_time));
        self.say_what_runs(&attempt.trial);
    }

    /// `warming up java-jdk on hello: 12 s so far`. In a pipe what came of it is told when the trial is over.
    fn warming_up(&mut self, attempt: &Attempt, so_far: Duration) {
        // The trial's own load is still to come.
        self.trial_since = Instant::now();
        let Trial {
            server, workload, ..
        } = &attempt.trial;
        self.bar.set_message(format!(
            "round {}: warming up {server} on {workload}: {} s so far (at most {} s)   {} left",
            self.round_text(),
            so_far.as_secs(),
            attempt.warmup_limit_s,
            self.time_left(),
        ));
    }

    fn say_what_runs(&self, trial: &Trial) {
        self.bar.set_message(format!(
            "round {}: {} × {} ({})   {} left",
            self.round_text(),
            trial.server,
            trial.workload,
            trial.load.shape.name(),
            self.time_left(),
        ));
    }

    /// Moves the bar to the trials that are over and this share of the next one.
    fn come_to(&self, share: f64) {
        let part = (share.min(1.0) * A_TRIAL as f64) as u64;
        self.bar.set_position(self.done * A_TRIAL + part);
        self.bar
            .set_prefix(format!("{}/{}", self.done, self.trials));
    }

    fn measured(&mut self, record: &TrialRecord, again: bool) {
        self.done += 1;
        self.time_left
            .done(&record.trial, self.trial_since.elapsed());
        if again {
            self.expect([&record.trial].into_iter());
        }
        self.come_to(0.0);
        self.re_run += usize::from(again);
        if let Some(line) = warm_up::line(record) {
            self.line(&line);
        }
        if let Some(line) = noisy::line(record, again) {
            self.noisy += 1;
            match self.noisy {
                ..=NOISY_TOLD => self.line(&line),
                count if count == NOISY_TOLD + 1 => {
                    self.line("noisy   another one; those that follow are in the record");
                }
                _ => {}
            }
        }
        if let TrialResult::Failed { kind, message } = &record.result {
            self.failed(&record.trial, *kind, message);
        }
    }

    /// The first failure of a kind in full, with the server's last lines; the ones like it in a line.
    fn failed(&mut self, trial: &Trial, kind: FailureKind, message: &str) {
        let Trial {
            server,
            workload,
            round,
            ..
        } = trial;
        let kind = kind.name();
        let head = format!("FAILED   {server} × {workload}, round {round} ({kind})");
        let is_new = self
            .failures
            .insert((server.clone(), workload.clone(), kind));
        if is_new {
            self.line(&format!("{head}: {message}"));
        } else {
            self.line(&format!("{head} again"));
        }
    }

    /// `40 s`; where rounds are added as needed, what is left of the budget: `up to 9 min 30 s`.
    fn time_left(&self) -> String {
        let trials = self.time_left.left();
        let trials = trials.saturating_sub(self.trial_since.elapsed());
        let Some(adaptive) = &self.adaptive else {
            return suites_table::duration(trials);
        };
        let budget = match self.compared {
            Some((_, left)) => left.saturating_sub(self.round_since.elapsed()),
            None => adaptive.budget,
        };
        format!("up to {}", suites_table::duration(budget.max(trials)))
    }
}

/// `3 rounds`, `3 to 20 rounds` where measures differ, or `rounds until ±3 %`.
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

/// A kept server is not expected to end: why the trial warms up another must be known.
fn kept_ended(trial: &Trial, exit: &str) -> String {
    format!(
        "ENDED    {} × {}: the process that was kept running {exit} between two trials; Prony starts and warms up another",
        trial.server, trial.workload
    )
}

fn style(template: &str) -> ProgressStyle {
    ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_spinner())
}

fn prepared(server: &ServerRecord) -> String {
    server_status::line(&server.id, &server.status).unwrap_or_else(|| ready(server))
}

fn ready(server: &ServerRecord) -> String {
    let id = &server.id;
    let version = server.version.as_deref().unwrap_or("");
    match server.build_s {
        Some(seconds) => format!(
            "built    {id} {version} in {}",
            format::seconds((seconds * 10.0).round() / 10.0)
        ),
        None => format!("ready    {id} {version}"),
    }
}

fn verified(server: &ServerRecord) -> Vec<String> {
    if let Some(line) = server_status::line(&server.id, &server.status) {
        return vec![line];
    }
    let wrong = server
        .verified
        .iter()
        .filter_map(|result| match &result.verdict {
            VerifyVerdict::Right => None,
            VerifyVerdict::Wrong { expected, came } => Some(format!(
                "WRONG    {} × {}: expected {expected}; came {came}",
                server.id, result.workload
            )),
        });
    let wrong: Vec<String> = wrong.collect();
    if wrong.is_empty() {
        return vec![format!("verified {}", server.id)];
    }
    wrong
}
