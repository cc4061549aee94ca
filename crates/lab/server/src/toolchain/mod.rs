//! Toolchains: which are known, which are installed, and how to install the others.

mod doctor;
mod found;
mod install;
mod need;
mod programs;
mod table;
mod toolbox;

pub use doctor::{Doctor, ToolReport, ToolState};
pub use found::Found;
pub(crate) use found::environment;
pub use install::ProvideError;
pub use need::{Need, NeedError, Version};
pub use table::{Installer, PackageManager, PackageSource, Part, Toolchain, install_line};
pub use toolbox::{Availability, Missing, Toolbox};
