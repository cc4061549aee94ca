//! The live screens in a terminal: a load while it runs, and a run as its trials end.
#![forbid(unsafe_code)]

mod run_screen;
mod session;

pub use run_screen::{
    CellId, Column, FigureUnit, Interval, Left, Now, Readiness, RoundState, RunAction, RunModel,
    RunNote, RunNoteKind, RunScreen, RunUpdate,
};
pub use session::{Input, Session};
