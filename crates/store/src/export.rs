//! A run for other programs: JSON as in `schema/run.schema.json`, and CSV with one line per trial.

use std::io::{self, Write};

use prony_model::{
    Events, GeneratorCost, HeldStreams, LatencySummary, LoadResult, LoadShape, MachineNoise,
    Measurement, NoiseCause, OpenLoop, Outcome, Run, Schedule, ServerCost, ServerRecord, Trial,
    TrialRecord, TrialResult, WarmUp,
};
use serde_json::{Value, json};

/// The `schema` field of an exported run.
pub const RUN_SCHEMA: &str = "prony-run/2";

/// A run and its trials as one JSON document: `{"schema": "prony-run/2", "run": …, "trials": […]}`.
pub fn export_json(run: &Run, trials: &[TrialRecord]) -> Value {
    json!({ "schema": RUN_SCHEMA, "run": run, "trials": trials })
}

/// Writes a run as CSV (RFC 4180): a line with the names of the columns, then one line for each trial.
///
/// Failed trials have a line too, with the kind of failure in `result` and empty figures.
///
/// # Errors
/// Those of the writer.
pub fn export_csv(run: &Run, trials: &[TrialRecord], mut writer: impl Write) -> io::Result<()> {
    let names = COLUMNS.iter().map(|(name, _)| (*name).to_owned());
    write_line(&mut writer, names)?;
    for record in trials {
        let line = Line { run, record };
        write_line(&mut writer, COLUMNS.iter().map(|(_, cell)| cell(&line)))?;
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

/// One trial of a run.
struct Line<'a> {
    run: &'a Run,
    record: &'a TrialRecord,
}

/// A column's name, and how a line fills it.
type Column = (&'static str, fn(&Line<'_>) -> String);

/// The columns in order, each with its cell. Add new ones at the end only.
///
/// Durations named `_ns` are in nanoseconds and `_s` in seconds; sizes are in bytes; shares run from 0 to 1. The
/// columns from `ok` to `unfinished` count requests by outcome, those from `schedule` to `streams` are the configured
/// load, and those that begin with `generator_` are the cost of the load generator. A cell is empty if the load, the
/// machine or an old record does not have the figure.
#[rustfmt::skip]
const COLUMNS: [Column; 123] = [
    ("run", |l| l.run.id.clone()),
    ("sequence", |l| l.trial().sequence.to_string()),
    ("started_at", |l| l.record.started_at.clone()),
    ("server", |l| l.trial().server.clone()),
    ("language", |l| text(l.server().map(|it| &it.language))),
    ("framework", |l| text(l.server().map(|it| &it.framework))),
    ("version", |l| text(l.server().and_then(|it| it.version.as_ref()))),
    ("class", |l| text(l.server().map(|it| &it.class))),
    ("workload", |l| l.trial().workload.clone()),
    ("shape", |l| l.trial().load.shape.name().to_owned()),
    ("connections", |l| l.trial().load.connections.to_string()),
    ("threads", |l| l.trial().load.threads.to_string()),
    ("round", |l| l.trial().round.to_string()),
    ("result", |l| l.result().0.to_owned()),
    ("failure", |l| l.result().1.to_owned()),
    ("duration_s", |l| text(l.load().map(|it| it.duration_s))),
    ("warmup_s", |l| l.warmup_s().to_string()),
    ("requests", |l| text(l.load().map(|it| it.requests))),
    ("ok", |l| text(l.load().map(|it| it.outcomes[Outcome::Ok]))),
    ("wrong_status", |l| text(l.load().map(|it| it.outcomes[Outcome::WrongStatus]))),
    ("wrong_body", |l| text(l.load().map(|it| it.outcomes[Outcome::WrongBody]))),
    ("malformed", |l| text(l.load().map(|it| it.outcomes[Outcome::Malformed]))),
    ("truncated", |l| text(l.load().map(|it| it.outcomes[Outcome::Truncated]))),
    ("refused", |l| text(l.load().map(|it| it.outcomes[Outcome::Refused]))),
    ("reset", |l| text(l.load().map(|it| it.outcomes[Outcome::Reset]))),
    ("timed_out", |l| text(l.load().map(|it| it.outcomes[Outcome::TimedOut]))),
    ("tls_failure", |l| text(l.load().map(|it| it.outcomes[Outcome::TlsFailure]))),
    ("shed", |l| text(l.load().map(|it| it.outcomes[Outcome::Shed]))),
    ("unfinished", |l| text(l.load().map(|it| it.outcomes[Outcome::Unfinished]))),
    ("rate_per_s", |l| text(l.load().map(|it| it.rate_per_s))),
    ("bytes_read", |l| text(l.load().map(|it| it.bytes_read))),
    ("bytes_written", |l| text(l.load().map(|it| it.bytes_written))),
    ("connections_opened", |l| text(l.load().map(|it| it.connections_opened))),
    ("reconnects", |l| text(l.load().map(|it| it.reconnects))),
    ("latency_min_ns", |l| text(l.latency().map(|it| it.min))),
    ("latency_mean_ns", |l| text(l.latency().map(|it| it.mean))),
    ("latency_stdev_ns", |l| text(l.latency().map(|it| it.stdev))),
    ("latency_p50_ns", |l| text(l.latency().map(|it| it.p50))),
    ("latency_p90_ns", |l| text(l.latency().map(|it| it.p90))),
    ("latency_p99_ns", |l| text(l.latency().map(|it| it.p99))),
    ("latency_p999_ns", |l| text(l.latency().map(|it| it.p999))),
    ("latency_max_ns", |l| text(l.latency().map(|it| it.max))),
    ("generator_cpu_user_s", |l| text(l.generator().map(|it| it.cpu_user_s))),
    ("generator_cpu_system_s", |l| text(l.generator().map(|it| it.cpu_system_s))),
    ("generator_busy_max", |l| text(l.generator().map(|it| it.busy_max))),
    ("generator_loop", |l| text(l.generator().map(|it| &it.event_loop))),
    ("client_limited", |l| text(l.measured().map(|it| it.client_limited()))),
    ("server_cpu_user_s", |l| text(l.cost().map(|it| it.cpu_user_s))),
    ("server_cpu_system_s", |l| text(l.cost().map(|it| it.cpu_system_s))),
    ("server_busy_share", |l| text(l.cost().map(|it| it.busy_share))),
    ("peak_memory_bytes", |l| text(l.cost().map(|it| it.peak_memory_bytes))),
    ("processes", |l| text(l.cost().map(|it| it.processes))),
    ("startup_ns", |l| text(l.measured().and_then(|it| it.startup_ns))),
    ("artefact_bytes", |l| text(l.server().and_then(|it| it.artefact_bytes))),
    ("steal_share", |l| text(l.noise().map(|it| it.steal_share))),
    ("idle_share", |l| text(l.noise().map(|it| it.idle_share))),
    ("log_lines_written", |l| text(l.measured().and_then(|it| Some(it.log_lines?.written)))),
    ("source_hash", |l| text(l.server().map(|it| &it.source_hash))),
    ("think_time_s", |l| text(l.think_time_s())),
    ("resent", |l| text(l.load().map(|it| it.resent))),
    ("port_waits", |l| text(l.load().map(|it| it.port_waits))),
    ("queued", |l| text(l.open().map(|it| it.queued))),
    ("schedule_lag_p50_ns", |l| text(l.lag().map(|it| it.p50))),
    ("schedule_lag_p99_ns", |l| text(l.lag().map(|it| it.p99))),
    ("schedule", |l| text(l.schedule().map(|it| it.stages_text()))),
    ("arrivals", |l| text(l.schedule().map(|it| it.arrivals.name()))),
    ("burst", |l| text(l.schedule().map(|it| it.burst))),
    ("max_connections", |l| text(l.trial().load.max_connections)),
    ("pipeline", |l| l.trial().load.pipeline.to_string()),
    ("requests_per_connection", |l| text(l.trial().load.requests_per_connection)),
    ("deadline_s", |l| text(l.trial().load.deadline_s)),
    ("timeout_s", |l| l.trial().load.timeout_s.to_string()),
    ("seed", |l| l.trial().load.seed.to_string()),
    ("spin", |l| l.trial().load.spin.to_string()),
    ("streams", |l| l.trial().load.streams.to_string()),
    ("asked", |l| text(l.kept().map(|it| it.asked))),
    ("sent", |l| text(l.kept().map(|it| it.sent))),
    ("rate_ratio", |l| text(l.kept().map(|it| it.rate_ratio))),
    ("bound_hits", |l| text(l.kept().map(|it| it.bound_hits))),
    ("most_connections", |l| text(l.kept().map(|it| it.most_connections))),
    ("first_byte_p50_ns", |l| text(l.first_byte().map(|it| it.p50))),
    ("first_byte_p99_ns", |l| text(l.first_byte().map(|it| it.p99))),
    ("events", |l| text(l.events().map(|it| it.count))),
    ("events_per_s", |l| text(l.events().map(|it| it.per_s))),
    ("first_event_p50_ns", |l| text(l.events().and_then(|it| Some(it.first_ns.as_ref()?.p50)))),
    ("first_event_p99_ns", |l| text(l.events().and_then(|it| Some(it.first_ns.as_ref()?.p99)))),
    ("event_gap_p50_ns", |l| text(l.events().and_then(|it| Some(it.gap_ns.as_ref()?.p50)))),
    ("event_gap_p99_ns", |l| text(l.events().and_then(|it| Some(it.gap_ns.as_ref()?.p99)))),
    ("streams_open_at_end", |l| text(l.streams().map(|it| it.open_at_end))),
    ("stream_requests", |l| text(l.streams().map(|it| it.requests))),
    ("stream_events", |l| text(l.streams().map(|it| it.events.count))),
    ("stream_events_per_s", |l| text(l.streams().map(|it| it.events.per_s))),
    ("stream_event_gap_p50_ns", |l| text(l.streams().and_then(|it| Some(it.events.gap_ns.as_ref()?.p50)))),
    ("stream_event_gap_p99_ns", |l| text(l.streams().and_then(|it| Some(it.events.gap_ns.as_ref()?.p99)))),
    ("generator_spin_s", |l| text(l.generator().map(|it| it.spin_s))),
    ("generator_system_calls", |l| text(l.generator().map(|it| it.system_calls).filter(|&calls| calls > 0))),
    ("generator_cycles", |l| text(l.generator().and_then(|it| it.cycles))),
    ("generator_instructions", |l| text(l.generator().and_then(|it| it.instructions))),
    ("client_limited_by", |l| text(l.generator().and_then(|it| it.client_limited_by.as_ref()))),
    ("attempt", |l| l.record.attempt.to_string()),
    ("noisy", |l| l.noisy()),
    ("generator_run_queue_wait_s", |l| text(l.generator().and_then(|it| Some(it.scheduling?.run_queue_wait_s)))),
    ("generator_voluntary_switches", |l| text(l.generator().and_then(|it| Some(it.scheduling?.voluntary_switches)))),
    ("generator_involuntary_switches", |l| text(l.generator().and_then(|it| Some(it.scheduling?.involuntary_switches)))),
    ("memory_before_bytes", |l| text(l.cost().and_then(|it| it.memory_before_bytes))),
    ("server_cycles", |l| text(l.cost().and_then(|it| it.cycles))),
    ("server_instructions", |l| text(l.cost().and_then(|it| it.instructions))),
    ("server_run_queue_wait_s", |l| text(l.cost().and_then(|it| Some(it.scheduling?.run_queue_wait_s)))),
    ("server_voluntary_switches", |l| text(l.cost().and_then(|it| Some(it.scheduling?.voluntary_switches)))),
    ("server_involuntary_switches", |l| text(l.cost().and_then(|it| Some(it.scheduling?.involuntary_switches)))),
    ("server_cpus_steal_share", |l| text(l.noise().and_then(|it| Some(it.server_cpus?.steal_share)))),
    ("server_cpus_foreign_share", |l| text(l.noise().and_then(|it| Some(it.server_cpus?.foreign_share)))),
    ("load_cpus_steal_share", |l| text(l.noise().and_then(|it| Some(it.load_cpus?.steal_share)))),
    ("load_cpus_foreign_share", |l| text(l.noise().and_then(|it| Some(it.load_cpus?.foreign_share)))),
    ("frequency_low_mhz", |l| text(l.noise().and_then(|it| Some(it.frequency_mhz?.0)))),
    ("frequency_high_mhz", |l| text(l.noise().and_then(|it| Some(it.frequency_mhz?.1)))),
    ("energy_j", |l| text(l.noise().and_then(|it| it.energy_j))),
    ("process", |l| text(l.warm_up().map(|it| it.process.name()))),
    ("loaded_before_s", |l| text(l.warm_up().map(|it| it.loaded_s))),
    ("warmup_searched_s", |l| text(l.warm_up().map(|it| it.searched_s))),
    ("warmup_limit_s", |l| text(l.warm_up().map(|it| it.limit_s))),
    ("time_to_warm_s", |l| text(l.warm_up().and_then(|it| it.time_to_warm_s))),
    ("still_improving", |l| text(l.warm_up().map(|it| it.still_improving))),
];

impl<'a> Line<'a> {
    fn trial(&self) -> &'a Trial {
        &self.record.trial
    }

    fn server(&self) -> Option<&'a ServerRecord> {
        let mut servers = self.run.servers.iter();
        servers.find(|server| server.id == self.record.trial.server)
    }

    /// The kind of result, and the message of a failure.
    fn result(&self) -> (&'static str, &'a str) {
        match &self.record.result {
            TrialResult::Measured(_) => ("measured", ""),
            TrialResult::Failed { kind, message } => (kind.name(), message),
        }
    }

    /// `None` for a trial that failed.
    fn measured(&self) -> Option<&'a Measurement> {
        self.record.measurement()
    }

    fn noisy(&self) -> String {
        let causes = self.record.noisy.iter().map(NoiseCause::name);
        causes.collect::<Vec<_>>().join(" ")
    }

    /// The actual warm-up: longer than the suite's if that was too short.
    fn warmup_s(&self) -> f64 {
        let used = self.load().map(|load| load.load.warmup_s);
        used.unwrap_or(self.trial().load.warmup_s)
    }

    fn think_time_s(&self) -> Option<f64> {
        match self.trial().load.shape {
            LoadShape::Closed | LoadShape::Rate(_) => None,
            LoadShape::UsersClosed { think_time_s } | LoadShape::UsersOpen { think_time_s } => {
                Some(think_time_s)
            }
        }
    }

    fn schedule(&self) -> Option<&'a Schedule> {
        match &self.trial().load.shape {
            LoadShape::Rate(schedule) => Some(schedule),
            _ => None,
        }
    }

    fn load(&self) -> Option<&'a LoadResult> {
        self.measured().map(|measured| &measured.load)
    }

    fn latency(&self) -> Option<&'a LatencySummary> {
        self.load()?.latency_ns.as_ref()
    }

    fn first_byte(&self) -> Option<&'a LatencySummary> {
        self.load()?.first_byte_ns.as_ref()
    }

    fn open(&self) -> Option<&'a OpenLoop> {
        self.load()?.open.as_ref()
    }

    /// How well an open loop kept its schedule; older records do not have it.
    fn kept(&self) -> Option<&'a OpenLoop> {
        self.open().filter(|open| open.asked > 0)
    }

    fn lag(&self) -> Option<&'a LatencySummary> {
        self.open()?.schedule_lag_ns.as_ref()
    }

    fn events(&self) -> Option<&'a Events> {
        self.load()?.events.as_ref()
    }

    fn streams(&self) -> Option<&'a HeldStreams> {
        self.load()?.streams.as_ref()
    }

    fn generator(&self) -> Option<&'a GeneratorCost> {
        self.load().map(|load| &load.generator)
    }

    fn cost(&self) -> Option<&'a ServerCost> {
        self.measured().map(|measured| &measured.server)
    }

    fn noise(&self) -> Option<&'a MachineNoise> {
        self.measured().map(|measured| &measured.noise)
    }

    fn warm_up(&self) -> Option<WarmUp> {
        self.measured()?.warm_up
    }
}

/// The figure, or nothing.
fn text(figure: Option<impl ToString>) -> String {
    figure.map_or(String::new(), |figure| figure.to_string())
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
    fn every_line_has_every_column_in_its_place() {
        let text = csv(&[
            sample::measured("go-nethttp", 1),
            sample::measured("bun", 2),
        ]);
        let lines: Vec<&str> = text.split_terminator("\r\n").collect();
        assert_eq!(lines.len(), 3);
        for line in &lines {
            assert_eq!(line.split(',').count(), COLUMNS.len(), "{line}");
        }
        let field = |line: usize, name: &str| {
            let column = COLUMNS.iter().position(|(one, _)| *one == name).unwrap();
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

    /// The field with this name in the only line, in which no field needs quotes.
    fn field(record: TrialRecord, name: &str) -> String {
        let text = csv(&[record]);
        let line = text.split_terminator("\r\n").nth(1).unwrap();
        let column = COLUMNS.iter().position(|(one, _)| *one == name).unwrap();
        line.split(',').nth(column).unwrap().to_owned()
    }

    #[test]
    fn a_rate_has_its_schedule_and_how_well_it_was_kept() {
        let mut record = sample::measured_at_a_rate();
        if let LoadShape::Rate(schedule) = &mut record.trial.load.shape {
            schedule.stages.pop(); // Several would be quoted, because of the commas between them.
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
    fn figures_that_a_record_does_not_have_are_empty() {
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
        let first = COLUMNS.iter().position(|(one, _)| *one == "ok").unwrap();
        let outcomes = COLUMNS[first..].iter().map(|(name, _)| *name);
        let names = Outcome::ALL.map(Outcome::name);
        assert!(outcomes.take(names.len()).eq(names));
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
