//! A server under test: its manifest and toolchain, its build, its process, when it is ready, what it
//! costs, and its end.
//!
//! This room knows nothing of loads or suites. Whoever starts a server gives a probe that says
//! whether a response is right.
#![forbid(unsafe_code)]

mod build;
mod layout;
mod logs;
mod manifest;
mod port;
mod readiness;
mod running;
mod sampling;
mod server;
mod sources;
mod supervisor;
mod toolchain;

pub use build::{BuildError, Built, Freshness, build};
pub use layout::{Layout, LayoutError};
pub use logs::{Logs, tail};
pub use manifest::{
    Class, Input, MANIFEST_FILE, Manifest, Pattern, Place, Variant, VersionSource, Wire, Word,
};
pub use port::{FreePorts, PortSource, says_address_in_use};
pub use readiness::{BringUpError, NotReady, Probe, Ready, bring_up, wait_ready};
pub use running::{Launch, RunningServer, StartError};
pub use sampling::{OutsideMeter, ProcessTree, Sampled, Sampler, TreeUsage};
pub use server::{BrokenServer, Catalogue, SelectError, Server, ServerError};
pub use supervisor::{
    Exit, RunError, SpawnError, Supervised, SupervisorProgram, Task, run_if_asked,
};
pub use toolchain::{
    Availability, Doctor, Found, Missing, Need, NeedError, PackageManager, Packages, Part, Program,
    ProvideError, Source, TOOLCHAINS, Tool, ToolReport, ToolState, Toolbox, Toolchain, Version,
};
