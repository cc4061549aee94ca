//! How the engine behaves, whichever event loop it runs.

mod bounds;
mod closing;
mod engine;
mod excess;
mod hostile;
mod open_loop;
mod overtime;
pub mod plans;
mod sampling;
pub mod scripted;
mod shapes;
mod slow_accept;
pub mod slow_acceptor;
mod sockets;
mod timeline;
