//! The engine's behaviour over io_uring.

mod behaviour;

use prony_load::EventLoopChoice;

const EVENT_LOOP: EventLoopChoice = EventLoopChoice::IoUring;
/// The event loop in the result.
const RAN: &str = "io_uring";
