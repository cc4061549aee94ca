//! Starts the agents of a fleet as a Job of Kubernetes.
//!
//! [`Kubernetes`] is a launcher: it creates one Indexed Job, waits until a pod of it runs on as many nodes, attaches to
//! each, and deletes the Job at the end. It needs few rights: `packaging/kubernetes/role.yaml`.
#![forbid(unsafe_code)]

mod attachment;
mod cluster;
mod job;
mod launcher;
mod lines;
mod placement;
mod pod;
mod settings;

pub use launcher::Kubernetes;
pub use settings::{PullPolicy, Resources, Settings, Toleration};
