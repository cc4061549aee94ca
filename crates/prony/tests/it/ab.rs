//! `prony ab`: two revisions of a server, in a git repository of the test's own.

use std::fs;
use std::process::Command;

use crate::common::processes::{await_none, token};
use crate::common::project::{Project, manifest, trials};
use crate::common::{Ended, Running, run, schema};
use nix::sys::signal::Signal;
use prony_testkit::server::{self, Change};
use prony_testkit::{contains, lacks};

/// It does the same work for each response, as much as its environment says.
pub(crate) const CHANGES: [(&str, Change); 1] = [("working", |_, _| {
    let steps = std::env::var("STEPS").unwrap().parse().unwrap();
    for step in 0..steps {
        std::hint::black_box::<u32>(step);
    }
})];

/// Short trials of one workload, and the one metric that a busy machine hardly affects.
const SHORT: &str = "--server tiny --workloads hello --connections 2 --duration 100ms --warmup 10ms --metrics cpu,rate";
/// No change is as large as this.
const WIDE: &str = "--threshold 1000% --no-ceiling";

/// A project in a git repository, with a server `tiny`.
struct Repository {
    project: Project,
    token: String,
}

impl Repository {
    fn new() -> Self {
        let (project, token) = (Project::new().with(&["ceiling"]), token());
        project.commit("nothing yet");
        Self { project, token }
    }

    /// Committed with little work for each response, and then changed to far more.
    fn with_more_work() -> Self {
        let repository = Self::new();
        repository.write(100_000);
        repository.project.commit("little work");
        repository.write(1_000_000);
        repository
    }

    /// Writes the server with this much work per response.
    fn write(&self, steps: u32) {
        let command = manifest(&server::command("working", &self.token));
        let env = format!("env = {{ STEPS = \"{steps}\" }}\n");
        self.project.manifest("tiny", &(command + &env));
    }

    fn ab(&self, words: &str) -> Ended {
        self.project.run(&format!("ab {words} {SHORT}"))
    }

    fn hash(&self, revision: &str) -> String {
        let ended = self.project.git(&format!("rev-parse {revision}"));
        ended.stdout.trim().to_owned()
    }

    /// The contents of the folder of checkouts.
    fn checkouts(&self) -> Vec<String> {
        let entries = fs::read_dir(self.project.state("ab")).unwrap();
        let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        let mut names: Vec<String> = names.filter(|name| name != "lock").collect();
        names.sort();
        names
    }

    /// How many worktrees Git knows.
    fn worktrees(&self) -> usize {
        self.project.git("worktree list").stdout.lines().count()
    }

    /// Checks that no files, servers or Git worktrees of a revision are left.
    fn is_clean(&self) {
        assert_eq!((self.checkouts(), self.worktrees()), (Vec::new(), 1));
        await_none(&self.token);
    }

    /// Why the rounds of the last run ended, and after how many.
    fn end_of_rounds(&self) -> (String, u64) {
        let end = &self.project.export()["run"]["adaptive"]["ends"][0];
        let reason = end["reason"].as_str().unwrap().to_owned();
        (reason, end["rounds"].as_u64().unwrap())
    }
}

#[test]
fn a_revision_that_does_more_work_is_worse() {
    let repository = Repository::with_more_work();
    let project = &repository.project;
    repository
        .ab("main --rounds 8 --json found.json")
        .with(1)
        .prints("worse")
        .prints("tiny@working-tree")
        .says("report ");
    let json = schema::valid("comparison", &project.read("found.json"));
    assert_eq!(json["sessions"], "one");
    let rows = json["cases"][0]["rows"].as_array().unwrap();
    let cpu = rows.iter().find(|row| row["what"] == "cpu").unwrap();
    assert_eq!(cpu["finding"], "worse", "{cpu}");
    assert_eq!(cpu["change"]["basis"], "paired");
    repository.is_clean();

    // The run is like any other, with the ceiling as its control.
    let record = project.export();
    assert_eq!(record["run"]["suite"], "ab");
    for server in ["ceiling", "tiny@working-tree"] {
        assert_eq!(trials(&record, server, "measured").len(), 8, "{server}");
    }
    project.run("report").with(0).prints("tiny@working-tree");
    let id = record["run"]["id"].as_str().unwrap();
    for name in ["report.html", "report.md"] {
        let path = project.state("runs").join(id).join(name);
        let report = fs::read_to_string(path).unwrap();
        contains(&report, "Worse: tiny@");
    }
    let base = json["base"]["server"].as_str().unwrap();
    let sides = format!("latest:{base} latest:tiny@working-tree");
    let again = format!("compare {sides} --metrics cpu");
    project.run(&again).with(1).prints("worse");
}

#[test]
#[ignore = "full check: how many rounds it takes depends on the machine"]
fn rounds_are_added_until_the_rates_are_precise() {
    let repository = Repository::with_more_work();
    let ended = repository.ab("main --precision 50% --budget 180s --no-ceiling");
    ended.with(1).prints("worse");
    let (reason, rounds) = repository.end_of_rounds();
    assert!(reason == "precise" && rounds >= 12, "{reason}, {rounds}");
}

#[test]
fn rounds_are_added_until_the_budget_or_their_number_is_spent() {
    let repository = Repository::with_more_work();
    let ended = repository.ab("main --precision 0.001% --budget 1ms --no-ceiling");
    assert!([Some(0), Some(1)].contains(&ended.code), "{}", ended.all());
    ended.says("a longer --budget would narrow it");
    assert_eq!(repository.end_of_rounds(), ("budget".to_owned(), 2));

    repository
        .ab("main --precision 0.001% --rounds 2 --no-ceiling")
        .says("more --rounds would narrow it");
}

#[test]
fn leftovers_of_killed_commands_are_removed_but_kept_files_stay() {
    let repository = Repository::new();
    let project = &repository.project;
    for (steps, message) in [(1000, "one"), (1001, "two")] {
        repository.write(steps);
        project.commit(message);
    }
    let ab = |words: &str| repository.ab(&format!("{words} --rounds 2 {WIDE}")).with(0);
    ab("HEAD~1 --keep");
    let hash = repository.hash("HEAD~1");
    let kept = [hash.clone(), hash + ".kept"];
    assert_eq!(repository.checkouts(), kept);

    // A checkout of a commit that is not needed again, and a folder that is not a checkout.
    let left = project.state("ab").join(repository.hash("HEAD~2"));
    let left = left.display();
    project.git(&format!("worktree add --quiet --detach {left} HEAD~2"));
    fs::create_dir(project.state("ab/broken")).unwrap();
    // Nor does what is left of the commit that is compared do any harm.
    let head = format!(".prony/ab/{}/left", repository.hash("HEAD"));
    project.write(&head, "behind");
    ab("HEAD");
    assert_eq!(repository.checkouts(), kept);
    assert_eq!(repository.worktrees(), 2);

    // It is used again, and removed once its mark is gone. Nothing changed, so nothing is worse.
    ab("HEAD~1");
    assert_eq!(repository.checkouts(), kept);
    fs::remove_file(project.state("ab").join(&kept[1])).unwrap();
    ab("main HEAD")
        .prints("-again")
        .says("are the same in both revisions");
    repository.is_clean();
}

#[test]
fn revisions_that_cannot_be_compared_are_reported() {
    let repository = Repository::new();
    let project = &repository.project;
    repository.write(1);
    project.commit("it works");
    let broken = |says: &str, code: i32, words: &str| {
        repository.ab(words).with(code).says(says);
        repository.is_clean();
    };
    broken("there is no commit `no-such`", 2, "no-such");
    broken("has no server `tiny`", 2, "HEAD~1");
    project
        .run("ab main --server tiny --workloads grpc-unary")
        .with(2)
        .says("does not serve `grpc-unary`");

    let build = "\nbuild = [[\"false\"]]\nrun";
    project.edit("servers/tiny/server.toml", "\nrun", build);
    // The pull request gets its comment nevertheless.
    let files = "--json found.json --markdown pr.md";
    broken("can no longer be built", 1, &format!("main {files}"));
    let json = schema::valid("comparison", &project.read("found.json"));
    let failure = &json["cases"][0]["rows"][0];
    assert_eq!(failure["what"], "failure");
    assert_eq!(failure["finding"], "worse");
    let markdown = project.read("pr.md");
    contains(&markdown, "### Prony: worse\n");
    contains(&markdown, "its build failed");
    project.commit("it is broken");
    broken("could not be built", 2, "HEAD HEAD~1");
}

/// Whichever revision it is: Prony stops at once, although the other one is right.
#[test]
fn a_revision_that_does_not_respond_correctly_ends_the_run() {
    let repository = Repository::new();
    let project = &repository.project;
    repository.write(1);
    project.commit("it works");
    for (command, what, shown) in [
        (
            vec!["sh".into(), "-c".into(), "echo no data >&2; exit 3".into()],
            "cannot be started",
            "no data",
        ),
        (
            server::command("shouting", &repository.token),
            "sends wrong responses",
            "HELLO",
        ),
    ] {
        project.command("tiny", &command);
        repository
            .ab("main --rounds 50 --json found.json")
            .with(1)
            .says(shown)
            .says(&format!("worse: tiny@working-tree {what} (see above)"))
            .prints(&format!(
                "tiny@working-tree {what}, so nothing was measured"
            ));
        let json = schema::valid("comparison", &project.read("found.json"));
        assert_eq!(json["cases"][0]["rows"][0]["finding"], "worse");
        project.commit("it is broken");
        let old = repository.hash("HEAD");
        repository.write(1);
        repository
            .ab("main --rounds 50")
            .with(2)
            .says(shown)
            .says(&format!("nothing can be compared: tiny@{}", &old[..7]))
            .says("could not be measured (see above)");
        assert_eq!(project.export()["trials"].as_array().unwrap().len(), 0);
        project.commit("it works again");
        repository.is_clean();
    }
}

/// A server that does not start without the file of a submodule.
const WITH_SUBMODULE: &str = r#"
[server.shop]
run = "sh -c 'test -f my*/deep/data && exec COMMAND'"

[workload.hello]
request = { method = "GET", path = "/hello" }
response = { status = 200 }
"#;

#[test]
fn submodules_are_checked_out_with_the_revision() {
    let [deep, library] = [(); 2].map(|()| Project::empty());
    deep.write("data", "x");
    deep.commit("data");
    let command = server::command("right", "server").join(" ");
    let project = Project::of(&WITH_SUBMODULE.replace("COMMAND", &command));
    project.git("init --quiet --initial-branch main");
    for (into, of, name) in [(&library, &deep, "deep"), (&project, &library, "my lib")] {
        if !into.path().join(".git").exists() {
            into.git("init --quiet --initial-branch main");
        }
        let add = "-c protocol.file.allow=always submodule --quiet add";
        into.git(&format!("{add} {} '{name}'", of.path().display()));
        into.commit("with a submodule");
    }
    project.git("-c protocol.file.allow=always submodule --quiet update --init --recursive");
    project.commit("the same");
    let short = "--rounds 2 --duration 50ms --warmup 10ms --threshold 1000%";
    project
        .run(&format!("ab HEAD~1 HEAD {short}"))
        .with(0)
        .prints("shop@");
    // A commit that only another clone has.
    library.write("more", "");
    library.commit("more");
    let commit = library.git("rev-parse HEAD").stdout;
    project.git(&format!(
        "update-index --cacheinfo '160000,{},my lib'",
        commit.trim()
    ));
    project.git("commit --quiet --message unknown");
    project
        .run(&format!("ab HEAD~1 HEAD {short}"))
        .with(1)
        .says("has the submodule my lib at ")
        .says("which is not in this repository");
    project
        .run(&format!("ab HEAD HEAD {short}"))
        .with(2)
        .says("nothing can be compared: neither revision could be measured (see above)");
}

#[test]
fn what_a_build_wrote_into_an_earlier_checkout_is_built_again() {
    let Repository { project, token } = Repository::new();
    // As `npm ci` does: the folder that the server needs is no artefact.
    let run = ["sh", "-c", "test -e installed && exec \"$0\" \"$@\""].map(str::to_owned);
    let run: Vec<String> = run
        .into_iter()
        .chain(server::command("right", &token))
        .collect();
    let build = "build = [[\"sh\", \"-c\", \"touch installed\"]]\n";
    project.manifest("tiny", &(manifest(&run) + build));
    project.write("servers/tiny/.gitignore", "installed\n");
    project.commit("one");
    project.git("commit --quiet --allow-empty --message two");
    for _ in 0..2 {
        let ended = project.run(&format!("ab HEAD~1 HEAD {SHORT} {WIDE} --rounds 2"));
        ended
            .with(0)
            .prints("medians: base")
            .lacks("could not be started");
    }
}

#[test]
fn a_folder_with_a_manifest_need_not_be_named() {
    let project = Project::new().with(&["ceiling"]);
    project.server("tiny", "right");
    project.commit("it works");
    let short = SHORT.replace("--server tiny", "");
    for (flag, is_shown) in [("--no-tui", true), ("--quiet", false)] {
        let mut ab = project.prony(&format!("ab HEAD {WIDE} --rounds 2 {short} {flag}"));
        ab.current_dir(project.path().join("servers/tiny"));
        let ended = run(ab).with(0).prints("tiny@");
        assert_eq!(
            ended.stderr.contains("round 2 of 2"),
            is_shown,
            "{}",
            ended.all()
        );
    }
}

#[test]
fn a_server_outside_of_a_repository_has_no_revisions() {
    let project = Project::new().with(&["ceiling"]);
    project.server("tiny", "right");
    let mut ab = project.prony("ab main --server tiny");
    ab.env("GIT_CEILING_DIRECTORIES", project.path().parent().unwrap());
    run(ab).with(2).says("is not in a git repository");
}

#[test]
fn an_interrupt_leaves_neither_files_nor_servers() {
    let repository = Repository::new();
    repository.write(1);
    repository.project.commit("it works");
    let words = format!("ab main --rounds 100 --no-ceiling {SHORT}");
    let mut running = Running::start(repository.project.prony(&words));
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
const BY_INSTRUCTIONS: &str =
    "ab main --by instructions --rounds 2 --requests 20 --warmup-limit 500ms";

/// Whether valgrind is installed; says so if it is not, or fails if it must be.
fn has_valgrind() -> bool {
    let found = Command::new("valgrind").arg("--version").output().is_ok();
    if !found {
        let is_required = std::env::var_os("PRONY_REQUIRE_VALGRIND").is_some();
        assert!(!is_required, "valgrind is not installed");
        eprintln!("LEFT OUT verdicts by instructions: valgrind is not installed");
    }
    found
}

/// Writes the server in C with `steps` of work in `render`.
fn render(project: &Project, steps: u32) {
    let source = COUNTED.replace("STEPS", &steps.to_string());
    project.write("server.c", source);
}

/// A repository with the server in C.
fn counted() -> Project {
    let project = Project::of(COUNTED_PROJECT);
    render(&project, 3000);
    project.commit("it works");
    project
}

#[test]
#[ignore = "full check: valgrind takes many seconds"]
fn the_function_that_grew_is_named_with_its_share() {
    if !has_valgrind() {
        return;
    }
    let project = counted();
    render(&project, 3300);
    let files = "--json found.json --markdown found.md";
    project
        .run(&format!("{BY_INSTRUCTIONS} {files}"))
        .with(1)
        .prints("worse")
        .prints("render")
        .prints("not whether the server is slower");
    let json = schema::valid("comparison", &project.read("found.json"));
    let case = &json["cases"][0];
    let row = &case["rows"][0];
    assert_eq!(
        [&row["what"], &row["finding"], &row["change"]["basis"]],
        ["user-instructions", "worse", "starts"]
    );
    let function = &case["instructions"]["functions"][0];
    assert_eq!(function["name"], "render", "{function}");
    assert!(function["share"].as_f64().unwrap() > 0.95, "{function}");
    let grew = function["new"].as_f64().unwrap() / function["base"].as_f64().unwrap();
    assert!((1.09..1.11).contains(&grew), "it is 10 % longer: {grew}");
    assert!(case["instructions"]["cpu"]["base_ns"].as_f64().unwrap() > 0.0);
    contains(&project.read("found.md"), "| render |");
    // The record says what counted, and the report shows no rate of an emulated server.
    let record = project.export();
    let trial = &trials(&record, "c@working-tree", "measured")[0];
    let counted = &trial["result"]["user_instructions"];
    assert_eq!(counted["requests"], 20);
    assert!(trial["result"]["server"].is_null() || counted["counted_by"]["by"] == "counters");
    let report = project.run("report").with(0).prints("instructions/req");
    lacks(&report.stdout, "req/s");
}

#[test]
fn the_same_code_has_the_same_instructions() {
    if has_valgrind() {
        let ended = counted().run(&format!("{BY_INSTRUCTIONS} --strict"));
        let ended = ended.with(0).prints("no change seen");
        ended.lacks("Where the instructions");
    }
}

#[test]
#[ignore = "full check: valgrind takes many seconds"]
fn a_server_that_valgrind_cannot_run_fails_with_valgrinds_words() {
    if !has_valgrind() {
        return;
    }
    let project = counted();
    // It runs by itself, and executes an instruction that nothing knows if valgrind runs it.
    let trap = "int main(void) {\n    char *tools = getenv(\"LD_PRELOAD\");\n    if (tools && strstr(tools, \"valgrind\")) __builtin_trap();";
    project.edit("server.c", "int main(void) {", trap);
    let ended = project.run(BY_INSTRUCTIONS).with(1);
    ended.prints("failure").says("Unrecognised instruction");
}

#[test]
fn without_valgrind_cpu_time_is_compared() {
    let project = counted();
    let folder = project.state("bin");
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
    let short = "--rounds 2 --duration 100ms --warmup 20ms --threshold 1000%";
    let mut ab = project.prony(&format!("ab main --by instructions {short}"));
    ab.env("PATH", &folder);
    let ended = run(ab).with(0);
    let ended = ended.says("note: compares CPU time").says("valgrind");
    ended.prints("cpu ↓");
}
