//! Servers of users: how they start, how failures are reported, what counts as output, and servers and suites in any
//! folder.

use std::fs;
use std::path::Path;

use crate::common::project::{Project, manifest, trials};
use crate::common::{Running, run};
use prony_testkit::server::{self, Change, hang};
use prony_testkit::{contains, lacks};

pub(crate) const CHANGES: [(&str, Change); 5] = [
    ("logs-elsewhere", |_, response| {
        response.errors = std::mem::take(&mut response.output);
    }),
    ("also-warns", |_, response| {
        response.errors.clone_from(&response.output);
    }),
    // It says when the byte has been requested, and responds no more.
    ("goes-away", |request, response| {
        if Path::new("was-requested").exists() {
            hang();
        }
        if request.path == "/byte" {
            response.then = Some(|| fs::write("was-requested", "").unwrap());
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

#[test]
fn a_server_that_logs_to_standard_error_is_wrong_and_one_that_warns_there_is_right() {
    let project = Project::new();
    project.server("logs-elsewhere", "logs-elsewhere");
    project.server("also-warns", "also-warns");
    project
        .run("verify --workloads page-log")
        .with(1)
        .prints("verified also-warns × page-log")
        .prints("WRONG    logs-elsewhere × page-log")
        .prints("  received 0 lines, and 3 on standard error, which are not counted")
        .prints("logs-elsewhere-verify.stderr.log");
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
    let verified = project.run("verify node-like").with(1);
    let verified = verified.prints("FAILED   node-like: the server ended with exit code 3");
    let failed = verified.stdout.as_str();
    for line in ["Error: Cannot find module nope", "at frame9", "…"] {
        contains(failed, &format!("{line}\n"));
    }
    contains(failed, "at frame40\n");
    contains(failed, "Node.js v20\n");
    lacks(failed, "at frame15\n");
    let log = failed.split_once("its standard error (").unwrap().1;
    let log = log.split_once("):").unwrap().0;
    assert_eq!(fs::read_to_string(log).unwrap().lines().count(), 42);

    // The summary of a run says what happened, too.
    let measure = project.measure("node-like,ceiling", "hello", "--rounds 1 --no-ceiling");
    let ended = run(measure).with(1).stdout.replace("\n    ", " ");
    let (_, summary) = ended.split_once("Not measured").unwrap();
    let message = "node-like: start failed: the server ended with exit code 3 before it sent the expected response;";
    contains(summary, message);
    contains(summary, "… Node.js v20");
}

#[test]
fn two_verifications_of_a_server_at_once_have_separate_logs() {
    let project = Project::new();
    // Each waits for the other.
    let script = "echo once; touch here-$$
until [ \"$(ls | grep -c here-)\" = 2 ]; do sleep 0.01; done
exit 3";
    project.command("slow-to-fail", &["sh", "-c", script]);
    let start = || Running::start(project.prony("verify slow-to-fail"));
    let both = [start(), start()];
    for ended in both.map(Running::end) {
        assert_eq!(ended.stdout.matches("once").count(), 1, "{}", ended.all());
    }
}

#[test]
fn a_server_that_goes_into_the_background_is_reported_once() {
    let project = Project::new();
    // Its first process ends when it has responded for a while.
    let script = "\"$0\" \"$@\" &\nuntil [ -e was-requested ]; do sleep 0.001; done";
    project.wrapped("goes-away", script, "goes-away", "server");
    let ended = project.run("verify goes-away --workloads hello,byte,page,quote");
    let ended = ended.with(1);
    let message = "left 1 process running in the background, which Prony has stopped (run it in the foreground)";
    assert_eq!(ended.stdout.matches(message).count(), 1, "{}", ended.all());
    lacks(&ended.stdout, "refused");
}

#[test]
fn a_server_on_another_port_is_reported_with_that_port() {
    let project = Project::new();
    // It takes any free port instead of its own.
    project.wrapped("elsewhere", "PORT=0 exec \"$0\" \"$@\"", "right", "server");
    let ended = project.run("verify elsewhere --ready-timeout 5s").with(1);
    ended
        .prints("FAILED   elsewhere: the server sent no complete response within 5s")
        .prints(": it listens on 127.0.0.1:")
        .prints(": does it read PORT?");
}

#[test]
fn a_response_that_is_cut_short_is_reported_with_its_status_and_the_logs() {
    let project = Project::new();
    project.server("breaks", "breaks");
    let ended = project
        .run("verify breaks --workloads hello,byte")
        .with(1)
        .prints("WRONG    breaks × byte")
        .prints(
            "in the middle of a response with status 500, after 8 bytes of its body: `no datab`",
        );
    let log = ended.stdout.split_once(".log, ").unwrap().1;
    let log = fs::read_to_string(log.lines().next().unwrap()).unwrap();
    contains(&log, "Traceback: no database");

    // If nothing else comes, that is why it is not ready.
    project.check("1 | verify breaks --workloads byte --ready-timeout 5s | >FAILED   breaks:  & >a response with status 500");
}

#[test]
fn a_command_line_may_contain_host_and_port() {
    let project = Project::new();
    // It listens where its words say, and writes a file into the given folder.
    let script = "export HOST=$0 PORT=$1 ASSETS=$2; touch $3/pid; shift 3; exec \"$@\"";
    let places = ["sh", "-c", script, "{host}", "{port}", "{assets}", "{tmp}"];
    let words = places.map(str::to_owned).into_iter();
    let words: Vec<String> = words.chain(server::command("right", "server")).collect();
    let file = project.command("in-words", &words);
    let verify = "verify in-words --workloads hello,quote";
    project.check(&format!("0 | {verify} | >verified in-words × quote"));
    let wrong = manifest(&words) + "env = { A = \"{prot}\" }\n";
    project.manifest("in-words", &wrong);
    let place = format!("{}:7: field `A`: ", file.display());
    let verified = project.run("verify").with(1).prints(&place);
    verified.prints("no placeholder `{prot}` here; did you mean `port`?");
}

#[test]
fn what_is_not_installed_is_skipped_with_the_command_that_installs_it_unless_it_is_required() {
    let project = Project::new().with(&["ceiling"]);
    let need = "needs = [{ program = \"no-such-server\", least = \"2.1\", install = \"get it somewhere\" }]\n";
    project.manifest("rare", &(manifest(&["no-such-server"]) + need));
    let future = "needs = [\"go >= 999.0\"]\n";
    project.manifest("of-the-future", &(manifest(&["true"]) + future));
    project.check(
        r"
        0 | verify --workloads hello | >SKIPPED  rare: no-such-server >= 2.1 is missing; to install it: get it somewhere
        0 | verify --workloads hello of-the-future | >SKIPPED  of-the-future:  & >999 & >; to install it:\x20
        1 | verify --workloads hello --require-toolchains | >SKIPPED  of-the-future:\x20
        1 | doctor | >  MISSING    no-such-server >= 2.1 & >get it somewhere
        ",
    );
}

#[test]
fn a_server_has_variants_and_may_be_in_any_folder() {
    let project = Project::new();
    let variant = "[[variant]]\nname = \"rude\"\nenv = { WORD = \"bah\" }\n";
    let file = project.server_with("speaks", "speaks", variant);
    project.check(
        r"
        1 | verify --workloads hello | >verified speaks × hello & >WRONG    speaks@rude × hello & >`bah from prony\\n`
        0 | verify speaks@rude --workloads byte | >verified speaks@rude × byte
        2 | verify speaks@rud | did you mean `speaks@rude`?
        ",
    );

    let elsewhere = tempfile::tempdir().unwrap();
    let folder = elsewhere.path().join("speaks");
    fs::rename(file.parent().unwrap(), &folder).unwrap();
    let verify = format!("verify --workloads byte {}", folder.display());
    project.check(&format!(
        "
        0 | {verify} | >verified speaks × byte
        0 | {verify}@rude | >verified speaks@rude × byte
        1 | {verify}@rud | server `speaks`: there is no variant `rud`; did you mean `rude`?
        "
    ));
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
fn a_suite_may_be_anywhere_and_have_servers_from_anywhere() {
    let (project, elsewhere) = (Project::new().with(&["ceiling"]), Project::new());
    let folder = |project: &Project, id: &str| {
        let manifest = project.server(id, "right");
        manifest.parent().unwrap().to_str().unwrap().to_owned()
    };
    let measured = || -> Vec<String> {
        let record = project.export();
        let servers = record["run"]["servers"].as_array().unwrap().iter();
        let ids = servers.map(|one| one["id"].as_str().unwrap());
        ids.inspect(|id| assert_eq!(trials(&record, id, "measured").len(), 1, "{id}"))
            .map(str::to_owned)
            .collect()
    };
    let (mine, beside) = (folder(&elsewhere, "mine"), folder(&project, "beside"));
    let suite = elsewhere.write("my-own.toml", OWN_SUITE);
    let own = format!("run {} --server", suite.display());
    let badly_named = elsewhere.write("my-own.d.toml", OWN_SUITE);
    let badly_named = badly_named.display();
    // The order is that of the suite, not of the command line.
    project.check(&format!(
        "0 | {own} new={mine} --server old={mine} | My own (my-own)"
    ));
    assert_eq!(measured(), ["old", "new", "ceiling"]);

    // In addition to the named ones; a folder of the project itself is one of them.
    let short = "run tour --workloads hello --rounds 1 --duration 50ms --warmup 10ms";
    project.check(&format!(
        "0 | {short} --only beside --server {mine} --server {beside} | >mine"
    ));
    assert_eq!(measured(), ["beside", "mine", "ceiling"]);

    let clash = folder(&elsewhere, "ceiling");
    project.check(&format!(
        "
        1 | {own} new={mine} | the suite `my-own`: there is no server `old`
        1 | run ./none.toml | cannot read ./none.toml
        2 | {own} new={mine} --server new={clash} | two servers would have the id `new`
        1 | {own} NEW={mine} | `NEW` is not a valid server name
        2 | run {badly_named} | a suite's file name may have only letters, digits, hyphens and underscores
        2 | run tour --server {clash} | two servers would have the id `ceiling`: & {clash} & give one of them another name, for instance --server new=
        1 | run tour --server ../nowhere | nowhere
        "
    ));
}
