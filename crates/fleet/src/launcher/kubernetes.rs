//! Agents as the pods of one Indexed Job of Kubernetes, one a node, through `kubectl`.
//!
//! [`Kubernetes`] creates the Job, waits until a pod of it runs on as many nodes, attaches to each, and deletes the Job at
//! the end. It needs few rights: `packaging/kubernetes/role.yaml`.

mod job;
mod kubectl;
mod manifest;
mod placement;
mod pod;
mod settings;
mod watch;

use std::process::ExitStatus;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender};
use std::thread;
use std::time::{Duration, Instant};

use super::processes::{Explain, Processes, Start, allow_files};
use super::{Event, Launch, LaunchError, Launcher};
use crate::message::FleetMessage;
use job::Job;
use kubectl::{Attempt, Kubectl};
use placement::{Limits, Placement};
use pod::Sight;
pub use settings::Kubernetes;
use watch::{Seen, Watch};

/// How often to look at the clock and for an interruption.
const TICK: Duration = Duration::from_millis(100);
/// How often agents hear something until all are there: without it they end after 10 s.
const PING: Duration = Duration::from_secs(2);
/// If a Job has no pods by then, something may refuse them, such as a quota: look for the reason as often.
const NO_PODS: Duration = Duration::from_secs(3);
/// `kubectl attach` ends with the agent, and the agent ends when its standard input closes.
const GRACE: Duration = Duration::from_secs(1);
/// How long Kubernetes may take to say why an agent ended, once the connection to it has.
const REASON: Duration = Duration::from_secs(2);
const ATTACH: Attempt = Attempt("create", "pods/attach");

impl Kubernetes {
    fn start(&self, launch: &Launch<'_>) -> Result<Processes, String> {
        let image = self.image.as_ref().ok_or(
            "no image of the agent is set: build one with packaging/agent, and set `image` in `[fleet.kubernetes]` of prony.toml",
        )?;
        allow_files();
        let kubectl = Kubectl::new(self);
        let manifest = manifest::manifest(self, image, launch.id, launch.agents);
        let job = Job::create(kubectl.clone(), launch.id, &manifest)?;
        let watch = Watch::start(kubectl.clone(), manifest::selector(launch.id));
        let (watch, seen) = watch.map_err(|error| error.to_string())?;
        let mut attached = Attached {
            processes: Processes::none(GRACE),
            watch,
            job,
            kubectl,
        };
        let limits = Limits {
            start: self.placement_timeout,
            unschedulable: self.unschedulable_timeout,
        };
        let pods = attached.attach(launch, limits, &seen)?;
        let events = attached.processes.sender();
        let reports = thread::Builder::new().spawn(move || report(&seen, &pods, &events));
        reports.map_err(|error| error.to_string())?;
        Ok(attached.processes.then((attached.watch, attached.job)))
    }
}

impl Launcher for Kubernetes {
    fn name(&self) -> &'static str {
        "kubernetes"
    }

    fn launch(&self, launch: &Launch<'_>) -> Result<Processes, LaunchError> {
        self.start(launch).map_err(LaunchError)
    }
}

/// Agents that Prony is attached to. Dropping them ends them, and deletes their Job: in the order of the fields.
struct Attached {
    processes: Processes,
    watch: Watch,
    job: Job,
    kubectl: Kubectl,
}

impl Attached {
    /// Waits until all agents run, and attaches to each as soon as it does. The ids of their pods.
    fn attach(
        &mut self,
        launch: &Launch<'_>,
        limits: Limits,
        seen: &Receiver<Seen>,
    ) -> Result<Vec<String>, String> {
        let explain: Arc<dyn Explain> = Arc::new(Words);
        let mut placement = Placement::new(launch.agents, limits, Instant::now());
        let (mut pinged, mut looked) = (Instant::now(), Instant::now());
        while !placement.is_complete() {
            match seen.recv_timeout(TICK) {
                Ok(sight) => self.see(sight?, &mut placement, &explain)?,
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => {
                    return Err("nothing shows the agents' pods any more".into());
                }
            }
            if launch.interrupt.load(Ordering::Relaxed) {
                return Err("interrupted".into());
            }
            self.check(&placement)?;
            if pinged.elapsed() >= PING {
                self.ping()?;
                pinged = Instant::now();
            }
            if placement.is_empty_after(NO_PODS, Instant::now()) && looked.elapsed() > NO_PODS {
                self.job.why_no_pods().map_or(Ok(()), Err)?;
                looked = Instant::now();
            }
        }
        Ok(placement.uids())
    }

    /// Attaches to an agent if it has just begun to run.
    fn see(
        &mut self,
        sight: Sight,
        placement: &mut Placement,
        explain: &Arc<dyn Explain>,
    ) -> Result<(), String> {
        let (agent, pod) = (sight.agent, sight.pod.clone());
        if !placement.see(sight, Instant::now())? {
            return Ok(());
        }
        let container = format!("--container={}", manifest::CONTAINER);
        let words = ["attach", &pod, &container, "--stdin", "--quiet"];
        let start = Start {
            agent: Some(agent),
            command: self.kubectl.command(&words),
            first: None,
        };
        self.processes
            .add(start, explain)
            .map_err(|LaunchError(error)| error)
    }

    /// Whether the fleet can still start: agents may be lost before all are there. What they say until then is for nobody.
    fn check(&self, placement: &Placement) -> Result<(), String> {
        for event in self.processes.events().try_iter() {
            if let Event::Ended {
                agent: Some(agent),
                reason,
            } = event
            {
                return Err(format!("{} is lost: {reason}", placement.name(agent)));
            }
        }
        placement.check(Instant::now())
    }

    /// The fleet itself sends nothing before all agents are there, and takes a reply to a ping that is not its own only as
    /// a sign of life.
    fn ping(&mut self) -> Result<(), String> {
        let ping = FleetMessage::Ping { number: u64::MAX };
        let ping = serde_json::to_string(&ping).map_err(|error| error.to_string())?;
        // There may be no agents yet, and one that is lost ends.
        let _ = self.processes.send(&ping);
        Ok(())
    }
}

/// Passes on what Kubernetes says about agents in these pods, until nobody reads it.
fn report(seen: &Receiver<Seen>, pods: &[String], events: &SyncSender<Event>) {
    for sight in seen {
        let event = match sight {
            Ok(sight) => lost(&sight, pods),
            Err(text) => Some(Event::Note { agent: None, text }),
        };
        if event.is_some_and(|event| events.send(event).is_err()) {
            return;
        }
    }
}

fn lost(sight: &Sight, pods: &[String]) -> Option<Event> {
    let reason = sight.lost(pods.get(sight.agent)?)?;
    Some(Event::Ended {
        agent: Some(sight.agent),
        reason: reason.into(),
    })
}

/// Those of `kubectl`.
struct Words;

impl Explain for Words {
    fn may_be_reason(&self, text: &str) -> bool {
        kubectl::is_own(text)
    }

    fn ended(&self, _agent: Option<usize>, status: ExitStatus, said: &str) -> String {
        if let Some(missing) = kubectl::missing_right(ATTACH, said) {
            return missing;
        }
        // If its pod has ended, Kubernetes says so meanwhile, and why.
        thread::sleep(REASON);
        end_of_connection(said, status)
    }
}

/// Why the connection to an agent ended, as far as `kubectl` tells.
fn end_of_connection(said: &str, status: ExitStatus) -> String {
    if !said.is_empty() {
        format!("the connection to it is lost: {}", kubectl::plain(said))
    } else if status.success() {
        "the connection to it was closed".into()
    } else {
        format!("the connection to it is lost: kubectl ended ({status})")
    }
}

#[cfg(test)]
mod tests;
