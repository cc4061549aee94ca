//! A run for other programs: JSON by `schema/run.schema.json`, and CSV with a line a trial.

use std::io::{self, Write};

use serde_json::{Value, json};

use crate::{LoadShape, Measurement, Outcome, Run, SubjectRecord, TrialRecord, TrialResult};

/// What the `schema` field of an exported run says.
pub const RUN_SCHEMA: &str = "prony-run/1";

/// A run and its trials as one JSON document: `{"schema": "prony-run/1", "run": …, "trials": […]}`.
pub fn export_json(run: &Run, trials: &[TrialRecord]) -> Value {
    json!({ "schema": RUN_SCHEMA, "run": run, "trials": trials })
}

/// Writes a run as CSV (RFC 4180): a line with [`CSV_COLUMNS`], then one line a trial.
///
/// Failed trials have a line too, with the kind of failure in `result` and nothing in the figures.
///
/// # Errors
/// Those of the writer.
pub fn export_csv(run: &Run, trials: &[TrialRecord], mut writer: impl Write) -> io::Result<()> {
    write_line(
        &mut writer,
        CSV_COLUMNS.iter().map(|column| column.to_string()),
    )?;
    for record in trials {
        let line = Line {
            run,
            record,
            subject: run
                .subjects
                .iter()
                .find(|subject| subject.id == record.trial.subject),
            measured: match &record.result {
                TrialResult::Measured(measurement) => Some(measurement),
                TrialResult::Failed { .. } => None,
            },
        };
        write_line(&mut writer, line.fields().into_iter())?;
    }
    writer.flush()
}

/// The columns of [`export_csv`], in their order. New ones are only ever added at the end.
///
/// Durations named `_ns` are nanoseconds and `_s` seconds; sizes are bytes; shares run from 0 to 1.
/// The columns from `ok` to `unfinished` are counts of requests by outcome.
pub const CSV_COLUMNS: [&str; 64] = [
    "run",
    "sequence",
    "started_at",
    "subject",
    "language",
    "framework",
    "version",
    "class",
    "workload",
    "shape",
    "connections",
    "threads",
    "round",
    "result",
    "failure",
    "duration_s",
    "warmup_s",
    "requests",
    "ok",
    "wrong_status",
    "wrong_body",
    "malformed",
    "truncated",
    "refused",
    "reset",
    "timed_out",
    "tls_failure",
    "shed",
    "unfinished",
    "rate_per_s",
    "bytes_read",
    "bytes_written",
    "connections_opened",
    "reconnects",
    "latency_min_ns",
    "latency_mean_ns",
    "latency_stdev_ns",
    "latency_p50_ns",
    "latency_p90_ns",
    "latency_p99_ns",
    "latency_p999_ns",
    "latency_max_ns",
    "generator_cpu_user_s",
    "generator_cpu_system_s",
    "generator_busy_max",
    "generator_loop",
    "client_limited",
    "server_cpu_user_s",
    "server_cpu_system_s",
    "server_busy_share",
    "peak_memory_bytes",
    "processes",
    "startup_ns",
    "artefact_bytes",
    "steal_share",
    "idle_share",
    "log_lines_written",
    "source_hash",
    "think_time_s",
    "resent",
    "port_waits",
    "late",
    "schedule_lag_p50_ns",
    "schedule_lag_p99_ns",
];

/// One trial and what its line is made of.
struct Line<'a> {
    run: &'a Run,
    record: &'a TrialRecord,
    subject: Option<&'a SubjectRecord>,
    measured: Option<&'a Measurement>,
}

impl Line<'_> {
    /// The fields in the order of [`CSV_COLUMNS`].
    fn fields(&self) -> Vec<String> {
        let mut fields = self.identity();
        fields.extend(self.load());
        fields.extend(self.latency());
        fields.extend(self.costs());
        fields.extend(self.schedule());
        fields
    }

    fn identity(&self) -> Vec<String> {
        let trial = &self.record.trial;
        let (result, failure) = match &self.record.result {
            TrialResult::Measured(_) => ("measured", ""),
            TrialResult::Failed { kind, message } => (kind.name(), message.as_str()),
        };
        vec![
            self.run.id.clone(),
            trial.sequence.to_string(),
            self.record.started_at.clone(),
            trial.subject.clone(),
            self.of_subject(|subject| subject.language.clone()),
            self.of_subject(|subject| subject.framework.clone()),
            self.of_subject(|subject| subject.version.clone().unwrap_or_default()),
            self.of_subject(|subject| subject.class.clone()),
            trial.workload.clone(),
            trial.load.shape.name().to_owned(),
            trial.load.connections.to_string(),
            trial.load.threads.to_string(),
            trial.round.to_string(),
            result.to_owned(),
            failure.to_owned(),
        ]
    }

    fn load(&self) -> Vec<String> {
        let mut fields = vec![
            self.of(|m| m.load.duration_s),
            self.record.trial.load.warmup_s.to_string(),
            self.of(|m| m.load.requests),
        ];
        fields.extend(Outcome::ALL.map(|outcome| self.of(|m| m.load.outcomes[outcome])));
        fields.extend([
            self.of(|m| m.load.rate_per_s),
            self.of(|m| m.load.bytes_read),
            self.of(|m| m.load.bytes_written),
            self.of(|m| m.load.connections_opened),
            self.of(|m| m.load.reconnects),
        ]);
        fields
    }

    fn latency(&self) -> Vec<String> {
        let latency = self.measured.and_then(|m| m.load.latency_ns.as_ref());
        match latency {
            Some(l) => vec![
                l.min.to_string(),
                l.mean.to_string(),
                l.stdev.to_string(),
                l.p50.to_string(),
                l.p90.to_string(),
                l.p99.to_string(),
                l.p999.to_string(),
                l.max.to_string(),
            ],
            None => vec![String::new(); 8],
        }
    }

    fn costs(&self) -> Vec<String> {
        vec![
            self.of(|m| m.load.generator.cpu_user_s),
            self.of(|m| m.load.generator.cpu_system_s),
            self.of(|m| m.load.generator.busy_max),
            self.of(|m| m.load.generator.event_loop.clone()),
            self.of(Measurement::client_limited),
            self.of(|m| m.server.cpu_user_s),
            self.of(|m| m.server.cpu_system_s),
            self.of(|m| m.server.busy_share),
            self.of(|m| m.server.peak_memory_bytes),
            self.of(|m| m.server.processes),
            self.of(|m| m.startup_ns),
            self.of_subject(|s| s.artefact_bytes.map_or(String::new(), |b| b.to_string())),
            self.of(|m| m.noise.steal_share),
            self.of(|m| m.noise.idle_share),
            self.measured
                .and_then(|m| m.log_lines)
                .map_or(String::new(), |lines| lines.written.to_string()),
            self.of_subject(|subject| subject.source_hash.clone()),
        ]
    }

    fn schedule(&self) -> Vec<String> {
        let open = self.measured.and_then(|m| m.load.open.as_ref());
        let lag = open.and_then(|open| open.schedule_lag_ns.as_ref());
        let text = |figure: Option<u64>| figure.map_or(String::new(), |n| n.to_string());
        vec![
            match self.record.trial.load.shape {
                LoadShape::Closed => String::new(),
                LoadShape::UsersOpen { think_time_s } => think_time_s.to_string(),
            },
            self.of(|m| m.load.resent),
            self.of(|m| m.load.port_waits),
            text(open.map(|open| open.late)),
            text(lag.map(|lag| lag.p50)),
            text(lag.map(|lag| lag.p99)),
        ]
    }

    /// A figure of the measurement; empty for a trial that failed.
    fn of<T: ToString>(&self, figure: impl Fn(&Measurement) -> T) -> String {
        self.measured
            .map_or(String::new(), |measured| figure(measured).to_string())
    }

    fn of_subject(&self, text: impl Fn(&SubjectRecord) -> String) -> String {
        self.subject.map_or(String::new(), text)
    }
}

fn write_line(writer: &mut impl Write, fields: impl Iterator<Item = String>) -> io::Result<()> {
    let line: Vec<String> = fields.map(quoted).collect();
    write!(writer, "{}\r\n", line.join(","))
}

/// RFC 4180: quotes round what holds a comma, a quote or a line end; quotes inside are doubled.
fn quoted(field: String) -> String {
    if field.contains([',', '"', '\r', '\n']) {
        format!("\"{}\"", field.replace('"', "\"\""))
    } else {
        field
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample;

    fn csv(trials: &[TrialRecord]) -> String {
        let mut bytes = Vec::new();
        export_csv(&sample::run("r1"), trials, &mut bytes).unwrap();
        String::from_utf8(bytes).unwrap()
    }

    #[test]
    fn every_line_has_every_column_at_its_place() {
        let text = csv(&[
            sample::measured("go-nethttp", 1),
            sample::measured("bun", 2),
        ]);
        let lines: Vec<&str> = text.split_terminator("\r\n").collect();
        assert_eq!(lines.len(), 3);
        for line in &lines {
            assert_eq!(line.split(',').count(), CSV_COLUMNS.len(), "{line}");
        }
        let field = |line: usize, name: &str| {
            let column = CSV_COLUMNS.iter().position(|c| *c == name).unwrap();
            lines[line].split(',').nth(column).unwrap().to_owned()
        };
        assert_eq!(field(1, "subject"), "go-nethttp");
        assert_eq!(field(2, "round"), "2");
        assert_eq!(field(1, "ok"), "100");
        assert_eq!(field(1, "timed_out"), "2");
        assert_eq!(field(1, "latency_p50_ns"), "5003");
        assert_eq!(field(1, "client_limited"), "false");
        assert_eq!(field(1, "peak_memory_bytes"), "12582912");
        assert_eq!(field(1, "source_hash"), "ab12");
        assert_eq!(field(1, "log_lines_written"), "100");
        assert_eq!(field(1, "think_time_s"), "0.5");
        assert_eq!(field(1, "late"), "7");
        assert_eq!(field(1, "schedule_lag_p50_ns"), "5003");
    }

    #[test]
    fn the_outcome_columns_are_the_outcomes() {
        let first = CSV_COLUMNS.iter().position(|c| *c == "ok").unwrap();
        let names = Outcome::ALL.map(Outcome::name);
        assert_eq!(CSV_COLUMNS[first..first + names.len()], names);
    }

    #[test]
    fn a_failed_trial_keeps_its_line_and_its_message_is_quoted() {
        let text = csv(&[sample::failed("bun", "said \"no\",\nthen died")]);
        assert!(text.contains(",server-exited,\"said \"\"no\"\",\nthen died\","));
        assert!(text.ends_with(",ab12,0.5,,,,,\r\n"));
    }
}
