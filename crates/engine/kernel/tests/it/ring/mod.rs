//! The ring against real sockets: sent bytes arrive, received bytes are reported, and closed slots stay silent.

mod closing;
mod connecting;
mod driver;
mod dropping;
mod exchanging;
mod skipping;
mod starving;
mod waiting;
