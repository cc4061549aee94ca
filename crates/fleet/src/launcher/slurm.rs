//! Agents as the tasks of one Slurm job, one a node, through `srun`.

use std::num::NonZeroU32;
use std::path::Path;
use std::process::{Command, ExitStatus};
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use prony_manifest::fields;
use serde::Deserialize;

use super::processes::{Explain, Processes, Start};
use super::remote::{Program, own, shell_status};
use super::{Event, Launch, LaunchError, Launcher, bounded};
use crate::lock;

/// Starts one agent a node: the table `[fleet.slurm]` of `prony.toml`.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Slurm {
    /// The partition; Slurm has a default one.
    pub partition: Option<String>,
    /// Whom the job is charged to.
    pub(crate) account: Option<String>,
    /// The quality of service.
    pub(crate) qos: Option<String>,
    /// Features that the nodes must have.
    pub(crate) constraint: Option<String>,
    pub(crate) reservation: Option<String>,
    /// Takes whole nodes, as a generator needs them.
    pub exclusive: bool,
    /// The CPUs of each agent, if nodes are shared.
    pub cpus: Option<NonZeroU32>,
    /// Slurm ends the job after this time, in whole minutes.
    #[serde(deserialize_with = "fields::maybe_some_duration")]
    pub time: Option<Duration>,
    /// How long to wait for the nodes.
    #[serde(deserialize_with = "fields::some_duration")]
    pub wait: Duration,
    pub options: Vec<String>,
    /// The program on the nodes, by default the path of the program that runs; with `copy` the file that is copied.
    pub program: Option<String>,
    /// Copies the program to each node, for as long as the fleet lives.
    pub copy: bool,
}

impl Default for Slurm {
    fn default() -> Self {
        Self {
            partition: None,
            account: None,
            qos: None,
            constraint: None,
            reservation: None,
            exclusive: true,
            cpus: None,
            time: None,
            wait: Duration::from_secs(60),
            options: Vec::new(),
            program: None,
            copy: false,
        }
    }
}

/// `srun` ends with its tasks, and these end when their standard input closes.
const GRACE: Duration = Duration::from_secs(1);
/// How long to wait for `squeue` and `scancel`.
const QUERY: Duration = Duration::from_secs(5);
/// How often to look at the queue.
const LOOK: Duration = Duration::from_millis(200);
/// Variables that would change what `srun` does with the streams. The other choices are made by options.
const STREAMS: &[&str] = &[
    "SLURM_LABELIO",
    "SLURM_STDERRMODE",
    "SLURM_STDINMODE",
    "SLURM_STDOUTMODE",
    "SLURM_UNBUFFEREDIO",
];

impl Slurm {
    fn program(&self) -> Result<Program, LaunchError> {
        let program = match &self.program {
            Some(program) => program.clone(),
            None => own()?.display().to_string(),
        };
        if self.copy {
            Program::sent(Path::new(&program))
        } else {
            Ok(Program::There(program))
        }
    }

    /// Standard input goes to every task. Neither `--label` nor `--unbuffered`: both split lines.
    fn command(&self, agents: usize, name: &str, script: &str) -> Command {
        let mut command = Command::new("srun");
        command.args([
            format!("--nodes={agents}"),
            format!("--ntasks={agents}"),
            format!("--job-name={name}"),
            // So that a job does not wait for nodes when Prony is gone.
            format!("--immediate={}", self.wait.as_secs() + 5),
        ]);
        command.args([
            "--ntasks-per-node=1",
            "--kill-on-bad-exit=1",
            "--mpi=none",
            "--chdir=/",
        ]);
        for (option, value) in [
            ("partition", &self.partition),
            ("account", &self.account),
            ("qos", &self.qos),
            ("constraint", &self.constraint),
            ("reservation", &self.reservation),
        ] {
            command.args(value.iter().map(|value| format!("--{option}={value}")));
        }
        if self.exclusive {
            // Otherwise a task may be bound to the one CPU that it takes by default.
            command.args(["--exclusive", "--cpu-bind=none"]);
        }
        command.args(self.cpus.map(|cpus| format!("--cpus-per-task={cpus}")));
        command.args(self.time.map(minutes));
        command.args(&self.options);
        command.args(["/bin/sh", "-c", script]);
        for variable in STREAMS {
            command.env_remove(variable);
        }
        command
    }

    /// Waits until the job runs. Its id.
    fn placed(
        &self,
        launch: &Launch<'_>,
        name: &str,
        processes: &Processes,
        words: &Words,
    ) -> Result<Option<String>, LaunchError> {
        let begin = Instant::now();
        let failed = |reason: String| {
            let error = format!("Slurm did not start {} agents: {reason}", launch.agents);
            Err(LaunchError(error))
        };
        let mut reason = String::new();
        loop {
            if launch.interrupt.load(Ordering::Relaxed) {
                return failed("interrupted".into());
            }
            // Looked at first: a job that has ended is not in the queue.
            let has_ended = processes.has_ended();
            match queued(name) {
                Some(Queued::Running { job }) => return Ok(Some(job)),
                Some(Queued::Pending { job, reason: why }) => {
                    reason = format!("job {job} waits in the queue ({why})");
                    if is_permanent(&why) || begin.elapsed() > self.wait {
                        return failed(join(&[&reason, &advice(&why, launch.agents)]));
                    }
                }
                None if has_ended => return failed(join(&[&words.all(), &reason])),
                None if begin.elapsed() > self.wait => {
                    return failed(join(&[
                        &words.all(),
                        &format!("no job {name} in the queue after {:?}", self.wait),
                    ]));
                }
                None => {}
            }
            thread::sleep(LOOK);
        }
    }
}

impl Launcher for Slurm {
    fn name(&self) -> &'static str {
        "slurm"
    }

    fn launch(&self, launch: &Launch<'_>) -> Result<Processes, LaunchError> {
        let program = self.program()?;
        let name = format!("prony-{}", launch.id);
        let script = program.script(launch.id, "\"$SLURM_PROCID\"");
        let start = Start {
            agent: None,
            command: self.command(launch.agents, &name, &script),
            first: program.first(),
        };
        let words = Arc::new(Words::of(program));
        let explain: Arc<dyn Explain> = words.clone();
        let processes = Processes::explained([start], GRACE, &explain)?;
        // In an allocation that the user already has, there is no queue, and the job is not Prony's to cancel.
        let placed = if std::env::var_os("SLURM_JOB_ID").is_none() {
            self.placed(launch, &name, &processes, &words)
        } else {
            Ok(None)
        };
        let id = placed.clone().unwrap_or_default();
        let processes = processes.then(Job { name, id });
        placed.map(|_| processes)
    }
}

/// The job of the tasks. Dropping it cancels it: if a node is cut off, `srun` ends before the job does.
struct Job {
    name: String,
    id: Option<String>,
}

impl Drop for Job {
    fn drop(&mut self) {
        let id = self.id.take();
        if let Some(id) = id.or_else(|| queued(&self.name).map(Queued::job)) {
            output(Command::new("scancel").args(["--quiet", &id]));
        }
    }
}

/// A job that has not ended.
#[derive(Debug, PartialEq, Eq)]
enum Queued {
    Running { job: String },
    Pending { job: String, reason: String },
}

impl Queued {
    fn job(self) -> String {
        match self {
            Self::Running { job } | Self::Pending { job, .. } => job,
        }
    }
}

/// The job with that name, if it is in the queue.
fn queued(name: &str) -> Option<Queued> {
    let mut command = Command::new("squeue");
    command.args(["--noheader", "--format=%i|%T|%r"]);
    parse_queue(&output(command.arg(format!("--name={name}")))?)
}

fn parse_queue(lines: &str) -> Option<Queued> {
    let mut fields = lines.lines().next()?.trim().split('|');
    let (job, state, reason) = (fields.next()?, fields.next()?, fields.next()?);
    let job = job.to_owned();
    Some(match state {
        "PENDING" => Queued::Pending {
            job,
            reason: reason.into(),
        },
        _ => Queued::Running { job },
    })
}

/// Whether waiting does not help: the request is larger than the partition or the user's limits.
fn is_permanent(reason: &str) -> bool {
    reason.ends_with("Limit")
        || reason.contains("MaxNode")
        || reason.contains("MaxWall")
        || matches!(
            reason,
            "BadConstraints" | "PartitionConfig" | "AccountNotAllowed" | "QOSNotAllowed"
        )
}

/// What to do about a reason of Slurm.
fn advice(reason: &str, agents: usize) -> String {
    match reason {
        "PartitionNodeLimit" | "PartitionConfig" => {
            format!(
                "the partition has fewer than {agents} nodes; use fewer --agents or another `partition` in `[fleet.slurm]`"
            )
        }
        "Resources" | "Priority" | "None" => {
            "the nodes are in use; try again later, or set a longer `wait` in `[fleet.slurm]`"
                .into()
        }
        "PartitionTimeLimit" => "set a shorter `time` in `[fleet.slurm]`".into(),
        "ReqNodeNotAvail" => "nodes are down, drained or reserved; `sinfo` shows them".into(),
        _ => String::new(),
    }
}

fn join(parts: &[&str]) -> String {
    let parts = parts.iter().filter(|part| !part.is_empty());
    parts.copied().collect::<Vec<_>>().join("; ")
}

fn minutes(time: Duration) -> String {
    format!("--time={}", time.as_secs().div_ceil(60))
}

/// What a short command prints. `None` if it fails or takes long.
fn output(command: &mut Command) -> Option<String> {
    let output = bounded::run(command, "", QUERY).ok()??;
    output.status.success().then_some(output.stdout)
}

/// What `srun` says about itself and the tasks.
struct Words {
    program: Program,
    errors: Mutex<Vec<String>>,
}

/// How many errors of `srun` are kept: the first, because the others follow from it.
const ERRORS: usize = 2;

impl Words {
    fn of(program: Program) -> Self {
        Self {
            program,
            errors: Mutex::default(),
        }
    }

    fn end_of_task(&self, node: &str, how: &str) -> String {
        match how.strip_prefix("Exited with exit code ") {
            Some(code) => {
                let code = code.trim().parse().unwrap_or(1);
                self.program.reason(code, node, "fleet.slurm")
            }
            None => format!("the agent on {node} ended: {how}"),
        }
    }

    fn keep(&self, text: &str) {
        let mut errors = lock(&self.errors);
        if errors.len() < ERRORS {
            errors.push(text.into());
        }
    }

    fn all(&self) -> String {
        lock(&self.errors).join("; ")
    }
}

impl Explain for Words {
    fn note(&self, agent: Option<usize>, text: String) -> Event {
        let error = text.strip_prefix("srun: error: ").unwrap_or_default();
        if let Some(TaskError { task, nodes, how }) = task_error(error) {
            let reason = self.end_of_task(nodes, how);
            self.keep(&reason);
            return Event::Ended {
                agent: Some(task),
                reason,
            };
        }
        if !error.is_empty() {
            self.keep(error);
        }
        if text.ends_with("lacks support for cpu binding") {
            // Slurm binds no tasks here, as wanted.
            let text = String::new();
            return Event::Note { agent, text };
        }
        // The time limit, a preemption, or a node that failed.
        if text.contains("CANCELLED AT") && text.contains("DUE TO")
            || text.contains("Node failure on")
        {
            let reason = text.trim().to_owned();
            return Event::Ended {
                agent: None,
                reason,
            };
        }
        Event::Note { agent, text }
    }

    fn ended(&self, _agent: Option<usize>, status: ExitStatus, _said: &str) -> String {
        match self.all() {
            all if all.is_empty() => format!("srun ended with status {}", shell_status(status)),
            all => format!("srun ended: {all}"),
        }
    }
}

struct TaskError<'a> {
    /// The first of several.
    task: usize,
    nodes: &'a str,
    how: &'a str,
}

/// Reads `node2: task 1: Killed` or `node[2-3]: tasks 1-2: Killed`.
fn task_error(error: &str) -> Option<TaskError<'_>> {
    let (nodes, rest) = error.split_once(": task")?;
    let (tasks, how) = rest
        .strip_prefix('s')
        .unwrap_or(rest)
        .trim_start()
        .split_once(": ")?;
    let task = tasks.split(['-', ',']).next()?.parse().ok()?;
    Some(TaskError { task, nodes, how })
}

#[cfg(test)]
mod tests;
