//! A trial's line in the CSV.

use prony_model::{
    LoadShape, Measurement, NoiseCause, Outcome, Run, Schedule, Scheduling, ServerRecord,
    TrialRecord, TrialResult,
};

/// One trial and what its line is made of.
pub(super) struct Line<'a> {
    pub run: &'a Run,
    pub record: &'a TrialRecord,
    pub server: Option<&'a ServerRecord>,
    pub measured: Option<&'a Measurement>,
}

impl Line<'_> {
    /// The fields in the order of [`CSV_COLUMNS`].
    pub fn fields(&self) -> Vec<String> {
        let mut fields = self.identity();
        fields.extend(self.load());
        fields.extend(self.latency());
        fields.extend(self.costs());
        fields.extend(self.schedule());
        fields.extend(self.asked_for());
        fields.extend(self.kept());
        fields.extend(self.events());
        fields.extend(self.streams());
        fields.extend(self.generator());
        fields.extend(self.attempt());
        fields.extend(self.scheduling_of_load());
        fields.extend(self.more_server_costs());
        fields.extend(self.noise());
        fields.extend(self.warm_up());
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
            trial.server.clone(),
            self.of_server(|server| server.language.clone()),
            self.of_server(|server| server.framework.clone()),
            self.of_server(|server| server.version.clone().unwrap_or_default()),
            self.of_server(|server| server.class.clone()),
            trial.workload.clone(),
            trial.load.shape.name().to_owned(),
            trial.load.connections.to_string(),
            trial.load.threads.to_string(),
            trial.round.to_string(),
            result.to_owned(),
            failure.to_owned(),
        ]
    }

    /// The warm-up that was used: where the suite's was too short, a longer one.
    fn warmup_s(&self) -> f64 {
        match &self.record.result {
            TrialResult::Measured(measurement) => measurement.load.load.warmup_s,
            TrialResult::Failed { .. } => self.record.trial.load.warmup_s,
        }
    }

    fn load(&self) -> Vec<String> {
        let mut fields = vec![
            self.of(|m| m.load.duration_s),
            self.warmup_s().to_string(),
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
            text(self.measured.and_then(|m| m.startup_ns)),
            self.of_server(|s| s.artefact_bytes.map_or(String::new(), |b| b.to_string())),
            self.of(|m| m.noise.steal_share),
            self.of(|m| m.noise.idle_share),
            self.measured
                .and_then(|m| m.log_lines)
                .map_or(String::new(), |lines| lines.written.to_string()),
            self.of_server(|server| server.source_hash.clone()),
        ]
    }

    fn schedule(&self) -> Vec<String> {
        let open = self.measured.and_then(|m| m.load.open.as_ref());
        let lag = open.and_then(|open| open.schedule_lag_ns.as_ref());
        vec![
            match self.record.trial.load.shape {
                LoadShape::Closed | LoadShape::Rate(_) => String::new(),
                LoadShape::UsersClosed { think_time_s } | LoadShape::UsersOpen { think_time_s } => {
                    think_time_s.to_string()
                }
            },
            self.of(|m| m.load.resent),
            self.of(|m| m.load.port_waits),
            text(open.map(|open| open.queued)),
            text(lag.map(|lag| lag.p50)),
            text(lag.map(|lag| lag.p99)),
        ]
    }

    /// What was asked for beside the shape, the connections and the think time.
    fn asked_for(&self) -> Vec<String> {
        let load = &self.record.trial.load;
        let schedule = match &load.shape {
            LoadShape::Rate(schedule) => Some(schedule),
            _ => None,
        };
        vec![
            text(schedule.map(Schedule::stages_text)),
            text(schedule.map(|schedule| schedule.arrivals.name())),
            text(schedule.map(|schedule| schedule.burst)),
            text(load.max_connections),
            load.pipeline.to_string(),
            text(load.requests_per_connection),
            text(load.deadline_s),
            load.timeout_s.to_string(),
            load.seed.to_string(),
            load.spin.to_string(),
            load.streams.to_string(),
        ]
    }

    /// How the schedule of an open loop was kept. Records from before requests were counted by their
    /// instants have no `asked`.
    fn kept(&self) -> Vec<String> {
        let load = self.measured.map(|m| &m.load);
        let open = load.and_then(|load| load.open.as_ref());
        let open = open.filter(|open| open.asked > 0);
        let first_byte = load.and_then(|load| load.first_byte_ns.as_ref());
        vec![
            text(open.map(|open| open.asked)),
            text(open.map(|open| open.sent)),
            text(open.map(|open| open.rate_ratio)),
            text(open.map(|open| open.bound_hits)),
            text(open.map(|open| open.most_connections)),
            text(first_byte.map(|time| time.p50)),
            text(first_byte.map(|time| time.p99)),
        ]
    }

    fn events(&self) -> Vec<String> {
        let events = self.measured.and_then(|m| m.load.events.as_ref());
        let first = events.and_then(|events| events.first_ns.as_ref());
        let gap = events.and_then(|events| events.gap_ns.as_ref());
        vec![
            text(events.map(|events| events.count)),
            text(events.map(|events| events.per_s)),
            text(first.map(|time| time.p50)),
            text(first.map(|time| time.p99)),
            text(gap.map(|time| time.p50)),
            text(gap.map(|time| time.p99)),
        ]
    }

    fn streams(&self) -> Vec<String> {
        let streams = self.measured.and_then(|m| m.load.streams.as_ref());
        let gap = streams.and_then(|streams| streams.events.gap_ns.as_ref());
        vec![
            text(streams.map(|streams| streams.open_at_end)),
            text(streams.map(|streams| streams.requests)),
            text(streams.map(|streams| streams.events.count)),
            text(streams.map(|streams| streams.events.per_s)),
            text(gap.map(|time| time.p50)),
            text(gap.map(|time| time.p99)),
        ]
    }

    fn generator(&self) -> Vec<String> {
        let cost = self.measured.map(|m| &m.load.generator);
        let calls = cost.map(|cost| cost.system_calls);
        vec![
            text(cost.map(|cost| cost.spin_s)),
            text(calls.filter(|calls| *calls > 0)),
            text(cost.and_then(|cost| cost.cycles)),
            text(cost.and_then(|cost| cost.instructions)),
            text(cost.and_then(|cost| cost.client_limited_by.as_deref())),
        ]
    }

    fn attempt(&self) -> Vec<String> {
        let noisy = self.record.noisy.iter().map(NoiseCause::name);
        vec![
            self.record.attempt.to_string(),
            noisy.collect::<Vec<_>>().join(" "),
        ]
    }

    fn scheduling_of_load(&self) -> [String; 3] {
        scheduling(self.measured.and_then(|m| m.load.generator.scheduling))
    }

    fn more_server_costs(&self) -> Vec<String> {
        let cost = self.measured.map(|m| &m.server);
        let mut fields = vec![
            text(cost.and_then(|cost| cost.memory_before_bytes)),
            text(cost.and_then(|cost| cost.cycles)),
            text(cost.and_then(|cost| cost.instructions)),
        ];
        fields.extend(scheduling(cost.and_then(|cost| cost.scheduling)));
        fields
    }

    fn noise(&self) -> Vec<String> {
        let noise = self.measured.map(|m| &m.noise);
        let server = noise.and_then(|noise| noise.server_cpus);
        let load = noise.and_then(|noise| noise.load_cpus);
        let frequency = noise.and_then(|noise| noise.frequency_mhz);
        vec![
            text(server.map(|cpus| cpus.steal_share)),
            text(server.map(|cpus| cpus.foreign_share)),
            text(load.map(|cpus| cpus.steal_share)),
            text(load.map(|cpus| cpus.foreign_share)),
            text(frequency.map(|(low, _)| low)),
            text(frequency.map(|(_, high)| high)),
            text(noise.and_then(|noise| noise.energy_j)),
        ]
    }

    fn warm_up(&self) -> Vec<String> {
        let warm_up = self.measured.and_then(|m| m.warm_up);
        vec![
            text(warm_up.map(|it| it.process.name())),
            text(warm_up.map(|it| it.loaded_s)),
            text(warm_up.map(|it| it.searched_s)),
            text(warm_up.map(|it| it.limit_s)),
            text(warm_up.and_then(|it| it.time_to_warm_s)),
            text(warm_up.map(|it| it.still_improving)),
        ]
    }

    /// A figure of the measurement; empty for a trial that failed.
    fn of<T: ToString>(&self, figure: impl Fn(&Measurement) -> T) -> String {
        self.measured
            .map_or(String::new(), |measured| figure(measured).to_string())
    }

    fn of_server(&self, text: impl Fn(&ServerRecord) -> String) -> String {
        self.server.map_or(String::new(), text)
    }
}

fn scheduling(of: Option<Scheduling>) -> [String; 3] {
    [
        text(of.map(|it| it.run_queue_wait_s)),
        text(of.map(|it| it.voluntary_switches)),
        text(of.map(|it| it.involuntary_switches)),
    ]
}

/// The figure, or nothing where there is none.
fn text(figure: Option<impl ToString>) -> String {
    figure.map_or(String::new(), |figure| figure.to_string())
}
