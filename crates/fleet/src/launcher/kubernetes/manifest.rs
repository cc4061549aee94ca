//! The Job as it is sent to Kubernetes.

use std::time::Duration;

use serde_json::{Value, json};

use super::settings::Kubernetes;

/// The container of the agent in each pod.
pub(super) const CONTAINER: &str = "agent";
/// No user of the host.
const USER: u32 = 65532;
/// How long the Job stays after its end, if Prony could not delete it.
const KEPT: Duration = Duration::from_secs(60);
/// How long an agent may take to end when its pod is deleted.
const GRACE: Duration = Duration::from_secs(2);

pub(super) fn name(fleet: &str) -> String {
    format!("prony-{fleet}")
}

/// The selector of the pods of a fleet's Job. Kubernetes sets the label itself.
pub(super) fn selector(fleet: &str) -> String {
    format!("batch.kubernetes.io/job-name={}", name(fleet))
}

/// The Job of a fleet, as `kubectl create` takes it.
pub(super) fn manifest(settings: &Kubernetes, image: &str, fleet: &str, agents: usize) -> Value {
    let mut labels = settings.labels.clone();
    labels.insert("app.kubernetes.io/managed-by".into(), "prony".into());
    labels.insert("app.kubernetes.io/name".into(), "prony-agent".into());
    labels.insert("app.kubernetes.io/instance".into(), name(fleet));
    json!({
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": { "name": name(fleet), "labels": labels },
        "spec": {
            "completionMode": "Indexed",
            "completions": agents,
            "parallelism": agents,
            // A load with a restarted agent is not the load that was to be measured.
            "backoffLimit": 0,
            "podFailurePolicy": { "rules": [
                { "action": "FailJob", "onPodConditions": [{ "type": "DisruptionTarget", "status": "True" }] },
                { "action": "FailJob", "onExitCodes": { "operator": "NotIn", "values": [0] } },
            ] },
            "activeDeadlineSeconds": settings.deadline.as_secs().max(1),
            "ttlSecondsAfterFinished": KEPT.as_secs(),
            "template": {
                "metadata": { "labels": labels },
                "spec": pod(settings, image, fleet),
            },
        },
    })
}

fn pod(settings: &Kubernetes, image: &str, fleet: &str) -> Value {
    let same = json!({ "matchLabels": { "app.kubernetes.io/instance": name(fleet) } });
    let secrets = settings.image_pull_secrets.iter();
    json!({
        "restartPolicy": "Never",
        "automountServiceAccountToken": false,
        "enableServiceLinks": false,
        "hostNetwork": settings.host_network,
        "terminationGracePeriodSeconds": GRACE.as_secs(),
        "imagePullSecrets": secrets.map(|name| json!({ "name": name })).collect::<Vec<_>>(),
        "nodeSelector": settings.node_selector,
        "tolerations": tolerations(settings),
        "topologySpreadConstraints": [{
            "maxSkew": 1,
            "topologyKey": "kubernetes.io/hostname",
            "whenUnsatisfiable": "DoNotSchedule",
            "labelSelector": same,
        }],
        // The spread alone would put two agents on a node when each has one.
        "affinity": { "podAntiAffinity": { "requiredDuringSchedulingIgnoredDuringExecution": [{
            "topologyKey": "kubernetes.io/hostname",
            "labelSelector": same,
        }] } },
        "securityContext": {
            "runAsNonRoot": true,
            "runAsUser": USER,
            "runAsGroup": USER,
            "seccompProfile": { "type": "RuntimeDefault" },
        },
        "containers": [container(settings, image, fleet)],
    })
}

fn container(settings: &Kubernetes, image: &str, fleet: &str) -> Value {
    json!({
        "name": CONTAINER,
        "image": image,
        "imagePullPolicy": settings.image_pull_policy,
        // The index comes from JOB_COMPLETION_INDEX, which Kubernetes sets.
        "command": ["/prony-agent", "--fleet", fleet],
        "env": [{ "name": "PRONY_NODE", "valueFrom": { "fieldRef": { "fieldPath": "spec.nodeName" } } }],
        "stdin": true,
        // Its standard input ends with the connection, and an agent ends with its standard input.
        "stdinOnce": true,
        "resources": { "requests": settings.requests, "limits": settings.limits },
        // The last lines of an agent that fails are in its pod's status.
        "terminationMessagePolicy": "FallbackToLogsOnError",
        "securityContext": {
            "allowPrivilegeEscalation": false,
            "readOnlyRootFilesystem": true,
            "capabilities": { "drop": ["ALL"] },
        },
    })
}

/// Those of the user, and none for a node that is cut off: its agents are lost at once.
fn tolerations(settings: &Kubernetes) -> Vec<Value> {
    let cut_off = ["unreachable", "not-ready"].map(|taint| {
        json!({
            "key": format!("node.kubernetes.io/{taint}"),
            "operator": "Exists",
            "effect": "NoExecute",
            "tolerationSeconds": 0,
        })
    });
    let own = settings.tolerations.iter().map(|one| json!(one));
    own.chain(cut_off).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::launcher::kubernetes::settings::{PullPolicy, Toleration};

    fn job(settings: &Kubernetes) -> Value {
        manifest(settings, "example/agent:1", "abc", 12)
    }

    #[test]
    fn twelve_agents_are_twelve_indices_at_once_that_are_never_restarted() {
        let job = job(&Kubernetes::default());
        let spec = &job["spec"];
        assert_eq!(job["metadata"]["name"], "prony-abc");
        assert_eq!(spec["completionMode"], "Indexed");
        assert_eq!(
            (&spec["completions"], &spec["parallelism"]),
            (&json!(12), &json!(12))
        );
        assert_eq!(spec["backoffLimit"], 0);
        assert_eq!(spec["template"]["spec"]["restartPolicy"], "Never");
        assert_eq!(spec["activeDeadlineSeconds"], 6 * 3600);
        assert_eq!(spec["ttlSecondsAfterFinished"], 60);
    }

    #[test]
    fn no_two_agents_share_a_node() {
        let pod = job(&Kubernetes::default())["spec"]["template"].clone();
        let spread = &pod["spec"]["topologySpreadConstraints"][0];
        let apart = &pod["spec"]["affinity"]["podAntiAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]
            [0];
        for rule in [spread, apart] {
            assert_eq!(rule["topologyKey"], "kubernetes.io/hostname");
            for (label, value) in rule["labelSelector"]["matchLabels"].as_object().unwrap() {
                assert_eq!(&pod["metadata"]["labels"][label], value);
            }
        }
        assert_eq!(spread["whenUnsatisfiable"], "DoNotSchedule");
    }

    #[test]
    fn an_agent_has_no_token_and_no_privileges() {
        let pod = job(&Kubernetes::default())["spec"]["template"]["spec"].clone();
        assert_eq!(pod["automountServiceAccountToken"], false);
        assert_eq!(pod["securityContext"]["runAsNonRoot"], true);
        let container = &pod["containers"][0]["securityContext"];
        assert_eq!(container["allowPrivilegeEscalation"], false);
        assert_eq!(container["readOnlyRootFilesystem"], true);
        assert_eq!(container["capabilities"]["drop"], json!(["ALL"]));
    }

    #[test]
    fn what_the_user_set_is_in_the_job() {
        let settings = Kubernetes {
            image_pull_policy: Some(PullPolicy::Never),
            image_pull_secrets: vec!["registry".into()],
            node_selector: [("pool".into(), "load".into())].into(),
            tolerations: vec![Toleration {
                key: Some("load".into()),
                operator: None,
                value: Some("yes".into()),
                effect: None,
            }],
            host_network: true,
            // Prony's own labels win: the selectors need them.
            labels: [
                ("team".into(), "web".into()),
                ("app.kubernetes.io/instance".into(), "mine".into()),
            ]
            .into(),
            deadline: Duration::from_millis(1),
            ..Kubernetes::default()
        };
        let job = job(&settings);
        let template = &job["spec"]["template"];
        let pod = &template["spec"];
        assert_eq!(pod["containers"][0]["imagePullPolicy"], "Never");
        assert_eq!(pod["containers"][0]["image"], "example/agent:1");
        assert_eq!(pod["imagePullSecrets"], json!([{ "name": "registry" }]));
        assert_eq!(pod["nodeSelector"], json!({ "pool": "load" }));
        assert_eq!(
            pod["tolerations"][0],
            json!({ "key": "load", "value": "yes" })
        );
        assert_eq!(pod["hostNetwork"], true);
        assert_eq!(template["metadata"]["labels"]["team"], "web");
        assert_eq!(
            template["metadata"]["labels"]["app.kubernetes.io/instance"],
            "prony-abc"
        );
        assert_eq!(job["spec"]["activeDeadlineSeconds"], 1);
    }
}
