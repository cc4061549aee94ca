#!/usr/bin/env python3
"""suite.py PRONY AGENT [CASE…]: Prony's fleet on a real Kubernetes cluster of three nodes.

AGENT is the image of the agent: packaging/agent/build.sh prony.example/prony-agent:lab FILE. The suite starts the cluster,
runs each case, and removes everything. Prony has the rights of packaging/kubernetes/role.yaml and no others. What it needs
is in lab.sh. The exit status is 1 if a case fails.

The nodes are network namespaces of this machine. The containers of node 2 have a monotonic clock that is 100,000 s ahead.
"""

import importlib.util
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
os.environ.setdefault("LAB_HOSTS", "kn")
os.environ.setdefault("LAB_SUBNET", "10.78.0")
# The target, its record and the checks are those of the suite for Slurm.
SPEC = importlib.util.spec_from_file_location(
    "slurm_suite", HERE.parent / "slurm" / "suite.py"
)
common = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(common)
Failed, Target, check, wait_until = (
    common.Failed,
    common.Target,
    common.check,
    common.wait_until,
)
HOSTS, SUBNET = common.HOSTS, common.SUBNET

CACHE = (
    Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    / "prony"
    / "kubernetes-lab"
)
NAMESPACE = "load"
ROLE = ROOT / "packaging" / "kubernetes" / "role.yaml"
IMAGE = "prony.example/prony-agent:lab"
LAB = HERE / "lab.sh"
LONG = ["-d", "30s", "-c", "6"]


class Lab(common.Lab):
    """Three nodes, a control plane, and a user with the least rights."""

    def __init__(self, prony, image):
        super().__init__(prony)
        self.image = Path(image).resolve()

    def __enter__(self):
        with self.stack as stack:
            self.folder = Path(
                stack.enter_context(tempfile.TemporaryDirectory(prefix="prony-lab-"))
            )
            self.project = self.folder / "project"
            self.project.mkdir()
            cluster = self.folder / "cluster"
            stack.callback(subprocess.run, [LAB, "down", cluster], check=False)
            subprocess.run(
                [LAB, "up", cluster, self.image],
                check=True,
                env=os.environ | {"LAB_SHIFTED_HOST": "2"},
            )
            self.admin = cluster / "kubeconfig"
            self.user()
            self.settings()
            self.stack = stack.pop_all()
        return self

    def kubectl(self, *words, **options):
        words = [
            CACHE / "kubectl",
            "--kubeconfig",
            self.admin,
            "--namespace",
            NAMESPACE,
            *words,
        ]
        return subprocess.run(
            words, text=True, check=True, capture_output=True, **options
        ).stdout

    def user(self):
        """The kubeconfig of a user with the rights of the role."""
        self.kubectl("create", "namespace", NAMESPACE)
        self.grant()
        token = self.kubectl("create", "token", "prony").strip()
        config = json.loads(self.kubectl("config", "view", "--raw", "--output", "json"))
        config["users"][0]["user"] = {"token": token}
        config["contexts"][0]["context"]["namespace"] = NAMESPACE
        path = self.folder / "kubeconfig"
        path.write_text(json.dumps(config))
        os.environ["KUBECONFIG"] = str(path)
        # Prony uses the kubectl of the lab.
        os.environ["PATH"] = f"{CACHE}:{os.environ['PATH']}"

    def grant(self, without=None):
        """The rights of the role, without one verb of a resource."""
        self.kubectl("apply", "--filename", ROLE)
        if without:
            resource, verb = without
            role = json.loads(self.kubectl("get", "role", "prony", "--output", "json"))
            rule = next(
                rule for rule in role["rules"] if rule["resources"] == [resource]
            )
            rule["verbs"].remove(verb)
            # A rule without verbs is not valid.
            role["rules"] = [rule for rule in role["rules"] if rule["verbs"]]
            self.kubectl("replace", "--filename", "-", input=json.dumps(role))
        # The API server learns of it a moment later.
        time.sleep(0.5)

    def settings(self, **changes):
        table = {"image": IMAGE, "image_pull_policy": "Never"} | changes
        lines = [f"{name} = {json.dumps(value)}" for name, value in table.items()]
        requests = 'requests = { cpu = "100m", memory = "16Mi" }'
        text = "\n".join(["[fleet.kubernetes]", requests, *lines, ""])
        (self.project / "prony.toml").write_text(text)

    def load(self, *flags, agents=3):
        """A load that is still running."""
        command = [self.prony, "load", "--on", "kubernetes", "--agents", str(agents)]
        return subprocess.Popen(
            [*command, "--json", self.project / "result.json", *flags],
            cwd=self.project,
            text=True,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        )

    def result(self, *flags):
        """The result of a load, and the target's own record of it, by node."""
        with Target() as target:
            result = self.ended(self.load(*flags, target.url))
        return result, by_node(target.record)

    def is_empty(self):
        """Whether no Job and no pod is left, and no kubectl of Prony's."""
        left = self.kubectl("get", "jobs,pods", "--output", "name").strip()
        return not left and not any(map(is_kubectl, Path("/proc").glob("[0-9]*")))

    def refused(self, *flags, agents=3, seconds=20):
        """The output of a load that does not start, without a request."""
        with Target() as target:
            output = self.invalid(self.load(*LONG, target.url, agents=agents), seconds)
        check(not target.record, "the target saw requests")
        wait_until(self.is_empty, 10, "no Job and no pod is left")
        return output


def by_node(record):
    """Pods have addresses in 10.88.N.0/24; the checks know those of nodes."""
    return {
        f"{SUBNET}.{address.split('.')[2]}": source
        for address, source in record.items()
    }


def agents_on(node):
    """The ids of the agents' processes on a node."""
    return [
        int(path.name) for path in Path("/proc").glob("[0-9]*") if is_agent(path, node)
    ]


def is_agent(path, node):
    try:
        words = (path / "cmdline").read_bytes().split(b"\0")
        return (
            words[0] == b"/prony-agent"
            and f"PRONY_NODE={node}".encode() in (path / "environ").read_bytes()
        )
    except OSError:
        return False


def is_kubectl(path):
    try:
        return (path / "cmdline").read_bytes().split(b"\0")[0] == b"kubectl"
    except OSError:
        return False


def running_everywhere():
    return all(agents_on(node) for node in HOSTS)


def nothing_runs():
    return not any(agents_on(node) for node in HOSTS)


def placement(lab):
    """Each agent is on a node of its own."""
    result, record = lab.result("-n", "300", "-c", "6")
    nodes = [agent["host"] for agent in result["fleet"]["agents"]]
    check(sorted(nodes) == HOSTS, f"the agents ran on {nodes}")
    check(set(record) == set(common.ADDRESSES), f"the target saw {set(record)}")
    check(result["fleet"]["on"] == "kubernetes", result["fleet"]["on"])
    check(lab.is_empty(), "a Job or a pod is left")


def merge(lab):
    """The counts of each agent, and their sum, are the target's; the merged latencies are those of all agents."""
    for flags in (
        ["-c", "6", "-n", "3000"],
        ["--rate", "900", "-c", "6", "-n", "900"],
        ["--users", "9", "--think-time", "10ms", "-n", "450"],
    ):
        result, record = lab.result(*flags)
        common.compare(result, record, int(flags[-1]))
        latencies(result)


def latencies(result):
    """The crate `load` tests that merged histograms equal those of pooled samples; this, what the result shows of it."""
    agents, merged = result["fleet"]["agents"], result["latency_ns"]
    for name, extreme in (("min", min), ("max", max)):
        of_agents = extreme(agent["latency_ns"][name] for agent in agents)
        check(
            merged[name] == of_agents,
            f"the {name} is {merged[name]}, that of the agents {of_agents}",
        )
    total = sum(
        agent["latency_ns"]["mean"] * agent["outcomes"]["ok"] for agent in agents
    )
    mean = total / sum(agent["outcomes"]["ok"] for agent in agents)
    check(
        abs(merged["mean"] - mean) < 1e-6 * mean,
        f"the mean is {merged['mean']}, that of the agents {mean}",
    )


def spread(lab):
    """All agents start within 5 ms of each other, by the kernel's stamps of what arrives at the target."""
    attempts = []
    for _ in range(common.START_ATTEMPTS):
        result, record = lab.result("--rate", "3000", "-c", "6", "-n", "600")
        first = [source["first_ns"] for source in record.values()]
        check(len(first) == 3, f"the target saw {record}")
        attempts.append((max(first) - min(first)) / 1e6)
        if attempts[-1] <= common.MOST_SPREAD_MS:
            print(f"  within {attempts[-1]:.2f} ms, attempt {len(attempts)}")
            return result
    raise Failed(f"the starts were {attempts} ms apart")


def clock(lab):
    """So they do although the clock of one node is far ahead, which the offsets of the result show."""
    result = spread(lab)
    offsets = {
        agent["host"]: agent["clock_offset_ns"] / 1e9
        for agent in result["fleet"]["agents"]
    }
    print(f"  offsets of the agents' clocks in s: {offsets}")
    with Target() as target:
        load = lab.load(*LONG, target.url)
        wait_until(running_everywhere, 15, "agents run on all nodes")
        shifts = {
            node: Path(f"/proc/{agents_on(node)[0]}/timens_offsets")
            .read_text()
            .split()[1]
            for node in HOSTS
        }
        load.send_signal(signal.SIGINT)
        load.communicate(timeout=30)
    print(f"  the kernel's offsets of their monotonic clocks in s: {shifts}")
    check(
        shifts == {HOSTS[0]: "0", HOSTS[1]: str(common.SHIFT_S), HOSTS[2]: "0"},
        "no clock is ahead",
    )


def lost(lab, lose, seconds):
    """Loses the agent on node 2: that must be reported."""
    with Target() as target:
        load = lab.load(*LONG, target.url)
        wait_until(running_everywhere, 15, "agents run on all nodes")
        time.sleep(2.5)
        check(load.poll() is None, f"the load ended by itself: {load.poll()}")
        lose()
        output = lab.invalid(load, seconds)
    check(HOSTS[1] in output, f"{HOSTS[1]} is not named:\n{output}")


def kill_agent():
    for pid in agents_on(HOSTS[1]):
        os.kill(pid, signal.SIGKILL)


def killed(lab):
    """An agent that is killed makes the load INVALID, and the Job is deleted."""
    lost(lab, kill_agent, 10)
    wait_until(lab.is_empty, 10, "no Job and no pod is left")


def deleted(lab):
    """So does a Job that somebody deletes."""
    with Target() as target:
        load = lab.load(*LONG, target.url)
        wait_until(running_everywhere, 15, "agents run on all nodes")
        time.sleep(2.5)
        lab.kubectl("delete", "jobs", "--all", "--wait=false")
        output = lab.invalid(load, 10)
    check("deleted" in output, output)
    wait_until(lab.is_empty, 10, "no Job and no pod is left")


def cut(lab):
    """So does a node that is cut off, whose agent ends by itself."""
    try:
        lost(lab, lambda: subprocess.run([LAB, "cut", "2"], check=True), 15)
        jobs = lab.kubectl("get", "jobs", "--output", "name").strip()
        check(not jobs, f"the Job is left: {jobs}")
        took = wait_until(
            lambda: not agents_on(HOSTS[1]), 20, "the agent that was cut off ends"
        )
        print(f"  the agent ended {took:.1f} s later")
    finally:
        subprocess.run([LAB, "join", "2"], check=True)
    took = wait_until(lab.is_empty, 90, "its pod is gone, once the node is back")
    print(f"  its pod was gone {took:.1f} s after the link was back")
    wait_until(
        lambda: lab.kubectl("get", "nodes").count(" Ready ") == 3,
        90,
        "three nodes are ready",
    )


def too_few(lab):
    """Four agents on three nodes are refused long before the timeout, in the scheduler's words."""
    output = lab.refused(agents=4)
    check(
        "1 of 4 agents has no node" in output and "0/3 nodes are available" in output,
        output,
    )


RIGHTS = [
    ("jobs", "create"),
    ("jobs", "delete"),
    ("pods", "list"),
    ("pods", "watch"),
    ("pods", "get"),
    # Without `get` kubectl attaches over SPDY instead of WebSockets.
    ("pods/attach", "create"),
]


def rights(lab):
    """Without any one right of the role, the failure names it, and nothing is left behind."""
    try:
        for resource, verb in RIGHTS:
            lab.grant(without=(resource, verb))
            output = lab.refused()
            check(
                f"no right to `{verb}` `{resource}`" in output,
                f"without {verb} {resource}:\n{output}",
            )
    finally:
        lab.grant()


def quota(lab):
    """If a quota allows no pods, the failure says so; without the right to list events, it names that."""
    lab.kubectl("create", "quota", "none", "--hard=pods=0")
    try:
        output = lab.refused()
        check("exceeded quota" in output, output)
        lab.grant(without=("events", "list"))
        output = lab.refused()
        check("no right to `list` `events`" in output, output)
    finally:
        lab.grant()
        lab.kubectl("delete", "quota", "none")


def image(lab):
    """An image that a node does not have is named."""
    lab.settings(image="prony.example/nothing:1")
    try:
        output = lab.refused()
    finally:
        lab.settings()
    check("ErrImageNeverPull" in output and "prony.example/nothing:1" in output, output)


def interrupted(lab):
    """Ctrl-C ends the load, with what it measured, and deletes the Job."""
    with Target() as target:
        load = lab.load(*LONG, target.url)
        wait_until(running_everywhere, 15, "agents run on all nodes")
        time.sleep(2.5)
        load.send_signal(signal.SIGINT)
        output, _ = load.communicate(timeout=30)
        check(lab.is_empty(), "a Job or a pod is left")
    result = json.loads((lab.project / "result.json").read_text())
    check(result["requests"] > 0, output)
    counted = common.counted(target.record)
    print(f"  {result['requests']} requests, {counted} at the target")


def abandoned(lab):
    """Agents end when Prony is killed, and Kubernetes then removes the Job."""
    with Target() as target:
        load = lab.load(*LONG, target.url)
        wait_until(running_everywhere, 15, "agents run on all nodes")
        time.sleep(2.5)
        load.kill()
        load.communicate()
        took = wait_until(nothing_runs, 20, "no agent runs")
    print(f"  no agent ran {took:.1f} s later")
    took = wait_until(lab.is_empty, 90, "the Job is gone")
    print(f"  the Job was gone {took:.1f} s after that")


CASES = [
    placement,
    merge,
    spread,
    clock,
    killed,
    deleted,
    cut,
    too_few,
    rights,
    quota,
    image,
    interrupted,
    abandoned,
]


def main():
    if len(sys.argv) < 3:
        sys.exit("usage: suite.py PRONY AGENT [CASE…]")
    prony, agent, *names = sys.argv[1:]
    cases = common.chosen(CASES, names)
    common.end_on_sigterm()
    begin = time.monotonic()
    with Lab(prony, agent) as lab:
        print(f"the cluster runs after {time.monotonic() - begin:.0f} s")
        return common.run(cases, lab, begin)


if __name__ == "__main__":
    sys.exit(main())
