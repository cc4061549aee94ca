//! Every example in docs/project-file.md can be read.

use std::fs;

use prony_run::{ProjectFile, Workloads};
use prony_server::{Catalogue, Layout, PROJECT_FILE};
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

#[test]
fn every_block_can_be_read() {
    let guide = guide("project-file.md");
    let blocks = blocks(&guide);
    let mut projects = 0;
    for block in &blocks {
        let result = if block.contains("[server.") {
            projects += 1;
            read(block)
        } else {
            // Fields of a server.
            read(&format!("[server.example]\n{block}"))
        };
        result.unwrap_or_else(|error| panic!("{block}\n{error}"));
    }
    assert!(projects >= 2, "{} blocks", blocks.len());
}

/// How the first server of the guide's first example is built and run.
const PROGRAM: &str = r#"build = "go build -o {out}/shop ."   # {out}: where Prony wants the result
run = "{out}/shop"        # it must listen on HOST and PORT, variables that Prony sets
"#;

/// A text of that example, a fault that replaces it, and the message, in which `…` matches anything.
const FAULTS: &str = r#"
    title = "Shop" | titel = "Shop" | unknown field `titel`, expected one of `title`, `rounds`, …; did you mean `title`?
    [server.shop] | [servers.shop] | unknown field `servers`, expected one of …; did you mean `server`?
    [server.shop] | [server.Shop] | field `server.Shop`: `Shop` is not a valid server name: use lower-case letters, digits and hyphens, for instance [server.shop]
    [workload.order] | [workload.home.about]\nrequest = { method = "GET", path = "/" }\n[workload.order] | field `workload.home.about`: because of the dot, `about` is a field of the workload `home`; a workload has no dot in its name: write [workload.home-about]
    rounds = 6 | rounds = 0 | field `rounds`: it must be at least 1
    rounds = 6 | beside = ["go-nethtp"] | field `beside`: there is no server `go-nethtp`; did you mean `go-nethttp`?
    PROGRAM | "" | `shop` has neither `run` nor `url`: give the command that runs it, for instance run = "npm start", or the URL at which it already runs, …
    PROGRAM | run = "./shop"\nurl = "http://localhost:8080"\n | `run` and `url` exclude each other: Prony neither builds nor starts a server that already runs; leave one of them out
    PROGRAM | url = "localhost:8080"\n | field `url`: `localhost:8080` does not begin with http:// or https://; write for instance http://localhost:8080
    PROGRAM | url = "http://localhost:8080/api"\n | field `url`: `http://localhost:8080/api` has the path `/api`; leave it out here, and write it in the workloads, …
    PROGRAM | url = "http://me:secret@localhost"\n | field `url`: it contains a user name; leave it out here, and give the workloads `basic_auth`
    PROGRAM | url = "https://localhost"\nkey = "key.pem"\n | `key` needs `cert`: the file with the certificate that the key is for
    PROGRAM | url = "https://localhost"\nworkloads = ["home"]\n | field `workloads`: `home` is requested without TLS, but the server's URL is https://…; add `tls = true` to its request
    WHOLE | title = "Shop" | it has no server; add one, for instance `[server.web]` with `run = "npm start"`
    "go build -o {out}/shop ." | "go generate && go build ." | field `build`: Prony starts commands without a shell; write several commands of a build as a list, use a placeholder such as {port} instead of a variable, or give the words ["sh", "-c", "…"]
    "go build -o {out}/shop ." | ["go", "build", "-o", "{out}/shop"] | field `build`: `-o` is not a program; write a whole command as one text, for instance "cargo build --release"
    run = "{out}/shop" | run = "{otu}/shop" | field `run`: there is no placeholder `{otu}` here; did you mean `out`? Known are {out}, …
    build = "go build | build = "go build {port} | field `build`: `{port}` is known only when the server starts: use it in `run` or `env`
    ["home"] | ["hoem"] | field `workloads`: there is no workload `hoem`; did you mean `home`?
    load = { shape = "closed",\u{20} | load = {\u{20} | missing field `shape`
    "p99 < 50ms" | "p99 < 50" | field `objectives`: `p99 < 50` (at character 1): `50` is not a duration that can limit p99; write for instance p99<10ms
    rounds = 6 | budget = "10m" | `budget` needs `precision`, for instance "3%": without it the number of rounds is `rounds`
"#;

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
fn every_fault_has_its_message() {
    let guide = guide("project-file.md");
    let example = blocks(&guide)[0];
    for [from, to, message] in rows(FAULTS) {
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
