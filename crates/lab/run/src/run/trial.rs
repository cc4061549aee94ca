//! One trial: start, ready, load and sample, reconcile, stop.

use std::fmt::Display;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Duration;

use prony_driver::Tool;
use prony_kernel::ThrottleMeter;
use prony_load::{Batches, Here, LoadPlan, LoadRunner, Progress, SampleChoice, Sampling};
use prony_model::{
    FailureKind, LoadResult, LoadShape, LoadSpec, LogLines, LogTail, MeasuredBy, Measurement,
    Outcome, ProcessStart, Seconds, TrialRecord, TrialResult, WarmUp,
};
use prony_server::{Probe, Wrapper};
use prony_traffic::Expected;
use prony_traffic::expected::CountedDraws;

use super::bench::{Task, Testbed, now};
use super::driven::{DriverRun, driver_load};
use super::event::RunEvent;
use super::generator::Generator;
use super::instructions::counter::LONGEST_LOAD;
use super::instrument::Instrument;
use super::process::{Access, Process, Target};
use super::sampling::{Meter, Metered};
use super::server_pool::Running;
use super::session::Session;
use super::verify::{END_TIME, RESPONSE_TIMEOUT, ended, probe, settle_log};
use super::warming::{WarmedProcess, WarmedUp, search};
use crate::plan::{TrialAttempt, Warming};
use crate::response::judge_counted;

/// A trial, ready to be run.
pub(super) struct Trial<'a> {
    pub(super) session: &'a Session<'a>,
    pub(super) access: &'a Access,
    pub(super) task: &'a Task,
    pub(super) attempt: &'a TrialAttempt,
    /// Its load, with its actual warm-up.
    pub(super) load: LoadSpec,
    /// The tool that generates the load; `None` for Prony's own engine.
    pub(super) driver: Option<&'a Tool>,
    /// What runs the server's command; `None` if it runs by itself.
    pub(super) wrapper: Option<&'a Wrapper>,
    /// When the server's process is, or was, started.
    pub(super) process: ProcessStart,
    /// Whether its progress is not reported.
    pub(super) is_silent: bool,
}

/// What a load did, and what it cost.
pub(super) struct Loaded {
    pub(super) load: LoadResult,
    pub(super) metered: Metered,
    /// `None` if the server logs nothing.
    pub(super) log_lines: Option<LogLines>,
}

/// Why a trial ended without figures.
pub(super) enum Stop {
    Failed(FailureKind, String),
    Interrupted,
}

pub(super) fn load_failed(error: impl Display) -> Stop {
    Stop::Failed(FailureKind::Load, error.to_string())
}

impl<'a> Trial<'a> {
    /// An attempt at a trial; `process` says which process it uses of a server that Prony starts. `None` if there is no
    /// such workload.
    pub(super) fn of(
        session: &'a Session<'a>,
        attempt: &'a TrialAttempt,
        process: ProcessStart,
    ) -> Option<Self> {
        // Only servers that were verified are planned.
        let access = &session.access[&attempt.trial.server];
        Some(Self {
            session,
            access,
            task: session.task(&attempt.trial.workload)?,
            attempt,
            load: attempt.load(),
            driver: session.request.driver.as_ref(),
            wrapper: None,
            process: match access {
                Access::Start(_) => process,
                Access::Outside(_) => ProcessStart::Outside,
            },
            is_silent: false,
        })
    }

    /// A load that explains a server: of Prony's own engine, without reports of its progress. `wrapper` runs the server's
    /// command.
    pub(super) fn explaining(
        session: &'a Session<'a>,
        attempt: &'a TrialAttempt,
        process: ProcessStart,
        wrapper: Option<&'a Wrapper>,
    ) -> Option<Self> {
        Some(Self {
            driver: None,
            wrapper,
            is_silent: true,
            ..Self::of(session, attempt, process)?
        })
    }
}

impl Trial<'_> {
    /// Runs the trial, with the kept server or a new one; `instrument` watches the server during the load. Returns the
    /// record and, unless the trial failed, the running server; `None` if the trial was interrupted.
    pub(super) fn run(
        &self,
        kept: Option<Running>,
        instrument: &mut dyn Instrument,
    ) -> Option<(TrialRecord, Option<Running>)> {
        let started_at = now();
        let measured = match self.load.by {
            MeasuredBy::Time => self.measure(kept, instrument),
            MeasuredBy::Instructions => self.count_instructions(),
        };
        let (result, running) = match measured {
            Ok((measurement, running)) => (TrialResult::Measured(measurement), Some(running)),
            Err(Stop::Failed(kind, message)) => (TrialResult::Failed { kind, message }, None),
            Err(Stop::Interrupted) => return None,
        };
        let record = TrialRecord {
            trial: self.attempt.trial.clone(),
            started_at,
            attempt: 1,
            noisy: Vec::new(),
            result,
        };
        Some((record, running))
    }

    pub(super) fn testbed(&self) -> &Testbed {
        self.session.testbed()
    }

    pub(super) fn generator(&self) -> &Generator<'_> {
        &self.session.request.generator
    }

    /// How many lines the server logs for each request.
    fn lines_per_request(&self) -> u64 {
        self.task.workload.log_lines().into()
    }

    /// How long the server has been warmed up so far, until it is steady.
    pub(super) fn report_warm_up(&self, so_far: Duration) {
        if !self.is_silent {
            let attempt = self.attempt;
            self.session.report(RunEvent::WarmingUp { attempt, so_far });
        }
    }

    fn report_load(&self, progress: &Progress) {
        if !self.is_silent {
            let attempt = self.attempt;
            self.session.report(RunEvent::Loading { attempt, progress });
        }
    }

    fn measure(
        &self,
        kept: Option<Running>,
        instrument: &mut dyn Instrument,
    ) -> Result<(Measurement, Running), Stop> {
        let mut running = match kept {
            Some(running) => running,
            None => self.bring_up(self.wrapper.map(|wrapper| (wrapper, 1)))?,
        };
        match self.measure_running(&mut running, instrument) {
            Ok(measurement) => Ok((measurement, running)),
            Err(stop) => Err(self.exit_or(stop, &mut running.server)),
        }
    }

    fn measure_running(
        &self,
        running: &mut Running,
        instrument: &mut dyn Instrument,
    ) -> Result<Measurement, Stop> {
        let searched = self.warm_up(running)?;
        let Loaded {
            mut load,
            metered,
            log_lines,
        } = self.watched_load(running, None, instrument)?;
        if let Some(searched) = &searched {
            // Not before the log lines are reconciled: those of these responses were there before the load.
            searched.add_wrong_to(&mut load);
        }
        load.server_throttled = metered.throttled;
        let mut server = metered.server;
        if let (Some(server), Some(before)) = (&mut server, running.memory_before_bytes) {
            server.memory_before_bytes = Some(before);
        }
        let measurement = Measurement {
            server,
            startup_ns: running.startup_ns.take(),
            warm_up: self.warm_up_record(running, &load, searched.as_ref()),
            search: searched.as_ref().and_then(WarmedUp::course),
            noise: metered.noise,
            log_lines,
            log_tail: self.log_tail(&running.server),
            load,
            ..Measurement::default()
        };
        running.loaded_s += measurement.loaded_s();
        Ok(measurement)
    }

    /// Loads the server while it is sampled, and reconciles the counts with its log.
    pub(super) fn watched_load(
        &self,
        running: &mut Running,
        batches: Option<Batches>,
        instrument: &mut dyn Instrument,
    ) -> Result<Loaded, Stop> {
        let is_logged = self.lines_per_request() > 0;
        let lines_before = if is_logged {
            running.settled_lines().map_err(unreadable)?
        } else {
            0
        };
        let meter = self.meter(&running.server)?;
        instrument.start(&running.server);
        let load = self.load(&mut running.server, batches)?;
        let metered = meter.finish(load.loaded_s());
        instrument.finish(&running.server);
        self.fail_if_exited(&load, &mut running.server)?;
        self.fail_without_responses(&load, &running.server)?;
        let log_lines = is_logged.then(|| self.reconcile(running, lines_before, &load));
        Ok(Loaded {
            log_lines: log_lines.transpose()?,
            metered: metered.map_err(load_failed)?,
            load,
        })
    }

    /// Measures the server and the machine from now on.
    pub(super) fn meter(&self, server: &Process) -> Result<Meter, Stop> {
        let cpus = self.generator().cpus(self.testbed());
        Meter::start(server, &cpus).map_err(load_failed)
    }

    /// Warms a new process up until it is steady, if the trial asks for that.
    fn warm_up(&self, running: &mut Running) -> Result<Option<WarmedUp>, Stop> {
        if self.attempt.warming == Warming::Fixed || running.is_warmed_up {
            return Ok(None);
        }
        // Whether a server is steady shows in its CPU time.
        let Some(tree) = running.server.tree() else {
            return Ok(None);
        };
        running.is_warmed_up = true;
        running.memory_before_bytes = tree.peak_bytes().ok();
        let each = self.lines_per_request();
        let lines_before = match each {
            0 => 0,
            _ => running.server.log_lines().map_err(unreadable)?,
        };
        let plan = self.plan(&running.server, None)?;
        let searched = search(
            &plan,
            self.attempt.warmup_limit,
            &mut WarmedProcess::new(&mut running.server, tree),
            self.generator(),
            &self.testbed().interrupt,
            &mut |so_far| self.report_warm_up(so_far),
        );
        self.fail_if_stopped(&mut running.server)?;
        let searched = searched.map_err(load_failed)?;
        running.loaded_s = searched.searched_s;
        if each > 0 {
            let Requests { sent, responded } = Requests::of(&searched.load);
            settle_log(&mut running.server, lines_before + each * responded);
            // A warm-up does not count streams, but the server may log a line when one ends.
            running.in_flight = sent - responded + self.load.streams as u64;
        }
        Ok(Some(searched))
    }

    /// The warm-up for the record; `None` for a load without one, whose first requests are meant to be measured.
    fn warm_up_record(
        &self,
        running: &Running,
        load: &LoadResult,
        searched: Option<&WarmedUp>,
    ) -> Option<WarmUp> {
        if self.load.warmup.is_zero() {
            return None;
        }
        let own_s = load.warmup.as_ref().map_or(0.0, |warmup| warmup.duration_s);
        Some(WarmUp {
            process: self.process,
            loaded_s: running.loaded_s + own_s,
            searched_s: searched.map_or(0.0, |searched| searched.searched_s),
            limit_s: self
                .attempt
                .warmup_limit
                .max(*self.load.warmup)
                .as_secs_f64(),
            time_to_warm_s: searched.and_then(|searched| searched.time_to_warm_s),
            still_improving: searched.is_some_and(|searched| searched.still_improving),
        })
    }

    /// The name of its logs.
    pub(super) fn name(&self) -> String {
        let trial = &self.attempt.trial;
        format!("{:04}-{}-{}", trial.sequence, trial.server, trial.workload)
    }

    /// Starts the server and waits until it is ready, and until it has logged the requests of the probes. Under a wrapper it
    /// may take longer by a factor.
    pub(super) fn bring_up(&self, wrapper: Option<(&Wrapper, u32)>) -> Result<Running, Stop> {
        let testbed = self.testbed();
        let mut responded = 0;
        let mut ready = |target: &Target| {
            let probed = probe(target, self.task, RESPONSE_TIMEOUT, &testbed.interrupt);
            responded += u64::from(probed == Probe::Right);
            probed
        };
        let name = self.name();
        let testbed = match wrapper {
            Some((_, slower)) => &Testbed {
                ready_timeout: testbed.ready_timeout.saturating_mul(slower),
                ..testbed.clone()
            },
            None => testbed,
        };
        let wrapper = wrapper.map(|(wrapper, _)| wrapper);
        let started =
            Process::bring_up(testbed, &name, self.task, self.access, wrapper, &mut ready);
        match started {
            Ok((mut server, ready)) => {
                settle_log(&mut server, self.lines_per_request() * responded);
                Ok(Running::new(server, ready.map(|ready| ready.startup_ns)))
            }
            Err(error) if error.is_interrupted() => Err(Stop::Interrupted),
            Err(error) => {
                let reason = self.task.hide_in_error(&error.to_string());
                Err(Stop::Failed(FailureKind::NotReady, reason))
            }
        }
    }

    /// Loads the server, with its requests in batches if there are any.
    fn load(&self, server: &mut Process, batches: Option<Batches>) -> Result<LoadResult, Stop> {
        if let Some(tool) = self.driver {
            return self.drive(tool, server);
        }
        // Agents cannot count them together.
        let counted = match self.generator().fleet() {
            Some(_) => None,
            None => self.task.draws(),
        };
        let mut plan = self.plan(server, counted.clone())?;
        if batches.is_some() {
            (plan.load.requests, plan.here.batches) = (None, batches);
        }
        let result = self.run_load(&plan, server, &mut |progress| self.report_load(&progress))?;
        let counted = counted.filter(|counted| counted.has_counted());
        if let Some(Err(mismatch)) = counted.map(|counted| judge_counted(&counted)) {
            let message = format!("under load: {mismatch}");
            return Err(Stop::Failed(FailureKind::NotDrawn, message));
        }
        Ok(result)
    }

    /// Runs a load; a server that ends meanwhile ends it.
    pub(super) fn run_load(
        &self,
        plan: &LoadPlan,
        server: &mut Process,
        observe: &mut dyn FnMut(Progress),
    ) -> Result<LoadResult, Stop> {
        let stop = AtomicBool::new(false);
        let result = self.generator().run(plan, &stop, &mut |progress| {
            observe(progress);
            if self.session.is_interrupted() || server.exited().is_some() {
                stop.store(true, Relaxed);
            }
        });
        self.fail_if_stopped(server)?;
        result.map_err(load_failed)
    }

    /// Loads the server with another tool.
    fn drive(&self, tool: &Tool, server: &mut Process) -> Result<LoadResult, Stop> {
        let drive = DriverRun {
            tool,
            spec: &self.load,
            host: self.target(server)?.authority,
            cpus: &self.testbed().cpus.load,
        };
        let quota = ThrottleMeter::own();
        let load = driver_load(self.task, &self.load, &drive.host);
        let result = load.and_then(|load| drive.run(&load, &self.testbed().interrupt));
        self.fail_if_stopped(server)?;
        let result = result.map_err(|error| format!("{}: {error}", tool.manifest.title));
        let mut load = result.map_err(load_failed)?;
        load.limit_generator_by_quota(quota.throttled());
        Ok(load)
    }

    /// How many requests a tool may have sent without reporting them: its warm-up, and those in flight at the end.
    fn unreported_requests(&self) -> u64 {
        let loads = if self.load.warmup.is_zero() { 1 } else { 2 };
        match self.driver {
            Some(_) => (loads * self.load.connections * self.load.pipeline) as u64,
            None => 0,
        }
    }

    fn target(&self, server: &Process) -> Result<Target, Stop> {
        let target = server.target(self.task);
        target.map_err(load_failed)
    }

    /// A load of what is sent to a server, with the comparison of responses; `counted` compares them instead of the task.
    fn requests(&self, target: &Target, counted: Option<CountedDraws>) -> Result<LoadPlan, String> {
        let (url, traffic) = self.task.traffic.encode(&target.authority)?;
        let sampling = self.task.traffic.expected().map(|expected| Sampling {
            check: match counted {
                None => expected.clone(),
                draws => Arc::new(Expected {
                    draws,
                    ..Expected::clone(expected)
                }),
            },
            choice: SampleChoice::AtRandom,
        });
        Ok(LoadPlan {
            sampling,
            ..LoadPlan::new(target.address.into(), url, traffic)
        })
    }

    pub(super) fn plan(
        &self,
        server: &Process,
        counted: Option<CountedDraws>,
    ) -> Result<LoadPlan, Stop> {
        let spec = &self.load;
        let target = self.target(server)?;
        let requests = self.requests(&target, counted);
        let requests = requests.map_err(load_failed)?;
        let is_counted = spec.by == MeasuredBy::Instructions;
        let plan = LoadPlan {
            flow_think_time: flow_think_time(spec),
            load: LoadSpec {
                duration: if is_counted {
                    Some(Seconds(LONGEST_LOAD))
                } else {
                    spec.duration
                },
                events: spec.events || self.task.workload.is_stream(),
                ..spec.clone()
            },
            overtime: true,
            tls: target.client,
            here: Here {
                cpus: self.testbed().cpus.load.clone(),
                // A wait for an acknowledgement costs the server no instructions.
                acknowledges_at_once: is_counted,
                ..Here::default()
            },
            ..requests
        };
        Ok(self.generator().divide(spec, plan))
    }

    /// Fails a load without a single ok response, and says which address agents on other machines could perhaps not reach.
    pub(super) fn fail_without_responses(
        &self,
        load: &LoadResult,
        server: &Process,
    ) -> Result<(), Stop> {
        let Some(mut message) = why_no_figure(load) else {
            return Ok(());
        };
        if self.generator().is_elsewhere() {
            let address = self.target(server)?.address;
            message +=
                &format!("; can the agents reach {address}? See `server_address` in docs/fleet.md");
        }
        Err(Stop::Failed(FailureKind::NoResponse, message))
    }

    /// After a load, which ends early if the user stops it or the server ends.
    pub(super) fn fail_if_stopped(&self, server: &mut Process) -> Result<(), Stop> {
        if self.session.is_interrupted() {
            return Err(Stop::Interrupted);
        }
        self.fail_if_exits_within(Duration::ZERO, server)
    }

    /// After a load whose connections a server that has ended would refuse or reset.
    fn fail_if_exited(&self, load: &LoadResult, server: &mut Process) -> Result<(), Stop> {
        let is_suspect = load.outcomes[Outcome::Refused] + load.outcomes[Outcome::Reset] > 0;
        let time = if is_suspect { END_TIME } else { Duration::ZERO };
        self.fail_if_exits_within(time, server)
    }

    /// Why a trial has failed: the server's end if it has ended, whatever failed first because of that.
    pub(super) fn exit_or(&self, stop: Stop, server: &mut Process) -> Stop {
        match &stop {
            Stop::Interrupted | Stop::Failed(FailureKind::ServerExited, _) => stop,
            Stop::Failed(..) => match self.fail_if_exits_within(END_TIME, server) {
                Ok(()) => stop,
                Err(exit) => exit,
            },
        }
    }

    fn fail_if_exits_within(&self, time: Duration, server: &mut Process) -> Result<(), Stop> {
        match ended(server, self.task, "during the load", time) {
            None => Ok(()),
            Some(reason) => Err(Stop::Failed(FailureKind::ServerExited, reason)),
        }
    }

    /// What the server's process has written last, for the record; `None` if that may be a secret that users captured.
    pub(super) fn log_tail(&self, server: &Process) -> Option<LogTail> {
        if self.task.captures_secrets() {
            return None;
        }
        let [output, errors] = server.logs()?.ends();
        LogTail::of(&output, &errors, |text| self.task.hide_secrets(text))
    }

    /// Compares the number of lines in the server's log with the requests and responses that the generator counted.
    fn reconcile(
        &self,
        running: &mut Running,
        lines_before: u64,
        load: &LoadResult,
    ) -> Result<LogLines, Stop> {
        let each = self.lines_per_request();
        let Requests { sent, responded } = Requests::of(load);
        let sent = sent + self.unreported_requests();
        settle_log(&mut running.server, lines_before + each * responded);
        let lines = running.server.log_lines().map_err(unreadable)?;
        let lines = LogLines {
            written: lines - lines_before,
            least: each * responded,
            most: each * (sent + running.in_flight),
        };
        running.in_flight = sent - responded;
        if lines.reconciled() {
            return Ok(lines);
        }
        Err(Stop::Failed(
            FailureKind::NotReconciled,
            format!(
                "the server logged {} lines for {} full responses to {} requests",
                lines.written, responded, sent
            ),
        ))
    }
}

/// How long a user of a scenario thinks between two requests of a flow. For users with a schedule, think time is what is
/// between the begins of two flows.
fn flow_think_time(spec: &LoadSpec) -> Option<Duration> {
    match spec.shape {
        LoadShape::UsersClosed { think_time } if spec.flows => Some(*think_time),
        _ => None,
    }
}

pub(super) fn unreadable(error: std::io::Error) -> Stop {
    Stop::Failed(FailureKind::Load, format!("cannot read its log: {error}"))
}

/// The requests and responses of a load, with its warm-up and the streams beside it.
struct Requests {
    /// Requests that reached the server, as far as Prony knows.
    sent: u64,
    /// Requests with a complete response.
    responded: u64,
}

impl Requests {
    fn of(load: &LoadResult) -> Self {
        let mut outcomes = load.outcomes;
        if let Some(warmup) = &load.warmup {
            outcomes.merge(&warmup.outcomes);
        }
        let held = load.streams.as_ref().map(|streams| streams.outcomes);
        let held = held.unwrap_or_default();
        let unsent = outcomes[Outcome::Refused] + outcomes[Outcome::Shed] + held[Outcome::Refused];
        Self {
            sent: outcomes.total() + held.total() - unsent + load.resent,
            responded: outcomes[Outcome::Ok] + outcomes[Outcome::WrongBody] + held[Outcome::Ok],
        }
    }
}

/// Why a load has no figure to compare: no response was ok, or no flow of a scenario.
fn why_no_figure(load: &LoadResult) -> Option<String> {
    if load.is_any_ok() {
        return None;
    }
    if let Some(flows) = &load.flows
        && load.outcomes[Outcome::Ok] > 0
    {
        return Some(format!(
            "no flow was ok under load: {}",
            flows.why_none_ok()
        ));
    }
    let outcomes = load.outcomes.iter().filter(|(_, count)| *count > 0);
    let outcomes: Vec<String> = outcomes
        .map(|(outcome, count)| format!("{count} {}", outcome.name().replace('_', " ")))
        .collect();
    let mut message = if outcomes.is_empty() {
        "no response came under load".to_owned()
    } else {
        format!("no response was ok under load: {}", outcomes.join(", "))
    };
    if load.requests > 0 && load.outcomes[Outcome::Unfinished] == load.requests {
        message.push_str(
            ": no request had completed when the load ended; measure longer than a response takes",
        );
    }
    if let Some(wrong) = &load.first_wrong {
        message.push_str(&format!("; the first: {}", wrong.detail));
    }
    Some(message)
}
