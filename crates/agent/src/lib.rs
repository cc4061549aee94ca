//! An agent: generates one part of a fleet's load.
#![forbid(unsafe_code)]

mod rebuild;

pub use rebuild::AllKinds;
