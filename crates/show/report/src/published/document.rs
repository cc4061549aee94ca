//! The tables of a document, as published and as measured here.

use std::collections::BTreeMap;

use prony_model::{PublishedFigure, PublishedTable};
use prony_present::table::Flag;
use prony_stats::Known;

use super::measured::{self, Measured};

/// A document, and its tables with what was measured here.
#[derive(Clone, Debug)]
pub struct Document {
    /// Its title.
    pub name: String,
    /// The machine it was measured on.
    pub machine: String,
    /// The tool and the load it was measured with.
    pub method: String,
    /// Its tables.
    pub tables: Vec<DocumentTable>,
}

/// One of its tables.
#[derive(Clone, Debug)]
pub struct DocumentTable {
    /// Its number among the document's tables, from 1.
    pub number: usize,
    /// The table as it was published.
    pub source: PublishedTable,
    /// The rounds that were tried here, ascending.
    pub rounds: Vec<u32>,
    /// The document's rows in its order, then rows for servers that it does not have.
    pub rows: Vec<DocumentRow>,
    /// Whether the published order of the rows held, for each figure and workload.
    pub concordances: Vec<Concordance>,
}

/// One of its rows.
#[derive(Clone, Debug)]
pub struct DocumentRow {
    /// The document's name for it; the server's id if the document does not have it.
    pub name: String,
    /// The server's id.
    pub server: String,
    /// The server's language and framework; empty if unknown.
    pub made_with: String,
    /// The workload.
    pub workload: String,
    /// Whether the document has this row.
    pub in_document: bool,
    /// Whether it is a reference server.
    pub is_reference: bool,
    /// What was published.
    pub published: BTreeMap<PublishedFigure, Vec<f64>>,
    /// What was measured here.
    pub measured: BTreeMap<PublishedFigure, Measured>,
    /// Why nothing was measured, in a word or two; `None` if something was.
    pub absent: Option<&'static str>,
    /// What each measured figure says about the server: some are lower bounds, or invalid because the
    /// rate was not reached or responses were wrong.
    pub known: BTreeMap<PublishedFigure, Known>,
    /// Flags: what the reader must know about it, a few words each.
    pub flags: Vec<Flag>,
}

/// Whether the published order of one figure held on one workload. Every pair of rows whose published figures differ counts once.
#[derive(Clone, Debug, PartialEq)]
pub struct Concordance {
    /// The figure.
    pub figure: PublishedFigure,
    /// The workload; `None` for a figure that does not depend on it, and in a table of one workload.
    pub workload: Option<String>,
    /// The number of pairs in the published order.
    pub in_order: usize,
    /// The pairs in the opposite order.
    pub reversed: Vec<ReversedPair>,
    /// The number of pairs that cannot be told apart here.
    pub open: usize,
    /// The number of pairs with a row that was not measured.
    pub not_measured: usize,
}

/// The names of two rows.
#[derive(Clone, Debug, PartialEq)]
pub struct ReversedPair {
    /// The one that is better here.
    pub better_here: String,
    /// The one that is better in the document.
    pub better_there: String,
}

impl Concordance {
    /// The number of pairs that were measured.
    pub fn pairs(&self) -> usize {
        self.in_order + self.reversed.len() + self.open
    }
}

impl DocumentTable {
    /// Whether its rows are of more than one workload, so that each must name its own.
    pub fn has_workloads(&self) -> bool {
        self.rows
            .windows(2)
            .any(|pair| pair[0].workload != pair[1].workload)
    }

    /// Its workloads, in the order of the rows.
    pub fn workloads(&self) -> Vec<&str> {
        let mut workloads: Vec<&str> = Vec::new();
        for row in &self.rows {
            if !workloads.contains(&row.workload.as_str()) {
                workloads.push(&row.workload);
            }
        }
        workloads
    }

    /// The published value of a row's figure, summarized over its rounds.
    pub fn published(&self, row: &DocumentRow, figure: PublishedFigure) -> Option<f64> {
        measured::published(figure, self.source.summary, row.published.get(&figure)?)
    }
}

impl DocumentRow {
    /// Whether a figure is valid and not a lower bound.
    pub(crate) fn is_exact(&self, figure: PublishedFigure) -> bool {
        let known = self.known.get(&figure);
        known.is_none_or(|known| *known == Known::Exactly)
    }
}
