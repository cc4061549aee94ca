//! Every example in docs/project-file.md can be read.

use std::fs;

use prony_server::{Catalogue, Layout, PROJECT_FILE, Server};
use prony_suite::{ProjectFile, Suite, Workloads};
use prony_testkit::table::rows;
use tempfile::TempDir;

use crate::{blocks, guide, repository};

/// A folder of a project, with the folder `node` of one of its servers.
fn project() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir(folder.path().join("node")).unwrap();
    folder
}

/// Reads the text as `prony.toml`.
fn read(text: &str) -> Result<ProjectFile, String> {
    let folder = project();
    fs::write(folder.path().join(PROJECT_FILE), text).unwrap();
    let shipped = Workloads::read(&repository().join("workloads")).unwrap();
    let read = ProjectFile::read(&Layout::at(folder.path()), &shipped);
    read.map(Option::unwrap).map_err(|error| error.to_string())
}

/// Reads a block as a file in a folder of the project, which a comment names.
fn read_in_folder(path: &str, text: &str) -> Result<(), String> {
    let project = project();
    let file = project.path().join(path);
    let folder = file.parent().unwrap();
    fs::create_dir_all(folder).unwrap();
    fs::write(&file, text).unwrap();
    let error = match path.split_once('/').unwrap().0 {
        "servers" => Server::open(folder).err().map(|it| it.to_string()),
        "suites" => Suite::open(&file).err().map(|it| it.to_string()),
        "workloads" => Workloads::read(folder).err().map(|it| it.to_string()),
        other => panic!("{other}"),
    };
    error.map_or(Ok(()), Err)
}

#[test]
fn every_block_can_be_read() {
    let guide = guide("project-file.md");
    let blocks = blocks(&guide);
    let (mut files, mut projects) = (0, 0);
    for block in &blocks {
        let first = block.lines().next();
        let path = first.and_then(|line| line.strip_prefix("# "));
        let result = match path {
            Some(path) => {
                files += 1;
                read_in_folder(path, block)
            }
            None if block.contains("[server.") => {
                projects += 1;
                read(block).map(drop)
            }
            // Fields of a server.
            None => read(&format!("[server.example]\n{block}")).map(drop),
        };
        result.unwrap_or_else(|error| panic!("{block}\n{error}"));
    }
    assert!(files >= 3 && projects >= 2, "{} blocks", blocks.len());
}

/// How the first server of the guide's first example is built and run.
const PROGRAM: &str = "build = \"go build -o {out}/shop .\"\nrun = \"{out}/shop\"\n";

/// What that example has in place of the faults of the table, in its order.
const FAULTS: &str = r#"
    title = "Shop" | titel = "Shop"
    [server.shop] | [servers.shop]
    [server.shop] | [server.Shop]
    [workload.order] | [workload.home.about]\nrequest = { method = "GET", path = "/" }\n[workload.order]
    rounds = 6 | rounds = 0
    rounds = 6 | beside = ["go-nethtp"]
    PROGRAM | ""
    PROGRAM | run = "./shop"\nurl = "http://localhost:8080"\n
    PROGRAM | url = "localhost:8080"\n
    PROGRAM | url = "http://localhost:8080/api"\n
    PROGRAM | url = "http://me:secret@localhost"\n
    PROGRAM | url = "https://localhost"\nkey = "key.pem"\n
    PROGRAM | url = "https://localhost"\nworkloads = ["home"]\n
    WHOLE | title = "Shop"
    "go build -o {out}/shop ." | "go generate && go build ."
    "go build -o {out}/shop ." | ["go", "build", "-o", "{out}/shop"]
    run = "{out}/shop" | run = "{otu}/shop"
    build = "go build | build = "go build {port}
    ["home"] | ["hoem"]
    load = { shape = "closed",\u{20} | load = {\u{20}
    "p99 < 50ms" | "p99 < 50"
    rounds = 6 | budget = "10m"
"#;

/// The messages of the table of faults; `…` stands for anything.
fn messages(guide: &str) -> Vec<&str> {
    let table = guide.split("| fault | message").nth(1).unwrap();
    let rows = table
        .lines()
        .skip(2)
        .take_while(|line| line.starts_with('|'));
    let cells = rows.map(|row| row.trim_end_matches(" |").rsplit_once(" | `").unwrap().1);
    cells.map(|cell| cell.trim_matches('`').trim()).collect()
}

/// Reads the text, and looks for the servers to compare with among those that Prony ships.
fn fault(text: &str) -> String {
    let file = match read(text) {
        Ok(file) => file,
        Err(error) => return error,
    };
    let shipped = Catalogue::read(&Layout::at(repository())).unwrap();
    file.check_beside(&shipped).unwrap_err().to_string()
}

#[test]
fn every_fault_in_the_table_has_its_message() {
    let guide = guide("project-file.md");
    let example = blocks(&guide)[0];
    let messages = messages(&guide);
    let faults = rows(FAULTS);
    assert_eq!(messages.len(), faults.len());
    for ([from, to], message) in faults.into_iter().zip(messages) {
        let text = match from {
            "WHOLE" => to.to_owned(),
            "PROGRAM" => example.replacen(PROGRAM, to, 1),
            from => example.replacen(from, to, 1),
        };
        assert_ne!(text, example, "{from}");
        let error = fault(&text);
        let mut rest = error.as_str();
        for part in message.split('…') {
            let found = rest.split_once(part);
            rest = found.unwrap_or_else(|| panic!("{error}\nlacks {part}")).1;
        }
    }
}
