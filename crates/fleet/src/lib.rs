//! The same load from many hosts.
//!
//! A [`Fleet`] starts agents through a [`Launcher`], divides a load among them, starts all parts at one instant, and
//! merges their results exactly. If an agent is lost, the load is invalid, and nothing of it is reported.
#![forbid(unsafe_code)]

pub mod agent;
mod clock;
mod coordinator;
mod error;
mod fleet;
mod frame;
mod launcher;
mod limits;
mod message;

use std::sync::{Mutex, MutexGuard, PoisonError};

pub use error::{AgentName, FleetError};
pub use fleet::{Fleet, LONGEST_LOAD, longest};
pub use frame::{FrameError, Framer, Frames, Line, is_fleet_id};
pub use launcher::{
    Event, Kubernetes, Launch, LaunchError, Launcher, Local, Processes, Slurm, Ssh, SshSettings,
};
pub use limits::{Limits, SilentAgent};
pub use message::{AgentMessage, FleetMessage, Host, VERSION};

/// Locks a value, although a thread that had it may have panicked.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
