//! Every example in docs/workloads.md can be read.

use prony_run::{Workload, Workloads};
use toml::{Table, Value};

use crate::{blocks, guide};

const FILE: &str = "[request]\nmethod = \"GET\"\npath = \"/\"\n[response]\nstatus = 200\n";

#[test]
fn whole_files_can_be_read() {
    let guide = guide("workloads.md");
    let blocks = blocks(&guide);
    assert!(!blocks.is_empty());
    for text in blocks {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("example.toml"), text).unwrap();
        let workloads = Workloads::read(folder.path());
        let workloads = workloads.unwrap_or_else(|error| panic!("{text}\n{error}"));
        assert!(workloads.get("example").is_ok());
    }
}

/// The example in the last cell of a row, which is code.
fn example(row: &str) -> Option<&str> {
    let cell = row.strip_prefix("| `")?.strip_suffix("` |")?;
    Some(cell.rsplit_once("| `")?.1)
}

/// A file with this line in one of its tables.
fn with(line: &str, table: &str) -> String {
    let mut file: Table = toml::from_str(FILE).unwrap();
    let fields: Table = toml::from_str(line).unwrap_or_else(|error| panic!("{line}\n{error}"));
    if fields.contains_key("grpc") {
        file["request"] = Value::Table(toml::from_str("message = {}").unwrap());
    }
    let others = file.entry(table).or_insert(Value::Table(Table::new()));
    others.as_table_mut().unwrap().extend(fields);
    toml::to_string(&file).unwrap()
}

#[test]
fn the_examples_in_tables_can_be_read() {
    let guide = guide("workloads.md");
    let mut table = "request";
    let mut count = 0;
    for line in guide.lines() {
        table = match line {
            "## The request" => "request",
            "### Values that differ" => "values",
            "## The expected response" => "response",
            _ => table,
        };
        if let Some(example) = example(line) {
            let text = with(example, table);
            let read = toml::from_str::<Workload>(&text);
            read.unwrap_or_else(|error| panic!("{text}\n{error}"));
            count += 1;
        }
    }
    assert!(count > 30, "only {count} examples");
}
