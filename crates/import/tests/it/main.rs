//! The integration tests of this crate, in one program.

mod curl;
mod hostile;
mod recording;
