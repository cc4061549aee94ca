//! The integration tests of this crate, in one program.

mod sample;
mod serve;
mod site;
