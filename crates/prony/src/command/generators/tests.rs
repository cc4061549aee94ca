//! Golden tests of tables, without running a tool.

use std::fs;
use std::path::Path;
use std::time::Duration;

use prony_driver::{Catalogue, Counts, DriverResult, Latency, Reported, Tool, Usage};

use super::rounds::{CaseResult, ToolResult};
use super::{in_markdown, in_terminal, tables};
use crate::project;
use crate::tests::golden;

/// Three rounds of a tool at this rate; `None` if it did not run.
fn tool(id: &str, rate: Option<f64>, counted: bool) -> ToolResult {
    let round = |round: u64| {
        let ok = (rate? * 2.0) as u64 + round * 1000;
        let ns = |ms: f64| Some(ms * 1e6 * (1.0 + 0.01 * round as f64));
        Some(DriverResult {
            driver: id.into(),
            version: None,
            command: Vec::new(),
            reported: Reported {
                ok,
                errors: [("timed_out".to_owned(), round)].into(),
                duration_s: 2.0,
                latency: Latency {
                    resolution_ns: Some(1e6),
                    p50_ns: Some(0.0),
                    p90_ns: ns(2.0),
                    p99_ns: ns(890.0),
                    p999_ns: None,
                    ..Latency::default()
                },
                wrong_status: None,
                unfinished: None,
                bytes_read: None,
                body_bytes: None,
            },
            usage: Usage {
                wall_s: 2.0,
                cpu_user_s: 0.5,
                cpu_system_s: 1.5,
                ..Usage::default()
            },
            counts: counted.then_some(Counts {
                cycles: ok * 20_000,
                instructions: ok * 13_000,
            }),
        })
    };
    ToolResult {
        tool: id.into(),
        open_loop: id == "prony",
        rounds: (0..3).map(round).collect(),
        cannot: None,
        failure: None,
    }
}

fn result(case: &str, tools: Vec<ToolResult>) -> CaseResult {
    CaseResult {
        case: case.parse().unwrap(),
        name: case.into(),
        duration_s: Duration::from_secs(2).as_secs_f64(),
        truth_ns: case
            .starts_with("frozen")
            .then_some([0.0, 100_000.0, 900e6, 990e6]),
        tools,
    }
}

/// The drivers of this project, with a program that every machine has.
fn tools() -> Vec<Tool> {
    let drivers = project::layout(None).unwrap().drivers();
    let folder = tempfile::tempdir().unwrap();
    for id in ["wrk", "prony"] {
        let text = fs::read_to_string(drivers.join(id).join("driver.toml")).unwrap();
        let lines = text.lines().map(|line| match line.split(' ').next() {
            Some("program") => "program = \"sh\"".to_owned(),
            Some("arguments") => format!("arguments = [\"-c\", \"echo '{id} 1.2.3'\"]"),
            _ => line.to_owned(),
        });
        let lines: Vec<String> = lines.collect();
        fs::create_dir(folder.path().join(id)).unwrap();
        fs::write(folder.path().join(id).join("driver.toml"), lines.join("\n")).unwrap();
    }
    let catalogue = Catalogue::read(folder.path()).unwrap();
    let find = |id| Tool::find(id, catalogue.get(id).unwrap(), Path::new("prony")).unwrap();
    ["wrk", "prony"].map(find).into()
}

#[test]
fn tables_are_the_golden_ones() {
    let failed = ToolResult {
        failure: Some("it ended with exit status 1\n\n  its last words\nand more".into()),
        ..tool("prony", Some(51_000.0), false)
    };
    let cannot = ToolResult {
        cannot: Some("it has no arguments for a rate".into()),
        ..tool("hey|*", None, false)
    };
    let results = [
        result(
            "hello:64",
            vec![
                tool("wrk", Some(50_000.0), true),
                tool("prony", Some(62_000.0), true),
            ],
        ),
        result("page:32", vec![tool("prony", Some(62_000.0), false)]),
        result(
            "pipelined",
            vec![tool("wrk", Some(50_000.0), false), failed],
        ),
        result("close", vec![tool("wrk", None, false)]),
        result(
            "rate:20k",
            vec![
                tool("wrk", Some(19_000.0), false),
                tool("prony", Some(20_000.0), false),
                cannot,
            ],
        ),
        result(
            "frozen:1k",
            vec![
                tool("wrk", Some(900.0), false),
                tool("prony", Some(1000.0), false),
            ],
        ),
    ];
    let tools = tools();
    let tables = results.iter();
    let tables: Vec<_> = tables
        .filter_map(|result| tables::table(result, &tools))
        .collect();
    let conditions = "Server on CPU 0, each generator on CPU 1.";
    golden(
        "generators",
        &[
            ("80 columns", in_terminal(&tables, 80)),
            ("120 columns", in_terminal(&tables, 120)),
            ("Markdown", in_markdown(&tools, &tables, conditions)),
        ],
    );
}
