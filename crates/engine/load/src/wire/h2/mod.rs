//! HTTP/2 (RFC 9113) on the client's side, as a [`Wire`](super::Wire) of many streams.
//!
//! A [`FrameReader`] splits the bytes of a connection. A connection turns its frames into responses and sends by itself
//! what the protocol needs.

mod connection;
mod flow;
mod frame;
mod head_encoder;
mod header_block;
mod malformed;
mod meaning;
mod outgoing;
mod receive;
mod request;
mod response;
mod settings;
mod short_bodies;
mod streams;
#[cfg(test)]
mod tests;
mod wire;

pub use frame::FrameReader;
pub use malformed::{MAX_BLOCK, Malformed};
pub use prony_http::{ErrorCode, Frame, Kind, MAX_FRAME, Setting, hpack};
pub use request::StreamRequest;
pub use wire::H2Wire;
