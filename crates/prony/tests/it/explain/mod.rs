//! `prony explain`: servers whose cost is known, and what Prony says if it may not look.

use std::fs;
use std::io::{self, Write};
use std::os::unix::fs::PermissionsExt;
use std::process::Command;

use prony_testkit::contains;
use prony_testkit::processes::copy_program;
use prony_testkit::server::{Change, kill_self};
use serde_json::Value;

use crate::common::project::Project;
use crate::common::{repository, run, schema};

pub(crate) const CHANGES: [(&str, Change); 1] = [("ends", |request, _| {
    // More than verification sends, and fewer than any load.
    if request.number > 8 {
        kill_self();
    }
})];

/// Short loads over two connections.
const SHORT: &str = "--workload hello --connections 2 --duration 300ms --warmup 50ms";

/// Adds the server of known cost, compiled with these flags.
fn known_cost(project: &Project, id: &str, flags: &[&str]) {
    project.manifest(
        id,
        r#"title = "A server of known cost"
language = "C"
framework = "none"
class = "stdlib"
workloads = ["hello"]
run = ["./server"]
"#,
    );
    let source = repository().join("crates/prony/tests/it/explain/known_cost.c");
    let program = project.path().join("servers").join(id).join("server");
    let mut cc = Command::new("cc");
    cc.args(["-O2", "-fomit-frame-pointer", "-pthread"]);
    cc.args(flags).arg("-o").arg(program).arg(source);
    run(cc).with(0);
}

fn explain(project: &Project, words: &str) -> Value {
    let ended = project.run(&format!("explain {words} {SHORT} --json -"));
    schema::valid("explanation", &ended.with(0).stdout)
}

/// Why tracing is forbidden here, if it is; with `PRONY_REQUIRE_PERF_EVENTS` set that fails the test.
fn is_forbidden(explanation: &Value) -> bool {
    let missing = explanation["unavailable"].as_array();
    let missing: Vec<&Value> = { missing.into_iter().flatten() }
        // The threads of the server end with their connections.
        .filter(|one| one["what"] != "context switches and threads")
        .collect();
    if missing.is_empty() {
        return false;
    }
    let is_required = std::env::var_os("PRONY_REQUIRE_PERF_EVENTS").is_some();
    assert!(!is_required, "{missing:?}");
    let _ = writeln!(io::stderr(), "skipped: {missing:?}");
    true
}

#[test]
fn seven_system_calls_of_three_kinds_are_counted() {
    let project = Project::new();
    known_cost(&project, "known", &[]);
    // Opening and closing the connections, and what is in flight at the end, is a small part, because the load is long enough
    // even on a busy machine.
    let long = SHORT.replace("300ms", "1s");
    let ended = project.run(&format!(
        "explain known --rounds 1 --no-profile {long} --json -"
    ));
    let document = schema::valid("explanation", &ended.with(0).stdout);
    let explanation = &document["explanations"][0];
    if is_forbidden(explanation) {
        return;
    }
    let round = &explanation["rounds"][0];
    let figure = |at: &str| round.pointer(at).and_then(Value::as_f64);
    for (call, count) in [("read", 1.0), ("getppid", 5.0), ("write", 1.0)] {
        let counted = figure(&format!("/system_calls/{call}")).unwrap();
        let share = counted / count;
        assert!((share - 1.0).abs() < 0.1, "{call}: {counted}");
    }
    let all = figure("/figures/system-calls").unwrap();
    assert!((all - 7.0).abs() < 0.4, "{all}");
    assert_eq!(figure("/figures/segments"), Some(1.0));
    // The head and the body.
    assert_eq!(figure("/figures/bytes"), Some(82.0));
}

/// The share of the samples in `heavy` of those in `heavy` and `light`.
fn heavy_share(profile: &Value) -> f64 {
    let frames = profile["frames"].as_array().unwrap();
    let weight = |name: &str| -> f64 {
        let stacks = profile["stacks"].as_array().unwrap().iter();
        let own = stacks.filter(|stack| {
            let last = stack["frames"].as_array().unwrap().last().unwrap();
            frames[last.as_u64().unwrap() as usize]["name"] == name
        });
        own.map(|stack| stack["weight"].as_f64().unwrap()).sum()
    };
    let heavy = weight("heavy");
    heavy / (heavy + weight("light"))
}

/// The share of the longer function must be 0.7, to `within`.
fn has_its_share(duration: &str, within: f64) {
    let project = Project::new();
    known_cost(&project, "known", &[]);
    let rounds = "--rounds 2 --frequency 499 --profile-duration";
    let document = explain(&project, &format!("known {rounds} {duration}"));
    let explanation = &document["explanations"][0];
    if is_forbidden(explanation) {
        return;
    }
    let share = heavy_share(&explanation["on_cpu"]);
    assert!((share - 0.7).abs() < within, "{share}");
    // The threads wait in read.
    let off_cpu = explanation["off_cpu"]["seconds"].as_f64().unwrap();
    assert!(off_cpu > 0.0, "{off_cpu}");
    let run = document["run"]["id"].as_str().unwrap();
    let read = |name: &str| project.read(&format!(".prony/runs/{run}/{name}"));
    let folded = read("profiles/known-hello-on-cpu.folded");
    let line = folded.lines().find(|line| line.contains(";heavy "));
    contains(line.unwrap(), "serve;heavy ");
    let svg = read("profiles/known-hello-on-cpu.svg");
    contains(&svg, "heavy");
    contains(&svg, "</svg>");
    contains(&read("explain.html"), "</html>");
}

#[test]
#[ignore = "full check: precise shares take many samples"]
fn a_function_has_its_share_of_the_profile() {
    has_its_share("2s", 0.08);
}

#[test]
fn two_servers_differ_in_the_function_that_is_longer() {
    let project = Project::new();
    known_cost(&project, "before", &[]);
    // Ten times as many: a few samples show it, and a busy machine takes few.
    known_cost(&project, "after", &["-DHEAVY_STEPS=140000"]);
    let more = "--rounds 2 --profile-duration 300ms --frequency 499";
    let ended = project.run(&format!("explain before after {SHORT} {more}"));
    let ended = ended.with(0);
    if ended.stderr.contains("profile") && ended.all().contains("only root") {
        return;
    }
    let grew = ended.stdout.lines().find(|line| line.contains("heavy"));
    assert!(grew.is_some(), "{}", ended.stdout);
}

#[test]
fn servers_are_compared_in_the_order_in_which_they_are_named() {
    let project = Project::new();
    for id in ["first", "second"] {
        known_cost(&project, id, &[]);
    }
    let folder = project.path().join("elsewhere");
    fs::create_dir(&folder).unwrap();
    fs::rename(project.path().join("servers/second"), folder.join("second")).unwrap();
    let document = explain(&project, "elsewhere/second first --rounds 1 --no-profile");
    let explanations = document["explanations"].as_array().unwrap().iter();
    let servers: Vec<&Value> = explanations.map(|one| &one["server"]).collect();
    assert_eq!(servers, ["second", "first"]);
    assert_eq!(document["differences"][0]["before"], "second");
    // Only the folder.
    let document = explain(&project, "elsewhere/second --rounds 1 --no-profile");
    assert_eq!(document["explanations"].as_array().unwrap().len(), 1);
}

#[test]
fn a_server_that_ends_under_load_fails_alone() {
    let project = Project::new();
    known_cost(&project, "known", &[]);
    project.server("ends", "ends");
    project
        .run(&format!(
            "explain ends known --rounds 1 --no-profile {SHORT}"
        ))
        .with(1)
        .prints("killed by SIGKILL")
        .prints("known");
}

/// Prony must say which rights it lacks, and show the rest.
#[test]
fn without_rights_the_rest_is_shown_with_the_command_that_grants_them() {
    let setpriv = Command::new("setpriv").arg("--version").output();
    if !nix::unistd::geteuid().is_root() || setpriv.is_err() {
        let _ = writeln!(
            io::stderr(),
            "skipped: only root can become somebody without rights"
        );
        return;
    }
    let project = Project::new();
    known_cost(&project, "known", &[]);
    // Every user may write here.
    fs::set_permissions(project.path(), fs::Permissions::from_mode(0o777)).unwrap();
    let prony = project.prony(&format!("explain known --rounds 1 {SHORT}"));
    // Nobody may not enter the folder of the build.
    let program = project.path().join("prony");
    copy_program(prony.get_program(), &program);
    let nobody = "--reuid 65534 --regid 65534 --clear-groups --no-new-privs";
    let mut command = Command::new("setpriv");
    command
        .args(nobody.split(' '))
        .arg(program)
        .args(prony.get_args());
    command
        .current_dir(project.path())
        .env("HOME", project.path());
    run(command)
        .with(0)
        .prints("system calls")
        .prints("sudo ")
        .prints("CPU time");
}
