//! A run for other programs: JSON as in `schema/run.schema.json`, and CSV with one line per trial.

use std::io::{self, Write};

use prony_model::{Explanation, LoadShape, Measurement, NoiseCause, Run, TrialRecord, TrialResult};
use serde::Serialize;
use serde_json::{Value, json};

/// The `schema` field of an exported run.
pub const RUN_SCHEMA: &str = "prony-run/4";

/// A run and its trials, in the order in which they ran.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RunDocument<'a> {
    #[cfg_attr(feature = "schema", schemars(extend("const" = RUN_SCHEMA)))]
    schema: &'static str,
    /// The run.
    run: &'a Run,
    /// The trials.
    trials: &'a [TrialRecord],
    /// What a request costs each server, and where that goes; absent if that was not measured.
    #[serde(skip_serializing_if = "<[Explanation]>::is_empty")]
    explanations: &'a [Explanation],
}

/// A run, its trials and, if there are any, its explanations as one JSON document:
/// `{"schema": "prony-run/4", "run": …, "trials": […], "explanations": […]}`.
pub fn export_json(run: &Run, trials: &[TrialRecord], explanations: &[Explanation]) -> Value {
    json!(RunDocument {
        schema: RUN_SCHEMA,
        run,
        trials,
        explanations,
    })
}

/// Writes a run as CSV (RFC 4180): a line with the names of the columns, then one line for each trial.
///
/// Failed trials have a line too, with the kind of failure in `result` and empty figures.
///
/// # Errors
/// If the writer fails.
pub fn export_csv(run: &Run, trials: &[TrialRecord], mut writer: impl Write) -> io::Result<()> {
    let names = columns().map(|(name, _)| name.to_owned());
    write_line(&mut writer, names)?;
    for record in trials {
        let document = document(run, record);
        let cells = columns().map(|(_, place)| text(document.pointer(place)));
        write_line(&mut writer, cells)?;
    }
    writer.flush()
}

fn write_line(writer: &mut impl Write, fields: impl Iterator<Item = String>) -> io::Result<()> {
    let line: Vec<String> = fields.map(quoted).collect();
    write!(writer, "{}\r\n", line.join(","))
}

/// RFC 4180: a field with a comma, a quote or a line end is quoted; quotes inside it are doubled.
fn quoted(field: String) -> String {
    if field.contains([',', '"', '\r', '\n']) {
        format!("\"{}\"", field.replace('"', "\"\""))
    } else {
        field
    }
}

/// The names of the columns in order, each with the place of its figure in the [`document`] of a trial.
fn columns() -> impl Iterator<Item = (&'static str, &'static str)> {
    let lines = include_str!("csv_columns.txt").lines();
    let lines = lines.filter(|line| !line.starts_with('#'));
    lines.filter_map(|line| {
        line.split_once(' ')
            .map(|(name, place)| (name, place.trim_start()))
    })
}

/// What the cells of a trial's line are taken from: its record, and figures that the record has in another form.
fn document(run: &Run, record: &TrialRecord) -> Value {
    let trial = &record.trial;
    let measured = record.measurement();
    let load = measured.map(|measured| &measured.load);
    let (result, failure) = match &record.result {
        TrialResult::Measured(_) => ("measured", None),
        TrialResult::Failed { kind, message } => (kind.name(), Some(message)),
    };
    let schedule = match &trial.load.shape {
        LoadShape::Rate(schedule) => Some(schedule.stages_text()),
        _ => None,
    };
    let noisy: Vec<&str> = record.noisy.iter().map(NoiseCause::name).collect();
    // Older records have neither.
    let kept = load.and_then(|load| load.open.as_ref().filter(|open| open.due > 0));
    let calls = load.map(|load| load.generator.system_calls);
    json!({
        "run": run.id,
        "server": run.server(&trial.server),
        "record": record,
        "trial": trial,
        "measured": measured,
        "result": result,
        "failure": failure,
        // The actual warm-up: longer than the suite's if that was too short.
        "warmup_s": load.map_or(trial.load.warmup, |load| load.load.warmup),
        "client_limited": measured.map(Measurement::client_limited),
        "schedule": schedule,
        "kept": kept,
        "system_calls": calls.filter(|&calls| calls > 0),
        "noisy": noisy.join(" "),
    })
}

/// The figure as text; nothing if there is none.
fn text(figure: Option<&Value>) -> String {
    match figure {
        None | Some(Value::Null) => String::new(),
        Some(Value::String(text)) => text.clone(),
        // `12`, not JSON's `12.0`.
        Some(Value::Number(number)) if number.is_f64() => {
            number.as_f64().unwrap_or_default().to_string()
        }
        Some(figure) => figure.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use prony_model::{MachineNoise, Outcome, sample};

    fn csv(trials: &[TrialRecord]) -> String {
        let mut bytes = Vec::new();
        export_csv(&sample::run("r1"), trials, &mut bytes).unwrap();
        String::from_utf8(bytes).unwrap()
    }

    /// That the only line, in which no field needs quotes, has these fields.
    #[track_caller]
    fn assert_fields(record: &TrialRecord, expected: &str) {
        let text = csv(std::slice::from_ref(record));
        let line = text.split_terminator("\r\n").nth(1).unwrap();
        for field in expected.lines().flat_map(|line| line.split(" | ")) {
            let (name, value) = field.trim().split_once('=').unwrap();
            let column = columns().position(|(one, _)| one == name).unwrap();
            assert_eq!(line.split(',').nth(column), Some(value), "{name}");
        }
    }

    #[test]
    fn every_line_has_every_column_in_its_place() {
        let first = sample::measured("go-nethttp", 1);
        let text = csv(&[first.clone(), sample::measured("bun", 2)]);
        let lines: Vec<&str> = text.split_terminator("\r\n").collect();
        assert_eq!(lines.len(), 3);
        for line in &lines {
            assert_eq!(line.split(',').count(), columns().count(), "{line}");
        }
        assert_fields(&sample::measured("bun", 2), "server=bun | round=2");
        assert_fields(
            &first,
            "server=go-nethttp | round=1 | ok=100 | timed_out=2 | latency_p50_ns=5003 | client_limited=false
            peak_memory_bytes=12582912 | source_hash=ab12 | log_lines_written=100 | think_time_s=0.5 | queued=7
            schedule_lag_p50_ns=5003 | attempt=2 | noisy=steal other-programs warm-up | generator_run_queue_wait_s=0.02
            generator_voluntary_switches=30 | generator_involuntary_switches=4 | memory_before_bytes=10485760
            server_cycles=9000000 | server_instructions=8000000 | server_run_queue_wait_s=0.02
            server_voluntary_switches=30 | server_involuntary_switches=4 | server_cpus_steal_share=0.01
            server_cpus_foreign_share=0.02 | load_cpus_steal_share=0 | load_cpus_foreign_share=0
            frequency_low_mhz=2400 | frequency_high_mhz=3100.5 | energy_j=12.5 | process=kept | loaded_before_s=12
            warmup_searched_s=9.5 | warmup_limit_s=20 | time_to_warm_s=7.5 | still_improving=false",
        );
    }

    #[test]
    fn the_line_of_a_rate_has_its_schedule_and_how_well_it_was_kept() {
        let mut record = sample::measured_at_a_rate();
        if let LoadShape::Rate(schedule) = &mut record.trial.load.shape {
            schedule.stages.pop(); // Several would be quoted, because of the commas between them.
        }
        assert_fields(
            &record,
            "schedule=1k/s..5k/s:30s | arrivals=poisson | burst=10 | max_connections=500 | pipeline=16
            requests_per_connection=100 | deadline_s=1 | timeout_s=2 | seed=18446744073709551615 | spin=true | streams=10
            due=110 | sent=99 | rate_ratio=0.9 | bound_hits=3 | most_connections=80 | first_byte_p50_ns=5003
            events=300 | events_per_s=300 | first_event_p99_ns=9903 | event_gap_p50_ns=5003 | streams_open_at_end=9
            stream_requests=11 | stream_events=500 | generator_spin_s=0.05 | generator_system_calls=204
            generator_cycles=3000000 | generator_instructions=2000000 | client_limited_by=a thread was 91 % busy
            think_time_s=",
        );
    }

    #[test]
    fn figures_that_a_record_does_not_have_are_empty() {
        let mut record = sample::measured("bun", 1);
        let TrialResult::Measured(measured) = &mut record.result else {
            panic!("it was measured");
        };
        measured.load.open.as_mut().unwrap().due = 0;
        measured.load.generator.system_calls = 0;
        (measured.load.events, measured.load.streams) = (None, None);
        let server = measured.server.as_mut().unwrap();
        (server.instructions, server.scheduling) = (None, None);
        measured.noise = MachineNoise::default();
        (measured.startup_ns, measured.warm_up) = (None, None);
        assert_fields(
            &record,
            "startup_ns= | process= | time_to_warm_s= | still_improving= | schedule= | max_connections= | rate_ratio=
            bound_hits= | events= | stream_events= | generator_system_calls= | server_instructions=
            server_run_queue_wait_s= | server_cpus_steal_share= | load_cpus_foreign_share= | frequency_low_mhz=
            energy_j= | queued=7",
        );
    }

    #[test]
    fn every_column_has_its_place_in_a_record() {
        let run = sample::run("r1");
        let documents = [
            document(&run, &sample::measured("bun", 1)),
            document(&run, &sample::measured_at_a_rate()),
        ];
        for (name, place) in columns() {
            let mut documents = documents.iter();
            assert!(
                documents.any(|one| one.pointer(place).is_some()),
                "{name}: {place}"
            );
        }
    }

    #[test]
    fn several_stages_are_one_field() {
        let text = csv(&[sample::measured_at_a_rate()]);
        assert!(text.contains(",\"1k/s..5k/s:30s, 5k/s\",poisson,"));
    }

    #[test]
    fn every_outcome_has_its_column_in_order() {
        let first = columns().position(|(one, _)| one == "ok").unwrap();
        let outcomes = columns().skip(first).map(|(name, _)| name);
        let names = Outcome::ALL.map(Outcome::name);
        assert!(outcomes.take(names.len()).eq(names));
    }

    #[test]
    fn a_failed_trial_keeps_its_line_and_its_message_is_quoted() {
        let text = csv(&[sample::failed("bun", "said \"no\",\nthen died")]);
        assert!(text.contains(",server-exited,\"said \"\"no\"\",\nthen died\","));
        let planned = "0.5,,,,,,,,,,1,,,2,0,false,0";
        let (nothing, nothing_more) = (",".repeat(24), ",".repeat(32));
        let end = format!(",ab12,{planned}{nothing},1,{nothing_more}false\r\n");
        assert!(text.ends_with(&end), "{text}");
    }
}
