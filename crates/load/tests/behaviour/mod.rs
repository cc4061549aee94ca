//! How the engine behaves, whichever event loop it runs.

mod bounds;
mod closing;
mod engine;
mod hostile;
mod open_loop;
mod overtime;
mod plans;
mod scripted;
mod shapes;
mod sockets;
mod timeline;
