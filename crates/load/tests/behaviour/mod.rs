//! How the engine behaves, whichever event loop it runs.

mod closing;
mod engine;
mod hostile;
mod open_loop;
mod plans;
mod sampling;
mod scripted;
mod shapes;
mod timeline;
