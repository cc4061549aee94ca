//! The document that a suite grew from: its tables, filled with what was measured here, and how its order held.

mod document;
mod filled;
mod held;
mod measured;
pub mod tables;
pub mod words;

pub use document::{Document, DocumentRow, DocumentTable, Held};
pub use measured::Measured;
