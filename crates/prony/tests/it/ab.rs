//! `prony ab`: two revisions of a server, in a git repository of the test's own.

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::common::processes::{await_none, token};
use crate::common::project::{Project, manifest, trials};
use crate::common::{Ended, Running, run, schema};
use nix::sys::signal::Signal;
use prony_testkit::server::{self, Change};

/// It does the same work for each response, as much as its environment says.
pub const CHANGES: [(&str, Change); 1] = [("working", |_, _| {
    let steps = std::env::var("STEPS").unwrap().parse().unwrap();
    for step in 0..steps {
        std::hint::black_box::<u32>(step);
    }
})];

/// Short trials of one workload, and the one metric that a busy machine hardly affects.
const SHORT: [&str; 10] = [
    "--workloads",
    "hello",
    "--connections",
    "2",
    "--duration",
    "100ms",
    "--warmup",
    "10ms",
    "--metrics",
    "cpu,rate",
];

/// A fixed, small number of rounds.
const SIX_ROUNDS: [&str; 2] = ["--rounds", "6"];

/// A project in a git repository, with a server `tiny`.
struct Repository {
    project: Project,
    token: String,
}

impl Repository {
    fn new() -> Self {
        let (project, token) = (Project::new().with(&["ceiling"]), token());
        fs::write(project.path().join(".gitignore"), ".prony\n").unwrap();
        let repository = Self { project, token };
        repository.git(&["init", "--quiet", "--initial-branch", "main"]);
        repository.commit("nothing yet");
        repository
    }

    /// Committed with little work for each response, and then changed to far more.
    fn with_more_work() -> Self {
        let repository = Self::new();
        repository.write(100_000);
        repository.commit("little work");
        repository.write(1_000_000);
        repository
    }

    fn git(&self, arguments: &[&str]) -> Ended {
        let mut git = Command::new("git");
        git.current_dir(self.project.path())
            .args(["-c", "user.name=A", "-c", "user.email=a@example.org"])
            .args(arguments)
            .env("GIT_CONFIG_GLOBAL", "/dev/null")
            .env("GIT_CONFIG_NOSYSTEM", "1");
        run(git).with(0)
    }

    fn commit(&self, message: &str) {
        self.git(&["add", "--all"]);
        self.git(&["commit", "--quiet", "--message", message]);
    }

    /// Writes the server with this much work per response.
    fn write(&self, steps: u32) {
        let command = manifest(&server::command("working", &self.token));
        let env = format!("env = {{ STEPS = \"{steps}\" }}\n");
        self.project.manifest("tiny", &(command + &env));
    }

    fn ab(&self, revisions: &[&str], more: &[&str]) -> Command {
        self.adaptive(revisions, &[&SIX_ROUNDS, more].concat())
    }

    /// Runs `prony ab` with rounds added as needed.
    fn adaptive(&self, revisions: &[&str], more: &[&str]) -> Command {
        let server = ["--server", "tiny"];
        let arguments = [&["ab"], revisions, &server, &SHORT, more].concat();
        self.project.prony(&arguments)
    }

    /// The contents of the folder of checkouts.
    fn checkouts(&self) -> Vec<String> {
        let entries = fs::read_dir(self.project.state("ab")).unwrap();
        let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        let mut names: Vec<String> = names.filter(|name| name != "lock").collect();
        names.sort();
        names
    }

    /// Checks that no files, servers or Git worktrees of a revision are left.
    fn is_clean(&self) {
        assert_eq!(self.checkouts(), [""; 0]);
        let known = self.git(&["worktree", "list"]).stdout;
        assert_eq!(known.lines().count(), 1, "{known}");
        await_none(&self.token);
    }
}

#[test]
fn a_revision_that_does_more_work_is_worse() {
    let repository = Repository::with_more_work();
    let file = repository.project.path().join("found.json");
    let more = ["--json", file.to_str().unwrap()];
    let ended = run(repository.ab(&["main"], &more)).with(1);
    let ended = ended.prints("worse").says("report ");
    assert!(
        ended.stdout.contains("tiny@working-tree"),
        "{}",
        ended.stdout
    );
    let json = schema::comparison(&fs::read_to_string(&file).unwrap());
    assert_eq!(json["sessions"], "one");
    let rows = json["cases"][0]["rows"].as_array().unwrap();
    let cpu = rows.iter().find(|row| row["what"] == "cpu").unwrap();
    assert_eq!(cpu["finding"], "worse", "{cpu}");
    assert_eq!(cpu["change"]["basis"], "paired");
    repository.is_clean();

    // The run is like any other, with the ceiling as its control.
    let record = repository.project.export();
    assert_eq!(record["run"]["suite"], "ab");
    for server in ["ceiling", "tiny@working-tree"] {
        assert_eq!(trials(&record, server, "measured").len(), 6, "{server}");
    }
    repository
        .project
        .run(&["report"])
        .with(0)
        .prints("tiny@working-tree");
    let base = json["base"]["server"].as_str().unwrap();
    let sides = [
        format!("latest:{base}"),
        "latest:tiny@working-tree".to_owned(),
    ];
    let again = ["compare", &sides[0], &sides[1], "--metrics", "cpu"];
    repository.project.run(&again).with(1).prints("worse");
}

#[test]
fn if_nothing_changed_nothing_is_worse() {
    let repository = Repository::new();
    repository.write(1000);
    repository.commit("one");
    // Leftovers of an earlier one do no harm.
    let head = repository.git(&["rev-parse", "HEAD"]).stdout;
    let left = repository.project.state("ab").join(head.trim());
    fs::create_dir_all(&left).unwrap();
    fs::write(left.join("left"), "behind").unwrap();
    let more = ["--threshold", "1000%", "--no-ceiling"];
    let ended = run(repository.ab(&["main", "HEAD"], &more)).with(0);
    let ended = ended.says("are the same in both revisions");
    assert!(ended.stdout.contains("-again"), "{}", ended.stdout);
    repository.is_clean();
}

/// Why the rounds of the last run ended, and after how many.
fn end_of_rounds(repository: &Repository) -> (String, u64) {
    let end = &repository.project.export()["run"]["adaptive"]["ends"][0];
    let reason = end["reason"].as_str().unwrap().to_owned();
    (reason, end["rounds"].as_u64().unwrap())
}

#[test]
#[ignore = "full check: how many rounds it takes depends on the machine"]
fn rounds_are_added_until_the_rates_are_precise() {
    let repository = Repository::with_more_work();
    let enough = ["--precision", "50%", "--budget", "180s", "--no-ceiling"];
    let ended = run(repository.adaptive(&["main"], &enough)).with(1);
    ended.prints("worse");
    let (reason, rounds) = end_of_rounds(&repository);
    assert!(reason == "precise" && rounds >= 12, "{reason}, {rounds}");
}

#[test]
fn rounds_are_added_until_the_budget_or_their_number_is_spent() {
    let repository = Repository::with_more_work();
    let little = ["--precision", "0.001%", "--budget", "1ms", "--no-ceiling"];
    let ended = run(repository.adaptive(&["main"], &little));
    assert!([Some(0), Some(1)].contains(&ended.code), "{}", ended.all());
    ended.says("a longer --budget would narrow it");
    assert_eq!(end_of_rounds(&repository), ("budget".to_owned(), 2));

    let few = ["--precision", "0.001%", "--rounds", "2", "--no-ceiling"];
    let ended = run(repository.adaptive(&["main"], &few));
    ended.says("more --rounds would narrow it");
}

#[test]
fn leftovers_of_killed_commands_are_removed_but_kept_files_stay() {
    let repository = Repository::new();
    repository.write(1000);
    repository.commit("one");
    repository.write(1001);
    repository.commit("two");
    let hash = |revision: &str| {
        let ended = repository.git(&["rev-parse", revision]);
        ended.stdout.trim().to_owned()
    };
    let wide = ["--threshold", "1000%", "--no-ceiling"];
    let rounds = |more: &[&'static str]| [&["--rounds", "2"], &wide[..], more].concat();
    run(repository.adaptive(&["HEAD~1"], &rounds(&["--keep"]))).with(0);
    let kept = [hash("HEAD~1"), hash("HEAD~1") + ".kept"];
    assert_eq!(repository.checkouts(), kept);

    // A checkout of a commit that is not needed again, and a folder that is not a checkout.
    let left = repository.project.state("ab").join(hash("HEAD~2"));
    let folder = left.to_str().unwrap();
    repository.git(&["worktree", "add", "--quiet", "--detach", folder, "HEAD~2"]);
    fs::create_dir(repository.project.state("ab/broken")).unwrap();
    run(repository.adaptive(&["HEAD"], &rounds(&[]))).with(0);
    assert_eq!(repository.checkouts(), kept);
    let known = repository.git(&["worktree", "list"]).stdout;
    assert_eq!(known.lines().count(), 2, "{known}");

    // It is used again, and removed once its mark is gone.
    run(repository.adaptive(&["HEAD~1"], &rounds(&[]))).with(0);
    assert_eq!(repository.checkouts(), kept);
    fs::remove_file(repository.project.state("ab").join(&kept[1])).unwrap();
    run(repository.adaptive(&["HEAD"], &rounds(&[]))).with(0);
    repository.is_clean();
}

#[test]
fn revisions_that_cannot_be_compared_are_reported() {
    let repository = Repository::new();
    repository.write(1);
    repository.commit("it works");
    let broken = |says: &str, code: i32, revisions: &[&str]| {
        run(repository.ab(revisions, &[])).with(code).says(says);
        repository.is_clean();
    };
    broken("there is no commit `no-such`", 2, &["no-such"]);
    broken("has no server `tiny`", 2, &["HEAD~1"]);
    let elsewhere = [
        "ab",
        "main",
        "--server",
        "tiny",
        "--workloads",
        "grpc-unary",
    ];
    let elsewhere = repository.project.run(&elsewhere).with(2);
    elsewhere.says("does not serve `grpc-unary`");

    let manifest = repository.project.path().join("servers/tiny/server.toml");
    let text = fs::read_to_string(&manifest).unwrap();
    fs::write(&manifest, format!("{text}build = [[\"false\"]]\n")).unwrap();
    broken("can no longer be built", 1, &["main"]);
    // The pull request gets its comment nevertheless.
    let more = ["--json", "found.json", "--markdown", "pr.md"];
    run(repository.ab(&["main"], &more)).with(1);
    let read = |name: &str| fs::read_to_string(repository.project.path().join(name)).unwrap();
    let json = schema::comparison(&read("found.json"));
    let failure = &json["cases"][0]["rows"][0];
    assert_eq!(
        (&failure["what"], &failure["finding"]),
        (&"failure".into(), &"worse".into())
    );
    let markdown = read("pr.md");
    assert!(
        markdown.starts_with("### Prony: worse (1 of 1"),
        "{markdown}"
    );
    assert!(markdown.contains("its build failed"), "{markdown}");
    for name in ["found.json", "pr.md"] {
        fs::remove_file(repository.project.path().join(name)).unwrap();
    }
    repository.commit("it is broken");
    broken("could not be built", 2, &["main", "main~1"]);
}

#[test]
fn a_server_outside_of_a_repository_has_no_revisions() {
    let project = Project::new().with(&["ceiling"]);
    project.server("tiny", "right");
    let mut ab = project.prony(&["ab", "main", "--server", "tiny"]);
    ab.env("GIT_CEILING_DIRECTORIES", parent(project.path()));
    run(ab).with(2).says("is not in a git repository");
}

fn parent(folder: &Path) -> &Path {
    folder.parent().unwrap()
}

#[test]
fn an_interrupt_leaves_neither_files_nor_servers() {
    let repository = Repository::new();
    repository.write(1);
    repository.commit("it works");
    let mut running = Running::start(repository.project.prony(&[
        "ab",
        "main",
        "--server",
        "tiny",
        "--workloads",
        "hello",
        "--rounds",
        "100",
        "--warmup",
        "10ms",
        "--duration",
        "50ms",
        "--no-ceiling",
    ]));
    running.await_stderr("round 2 of 100");
    running.signal(Signal::SIGINT);
    running.end().with(130);
    repository.is_clean();
    let record = repository.project.export();
    assert_eq!(record["run"]["end"], "interrupted");
    assert!(!record["trials"].as_array().unwrap().is_empty());
}

/// A server in C that spends most of its instructions in `render`, and what describes it.
const COUNTED: &str = include_str!("common/counted.c");
const COUNTED_PROJECT: &str = r#"
[server.c]
build = "cc -O1 -o {out}/server server.c"
run = "{out}/server"

[workload.root]
request.method = "GET"
request.path = "/"
response.status = 200
response.body.text = "ok"
"#;

/// Whether valgrind is installed; says so if it is not, or fails if it must be.
fn has_valgrind() -> bool {
    let found = Command::new("valgrind").arg("--version").output().is_ok();
    if !found {
        assert!(
            std::env::var_os("PRONY_REQUIRE_VALGRIND").is_none(),
            "valgrind is not installed"
        );
        eprintln!("LEFT OUT verdicts by instructions: valgrind is not installed");
    }
    found
}

/// A repository with the server in C; `steps` of work in `render`.
fn counted(steps: u32) -> Repository {
    let (project, token) = (Project::new(), token());
    let repository = Repository { project, token };
    let folder = repository.project.path();
    fs::write(folder.join(".gitignore"), ".prony\n").unwrap();
    fs::write(folder.join("prony.toml"), COUNTED_PROJECT).unwrap();
    repository.git(&["init", "--quiet", "--initial-branch", "main"]);
    repository.render(steps);
    repository.commit("it works");
    repository
}

impl Repository {
    fn render(&self, steps: u32) {
        let source = COUNTED.replace("STEPS", &steps.to_string());
        fs::write(self.project.path().join("server.c"), source).unwrap();
    }

    fn by_instructions(&self, more: &[&str]) -> Command {
        let arguments = ["ab", "main", "--by", "instructions", "--rounds", "2"];
        let few = ["--requests", "20", "--warmup-limit", "500ms"];
        self.project.prony(&[&arguments[..], &few, more].concat())
    }
}

#[test]
#[ignore = "full check: valgrind takes many seconds"]
fn the_function_that_grew_is_named_with_its_share() {
    if !has_valgrind() {
        return;
    }
    let repository = counted(3000);
    repository.render(3300);
    let file = repository.project.path().join("found.json");
    let markdown = repository.project.path().join("found.md");
    let more = [
        "--json",
        file.to_str().unwrap(),
        "--markdown",
        markdown.to_str().unwrap(),
    ];
    let ended = run(repository.by_instructions(&more)).with(1);
    ended
        .prints("worse")
        .prints("render")
        .prints("not whether the server is slower");
    let json = schema::comparison(&fs::read_to_string(&file).unwrap());
    let case = &json["cases"][0];
    let row = &case["rows"][0];
    assert_eq!(
        (&row["what"], &row["finding"]),
        (&"user-instructions".into(), &"worse".into())
    );
    assert_eq!(row["change"]["basis"], "starts");
    let function = &case["instructions"]["functions"][0];
    assert_eq!(function["name"], "render", "{function}");
    assert!(function["share"].as_f64().unwrap() > 0.95, "{function}");
    let grew = function["new"].as_f64().unwrap() / function["base"].as_f64().unwrap();
    assert!((1.09..1.11).contains(&grew), "it is 10 % longer: {grew}");
    assert!(case["instructions"]["cpu"]["base_ns"].as_f64().unwrap() > 0.0);
    let markdown = fs::read_to_string(markdown).unwrap();
    assert!(markdown.contains("| render |"), "{markdown}");
    // The record says what counted, and the report shows no rate of an emulated server.
    let record = repository.project.export();
    let trial = &trials(&record, "c@working-tree", "measured")[0];
    let counted = &trial["result"]["user_instructions"];
    assert_eq!(counted["requests"], 20);
    assert!(trial["result"]["server"].is_null() || counted["counted_by"]["by"] == "counters");
    let report = repository.project.run(&["report"]).with(0);
    assert!(!report.stdout.contains("req/s"), "{}", report.stdout);
    report.prints("instructions/req");
}

#[test]
fn the_same_code_has_the_same_instructions() {
    if !has_valgrind() {
        return;
    }
    let repository = counted(3000);
    let ended = run(repository.by_instructions(&["--strict"])).with(0);
    let ended = ended.prints("no change seen");
    assert!(
        !ended.stdout.contains("Where the instructions"),
        "{}",
        ended.stdout
    );
}

#[test]
#[ignore = "full check: valgrind takes many seconds"]
fn a_server_that_valgrind_cannot_run_fails_with_valgrinds_words() {
    if !has_valgrind() {
        return;
    }
    let repository = counted(3000);
    let folder = repository.project.path();
    // It runs by itself, and executes an instruction that nothing knows if valgrind runs it.
    let source = COUNTED.replace("STEPS", "3000").replace(
        "int main(void) {",
        "int main(void) {\n    char *tools = getenv(\"LD_PRELOAD\");\n    if (tools && strstr(tools, \"valgrind\")) __builtin_trap();",
    );
    fs::write(folder.join("server.c"), source).unwrap();
    let ended = run(repository.by_instructions(&[])).with(1);
    ended.prints("failure").says("Unrecognised instruction");
}

#[test]
fn without_valgrind_cpu_time_is_compared() {
    let repository = counted(3000);
    let folder = repository.project.path().join(".prony/bin");
    fs::create_dir_all(&folder).unwrap();
    for program in ["cc", "git", "sh", "as", "ld", "collect2"] {
        let found = Command::new("sh")
            .args(["-c", &format!("command -v {program}")])
            .output();
        let found = String::from_utf8(found.unwrap().stdout).unwrap();
        if !found.trim().is_empty() {
            std::os::unix::fs::symlink(found.trim(), folder.join(program)).unwrap();
        }
    }
    let mut ab = repository.project.prony(&[
        "ab",
        "main",
        "--by",
        "instructions",
        "--rounds",
        "2",
        "--duration",
        "100ms",
        "--warmup",
        "20ms",
        "--threshold",
        "1000%",
    ]);
    ab.env("PATH", &folder);
    let ended = run(ab).with(0);
    let ended = ended.says("note: compares CPU time").says("valgrind");
    ended.prints("cpu ↓");
}
