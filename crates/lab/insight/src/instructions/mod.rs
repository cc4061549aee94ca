//! User-space instructions of a running program, counted by an emulator: valgrind's tool callgrind.
//!
//! [`Emulator`] finds valgrind and wraps a program's command. While the program runs, [`Control`] switches the counting on and
//! off in each of its processes and has the counts written. [`profile`] reads these files; it does no I/O.

mod control;
mod emulator;
mod messages;
pub mod names;
pub mod profile;

pub use control::{Control, ControlError};
pub use emulator::{Emulator, EmulatorError, NODE_OPTIONS, SETTINGS};
pub use messages::Messages;
pub use profile::{Function, InstructionCount, ProfileError};
