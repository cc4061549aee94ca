//! The few requests that Prony makes to a cluster, and their failures in plain words.

use std::collections::HashMap;
use std::future::Future;
use std::time::Duration;

use futures_util::StreamExt;
use k8s_openapi::api::batch::v1::Job;
use k8s_openapi::api::core::v1::{Event, Pod};
use kube::api::{
    Api, AttachParams, AttachedProcess, DeleteParams, ListParams, PostParams, Request, WatchEvent,
    WatchParams,
};
use kube::config::KubeConfigOptions;
use kube::{Client, Config, Error, Resource};
use tokio::sync::mpsc::Sender;
use tokio::time::{sleep, timeout};

use crate::job::{self, CONTAINER};
use crate::pod::{Sight, State};
use crate::settings::Settings;

/// How long the API server may take to reply.
const REPLY: Duration = Duration::from_secs(15);
/// How long attaching may take.
const ATTACH: Duration = Duration::from_secs(10);
/// How often to try to attach, and how long to wait before the next try.
const TRIES: u32 = 3;
const BETWEEN: Duration = Duration::from_millis(300);
/// A watch ends after that many seconds, and is started again.
const WATCH_SECONDS: u32 = 120;
/// How much of an agent's input or output waits in memory.
const BUFFER: usize = 64 * 1024;
/// What to do about a missing right.
const ROLE: &str = "packaging/kubernetes/role.yaml has all rights that Prony needs";

/// A namespace of a cluster.
#[derive(Clone)]
pub struct Cluster {
    client: Client,
    jobs: Api<Job>,
    pods: Api<Pod>,
    events: Api<Event>,
    namespace: String,
    url: String,
}

/// What was attempted: a verb and a resource of Kubernetes.
#[derive(Clone, Copy)]
struct Attempt(&'static str, &'static str);

impl Cluster {
    /// The cluster of the user's kubeconfig, or the one that this process runs in.
    pub async fn connect(settings: &Settings) -> Result<Self, String> {
        let options = KubeConfigOptions {
            context: settings.context.clone(),
            ..KubeConfigOptions::default()
        };
        let config = match &settings.context {
            Some(_) => Config::from_kubeconfig(&options)
                .await
                .map_err(|error| causes(&error)),
            None => Config::infer().await.map_err(|error| causes(&error)),
        };
        let mut config =
            config.map_err(|error| format!("no cluster of Kubernetes is configured: {error}"))?;
        config.connect_timeout = Some(REPLY);
        let url = config.cluster_url.to_string();
        let namespace = settings.namespace.clone();
        let namespace = namespace.unwrap_or_else(|| config.default_namespace.clone());
        let client = Client::try_from(config)
            .map_err(|error| format!("cannot use the cluster {url}: {}", causes(&error)))?;
        Ok(Self {
            jobs: Api::namespaced(client.clone(), &namespace),
            pods: Api::namespaced(client.clone(), &namespace),
            events: Api::namespaced(client.clone(), &namespace),
            client,
            namespace,
            url,
        })
    }

    /// Creates a Job, if this user may delete it again.
    pub async fn create(&self, fleet: &str, job: &Job) -> Result<(), String> {
        // Kubernetes looks at the rights before it looks for the Job.
        let may_delete = DeleteParams {
            dry_run: true,
            ..DeleteParams::background()
        };
        let name = job::name(fleet);
        let reply = self.reply(
            Attempt("delete", "jobs"),
            self.jobs.delete(&name, &may_delete),
        );
        match reply.await? {
            Err(Error::Api(status)) if status.code == 404 => {}
            Ok(_) => {}
            Err(error) => return Err(self.explain(Attempt("delete", "jobs"), &error)),
        }
        let options = PostParams::default();
        let create = self.jobs.create(&options, job);
        let attempt = Attempt("create", "jobs");
        let created = self.reply(attempt, create).await?;
        created
            .map(drop)
            .map_err(|error| self.explain(attempt, &error))
    }

    /// Deletes the Job of a fleet with its pods.
    pub async fn delete(&self, fleet: &str) -> Result<(), String> {
        let name = job::name(fleet);
        let background = DeleteParams::background();
        let attempt = Attempt("delete", "jobs");
        let reply = self.reply(attempt, self.jobs.delete(&name, &background));
        match reply.await? {
            // It has deleted itself, or somebody else did.
            Err(Error::Api(status)) if status.code == 404 => Ok(()),
            Err(error) => Err(self.explain(attempt, &error)),
            Ok(_) => Ok(()),
        }
    }

    /// Whether the fleet has no pods any more.
    pub async fn is_gone(&self, fleet: &str) -> bool {
        let pods = ListParams::default().labels(&job::selector(fleet)).limit(1);
        let list = timeout(REPLY, self.pods.list(&pods)).await;
        matches!(list, Ok(Ok(list)) if list.items.is_empty())
    }

    /// Where to look for the Job of a fleet, for a user who has to.
    pub fn delete_command(&self, fleet: &str) -> String {
        format!(
            "kubectl delete job --namespace {} {}",
            self.namespace,
            job::name(fleet)
        )
    }

    /// Why the Job has no pods, as far as Kubernetes tells.
    pub async fn why_no_pods(&self, fleet: &str) -> String {
        let name = job::name(fleet);
        let of_job = ListParams::default().fields(&format!("involvedObject.name={name}"));
        let attempt = Attempt("list", "events");
        let events = match self.reply(attempt, self.events.list(&of_job)).await {
            Ok(Ok(events)) => events.items,
            Ok(Err(error)) => {
                return format!(
                    "Kubernetes creates no pods, and why is unknown: {}",
                    self.explain(attempt, &error)
                );
            }
            Err(error) => return error,
        };
        let failed = events
            .into_iter()
            .find(|event| event.reason.as_deref() == Some("FailedCreate"));
        match failed.and_then(|event| event.message) {
            Some(message) => format!("Kubernetes creates no pods: {message}"),
            None => "Kubernetes creates no pods, and does not tell why".into(),
        }
    }

    /// Sends what the pods of a fleet show, until nobody reads it. An error is sent if nothing can be seen any more.
    pub async fn follow(&self, fleet: &str, to: &Sender<Result<Sight, String>>) {
        let selector = job::selector(fleet);
        let mut known = HashMap::new();
        loop {
            match self.follow_once(&selector, &mut known, to).await {
                Some(Watch::Over) => {}
                Some(Watch::Refused(error)) => {
                    let _ = to.send(Err(error)).await;
                    return;
                }
                // Nobody reads.
                None => return,
            }
            sleep(BETWEEN).await;
        }
    }

    /// `None` if nobody reads any more.
    async fn follow_once(
        &self,
        selector: &str,
        known: &mut HashMap<String, Sight>,
        to: &Sender<Result<Sight, String>>,
    ) -> Option<Watch> {
        let pods = ListParams::default().labels(selector);
        let list = match timeout(REPLY, self.pods.list(&pods)).await {
            Ok(Ok(list)) => list,
            Ok(Err(error)) => return Some(self.watch_failed(Attempt("list", "pods"), &error)),
            Err(_) => return Some(Watch::Over),
        };
        let version = list.metadata.resource_version.unwrap_or_default();
        let mut before = std::mem::take(known);
        for sight in list.items.iter().filter_map(Sight::of) {
            before.remove(&sight.uid);
            known.insert(sight.uid.clone(), sight.clone());
            to.send(Ok(sight)).await.ok()?;
        }
        for gone in before.into_values() {
            to.send(Ok(deleted(gone))).await.ok()?;
        }
        let watch = WatchParams::default()
            .labels(selector)
            .timeout(WATCH_SECONDS);
        let stream = match timeout(REPLY, self.pods.watch(&watch, &version)).await {
            Ok(Ok(stream)) => stream,
            Ok(Err(error)) => return Some(self.watch_failed(Attempt("watch", "pods"), &error)),
            Err(_) => return Some(Watch::Over),
        };
        let mut stream = std::pin::pin!(stream);
        while let Some(Ok(event)) = stream.next().await {
            let sight = match &event {
                WatchEvent::Added(pod) | WatchEvent::Modified(pod) => Sight::of(pod),
                WatchEvent::Deleted(pod) => Sight::of(pod).map(|sight| {
                    known.remove(&sight.uid);
                    deleted(sight)
                }),
                WatchEvent::Bookmark(_) => None,
                // The list is too old.
                WatchEvent::Error(_) => return Some(Watch::Over),
            };
            if let Some(sight) = sight {
                if !matches!(event, WatchEvent::Deleted(_)) {
                    known.insert(sight.uid.clone(), sight.clone());
                }
                to.send(Ok(sight)).await.ok()?;
            }
        }
        Some(Watch::Over)
    }

    fn watch_failed(&self, attempt: Attempt, error: &Error) -> Watch {
        match error {
            Error::Api(status) if (400..500).contains(&status.code) && status.code != 410 => {
                Watch::Refused(self.explain(attempt, error))
            }
            // The connections to agents are another matter: they show whether the cluster is lost.
            _ => Watch::Over,
        }
    }

    /// Attaches to an agent.
    pub async fn attach(&self, sight: &Sight) -> Result<AttachedProcess, String> {
        let mut tries = 0;
        loop {
            tries += 1;
            let params = params();
            let attach = self.pods.attach(&sight.pod, &params);
            let error = match timeout(ATTACH, attach).await {
                Ok(Ok(process)) => return Ok(process),
                Ok(Err(error)) => error,
                Err(_) => {
                    return Err(format!(
                        "cannot attach to {}: no reply within {ATTACH:?}; the node may be cut off",
                        sight.name()
                    ));
                }
            };
            if matches!(&error, Error::Api(status) if status.code == 403) {
                return Err(self.missing_to_attach(sight).await);
            }
            if tries == TRIES {
                return Err(format!(
                    "cannot attach to {}: {}",
                    sight.name(),
                    said(&error)
                ));
            }
            sleep(BETWEEN).await;
        }
    }

    /// The refusal of a connection does not always say which right is missing, but that of a plain request does.
    async fn missing_to_attach(&self, sight: &Sight) -> String {
        let mut missing = Vec::new();
        for (verb, method) in [("get", http::Method::GET), ("create", http::Method::POST)] {
            let url = Pod::url_path(&(), Some(&self.namespace));
            let Ok(mut request) = Request::new(url).attach(&sight.pod, &params()) else {
                continue;
            };
            *request.method_mut() = method;
            let reply = timeout(REPLY, self.client.request_text(request)).await;
            // To attach by GET also needs the verb `create`; that refusal gives no reason.
            if matches!(&reply, Ok(Err(Error::Api(status))) if is_missing_right(&status.message)) {
                missing.push(verb);
            }
        }
        match missing[..] {
            [one] => self.missing(Attempt(one, "pods/attach")),
            _ => self.missing(Attempt("get` and `create", "pods/attach")),
        }
    }

    fn missing(&self, Attempt(verb, resource): Attempt) -> String {
        format!(
            "Kubernetes gives this user no right to `{verb}` `{resource}` in the namespace `{}`; {ROLE}",
            self.namespace
        )
    }

    /// Waits for a reply, but not for ever.
    async fn reply<T>(
        &self,
        Attempt(verb, resource): Attempt,
        reply: impl Future<Output = Result<T, Error>>,
    ) -> Result<Result<T, Error>, String> {
        timeout(REPLY, reply).await.map_err(|_| {
            format!(
                "cannot {verb} {resource}: {} does not reply within {REPLY:?}",
                self.url
            )
        })
    }

    fn explain(&self, attempt: Attempt, error: &Error) -> String {
        let Attempt(verb, resource) = attempt;
        match error {
            Error::Api(status) if status.code == 401 => {
                format!(
                    "{} does not accept this user's credentials: {}",
                    self.url, status.message
                )
            }
            Error::Api(status) if status.code == 403 && is_missing_right(&status.message) => {
                format!("{} ({})", self.missing(attempt), status.message)
            }
            Error::Api(status) => format!("cannot {verb} {resource}: {}", status.message),
            error => format!("cannot {verb} {resource}: {}: {}", self.url, causes(error)),
        }
    }
}

/// How following ended.
enum Watch {
    /// Follow again.
    Over,
    /// There is no use.
    Refused(String),
}

/// Quotas and policies are also refusals, but no right is missing then.
fn is_missing_right(message: &str) -> bool {
    message.contains(" cannot ")
}

fn deleted(sight: Sight) -> Sight {
    let state = match sight.state {
        // It has ended by itself before.
        State::Ended(reason) => State::Ended(reason),
        _ => State::Ended("its pod was deleted".into()),
    };
    Sight { state, ..sight }
}

fn params() -> AttachParams {
    AttachParams {
        container: Some(CONTAINER.into()),
        stdin: true,
        stdout: true,
        stderr: true,
        tty: false,
        max_stdin_buf_size: Some(BUFFER),
        max_stdout_buf_size: Some(BUFFER),
        max_stderr_buf_size: Some(BUFFER),
    }
}

/// An error in the words of the API server, if it said anything.
fn said(error: &Error) -> String {
    match error {
        Error::Api(status) => status.message.clone(),
        error => causes(error),
    }
}

/// An error with its causes. The text of many errors already includes their cause.
pub fn causes(error: &(dyn std::error::Error + 'static)) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        let next = error.to_string();
        if !text.contains(&next) {
            text = format!("{text}: {next}");
        }
        cause = error.source();
    }
    text
}
