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

/// A file with this line in its request or response.
fn with(line: &str, in_request: bool) -> String {
    let field = line.split_once(" =").unwrap().0;
    match (in_request, field) {
        (true, "grpc") => format!("[request]\n{line}\nmessage = {{}}\n{RESPONSE}"),
        (true, _) => format!("{}{line}\n{RESPONSE}", without(REQUEST, field)),
        (false, _) => format!("{REQUEST}{}{line}\n", without(RESPONSE, field)),
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
    let mut in_request = true;
    let mut count = 0;
    for line in guide.lines() {
        in_request = match line {
            "## The request" => true,
            "## The expected response" => false,
            _ => in_request,
        };
        if let Some(example) = example(line) {
            read(&with(example, in_request));
            count += 1;
        }
    }
    assert!(count > 30, "only {count} examples");
}
