//! The integration tests of this crate, in one program.

mod common;
mod connections;
mod few_descriptors;
mod http2;
mod scripted;
mod tls;
mod work;
mod workloads;
