//! Fills a document's tables with what was measured here.

use std::collections::{BTreeMap, BTreeSet};

use prony_model::{
    CountedRounds, FigureKind, Published, PublishedFigure, PublishedRow, PublishedTable, Run,
    ServerRecord, TrialRecord,
};
use prony_present::table::Flag;
use prony_stats::Known;

use super::document::{Document, DocumentRow, DocumentTable};
use super::measured::Measured;
use super::{concordance, measured};
use crate::absence::NOT_REQUESTED;
use crate::absence::why_absent;
use crate::figures::OpenFigures;
use crate::table::{ResultTable, ServerRow};

impl Document {
    /// The document of a run, filled from its trials; `None` if the run has none, or too little of it was requested.
    pub(crate) fn of(
        run: &Run,
        trials: &[TrialRecord],
        tables: &[ResultTable],
    ) -> Option<Document> {
        let Published {
            document,
            machine,
            method,
            tables: sources,
        } = run.published.clone()?;
        let fill = |(i, source)| {
            Filling {
                run,
                trials,
                tables,
                source,
            }
            .table(i + 1)
        };
        let tables = sources.into_iter().enumerate().map(fill);
        // With one row or none there is no order to compare with that of the document.
        let tables: Vec<_> = tables.filter(has_two_requested_rows).collect();
        (!tables.is_empty()).then_some(Document {
            name: document,
            machine,
            method,
            tables,
        })
    }
}

/// Whether the user asked for two rows, or for all that there are.
fn has_two_requested_rows(table: &DocumentTable) -> bool {
    let rows = table.rows.iter().filter(|row| row.in_document);
    let (requested, others): (Vec<_>, Vec<_>) =
        rows.partition(|row| row.absent != Some(NOT_REQUESTED));
    requested.len() >= 2 || others.is_empty()
}

/// The data that a table is filled from.
struct Filling<'a> {
    run: &'a Run,
    trials: &'a [TrialRecord],
    tables: &'a [ResultTable],
    source: PublishedTable,
}

impl Filling<'_> {
    fn table(self, number: usize) -> DocumentTable {
        let others = self.others();
        let rows = self.source.rows.iter().map(|row| self.row(row, true));
        let rows = rows.chain(others.iter().map(|row| self.row(row, false)));
        let rows = rows.collect();
        let mut table = DocumentTable {
            number,
            rounds: self.rounds(),
            source: self.source,
            rows,
            concordances: Vec::new(),
        };
        table.concordances = concordance::concordances(&table, self.tables);
        table
    }

    fn row(&self, row: &PublishedRow, in_document: bool) -> DocumentRow {
        let label = self.run.server(&row.server);
        let summed = self.summed(&row.server, &row.workload);
        let PublishedRow {
            name,
            server,
            workload,
            figures,
        } = row.clone();
        let why = || why_absent(self.run, self.trials, &server, &workload, &self.source.load);
        DocumentRow {
            absent: summed.is_none().then(why),
            made_with: label.map_or(String::new(), ServerRecord::title),
            is_reference: label.is_some_and(ServerRecord::is_reference),
            known: self.known(&server, &workload),
            flags: summed.map_or(Vec::new(), |summed| self.flags(summed, &workload)),
            measured: summed.map_or(BTreeMap::new(), |summed| self.measured(summed, &workload)),
            published: figures,
            name,
            server,
            workload,
            in_document,
        }
    }

    /// Rows for servers that were measured under the same load on the table's workloads, and that the document does not have.
    fn others(&self) -> Vec<PublishedRow> {
        let mut others: Vec<PublishedRow> = Vec::new();
        for known in &self.source.rows {
            for server in &self.run.servers {
                let mut rows = self.source.rows.iter().chain(&others);
                let here = |row: &PublishedRow| {
                    (&row.server, &row.workload) == (&server.id, &known.workload)
                };
                if !rows.any(here) && self.summed(&server.id, &known.workload).is_some() {
                    others.push(PublishedRow {
                        name: server.id.clone(),
                        server: server.id.clone(),
                        workload: known.workload.clone(),
                        figures: BTreeMap::new(),
                    });
                }
            }
        }
        others
    }

    /// The row of a server's rounds.
    fn summed(&self, server: &str, workload: &str) -> Option<&ServerRow> {
        let mut tables = self.tables.iter();
        let table = tables.find(|table| table.is_of(workload, &self.source.load));
        table?.row(server)
    }

    fn measured(&self, summed: &ServerRow, workload: &str) -> BTreeMap<PublishedFigure, Measured> {
        let base = self.source.share_of.as_deref();
        let base = base.filter(|base| *base != workload);
        let base = base.and_then(|base| self.summed(&summed.server.id, base).zip(Some(base)));
        let base = base.map(|(row, base)| self.own(row, base));
        let own = self.own(summed, workload);
        let figures = self.source.columns.iter().chain(&self.source.charts);
        let measured = figures.filter_map(|&figure| {
            let measured = own.measured(figure, self.source.summary, base.as_ref())?;
            Some((figure, measured))
        });
        measured.collect()
    }

    /// What each figure of a row says about its server.
    fn known(&self, server: &str, workload: &str) -> BTreeMap<PublishedFigure, Known> {
        let Some(summed) = self.summed(server, workload) else {
            return BTreeMap::new();
        };
        let base = self.source.share_of.as_deref();
        let base = base.and_then(|base| self.summed(server, base));
        let figures = self.source.columns.iter().chain(&self.source.charts);
        figures
            .map(|&figure| (figure, of_figure(figure, summed, base)))
            .collect()
    }

    /// The results of a server on one workload.
    fn own<'s>(&'s self, summed: &'s ServerRow, workload: &str) -> measured::Own<'s> {
        let server = &summed.server.id;
        let rounds = CountedRounds::among(self.trials, server, workload, &self.source.load);
        measured::Own {
            rounds: rounds.measured().collect(),
            summed,
        }
    }

    /// The rounds in which any of the table's rows was tried.
    fn rounds(&self) -> Vec<u32> {
        let here = |record: &&TrialRecord| {
            let mut rows = self.source.rows.iter();
            record.trial.load.same_load(&self.source.load)
                && rows.any(|row| row.workload == record.trial.workload)
        };
        let tried = self.trials.iter().filter(here);
        let rounds: BTreeSet<u32> = tried.map(|record| record.trial.round).collect();
        rounds.into_iter().collect()
    }

    /// The flags of the row; without its errors if a column has them.
    fn flags(&self, summed: &ServerRow, workload: &str) -> Vec<Flag> {
        let has_errors = self.source.columns.contains(&PublishedFigure::Errors);
        let measured = self.measured(summed, workload);
        let rate = measured.get(&PublishedFigure::Rate);
        let rate = rate.map_or(summed.figures.rate.median, |rate| rate.value);
        summed.flags_beside(rate, !has_errors)
    }
}

/// What a figure of a row says about its server; its shares refer to `base`.
fn of_figure(figure: PublishedFigure, row: &ServerRow, base: Option<&ServerRow>) -> Known {
    let kind = measured::about(figure).kind;
    if kind == FigureKind::Other {
        return Known::Exactly;
    }
    let own = of_row(row, kind);
    let is_share = measured::aggregation(figure) == measured::Aggregation::Share;
    match base.map(|base| of_row(base, kind)).filter(|_| is_share) {
        // The ratio of two lower bounds is unknown.
        Some(base) if (own, base) != (Known::Exactly, Known::Exactly) => Known::Nothing,
        _ => own,
    }
}

fn of_row(row: &ServerRow, kind: FigureKind) -> Known {
    if row.figures.open.as_ref().is_none_or(OpenFigures::rate_made) {
        row.known(kind)
    } else {
        Known::Nothing
    }
}
