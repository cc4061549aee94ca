//! What the status of a pod says about its agent.

use k8s_openapi::api::core::v1::{ContainerState, ContainerStateTerminated, Pod, PodCondition};

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
pub struct Sight {
    /// Its index.
    pub agent: usize,
    /// The pod's unique id: another one for the same index is another process.
    pub uid: String,
    /// The pod's name.
    pub pod: String,
    /// The node, once it has one.
    pub node: Option<String>,
    /// How it is.
    pub state: State,
}

/// How an agent is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum State {
    /// It has not started yet.
    Waiting,
    /// The scheduler finds no node for it, and says why.
    Unschedulable(String),
    /// It cannot start, and why.
    Broken(String),
    /// It runs.
    Running,
    /// It has ended or is about to, and why.
    Ended(String),
}

impl Sight {
    /// What a pod shows; `None` if it is no pod of an Indexed Job.
    pub fn of(pod: &Pod) -> Option<Self> {
        let metadata = &pod.metadata;
        let in_maps = [&metadata.annotations, &metadata.labels];
        let index = in_maps
            .into_iter()
            .flatten()
            .find_map(|map| map.get(INDEX))?;
        let node = pod.spec.as_ref().and_then(|spec| spec.node_name.clone());
        Some(Self {
            agent: index.parse().ok()?,
            uid: metadata.uid.clone()?,
            pod: metadata.name.clone()?,
            node,
            state: state(pod),
        })
    }

    /// The agent with its node: `agent 2 (node kn3)`.
    pub fn name(&self) -> String {
        match &self.node {
            Some(node) => format!("agent {} (node {node})", self.agent),
            None => format!("agent {}", self.agent),
        }
    }
}

fn state(pod: &Pod) -> State {
    let Some(status) = &pod.status else {
        return State::Waiting;
    };
    let container = status.container_statuses.iter().flatten().next();
    let container = container.and_then(|container| container.state.as_ref());
    let terminated = container.and_then(|state| state.terminated.as_ref());
    let disrupted = condition(pod, "DisruptionTarget", "True").map(in_words);
    let phase = status.phase.as_deref().unwrap_or_default();
    if terminated.is_some() || matches!(phase, "Failed" | "Succeeded") {
        // Why Kubernetes ended it tells more than the signal with which it did.
        let evicted = status.reason.as_ref().map(|reason| {
            let message = status.message.as_deref().unwrap_or_default();
            join(&format!("Kubernetes ended its pod: {reason}"), message)
        });
        let reason = disrupted.or(evicted).or(terminated.map(exit));
        return State::Ended(reason.unwrap_or_else(|| "its pod ended".into()));
    }
    if pod.metadata.deletion_timestamp.is_some() {
        return State::Ended(disrupted.unwrap_or_else(|| "its pod is being deleted".into()));
    }
    if let Some(condition) = condition(pod, "PodScheduled", "False")
        && condition.reason.as_deref() == Some("Unschedulable")
    {
        return State::Unschedulable(condition.message.clone().unwrap_or_default());
    }
    container.map_or(State::Waiting, started)
}

fn started(container: &ContainerState) -> State {
    if container.running.is_some() {
        return State::Running;
    }
    let waiting = container.waiting.as_ref();
    let reason = waiting.and_then(|waiting| waiting.reason.as_deref());
    match reason.filter(|reason| BROKEN.contains(reason)) {
        Some(reason) => {
            let message = waiting.and_then(|waiting| waiting.message.as_deref());
            State::Broken(join(reason, message.unwrap_or_default()))
        }
        None => State::Waiting,
    }
}

fn condition<'a>(pod: &'a Pod, kind: &str, status: &str) -> Option<&'a PodCondition> {
    let conditions = pod.status.as_ref()?.conditions.as_ref()?;
    conditions
        .iter()
        .find(|one| one.type_ == kind && one.status == status)
}

fn in_words(condition: &PodCondition) -> String {
    let reason = condition.reason.as_deref().unwrap_or("disruption");
    let message = condition.message.as_deref().unwrap_or_default();
    join(&format!("Kubernetes ended its pod: {reason}"), message)
}

fn exit(container: &ContainerStateTerminated) -> String {
    match (container.reason.as_deref(), container.exit_code) {
        (Some("OOMKilled"), _) => {
            "it was killed because the node or its own limit had no more memory".into()
        }
        (_, code @ 129..) => format!("it was killed by signal {}", code - 128),
        (_, code) => {
            // The last lines of its output, where an error comes last. A message to the fleet tells a user nothing.
            let lines = container.message.iter().flat_map(|text| text.lines());
            let said = |line: &&str| !line.trim().is_empty() && !line.starts_with("prony ");
            let last = lines.rev().find(said).unwrap_or_default();
            join(&format!("it ended with exit code {code}"), last)
        }
    }
}

/// `first: second`, on one line.
fn join(first: &str, second: &str) -> String {
    let second = second.split_whitespace().collect::<Vec<_>>().join(" ");
    match second.is_empty() {
        true => first.to_owned(),
        false => format!("{first}: {second}"),
    }
}

#[cfg(test)]
mod tests {
    use prony_testkit::table::rows;
    use serde_json::{Value, json};

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
        Sight::of(&serde_json::from_value(pod).unwrap()).unwrap()
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
    fn a_pod_without_an_index_is_no_agent() {
        assert_eq!(Sight::of(&Pod::default()), None);
    }
}
