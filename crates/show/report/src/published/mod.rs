//! The document that a suite repeats: its tables, filled with what was measured here, and whether its order held.

mod concordance;
mod document;
mod filled;
mod measured;
pub mod tables;
pub mod words;

pub use document::{Concordance, Document, DocumentRow, DocumentTable, ReversedPair};
pub use measured::Measured;
