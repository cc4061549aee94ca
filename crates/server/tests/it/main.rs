//! The integration tests of this crate, in one program.

mod build;
mod server;
mod stale;
mod supervisor;
mod support;
mod toolbox;
