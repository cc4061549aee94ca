//! Reading runs, trials and explanations.

use prony_manifest::nearest;
use rusqlite::{OptionalExtension, Params, Row};
use serde::de::DeserializeOwned;

use crate::error::StoreError;
use crate::store::Store;
use prony_model::{Explanation, Run, RunEnd, TrialRecord};

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunSummary {
    pub id: String,
    /// Its suite's id.
    pub suite: String,
    /// Its suite's title.
    pub title: String,
    /// RFC 3339, UTC.
    pub started_at: String,
    /// RFC 3339, UTC; `None` if it is still running or Prony was killed.
    pub finished_at: Option<String>,
    pub end: RunEnd,
    /// How many servers were requested.
    pub servers: u32,
    /// How many trials it holds, failed ones included.
    pub trials: u32,
    /// How many of them have no figures.
    pub failed_trials: u32,
}

const RUNS: &str = "
    SELECT run.id, suite, title, run.started_at, finished_at, \"end\", servers,
        count(trial.id), count(trial.id) FILTER (WHERE trial.result <> 'measured')
    FROM run LEFT JOIN trial ON trial.run = run.id
    GROUP BY run.id
    ORDER BY run.started_at DESC, run.rowid DESC";

impl Store {
    /// All runs, the latest first.
    ///
    /// # Errors
    /// If the file cannot be read.
    pub fn runs(&self) -> Result<Vec<RunSummary>, StoreError> {
        self.rows(RUNS, [], run_summary)
    }

    /// The run with this id.
    ///
    /// # Errors
    /// [`StoreError::UnknownRun`], with the most similar id; or if the file cannot be read.
    pub fn run(&self, id: &str) -> Result<Run, StoreError> {
        let record = self
            .connection
            .query_row("SELECT record FROM run WHERE id = ?1", [id], |row| {
                row.get::<_, String>(0)
            })
            .optional();
        match self.sqlite(record)? {
            Some(json) => self.json(serde_json::from_str(&json)),
            None => Err(self.unknown_run(id)),
        }
    }

    /// The run that was started last.
    ///
    /// # Errors
    /// [`StoreError::NoRuns`] if there is none yet; or if the file cannot be read.
    pub fn latest(&self) -> Result<Run, StoreError> {
        let latest = self.runs()?.into_iter().next();
        let latest = latest.ok_or_else(|| StoreError::NoRuns(self.path.clone()))?;
        self.run(&latest.id)
    }

    /// All trials of a run in the order in which they ran.
    ///
    /// # Errors
    /// [`StoreError::UnknownRun`], or if the file cannot be read.
    pub fn trials(&self, run: &str) -> Result<Vec<TrialRecord>, StoreError> {
        const TRIALS: &str = "SELECT record FROM trial WHERE run = ?1 ORDER BY sequence, id";
        self.records(TRIALS, run)
    }

    /// What a request costs each server of a run, in the order in which it was measured; empty if that was not measured, or
    /// if the file is older than explanations.
    ///
    /// # Errors
    /// [`StoreError::UnknownRun`], or if the file cannot be read.
    pub fn explanations(&self, run: &str) -> Result<Vec<Explanation>, StoreError> {
        const EXPLANATIONS: &str = "SELECT record FROM explanation WHERE run = ?1 ORDER BY id";
        if self.sqlite(self.connection.table_exists(None, "explanation"))? {
            self.records(EXPLANATIONS, run)
        } else {
            self.run(run).map(|_| Vec::new())
        }
    }

    /// The records of a run that a query selects.
    fn records<T: DeserializeOwned>(&self, sql: &str, run: &str) -> Result<Vec<T>, StoreError> {
        let records = self.rows(sql, [run], |row| row.get::<_, String>(0))?;
        if records.is_empty() {
            self.run(run)?; // Distinguishes a run without records from an unknown one.
        }
        let read = |json: &String| self.json(serde_json::from_str(json));
        records.iter().map(read).collect()
    }

    fn rows<T>(
        &self,
        sql: &str,
        parameters: impl Params,
        read: fn(&Row<'_>) -> rusqlite::Result<T>,
    ) -> Result<Vec<T>, StoreError> {
        let statement = self.connection.prepare(sql);
        let rows =
            statement.and_then(|mut statement| statement.query_map(parameters, read)?.collect());
        self.sqlite(rows)
    }

    pub(crate) fn unknown_run(&self, id: &str) -> StoreError {
        let runs = self.runs().unwrap_or_default();
        StoreError::UnknownRun {
            path: self.path.clone(),
            nearest: nearest(id, runs.iter().map(|run| run.id.as_str())),
            id: id.to_owned(),
        }
    }
}

fn run_summary(row: &Row<'_>) -> rusqlite::Result<RunSummary> {
    let end: String = row.get(5)?;
    Ok(RunSummary {
        id: row.get(0)?,
        suite: row.get(1)?,
        title: row.get(2)?,
        started_at: row.get(3)?,
        finished_at: row.get(4)?,
        // A status that this version does not know is shown as unfinished.
        end: RunEnd::from_name(&end).unwrap_or(RunEnd::Open),
        servers: row.get(6)?,
        trials: row.get(7)?,
        failed_trials: row.get(8)?,
    })
}
