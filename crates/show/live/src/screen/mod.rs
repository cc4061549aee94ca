//! The live screens in a terminal: a load while it runs, and a run as its trials end.

mod backend;
mod help;
mod load_screen;
mod run_screen;
mod session;
mod style;
#[cfg(test)]
mod tests;
mod view;

pub use load_screen::{LoadModel, LoadOutline, LoadScreen, LoadUpdate, ServerUse};
pub use run_screen::{
    AttemptCounts, CellId, Column, FigureUnit, Left, Now, Readiness, RoundState, RunModel,
    RunNoteKind, RunScreen, ServerState,
};
pub use session::{Input, Session};
pub use view::{Action, Screen, View};
