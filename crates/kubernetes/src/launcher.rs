//! The launcher: a thread with a small runtime, because clients of Kubernetes are asynchronous and a fleet is not.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use k8s_openapi::api::batch::v1::Job;
use kube::api::AttachedProcess;
use prony_fleet::{Agents, Event, Launch, LaunchError, Launcher};
use tokio::runtime::{Builder, Runtime};
use tokio::sync::mpsc::error::TrySendError;
use tokio::sync::{Semaphore, mpsc, oneshot};
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};

use crate::attachment::Attachment;
use crate::cluster::Cluster;
use crate::job::job;
use crate::placement::{Limits, Placement};
use crate::pod::{Sight, State};
use crate::settings::Settings;

/// How many events wait to be read. Beyond that agents wait.
const EVENTS: usize = 4096;
/// How many changes of pods wait to be looked at.
const SIGHTS: usize = 64;
/// How many agents to attach to at a time: each takes a connection through the API server to a node.
const ATTACHING: usize = 32;
/// How often to look at the clock and for an interruption.
const TICK: Duration = Duration::from_millis(100);
/// If a Job has no pods by then, something may refuse them, such as a quota: look for the reason as often.
const NO_PODS: Duration = Duration::from_secs(3);
/// How long to wait for the pods to end. Those of a node that is cut off cannot.
const GONE: Duration = Duration::from_secs(5);
/// How often to try to delete the Job.
const TRIES: u32 = 3;

type Input = mpsc::Sender<Arc<str>>;
type Started = Result<Vec<Input>, String>;

/// Starts agents as a Job of Kubernetes.
#[derive(Clone, Debug)]
pub struct Kubernetes {
    settings: Settings,
}

impl Kubernetes {
    /// With these settings.
    pub fn new(settings: Settings) -> Self {
        Self { settings }
    }
}

impl Launcher for Kubernetes {
    fn name(&self) -> &'static str {
        "kubernetes"
    }

    fn launch(&self, launch: &Launch<'_>) -> Result<Box<dyn Agents>, LaunchError> {
        let (started, outcome) = sync_channel(1);
        let (stop, stopped) = oneshot::channel();
        let (sender, events) = sync_channel(EVENTS);
        let work = self.work(launch, sender).map_err(LaunchError)?;
        let runtime = Builder::new_current_thread().enable_all().build();
        let runtime = runtime.map_err(|error| LaunchError(error.to_string()))?;
        let thread = std::thread::Builder::new()
            .name("kubernetes".into())
            .spawn(move || run(runtime, &work, &started, stopped))
            .map_err(|error| LaunchError(error.to_string()))?;
        let mut fleet = Attached {
            inputs: Vec::new(),
            events,
            stop: Some(stop),
            thread: Some(thread),
        };
        loop {
            match outcome.recv_timeout(TICK) {
                Ok(Ok(inputs)) => {
                    fleet.inputs = inputs;
                    return Ok(Box::new(fleet));
                }
                Ok(Err(error)) => return Err(LaunchError(error)),
                Err(RecvTimeoutError::Timeout) if launch.interrupt.load(Ordering::Relaxed) => {
                    drop(fleet);
                    return Err(LaunchError("interrupted".into()));
                }
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => {
                    return Err(LaunchError("the client of Kubernetes failed".into()));
                }
            }
        }
    }
}

impl Kubernetes {
    fn work(&self, launch: &Launch<'_>, events: SyncSender<Event>) -> Result<Work, String> {
        let image = self.settings.image.as_ref().ok_or(
            "no image of the agent is set: build one with packaging/agent, and set `image` in `[fleet.kubernetes]` of prony.toml",
        )?;
        let job = job(&self.settings, image, launch.id, launch.agents);
        Ok(Work {
            settings: self.settings.clone(),
            job: job.map_err(|error| {
                format!("the settings in `[fleet.kubernetes]` do not describe a valid Job: {error}")
            })?,
            fleet: launch.id.to_owned(),
            agents: launch.agents,
            events,
        })
    }
}

/// Agents that Prony is attached to.
struct Attached {
    inputs: Vec<Input>,
    events: Receiver<Event>,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Agents for Attached {
    fn send(&mut self, line: &str) -> std::io::Result<()> {
        let line: Arc<str> = format!("{line}\n").into();
        let sent = self.inputs.iter().map(|input| input.try_send(line.clone()));
        // An agent that does not read gives no replies, and that is how the fleet loses it.
        let reachable = sent.filter(|sent| !matches!(sent, Err(TrySendError::Closed(_))));
        match reachable.count() {
            0 => Err(std::io::ErrorKind::BrokenPipe.into()),
            _ => Ok(()),
        }
    }

    fn events(&self) -> &Receiver<Event> {
        &self.events
    }
}

impl Drop for Attached {
    fn drop(&mut self) {
        // The agents' standard input closes, and they end.
        self.inputs.clear();
        self.stop = None;
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// What the thread does.
struct Work {
    settings: Settings,
    job: Job,
    fleet: String,
    agents: usize,
    events: SyncSender<Event>,
}

/// Creates the Job, serves its agents until `stopped`, and deletes the Job.
fn run(
    runtime: Runtime,
    work: &Work,
    started: &SyncSender<Started>,
    mut stopped: oneshot::Receiver<()>,
) {
    runtime.block_on(async {
        let cluster = match work.create().await {
            Ok(cluster) => cluster,
            Err(error) => {
                let _ = started.send(Err(error));
                return;
            }
        };
        let outcome = tokio::select! {
            outcome = work.start(&cluster) => outcome,
            _ = &mut stopped => Err("interrupted".into()),
        };
        match outcome {
            Ok((attached, sights)) => {
                let (attachments, inputs) = attached.into_iter().unzip();
                let _ = started.send(Ok(inputs));
                tokio::select! {
                    () = serve(attachments, sights, &work.events) => {},
                    _ = stopped => {},
                }
                work.clean_up(&cluster).await;
            }
            Err(error) => {
                work.clean_up(&cluster).await;
                let _ = started.send(Err(error));
            }
        }
    });
    // Not waiting for what still blocks, such as the resolver.
    runtime.shutdown_background();
}

type Sights = mpsc::Receiver<Result<Sight, String>>;

impl Work {
    async fn create(&self) -> Result<Cluster, String> {
        let cluster = Cluster::connect(&self.settings).await?;
        match cluster.create(&self.fleet, &self.job).await {
            Ok(()) => Ok(cluster),
            Err(error) => {
                // Without a reply it may have been created.
                let _ = cluster.delete(&self.fleet).await;
                Err(error)
            }
        }
    }

    /// Waits until all agents run, and attaches to them.
    async fn start(&self, cluster: &Cluster) -> Result<(Vec<(Attachment, Input)>, Sights), String> {
        let (sender, mut sights) = mpsc::channel(SIGHTS);
        let (follower, fleet) = (cluster.clone(), self.fleet.clone());
        tokio::spawn(async move { follower.follow(&fleet, &sender).await });
        let limits = Limits {
            start: self.settings.placement_timeout,
            unschedulable: self.settings.unschedulable_timeout,
        };
        let mut placement = Placement::new(self.agents, limits, Instant::now());
        let mut attaching = Attaching::new(cluster, self.agents);
        let mut looked_for_reason = Instant::now();
        while !(placement.is_complete() && attaching.is_complete()) {
            tokio::select! {
                sight = sights.recv() => {
                    let sight = sight.ok_or("the client of Kubernetes failed")??;
                    placement.see(sight.clone(), Instant::now())?;
                    attaching.see(sight);
                }
                Some(attached) = attaching.tasks.join_next() => {
                    attaching.add(attached.map_err(|error| error.to_string())?)?;
                }
                () = sleep(TICK) => {}
            }
            let now = Instant::now();
            placement.check(now)?;
            if placement.is_empty_after(NO_PODS, now) && looked_for_reason.elapsed() > NO_PODS {
                if let Some(reason) = cluster.why_no_pods(&self.fleet).await {
                    return Err(reason);
                }
                looked_for_reason = Instant::now();
            }
        }
        Ok((attaching.finish(&self.events), sights))
    }

    /// Deletes the Job, and waits a while until its pods have ended.
    async fn clean_up(&self, cluster: &Cluster) {
        let mut tries = 1;
        while let Err(error) = cluster.delete(&self.fleet).await {
            if tries == TRIES {
                eprintln!(
                    "warning: {error}. The agents end by themselves; delete their Job with `{}`",
                    cluster.delete_command(&self.fleet)
                );
                return;
            }
            tries += 1;
            sleep(TICK).await;
        }
        let gone = async {
            while !cluster.is_gone(&self.fleet).await {
                sleep(TICK).await;
            }
        };
        let _ = timeout(GONE, gone).await;
    }
}

/// Attaches to agents as soon as they run.
struct Attaching<'a> {
    cluster: &'a Cluster,
    tasks: JoinSet<Result<(Sight, AttachedProcess), String>>,
    begun: Vec<bool>,
    attached: Vec<Option<(Sight, AttachedProcess)>>,
    permits: Arc<Semaphore>,
}

impl<'a> Attaching<'a> {
    fn new(cluster: &'a Cluster, agents: usize) -> Self {
        Self {
            cluster,
            tasks: JoinSet::new(),
            begun: vec![false; agents],
            attached: (0..agents).map(|_| None).collect(),
            permits: Arc::new(Semaphore::new(ATTACHING)),
        }
    }

    fn see(&mut self, sight: Sight) {
        if sight.state != State::Running || std::mem::replace(&mut self.begun[sight.agent], true) {
            return;
        }
        let (cluster, permits) = (self.cluster.clone(), self.permits.clone());
        self.tasks.spawn(async move {
            let _permit = permits.acquire_owned().await;
            let process = cluster.attach(&sight).await?;
            Ok((sight, process))
        });
    }

    fn add(&mut self, attached: Result<(Sight, AttachedProcess), String>) -> Result<(), String> {
        let (sight, process) = attached?;
        let agent = sight.agent;
        self.attached[agent] = Some((sight, process));
        Ok(())
    }

    fn is_complete(&self) -> bool {
        self.attached.iter().all(Option::is_some)
    }

    fn finish(self, events: &SyncSender<Event>) -> Vec<(Attachment, Input)> {
        let attached = self.attached.into_iter().flatten();
        attached
            .map(|(sight, process)| {
                Attachment::start(sight.agent, sight.uid, process, events.clone())
            })
            .collect()
    }
}

/// Passes on what Kubernetes says about agents, for ever.
async fn serve(mut attachments: Vec<Attachment>, mut sights: Sights, events: &SyncSender<Event>) {
    while let Some(sight) = sights.recv().await {
        match sight {
            Ok(sight) => {
                if let Some(attachment) = attachments.get_mut(sight.agent) {
                    tell(attachment, sight);
                }
            }
            Err(text) => {
                let _ = events.try_send(Event::Note { agent: None, text });
            }
        }
    }
    // The connections show how the agents are.
    std::future::pending().await
}

fn tell(attachment: &mut Attachment, sight: Sight) {
    let reason = match sight.state {
        _ if sight.uid != attachment.uid => {
            "Kubernetes restarted it: something deleted its pod".into()
        }
        State::Ended(reason) => reason,
        _ => return,
    };
    if let Some(ended) = attachment.ended.take() {
        let _ = ended.send(reason);
    }
}
