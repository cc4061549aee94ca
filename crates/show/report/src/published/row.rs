//! The rows of a document's table.

use std::collections::BTreeMap;

use prony_model::PublishedFigure;
use prony_present::table::Flag;

use super::measured::{Aggregation, Measured, about};

pub type RowFigures = BTreeMap<PublishedFigure, Measured>;

/// One of its rows: a run that somebody else measured, and one that was measured here.
#[derive(Clone, Debug)]
pub struct DocumentRow {
    /// The document's name for it; the server's id if the document does not have it.
    pub name: String,
    /// The server's id.
    pub server: String,
    /// The server's language and framework; empty if unknown.
    pub(crate) made_with: String,
    pub workload: String,
    pub(crate) in_document: bool,
    /// Whether it is a reference server.
    pub(crate) is_reference: bool,
    pub published: RowFigures,
    pub measured: RowFigures,
    /// Why nothing was measured, in a word or two; `None` if something was.
    pub absent: Option<&'static str>,
    /// Flags: what the reader must know about it, a few words each.
    pub flags: Vec<Flag>,
}

/// Whether rows are of more than one workload.
pub(super) fn have_workloads(rows: &[DocumentRow]) -> bool {
    rows.windows(2)
        .any(|pair| pair[0].workload != pair[1].workload)
}

/// Whether a figure depends on the workload, and the rows have several.
pub(super) fn is_by_workload(rows: &[DocumentRow], figure: PublishedFigure) -> bool {
    have_workloads(rows) && about(figure).aggregation != Aggregation::Build
}

/// The rows of the document that can be compared with each other: those of one workload.
pub(super) fn groups(rows: &[DocumentRow], figure: PublishedFigure) -> Vec<Vec<&DocumentRow>> {
    let is_by_workload = is_by_workload(rows, figure);
    let mut groups: Vec<Vec<&DocumentRow>> = Vec::new();
    for row in rows.iter().filter(|row| row.in_document) {
        let is_own =
            |group: &&mut Vec<&DocumentRow>| !is_by_workload || group[0].workload == row.workload;
        match groups.iter_mut().find(is_own) {
            Some(group) => group.push(row),
            None => groups.push(vec![row]),
        }
    }
    groups
}
