//! SampleRun-up runs, shaped like real ones.

use prony_model::Seconds;
use prony_model::sample::{plain_load, plain_measurement, plain_run, plain_server, plain_trial};
use prony_model::*;
use prony_report::compare::{Basis, Comparison, Finding, MetricRow, Question, Side};

/// What a made-up server does.
#[derive(Clone, Copy)]
pub(super) struct Server {
    pub(crate) rate: f64,
    pub(crate) cpu_ns: f64,
    pub(crate) instructions: Option<f64>,
    pub(crate) latency_ns: f64,
    pub(crate) memory: u64,
}

pub(super) const SERVER: Server = Server {
    rate: 50_000.0,
    cpu_ns: 18_000.0,
    instructions: Some(21_000.0),
    latency_ns: 1_200_000.0,
    memory: 20 << 20,
};

impl Server {
    /// A server that does this many times the work per response.
    pub(super) fn working(self, times: f64) -> Self {
        Self {
            rate: self.rate / times,
            cpu_ns: self.cpu_ns * times,
            instructions: self.instructions.map(|count| count * times),
            latency_ns: self.latency_ns * times,
            ..self
        }
    }
}

/// A run with its trials.
pub(super) struct SampleRun {
    pub(crate) run: Run,
    pub(crate) trials: Vec<TrialRecord>,
    /// By how much figures vary from round to round, as a share.
    spread: f64,
    random: u64,
}

pub(super) fn closed(connections: usize) -> LoadSpec {
    LoadSpec {
        connections,
        duration: Some(Seconds::from_secs(1)),
        warmup: Seconds::from_millis(500),
        ..LoadSpec::default()
    }
}

pub(super) fn made(id: &str, spread: f64) -> SampleRun {
    SampleRun {
        run: Run {
            suite: "ab".into(),
            started_at: "2026-11-22T05:00:00Z".into(),
            finished_at: Some("2026-11-22T05:10:00Z".into()),
            seed: 7,
            rounds: 12,
            machine: Machine {
                cpu_model: "Example CPU 3000".into(),
                cpus: 2,
                memory_bytes: 8 << 30,
                kernel: "6.12.0".into(),
                ..Machine::default()
            },
            ..plain_run(id)
        },
        trials: Vec::new(),
        spread,
        random: id.bytes().fold(11, |sum: u64, byte| {
            sum.wrapping_mul(31).wrapping_add(byte.into())
        }),
    }
}

impl SampleRun {
    pub(super) fn server(
        &mut self,
        id: &str,
        class: &str,
        status: ServerStatus,
    ) -> &mut ServerRecord {
        self.run.servers.push(ServerRecord {
            language: "Go".into(),
            framework: "net/http".into(),
            class: class.into(),
            source_hash: "ab".repeat(32),
            artefact_bytes: None,
            build_s: None,
            status,
            ..plain_server(id)
        });
        self.run.servers.last_mut().unwrap()
    }

    /// Adds a server that was measured in this many rounds of `hello`.
    pub(super) fn with(self, id: &str, server: Server, rounds: u32) -> Self {
        self.with_load(id, server, rounds, &closed(64))
    }

    pub(super) fn with_load(
        mut self,
        id: &str,
        server: Server,
        rounds: u32,
        load: &LoadSpec,
    ) -> Self {
        self.server(id, "framework", ServerStatus::Ready);
        self.measure(id, server, rounds, load);
        self
    }

    pub(super) fn with_ceiling(mut self, server: Server, rounds: u32) -> Self {
        self.server("ceiling", "reference", ServerStatus::Ready);
        self.measure("ceiling", server, rounds, &closed(64));
        self
    }

    /// Adds a server that could not be built.
    pub(super) fn with_broken(mut self, id: &str) -> Self {
        let output = "main.go:4: no such package\nmore".into();
        self.server(id, "framework", ServerStatus::BuildFailed { output });
        self
    }

    pub(super) fn measure(&mut self, id: &str, server: Server, rounds: u32, load: &LoadSpec) {
        for round in 1..=rounds {
            let load = LoadSpec {
                seed: round.into(),
                ..load.clone()
            };
            let measurement = self.measurement(server, &load);
            let trial = Trial {
                sequence: self.trials.len() as u32,
                server: id.into(),
                workload: "hello".into(),
                load,
                round,
            };
            let result = TrialResult::Measured(measurement);
            self.trials.push(plain_trial(trial, result));
        }
    }

    /// Changes the measurements of a server, round by round.
    pub(super) fn change(mut self, id: &str, change: impl Fn(u32, &mut Measurement)) -> Self {
        for record in self.of(id) {
            if let TrialResult::Measured(measurement) = &mut record.result {
                change(record.trial.round, measurement);
            }
        }
        self
    }

    pub(super) fn of(&mut self, id: &str) -> impl Iterator<Item = &mut TrialRecord> {
        let trials = self.trials.iter_mut();
        trials.filter(move |record| record.trial.server == id)
    }

    pub(super) fn side<'a>(&'a self, server: impl Into<Option<&'a str>>) -> Side<'a> {
        Side {
            run: &self.run,
            trials: &self.trials,
            server: server.into(),
        }
    }

    /// A factor around 1.
    fn noise(&mut self) -> f64 {
        // SplitMix64, so that the figures never change.
        self.random = self.random.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.random;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        let share = ((z ^ (z >> 31)) >> 11) as f64 / (1u64 << 53) as f64;
        1.0 + self.spread * (2.0 * share - 1.0)
    }

    fn measurement(&mut self, server: Server, load: &LoadSpec) -> Measurement {
        let rate = server.rate * self.noise();
        let mut histogram = LatencyHistogram::new();
        let latency = server.latency_ns * self.noise();
        for i in 0..3000 {
            let tail = if i % 40 == 0 { 4.0 } else { 1.0 };
            histogram.record((latency * tail * (1.0 + f64::from(i % 7) * 0.01)) as u64);
        }
        let result = plain_load(load.clone(), rate, &histogram);
        let responses = result.outcomes[Outcome::Ok] as f64;
        Measurement {
            server: Some(ServerCost {
                cpu_user_s: responses * server.cpu_ns * self.noise() / 1e9,
                busy_share: 0.9,
                peak_memory_bytes: server.memory,
                processes: 1,
                instructions: server
                    .instructions
                    .map(|each| (each * responses * (1.0 + (self.noise() - 1.0) / 10.0)) as u64),
                ..ServerCost::default()
            }),
            ..plain_measurement(result)
        }
    }
}

/// The comparison of two servers of one run.
pub(super) fn within(run: &SampleRun, base: &str, new: &str) -> Comparison {
    compared_by(run.side(base), run.side(new), "", "")
}

/// The comparison of two runs.
pub(super) fn between(base: &SampleRun, new: &SampleRun) -> Comparison {
    compared_by(base.side(None), new.side(None), "", "")
}

/// The comparison by some metrics with some thresholds, or the usual ones.
pub(super) fn compared_by(
    base: Side<'_>,
    new: Side<'_>,
    metrics: &str,
    thresholds: &str,
) -> Comparison {
    Comparison::of(base, new, &question(metrics, thresholds)).unwrap()
}

pub(super) fn question(metrics: &str, thresholds: &str) -> Question {
    let metrics = metrics.split_whitespace().map(|name| name.parse().unwrap());
    Question {
        metrics: metrics.collect(),
        thresholds: match thresholds {
            "" => Default::default(),
            given => given.parse().unwrap(),
        },
    }
}

#[track_caller]
pub(super) fn row<'a>(comparison: &'a Comparison, name: &str) -> &'a MetricRow {
    let rows = comparison.cases.iter().flat_map(|case| &case.rows);
    let found: Vec<&MetricRow> = rows.filter(|row| row.what.name() == name).collect();
    assert_eq!(found.len(), 1, "{name}: {comparison:#?}");
    found[0]
}

pub(super) fn finding(comparison: &Comparison, name: &str) -> Finding {
    row(comparison, name).finding
}

pub(super) fn basis(comparison: &Comparison, name: &str) -> Basis {
    row(comparison, name).change.unwrap().basis
}

/// The finding for each metric, in the order of the rows.
pub(super) fn findings(comparison: &Comparison) -> Vec<(&'static str, Finding)> {
    let rows = comparison.cases.iter().flat_map(|case| &case.rows);
    rows.map(|row| (row.what.name(), row.finding)).collect()
}
