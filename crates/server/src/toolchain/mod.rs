//! Toolchains: which there are, which of them are here, and how the others are got.

mod ask;
mod candidates;
mod doctor;
mod found;
mod make;
mod need;
mod packages;
mod path;
mod source;
mod table;
mod tool;
mod toolbox;
mod version;

pub use doctor::{Doctor, ToolReport, ToolState};
pub use found::Found;
pub(crate) use found::environment;
pub use make::ProvideError;
pub use need::{Need, NeedError};
pub use packages::PackageManager;
pub use packages::Packages;
pub use source::Source;
pub use table::{Part, TOOLCHAINS, Toolchain};
pub use tool::{Program, Tool};
pub use toolbox::{Availability, Missing, Toolbox};
pub use version::Version;
