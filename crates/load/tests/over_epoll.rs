//! The engine's behaviour over epoll.

mod behaviour;

use prony_load::EventLoopChoice;

const EVENT_LOOP: EventLoopChoice = EventLoopChoice::Epoll;
/// The event loop in the result.
const RAN: &str = "epoll";
