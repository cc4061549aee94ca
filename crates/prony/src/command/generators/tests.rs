//! Golden tests of tables, without running a tool.

use std::time::Duration;

use prony_model::{
    FailureKind, GeneratorCost, LatencyFrom, LoadResult, LoadShape, LoadSpec, Outcome,
    ReportedLatency, Run, ServerRecord, ToolReport, Trial, TrialRecord, TrialResult, sample,
};
use prony_present::terminal::Paint;

use super::case::Case;
use super::rounds::PlannedCase;
use super::tables;
use crate::tests::golden;

/// Three rounds of a tool at this rate.
fn rounds(case: &PlannedCase, tool: &str, rate: f64, counted: bool) -> Vec<TrialRecord> {
    let round = |round: u32| {
        let ok = (rate * 2.0) as u64 + u64::from(round) * 1000;
        let ns = |ms: f64| Some(ms * 1e6 * (1.0 + 0.01 * f64::from(round)));
        let is_open = tool == "prony" && case.case.rate().is_some();
        let mut load = LoadResult {
            rate_per_s: ok as f64 / 2.0,
            duration_s: 2.0,
            load: LoadSpec {
                shape: if is_open {
                    case.load.shape.clone()
                } else {
                    LoadShape::Closed
                },
                ..case.load.clone()
            },
            tool: Some(ToolReport {
                latency: ReportedLatency {
                    from: if is_open {
                        LatencyFrom::Schedule
                    } else {
                        LatencyFrom::Send
                    },
                    resolution_ns: Some(1e6),
                    p50_ns: Some(0.0),
                    p90_ns: ns(2.0),
                    p99_ns: ns(890.0),
                    ..ReportedLatency::default()
                },
                ..ToolReport::default()
            }),
            generator: GeneratorCost {
                cpu_user_s: 0.5,
                cpu_system_s: 1.5,
                cycles: counted.then_some(ok * 20_000),
                instructions: counted.then_some(ok * 13_000),
                ..GeneratorCost::default()
            },
            ..LoadResult::default()
        };
        load.outcomes[Outcome::Ok] = ok;
        load.outcomes[Outcome::TimedOut] = u64::from(round);
        record(
            case,
            tool,
            round,
            TrialResult::Measured(sample::plain_measurement(load)),
        )
    };
    (0..3).map(round).collect()
}

fn record(case: &PlannedCase, tool: &str, round: u32, result: TrialResult) -> TrialRecord {
    let trial = Trial {
        sequence: round,
        server: tool.into(),
        workload: case.case.name.clone(),
        load: case.load.clone(),
        round,
    };
    sample::plain_trial(trial, result)
}

fn planned(text: &str) -> PlannedCase {
    let case: Case = text.parse().unwrap();
    PlannedCase {
        load: case.spec(Duration::from_secs(2), "1s/10s".parse().unwrap()),
        truth_ns: case.is_frozen.then_some([0.0, 100_000.0, 900e6, 990e6]),
        cannot: Default::default(),
        case,
    }
}

fn tool(id: &str, title: &str) -> ServerRecord {
    ServerRecord {
        language: title.into(),
        framework: String::new(),
        version: Some("1.2.3".into()),
        ..sample::plain_server(id)
    }
}

#[test]
fn tables_are_the_golden_ones() {
    let names = "hello:64 page:32 pipelined close rate:20k frozen:1k";
    let mut cases: Vec<PlannedCase> = names.split(' ').map(planned).collect();
    let cannot = (
        "hey".to_owned(),
        "it has no arguments for a rate".to_owned(),
    );
    cases[4].cannot.extend([cannot]);
    let failed = TrialResult::Failed {
        kind: FailureKind::Load,
        message: "it ended with exit status 1\n\n  its last words\nand more".into(),
    };
    let [hello, page, pipelined, _, rate, frozen] = &cases[..] else {
        unreachable!("there are six");
    };
    let trials = [
        rounds(hello, "wrk", 50_000.0, true),
        rounds(hello, "prony", 62_000.0, true),
        rounds(page, "prony", 62_000.0, false),
        rounds(pipelined, "wrk", 50_000.0, false),
        rounds(pipelined, "prony", 51_000.0, false),
        vec![record(pipelined, "prony", 3, failed)],
        rounds(rate, "wrk", 19_000.0, false),
        rounds(rate, "prony", 20_000.0, false),
        rounds(frozen, "wrk", 900.0, false),
        rounds(frozen, "prony", 1000.0, false),
    ];
    let run = Run {
        title: "Load generators".into(),
        notes: vec!["wrk: It counts a timeout while the request continues.".into()],
        servers: vec![
            tool("wrk", "wrk"),
            tool("prony", "Prony"),
            tool("hey", "hey|*"),
        ],
        ..sample::plain_run("")
    };
    let conditions = "Server on CPU 0, each generator on CPU 1.";
    let page = tables::page(&run, &cases, &trials.concat(), conditions);
    let terminal = |width| page.terminal(width, Paint { colour: false });
    golden(
        "generators",
        &[
            ("80 columns", terminal(80)),
            ("120 columns", terminal(120)),
            ("Markdown", page.markdown()),
        ],
    );
}
