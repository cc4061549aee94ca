//! What the pods of a fleet show, for as long as somebody wants to see it.

use std::io::{self, BufRead, BufReader, Read};
use std::os::unix::process::CommandExt;
use std::process::{Child, Stdio};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use serde_json::Value;

use super::kubectl::{Attempt, Failure, Kubectl, failure, not_started};
use super::pod::Sight;
use crate::lock;

/// How many changes of pods wait to be looked at.
const SIGHTS: usize = 64;
/// How long to wait before the next try.
const BETWEEN: Duration = Duration::from_millis(300);
/// What the right to list does not include.
const WATCH: Attempt = Attempt("watch", "pods");

/// What a pod shows, or why nothing can be seen any more.
pub(super) type Seen = Result<Sight, String>;

/// Follows the pods. Dropping it ends that.
#[derive(Debug)]
pub(super) struct Watch {
    running: Arc<Mutex<Running>>,
}

#[derive(Debug, Default)]
struct Running {
    kubectl: Option<Child>,
    is_over: bool,
}

impl Watch {
    pub(super) fn start(kubectl: Kubectl, selector: String) -> io::Result<(Self, Receiver<Seen>)> {
        let (sender, seen) = sync_channel(SIGHTS);
        let running = Arc::<Mutex<Running>>::default();
        let watch = Self {
            running: running.clone(),
        };
        let thread = thread::Builder::new().name("kubernetes".into());
        thread.spawn(move || follow(&kubectl, &selector, &running, &sender))?;
        Ok((watch, seen))
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        let mut running = lock(&self.running);
        running.is_over = true;
        if let Some(kubectl) = &mut running.kubectl {
            // It may have ended. The thread waits for it.
            let _ = kubectl.kill();
        }
    }
}

fn follow(kubectl: &Kubectl, selector: &str, running: &Mutex<Running>, seen: &SyncSender<Seen>) {
    while !lock(running).is_over {
        match follow_once(kubectl, selector, running, seen) {
            Err(Failure { reason, is_final }) if is_final => {
                // If nobody reads it, nobody needs it.
                let _ = seen.send(Err(reason));
                return;
            }
            // The connections to agents are another matter: they show whether the cluster is lost.
            Ok(()) | Err(_) => thread::sleep(BETWEEN),
        }
    }
}

/// Follows the pods until the API server ends that.
fn follow_once(
    kubectl: &Kubectl,
    selector: &str,
    running: &Mutex<Running>,
    seen: &SyncSender<Seen>,
) -> Result<(), Failure> {
    let selector = format!("--selector={selector}");
    let mut command = kubectl.command(&[
        "get",
        "pods",
        &selector,
        "--watch",
        "--output-watch-events",
        "--output=json",
        // If Prony is killed, nothing else may end it: it writes nothing while no pod changes.
        "--request-timeout=2m",
    ]);
    command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .process_group(0);
    let (stdout, stderr) = {
        let mut running = lock(running);
        if running.is_over {
            return Ok(());
        }
        let child = command.spawn().map_err(|error| not_started(&error))?;
        let child = running.kubectl.insert(child);
        (child.stdout.take(), child.stderr.take())
    };
    let lines = stdout.map(|stdout| BufReader::new(stdout).lines().map_while(Result::ok));
    for sight in lines.into_iter().flatten().filter_map(|line| sight(&line)) {
        if seen.send(Ok(sight)).is_err() {
            break;
        }
    }
    let mut said = String::new();
    if let Some(mut stderr) = stderr {
        let _ = stderr.read_to_string(&mut said);
    }
    let child = lock(running).kubectl.take();
    match child.map(|mut child| child.wait()) {
        Some(Ok(status)) if !status.success() => Err(failure(WATCH, &said)),
        _ => Ok(()),
    }
}

/// What a line shows: a change of a pod.
fn sight(line: &str) -> Option<Sight> {
    let event: Value = serde_json::from_str(line).ok()?;
    let sight = Sight::of(&event["object"])?;
    if event["type"] == "DELETED" {
        Some(sight.deleted())
    } else {
        Some(sight)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::pod::State;
    use super::*;

    fn state(kind: &str) -> Option<State> {
        let pod = json!({
            "metadata": {
                "name": "prony-abc-2-xyz",
                "uid": "u",
                "labels": { "batch.kubernetes.io/job-completion-index": "2" },
            },
            "status": { "containerStatuses": [{ "state": { "running": {} } }] },
        });
        let line = json!({ "type": kind, "object": pod }).to_string();
        sight(&line).map(|sight| sight.state)
    }

    #[test]
    fn a_line_is_a_change_of_a_pod() {
        assert_eq!(state("ADDED"), Some(State::Running));
        assert_eq!(state("MODIFIED"), Some(State::Running));
        let deleted = State::Ended("its pod was deleted".into());
        assert_eq!(state("DELETED"), Some(deleted));
    }

    #[test]
    fn a_line_about_anything_else_shows_nothing() {
        let expired = r#"{"type": "ERROR", "object": {"kind": "Status", "reason": "Expired"}}"#;
        for line in [expired, "", "{", "No resources found"] {
            assert_eq!(sight(line), None, "{line}");
        }
    }
}
