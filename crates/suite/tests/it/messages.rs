//! What is reported about a value of `prony.toml` that is of another kind.

use prony_testkit::table::rows;
use std::path::Path;

use prony_suite::{ProjectFile, Workloads};

const FILE: &str = r#"rounds = 3
objectives = "p99 < 50ms"

[server.web]
build = ["cargo build --release", "touch 'a b'"]
run = "{cargo_target}/release/web --quiet"
env = { ADDRESS = "{host}:{port}" }

[server.old]
folder = "src"
run = ["node", "server.js"]
workloads = ["home"]

[workload.home]
request = { method = "GET", path = "/" }
response = { status = 200, content_type = "text/html", body = { text = "hi" } }

[workload.about]
request = { method = "GET", path = "/about" }
response = { status = 200, content_type = "text/html", body = { text = "hi" } }

[[measure]]
load = { shape = "closed", connections = 8, duration = "1s" }
"#;

fn read(text: &str) -> Result<ProjectFile, String> {
    let read = ProjectFile::of(Path::new("./prony.toml"), text, &Workloads::default());
    read.map_err(|error| error.to_string())
}

#[test]
fn values_of_another_kind_are_reported_in_words_of_toml() {
    for [from, to, expected] in rows(
        r#"
        rounds = 3 | rounds = 0 | 1: field `rounds`: it must be at least 1
        rounds = 3 | rounds = 1.5 | 1: field `rounds`: expected a whole number of at least 1, not the number 1.5
        rounds = 3 | beside = "a" | 1: field `beside`: expected a list, not the text "a"
        rounds = 3 | budget = 10 | 1: field `budget`: expected text in quotation marks, not the number 10
        "p99 < 50ms" | 50 | 2: field `objectives`: expected text in quotation marks, not the number 50
        run = ["node", "server.js"] | run = 3 | 11: field `run`: expected a command, such as "npm start", or the list of its words, not the number 3
        ["cargo build --release", "touch 'a b'"] | true | 5: field `build`: expected a command, such as "cargo build", or a list of commands, not `true`
        ["home"] | "home" | 12: field `workloads`: expected a list, not the text "home"
        run = ["node", "server.js"] | run = "a"\nkeep_alive = "no" | 12: field `keep_alive`: expected `true` or `false`, not the text "no"
        run = ["node", "server.js"] | run = "a"\nversion = 2 | 12: field `version`: expected text in quotation marks, or a table with one field
        { ADDRESS = "{host}:{port}" } | { ADDRESS = 3 } | 7: field `ADDRESS`: expected text
        [[measure]] | [measure] | 22: field `measure`: expected a list, not a table; the header of a table in a list has two pairs of brackets
        [server.old]\nfolder = "src"\n | [server]\nold = 3\n[server.more]\n | expected a table, not the number 3
        connections = 8 | connections = 0 | 23: field `connections`: it must be at least 1
        connections = 8 | connections = "8" | 23: field `connections`: expected a whole number of at least 1, not the text "8"
        connections = 8 | connections = 8, streams = -1 | 23: field `streams`: it must be at least 0
        "closed" | "open" | 23: field `shape`: unknown name `open`, expected one of `closed`,\u{20}
        { shape = "closed", connections = 8, duration = "1s" } | "closed" | 23: field `load`: expected a table, not the text "closed"
        status = 200 | status = "ok" | 16: field `status`: expected a whole number, not the text "ok"
        status = 200 | status = 70000 | 16: field `status`: 70000 is not a final status
        body = { text = "hi" } | body = 3 | 16: field `body`: expected a table, not the number 3
        path = "/" } | path = "/", body = {} } | 15: field `body`: the table is empty; it needs one field
        path = "/" } | path = "/", tls = 1 } | 15: field `tls`: expected `true` or `false`, not the number 1
    "#,
    ) {
        assert!(FILE.contains(from), "{from}");
        let error = read(&FILE.replacen(from, to, 1)).unwrap_err();
        assert!(error.contains(expected), "{error}\nlacks {expected}");
    }
}

#[test]
fn headers_that_mean_something_else_are_reported_with_what_to_write() {
    for (from, to, expected) in [
        (
            "[workload.about]",
            "[workload.home.about]",
            "18: field `workload.home.about`: because of the dot, `about` is a field of the workload `home`; a workload has no dot in its name: write [workload.home-about]",
        ),
        (
            "[server.old]",
            "[server.web.old]",
            "a server has no dot in its name: write [server.web-old]",
        ),
        (
            "[workload.about]",
            "[workload.\"about.us\"]",
            "18: field `workload.\"about.us\"`: `about.us` is not a valid workload name: use letters, digits, hyphens and underscores, for instance [workload.about-us]",
        ),
        (
            "[workload.about]",
            "[workload.über]",
            "18: field `workload.über`: put a name in quotation marks if it has anything else than letters",
        ),
        (
            "[workload.about]",
            "[workload.\"\"]",
            "`` is not a valid workload name: use letters, digits, hyphens and underscores",
        ),
        (
            "[workload.about]",
            "[workload]",
            "a workload needs a name: write its header as [workload.NAME]",
        ),
        (
            "[workload.about]",
            "[workloads.about]",
            "18: unknown field `workloads`, expected one of",
        ),
        (
            "[server.web]",
            "[server]",
            "4: field `server`: a server needs a name: write its header as [server.NAME]",
        ),
        (
            "[server.old]",
            "[[server.old]]",
            "9: field `server.old`: write the header with one pair of brackets: [server.old]",
        ),
        (
            "[server.old]",
            "[server.Old_one]",
            "for instance [server.old-one]",
        ),
        (
            "[server.old]",
            "[server.old.environ]\nA = \"1\"\n[server.old]",
            "9: unknown field `environ`",
        ),
    ] {
        assert!(FILE.contains(from), "{from}");
        let error = read(&FILE.replacen(from, to, 1)).unwrap_err();
        assert!(error.contains(expected), "{error}\nlacks {expected}");
    }
}
