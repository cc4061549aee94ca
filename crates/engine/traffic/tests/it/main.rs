//! The integration tests of this crate, in one program.

mod import;
mod protobuf;
mod users;
