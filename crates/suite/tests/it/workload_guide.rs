//! Every example in docs/workloads.md can be read.

use std::path::Path;

use prony_suite::{Workload, Workloads};

const REQUEST: &str = "[request]\nmethod = \"GET\"\npath = \"/\"\n";
const RESPONSE: &str = "[response]\nstatus = 200\n";

fn guide() -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/workloads.md");
    std::fs::read_to_string(path).unwrap()
}

fn read(text: &str) {
    if let Err(error) = toml::from_str::<Workload>(text) {
        panic!("{text}\n{error}");
    }
}

#[test]
fn whole_files_can_be_read() {
    let guide = guide();
    let blocks: Vec<&str> = guide.split("```toml\n").skip(1).collect();
    assert!(!blocks.is_empty());
    for block in blocks {
        let folder = tempfile::tempdir().unwrap();
        let text = block.split_once("```").unwrap().0;
        std::fs::write(folder.path().join("example.toml"), text).unwrap();
        let workloads =
            Workloads::read(folder.path()).unwrap_or_else(|error| panic!("{text}\n{error}"));
        assert!(workloads.get("example").is_ok());
    }
}

/// The example in the last cell of a row, which is code.
fn example(row: &str) -> Option<&str> {
    let cell = row.strip_prefix("| `")?.strip_suffix("` |")?;
    Some(cell.rsplit_once("| `")?.1)
}

/// What the examples of a part of the guide belong to.
#[derive(Clone, Copy)]
enum In {
    Request,
    Values,
    Response,
}

/// A file with this line.
fn with(line: &str, table: In) -> String {
    let field = line.split_once(" =").unwrap().0;
    match (table, field) {
        (In::Request, "grpc") => format!("[request]\n{line}\nmessage = {{}}\n{RESPONSE}"),
        (In::Request, _) => format!("{}{line}\n{RESPONSE}", without(REQUEST, field)),
        (In::Values, _) => format!("{REQUEST}[values]\n{line}\n{RESPONSE}"),
        (In::Response, _) => format!("{REQUEST}{}{line}\n", without(RESPONSE, field)),
    }
}

fn without(table: &str, field: &str) -> String {
    let others = table
        .lines()
        .filter(|line| !line.starts_with(&format!("{field} =")));
    others.map(|line| format!("{line}\n")).collect()
}

#[test]
fn the_examples_in_tables_can_be_read() {
    let guide = guide();
    let mut table = In::Request;
    let mut count = 0;
    for line in guide.lines() {
        table = match line {
            "## The request" => In::Request,
            "### Values that differ" => In::Values,
            "## The expected response" => In::Response,
            _ => table,
        };
        if let Some(example) = example(line) {
            read(&with(example, table));
            count += 1;
        }
    }
    assert!(count > 30, "only {count} examples");
}
