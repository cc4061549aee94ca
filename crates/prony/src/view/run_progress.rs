//! The live view of a run: what runs now, what is done, the time that is left.

use std::collections::{BTreeMap, BTreeSet};
use std::io::IsTerminal;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};
use prony_load::Progress;
use prony_record::{FailureKind, SubjectRecord, Trial, TrialRecord, TrialResult, VerifyVerdict};
use prony_report::format;
use prony_suite::Plan;
use prony_suite::run::{Event, RunRequest};

use super::time_left::TimeLeft;
use super::{plural, subject_status, suites_table};

/// How many steps of the bar a trial is.
const A_TRIAL: u64 = 1000;

/// Shows how far a run has come, on standard error: lines that stay, and on a terminal one that
/// moves.
pub struct RunProgress {
    bar: ProgressBar,
    on_terminal: bool,
    /// What each subject that is being prepared is at.
    preparing: BTreeMap<String, String>,
    rounds: u32,
    round_told: u32,
    trials: u64,
    done: u64,
    time_left: Option<TimeLeft>,
    trial_since: Instant,
    /// Failures that were shown in full: subject, workload and kind.
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
        bar.set_style(style("{spinner} {wide_msg}"));
        bar.enable_steady_tick(Duration::from_millis(200));
        let view = Self {
            bar,
            on_terminal,
            preparing: BTreeMap::new(),
            rounds: request.rounds(),
            round_told: 0,
            trials: 0,
            done: 0,
            time_left: None,
            trial_since: Instant::now(),
            failures: BTreeSet::new(),
        };
        let cpus = &request.bench.cpus;
        view.line(&format!(
            "{} ({}): {}, {}, {}, seed {}",
            request.suite.title,
            request.suite.id,
            plural(request.subjects.len(), "subject"),
            plural(request.tasks.len(), "workload"),
            rounds(request),
            request.seed,
        ));
        view.line(&format!(
            "servers on CPU {}, load on CPU {}{}",
            prony_subject::format_cpu_list(&cpus.server),
            prony_subject::format_cpu_list(&cpus.load),
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
            Event::Preparing { subject, step } => {
                self.preparing
                    .insert((*subject).to_owned(), (*step).to_owned());
                self.show_preparing();
            }
            Event::Prepared { subject } => {
                self.preparing.remove(&subject.id);
                self.line(&prepared(subject));
                self.show_preparing();
            }
            Event::Verifying { subject } => {
                self.bar
                    .set_message(format!("checking the answers of {subject}"));
            }
            Event::Verified { subject } => {
                verified(subject).iter().for_each(|line| self.line(line))
            }
            Event::Planned { plan } => self.planned(plan),
            Event::Trial { trial } => self.trial(trial),
            Event::Loading { trial, progress } => self.loading(trial, progress),
            Event::Measured { record } => self.measured(record),
        }
    }

    /// Clears the line that moves.
    pub fn finish(self) {
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
            .map(|(subject, step)| format!("{subject}: {step}"))
            .collect();
        self.bar.set_message(steps.join("   "));
    }

    fn planned(&mut self, plan: &Plan) {
        let trials = plan.trials.len();
        let time_left = TimeLeft::of(plan);
        self.bar
            .set_style(style("{elapsed:>4} {bar:24} {prefix}  {wide_msg}"));
        self.trials = trials as u64;
        self.bar.set_length(self.trials * A_TRIAL);
        self.come_to(0.0);
        let about = suites_table::duration(time_left.left());
        self.line(&format!("{trials} trials, about {about}"));
        self.time_left = Some(time_left);
    }

    fn trial(&mut self, trial: &Trial) {
        self.trial_since = Instant::now();
        self.say_what_runs(trial);
        // In a pipe a line a round is enough.
        if !self.on_terminal && trial.round > self.round_told {
            self.round_told = trial.round;
            let round = format!("round {} of {}", trial.round, self.rounds);
            let left = self.time_left();
            self.line(&format!("{round}, {left} left"));
        }
    }

    /// By requests where requests end the load, else by its time.
    fn loading(&mut self, trial: &Trial, progress: &Progress) {
        let load = &trial.load;
        let by_requests = load
            .requests
            .map_or(0.0, |requests| match progress.measuring {
                true => (progress.ok + progress.errors) as f64 / requests as f64,
                false => 0.0,
            });
        let by_time = load.duration_s.map_or(0.0, |duration_s| {
            self.trial_since.elapsed().as_secs_f64() / (load.warmup_s + duration_s)
        });
        self.come_to(by_requests.max(by_time));
        self.say_what_runs(trial);
    }

    fn say_what_runs(&self, trial: &Trial) {
        self.bar.set_message(format!(
            "round {}/{}: {} × {} ({})   {} left",
            trial.round,
            self.rounds,
            trial.subject,
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

    fn measured(&mut self, record: &TrialRecord) {
        self.done += 1;
        self.come_to(0.0);
        if let Some(left) = &mut self.time_left {
            left.done(self.trial_since.elapsed());
        }
        if let TrialResult::Failed { kind, message } = &record.result {
            self.failed(&record.trial, *kind, message);
        }
    }

    /// The first failure of a kind in full, with the server's last lines; the ones like it in a line.
    fn failed(&mut self, trial: &Trial, kind: FailureKind, message: &str) {
        let Trial {
            subject,
            workload,
            round,
            ..
        } = trial;
        let kind = kind.name();
        let head = format!("FAILED   {subject} × {workload}, round {round} ({kind})");
        let is_new = self
            .failures
            .insert((subject.clone(), workload.clone(), kind));
        if is_new {
            self.line(&format!("{head}: {message}"));
        } else {
            self.line(&format!("{head} again"));
        }
    }

    fn time_left(&self) -> String {
        let of_trials = self
            .time_left
            .as_ref()
            .map_or(Duration::ZERO, TimeLeft::left);
        suites_table::duration(of_trials.saturating_sub(self.trial_since.elapsed()))
    }
}

/// `3 rounds`, or `3 to 20 rounds` where measures differ.
fn rounds(request: &RunRequest<'_>) -> String {
    let most = request.rounds();
    let rounds = request.measures.iter().map(|measure| measure.rounds);
    match rounds.min() {
        Some(least) if least < most => format!("{least} to {most} rounds"),
        _ => plural(most as usize, "round"),
    }
}

fn style(template: &str) -> ProgressStyle {
    ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_spinner())
}

fn prepared(subject: &SubjectRecord) -> String {
    subject_status::line(&subject.id, &subject.status).unwrap_or_else(|| ready(subject))
}

fn ready(subject: &SubjectRecord) -> String {
    let id = &subject.id;
    let version = subject.version.as_deref().unwrap_or("");
    match subject.build_s {
        Some(seconds) => format!(
            "built    {id} {version} in {}",
            format::seconds((seconds * 10.0).round() / 10.0)
        ),
        None => format!("ready    {id} {version}"),
    }
}

fn verified(subject: &SubjectRecord) -> Vec<String> {
    if let Some(line) = subject_status::line(&subject.id, &subject.status) {
        return vec![line];
    }
    let wrong = subject
        .verified
        .iter()
        .filter_map(|result| match &result.verdict {
            VerifyVerdict::Right => None,
            VerifyVerdict::Wrong { expected, came } => Some(format!(
                "WRONG    {} × {}: expected {expected}; came {came}",
                subject.id, result.workload
            )),
        });
    let wrong: Vec<String> = wrong.collect();
    if wrong.is_empty() {
        return vec![format!("verified {}", subject.id)];
    }
    wrong
}
