//! A store with several runs over dates, on two machines, with two versions of a server.

use prony_model::Seconds;
use std::fs;
use std::path::PathBuf;
use std::sync::atomic::AtomicBool;

use prony_model::*;
use prony_site::{Built, SiteFolder, build};
use prony_store::Store;
use prony_testkit::table::rows;
use tempfile::TempDir;

/// A run as the samples need it.
pub(crate) struct Plan {
    pub(crate) id: &'static str,
    pub(crate) suite: &'static str,
    pub(crate) started_at: String,
    pub(crate) machine: &'static str,
    pub(crate) kernel: &'static str,
    pub(crate) version: &'static str,
    pub(crate) source_hash: &'static str,
    /// What the server `go` achieves, in responses per second.
    pub(crate) rate: f64,
    pub(crate) end: RunEnd,
}

pub(crate) const HOSTILE: &str = "../<b>x</b>\"&'é";

/// Five runs of a suite: the machine changes before the third, the version of `go` before the fourth. And one of another suite.
pub(crate) fn plans() -> Vec<Plan> {
    let table = "
        a1 | 2026-11-01 | Old CPU | 6.1 | 1.25 | aaaa1111 | 40000
        a2 | 2026-11-02 | Old CPU | 6.1 | 1.25 | aaaa1111 | 40100
        a3 | 2026-11-03 | New CPU | 6.12 | 1.25 | aaaa1111 | 80000
        a4 | 2026-11-04 | New CPU | 6.12 | 1.26 | bbbb2222 | 60000
        a5 | 2026-11-05 | New CPU | 6.12 | 1.26 | bbbb2222 | 60050
        b1 | 2026-11-06 | New CPU | 6.12 | 1.26 | bbbb2222 | 60000
    ";
    let plan = |[id, day, machine, kernel, version, source_hash, rate]: [&'static str; 7]| Plan {
        id,
        suite: if id == "b1" { HOSTILE } else { "tour" },
        started_at: format!("{day}T10:00:00Z"),
        machine,
        kernel,
        version,
        source_hash,
        rate: rate.parse().unwrap(),
        end: RunEnd::Complete,
    };
    rows(table).into_iter().map(plan).collect()
}

/// The third run, which goes on.
pub(crate) fn in_progress() -> Plan {
    Plan {
        end: RunEnd::Open,
        ..plans().remove(2)
    }
}

/// The servers: two plain ones and one with a hostile id.
const SERVERS: [(&str, f64); 4] = [("ceiling", 2.0), ("go", 1.0), ("bun", 0.7), (HOSTILE, 0.5)];

pub(crate) fn run(plan: &Plan) -> Run {
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
        started_at: plan.started_at.clone(),
        finished_at: (plan.end != RunEnd::Open).then(|| plan.started_at.clone()),
        end: plan.end,
        rounds: 6,
        machine: Machine {
            cpu_model: plan.machine.into(),
            kernel: plan.kernel.into(),
            ..Machine::default()
        },
        servers,
        ..sample::plain_run(plan.id)
    }
}

/// The trial of a server in a round, with a rate a little off the server's own.
fn trial(server: &str, sequence: u32, round: u32, rate: f64) -> TrialRecord {
    let load = LoadSpec {
        connections: 64,
        duration: Some(Seconds::from_secs(1)),
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
pub(crate) fn trials(plan: &Plan) -> Vec<TrialRecord> {
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

/// What 1,000 requests cost a server.
fn counted(server: &str) -> UserInstructions {
    let each = if server == "go" { 10_000 } else { 10_500 };
    UserInstructions {
        requests: 1000,
        instructions: 1000 * each,
        counted_by: CountedBy::Counters,
        batches: CountedBatches::default(),
        warm_up_requests: 4000,
        functions: Vec::new(),
        settings: Vec::new(),
        processes: 1,
        unemulated: None,
    }
}

/// A folder with a store and, once it is built, a site.
pub(crate) struct Place {
    pub(crate) folder: TempDir,
    pub(crate) store: PathBuf,
    pub(crate) site: PathBuf,
}

impl Place {
    /// A store with these runs.
    pub(crate) fn with(plans: &[Plan]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let place = Self {
            store: folder.path().join("prony.sqlite"),
            site: folder.path().join("site"),
            folder,
        };
        place.writer();
        plans.iter().for_each(|plan| place.record(plan));
        place
    }

    pub(crate) fn writer(&self) -> Store {
        Store::open(&self.store).unwrap()
    }

    pub(crate) fn record(&self, plan: &Plan) {
        let store = self.writer();
        store.begin_run(&run(plan)).unwrap();
        for trial in trials(plan) {
            store.add_trial(plan.id, &trial).unwrap();
        }
    }

    /// Records a run of `prony ab` of `go` and `bun`, without the ceiling if it counts instructions.
    pub(crate) fn record_pair(&self, id: &'static str, by: MeasuredBy) {
        let plan = Plan {
            id,
            suite: AB,
            ..plans().remove(2)
        };
        let by_time = by == MeasuredBy::Time;
        let takes_part = |id: &str| ["go", "bun"].contains(&id) || (by_time && id == "ceiling");
        let mut run = run(&plan);
        run.servers.retain(|server| takes_part(&server.id));
        run.baseline = Some("go".into());
        let store = self.writer();
        store.begin_run(&run).unwrap();
        for mut record in trials(&plan) {
            if !takes_part(&record.trial.server) {
                continue;
            }
            record.trial.load.by = by;
            if let TrialResult::Measured(measured) = &mut record.result {
                measured.load.load.by = by;
                measured.user_instructions = (!by_time).then(|| counted(&record.trial.server));
            }
            store.add_trial(id, &record).unwrap();
        }
    }

    pub(crate) fn build(&self) -> Built {
        let store = Store::open_read(&self.store).unwrap();
        let folder = SiteFolder::open(&self.site, false).unwrap();
        build(&store, folder, &mut |_| {}, &AtomicBool::new(false)).unwrap()
    }

    /// A page of the site.
    pub(crate) fn page(&self, path: &str) -> String {
        fs::read_to_string(self.site.join(path)).unwrap()
    }
}
