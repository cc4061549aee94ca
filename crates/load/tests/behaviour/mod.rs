//! How the engine behaves, whichever event loop it runs.

mod batches;
mod bounds;
mod closing;
mod engine;
mod excess;
mod flows;
mod h2_frames;
mod hostile;
mod lost_room;
mod open_loop;
mod overtime;
mod parts;
mod parts_of;
pub mod plans;
mod sampling;
mod scenarios;
pub mod scripted;
mod several_in_flight;
mod shapes;
mod slow_accept;
mod sockets;
mod stream_limit;
mod stream_reset;
mod timeline;
mod unprocessed;
