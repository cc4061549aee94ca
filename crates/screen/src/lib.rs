//! The live screens in a terminal: a load while it runs, and a run as its trials end.
#![forbid(unsafe_code)]

mod backend;
mod help;
mod load_screen;
mod run_screen;
mod screen;
mod session;
mod style;
#[cfg(test)]
mod tests;

pub use load_screen::{LoadModel, LoadOutline, LoadScreen, LoadUpdate, ServerUse};
pub use run_screen::{
    AttemptCounts, CellId, Column, FigureUnit, Left, Now, Readiness, RoundState, RunModel,
    RunNoteKind, RunScreen, ServerState,
};
pub use screen::{Action, Screen, View};
pub use session::{Input, Session};
