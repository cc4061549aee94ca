//! Golden tests of tables, without running a tool.

use std::fs;
use std::path::Path;

use prony_driver::{Catalogue, DriverResult, Latency, Reported, Tool, Usage};
use prony_model::LoadSpec;
use prony_present::terminal::Paint;

use super::rounds::{CaseResult, ToolResult};
use super::tables;
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
                cycles: counted.then_some(ok * 20_000),
                instructions: counted.then_some(ok * 13_000),
                ..Usage::default()
            },
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
        load: LoadSpec {
            duration_s: Some(2.0),
            ..LoadSpec::default()
        },
        truth_ns: (case == "frozen:1k").then_some([0.0, 100_000.0, 900e6, 990e6]),
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
    let plain = |id, rate| tool(id, Some(rate), false);
    let counted = |id, rate| tool(id, Some(rate), true);
    let results = [
        (
            "hello:64",
            vec![counted("wrk", 50_000.0), counted("prony", 62_000.0)],
        ),
        ("page:32", vec![plain("prony", 62_000.0)]),
        ("pipelined", vec![plain("wrk", 50_000.0), failed]),
        ("close", vec![tool("wrk", None, false)]),
        (
            "rate:20k",
            vec![plain("wrk", 19_000.0), plain("prony", 20_000.0), cannot],
        ),
        (
            "frozen:1k",
            vec![plain("wrk", 900.0), plain("prony", 1000.0)],
        ),
    ];
    let tools = tools();
    let results = results.map(|(case, tools)| result(case, tools));
    let conditions = "Server on CPU 0, each generator on CPU 1.";
    let page = tables::page(&results, &tools, conditions);
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
