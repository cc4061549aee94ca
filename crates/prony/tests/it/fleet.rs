//! Loads that several agents generate together, as users run them: `--on local`.

use std::cell::Cell;
use std::fs;
use std::process::Command;

use crate::common::project::{Project, trials};
use crate::common::{Ended, Running, run, schema, until};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use prony_testkit::recorder::HttpServer;
use prony_testkit::table::rows;
use prony_testkit::{contains, lacks};
use serde_json::Value;

/// What a machine that is too busy for a common start makes of a load.
const LATE: &str = "ms after the agreed instant";

/// Runs a command until the machine has time for it.
pub(crate) fn in_time(command: impl Fn() -> Command) -> Ended {
    let ended = (0..20).map(|_| run(command()));
    let mut in_time = ended.filter(|ended| !ended.stderr.contains(LATE));
    in_time.next().expect("an agent that begins in time")
}

/// The agents with this number that `prony` with that id started.
pub(crate) fn agents_of(parent: u32, index: &str) -> Vec<i32> {
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
    let (server, folder) = (HttpServer::start(), Project::empty());
    for event_loop in ["epoll", "io_uring"] {
        let load = "load --on local --agents 3 -n 900 --json result.json --markdown result.md";
        let load = format!("{load} --loop {event_loop} {}", server.url());
        let before = Cell::new(0);
        let ended = in_time(|| {
            before.set(server.count());
            folder.prony(&load)
        });
        let ended = ended.with(0).says("starting 3 agents on local");
        let ended = ended.prints("Agents:       3 agents on local");
        assert_eq!(server.count() - before.get(), 900, "{}", ended.all());
        let result = schema::valid("load", &folder.read("result.json"));
        assert_eq!(result["outcomes"]["ok"], 900);
        assert_eq!(result["fleet"]["on"], "local");
        let agents = result["fleet"]["agents"].as_array().unwrap();
        let of =
            |field: &str| -> Vec<&Value> { agents.iter().map(|agent| &agent[field]).collect() };
        assert_eq!(of("requests"), [300, 300, 300]);
        assert_eq!(of("connections"), [4, 3, 3]);
        contains(&folder.read("result.md"), "Agents:       3 agents on local");
    }
}

#[test]
fn a_killed_agent_makes_the_load_invalid_and_leaves_no_result() {
    let (server, folder) = (HttpServer::start(), Project::empty());
    folder.write("result.json", "earlier");
    let load = "load --on local --agents 3 -d 60s --json result.json";
    let running = Running::start(folder.prony(&format!("{load} {}", server.url())));
    until("the load", || (server.count() > 100).then_some(()));
    let parent = running.id();
    let victims = agents_of(parent, "1");
    assert_eq!(victims.len(), 1);
    kill(Pid::from_raw(victims[0]), Signal::SIGKILL).unwrap();
    let ended = running.end().with(1).says("INVALID  agent 1 on ");
    assert_eq!(ended.lacks("error:").stdout, "");
    assert_eq!(folder.read("result.json"), "earlier");
    for index in ["0", "2"] {
        assert_eq!(agents_of(parent, index), [0; 0]);
    }
}

#[test]
fn agents_find_a_capacity_together() {
    let (server, folder) = (HttpServer::start(), Project::empty());
    // The first rate is tried, whatever the budget.
    let load = "load --on local --agents 2 --find-capacity --budget 500ms --objective p99<5s";
    let short = "-d100ms --warmup 0s --json found.json";
    let load = format!("{load} {short} {}", server.url());
    in_time(|| folder.prony(&load)).lacks("INVALID");
    let found = schema::valid("capacity", &folder.read("found.json"));
    assert!(!found["attempts"].as_array().unwrap().is_empty());
    assert!(found["guess_per_s"].as_f64() > Some(0.0));
}

#[test]
fn a_run_says_that_agents_generated_its_load() {
    let project = Project::new();
    project.server("one", "right");
    let measure = || project.measure("one", "hello", "--rounds 1 --on local --agents 2");
    in_time(measure).with(0).says("load from 2 agents on local");
    let record = project.export();
    assert_eq!(record["run"]["fleet"]["agents"], 2);
    let agents = &trials(&record, "one", "measured")[0]["result"]["load"]["fleet"]["agents"];
    assert_eq!(agents.as_array().map(Vec::len), Some(2), "{record}");
    let first = record["run"]["id"].as_str().unwrap();
    in_time(measure).with(0);
    let alike = project.run(&format!("compare {first} latest")).with(0);
    lacks(&alike.stdout, "agents on local");
    // As many threads as two agents have on any machine are more than one process has here.
    run(project.measure("one", "hello", "--rounds 1 --load-cpus 0")).with(0);
    let compared = project.run("compare latest~1 latest").with(2);
    let compared = compared.says("measured under another load");
    lacks(&compared.stdout, "no change");
}

#[test]
fn flags_that_mean_nothing_on_other_hosts_are_refused() {
    let folder = Project::empty();
    for [words, message] in rows(
        r#"
        load URL --agents 3 | --agents needs a place where the agents run
        load URL --on slurm | --on slurm needs --agents
        load URL --on ssh:a,b --agents 3 | 3 agents on 2 hosts named for ssh
        load URL --on ssh:a --cpus 0 | --cpus names CPUs of this machine
        load URL --on ssh:a --source 127.0.0.1 | --source names addresses of this machine
        load URL --on ssh:a --unix-socket x | --unix-socket names a socket of this machine
        load http://localhost:1/ --on ssh:a | agents on other hosts cannot reach localhost
        run --on ssh:a --load-cpus 0 | --load-cpus names CPUs of this machine
        run --on ssh:a --driver wrk | --driver wrk generates the load on this machine
        run --on ssh:a | server_address = "ADDRESS" in [fleet]
        "#,
    ) {
        let words = words.replace("URL", "http://192.0.2.1/");
        folder.run(&words).with(2).says(message).lacks("starting");
    }
}

#[test]
fn prony_toml_says_where_loads_are_generated_and_none_overrides_it() {
    let server = HttpServer::start();
    let folder = Project::of("[fleet]\non = \"local\"\nagents = 2\n");
    let load = format!("load -n 20 {}", server.url());
    in_time(|| folder.prony(&load))
        .with(0)
        .prints("Agents:       2 agents on local");
    let own = folder.run(&format!("{load} --on none")).with(0);
    own.lacks("Agents:");
    folder.write("prony.toml", "[fleet]\nagent = 2\n");
    let misspelt = folder.run(&load).with(1);
    misspelt.says("prony.toml:2: unknown field `agent`");
}
