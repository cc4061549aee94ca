#!/usr/bin/env python3
"""Tests the scripts of the action without GitHub: with a fake API server, and a repository of two commits.

test_judge.py [PRONY]    with the program PRONY, also measures a commit that is slower
"""

import functools
import hashlib
import json
import os
import re
import shutil
import stat
import subprocess
import sys
import tempfile
import threading
from http.server import (
    BaseHTTPRequestHandler,
    SimpleHTTPRequestHandler,
    ThreadingHTTPServer,
)
from pathlib import Path

HERE = Path(__file__).resolve().parent
REPOSITORY = HERE.parent.parent
JUDGE = HERE / "judge.sh"
TOKEN = "secret-token"

# Stands in for Prony: writes what it was called with, and ends as the test says.
FAKE_PRONY = """#!/usr/bin/env bash
printf '%s\\n' "$@" >"$FAKE_ARGUMENTS"
# Builds and servers inherit this environment.
env >"$FAKE_ARGUMENTS.env"
echo 'a line of the log' >&2
while (($# > 0)); do
  if [[ $1 == --markdown && -n ${FAKE_MARKDOWN:-} ]]; then cat "$FAKE_MARKDOWN" >"$2"; fi
  shift
done
exit "${FAKE_STATUS:-0}"
"""

# A server of Prony's own examples; `{}` seconds pass before each response.
SERVER = """import os, time
os.environ['CPUS'] = '1'
import right
class Slow(right.Handler):
    def do_GET(self):
        time.sleep({})
        super().do_GET()
right.Handler = Slow
right.main()
"""

MANIFEST = """title = "A server of a test"
language = "Python"
framework = "none"
class = "stdlib"
keep_alive = false
workloads = ["hello"]
run = ["python3", "server.py"]
"""


class FakeApi(ThreadingHTTPServer):
    """The comments of one pull request."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.comments: list[dict] = []
        self.requests: list[str] = []
        self.refuses = False
        threading.Thread(target=self.serve_forever, daemon=True).start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"


class Handler(BaseHTTPRequestHandler):
    server: FakeApi

    def log_message(self, *_: object) -> None:
        pass

    def reply(self, status: int, value: object) -> None:
        body = json.dumps(value).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def body(self) -> str:
        return json.loads(self.rfile.read(int(self.headers["Content-Length"])))["body"]

    def handle_request(self) -> None:
        api = self.server
        api.requests.append(f"{self.command} {self.path}")
        if self.headers["Authorization"] != f"Bearer {TOKEN}":
            return self.reply(401, {})
        if api.refuses and self.command != "GET":
            return self.reply(403, {})
        comments = re.fullmatch(
            r"/repos/o/r/issues/7/comments(?:\?per_page=100&page=(\d+))?", self.path
        )
        comment = re.fullmatch(r"/repos/o/r/issues/comments/(\d+)", self.path)
        if self.command == "GET" and comments:
            page = int(comments[1] or 1)
            return self.reply(200, api.comments[(page - 1) * 100 : page * 100])
        if self.command == "POST" and comments:
            api.comments.append({"id": 1000 + len(api.comments), "body": self.body()})
            return self.reply(201, api.comments[-1])
        if self.command == "PATCH" and comment:
            [found] = [one for one in api.comments if one["id"] == int(comment[1])]
            found["body"] = self.body()
            return self.reply(200, found)
        return self.reply(404, {})

    do_GET = do_POST = do_PATCH = handle_request


class Files(SimpleHTTPRequestHandler):
    """A folder."""

    def log_message(self, *_: object) -> None:
        pass


def git(folder: Path, *arguments: str) -> str:
    identity = ["-c", "user.name=A", "-c", "user.email=a@example.org"]
    environment = {
        **os.environ,
        "GIT_CONFIG_GLOBAL": "/dev/null",
        "GIT_CONFIG_NOSYSTEM": "1",
    }
    command = ["git", "-C", str(folder), *identity, *arguments]
    return subprocess.run(
        command, check=True, capture_output=True, text=True, env=environment
    ).stdout.strip()


class Place:
    """A repository `origin` with a commit on main and one on a branch, and a shallow clone of the branch."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.origin, self.clone = folder / "origin", folder / "clone"
        self.origin.mkdir()
        git(self.origin, "init", "--quiet", "--initial-branch", "main")
        # As GitHub's.
        git(self.origin, "config", "uploadpack.allowAnySHA1InWant", "true")

    def commit(self, text: dict[str, str]) -> str:
        for name, content in text.items():
            path = self.origin / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(content)
        git(self.origin, "add", "--all")
        git(self.origin, "commit", "--quiet", "--message", "a commit")
        return git(self.origin, "rev-parse", "HEAD")

    def branch(self) -> None:
        git(self.origin, "checkout", "--quiet", "-b", "change")

    def check_out(self) -> None:
        url = self.origin.as_uri()
        git(
            self.folder,
            "clone",
            "--quiet",
            "--depth",
            "1",
            "--branch",
            "change",
            url,
            str(self.clone),
        )


def judge(place: Place, api: FakeApi, **more: str) -> subprocess.CompletedProcess:
    environment = {
        **os.environ,
        "PRONY_FOLDER": str(place.clone),
        "PRONY_PULL_REQUEST": "7",
        "GITHUB_REPOSITORY": "o/r",
        "GITHUB_TOKEN": TOKEN,
        "GITHUB_API_URL": api.url,
        "GITHUB_OUTPUT": str(place.folder / "output"),
        "GITHUB_STEP_SUMMARY": str(place.folder / "summary"),
        "FAKE_ARGUMENTS": str(place.folder / "arguments"),
        "http_proxy": "",
        **more,
    }
    return subprocess.run(
        [str(JUDGE)], env=environment, capture_output=True, text=True, timeout=120
    )


def expect(is_so: bool, what: str, ended: subprocess.CompletedProcess) -> None:
    if not is_so:
        sys.exit(f"FAILED: {what}\n{ended}")


def with_a_fake_prony(folder: Path) -> None:
    place, api = Place(folder), FakeApi()
    base = place.commit({"file": "old"})
    place.branch()
    place.commit({"file": "new"})
    place.check_out()
    programs = folder / "bin"
    programs.mkdir()
    fake = programs / "prony"
    fake.write_text(FAKE_PRONY)
    fake.chmod(fake.stat().st_mode | stat.S_IXUSR)
    markdown = folder / "markdown"
    markdown.write_text('### Prony: worse\n\nü `"$(id)"`\n')
    settings = {
        "PATH": f"{programs}:{os.environ['PATH']}",
        "PRONY_BASE": base,
        "PRONY_SERVER": "my-server",
        "PRONY_ARGUMENTS": "--budget 10m  --strict",
        "FAKE_MARKDOWN": str(markdown),
    }

    def run(**more: str) -> subprocess.CompletedProcess:
        return judge(place, api, **{**settings, **more})

    # Another's comment, and more than a page of them.
    api.comments = [{"id": number, "body": "hello"} for number in range(150)]
    ended = run(FAKE_STATUS="1")
    expect(ended.returncode == 1, "the status is that of `prony ab`", ended)
    arguments = (folder / "arguments").read_text().split("\n")
    expect(
        arguments[:5] == ["ab", base, "HEAD", "--server", "my-server"],
        f"{arguments}",
        ended,
    )
    expect(arguments[7:10] == ["--budget", "10m", "--strict"], f"{arguments}", ended)
    expect(len(api.comments) == 151, "a new comment", ended)
    text = api.comments[-1]["body"]
    expect(
        text.startswith("<!-- prony ab: my-server") and text.endswith('ü `"$(id)"`\n'),
        text,
        ended,
    )
    expect((folder / "output").read_text() == "status=1\n", "the output", ended)
    expect("### Prony: worse" in (folder / "summary").read_text(), "the summary", ended)
    expect(TOKEN not in ended.stdout + ended.stderr, "the token is not shown", ended)
    inherited = (folder / "arguments.env").read_text()
    expect(TOKEN not in inherited, "servers do not inherit the token", ended)

    markdown.write_text("### Prony: no change seen\n")
    ended = run(FAKE_STATUS="0")
    expect(
        ended.returncode == 0 and len(api.comments) == 151,
        "the comment is updated",
        ended,
    )
    expect(
        "no change seen" in api.comments[-1]["body"], api.comments[-1]["body"], ended
    )
    ended = run(FAKE_STATUS="0", PRONY_SERVER="other")
    expect(len(api.comments) == 152, "another server has a comment of its own", ended)

    markdown.write_text("ü" * 100_000)
    ended = run(FAKE_STATUS="1")
    text = api.comments[150]["body"]
    expect(
        len(text) < 65_536 and "the rest is in the log" in text,
        "a long comment is cut",
        ended,
    )

    ended = run(FAKE_STATUS="2", FAKE_MARKDOWN="")
    text = api.comments[150]["body"]
    expect(ended.returncode == 2, "an error keeps its status", ended)
    expect(
        "cannot be compared" in text and "    a line of the log" in text, text, ended
    )

    for base_without_commit in ["no-such-branch", "--upload-pack=touch x"]:
        ended = run(PRONY_BASE=base_without_commit)
        expect(
            ended.returncode == 2 and "not a revision" in ended.stderr,
            "an unknown base",
            ended,
        )

    api.refuses = True
    ended = run(FAKE_STATUS="1")
    expect(
        ended.returncode == 1 and "could not be written" in ended.stderr,
        "the verdict stands",
        ended,
    )
    api.refuses = False

    before = len(api.requests)
    ended = run(FAKE_STATUS="3", PRONY_PULL_REQUEST="")
    expect(
        ended.returncode == 3 and len(api.requests) == before,
        "no pull request, no comment",
        ended,
    )
    ended = run(PRONY_COMMENT="false")
    expect(
        ended.returncode == 0 and len(api.requests) == before,
        "no comment wanted",
        ended,
    )
    api.shutdown()


def installation(folder: Path) -> None:
    """install.sh with a release of a fake GitHub."""
    name = f"prony-9.9.9-{os.uname().machine}-linux"
    release = folder / "prony-bench/prony/releases/download/v9.9.9"
    program = release / name / "prony"
    program.parent.mkdir(parents=True)
    program.write_text("#!/bin/sh\necho prony 9.9.9\n")
    program.chmod(0o755)
    archive = release / f"{name}.tar.gz"
    subprocess.run(["tar", "-czf", archive, "-C", release, name], check=True)
    sums = release / "SHA256SUMS"
    sums.write_text(
        f"{hashlib.sha256(archive.read_bytes()).hexdigest()}  {archive.name}\n"
    )

    files = functools.partial(Files, directory=str(folder))
    server = ThreadingHTTPServer(("127.0.0.1", 0), files)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    environment = {
        **os.environ,
        "GITHUB_SERVER_URL": f"http://127.0.0.1:{server.server_port}",
        "GITHUB_PATH": str(folder / "path"),
        "RUNNER_TEMP": str(folder / "runner"),
        "PRONY_VERSION": "9.9.9",
        "http_proxy": "",
    }

    def run() -> subprocess.CompletedProcess:
        install = [str(HERE / "install.sh")]
        return subprocess.run(
            install, env=environment, capture_output=True, text=True, timeout=120
        )

    ended = run()
    expect(
        ended.returncode == 0 and ended.stdout == "prony 9.9.9\n",
        "the program runs",
        ended,
    )
    expect(
        (folder / "path").read_text() == f"{folder}/runner/prony-program\n",
        "the path",
        ended,
    )
    sums.write_text(f"{'0' * 64}  {archive.name}\n")
    ended = run()
    expect(
        ended.returncode == 1 and "checksum" in ended.stderr,
        "a wrong checksum is refused",
        ended,
    )
    server.shutdown()


def with_prony(folder: Path, prony: Path) -> None:
    """The verdict of the real program on a commit whose server waits 20 ms before each response."""
    place, api = Place(folder), FakeApi()
    for name in ["workloads", "suites"]:
        shutil.copytree(REPOSITORY / name, place.origin / name)
    right = (REPOSITORY / "servers/python-httpserver/server.py").read_text()
    own = "servers/my-server/"
    base = place.commit(
        {
            ".gitignore": ".prony\n",
            f"{own}server.toml": MANIFEST,
            f"{own}right.py": right,
            f"{own}server.py": SERVER.format(0),
        }
    )
    place.branch()
    place.commit({f"{own}server.py": SERVER.format(0.02)})
    place.check_out()
    ended = judge(
        place,
        api,
        PATH=f"{prony.parent}:{os.environ['PATH']}",
        PRONY_BASE=base,
        PRONY_SERVER="my-server",
        PRONY_ARGUMENTS="--rounds 8 --duration 200ms --warmup 20ms --connections 2 --metrics rate",
    )
    expect(ended.returncode == 1, "a slower server is worse", ended)
    [comment] = api.comments
    expect("### Prony: worse" in comment["body"], comment["body"], ended)
    expect("status=1" in (folder / "output").read_text(), "the output", ended)
    api.shutdown()


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        with_a_fake_prony(Path(folder))
    print("judge.sh with a fake Prony: as expected")
    with tempfile.TemporaryDirectory() as folder:
        installation(Path(folder))
    print("install.sh: as expected")
    if len(sys.argv) > 1:
        with tempfile.TemporaryDirectory() as folder:
            with_prony(Path(folder), Path(sys.argv[1]).resolve())
        print("judge.sh with Prony: as expected")


main()
