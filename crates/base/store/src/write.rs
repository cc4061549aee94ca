//! Writing runs, trials and explanations.

use rusqlite::{Connection, ErrorCode, named_params};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::error::StoreError;
use crate::store::Store;
use prony_model::{Explanation, MeasuredBy, Run, RunEnd, TrialRecord, TrialResult};

const INSERT_RUN: &str = "
    INSERT INTO run (id, suite, title, started_at, finished_at, \"end\", prony_version, rounds,
        cpu_model, kernel, servers, record)
    VALUES (:id, :suite, :title, :started_at, :finished_at, :end, :prony_version, :rounds,
        :cpu_model, :kernel, :servers, :record)";

const UPDATE_RUN: &str = "
    UPDATE run SET suite = :suite, title = :title, started_at = :started_at,
        finished_at = :finished_at, \"end\" = :end, prony_version = :prony_version,
        rounds = :rounds, cpu_model = :cpu_model, kernel = :kernel, servers = :servers,
        record = :record
    WHERE id = :id";

const INSERT_TRIAL: &str = "
    INSERT INTO trial (run, sequence, server, workload, shape, connections, round, started_at,
        result, requests, errors, rate_per_s, p50_ns, p99_ns, p999_ns, server_cpu_s,
        peak_memory_bytes, startup_ns, client_limited, record)
    VALUES (:run, :sequence, :server, :workload, :shape, :connections, :round, :started_at,
        :result, :requests, :errors, :rate_per_s, :p50_ns, :p99_ns, :p999_ns, :server_cpu_s,
        :peak_memory_bytes, :startup_ns, :client_limited, :record)";

const INSERT_EXPLANATION: &str = "
    INSERT INTO explanation (run, server, workload, record) VALUES (:run, :server, :workload, :record)";

impl Store {
    /// Writes a new run.
    ///
    /// # Errors
    /// [`StoreError::RunExists`] if its id is taken; or if the file cannot be written.
    pub fn begin_run(&self, run: &Run) -> Result<(), StoreError> {
        match self.write_run(INSERT_RUN, run) {
            Err(StoreError::Sqlite { source, .. }) if is_constraint(&source) => {
                Err(StoreError::RunExists {
                    path: self.path.clone(),
                    id: run.id.clone(),
                })
            }
            written => written.map(|_| ()),
        }
    }

    /// Updates a run, for instance when its servers have been built and verified.
    ///
    /// # Errors
    /// [`StoreError::UnknownRun`] if it was never begun; or if the file cannot be written.
    pub fn update_run(&self, run: &Run) -> Result<(), StoreError> {
        match self.write_run(UPDATE_RUN, run)? {
            0 => Err(self.unknown_run(&run.id)),
            _ => Ok(()),
        }
    }

    /// Writes how and when (RFC 3339, UTC) a run ended.
    ///
    /// # Errors
    /// [`StoreError::UnknownRun`] if it was never begun; or if the file cannot be written.
    pub fn finish_run(&self, id: &str, end: RunEnd, finished_at: &str) -> Result<(), StoreError> {
        let mut run = self.run(id)?;
        run.end = end;
        run.finished_at = Some(finished_at.to_owned());
        self.update_run(&run)
    }

    /// Writes one trial of a run, as one transaction: when this returns, the trial is safe.
    ///
    /// # Errors
    /// [`StoreError::UnknownRun`] if the run was never begun, [`StoreError::DiskFull`] if the disk is full (earlier
    /// trials stay), [`StoreError::Gone`] if the file was deleted; or if it cannot be written.
    pub fn add_trial(&self, run: &str, record: &TrialRecord) -> Result<(), StoreError> {
        let json = self.json(to_json(record))?;
        match insert_trial(&self.connection, run, record, &json) {
            Err(error) if is_constraint(&error) => Err(self.unknown_run(run)),
            written => self.kept(written),
        }
    }

    /// Writes what a request costs one server of a run, as one transaction.
    ///
    /// # Errors
    /// As [`Self::add_trial`].
    pub fn add_explanation(&self, run: &str, explanation: &Explanation) -> Result<(), StoreError> {
        let json = self.json(to_json(explanation))?;
        let written = self.connection.execute(
            INSERT_EXPLANATION,
            named_params! {
                ":run": run,
                ":server": explanation.server,
                ":workload": explanation.workload,
                ":record": json,
            },
        );
        match written {
            Err(error) if is_constraint(&error) => Err(self.unknown_run(run)),
            written => self.kept(written).map(|_| ()),
        }
    }

    fn write_run(&self, sql: &str, run: &Run) -> Result<usize, StoreError> {
        let json = self.json(to_json(run))?;
        let written = self.connection.execute(
            sql,
            named_params! {
                ":id": run.id,
                ":suite": run.suite,
                ":title": run.title,
                ":started_at": run.started_at,
                ":finished_at": run.finished_at,
                ":end": run.end.name(),
                ":prony_version": run.prony_version,
                ":rounds": run.rounds,
                ":cpu_model": run.machine.cpu_model,
                ":kernel": run.machine.kernel,
                ":servers": integer(run.servers.len() as u64),
                ":record": json,
            },
        );
        self.kept(written)
    }
}

fn insert_trial(
    connection: &Connection,
    run: &str,
    record: &TrialRecord,
    json: &str,
) -> rusqlite::Result<()> {
    let trial = &record.trial;
    let (result, measured) = match &record.result {
        TrialResult::Measured(measurement) => ("measured", Some(measurement)),
        TrialResult::Failed { kind, .. } => (kind.name(), None),
    };
    let load = measured.map(|measured| &measured.load);
    let latency = load.and_then(|load| load.latency_ns.as_ref());
    let server = measured.and_then(|measured| measured.server.as_ref());
    // The rates and latencies of an emulated server are in its record, and in no column that queries compare.
    let is_timed = trial.load.by == MeasuredBy::Time;
    let latency = latency.filter(|_| is_timed);
    // One statement outside an open transaction is a transaction of its own.
    connection.execute(
        INSERT_TRIAL,
        named_params! {
            ":run": run,
            ":sequence": trial.sequence,
            ":server": trial.server,
            ":workload": trial.workload,
            ":shape": trial.load.shape.name(),
            ":connections": integer(trial.load.connections as u64),
            ":round": trial.round,
            ":started_at": record.started_at,
            ":result": result,
            ":requests": load.map(|load| integer(load.requests)),
            ":errors": load.map(|load| integer(load.outcomes.errors())),
            ":rate_per_s": load.filter(|_| is_timed).map(|load| load.rate_per_s),
            ":p50_ns": latency.map(|latency| integer(latency.p50)),
            ":p99_ns": latency.map(|latency| integer(latency.p99)),
            ":p999_ns": latency.map(|latency| integer(latency.p999)),
            ":server_cpu_s": server.map(|server| server.cpu_s()),
            ":peak_memory_bytes": server.map(|server| integer(server.peak_memory_bytes)),
            ":startup_ns": measured.and_then(|measured| measured.startup_ns).map(integer),
            ":client_limited": measured.map(|measured| measured.client_limited()),
            ":record": json,
        },
    )?;
    Ok(())
}

/// A record as JSON, after a check that it can be read again: JSON has no infinities, for instance.
fn to_json<T: Serialize + DeserializeOwned>(record: &T) -> serde_json::Result<String> {
    let json = serde_json::to_string(record)?;
    serde_json::from_str::<T>(&json)?;
    Ok(json)
}

/// SQLite's integers are signed. The columns are for filtering; the record has the exact value.
fn integer(value: u64) -> i64 {
    i64::try_from(value).unwrap_or(i64::MAX)
}

fn is_constraint(error: &rusqlite::Error) -> bool {
    error.sqlite_error_code() == Some(ErrorCode::ConstraintViolation)
}
