"""Runs load generators for about a second each, and reads what they report about the responses."""

import json
import re
import shutil
import subprocess
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

CONNECTIONS = 4
SECONDS = 1
# With a duration, h2load does not count the requests of failed connections.
H2LOAD_REQUESTS = 200
TIMEOUT_MS = 300
# Rarer outcomes are left out: a load may cut off a response at its end, and a busy machine delays
# some.
SHARE_SHOWN = 0.05


@dataclass
class Verdict:
    """How many responses a generator counted as right, and how it counted the others."""

    ok: int = 0
    failures: dict[str, int] = field(default_factory=dict)
    broke: str | None = None
    detail: str = ""
    """What the generator says of the first failure."""

    def __str__(self) -> str:
        if self.broke:
            return self.broke
        counts = {"ok": self.ok, **self.failures}
        total = sum(counts.values())
        shown = {
            name: count for name, count in counts.items() if count > SHARE_SHOWN * total
        }
        if not shown:
            return "nothing counted"
        if len(shown) == 1:
            return next(iter(shown))
        return ", ".join(f"{name} {count / total:.0%}" for name, count in shown.items())

    @property
    def kind(self) -> str:
        """Right, wrong, partly right, or nothing reported."""
        if self.broke:
            return "wrong" if self.broke.startswith("exit") else "nothing"
        wrong = sum(self.failures.values())
        total = self.ok + wrong
        if not total:
            return "nothing"
        if wrong <= SHARE_SHOWN * total:
            return "right"
        return "wrong" if self.ok <= SHARE_SHOWN * total else "partly"


def run(command: list[str]) -> subprocess.CompletedProcess[str] | None:
    """`None` if it had to be killed because it did not end in time."""
    try:
        return subprocess.run(
            command,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=SECONDS + 8,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return None


def last_line(done: subprocess.CompletedProcess[str]) -> str:
    if done.returncode < 0:
        return "crashes"
    return f"exit {done.returncode}: {complaint(done)[:60].strip(' ;:')}"


def complaint(done: subprocess.CompletedProcess[str]) -> str:
    """The last line that it wrote, without addresses, which vary."""
    lines = (done.stderr or done.stdout).strip().splitlines()
    return re.sub(r"^error: | ?\d+(\.\d+){3}:\d+", "", lines[-1] if lines else "")


@dataclass
class Prony:
    path: str
    shape: tuple[str, ...]
    length: tuple[str, ...] = (f"-d{SECONDS}s",)

    def load(self, url: str, arguments: list[str]) -> Verdict:
        streams = "--streams-per-connection"
        if "--http2" in arguments and streams not in arguments:
            # At a rate, Prony would give a slow server 100 streams of a connection.
            arguments = [*arguments, streams, "1"]
        if "--timeout" not in arguments:
            arguments = [*arguments, "--timeout", f"{TIMEOUT_MS}ms"]
        command = [
            self.path, "load", *self.shape, "-t1", f"-c{CONNECTIONS}", *self.length,
            "--json", "-", *arguments, url,
        ]  # fmt: skip
        done = run(command)
        if done is None:
            return Verdict(broke="does not end")
        try:
            result = json.loads(done.stdout)
            outcomes = result["outcomes"]
        except (ValueError, KeyError):
            if done.returncode == 1:
                return Verdict(broke="exit 1", detail=complaint(done))
            return Verdict(broke=last_line(done))
        ok = outcomes.pop("ok")
        outcomes.pop("unfinished")
        failures = {name: count for name, count in outcomes.items() if count}
        first = result["first_wrong"]
        return Verdict(ok, failures, detail=first["detail"] if first else "")


class Wrk:
    def load(self, url: str, arguments: list[str]) -> Verdict:
        command = [
            "wrk", "-t1", f"-c{CONNECTIONS}", f"-d{SECONDS}s", "--timeout", "1s", *arguments, url,
        ]  # fmt: skip
        done = run(command)
        if done is None:
            return Verdict(broke="does not end")
        requests = re.search(r"(\d+) requests in", done.stdout)
        if not requests:
            return Verdict(broke=last_line(done))
        errors = re.search(
            r"connect (\d+), read (\d+), write (\d+), timeout (\d+)", done.stdout
        )
        names = ("connect error", "read error", "write error", "timeout")
        counts = map(int, errors.groups()) if errors else (0, 0, 0, 0)
        failures = {
            name: count for name, count in zip(names, counts, strict=True) if count
        }
        wrong = re.search(r"Non-2xx or 3xx responses: (\d+)", done.stdout)
        if wrong:
            failures["non-2xx"] = int(wrong[1])
        return Verdict(int(requests[1]) - failures.get("non-2xx", 0), failures)


class Oha:
    KINDS = (
        ("deadline", None),
        ("timeout", "timeout"),
        ("timed out", "timeout"),
        ("refused", "refused"),
        ("reset by peer", "reset"),
        ("before message completed", "incomplete"),
        ("end of file before message length", "incomplete"),
        ("body from connection", "body error"),
        ("connection closed", "closed"),
        ("invalid", "parse error"),
        ("transfer-encoding", "parse error"),
        ("canceled", "canceled"),
        ("error writing", "write error"),
        ("too large", "parse error"),
        ("unexpected message", "unexpected message"),
    )

    def load(self, url: str, arguments: list[str]) -> Verdict:
        command = [
            "oha", f"-c{CONNECTIONS}", f"-z{SECONDS}s", "-t", f"{TIMEOUT_MS}ms",
            "--no-tui", "--output-format", "json", "-r", "0", *arguments, url,
        ]  # fmt: skip
        done = run(command)
        if done is None:
            return Verdict(broke="does not end")
        try:
            said = json.loads(done.stdout)
        except ValueError:
            return Verdict(broke=last_line(done))
        verdict = Verdict()
        for status, count in said.get("statusCodeDistribution", {}).items():
            if 200 <= int(status) < 400:
                verdict.ok += count
            else:
                verdict.failures[status] = verdict.failures.get(status, 0) + count
        for message, count in said.get("errorDistribution", {}).items():
            name = self.kind(message)
            if name:
                verdict.failures[name] = verdict.failures.get(name, 0) + count
        return verdict

    def kind(self, message: str) -> str | None:
        lower = message.lower()
        return next(
            (name for words, name in self.KINDS if words in lower), message[:40]
        )


class H2load:
    def load(self, url: str, arguments: list[str]) -> Verdict:
        command = [
            "h2load", "-t1", f"-c{CONNECTIONS}", f"-n{H2LOAD_REQUESTS}",
            "-N", f"{TIMEOUT_MS}ms", *arguments, url,
        ]  # fmt: skip
        done = run(command)
        if done is None:
            return Verdict(broke="does not end")
        counts = re.search(
            r"(\d+) succeeded, (\d+) failed, (\d+) errored, (\d+) timeout", done.stdout
        )
        if not counts:
            return Verdict(broke=last_line(done))
        succeeded, failed, errored, timeout = map(int, counts.groups())
        # "failed" includes "errored".
        found = {"failed": failed - errored, "error": errored, "timeout": timeout}
        return Verdict(
            succeeded, {name: count for name, count in found.items() if count > 0}
        )


class Ghz:
    def load(self, url: str, arguments: list[str]) -> Verdict:
        command = [
            "ghz", f"--connections={CONNECTIONS}", f"--concurrency={CONNECTIONS}", f"--duration={SECONDS}s",
            f"--timeout={TIMEOUT_MS}ms", "--data={}", "--format=json", *arguments, urlsplit(url).netloc,
        ]  # fmt: skip
        done = run(command)
        if done is None:
            return Verdict(broke="does not end")
        try:
            statuses = json.loads(done.stdout)["statusCodeDistribution"] or {}
        except (ValueError, KeyError):
            return Verdict(broke=last_line(done))
        ok = statuses.pop("OK", 0)
        return Verdict(ok, statuses)


def prony_variants(path: Path, **how: tuple[str, ...]) -> list[Prony]:
    """Over both event loops, in closed and open loop."""
    rate = ("--rate", "100/s", "--max-connections", str(CONNECTIONS))
    return [
        Prony(str(path), ("--loop", loop, *shape), **how)
        for loop in ("io_uring", "epoll")
        for shape in ((), rate)
    ]


def generators(prony: Path, wanted: list[str]) -> dict[str, list]:
    """The installed generators, by column."""
    columns = {
        "Prony": prony_variants(prony),
        "wrk": [Wrk()],
        "oha": [Oha()],
        "h2load": [H2load()],
        "ghz": [Ghz()],
    }
    there = {
        "Prony": prony.exists(),
        **{name: bool(shutil.which(name)) for name in columns if name != "Prony"},
    }
    return {
        name: all_of
        for name, all_of in columns.items()
        if there[name] and name.lower() in wanted
    }
