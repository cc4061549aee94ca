"""Counting the instructions of a server's requests in valgrind's callgrind, independently of Prony."""

import contextlib
import http.client
import re
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from instructions.sources import Build

# The server is idle before each request, so it never finds the next one already there.
PAUSE_S = 0.001
START_LIMIT_S = 60.0
TOTALS = re.compile(r"^totals: (\d+)", re.MULTILINE)


def instructions_per_request(build: Build, warm_up: int, requests: int) -> float:
    """Start a server, and count the user-space instructions of some requests after some others."""
    with tempfile.TemporaryDirectory() as scratch, Emulated(build, Path(scratch)) as it:
        it.send(warm_up)
        it.control("instrumentation on")
        # The first request translates the code again, with counters.
        it.send(20)
        it.control("zero")
        it.send(requests)
        it.control("dump")
        return it.dumped() / requests


class Emulated(contextlib.AbstractContextManager):
    """A server in callgrind, which does not count yet."""

    def __init__(self, build: Build, scratch: Path) -> None:
        self.scratch = scratch
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        # Valgrind names its pipes after $HOST, so vgdb needs the same one.
        self.environment = build.environment | {
            "HOST": "127.0.0.1",
            "PORT": str(self.port),
            "CPUS": "1",
        }
        options = ["--tool=callgrind", "--instr-atstart=no"]
        options += [
            f"--vgdb-prefix={scratch}/pipe",
            f"--callgrind-out-file={scratch}/counts",
        ]
        with open(scratch / "log.txt", "w") as log:
            self.process = subprocess.Popen(
                ["valgrind", *options, *build.command],
                cwd=build.source,
                env=self.environment,
                stdout=subprocess.DEVNULL,
                stderr=log,
            )
        self.client = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)

    def __enter__(self) -> "Emulated":
        end = time.monotonic() + START_LIMIT_S
        while time.monotonic() < end and self.process.poll() is None:
            with contextlib.suppress(ConnectionRefusedError):
                self.client.connect()
                return self
            time.sleep(0.05)
        self.__exit__()
        sys.exit(f"the server did not start:\n{(self.scratch / 'log.txt').read_text()}")

    def __exit__(self, *_: object) -> None:
        self.client.close()
        # It has nothing to save, and SIGTERM would make callgrind write once more.
        self.process.kill()
        self.process.wait()

    def send(self, requests: int) -> None:
        for _ in range(requests):
            time.sleep(PAUSE_S)
            # As Prony sends it, without a header that http.client would add.
            self.client.putrequest("GET", "/hello", skip_accept_encoding=True)
            self.client.endheaders()
            response = self.client.getresponse()
            if response.read() != b"hello from prony\n":
                sys.exit(f"unexpected response, with the status {response.status}")

    def control(self, words: str) -> None:
        command = [
            "vgdb",
            f"--vgdb-prefix={self.scratch}/pipe",
            f"--pid={self.process.pid}",
        ]
        subprocess.run(
            [*command, *words.split()],
            env=self.environment,
            check=True,
            capture_output=True,
            timeout=60,
        )

    def dumped(self) -> int:
        """The instructions in the file that callgrind wrote."""
        return int(TOTALS.findall((self.scratch / "counts.1").read_text())[-1])
