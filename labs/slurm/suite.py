#!/usr/bin/env python3
"""suite.py PRONY [CASE…]: Prony's fleet on a real Slurm cluster of three hosts, and over ssh.

It starts the laboratory (network, Slurm, sshd), runs each case, and removes everything. Needs root and the packages
slurm-wlm, munge, openssh-server and iproute2. The exit status is 1 if a case fails.

The hosts are network namespaces of this machine. Host 2 has a monotonic clock that is 100,000 s ahead of the others.
"""

import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from itertools import islice
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
from cases import Failed, check, chosen, end_on_sigterm, run  # noqa: E402

HOSTS = [os.environ.get("LAB_HOSTS", "dn") + str(i) for i in (1, 2, 3)]
SUBNET = os.environ.get("LAB_SUBNET", "10.77.0")
ADDRESSES = {f"{SUBNET}.{i}": host for i, host in enumerate(HOSTS, 1)}
CALLER = f"{SUBNET}.254"
PORT, TLS_PORT = 8077, 8078
SHIFT_S = 100_000

# All agents start within this time of each other, by the target's record.
MOST_SPREAD_MS = 5
# This machine's two CPUs are three hosts, a cluster and the target, so a start may be disturbed.
START_ATTEMPTS = 12
# How long something may take that takes seconds on a machine that does nothing else.
PATIENCE_S = 60


def wait_until(condition, seconds, what):
    """Gives how long it took."""
    begin = time.monotonic()
    while not condition():
        check(time.monotonic() - begin < seconds, f"waited {seconds} s until {what}")
        time.sleep(0.05)
    return time.monotonic() - begin


class Lab:
    """Three hosts, a Slurm cluster on them, and an sshd on each."""

    def __init__(self, prony):
        self.prony = Path(prony).resolve()
        self.stack = contextlib.ExitStack()

    def __enter__(self):
        with self.stack as stack:
            self.folder = Path(
                stack.enter_context(tempfile.TemporaryDirectory(prefix="prony-lab-"))
            )
            self.project = self.folder / "project"
            self.slurm = self.folder / "slurm"
            self.ssh = self.folder / "ssh"
            self.project.mkdir()
            # Slurm's and sshd's folders are not for this user alone.
            self.folder.chmod(0o755)
            self.start(HERE.parent / "network.sh")
            self.start(HERE / "lab.sh", self.slurm, LAB_SHIFTED_HOST="2")
            self.start(HERE.parent / "ssh" / "lab.sh", self.ssh)
            os.environ["SLURM_CONF"] = str(self.slurm / "slurm.conf")
            self.settings()
            self.stack = stack.pop_all()
        return self

    def __exit__(self, *_):
        self.stack.close()

    def start(self, script, *folder, **environment):
        self.stack.callback(subprocess.run, [script, "down", *folder], check=False)
        subprocess.run(
            [script, "up", *folder], check=True, env=os.environ | environment
        )

    def settings(self, copy=False):
        """Writes the project's prony.toml."""
        (self.project / "prony.toml").write_text(f"""
[fleet.slurm]
wait = "5s"
copy = {json.dumps(copy)}

[fleet.ssh]
program = "{self.prony}"
copy = {json.dumps(copy)}
options = ["-F", "{self.ssh}/config"]
""")

    def load(self, on, *flags, agents=3):
        """A load that is still running."""
        command = [
            self.prony,
            "load",
            "--on",
            on,
            "--json",
            self.project / "result.json",
        ]
        if on == "slurm":
            command += ["--agents", str(agents)]
        return subprocess.Popen(
            [*command, *flags],
            cwd=self.project,
            text=True,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        )

    def result(self, on, *flags):
        """The result of a load, and the target's own record of it."""
        with Target() as target:
            load = self.load(on, *flags, target.url)
            result = self.ended(load)
        return result, target.record

    def ended(self, load):
        output, _ = load.communicate(timeout=2 * PATIENCE_S)
        check(load.returncode == 0, f"prony exited with {load.returncode}:\n{output}")
        return json.loads((self.project / "result.json").read_text())

    def invalid(self, load, seconds=PATIENCE_S):
        """The output of a load that must become invalid, long before its own end, and leave nothing behind."""
        begin = time.monotonic()
        try:
            output, _ = load.communicate(timeout=seconds)
        except subprocess.TimeoutExpired:
            load.kill()
            raise Failed(
                f"prony had not ended after {seconds} s:\n{load.communicate()[0]}"
            ) from None
        print(
            f"  ended after {time.monotonic() - begin:.1f} s: {output.strip().splitlines()[-1]}"
        )
        check(load.returncode == 1, f"prony exited with {load.returncode}:\n{output}")
        check("INVALID" in output, f"no INVALID in the output:\n{output}")
        return output


class Target:
    """The web server with a record of its own."""

    url = f"http://{CALLER}:{PORT}/"

    def __enter__(self):
        # A file can be read while the server writes to it, without waiting for it.
        self.output = tempfile.NamedTemporaryFile()
        self.process = subprocess.Popen(
            [sys.executable, HERE / "target.py", CALLER, str(PORT)], stdout=self.output
        )
        wait_until(self.said, PATIENCE_S, "the target listens")
        return self

    def said(self):
        return Path(self.output.name).read_text().splitlines()

    def sources(self):
        """The addresses that have sent requests so far."""
        return {line.removeprefix("first request of ") for line in self.said()[1:]}

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait(timeout=PATIENCE_S)
        self.record = json.loads(self.said()[-1])
        self.output.close()


def agents_on(host):
    """The ids of the agents' processes in the host's namespace."""
    pids = subprocess.run(
        ["ip", "netns", "pids", host], text=True, capture_output=True, check=True
    )
    return [int(pid) for pid in pids.stdout.split() if is_agent(pid)]


def is_agent(pid):
    try:
        words = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
    except OSError:
        return False
    # Not the shell that started it, whose only word about an agent is a script.
    return b"agent" in words and b"--fleet" in words


def running_everywhere():
    return all(agents_on(host) for host in HOSTS)


def nothing_left():
    queue = subprocess.run(
        ["squeue", "--noheader"], text=True, capture_output=True, check=True
    )
    return not queue.stdout.strip() and not any(agents_on(host) for host in HOSTS)


def counted(record):
    return sum(source["requests"] for source in record.values())


def compare(result, record, expected):
    """Compares the merged counts and those of each agent with the target's."""
    check(
        result["requests"] == expected,
        f"{result['requests']} requests instead of {expected}",
    )
    check(
        result["outcomes"]["ok"] == expected, f"not all were ok: {result['outcomes']}"
    )
    check(
        counted(record) == expected,
        f"the target counted {counted(record)}, not {expected}",
    )
    of_agents = {
        agent["host"]: agent["requests"] for agent in result["fleet"]["agents"]
    }
    of_target = {
        ADDRESSES[address]: source["requests"] for address, source in record.items()
    }
    check(of_agents == of_target, f"agents counted {of_agents}, the target {of_target}")
    print(f"  {expected} requests: {of_target}")


def placement(lab):
    """Each agent is on a host of its own."""
    result, record = lab.result("slurm", "-n", "300", "-c", "6")
    hosts = [agent["host"] for agent in result["fleet"]["agents"]]
    check(sorted(hosts) == HOSTS, f"the agents ran on {hosts}")
    check(set(record) == set(ADDRESSES), f"the target saw {set(record)}")
    check(result["fleet"]["on"] == "slurm", result["fleet"]["on"])


def merge(lab):
    """The counts of each agent, and their sum, are the target's."""
    for flags in (
        ["-c", "6", "-n", "3000"],
        ["--rate", "900", "-c", "6", "-n", "900"],
        ["--users", "9", "--think-time", "10ms", "-n", "450"],
    ):
        result, record = lab.result("slurm", *flags)
        compare(result, record, int(flags[-1]))


def http2(lab):
    """The same over HTTP/2 and TLS, by the log lines of the reference server."""
    key, certificate = lab.folder / "key.pem", lab.folder / "certificate.pem"
    request = "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 1 -subj /CN=lab".split()
    extensions = [
        "-addext",
        f"subjectAltName=IP:{CALLER}",
        "-addext",
        "basicConstraints=critical,CA:FALSE",
    ]
    subprocess.run(
        [*request, *extensions, "-keyout", key, "-out", certificate],
        check=True,
        capture_output=True,
    )
    log = lab.folder / "reference.log"
    environment = {
        "HOST": CALLER,
        "PORT": str(TLS_PORT),
        "CPUS": "1",
        "ASSETS": str(HERE.parents[1] / "workloads" / "assets"),
        "TLS_CERT": str(certificate),
        "TLS_KEY": str(key),
    }
    with log.open("wb") as stdout:
        server = subprocess.Popen(
            [lab.prony, "reference"], env=os.environ | environment, stdout=stdout
        )
        try:
            wait_until(lambda: listens(TLS_PORT), PATIENCE_S, "the server listens")
            url = f"https://{CALLER}:{TLS_PORT}/log"
            flags = [
                "--http2",
                "--cacert",
                certificate,
                "-c",
                "6",
                "--streams-per-connection",
                "4",
                "-n",
                "600",
            ]
            result = lab.ended(lab.load("slurm", *flags, url))
        finally:
            server.terminate()
            server.wait(timeout=PATIENCE_S)
    lines = len(log.read_bytes().splitlines())
    check(result["target"]["protocol"] == "h2", result["target"])
    check(
        result["outcomes"]["ok"] == lines == 600,
        f"{result['outcomes']}, and {lines} log lines",
    )


def listens(port):
    with socket.socket() as client:
        return client.connect_ex((CALLER, port)) == 0


def spread(lab):
    """All agents start within 5 ms of each other, by the kernel's stamps of what arrives at the target, although the
    clock of one host is far ahead."""
    clocks = srun("python3", "-c", "import time; print(time.monotonic())")
    clocks = sorted(float(clock) for clock in clocks.split())
    check(clocks[2] - clocks[1] > SHIFT_S - 1, f"no clock is ahead: {clocks}")
    spreads = []
    for _ in range(START_ATTEMPTS):
        _, record = lab.result("slurm", "--rate", "3000", "-c", "6", "-n", "600")
        first = [source["first_ns"] for source in record.values()]
        check(len(first) == 3, f"the target saw {record}")
        spreads.append((max(first) - min(first)) / 1e6)
        if spreads[-1] <= MOST_SPREAD_MS:
            print(f"  within {spreads[-1]:.2f} ms")
            return
    raise Failed(f"the starts were {spreads} ms apart")


def srun_command(*command):
    return ["srun", "-N3", "-n3", "--ntasks-per-node=1", "--quiet", *command]


def srun(*command):
    return subprocess.run(
        srun_command(*command), text=True, check=True, capture_output=True
    ).stdout


# Three tasks write messages of 40 KB at once, in lines of 1000 bytes, as agents do with results. Like an agent, a task
# ends when its input closes: what is still in flight when a task ends is cut every 1024 bytes by Slurm, wherever that is.
WRITER = """
import os, sys
task = os.environ["SLURM_PROCID"]
sys.stdin.readline()
for message in range(50):
    lines = (f"{task} {message} {part} ".ljust(999, task) for part in range(40))
    sys.stdout.write("".join(line + chr(10) for line in lines))
sys.stdout.flush()
sys.stdin.read()
"""


def lines(_lab):
    """srun splits no line of up to 1000 bytes, and mixes none, when all tasks write at once."""
    wanted = {
        f"{task} {message} {part} ".ljust(999, task)
        for task in "012"
        for message in range(50)
        for part in range(40)
    }
    tasks = subprocess.Popen(
        srun_command("python3", "-c", WRITER),
        text=True,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    # If a line is missing, srun ends instead of the wait for it.
    patience = threading.Timer(PATIENCE_S, tasks.kill)
    patience.start()
    try:
        tasks.stdin.write("go\n")
        tasks.stdin.flush()
        output = [line.rstrip("\n") for line in islice(tasks.stdout, len(wanted))]
        # It closes the input, and reads what else there is.
        rest, _ = tasks.communicate()
    finally:
        patience.cancel()
        tasks.kill()
    output += rest.splitlines()
    broken = [line for line in output if line not in wanted]
    check(not broken, f"{len(broken)} broken lines: {broken[:3]}")
    check(len(output) == len(wanted), f"{len(output)} lines instead of {len(wanted)}")
    check(tasks.returncode == 0, f"srun exited with {tasks.returncode}")


LONG = ["-d", "5m", "-c", "6"]


def long_load(lab, on, target):
    """A load that runs on all hosts by now."""
    load = lab.load(on, *LONG, target.url)
    try:
        # A debug build that is copied to three hosts is more than 1 GB.
        wait_until(
            lambda: target.sources() == set(ADDRESSES) or load.poll() is not None,
            2 * PATIENCE_S,
            "all hosts send requests",
        )
        check(load.poll() is None, "the load ended by itself")
        check(running_everywhere(), "not every host runs an agent")
    except Failed as error:
        load.kill()
        raise Failed(f"{error}; its output:\n{load.communicate()[0]}") from None
    return load


def lost(lab, on, lose, why):
    """Loses the agent on host 2: the load becomes INVALID, and says why."""
    with Target() as target:
        load = long_load(lab, on, target)
        lose()
        output = lab.invalid(load)
    check(why in output, f"no {why!r} in the output:\n{output}")
    check(HOSTS[1] in output, f"{HOSTS[1]} is not named:\n{output}")
    check("agent 1" in output, f"agent 1 is not named:\n{output}")


def kill_agent():
    for pid in agents_on(HOSTS[1]):
        os.kill(pid, signal.SIGKILL)


def killed(lab):
    """An agent that is killed makes the load INVALID at once, not by its silence."""
    lost(lab, "slurm", kill_agent, "was ended by SIGKILL")
    wait_until(nothing_left, PATIENCE_S, "nothing is left")


@contextlib.contextmanager
def restored_link():
    link = f"{HOSTS[0][:-1]}v2"
    try:
        yield lambda: subprocess.run(["ip", "link", "set", link, "down"], check=True)
    finally:
        subprocess.run(["ip", "link", "set", link, "up"], check=True)


def cut(lab):
    """So does a host that is cut off, whose agent ends by itself."""
    with restored_link() as cut_link:
        # Silence is noticed after 3 s. Slurm then needs a few to give the host up.
        lost(lab, "slurm", cut_link, "has sent nothing for")
        took = wait_until(
            lambda: not agents_on(HOSTS[1]),
            PATIENCE_S,
            "the agent that was cut off ends",
        )
        print(f"  the agent ended {took:.1f} s later")
    wait_until(nothing_left, PATIENCE_S, "nothing is left")


def interrupted(lab):
    """Ctrl-C ends the load early, and what was measured counts."""
    with Target() as target:
        load = long_load(lab, "slurm", target)
        load.send_signal(signal.SIGINT)
        output, _ = load.communicate(timeout=PATIENCE_S)
    check(load.returncode == 130, f"prony exited with {load.returncode}:\n{output}")
    result = json.loads((lab.project / "result.json").read_text())
    check(result["ended"] == "interrupted", result["ended"])
    ok, sent, seen = (
        result["outcomes"]["ok"],
        result["requests"],
        counted(target.record),
    )
    check(0 < ok <= seen <= sent, f"{ok} ok, {seen} seen by the target, {sent} sent")
    wait_until(nothing_left, PATIENCE_S, "nothing is left")


def too_few(lab):
    """Four agents on three hosts are refused at once."""
    with Target() as target:
        output = lab.invalid(lab.load("slurm", *LONG, target.url, agents=4))
    check("fewer than 4 nodes" in output, output)
    check(not target.record, "the target saw requests")
    wait_until(nothing_left, PATIENCE_S, "nothing is left")


def busy(lab):
    """Hosts that are in use are waited for, but not for ever."""
    other = subprocess.Popen(
        ["srun", "--quiet", "--exclusive", "-N1", "sleep", "300"],
        stderr=subprocess.DEVNULL,
    )
    try:
        with Target() as target:
            output = lab.invalid(lab.load("slurm", *LONG, target.url))
    finally:
        other.terminate()
        other.wait(timeout=PATIENCE_S)
    check("Resources" in output, output)
    wait_until(nothing_left, PATIENCE_S, "nothing is left")


def abandoned(lab):
    """Agents end when Prony is killed."""
    for on in ("slurm", ssh_hosts()):
        with Target() as target:
            load = long_load(lab, on, target)
            load.kill()
            load.communicate()
            took = wait_until(nothing_left, PATIENCE_S, "nothing is left")
            print(f"  {on}: after {took:.1f} s")


def ssh_hosts():
    return "ssh:" + ",".join(HOSTS)


def ssh(lab):
    """The same over ssh."""
    result, record = lab.result(ssh_hosts(), "-c", "6", "-n", "3000")
    compare(result, record, 3000)
    lost(lab, ssh_hosts(), kill_agent, "was ended by SIGKILL")
    with restored_link() as cut_link:
        lost(lab, ssh_hosts(), cut_link, "has sent nothing for")
    wait_until(nothing_left, PATIENCE_S, "nothing is left")


def copied(lab):
    """The program is sent to the hosts, and no file is left there."""
    lab.settings(copy=True)
    before = temporary_files()
    try:
        for on in ("slurm", ssh_hosts()):
            with Target() as target:
                load = long_load(lab, on, target)
                programs = {
                    os.readlink(f"/proc/{pid}/exe")
                    for host in HOSTS
                    for pid in agents_on(host)
                }
                load.send_signal(signal.SIGINT)
                load.communicate(timeout=PATIENCE_S)
            check(
                all(program.endswith("(deleted)") for program in programs),
                f"{programs} ran",
            )
            check(len(target.record) == 3, f"the target saw {target.record}")
    finally:
        lab.settings()
    left = temporary_files() - before
    check(not left, f"{left} are left")


def temporary_files():
    """What mktemp has made, because the hosts share this machine's folder for temporary files."""
    return set(Path(tempfile.gettempdir()).glob("tmp.??????????"))


def ssh_refused(lab):
    """A host that lets nobody in is named, with advice."""
    (lab.ssh / "user_key").rename(lab.ssh / "away")
    try:
        with Target() as target:
            output = lab.invalid(lab.load(ssh_hosts(), *LONG, target.url))
    finally:
        (lab.ssh / "away").rename(lab.ssh / "user_key")
    check("cannot log in to" in output and "Permission denied" in output, output)


CASES = [
    lines,
    placement,
    merge,
    http2,
    spread,
    killed,
    cut,
    interrupted,
    too_few,
    busy,
    abandoned,
    ssh,
    copied,
    ssh_refused,
]


def is_disturbed(error):
    """Whether Prony says that an agent began late or was silent because its host is busy."""
    return "its host is overloaded" in error


def main():
    if len(sys.argv) < 2:
        sys.exit("usage: suite.py PRONY [CASE…]")
    prony, *names = sys.argv[1:]
    cases = chosen(CASES, names)
    end_on_sigterm()
    begin = time.monotonic()
    with Lab(prony) as lab:
        return run(cases, lab, begin, is_disturbed=is_disturbed)


if __name__ == "__main__":
    sys.exit(main())
