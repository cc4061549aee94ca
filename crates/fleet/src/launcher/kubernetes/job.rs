//! The Job of a fleet: all that Prony creates in a cluster.

use std::thread;
use std::time::Duration;

use serde_json::Value;

use super::kubectl::{Attempt, Kubectl};
use super::manifest;
use crate::launcher::bounded;

/// How often to try to delete it, and how long to wait before the next try.
const TRIES: usize = 3;
const BETWEEN: Duration = Duration::from_millis(100);
/// How long to wait for the pods to end. Those of a node that is cut off cannot.
const GONE: Duration = Duration::from_secs(5);

/// A Job that exists, or may exist. Dropping it deletes it, and waits a while until its pods have ended.
#[derive(Debug)]
pub(super) struct Job {
    kubectl: Kubectl,
    fleet: String,
}

impl Job {
    /// Creates the Job of a fleet, if this user may delete it again.
    pub(super) fn create(kubectl: Kubectl, fleet: &str, manifest: &Value) -> Result<Self, String> {
        let fleet = fleet.to_owned();
        // Kubernetes looks at the rights before it looks for the Job.
        delete(&kubectl, &fleet, &["--dry-run=server"])?;
        // From here on dropping it deletes it: without a reply it may have been created.
        let job = Self { kubectl, fleet };
        let words = ["create", "--validate=false", "--filename=-"];
        let created = Attempt("create", "jobs");
        let created = job.kubectl.run(created, &words, &manifest.to_string());
        created.map_err(|failure| failure.reason)?;
        Ok(job)
    }

    /// Why it has no pods, as far as Kubernetes tells.
    pub(super) fn why_no_pods(&self) -> Option<String> {
        let name = manifest::name(&self.fleet);
        let selector = format!("--field-selector=involvedObject.name={name},reason=FailedCreate");
        let messages = r#"--output=jsonpath={range .items[*]}{.message}{"\n"}{end}"#;
        let words = ["get", "events", &selector, messages];
        match self.kubectl.run(Attempt("list", "events"), &words, "") {
            Ok(messages) => {
                let first = messages.lines().next()?;
                Some(format!("Kubernetes creates no pods: {first}"))
            }
            Err(failure) => Some(format!(
                "Kubernetes creates no pods, and why is unknown: {}",
                failure.reason
            )),
        }
    }

    fn delete(&self) -> Result<(), String> {
        let mut tries = 1;
        loop {
            match delete(&self.kubectl, &self.fleet, &[]) {
                Err(_) if tries < TRIES => tries += 1,
                deleted => return deleted,
            }
            thread::sleep(BETWEEN);
        }
    }

    /// Waits until its pods have ended, but not for ever.
    fn wait(&self) {
        let selector = format!("--selector={}", manifest::selector(&self.fleet));
        let words = ["wait", "pods", &selector, "--for=delete", "--timeout=1m"];
        let _ = bounded::run(&mut self.kubectl.command(&words), "", GONE);
    }
}

impl Drop for Job {
    fn drop(&mut self) {
        match self.delete() {
            Ok(()) => self.wait(),
            Err(error) => {
                let name = manifest::name(&self.fleet);
                eprintln!(
                    "warning: {error}. The agents end by themselves; delete their Job with `{}`",
                    self.kubectl.line(&["delete", "job", &name])
                );
            }
        }
    }
}

/// Deletes the Job of a fleet with its pods. If it is not there, it has deleted itself, or somebody else did.
fn delete(kubectl: &Kubectl, fleet: &str, options: &[&str]) -> Result<(), String> {
    let name = manifest::name(fleet);
    let mut words = vec!["delete", "job", &name, "--ignore-not-found", "--wait=false"];
    // A user may have made it ask by default.
    words.push("--interactive=false");
    words.extend(options);
    let deleted = kubectl.run(Attempt("delete", "jobs"), &words, "");
    deleted.map(drop).map_err(|failure| failure.reason)
}
