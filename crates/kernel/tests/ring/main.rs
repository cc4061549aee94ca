//! The ring against real sockets: what is sent arrives, what arrives is told, and nothing that is closed is ever heard of.

mod closing;
mod connecting;
mod driver;
mod dropping;
mod exchanging;
mod skipping;
mod starving;
mod waiting;
