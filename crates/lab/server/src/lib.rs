//! A server under test: its manifest, toolchain, build, process, readiness, costs and end.
//!
//! This crate does not depend on loads or suites. The caller provides a probe that checks the responses.
#![forbid(unsafe_code)]

mod build;
mod certificate;
mod layout;
mod listening;
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
pub use certificate::{Certificate, CertificateError};
pub use layout::{Collection, Layout, LayoutError, PROJECT_FILE};
pub use listening::{ListeningServer, NotListening};
pub use logs::{Logs, tail, with_short_lines};
pub use manifest::{
    CertificateTrust, Class, ClientCertificate, Described, Input, MANIFEST_FILE, Manifest, Outside,
    Pattern, Placeholder, Recipe, ServerTable, ServerUrl, TlsOptions, VersionSource, Word,
};
pub use port::{free_port, says_address_in_use};
pub use readiness::{BringUpError, Next, NotReady, Patience, Probe, Ready, bring_up, wait_ready};
pub use running::{Launch, ProgramOptions, RunningServer, StartError, Wrapper, WrapperVariable};
pub use sampling::{OutsideMeter, ProcessTree, Sampled, Sampler, TreeUsage, Unmeasured};
pub use server::{BrokenServer, Catalogue, Origin, SelectError, Server, ServerError, Started};
pub use supervisor::{
    CommandError, Exit, SpawnError, Supervised, SupervisorProgram, Task, run_if_asked,
};
pub use toolchain::{
    Availability, Doctor, Found, Installer, Missing, Need, NeedError, PackageManager,
    PackageSource, Part, ProvideError, ToolReport, ToolState, Toolbox, Toolchain, Version,
    install_line,
};
