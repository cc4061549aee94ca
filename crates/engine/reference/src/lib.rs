//! The built-in reference server: a correct server for HTTP/1.1, HTTP/2 and gRPC that does the least possible work.
//!
//! It shows the most that a machine can do, the ceiling to which other servers are compared. It runs one thread per CPU,
//! each with its own listener on the shared port, its own epoll and its own buffers: the threads share nothing that
//! changes, and a request in the steady state allocates nothing.
//!
//! It follows the contract of a server: `HOST`, `PORT`, `CPUS` and `ASSETS` come from the environment, and it serves every
//! workload. With `TLS_CERT` and `TLS_KEY` it speaks TLS only. Whether a connection is in HTTP/1.1 or HTTP/2 follows from
//! its first bytes. The [`ScriptedServer`] is a slow one whose true latencies are known.
#![forbid(unsafe_code)]

mod config;
mod connection;
mod date;
mod error;
mod framing;
mod grpc;
mod http1;
mod http2;
mod output;
mod responses;
mod route;
pub mod script;
mod scripted;
mod server;
mod shared;
mod tls;
mod worker;

pub use config::{Config, TlsFiles, Work};
pub use error::ReferenceError;
pub use scripted::{Responded, ScriptedServer};
pub use server::{Server, serve};
