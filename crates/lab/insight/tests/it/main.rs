//! The integration tests of this crate, in one program.

mod profile;
mod trace;
