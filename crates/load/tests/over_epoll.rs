//! The engine's behaviour over epoll.

mod behaviour;

use prony_load::EventLoopChoice;

const EVENT_LOOP: EventLoopChoice = EventLoopChoice::Epoll;
/// What the record says then.
const RAN: &str = "epoll";
