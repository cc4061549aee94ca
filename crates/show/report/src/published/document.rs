//! The tables of a document, as published and as measured here.

use std::collections::BTreeMap;

use prony_model::{
    CountedRounds, Published, PublishedFigure, PublishedRow, PublishedTable, Run, ServerRecord,
    TrialRecord,
};

use super::concordance::{Concordance, concordance};
use super::measured::{Measured, Own};
use super::row::{DocumentRow, RowFigures, have_workloads};
use crate::absence::{NOT_REQUESTED, why_absent};
use crate::table::ResultTable;

/// A document, and its tables with what was measured here.
#[derive(Clone, Debug)]
pub struct Document {
    /// What was published, but for the tables.
    pub published: Published,
    pub tables: Vec<DocumentTable>,
}

#[derive(Clone, Debug)]
pub struct DocumentTable {
    /// Its number among the document's tables, from 1.
    pub number: usize,
    pub source: PublishedTable,
    /// The number of rounds that were tried here.
    pub rounds: usize,
    /// The document's rows in its order, then rows for servers that it does not have.
    pub rows: Vec<DocumentRow>,
    /// Whether the published order of the rows held, for each figure.
    pub concordances: Vec<Concordance>,
}

impl Document {
    /// The document of a run, filled from its trials; `None` if the run has none, or too little of it was requested.
    pub(crate) fn of(
        run: &Run,
        trials: &[TrialRecord],
        tables: &[ResultTable],
    ) -> Option<Document> {
        let mut published = run.published.clone()?;
        let sources = std::mem::take(&mut published.tables);
        let fill = |(source, number)| {
            let filling = Filling {
                run,
                trials,
                tables,
                source,
            };
            filling.table(number)
        };
        let tables = sources.into_iter().zip(1..).map(fill);
        // With one row or none there is no order to compare with that of the document.
        let tables: Vec<_> = tables.filter(has_two_requested_rows).collect();
        (!tables.is_empty()).then_some(Document { published, tables })
    }
}

/// Whether the user asked for two rows, or for all that there are.
fn has_two_requested_rows(table: &DocumentTable) -> bool {
    let rows = table.rows.iter().filter(|row| row.in_document);
    let (requested, others): (Vec<_>, Vec<_>) =
        rows.partition(|row| row.absent != Some(NOT_REQUESTED));
    requested.len() >= 2 || others.is_empty()
}

impl DocumentTable {
    /// Whether its rows are of more than one workload, so that each must name its own.
    pub(crate) fn has_workloads(&self) -> bool {
        have_workloads(&self.rows)
    }
}

/// The data that a table is filled from.
struct Filling<'a> {
    run: &'a Run,
    trials: &'a [TrialRecord],
    tables: &'a [ResultTable],
    source: PublishedTable,
}

impl<'a> Filling<'a> {
    fn table(self, number: usize) -> DocumentTable {
        let of_document = self.source.rows.iter().map(|row| self.row(row, true));
        let others = self.others();
        let of_others = others.iter().map(|row| self.row(row, false));
        let rows: Vec<DocumentRow> = of_document.chain(of_others).collect();
        let workloads = self.source.rows.iter().map(|row| &row.workload);
        let tried = workloads.filter_map(|workload| Some(self.result(workload)?.rounds));
        let columns = self.source.columns.iter();
        let concordances = columns
            .filter_map(|figure| concordance(&rows, &self.source.load, *figure, self.tables));
        DocumentTable {
            number,
            rounds: tried.max().unwrap_or(0),
            concordances: concordances.collect(),
            rows,
            source: self.source,
        }
    }

    fn row(&self, row: &PublishedRow, in_document: bool) -> DocumentRow {
        let PublishedRow {
            name,
            server,
            workload,
            figures,
        } = row;
        let record = self.run.server(server);
        let own = self.own(server, workload);
        let measured = own.as_ref().map(|own| self.measured(own, workload));
        let measured = measured.unwrap_or_default();
        // A column may have the errors.
        let with_errors = !self.source.columns.contains(&PublishedFigure::Errors);
        let flags = own.as_ref().map(|own| {
            let rate = measured.get(&PublishedFigure::Rate);
            let rate = rate.map_or(own.summed.figures.rate.median, |rate| rate.value);
            own.summed.flags_beside(rate, with_errors)
        });
        let published = figures.iter().filter_map(|(figure, values)| {
            let rounds = (1..).zip(values.iter().copied());
            let published = Measured::of(rounds, *figure, self.source.summary, None)?;
            Some((*figure, published))
        });
        let why = || why_absent(self.run, self.trials, server, workload, &self.source.load);
        DocumentRow {
            absent: own.is_none().then(why),
            made_with: record.map_or(String::new(), ServerRecord::title),
            is_reference: record.is_some_and(ServerRecord::is_reference),
            flags: flags.unwrap_or_default(),
            measured,
            published: published.collect(),
            name: name.clone(),
            server: server.clone(),
            workload: workload.clone(),
            in_document,
        }
    }

    /// Rows for servers that were measured under the same load on the table's workloads, and that the document does not have.
    fn others(&self) -> Vec<PublishedRow> {
        let mut others: Vec<PublishedRow> = Vec::new();
        for PublishedRow { workload, .. } in &self.source.rows {
            for ServerRecord { id, .. } in &self.run.servers {
                let mut rows = self.source.rows.iter().chain(&others);
                let has_row = rows.any(|row| (&row.server, &row.workload) == (id, workload));
                if !has_row && self.own(id, workload).is_some() {
                    others.push(PublishedRow {
                        name: id.clone(),
                        server: id.clone(),
                        workload: workload.clone(),
                        figures: BTreeMap::new(),
                    });
                }
            }
        }
        others
    }

    /// The results on a workload under the table's load.
    fn result(&self, workload: &str) -> Option<&'a ResultTable> {
        let mut tables = self.tables.iter();
        tables.find(|table| table.is_of(workload, &self.source.load))
    }

    /// What a server did on a workload; `None` if it gave no figures.
    fn own(&self, server: &str, workload: &str) -> Option<Own<'a>> {
        let summed = self.result(workload)?.row(server)?;
        let rounds = CountedRounds::among(self.trials, server, workload, &self.source.load);
        Some(Own {
            rounds: rounds.measured().collect(),
            summed,
        })
    }

    fn measured(&self, own: &Own, workload: &str) -> RowFigures {
        let PublishedTable {
            columns,
            charts,
            share_of,
            summary,
            ..
        } = &self.source;
        let base = share_of.as_deref().filter(|base| *base != workload);
        let base = base.and_then(|base| self.own(&own.summed.server.id, base));
        columns
            .iter()
            .chain(charts)
            .filter_map(|figure| Some((*figure, own.measured(*figure, *summary, base.as_ref())?)))
            .collect()
    }
}
