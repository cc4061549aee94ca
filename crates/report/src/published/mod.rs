//! The tables of the document that a suite grew from, filled with what was measured here.

mod grid;
mod held;
mod measured;
mod words;

use std::collections::BTreeMap;

use prony_model::{
    Measurement, Published, PublishedFigure, PublishedRow, PublishedTable, Run, TrialRecord,
};

use prony_stats::Known;

use crate::comparison::{Rounds, why_absent};
use crate::{FigureKind, Row, ServerLabel, Standing, Table};

pub(crate) use grid::{Cell, Cells, Grid, GridRow, as_published, measured_here, ratios, summaries};
pub use held::Held;
pub use measured::Measured;
pub(crate) use words::{how, overall, sentences, shown, summary, tick, title, title_of_chart};

/// A document, and its tables with what was measured here.
#[derive(Clone, Debug)]
pub struct Document {
    /// What it is called.
    pub name: String,
    /// The machine it was measured on.
    pub machine: String,
    /// With which tool and load it was measured.
    pub method: String,
    /// Its tables.
    pub tables: Vec<DocumentTable>,
}

/// One of its tables.
#[derive(Clone, Debug)]
pub struct DocumentTable {
    /// Its place among the document's tables, from 1.
    pub number: usize,
    /// The table as it was published.
    pub source: PublishedTable,
    /// The rounds that were tried here, ascending.
    pub rounds: Vec<u32>,
    /// The document's rows in its order, then those that it does not have.
    pub rows: Vec<DocumentRow>,
    /// How the published order of the rows held, figure by figure and workload by workload.
    pub held: Vec<Held>,
}

/// One of its rows.
#[derive(Clone, Debug)]
pub struct DocumentRow {
    /// What the document calls it; the server's id where the document does not have it.
    pub name: String,
    /// The server's id.
    pub server: String,
    /// What the server is made with; empty where it is not known here.
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
    /// Why nothing was measured, in a word or two; `None` where something was.
    pub absent: Option<&'static str>,
    /// What the measured figures say of the server: some are lower bounds, or of something else, because the
    /// rate was not made or responses were wrong.
    pub known: BTreeMap<PublishedFigure, Known>,
    /// What the reader must know of it, a few words each.
    pub flags: Vec<String>,
}

impl Document {
    /// The document of a run, filled from its trials; `None` where the run has none.
    pub(crate) fn of(run: &Run, trials: &[TrialRecord], tables: &[Table]) -> Option<Document> {
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
        Some(Document {
            name: document,
            machine,
            method,
            tables: sources.into_iter().enumerate().map(fill).collect(),
        })
    }
}

impl DocumentTable {
    /// Whether its rows are of more than one workload, so that it must be said which.
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

    /// The published value of a row's figure: its rounds in one.
    pub fn published(&self, row: &DocumentRow, figure: PublishedFigure) -> Option<f64> {
        measured::published(figure, self.source.summary, row.published.get(&figure)?)
    }
}

impl DocumentRow {
    /// Whether a figure is its server's own: no lower bound, and of nothing else.
    pub(crate) fn is_exact(&self, figure: PublishedFigure) -> bool {
        let known = self.known.get(&figure);
        known.is_none_or(|known| *known == Known::Exactly)
    }
}

/// What a table is filled from.
struct Filling<'a> {
    run: &'a Run,
    trials: &'a [TrialRecord],
    tables: &'a [Table],
    source: PublishedTable,
}

impl Filling<'_> {
    fn table(self, number: usize) -> DocumentTable {
        let mut rows: Vec<DocumentRow> = self
            .source
            .rows
            .iter()
            .map(|row| self.row(row, true))
            .collect();
        rows.extend(self.others().iter().map(|row| self.row(row, false)));
        let mut table = DocumentTable {
            number,
            rounds: self.rounds(),
            source: self.source,
            rows,
            held: Vec::new(),
        };
        table.held = held::held(&table, self.tables);
        table
    }

    fn row(&self, row: &PublishedRow, in_document: bool) -> DocumentRow {
        let label = self
            .run
            .servers
            .iter()
            .find(|server| server.id == row.server);
        let label = label.map(ServerLabel::from);
        let summed = self.summed(&row.server, &row.workload);
        let PublishedRow {
            name,
            server,
            workload,
            figures,
        } = row.clone();
        DocumentRow {
            absent: summed
                .is_none()
                .then(|| why_absent(self.run, self.trials, &server, &workload, &self.source.load)),
            made_with: label.as_ref().map_or(String::new(), ServerLabel::title),
            is_reference: label.is_some_and(|label| label.is_reference()),
            known: self.known(&server, &workload),
            flags: summed.map_or(Vec::new(), |summed| self.flags(summed)),
            measured: summed.map_or(BTreeMap::new(), |summed| self.measured(summed, &workload)),
            published: figures,
            name,
            server,
            workload,
            in_document,
        }
    }

    /// Rows for those who were measured under the same load on the table's workloads, and whom the
    /// document does not have there.
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

    /// The row that sums a server's rounds up.
    fn summed(&self, server: &str, workload: &str) -> Option<&Row> {
        let mut tables = self.tables.iter();
        tables
            .find(|table| table.workload == workload && table.load.same_load(&self.source.load))?
            .rows
            .iter()
            .find(|row| row.server.id == server)
    }

    fn measured(&self, summed: &Row, workload: &str) -> BTreeMap<PublishedFigure, Measured> {
        let base = self
            .source
            .share_of
            .as_deref()
            .filter(|base| *base != workload);
        let base = base.and_then(|base| {
            let summed = self.summed(&summed.server.id, base)?;
            Some(measured::Own {
                rounds: self.rounds_of(&summed.server.id, base),
                summed,
            })
        });
        let own = measured::Own {
            rounds: self.rounds_of(&summed.server.id, workload),
            summed,
        };
        let figures = self.source.columns.iter().chain(&self.source.charts);
        figures
            .filter_map(|&figure| {
                Some((
                    figure,
                    own.measured(figure, self.source.summary, base.as_ref())?,
                ))
            })
            .collect()
    }

    /// What each figure of a row is worth.
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

    fn rounds_of(&self, server: &str, workload: &str) -> Vec<(u32, &Measurement)> {
        let own = |record: &&TrialRecord| {
            let trial = &record.trial;
            trial.server == server
                && trial.workload == workload
                && trial.load.same_load(&self.source.load)
        };
        let rounds = Rounds::of(self.trials.iter().filter(own)).measured;
        rounds
            .into_iter()
            .map(|round| (round.round, round.measurement))
            .collect()
    }

    /// The rounds in which any of the table's rows was tried.
    fn rounds(&self) -> Vec<u32> {
        let here = |record: &&TrialRecord| {
            let mut rows = self.source.rows.iter();
            record.trial.load.same_load(&self.source.load)
                && rows.any(|row| row.workload == record.trial.workload)
        };
        let tried = self.trials.iter().filter(here);
        let mut rounds: Vec<u32> = tried.map(|record| record.trial.round).collect();
        rounds.sort_unstable();
        rounds.dedup();
        rounds
    }

    /// The flags of the row; without its errors where a column has them. That it is a reference
    /// server is said by its name.
    fn flags(&self, summed: &Row) -> Vec<String> {
        let has_errors = self.source.columns.contains(&PublishedFigure::Errors);
        match (summed.standing, has_errors) {
            (Standing::Reference, true) => summed.figures.flags_without_errors(),
            (Standing::Reference, false) => summed.figures.flags(),
            (_, true) => summed.flags_without_errors(),
            (_, false) => summed.flags(),
        }
    }
}

/// What a figure of a row says of its server; `base` is what its shares are of.
fn of_figure(figure: PublishedFigure, row: &Row, base: Option<&Row>) -> Known {
    let kind = measured::kind(figure);
    if kind == FigureKind::Other {
        return Known::Exactly;
    }
    let own = of_row(row, kind);
    match (
        measured::gathering(figure),
        base.map(|base| of_row(base, kind)),
    ) {
        // A ratio of two that may both be higher may be anything.
        (measured::Gathering::Share, Some(base))
            if (own, base) != (Known::Exactly, Known::Exactly) =>
        {
            Known::Nothing
        }
        _ => own,
    }
}

fn of_row(row: &Row, kind: FigureKind) -> Known {
    match row.figures.open.is_none_or(|open| open.rate_made()) {
        true => row.known(kind),
        false => Known::Nothing,
    }
}
