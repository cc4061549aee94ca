//! Servers of users: how they start, how failures are reported, what counts as output, and servers and suites in any
//! folder.

use std::fs;

use std::path::Path;

use crate::common::project::{Project, manifest, trials};
use crate::common::{self, Ended, run};
use prony_testkit::server::{self, Change, hang};

pub const CHANGES: [(&str, Change); 5] = [
    ("logs-elsewhere", |_, response| {
        response.errors = std::mem::take(&mut response.output);
    }),
    ("also-warns", |_, response| {
        response.errors.clone_from(&response.output);
    }),
    // It says when the byte has been requested, and responds no more.
    ("goes-away", |request, response| {
        if Path::new("asked").exists() {
            hang();
        }
        if request.path == "/byte" {
            response.then = Some(|| fs::write("asked", "").unwrap());
        }
    }),
    ("breaks", |request, response| {
        if request.path == "/byte" {
            response.errors = "Traceback: no database\n".to_owned();
            let cut = "HTTP/1.1 500 Oops\r\nContent-Length: 100\r\n\r\nno datab";
            response.raw = Some(cut.into());
            response.closes = true;
        }
    }),
    // It responds as its variable says.
    ("speaks", |request, response| {
        if let (Ok(word), "/hello") = (std::env::var("WORD"), request.path.as_str()) {
            response.body = format!("{word} from prony\n").into();
        }
    }),
];

/// The line that starts with `start`, and everything after it.
fn from<'a>(ended: &'a Ended, start: &str) -> &'a str {
    let at = ended.stdout.find(start);
    at.map_or_else(
        || panic!("no `{start}` in {}", ended.all()),
        |at| &ended.stdout[at..],
    )
}

#[test]
fn a_server_that_logs_to_standard_error_is_wrong_and_one_that_warns_there_is_right() {
    let project = Project::new();
    project.server("logs-elsewhere", "logs-elsewhere");
    project.server("also-warns", "also-warns");
    let ended = project
        .run(&["verify", "--workloads", "page-log"])
        .with(1)
        .prints("verified also-warns × page-log");
    let wrong = from(&ended, "WRONG    logs-elsewhere × page-log");
    let came = "  received 0 lines, and 3 on standard error, which are not counted";
    assert!(wrong.contains(came), "{wrong}");
    assert!(
        wrong.contains("logs-elsewhere-verify.stderr.log"),
        "{wrong}"
    );
}

/// A server that ends with the output of Node on an error.
const NODE_LIKE: &str = "echo 'Error: Cannot find module nope' >&2
for i in $(seq 40); do echo \"    at frame$i\" >&2; done
echo 'Node.js v20' >&2
exit 3";

#[test]
fn a_server_that_ends_at_once_is_reported_with_its_first_lines_and_its_log_is_kept() {
    let project = Project::new().with(&["ceiling"]);
    project.command("node-like", &["sh", "-c", NODE_LIKE]);
    let verified = project.run(&["verify", "node-like"]).with(1);
    let failed = from(
        &verified,
        "FAILED   node-like: the server ended with exit code 3",
    );
    for line in [
        "Error: Cannot find module nope",
        "at frame9",
        "…",
        "at frame40",
        "Node.js v20",
    ] {
        assert!(
            failed.contains(&format!("{line}\n")),
            "no `{line}` in {failed}"
        );
    }
    assert!(!failed.contains("at frame15\n"), "{failed}");
    let log = failed.split_once("its standard error (").unwrap().1;
    let log = log.split_once("):").unwrap().0;
    assert_eq!(fs::read_to_string(log).unwrap().lines().count(), 42);

    // The summary of a run says what happened, too.
    let more = ["--rounds", "1", "--no-ceiling"];
    let ended = run(project.measure("node-like,ceiling", "hello", &more)).with(1);
    let summary = from(&ended, "Not measured").replace("\n  ", " ");
    let told = "node-like: start failed: the server ended with exit code 3 before it sent the expected response;";
    assert!(summary.contains(told), "{summary}");
    assert!(summary.contains("… Node.js v20"), "{summary}");
}

#[test]
fn two_verifications_of_a_server_at_once_have_separate_logs() {
    let project = Project::new();
    // Each waits for the other.
    let script = "echo once; touch here-$$
until [ \"$(ls | grep -c here-)\" = 2 ]; do sleep 0.01; done
exit 3";
    project.command("slow-to-fail", &["sh", "-c", script]);
    let start = || common::Running::start(project.prony(&["verify", "slow-to-fail"]));
    let both = [start(), start()];
    for ended in both.map(common::Running::end) {
        assert_eq!(ended.stdout.matches("once").count(), 1, "{}", ended.all());
    }
}

#[test]
fn a_server_that_goes_into_the_background_is_reported_once() {
    let project = Project::new();
    // Its first process ends when it has responded for a while.
    let script = "\"$0\" \"$@\" &\nuntil [ -e asked ]; do sleep 0.001; done";
    project.wrapped("goes-away", script, "goes-away", "server");
    let workloads = [
        "verify",
        "goes-away",
        "--workloads",
        "hello,byte,page,quote",
    ];
    let ended = project.run(&workloads).with(1);
    let told = "left 1 process running in the background, which Prony has stopped (run it in the foreground)";
    assert_eq!(ended.stdout.matches(told).count(), 1, "{}", ended.all());
    assert!(!ended.stdout.contains("refused"), "{}", ended.all());
}

#[test]
fn a_server_on_another_port_is_reported_with_that_port() {
    let project = Project::new();
    // It takes any free port instead of its own.
    let script = "PORT=0 exec \"$0\" \"$@\"";
    project.wrapped("elsewhere", script, "right", "server");
    let ended = project.run(&["verify", "elsewhere", "--ready-timeout", "2s"]);
    let ended = ended.with(1);
    let failed = from(
        &ended,
        "FAILED   elsewhere: the server sent no complete response within 2s",
    );
    assert!(failed.contains(": it listens on 127.0.0.1:"), "{failed}");
    assert!(failed.contains(": does it read PORT?"), "{failed}");
}

#[test]
fn a_response_that_is_cut_short_is_reported_with_its_status_and_the_logs() {
    let project = Project::new();
    project.server("breaks", "breaks");
    let ended = project
        .run(&["verify", "breaks", "--workloads", "hello,byte"])
        .with(1);
    let wrong = from(&ended, "WRONG    breaks × byte");
    let came = "in the middle of a response with status 500, after 8 bytes of its body: `no datab`";
    assert!(wrong.contains(came), "{wrong}");
    let log = wrong
        .split_once(".log, ")
        .unwrap()
        .1
        .lines()
        .next()
        .unwrap();
    let log = fs::read_to_string(log).unwrap();
    assert!(log.contains("Traceback: no database"), "{log}");

    // If nothing else comes, that is why it is not ready.
    let only = [
        "verify",
        "breaks",
        "--workloads",
        "byte",
        "--ready-timeout",
        "2s",
    ];
    let ended = project.run(&only).with(1);
    let failed = from(&ended, "FAILED   breaks: ");
    assert!(failed.contains("a response with status 500"), "{failed}");
}

/// A server whose command line says where to listen; it writes a file into the given folder.
fn listens_as_its_words_say(project: &Project, id: &str, more: &str) {
    let script = "export HOST=$0 PORT=$1 ASSETS=$2; touch $3/pid; shift 3; exec \"$@\"";
    let places = ["sh", "-c", script, "{host}", "{port}", "{assets}", "{tmp}"];
    let words = places.map(str::to_owned).into_iter();
    let words: Vec<String> = words.chain(server::command("right", "server")).collect();
    project.manifest(id, &(manifest(&words) + more));
}

#[test]
fn a_command_line_may_contain_host_and_port() {
    let project = Project::new();
    listens_as_its_words_say(&project, "in-words", "");
    project
        .run(&["verify", "in-words", "--workloads", "hello,quote"])
        .with(0)
        .prints("verified in-words × quote");
    listens_as_its_words_say(&project, "in-words", "env = { A = \"{prot}\" }\n");
    let file = project.path().join("servers/in-words/server.toml");
    let place = format!("{}:7: field `A`: ", file.display());
    let ended = project.run(&["verify"]).with(1).prints(&place);
    ended.prints("no placeholder `{prot}` here; did you mean `port`?");
}

#[test]
fn a_missing_program_is_reported_with_the_command_that_installs_it() {
    let project = Project::new();
    let need = "needs = [{ program = \"no-such-server\", least = \"2.1\", install = \"get it somewhere\" }]\n";
    project.manifest("rare", &(manifest(&["no-such-server"]) + need));
    let line = "SKIPPED  rare: no-such-server >= 2.1 is missing; to install it: get it somewhere";
    project.run(&["verify", "rare"]).with(0).prints(line);
    let doctor = project.run(&["doctor"]);
    let doctor = doctor.with(1).prints("  MISSING    no-such-server >= 2.1");
    doctor.prints("get it somewhere");
}

#[test]
fn a_server_has_variants() {
    let project = Project::new();
    let variant = "[[variant]]\nname = \"rude\"\nenv = { WORD = \"bah\" }\n";
    let file = project.server_with("speaks", "speaks", variant);
    let all = project.run(&["verify", "--workloads", "hello"]).with(1);
    let all = all
        .prints("verified speaks × hello")
        .prints("WRONG    speaks@rude × hello");
    all.prints("`bah from prony\\n`");
    let one = project.run(&["verify", "speaks@rude", "--workloads", "byte"]);
    one.with(0).prints("verified speaks@rude × byte");
    let unknown = project.run(&["verify", "speaks@rud"]).with(2);
    unknown.says("did you mean `speaks@rude`?");

    let elsewhere = tempfile::tempdir().unwrap();
    let folder = elsewhere.path().join("speaks");
    fs::rename(file.parent().unwrap(), &folder).unwrap();
    let folder = folder.to_str().unwrap();
    let path = format!("{folder}@rude");
    let there = project.run(&["verify", &path, "--workloads", "byte"]);
    there.with(0).prints("verified speaks@rude × byte");
    let path = format!("{folder}@rud");
    let unknown = project.run(&["verify", &path]).with(1);
    unknown.says("server `speaks`: there is no variant `rud`; did you mean `rude`?");
}

/// A user's own suite.
const OWN_SUITE: &str = r#"title = "My own"
about = "One load."
rounds = 1
servers = ["old", "new"]
[[measure]]
workloads = ["hello"]
load = { shape = "closed", connections = 2, duration = "50ms", warmup = "10ms", warmup_limit = "0s", timeout = "5s" }
"#;

#[test]
fn a_suite_may_be_anywhere_and_name_servers_anywhere() {
    let project = Project::new().with(&["ceiling"]);
    project.server("mine", "right");
    let elsewhere = tempfile::tempdir().unwrap();
    let folder = elsewhere.path().join("mine");
    fs::rename(project.path().join("servers/mine"), &folder).unwrap();
    let suite = elsewhere.path().join("my-own.toml");
    fs::write(&suite, OWN_SUITE).unwrap();
    let suite = suite.to_str().unwrap();
    let named = |name: &str| format!("{name}={}", folder.display());
    let (old, new) = (named("old"), named("new"));
    // The order is that of the suite, not of the command line.
    let servers = ["run", suite, "--server", &new, "--server", &old];
    project.run(&servers).with(0).says("My own (my-own)");
    let record = project.export();
    for name in ["old", "new", "ceiling"] {
        assert_eq!(trials(&record, name, "measured").len(), 1, "{name}");
    }
    let servers = record["run"]["servers"].as_array().unwrap();
    let ids: Vec<&str> = servers
        .iter()
        .map(|one| one["id"].as_str().unwrap())
        .collect();
    assert_eq!(ids, ["old", "new", "ceiling"]);

    let unknown = project.run(&["run", suite, "--server", &new]).with(1);
    unknown.says("the suite `my-own`: there is no server `old`");
    let missing = project.run(&["run", "./none.toml"]).with(1);
    missing.says("cannot read ./none.toml");
    let other = format!("new={}", project.path().join("servers/ceiling").display());
    let twice = project.run(&["run", suite, "--server", &new, "--server", &other]);
    twice.with(2).says("two servers would have the id `new`");
    let shouted = named("NEW");
    let bad = project.run(&["run", suite, "--server", &shouted]).with(1);
    bad.says("`NEW` is not a valid server name");
    let badly_named = elsewhere.path().join("my own.toml");
    fs::write(&badly_named, OWN_SUITE).unwrap();
    let bad = project.run(&["run", badly_named.to_str().unwrap()]).with(2);
    bad.says("a suite's file name may have only letters, digits, hyphens and underscores");
}
