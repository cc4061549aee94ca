//! What a server does during a load: where its CPU time and its waiting time go ([`profile`]), which system calls it makes
//! ([`trace`]), and how many instructions it executes ([`instructions`]).
#![forbid(unsafe_code)]

mod bounded;
pub mod instructions;
pub mod profile;
pub mod trace;
mod variable;

pub use variable::RuntimeVariable;
