//! The summary of a run: a table for each workload and load, and which servers are missing from it and why.

use std::borrow::Cow;
use std::collections::BTreeSet;

use prony_model::{LoadShape, Run, TrialRecord};

use crate::absence::{self, Absence, Why};
use crate::counts::{self, CountTable};
use crate::published::Document;
use crate::quiet::Quiet;
use crate::table::{ResultTable, ServerRow};
use crate::tables;

#[derive(Clone, Debug)]
pub struct RunSummary {
    /// The document that the suite repeats, its tables filled with what was measured here; `None` if the suite repeats none.
    pub published: Option<Document>,
    /// A table for each workload and load, in the suite's order.
    pub tables: Vec<ResultTable>,
    /// A table for each workload and load that counts instructions.
    pub counts: Vec<CountTable>,
    /// Which servers are missing from which table, and why.
    pub absences: Vec<Absence>,
    /// How quiet the machine was.
    pub quiet: Quiet,
}

impl RunSummary {
    pub fn of(run: &Run, trials: &[TrialRecord]) -> RunSummary {
        let counts = CountTable::all(run, trials);
        // An emulated server's rates and latencies are not those of any server.
        let timed = if counts.is_empty() {
            Cow::Borrowed(trials)
        } else {
            Cow::Owned(
                trials
                    .iter()
                    .filter(|one| !counts::counts(one))
                    .cloned()
                    .collect(),
            )
        };
        let trials: &[TrialRecord] = &timed;
        let tables = tables::tables(run, trials);
        RunSummary {
            published: Document::of(run, trials, &tables),
            absences: absence::absences(run, trials, &tables),
            quiet: Quiet::of(trials, &tables),
            tables,
            counts,
        }
    }

    /// The rows of all tables.
    pub(crate) fn rows(&self) -> impl Iterator<Item = &ServerRow> {
        self.tables.iter().flat_map(|table| &table.rows)
    }

    /// The servers that sent wrong responses under load, by id.
    pub fn wrong_servers(&self) -> BTreeSet<&str> {
        let wrong = self.rows().filter(|row| row.figures.wrong.is_some());
        wrong.map(|row| row.server.id.as_str()).collect()
    }

    /// Whether the reference server took part.
    pub(crate) fn has_ceiling(&self) -> bool {
        self.tables.iter().any(|table| table.ceiling().is_some())
    }

    /// Whether a table is of a closed loop.
    pub(crate) fn has_closed(&self) -> bool {
        self.tables.iter().any(|table| !table.is_open())
    }

    /// Whether a table is of users who wait for their responses and think.
    pub(crate) fn has_users_closed(&self) -> bool {
        let thinks =
            |table: &ResultTable| matches!(table.load.shape, LoadShape::UsersClosed { .. });
        self.tables.iter().any(thinks)
    }

    /// Whether a table is of several connections that each send again at once, so that they keep the server busy.
    pub(crate) fn has_saturated(&self) -> bool {
        let saturates = |table: &ResultTable| {
            matches!(table.load.shape, LoadShape::Closed) && table.load.connections > 1
        };
        self.tables.iter().any(saturates)
    }

    /// Whether a table is of an open loop.
    pub(crate) fn has_open(&self) -> bool {
        self.tables.iter().any(ResultTable::is_open)
    }

    /// How many rounds there were: `6`, or `3 to 20` if tables differ.
    pub(crate) fn rounds(&self, run: &Run) -> String {
        let rounds = || {
            let counted = self.counts.iter().flat_map(|table| &table.rows);
            let timed = self.tables.iter().map(|table| table.rounds);
            timed.chain(counted.map(|row| row.rounds).max())
        };
        let most = match run.adaptive {
            Some(_) => rounds().max().unwrap_or(0),
            None => run.rounds as usize,
        };
        match rounds().min().filter(|fewest| *fewest < most) {
            Some(fewest) => format!("{fewest} to {most}"),
            None => most.to_string(),
        }
    }

    /// The number of workloads that were tried.
    pub(crate) fn workloads(&self) -> usize {
        let counted = self.counts.iter().map(|table| &table.workload);
        let workloads = self.tables.iter().map(|table| &table.workload);
        let workloads = workloads.chain(counted);
        workloads.collect::<BTreeSet<_>>().len()
    }

    /// What a server is missing from: the name of the table or of the workload; `None` for all.
    pub fn missing_from(&self, why: &Why) -> Option<String> {
        let workload = why.workload()?;
        let mut tables = self.tables.iter();
        let table = tables.find(|it| why.load().is_some_and(|load| it.is_of(workload, load)));
        Some(table.map_or(workload.to_owned(), ResultTable::name))
    }

    /// The numbers of rounds behind the rows.
    pub(crate) fn round_counts(&self) -> BTreeSet<usize> {
        self.rows().map(|row| row.figures.rate.n).collect()
    }
}
