//! A run for other programs: JSON by `schema/run.schema.json`, and CSV with a line a trial.

mod columns;
mod line;

use std::io::{self, Write};

use serde_json::{Value, json};

use prony_model::{Run, TrialRecord, TrialResult};

pub use columns::CSV_COLUMNS;
use line::Line;

/// What the `schema` field of an exported run says.
pub const RUN_SCHEMA: &str = "prony-run/2";

/// A run and its trials as one JSON document: `{"schema": "prony-run/2", "run": …, "trials": […]}`.
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
            server: run
                .servers
                .iter()
                .find(|server| server.id == record.trial.server),
            measured: match &record.result {
                TrialResult::Measured(measurement) => Some(measurement),
                TrialResult::Failed { .. } => None,
            },
        };
        write_line(&mut writer, line.fields().into_iter())?;
    }
    writer.flush()
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
    use prony_model::{LoadShape, MachineNoise, Outcome, sample};

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
        assert_eq!(field(1, "server"), "go-nethttp");
        assert_eq!(field(2, "round"), "2");
        assert_eq!(field(1, "ok"), "100");
        assert_eq!(field(1, "timed_out"), "2");
        assert_eq!(field(1, "latency_p50_ns"), "5003");
        assert_eq!(field(1, "client_limited"), "false");
        assert_eq!(field(1, "peak_memory_bytes"), "12582912");
        assert_eq!(field(1, "source_hash"), "ab12");
        assert_eq!(field(1, "log_lines_written"), "100");
        assert_eq!(field(1, "think_time_s"), "0.5");
        assert_eq!(field(1, "queued"), "7");
        assert_eq!(field(1, "schedule_lag_p50_ns"), "5003");
        for (name, value) in [
            ("attempt", "2"),
            ("noisy", "steal other-programs warm-up"),
            ("generator_run_queue_wait_s", "0.02"),
            ("generator_voluntary_switches", "30"),
            ("generator_involuntary_switches", "4"),
            ("memory_before_bytes", "10485760"),
            ("server_cycles", "9000000"),
            ("server_instructions", "8000000"),
            ("server_run_queue_wait_s", "0.02"),
            ("server_voluntary_switches", "30"),
            ("server_involuntary_switches", "4"),
            ("server_cpus_steal_share", "0.01"),
            ("server_cpus_foreign_share", "0.02"),
            ("load_cpus_steal_share", "0"),
            ("load_cpus_foreign_share", "0"),
            ("frequency_low_mhz", "2400"),
            ("frequency_high_mhz", "3100.5"),
            ("energy_j", "12.5"),
            ("process", "kept"),
            ("loaded_before_s", "12"),
            ("warmup_searched_s", "9.5"),
            ("warmup_limit_s", "20"),
            ("time_to_warm_s", "7.5"),
            ("still_improving", "false"),
        ] {
            assert_eq!(field(1, name), value, "{name}");
        }
    }

    /// The field of that name in the only line; the fields hold no quotes and no commas.
    fn field(record: TrialRecord, name: &str) -> String {
        let text = csv(&[record]);
        let line = text.split_terminator("\r\n").nth(1).unwrap();
        let column = CSV_COLUMNS.iter().position(|c| *c == name).unwrap();
        line.split(',').nth(column).unwrap().to_owned()
    }

    #[test]
    fn a_rate_says_what_was_asked_for_and_how_it_was_kept() {
        let mut record = sample::measured_at_a_rate();
        if let LoadShape::Rate(schedule) = &mut record.trial.load.shape {
            schedule.stages.pop(); // Several have commas between them, and quotes around them.
        }
        for (name, value) in [
            ("schedule", "1k/s..5k/s:30s"),
            ("arrivals", "poisson"),
            ("burst", "10"),
            ("max_connections", "500"),
            ("pipeline", "16"),
            ("requests_per_connection", "100"),
            ("deadline_s", "1"),
            ("timeout_s", "2"),
            ("seed", "18446744073709551615"),
            ("spin", "true"),
            ("streams", "10"),
            ("asked", "110"),
            ("sent", "99"),
            ("rate_ratio", "0.9"),
            ("bound_hits", "3"),
            ("most_connections", "80"),
            ("first_byte_p50_ns", "5003"),
            ("events", "300"),
            ("events_per_s", "300"),
            ("first_event_p99_ns", "9903"),
            ("event_gap_p50_ns", "5003"),
            ("streams_open_at_end", "9"),
            ("stream_requests", "11"),
            ("stream_events", "500"),
            ("generator_spin_s", "0.05"),
            ("generator_system_calls", "204"),
            ("generator_cycles", "3000000"),
            ("generator_instructions", "2000000"),
            ("client_limited_by", "a worker was 91 % busy"),
            ("think_time_s", ""),
        ] {
            assert_eq!(field(record.clone(), name), value, "{name}");
        }
    }

    #[test]
    fn what_a_load_or_an_old_record_does_not_have_is_empty() {
        let mut record = sample::measured("bun", 1);
        let TrialResult::Measured(measured) = &mut record.result else {
            panic!("it was measured");
        };
        measured.load.open.as_mut().unwrap().asked = 0;
        measured.load.generator.system_calls = 0;
        (measured.load.events, measured.load.streams) = (None, None);
        (measured.server.instructions, measured.server.scheduling) = (None, None);
        measured.noise = MachineNoise::default();
        (measured.startup_ns, measured.warm_up) = (None, None);
        for name in [
            "startup_ns",
            "process",
            "time_to_warm_s",
            "still_improving",
            "schedule",
            "max_connections",
            "rate_ratio",
            "bound_hits",
            "events",
            "stream_events",
            "generator_system_calls",
            "server_instructions",
            "server_run_queue_wait_s",
            "server_cpus_steal_share",
            "load_cpus_foreign_share",
            "frequency_low_mhz",
            "energy_j",
        ] {
            assert_eq!(field(record.clone(), name), "", "{name}");
        }
        assert_eq!(field(record, "queued"), "7");
    }

    #[test]
    fn several_stages_are_one_field() {
        let text = csv(&[sample::measured_at_a_rate()]);
        assert!(text.contains(",\"1k/s..5k/s:30s, 5k/s\",poisson,"));
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
        let asked_for = "0.5,,,,,,,,,,1,,,2,0,false,0";
        let (nothing, nothing_more) = (",".repeat(24), ",".repeat(22));
        let end = format!(",ab12,{asked_for}{nothing},1,{nothing_more}\r\n");
        assert!(text.ends_with(&end), "{text}");
    }
}
