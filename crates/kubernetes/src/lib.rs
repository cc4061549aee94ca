//! Starts the agents of a fleet as a Job of Kubernetes.
#![forbid(unsafe_code)]
