//! A store with several runs over dates, on two machines, with two versions of a server.
#![allow(dead_code)] // Each test file uses a part of it.

use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

use prony_model::*;
use prony_site::{Built, SiteFolder, build};
use prony_store::Store;

/// A run as the samples need it.
pub struct Plan {
    pub id: &'static str,
    pub suite: &'static str,
    pub started_at: &'static str,
    pub machine: &'static str,
    pub kernel: &'static str,
    pub version: &'static str,
    pub source_hash: &'static str,
    /// What the server `go` achieves, in responses per second.
    pub rate: f64,
    pub end: RunEnd,
}

pub const HOSTILE: &str = "../<b>x</b>\"&'é";

/// Five runs of a suite: the machine changes before the third, the version of `go` before the fourth. And one of another suite.
pub fn plans() -> Vec<Plan> {
    let plan = |id, day, machine, kernel, version, source_hash, rate| Plan {
        id,
        suite: "tour",
        started_at: day,
        machine,
        kernel,
        version,
        source_hash,
        rate,
        end: RunEnd::Complete,
    };
    vec![
        plan(
            "a1",
            "2026-11-01T10:00:00Z",
            "Old CPU",
            "6.1",
            "1.25",
            "aaaa1111",
            40_000.0,
        ),
        plan(
            "a2",
            "2026-11-02T10:00:00Z",
            "Old CPU",
            "6.1",
            "1.25",
            "aaaa1111",
            40_100.0,
        ),
        plan(
            "a3",
            "2026-11-03T10:00:00Z",
            "New CPU",
            "6.12",
            "1.25",
            "aaaa1111",
            80_000.0,
        ),
        plan(
            "a4",
            "2026-11-04T10:00:00Z",
            "New CPU",
            "6.12",
            "1.26",
            "bbbb2222",
            60_000.0,
        ),
        plan(
            "a5",
            "2026-11-05T10:00:00Z",
            "New CPU",
            "6.12",
            "1.26",
            "bbbb2222",
            60_050.0,
        ),
        Plan {
            suite: HOSTILE,
            ..plan(
                "b1",
                "2026-11-06T10:00:00Z",
                "New CPU",
                "6.12",
                "1.26",
                "bbbb2222",
                60_000.0,
            )
        },
    ]
}

/// The servers: two plain ones and one with a hostile id.
pub const SERVERS: [(&str, f64); 4] = [("ceiling", 2.0), ("go", 1.0), ("bun", 0.7), (HOSTILE, 0.5)];

pub fn run(plan: &Plan) -> Run {
    let server = |id: &str| {
        let is_go = id == "go";
        let is_ceiling = id == "ceiling";
        ServerRecord {
            class: if is_ceiling { "reference" } else { "framework" }.into(),
            version: is_go.then(|| plan.version.to_owned()),
            source_hash: if is_go { plan.source_hash } else { "cccc3333" }.into(),
            verified: Vec::new(),
            ..sample::plain_server(id)
        }
    };
    let mut servers: Vec<ServerRecord> = SERVERS.iter().map(|(id, _)| server(id)).collect();
    servers.push(sample::run(plan.id).servers.remove(2));
    Run {
        suite: plan.suite.into(),
        title: format!("The suite {}", plan.suite),
        started_at: plan.started_at.into(),
        finished_at: (plan.end != RunEnd::Open).then(|| plan.started_at.to_owned()),
        end: plan.end,
        rounds: 6,
        machine: Machine {
            cpu_model: plan.machine.into(),
            cpus: 4,
            memory_bytes: 8 << 30,
            os: "Debian".into(),
            kernel: plan.kernel.into(),
            mitigations: vec!["spectre_v2: Mitigation: Retpolines".into()],
            tcp_settings: vec!["net.core.somaxconn = 4096".into()],
            ..Machine::default()
        },
        servers,
        ..sample::plain_run(plan.id)
    }
}

/// The trial of a server in a round, with a rate a little off the server's own.
pub fn trial(server: &str, sequence: u32, round: u32, rate: f64) -> TrialRecord {
    let load = LoadSpec {
        connections: 64,
        duration_s: Some(1.0),
        ..LoadSpec::default()
    };
    let off = 1.0 + 0.004 * (f64::from(round) - 3.5);
    let mut histogram = LatencyHistogram::new();
    (0..2000)
        .for_each(|i| histogram.record((64.0 / rate * 1e9 * (0.8 + f64::from(i) / 5000.0)) as u64));
    let TrialResult::Measured(measured) = sample::measured("go", round).result else {
        panic!("it is measured");
    };
    let measured = Measurement {
        load: sample::plain_load(load.clone(), rate * off, &histogram),
        ..measured
    };
    let trial = Trial {
        sequence,
        server: server.into(),
        workload: "hello".into(),
        load,
        round,
    };
    sample::plain_trial(trial, TrialResult::Measured(measured))
}

/// The trials of a run.
pub fn trials(plan: &Plan) -> Vec<TrialRecord> {
    let mut trials = Vec::new();
    for round in 1..=6 {
        for (server, speed) in SERVERS {
            let rate = match server {
                "go" => plan.rate,
                _ => 80_000.0 * speed,
            };
            trials.push(trial(server, trials.len() as u32, round, rate));
        }
    }
    trials
}

pub fn record(store: &Store, plan: &Plan) {
    store.begin_run(&run(plan)).unwrap();
    for trial in trials(plan) {
        store.add_trial(plan.id, &trial).unwrap();
    }
}

/// A store with these runs.
pub fn store(folder: &Path, plans: &[Plan]) -> PathBuf {
    let path = folder.join("prony.sqlite");
    let store = Store::open(&path).unwrap();
    plans.iter().for_each(|plan| record(&store, plan));
    path
}

/// The site of a store.
pub fn site(store: &Path, folder: &Path) -> Built {
    let store = Store::open_read(store).unwrap();
    let folder = SiteFolder::open(folder, false).unwrap();
    build(&store, folder, &mut |_| {}, &AtomicBool::new(false)).unwrap()
}
