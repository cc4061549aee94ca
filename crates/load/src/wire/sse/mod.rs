//! Server-sent events: the event stream of WHATWG HTML, section 9.2, read as it comes in.
//!
//! [`EventStream`] reads the events themselves, for looking at. [`EventCounter`] only counts them, at a
//! cost that a load can bear.

mod event_counter;
mod event_stream;

pub use event_counter::EventCounter;
pub use event_stream::{Event, EventStream, SseError, SseLimits};
