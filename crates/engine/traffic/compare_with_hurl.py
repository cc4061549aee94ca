"""Runs Hurl files with Hurl and with Prony, and compares what both say of them.

    python crates/scenario/compare_with_hurl.py FOLDER --prony target/debug/prony --hurl hurl

The server of the files must run already. A file is sent as one flow by one user, `prony load FILE --sequential -n 1`.
The variables of a file NAME.hurl are in NAME.variables beside it, if that exists: a line NAME=VALUE for each; --variable
sets those of all files. If there is a script NAME.sh, as in the integration tests of the Hurl project, both programs get
the options of its `hurl` command. The files that it names are relative to the current folder.

Each file is one of these:

- same: both accept every response, or both reject the file at the same place, with as many failures;
- refused: Prony names something in it that it does not support, and sends nothing;
- servers: it requests or is redirected to another server, which Prony rejects;
- option: the script has an option of Hurl for which Prony has no flag, so the file is not sent;
- elsewhere: both reject the file, at different places;
- different: one accepts what the other rejects.

The last lines count them, with what is refused. With --words, failures that both programs find are listed if their words
differ. The exit status is 1 if a file is different. With --strict it is 1 also if a file is elsewhere.
"""

import argparse
import json
import re
import shlex
import subprocess
import sys
import tempfile
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

PLACE = re.compile(r"\.hurl:(\d+):(\d+)")
PLACE_AND_COLON = re.compile(r"\S*\.hurl:\d+:\d+:")
UNSUPPORTED = re.compile(r"Prony does not support ([^;\n]+)")
OTHER_SERVER = " is on another server than "
MORE = re.compile(r" \(and (\d+) more\)")
SOURCE_LINE = re.compile(r" *\d+ \| ")
SECONDS = 60
KINDS = ["same", "refused", "servers", "option", "elsewhere", "different"]
# Options of `hurl` that `prony load` has under the same name.
SHARED = {
    *("--variable", "--secret", "--cacert", "--cert", "--key", "--resolve"),
    *("--unix-socket", "--insecure", "--http1.1", "--http2"),
}
# Options of `hurl` that change only what it prints or writes, and those among them that have a value.
OUTPUT = {
    *("--verbose", "--very-verbose", "--json", "--no-output", "--test", "--include"),
    *("--color", "--no-color", "--no-pretty", "--pretty", "--progress-bar"),
}
OUTPUT_WITH_VALUE = {
    *("--report-html", "--report-json", "--report-junit", "--report-tap", "--curl"),
    *("--cookie-jar", "--output", "--error-format", "--verbosity"),
}
WITHOUT_VALUE = {"--insecure", "--http1.1", "--http2"}


@dataclass
class Options:
    """What a file needs on the command line."""

    shared: list[str] = field(default_factory=list)
    missing: list[str] = field(default_factory=list)


@dataclass
class Verdict:
    """What a program says of a file."""

    is_accepted: bool
    message: str = ""
    refused: list[str] = field(default_factory=list)
    failures: int = 0
    words: str = ""

    @property
    def place(self) -> tuple[int, int] | None:
        """The line and column of the first failure."""
        place = PLACE.search(self.message)
        return (int(place.group(1)), int(place.group(2))) if place else None


def run(command: list[str]) -> subprocess.CompletedProcess[str]:
    try:
        return subprocess.run(
            command, capture_output=True, text=True, timeout=SECONDS, check=False
        )
    except subprocess.TimeoutExpired:
        late = f"error: no end after {SECONDS} s"
        return subprocess.CompletedProcess(command, 1, stdout="", stderr=late)


def of_hurl(program: str, file: Path, options: list[str]) -> Verdict:
    finished = run([program, "--test", "--no-color", *options, str(file)])
    if finished.returncode == 0:
        return Verdict(True)
    return of_blocks(finished.stderr)


def of_prony(program: str, file: Path, options: list[str]) -> Verdict:
    with tempfile.TemporaryDirectory() as folder:
        result = Path(folder, "load.json")
        command = [program, "load", str(file), "--sequential", "-n", "1"]
        finished = run([*command, "--json", str(result), *options])
        if not result.exists() or not result.stat().st_size:
            verdict = of_blocks(finished.stderr)
            verdict.refused = UNSUPPORTED.findall(finished.stderr)
            return verdict
        load = json.loads(result.read_text())
    flows = load["flows"]
    if (flows["ok"], flows["failed"]) == (1, 0):
        return Verdict(True)
    # A retry that succeeds leaves the reason of the response before it.
    wrong = [entry["first_wrong"] for entry in flows["entries"]]
    found = [reason for reason in [flows["first_failure"], *wrong] if reason]
    first = found[0] if found else ""
    detail = first["detail"] if isinstance(first, dict) else str(first)
    more = MORE.search(detail)
    words = PLACE_AND_COLON.sub("", MORE.sub("", detail), count=1)
    failures = 1 + (int(more.group(1)) if more else 0)
    return Verdict(False, detail, [], failures, plain(words))


def of_blocks(stderr: str) -> Verdict:
    """The verdict of messages with excerpts of the file, as both programs print them."""
    blocks = ("\n" + stderr).split("\nerror: ")[1:]
    first = blocks[0] if blocks else stderr
    return Verdict(False, first, [], len(blocks), words_of(first))


def words_of(block: str) -> str:
    """The title of a message and the lines below the excerpt."""
    title, *lines = block.splitlines() or [""]
    sources = [at for at, line in enumerate(lines) if SOURCE_LINE.match(line)]
    below = lines[sources[-1] + 1 :] if sources else []
    texts = [line.strip().removeprefix("|") for line in below if "|" in line]
    return plain(" ".join([title, *texts]))


def plain(words: str) -> str:
    return " ".join(re.sub(r"[:^]", " ", words).split())


def options_of(file: Path) -> Options:
    """The options of NAME.variables and of the `hurl` command in NAME.sh."""
    options = Options()
    beside = file.with_suffix(".variables")
    if beside.exists():
        options.shared += flags(beside.read_text().splitlines())
    script = file.with_suffix(".sh")
    if not script.exists():
        return options
    text = script.read_text().replace("\\\n", " ")
    commands = [line for line in text.splitlines() if line.startswith("hurl ")]
    words = iter(shlex.split(commands[0])[1:] if commands else [])
    for word in words:
        read_option(word, words, options)
    return options


def read_option(word: str, rest, options: Options) -> None:
    if word == "--variables-file":
        lines = Path(next(rest)).read_text().splitlines()
        options.shared += flags(
            [line for line in lines if line and not line.startswith("#")]
        )
    elif word in SHARED:
        options.shared.append(word)
        if word not in WITHOUT_VALUE:
            options.shared.append(next(rest))
    elif word in OUTPUT_WITH_VALUE:
        next(rest)
    elif word.startswith("-") and word not in OUTPUT:
        options.missing.append(word)


def flags(variables: list[str]) -> list[str]:
    return [flag for variable in variables for flag in ("--variable", variable)]


def kind(hurl: Verdict, prony: Verdict) -> str:
    if prony.refused:
        return "refused"
    if OTHER_SERVER in prony.message:
        return "servers"
    if hurl.is_accepted != prony.is_accepted:
        return "different"
    is_same = (hurl.place, hurl.failures) == (prony.place, prony.failures)
    return "same" if is_same else "elsewhere"


def described(hurl: Verdict, prony: Verdict) -> str:
    if prony.refused:
        return ", ".join(sorted(set(prony.refused)))
    if kind(hurl, prony) == "servers":
        return f"rejected at {at(prony)}"
    if kind(hurl, prony) == "same":
        return "accepted" if hurl.is_accepted else f"rejected at {at(hurl)}"
    return both(one_line(hurl), one_line(prony))


def both(hurl: str, prony: str) -> str:
    return f"\n    hurl: {hurl}\n    prony: {prony}"


def at(verdict: Verdict) -> str:
    place = "{}:{}".format(*verdict.place) if verdict.place else "no place"
    more = f", {verdict.failures} failures" if verdict.failures > 1 else ""
    return place + more


def one_line(verdict: Verdict) -> str:
    if verdict.is_accepted:
        return "accepts it"
    return f"{at(verdict)}: {' '.join(verdict.message.split())[:300]}"


def compare(file: Path, arguments: argparse.Namespace, refused: Counter) -> str:
    """Prints what both say of a file. Returns the kind."""
    name = file.relative_to(arguments.folder)
    options = options_of(file)
    if options.missing:
        print(f"option    {name}: {' '.join(options.missing)}", flush=True)
        return "option"
    shared = flags(arguments.variable) + options.shared
    hurl = of_hurl(arguments.hurl, file, shared)
    prony = of_prony(arguments.prony, file, shared)
    found = kind(hurl, prony)
    refused.update(set(prony.refused))
    print(f"{found:9} {name}: {described(hurl, prony)}", flush=True)
    if arguments.words and found == "same" and hurl.words != prony.words:
        print(f"    other words:{both(hurl.words, prony.words)}", flush=True)
    return found


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path)
    parser.add_argument("--prony", default="prony", metavar="PROGRAM")
    parser.add_argument("--hurl", default="hurl", metavar="PROGRAM")
    parser.add_argument("--variable", action="append", default=[], metavar="NAME=VALUE")
    parser.add_argument("--words", action="store_true")
    parser.add_argument("--strict", action="store_true")
    arguments = parser.parse_args()
    files = sorted(arguments.folder.rglob("*.hurl"))
    if not files:
        parser.error(f"{arguments.folder} has no Hurl files")
    refused = Counter()
    counts = Counter(compare(file, arguments, refused) for file in files)
    print(", ".join(f"{counts[name]} {name}" for name in KINDS))
    for feature, count in refused.most_common():
        print(f"    {count} refused for {feature}")
    return 1 if counts["different"] or (arguments.strict and counts["elsewhere"]) else 0


if __name__ == "__main__":
    sys.exit(main())
