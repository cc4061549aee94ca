//! What a user may say about the agents' Job, once for a project.

use std::collections::BTreeMap;
use std::time::Duration;

use prony_manifest::fields;
use serde::{Deserialize, Serialize};

/// Starts one agent a node: the table `[fleet.kubernetes]` of `prony.toml`.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Kubernetes {
    /// The context of the kubeconfig. By default the current one, or inside a pod the pod's own cluster.
    pub context: Option<String>,
    /// The namespace of the Job. By default that of the context.
    pub(crate) namespace: Option<String>,
    /// The image with `/prony-agent`. There is no default.
    pub(crate) image: Option<String>,
    /// When nodes pull the image. By default Kubernetes decides.
    pub(crate) image_pull_policy: Option<PullPolicy>,
    /// The names of the secrets for the image's registry.
    pub(crate) image_pull_secrets: Vec<String>,
    /// Labels that a node must have.
    pub(crate) node_selector: BTreeMap<String, String>,
    /// Taints of nodes that keep no agent away.
    pub(crate) tolerations: Vec<Toleration>,
    /// What is reserved for an agent. By default one CPU and 128 MiB.
    pub requests: Resources,
    /// What an agent gets at most. By default as much as the node has.
    pub limits: Resources,
    /// Whether agents use the node's own network, without the cluster's overlay.
    pub(crate) host_network: bool,
    /// Additional labels of the Job and its pods.
    pub labels: BTreeMap<String, String>,
    /// How long agents may take to start, for instance to pull the image.
    #[serde(deserialize_with = "fields::some_duration")]
    pub placement_timeout: Duration,
    /// How long to wait for nodes if the scheduler says that there are too few: longer if the cluster adds some then.
    #[serde(deserialize_with = "fields::duration")]
    pub(crate) unschedulable_timeout: Duration,
    /// When Kubernetes ends the Job if Prony could not.
    #[serde(deserialize_with = "fields::some_duration")]
    pub deadline: Duration,
}

impl Default for Kubernetes {
    fn default() -> Self {
        Self {
            context: None,
            namespace: None,
            image: None,
            image_pull_policy: None,
            image_pull_secrets: Vec::new(),
            node_selector: BTreeMap::new(),
            tolerations: Vec::new(),
            requests: Resources {
                cpu: Some("1".into()),
                memory: Some("128Mi".into()),
            },
            limits: Resources::default(),
            host_network: false,
            labels: BTreeMap::new(),
            placement_timeout: Duration::from_secs(120),
            unschedulable_timeout: Duration::from_secs(5),
            deadline: Duration::from_secs(6 * 3600),
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum PullPolicy {
    Always,
    /// If the node does not have it.
    IfNotPresent,
    /// Never: the node has it.
    Never,
}

/// CPUs and memory, as Kubernetes writes them: `500m`, `2`, `256Mi`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Resources {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cpu: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub memory: Option<String>,
}

/// A taint of nodes that keeps no agent away, as in a pod's specification.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Toleration {
    /// The taint's key. All taints without one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
    /// `Exists`, or `Equal` (by default).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) operator: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub value: Option<String>,
    /// The taint's effect, such as `NoSchedule`. All effects without one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) effect: Option<String>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_empty_table_has_the_defaults() {
        let settings: Kubernetes = serde_json::from_str("{}").unwrap();
        assert_eq!(settings, Kubernetes::default());
    }

    #[test]
    fn every_field_can_be_set() {
        let text = r#"{
            "context": "staging",
            "namespace": "load",
            "image": "registry.example.com/prony-agent:1",
            "image_pull_policy": "IfNotPresent",
            "image_pull_secrets": ["registry"],
            "node_selector": { "pool": "load" },
            "tolerations": [{ "key": "load", "operator": "Exists", "effect": "NoSchedule" }],
            "requests": { "cpu": "4" },
            "limits": { "memory": "1Gi" },
            "host_network": true,
            "labels": { "team": "web" },
            "placement_timeout": "5m",
            "unschedulable_timeout": "0s",
            "deadline": "1h"
        }"#;
        let settings: Kubernetes = serde_json::from_str(text).unwrap();
        let expected = Kubernetes {
            context: Some("staging".into()),
            namespace: Some("load".into()),
            image: Some("registry.example.com/prony-agent:1".into()),
            image_pull_policy: Some(PullPolicy::IfNotPresent),
            image_pull_secrets: vec!["registry".into()],
            node_selector: [("pool".into(), "load".into())].into(),
            tolerations: vec![Toleration {
                key: Some("load".into()),
                operator: Some("Exists".into()),
                value: None,
                effect: Some("NoSchedule".into()),
            }],
            requests: Resources {
                cpu: Some("4".into()),
                memory: None,
            },
            limits: Resources {
                cpu: None,
                memory: Some("1Gi".into()),
            },
            host_network: true,
            labels: [("team".into(), "web".into())].into(),
            placement_timeout: Duration::from_secs(300),
            unschedulable_timeout: Duration::ZERO,
            deadline: Duration::from_secs(3600),
        };
        assert_eq!(settings, expected);
    }

    #[test]
    fn a_field_that_does_not_exist_is_named() {
        let error = serde_json::from_str::<Kubernetes>(r#"{"imgae": "a"}"#).unwrap_err();
        assert!(error.to_string().contains("imgae"), "{error}");
    }
}
