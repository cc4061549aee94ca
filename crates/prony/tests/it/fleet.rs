//! Loads that several agents generate together, as users run them: `--on local`.

use std::cell::Cell;
use std::fs;
use std::path::Path;
use std::process::Command;

use crate::common::project::Project;
use crate::common::{self, Ended, Running, prony, run, schema, until};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use prony_testkit::recorder::HttpServer;

/// `prony load` with agents on this host.
fn load(folder: &Path, arguments: &[&str]) -> Command {
    let mut command = prony(["load", "--on", "local"]);
    command.args(arguments).current_dir(folder);
    command
}

/// What a machine that is too busy for a common start makes of a load.
const LATE: &str = "ms after the agreed instant";

/// Runs a command until the machine has time for it.
fn in_time(command: impl Fn() -> Command) -> Ended {
    let ended = (0..20).map(|_| run(command()));
    let mut in_time = ended.filter(|ended| !ended.stderr.contains(LATE));
    in_time.next().expect("an agent that begins in time")
}

/// The agents with this number that `prony` with that id started.
fn agents_of(parent: u32, index: &str) -> Vec<i32> {
    let is_agent = |pid: &i32| {
        let of = |file: &str| fs::read_to_string(format!("/proc/{pid}/{file}")).ok();
        let words = of("cmdline").unwrap_or_default();
        let words: Vec<&str> = words.split_terminator('\0').collect();
        let parent = format!("PPid:\t{parent}\n");
        words.ends_with(&["--index", index]) && of("status").is_some_and(|it| it.contains(&parent))
    };
    let processes = fs::read_dir("/proc").unwrap();
    let pids = processes.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok());
    pids.filter(is_agent).collect()
}

#[test]
fn agents_count_together_what_the_server_counts() {
    let server = HttpServer::start();
    let folder = tempfile::tempdir().unwrap();
    for event_loop in ["epoll", "io_uring"] {
        let url = server.url();
        let flags = ["--agents", "3", "-n", "900", "--loop", event_loop];
        let files = ["--json", "result.json", "--markdown", "result.md", &url];
        let before = Cell::new(0);
        let ended = in_time(|| {
            before.set(server.count());
            load(folder.path(), &[&flags[..], &files].concat())
        });
        let ended = ended.with(0).says("starting 3 agents on local");
        let ended = ended.prints("Agents:       3 agents on local");
        assert_eq!(server.count() - before.get(), 900, "{}", ended.all());
        let text = fs::read_to_string(folder.path().join("result.json")).unwrap();
        let result = schema::load(&text);
        assert_eq!(result["outcomes"]["ok"], 900);
        assert_eq!(result["fleet"]["on"], "local");
        let agents = result["fleet"]["agents"].as_array().unwrap();
        let of = |field: &str| -> Vec<u64> {
            agents
                .iter()
                .map(|agent| agent[field].as_u64().unwrap())
                .collect()
        };
        assert_eq!(of("requests"), [300, 300, 300]);
        assert_eq!(of("connections"), [4, 3, 3]);
        let markdown = fs::read_to_string(folder.path().join("result.md")).unwrap();
        assert!(
            markdown.contains("Agents:       3 agents on local"),
            "{markdown}"
        );
    }
}

#[test]
fn a_killed_agent_makes_the_load_invalid_and_leaves_no_result() {
    let server = HttpServer::start();
    let folder = tempfile::tempdir().unwrap();
    let json = folder.path().join("result.json");
    fs::write(&json, "earlier").unwrap();
    let url = server.url();
    let flags = ["--agents", "3", "-d", "60s", "--json", "result.json", &url];
    let running = Running::start(load(folder.path(), &flags));
    until("the load", || (server.count() > 100).then_some(()));
    let victims = agents_of(running.id(), "1");
    assert_eq!(victims.len(), 1);
    kill(Pid::from_raw(victims[0]), Signal::SIGKILL).unwrap();
    let parent = running.id();
    let ended = running.end().with(1).says("INVALID  agent 1 on ");
    assert!(!ended.stderr.contains("error:"), "{}", ended.all());
    assert_eq!(ended.stdout, "");
    assert_eq!(fs::read_to_string(&json).unwrap(), "earlier");
    for index in ["0", "2"] {
        assert_eq!(agents_of(parent, index), Vec::<i32>::new());
    }
}

#[test]
fn agents_find_a_capacity_together() {
    let server = HttpServer::start();
    let folder = tempfile::tempdir().unwrap();
    let url = server.url();
    // The first rate is tried, whatever the budget.
    let flags = ["--agents", "2", "--find-capacity", "--budget", "500ms"];
    let more = ["--slo", "p99<5s", "-d100ms", "--warmup", "0s"];
    let files = ["--json", "found.json", &url];
    let ended = in_time(|| load(folder.path(), &[&flags[..], &more, &files].concat()));
    assert!(!ended.stderr.contains("INVALID"), "{}", ended.all());
    let found = fs::read_to_string(folder.path().join("found.json"));
    let found = schema::capacity(&found.unwrap_or_else(|_| panic!("{}", ended.all())));
    assert!(!found["attempts"].as_array().unwrap().is_empty());
    assert!(found["guess_per_s"].as_f64().unwrap() > 0.0);
}

#[test]
fn a_run_says_that_agents_generated_its_load() {
    let project = Project::new();
    project.server("one", "right");
    let more = ["--rounds", "1", "--on", "local", "--agents", "2"];
    let ended = in_time(|| project.measure("one", "hello", &more)).with(0);
    let ended = ended.says("load from 2 agents on local");
    let record = project.export();
    assert_eq!(record["run"]["fleet"]["agents"], 2);
    let trials = common::project::trials(&record, "one", "measured");
    let agents = &trials[0]["result"]["load"]["fleet"]["agents"];
    assert_eq!(agents.as_array().map(Vec::len), Some(2), "{}", ended.all());
    let first = record["run"]["id"].as_str().unwrap();
    in_time(|| project.measure("one", "hello", &more)).with(0);
    let alike = project.run(&["compare", first, "latest"]).with(0);
    assert!(!alike.stdout.contains("agents on local"), "{}", alike.all());
    // As many threads as two agents have on any machine are more than one process has here.
    let other = ["--rounds", "1", "--load-cpus", "0"];
    run(project.measure("one", "hello", &other)).with(0);
    let compared = project.run(&["compare", "latest~1", "latest"]).with(2);
    let compared = compared.says("measured under another load");
    assert!(!compared.stdout.contains("no change"), "{}", compared.all());
}

#[test]
fn flags_that_mean_nothing_on_other_hosts_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let there = "http://192.0.2.1/";
    let none = "prony: nothing was started";
    for (words, message) in [
        (
            &["load", there, "--agents", "3"][..],
            "--agents needs a place where the agents run",
        ),
        (
            &["load", there, "--on", "slurm"],
            "--on slurm needs --agents",
        ),
        (
            &["load", there, "--on", "ssh:a,b", "--agents", "3"],
            "3 agents on 2 hosts named for ssh",
        ),
        (
            &["load", there, "--on", "ssh:a", "--cpus", "0"],
            "--cpus names CPUs of this machine",
        ),
        (
            &["load", there, "--on", "ssh:a", "--source", "127.0.0.1"],
            "--source names addresses of this machine",
        ),
        (
            &["load", there, "--on", "ssh:a", "--unix-socket", "x"],
            "--unix-socket names a socket of this machine",
        ),
        (
            &["load", "http://localhost:1/", "--on", "ssh:a"],
            "agents on other hosts cannot reach localhost",
        ),
        (
            &["run", "--on", "ssh:a", "--load-cpus", "0"],
            "--load-cpus names CPUs of this machine",
        ),
        (
            &["run", "--on", "ssh:a", "--driver", "wrk"],
            "--driver wrk generates the load on this machine",
        ),
        (
            &["run", "--on", "ssh:a"],
            "server_address = \"ADDRESS\" in [fleet]",
        ),
    ] {
        let mut command = prony(words);
        command.current_dir(folder.path());
        let ended = run(command).with(2).says(message);
        assert!(
            !ended.stderr.contains("starting"),
            "{none}: {}",
            ended.all()
        );
    }
}

#[test]
fn prony_toml_says_where_loads_are_generated_and_none_overrides_it() {
    let server = HttpServer::start();
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("prony.toml");
    fs::write(&file, "[fleet]\non = \"local\"\nagents = 2\n").unwrap();
    let load = |more: &[&str]| {
        let mut command = prony(["load", "-n", "20", &server.url()]);
        command.args(more).current_dir(folder.path());
        command
    };
    in_time(|| load(&[]))
        .with(0)
        .prints("Agents:       2 agents on local");
    let own = run(load(&["--on", "none"])).with(0);
    assert!(!own.stdout.contains("Agents:"), "{}", own.all());
    fs::write(&file, "[fleet]\nagent = 2\n").unwrap();
    run(load(&[]))
        .with(1)
        .says("prony.toml:2: unknown field `agent`");
}
