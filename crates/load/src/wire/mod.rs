//! Sans-IO wires: a wire eats bytes and says what came of them. It never touches a socket.

pub mod h1;
pub mod sse;
