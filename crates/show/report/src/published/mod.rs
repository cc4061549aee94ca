//! The document that a suite repeats: a run that somebody else measured, beside the one that was measured here, and whether
//! its order held.

mod concordance;
mod document;
mod measured;
mod row;
pub(crate) mod tables;
pub(crate) mod words;

pub use concordance::{Concordance, ReversedPair};
pub use document::{Document, DocumentTable};
pub use measured::Measured;
pub use row::{DocumentRow, RowFigures};
