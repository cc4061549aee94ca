//! The document that a suite repeats: its tables, filled with what was measured here, and whether its order held.

mod document;
mod filled;
mod held;
mod measured;
pub mod tables;
pub mod words;

pub use document::{Document, DocumentRow, DocumentTable, Held, ReversedPair};
pub use measured::Measured;
