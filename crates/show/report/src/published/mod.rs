//! The document that a suite repeats: a run that somebody else measured, beside the one that was measured here, and whether
//! its order held.

mod concordance;
mod document;
mod measured;
pub mod tables;
pub mod words;

pub use concordance::{Concordance, ReversedPair};
pub use document::{Document, DocumentRow, DocumentTable, RowFigures};
pub use measured::Measured;
