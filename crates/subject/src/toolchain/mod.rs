//! Toolchains: which there are, which of them are here, and how the others are got.

mod doctor;
mod make;
mod need;
mod packages;
mod path;
mod source;
mod table;
mod toolbox;
mod version;

pub use doctor::{Doctor, ToolReport, ToolState};
pub use make::ProvideError;
pub use need::{Need, NeedError};
pub use packages::PackageManager;
pub use packages::Packages;
pub use source::Source;
pub use table::{TOOLCHAINS, Toolchain};
pub(crate) use toolbox::search_path;
pub use toolbox::{Availability, Found, Missing, Toolbox};
pub use version::Version;
