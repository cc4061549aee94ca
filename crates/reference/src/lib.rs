//! The built-in reference server: the least work that still responds HTTP/1.1 right.
//!
//! It shows what a machine can do at all, so that every other server's figures have a ceiling to
//! be read against. One thread a CPU, each with its own listener on the shared port, its own
//! epoll and its own buffers: the threads share nothing that changes, and a request in the steady
//! state allocates nothing.
//!
//! It follows the contract of a server: `HOST`, `PORT`, `CPUS` and `ASSETS` come from the
//! environment, and it serves every HTTP workload.
#![forbid(unsafe_code)]

mod chunked;
mod config;
mod connection;
mod date;
mod error;
mod framing;
mod output;
mod responses;
mod route;
pub mod script;
mod scripted;
mod server;
mod work;
mod worker;

pub use config::Config;
pub use error::ReferenceError;
pub use scripted::{Responded, ScriptedServer};
pub use server::{Server, serve};
pub use work::Work;
