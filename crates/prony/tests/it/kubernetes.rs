//! Loads of agents on Kubernetes, with a `kubectl` that runs them on this host: `labs/kubernetes` has a real one.

use std::fs::OpenOptions;
use std::io::Write;
use std::net::{IpAddr, UdpSocket};
use std::process::Command;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use prony_testkit::processes::{await_none, with, write_script};
use prony_testkit::recorder::HttpServer;
use prony_testkit::table::rows;
use prony_testkit::{contains, lacks};
use serde_json::{Value, json};

use crate::common::project::Project;
use crate::common::{Running, run, schema, until};
use crate::fleet::{agents_of, in_time};

/// A cluster in the folder `$CLUSTER`. Its pods are in `events`, as a watch shows them, and begin with the status in
/// `status`; a command whose words are in `forbidden` is refused; `why` says why there are no pods, if there are none.
const KUBECTL: &str = r#"
echo "$*" >>"$CLUSTER/commands"
for word; do
  case $word in
    prony-*) pod=${word#prony-} ;;
  esac
done
refuse() {
  if grep -qsx "$1 $2" "$CLUSTER/forbidden"; then
    echo "Error from server (Forbidden): $2 is forbidden: User \"u\" cannot $1 resource \"$2\" in API group \"\" in the namespace \"load\"" >&2
    exit 1
  fi
}
case "$*" in
  *"delete job"*) refuse delete jobs
    case "$*" in
      *--dry-run=server*) ;;
      *) rm -f "$CLUSTER/job" ;;
    esac ;;
  *create*) refuse create jobs
    cat >"$CLUSTER/job"
    cp "$CLUSTER/job" "$CLUSTER/manifest"
    : >"$CLUSTER/events"
    [ ! -e "$CLUSTER/why" ] || exit 0
    agents=$(sed 's/.*"parallelism":\([0-9]*\).*/\1/' "$CLUSTER/job")
    fleet=$(sed 's/.*"app.kubernetes.io\/instance":"prony-\([a-z]*\)".*/\1/' "$CLUSTER/job")
    i=0
    while [ $i -lt "$agents" ]; do
      labels="{\"batch.kubernetes.io/job-completion-index\":\"$i\"}"
      metadata="{\"name\":\"prony-$fleet-$i-x\",\"uid\":\"u$i\",\"labels\":$labels}"
      echo "{\"type\":\"ADDED\",\"object\":{\"metadata\":$metadata,\"spec\":{\"nodeName\":\"kn$i\"},\"status\":$(cat "$CLUSTER/status")}}"
      i=$((i + 1))
    done >>"$CLUSTER/events" ;;
  *"get pods"*) refuse list pods
    exec tail -n +1 -f "$CLUSTER/events" ;;
  *"get events"*) refuse list events
    cat "$CLUSTER/why" ;;
  *attach*) refuse get pods
    refuse create pods/attach
    fleet=${pod%%-*} index=${pod#*-}
    index=${index%%-*}
    PRONY_NODE=kn$index exec "$PRONY" agent --fleet "$fleet" --index "$index" ;;
esac
"#;

const RUNNING: &str = r#"{"containerStatuses":[{"state":{"running":{}}}]}"#;

const SETTINGS: &str = r#"
[fleet.kubernetes]
image = "example/agent:1"
unschedulable_timeout = "200ms"
"#;

/// The address of this host from which it would reach others: agents on other hosts may have a target there.
fn own_address() -> IpAddr {
    // An address for documentation (RFC 5737). Nothing is sent to it.
    let socket = UdpSocket::bind("0.0.0.0:0").unwrap();
    socket
        .connect("198.51.100.1:9")
        .expect("this test needs a network");
    socket.local_addr().unwrap().ip()
}

struct Cluster {
    project: Project,
    server: HttpServer,
}

impl Cluster {
    fn start() -> Self {
        let project = Project::of(SETTINGS);
        project.write("status", RUNNING);
        write_script(&project.path().join("bin/kubectl"), KUBECTL);
        let server = HttpServer::start_at(own_address());
        Self { project, server }
    }

    /// A load of agents on this cluster.
    fn load(&self, flags: &str) -> Command {
        let url = self.server.url();
        let flags = format!("{flags} --json result.json {url}");
        let mut load = self.project.prony(&format!("load --on kubernetes {flags}"));
        let path = std::env::var("PATH").unwrap();
        let bin = self.project.path().join("bin");
        load.env("PATH", format!("{}:{path}", bin.display()));
        load.env("CLUSTER", self.project.path());
        load.env("PRONY", env!("CARGO_BIN_EXE_prony"));
        load
    }

    /// A load of two agents that runs.
    fn running(&self) -> Running {
        let load = Running::start(self.load("--agents 2 -d 60s"));
        until("the load", || (self.server.count() > 100).then_some(()));
        load
    }

    /// The id of the fleet.
    fn fleet(&self) -> String {
        let name = self.manifest()["metadata"]["name"].clone();
        name.as_str()
            .unwrap()
            .strip_prefix("prony-")
            .unwrap()
            .into()
    }

    fn manifest(&self) -> Value {
        serde_json::from_str(&self.project.read("manifest")).unwrap()
    }

    /// What happens to the pod of agent 1.
    fn change(&self, kind: &str, status: Value) {
        let metadata = json!({
            "name": format!("prony-{}-1-x", self.fleet()),
            "uid": "u1",
            "labels": { "batch.kubernetes.io/job-completion-index": "1" },
        });
        let pod = json!({ "metadata": metadata, "spec": { "nodeName": "kn1" }, "status": status });
        let events = self.project.path().join("events");
        let mut events = OpenOptions::new().append(true).open(events).unwrap();
        writeln!(events, "{}", json!({ "type": kind, "object": pod })).unwrap();
    }

    /// Neither the Job nor an agent is left.
    #[track_caller]
    fn assert_empty(&self) {
        assert!(!self.project.path().join("job").exists());
        assert_eq!(with(&self.fleet()), [0; 0]);
    }
}

#[test]
fn agents_are_the_pods_of_a_job_that_is_deleted_at_the_end() {
    let cluster = Cluster::start();
    let ended = in_time(|| cluster.load("--agents 3 -n 900")).with(0);
    ended.prints("Agents:       3 agents on kubernetes");
    let result = schema::valid("load", &cluster.project.read("result.json"));
    assert_eq!(result["outcomes"]["ok"], 900);
    assert_eq!(result["fleet"]["on"], "kubernetes");
    let agents = result["fleet"]["agents"].as_array().unwrap();
    let hosts: Vec<&Value> = agents.iter().map(|agent| &agent["host"]).collect();
    assert_eq!(hosts, ["kn0", "kn1", "kn2"]);
    let manifest = cluster.manifest();
    let container = &manifest["spec"]["template"]["spec"]["containers"][0];
    assert_eq!(container["image"], "example/agent:1");
    assert_eq!(container["command"][2], cluster.fleet());
    cluster.assert_empty();
}

#[test]
fn every_command_names_the_context_and_the_namespace_and_none_a_secret() {
    let cluster = Cluster::start();
    let settings = format!("{SETTINGS}context = \"staging\"\nnamespace = \"load\"\n");
    cluster.project.write("prony.toml", settings);
    let load = || cluster.load("--agents 1 -n 10 -H 'Authorization: Bearer hidden'");
    in_time(load).with(0);
    let commands = cluster.project.read("commands");
    for command in commands.lines() {
        contains(command, "--context=staging --namespace=load ");
    }
    lacks(&commands, "hidden");
    lacks(&cluster.project.read("manifest"), "hidden");
}

#[test]
fn a_load_that_cannot_start_says_why_and_leaves_nothing() {
    for [file, text, message] in rows(
        r#"
        forbidden | create jobs | no right to `create` `jobs` in the namespace `load`
        forbidden | delete jobs | no right to `delete` `jobs` in the namespace `load`
        forbidden | list pods | no right to `list` `pods` in the namespace `load`
        forbidden | get pods | no right to `get` `pods` in the namespace `load`
        forbidden | create pods/attach | no right to `create` `pods/attach` in the namespace `load`
        why | exceeded quota: none | Kubernetes creates no pods: exceeded quota: none
        status | {"containerStatuses":[{"state":{"waiting":{"reason":"ErrImagePull","message":"no such image"}}}]} | agent 0 (node kn0) cannot start: ErrImagePull: no such image
        status | {"conditions":[{"type":"PodScheduled","status":"False","reason":"Unschedulable","message":"0/1 nodes are available"}]} | 2 of 2 agents have no node, because each needs one of its own: 0/1 nodes are available.
        "#,
    ) {
        let cluster = Cluster::start();
        cluster.project.write(file, format!("{text}\n"));
        let ended = run(cluster.load("--agents 2 -n 10")).with(1);
        ended.says("INVALID").says(message);
        assert_eq!(cluster.server.count(), 0);
        assert!(!cluster.project.path().join("job").exists(), "{message}");
    }
}

#[test]
fn without_kubectl_a_load_says_how_to_get_it() {
    let cluster = Cluster::start();
    let mut load = cluster.load("--agents 2 -n 10");
    let message =
        "cannot start kubectl: it is not installed, or not in PATH; agents on Kubernetes need it";
    load.env("PATH", "/nowhere");
    run(load).with(1).says(message);
}

#[track_caller]
fn assert_lost(kind: &str, status: Value, reason: &str) {
    let cluster = Cluster::start();
    let load = cluster.running();
    cluster.change(kind, status);
    let ended = load.end().with(1);
    ended.says(&format!("INVALID  agent 1 on kn1 was lost: {reason}"));
    cluster.assert_empty();
}

#[test]
fn an_agent_whose_pod_ends_makes_the_load_invalid_with_the_reason() {
    let terminated = json!({ "terminated": { "exitCode": 137, "reason": "OOMKilled" } });
    let status = json!({ "containerStatuses": [{ "state": terminated }] });
    let reason = "it was killed because the node or its own limit had no more memory";
    assert_lost("MODIFIED", status, reason);
    let running = serde_json::from_str(RUNNING).unwrap();
    assert_lost("DELETED", running, "its pod was deleted");
}

#[test]
fn a_lost_connection_to_an_agent_makes_the_load_invalid() {
    let cluster = Cluster::start();
    let load = cluster.running();
    let attached = agents_of(load.id(), "1");
    assert_eq!(attached.len(), 1);
    kill(Pid::from_raw(attached[0]), Signal::SIGKILL).unwrap();
    let ended = load.end().with(1);
    ended.says("agent 1 on kn1 was lost: the connection to it is lost: kubectl ended (signal: 9");
    cluster.assert_empty();
}

#[test]
fn an_interrupted_load_has_its_result_and_leaves_nothing() {
    let cluster = Cluster::start();
    let load = cluster.running();
    load.signal(Signal::SIGINT);
    load.end().lacks("INVALID");
    let result = schema::valid("load", &cluster.project.read("result.json"));
    assert!(result["requests"].as_u64() > Some(0));
    cluster.assert_empty();
}

#[test]
fn agents_end_when_prony_is_killed() {
    let cluster = Cluster::start();
    let load = cluster.running();
    load.signal(Signal::SIGKILL);
    load.end();
    await_none(&cluster.fleet());
    // A watch ends when it has something to show to nobody, and pods that end are that.
    let events = cluster.project.path().join("events");
    cluster.change("MODIFIED", json!({ "phase": "Succeeded" }));
    await_none(events.to_str().unwrap());
}
