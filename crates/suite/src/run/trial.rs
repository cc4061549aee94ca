//! One trial: start, ready, load and sample, reconcile, stop.

use std::net::SocketAddr;
use std::num::NonZeroU64;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Duration;

use prony_driver::Tool;
use prony_load::{AnswerCheck, LoadPlan, Progress, SampleChoice, Sampling};
use prony_record::{
    FailureKind, LoadResult, LoadSpec, LogLines, Measurement, Outcome, Trial, TrialRecord,
    TrialResult,
};
use prony_subject::{BringUpError, Built, NotReady, PortSource, Probe, Ready, Sampler, Server};

use super::driven::Drive;
use super::verify::{ANSWER_TIMEOUT, STOP_GRACE, ask, discard_log, request, settle_log, start};
use super::{Bench, Task, now};
use crate::answer::CountedDraws;

/// One trial, ready to be made.
pub struct TrialSetup<'a> {
    /// The bench.
    pub bench: &'a Bench,
    /// The subject.
    pub built: &'a Built,
    /// The workload.
    pub task: &'a Task,
    /// The trial.
    pub trial: &'a Trial,
    /// Its load, with the warm-up that it is to have.
    pub load: &'a LoadSpec,
    /// The tool that makes the load; `None` for Prony's own engine.
    pub driver: Option<&'a Tool>,
}

/// Why a trial gave no figures.
enum Stop {
    Failed(FailureKind, String),
    Interrupted,
}

fn failed(kind: FailureKind) -> impl Fn(String) -> Stop {
    move |message| Stop::Failed(kind, message)
}

impl TrialSetup<'_> {
    /// Makes the trial; `observe` is told how far its load has come. `None` where it was
    /// interrupted.
    pub fn run(
        &self,
        ports: &mut dyn PortSource,
        interrupt: &AtomicBool,
        observe: &mut dyn FnMut(&Progress),
    ) -> Option<TrialRecord> {
        let started_at = now();
        let result = match self.measure(ports, interrupt, observe) {
            Ok(measurement) => TrialResult::Measured(measurement),
            Err(Stop::Failed(kind, message)) => TrialResult::Failed { kind, message },
            Err(Stop::Interrupted) => return None,
        };
        Some(TrialRecord {
            trial: self.trial.clone(),
            started_at,
            attempt: 1,
            spoilt: Vec::new(),
            result,
        })
    }

    fn measure(
        &self,
        ports: &mut dyn PortSource,
        interrupt: &AtomicBool,
        observe: &mut dyn FnMut(&Progress),
    ) -> Result<Measurement, Stop> {
        let (mut server, ready, answered) = self.bring_up(ports, interrupt)?;
        let logged = u64::from(self.task.workload.answer.log_lines);
        settle_log(&mut server, logged * answered);
        let lines_before = lines(&mut server)?;
        let io_failed = |error: std::io::Error| Stop::Failed(FailureKind::Load, error.to_string());
        let sampler = Sampler::start(server.tree(), &self.bench.cpus, Sampler::INTERVAL)
            .map_err(io_failed)?;
        let load = self.load(&mut server, interrupt, observe)?;
        let sampled = sampler.finish(load.loaded_s());
        self.fail_if_exited(&mut server)?;
        fail_without_answers(&load)?;
        let log_lines = (logged > 0)
            .then(|| self.reconcile(&mut server, lines_before, &load))
            .transpose()?;
        server.stop(STOP_GRACE);
        discard_log(&server);
        let sampled = sampled.map_err(io_failed)?;
        Ok(Measurement {
            load,
            server: sampled.server,
            startup_ns: ready.startup_ns,
            warm_up: None,
            noise: sampled.noise,
            log_lines,
        })
    }

    /// Starts the server; also tells how many right answers it has given by then.
    fn bring_up(
        &self,
        ports: &mut dyn PortSource,
        interrupt: &AtomicBool,
    ) -> Result<(Server, Ready, u64), Stop> {
        let mut answered = 0;
        let mut probe = |address: SocketAddr| match ask(address, self.task, ANSWER_TIMEOUT) {
            Err(reason) => Probe::NotYet(reason),
            Ok(answer) => match self.task.right.check(&answer) {
                Ok(()) => {
                    answered += 1;
                    Probe::Right
                }
                Err(mismatch) => Probe::Wrong(mismatch.to_string()),
            },
        };
        let name = format!(
            "{:04}-{}-{}",
            self.trial.sequence, self.trial.subject, self.trial.workload
        );
        match start(self.bench, &name, self.built, ports, &mut probe, interrupt) {
            Ok((server, ready)) => Ok((server, ready, answered)),
            Err(BringUpError::NotReady(NotReady::Interrupted)) => Err(Stop::Interrupted),
            Err(error) => Err(Stop::Failed(FailureKind::NotReady, error.to_string())),
        }
    }

    /// Loads the server; a server that ends meanwhile ends the load.
    fn load(
        &self,
        server: &mut Server,
        interrupt: &AtomicBool,
        observe: &mut dyn FnMut(&Progress),
    ) -> Result<LoadResult, Stop> {
        if let Some(tool) = self.driver {
            return self.drive(tool, server, interrupt);
        }
        let counted = CountedDraws::of(&self.task.right).map(Arc::new);
        let check: Arc<dyn AnswerCheck> = match &counted {
            Some(counted) => counted.clone(),
            None => self.task.right.clone(),
        };
        let plan = self.plan(server.address(), check)?;
        let stop = AtomicBool::new(false);
        let result = prony_load::run(&plan, &stop, &mut |progress| {
            observe(&progress);
            if interrupt.load(Relaxed) || server.exited().is_some() {
                stop.store(true, Relaxed);
            }
        });
        if interrupt.load(Relaxed) {
            return Err(Stop::Interrupted);
        }
        self.fail_if_exited(server)?;
        let result = result.map_err(|error| error.to_string());
        let result = result.map_err(failed(FailureKind::Load))?;
        if let Some(Err(mismatch)) = counted.map(|counted| counted.verdict()) {
            let message = format!("under load: {mismatch}");
            return Err(Stop::Failed(FailureKind::NotDrawn, message));
        }
        Ok(result)
    }

    /// Has another tool load the server.
    fn drive(
        &self,
        tool: &Tool,
        server: &mut Server,
        interrupt: &AtomicBool,
    ) -> Result<LoadResult, Stop> {
        let drive = Drive {
            tool,
            workload: &self.task.workload,
            spec: self.load,
            host: server.address().to_string(),
            cpus: &self.bench.cpus.load,
        };
        let result = drive.run(interrupt);
        if interrupt.load(Relaxed) {
            return Err(Stop::Interrupted);
        }
        self.fail_if_exited(server)?;
        let result = result.map_err(|error| format!("{}: {error}", tool.manifest.title));
        result.map_err(failed(FailureKind::Load))
    }

    /// How many requests may have been sent that a tool does not tell of: those on their way when
    /// its load ended, and its warm-up.
    fn untold_requests(&self) -> u64 {
        let loads = if self.load.warmup_s > 0.0 { 2 } else { 1 };
        match self.driver {
            Some(_) => (loads * self.load.connections * self.load.pipeline) as u64,
            None => 0,
        }
    }

    fn plan(&self, address: SocketAddr, check: Arc<dyn AnswerCheck>) -> Result<LoadPlan, Stop> {
        let spec = self.load;
        let (url, request) = request(address, self.task).map_err(failed(FailureKind::Load))?;
        Ok(LoadPlan {
            shape: spec.shape.clone(),
            connections: spec.connections,
            max_connections: spec.max_connections.unwrap_or(spec.connections),
            pipeline: spec.pipeline,
            requests_per_connection: spec.requests_per_connection.and_then(NonZeroU64::new),
            threads: spec.threads,
            duration: spec.duration_s.map(Duration::from_secs_f64),
            overtime: true,
            requests: spec.requests,
            warmup: Duration::from_secs_f64(spec.warmup_s),
            timeout: Duration::from_secs_f64(spec.timeout_s),
            deadline: spec.deadline_s.map(Duration::from_secs_f64),
            seed: spec.seed,
            spin: spec.spin,
            streams: spec.streams,
            first_byte: spec.first_byte,
            events: spec.events,
            cpus: self.bench.cpus.load.clone(),
            sampling: Some(Sampling {
                check,
                choice: SampleChoice::AtRandom,
            }),
            ..LoadPlan::new(address.into(), url, request)
        })
    }

    fn fail_if_exited(&self, server: &mut Server) -> Result<(), Stop> {
        match server.exited() {
            None => Ok(()),
            Some(exit) => Err(Stop::Failed(
                FailureKind::ServerExited,
                format!(
                    "the server {exit} during the load; {}",
                    server.logs().shown()
                ),
            )),
        }
    }

    /// Holds the server's own count, its log, against the client's.
    fn reconcile(
        &self,
        server: &mut Server,
        lines_before: u64,
        load: &LoadResult,
    ) -> Result<LogLines, Stop> {
        let each = u64::from(self.task.workload.answer.log_lines);
        let count = |outcome: Outcome| {
            let warmup = load
                .warmup
                .as_ref()
                .map_or(0, |warmup| warmup.outcomes[outcome]);
            load.outcomes[outcome] + warmup
        };
        let held = load.streams.as_ref().map(|streams| streams.outcomes);
        let held = held.unwrap_or_default();
        let answered = count(Outcome::Ok) + count(Outcome::WrongBody) + held[Outcome::Ok];
        let unsent = count(Outcome::Refused) + count(Outcome::Shed) + held[Outcome::Refused];
        let all = Outcome::ALL.into_iter().map(count).sum::<u64>() + held.total();
        let sent = all - unsent + load.resent + self.untold_requests();
        settle_log(server, lines_before + each * answered);
        let lines = LogLines {
            written: lines(server)? - lines_before,
            least: each * answered,
            most: each * sent,
        };
        if lines.reconciled() {
            return Ok(lines);
        }
        Err(Stop::Failed(
            FailureKind::NotReconciled,
            format!(
                "the server logged {} lines, but {} whole answers came and {} requests were sent",
                lines.written, answered, sent
            ),
        ))
    }
}

fn lines(server: &mut Server) -> Result<u64, Stop> {
    server
        .log_lines()
        .map_err(|error| Stop::Failed(FailureKind::Load, format!("cannot read its log: {error}")))
}

/// A load without one ok answer has nothing to compare.
fn fail_without_answers(load: &LoadResult) -> Result<(), Stop> {
    if load.outcomes[Outcome::Ok] > 0 {
        return Ok(());
    }
    let outcomes = load.outcomes.iter().filter(|(_, count)| *count > 0);
    let outcomes: Vec<String> = outcomes
        .map(|(outcome, count)| format!("{count} {}", outcome.name().replace('_', " ")))
        .collect();
    let mut message = match outcomes.is_empty() {
        true => "no answer came under load".to_owned(),
        false => format!("no answer was ok under load: {}", outcomes.join(", ")),
    };
    if load.requests > 0 && load.outcomes[Outcome::Unfinished] == load.requests {
        message.push_str(
            ": no request that was sent had its response, its timeout or a failure when the load ended; measure longer than a response takes",
        );
    }
    if let Some(wrong) = &load.first_wrong {
        message.push_str(&format!("; the first: {}", wrong.detail));
    }
    Err(Stop::Failed(FailureKind::NoAnswer, message))
}
