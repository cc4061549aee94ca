//! What the status of a pod says about its agent.

use serde_json::Value;

/// The index of a pod in its Job, which Kubernetes sets.
const INDEX: &str = "batch.kubernetes.io/job-completion-index";
/// Reasons for which a container waits in vain.
const BROKEN: [&str; 8] = [
    "CreateContainerConfigError",
    "CreateContainerError",
    "ErrImageNeverPull",
    "ErrImagePull",
    "ErrRegistryUnavailable",
    "ImagePullBackOff",
    "InvalidImageName",
    "RunContainerError",
];

/// An agent, as its pod shows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Sight {
    pub(crate) agent: usize,
    /// The pod's unique id: another one for the same index is another process.
    pub(crate) uid: String,
    pub(crate) pod: String,
    /// The node, once it has one.
    pub(crate) node: Option<String>,
    pub(crate) state: State,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum State {
    /// It has not started yet.
    Waiting,
    /// The scheduler finds no node for it, and says why.
    Unschedulable(String),
    /// It cannot start, and why.
    Broken(String),
    Running,
    /// It has ended or is about to, and why.
    Ended(String),
}

impl Sight {
    /// What a pod shows; `None` if it is no pod of an Indexed Job.
    pub(super) fn of(pod: &Value) -> Option<Self> {
        let metadata = &pod["metadata"];
        let index = text(&metadata["annotations"][INDEX]).or(text(&metadata["labels"][INDEX]))?;
        Some(Self {
            agent: index.parse().ok()?,
            uid: text(&metadata["uid"])?.into(),
            pod: text(&metadata["name"])?.into(),
            node: text(&pod["spec"]["nodeName"]).map(str::to_owned),
            state: state(pod),
        })
    }

    /// What is left of it when its pod was deleted.
    pub(super) fn deleted(self) -> Self {
        let state = match self.state {
            // It has ended by itself before.
            State::Ended(reason) => State::Ended(reason),
            _ => State::Ended("its pod was deleted".into()),
        };
        Self { state, ..self }
    }

    pub(super) fn is_running(&self) -> bool {
        self.state == State::Running
    }

    /// Why the agent is lost that ran in the pod with that id; `None` if it is not.
    pub(super) fn lost(&self, uid: &str) -> Option<&str> {
        match &self.state {
            _ if self.uid != uid => Some("Kubernetes restarted it: something deleted its pod"),
            State::Ended(reason) => Some(reason),
            _ => None,
        }
    }

    /// The agent with its node: `agent 2 (node kn3)`.
    pub(super) fn name(&self) -> String {
        match &self.node {
            Some(node) => format!("agent {} (node {node})", self.agent),
            None => format!("agent {}", self.agent),
        }
    }
}

/// A text that is there, and not empty.
fn text(value: &Value) -> Option<&str> {
    value.as_str().filter(|text| !text.is_empty())
}

fn state(pod: &Value) -> State {
    let status = &pod["status"];
    let container = &status["containerStatuses"][0]["state"];
    let terminated = container.get("terminated");
    let disrupted = condition(status, "DisruptionTarget", "True").map(ended_by_kubernetes);
    if terminated.is_some() || matches!(text(&status["phase"]), Some("Failed" | "Succeeded")) {
        // Why Kubernetes ended it tells more than the signal with which it did.
        let evicted = text(&status["reason"]).map(|_| ended_by_kubernetes(status));
        let reason = disrupted.or(evicted).or(terminated.map(exit));
        return State::Ended(reason.unwrap_or_else(|| "its pod ended".into()));
    }
    if text(&pod["metadata"]["deletionTimestamp"]).is_some() {
        return State::Ended(disrupted.unwrap_or_else(|| "its pod is being deleted".into()));
    }
    if let Some(condition) = condition(status, "PodScheduled", "False")
        && condition["reason"] == "Unschedulable"
    {
        let message = text(&condition["message"]).unwrap_or_default();
        return State::Unschedulable(message.into());
    }
    if container.get("running").is_some() {
        return State::Running;
    }
    let waiting = &container["waiting"];
    match text(&waiting["reason"]) {
        Some(reason) if BROKEN.contains(&reason) => State::Broken(with_message(reason, waiting)),
        _ => State::Waiting,
    }
}

fn condition<'a>(status: &'a Value, kind: &str, value: &str) -> Option<&'a Value> {
    let mut conditions = status["conditions"].as_array()?.iter();
    conditions.find(|one| one["type"] == kind && one["status"] == value)
}

fn ended_by_kubernetes(why: &Value) -> String {
    let reason = text(&why["reason"]).unwrap_or("disruption");
    with_message(&format!("Kubernetes ended its pod: {reason}"), why)
}

fn exit(terminated: &Value) -> String {
    if terminated["reason"] == "OOMKilled" {
        return "it was killed because the node or its own limit had no more memory".into();
    }
    match terminated["exitCode"].as_i64().unwrap_or_default() {
        code @ 129.. => format!("it was killed by signal {}", code - 128),
        code => {
            // The last lines of its output, where an error comes last. A message to the fleet tells a user nothing.
            let lines = text(&terminated["message"]).unwrap_or_default().lines();
            let said = |line: &&str| !line.trim().is_empty() && !line.starts_with("prony ");
            let last = lines.rev().find(said).unwrap_or_default();
            join(&format!("it ended with exit code {code}"), last)
        }
    }
}

/// `first: the message of what says why`.
fn with_message(first: &str, why: &Value) -> String {
    join(first, text(&why["message"]).unwrap_or_default())
}

/// `first: second`, on one line.
fn join(first: &str, second: &str) -> String {
    let second = second.split_whitespace().collect::<Vec<_>>().join(" ");
    if second.is_empty() {
        first.to_owned()
    } else {
        format!("{first}: {second}")
    }
}

#[cfg(test)]
mod tests {
    use prony_testkit::table::rows;
    use serde_json::json;

    use super::*;

    fn sight(deleted: bool, status: Value) -> Sight {
        let deleted = deleted.then_some("2026-01-01T00:00:00Z");
        let pod = json!({
            "metadata": {
                "name": "prony-abc-2-xyz",
                "uid": "u",
                "annotations": { INDEX: "2" },
                "deletionTimestamp": deleted,
            },
            "spec": { "nodeName": "kn3", "containers": [] },
            "status": status,
        });
        Sight::of(&pod).unwrap()
    }

    fn in_container(state: Value) -> Value {
        json!({ "phase": "Running", "containerStatuses": [{
            "name": "agent", "image": "", "imageID": "", "ready": true, "restartCount": 0, "state": state,
        }] })
    }

    #[test]
    fn a_pod_with_a_running_container_is_a_running_agent() {
        let sight = sight(false, in_container(json!({ "running": {} })));
        assert_eq!((sight.agent, &sight.state), (2, &State::Running));
        assert_eq!(sight.name(), "agent 2 (node kn3)");
    }

    fn assert_state(pod: Sight, expected: &str) {
        assert_eq!(format!("{:?}", pod.state), expected);
    }

    #[test]
    fn an_agent_is_in_the_state_of_its_container_and_says_why() {
        for [container, state] in rows(
            r#"
            {"waiting": {"reason": "ContainerCreating"}} | Waiting
            {"waiting": {"reason": "ErrImagePull", "message": "no such host\\n"}} | Broken("ErrImagePull: no such host")
            {"terminated": {"exitCode": 2, "message": "one\\nunknown flag\\nprony a 0 1\\n\\n"}} | Ended("it ended with exit code 2: unknown flag")
            {"terminated": {"exitCode": 137, "reason": "Error", "message": "rest of a message"}} | Ended("it was killed by signal 9")
            {"terminated": {"exitCode": 137, "reason": "OOMKilled"}} | Ended("it was killed because the node or its own limit had no more memory")
            "#,
        ) {
            let container = in_container(serde_json::from_str(container).unwrap());
            assert_state(sight(false, container), state);
        }
    }

    #[test]
    fn an_agent_is_in_the_state_of_its_pod_and_says_why() {
        for [status, state] in rows(
            r#"
            {} | Waiting
            {"phase": "Pending", "conditions": [{"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": "0/3 nodes are available"}]} | Unschedulable("0/3 nodes are available")
            {"phase": "Failed", "reason": "Evicted", "message": "low on memory"} | Ended("Kubernetes ended its pod: Evicted: low on memory")
            "#,
        ) {
            let status = serde_json::from_str(status).unwrap();
            assert_state(sight(false, status), state);
        }
    }

    #[test]
    fn a_pod_that_is_deleted_is_lost_although_it_still_runs() {
        let mut status = in_container(json!({ "running": {} }));
        let deleted = sight(true, status.clone());
        assert_state(deleted, r#"Ended("its pod is being deleted")"#);
        status["conditions"] = json!([{
            "type": "DisruptionTarget", "status": "True", "reason": "Taint", "message": "deleting due to NoExecute taint",
        }]);
        let expected = "Kubernetes ended its pod: Taint: deleting due to NoExecute taint";
        let drained = sight(true, status);
        assert_eq!(drained.state, State::Ended(expected.into()));
    }

    #[test]
    fn an_agent_whose_pod_is_gone_keeps_the_reason_why_it_ended() {
        let running = sight(false, in_container(json!({ "running": {} })));
        assert_state(running.deleted(), r#"Ended("its pod was deleted")"#);
        let oom = json!({ "terminated": { "exitCode": 137, "reason": "OOMKilled" } });
        let ended = sight(false, in_container(oom));
        assert_eq!(ended.clone().deleted(), ended);
    }

    #[test]
    fn a_pod_without_an_index_is_no_agent() {
        assert_eq!(
            Sight::of(&json!({ "metadata": { "name": "p", "uid": "u" } })),
            None
        );
    }
}
