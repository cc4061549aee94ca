#!/usr/bin/env python3
"""Says which parts of the full check are due, by the table in parts.toml.

parts.py names    the names of all parts
parts.py due      the parts whose files have changed since the commit in .ci/full-passed: for each a line with its name,
                  its seconds and the first file, separated by tabs
parts.py none-due fails if a part is due
"""

import re
import subprocess
import sys
import tomllib
from pathlib import Path

HERE = Path(__file__).resolve().parent


class Pattern:
    """Files by their paths, as parts.toml describes."""

    def __init__(self, text: str) -> None:
        self.excludes = text.startswith("!")
        self.text = text.removeprefix("!")
        wildcards = {"**": ".*", "*": "[^/]*"}
        pieces = re.split(r"(\*\*|\*)", self.text)
        expression = "".join(wildcards.get(it, re.escape(it)) for it in pieces)
        if expression.endswith("/"):
            expression += ".*"
        self.expression = re.compile(expression)

    def matches(self, path: str) -> bool:
        return self.expression.fullmatch(path) is not None


class Patterns:
    def __init__(self, texts: list[str]) -> None:
        patterns = [Pattern(text) for text in texts]
        self.included = [it for it in patterns if not it.excludes]
        self.excluded = [it for it in patterns if it.excludes]

    def match(self, path: str) -> bool:
        return any(it.matches(path) for it in self.included) and not any(
            it.matches(path) for it in self.excluded
        )


class Table:
    def __init__(self, text: str) -> None:
        table = tomllib.loads(text)
        self.parts: list[dict] = table["part"]
        self.never = Patterns(table["never"])

    def due(self, changed: list[str] | None) -> list[tuple[dict, str]]:
        """The parts that these files belong to, and the first file of each; all parts if nobody knows what changed."""
        if changed is None:
            return [(part, "changes unknown") for part in self.parts]
        found = []
        for part in self.parts:
            patterns = Patterns(part["paths"])
            files = (path for path in changed if self.belongs(path, patterns))
            if (first := next(files, None)) is not None:
                found.append((part, first))
        return found

    def belongs(self, path: str, patterns: Patterns) -> bool:
        return patterns.match(path) and not self.never.match(path)


def changed_since_full_check(root: Path) -> list[str] | None:
    """The files that differ from the commit of the last full check, with those that are in no commit; nothing, and a
    note, if that commit is unknown."""
    file = root / ".ci/full-passed"
    commit = file.read_text().strip() if file.exists() else ""
    if not re.fullmatch(r"[0-9a-f]{40}", commit):
        return note(f"{file.relative_to(root)} names no commit")
    if not (is_known(root, commit) or fetched(root, commit)):
        return note(f"the history ends before {commit}, of the last full check")
    # Both names of a file that was renamed.
    changed = git(root, "diff", "--name-only", "--no-renames", "-z", commit)
    new = git(root, "ls-files", "--others", "--exclude-standard", "-z")
    return sorted({path for path in (changed + new).split("\0") if path})


def note(what: str) -> None:
    print(f"{what}, so every part is due", file=sys.stderr)


def is_known(root: Path, commit: str) -> bool:
    command = ["git", "-C", root, "cat-file", "-e", f"{commit}^{{commit}}"]
    return subprocess.run(command, stderr=subprocess.DEVNULL).returncode == 0


def fetched(root: Path, commit: str) -> bool:
    """Gets that commit alone, for a clone without its history."""
    command = ["git", "-C", root, "fetch", "--quiet", "--depth=1", "origin", commit]
    try:
        done = subprocess.run(command, stderr=subprocess.DEVNULL, timeout=60)
    except subprocess.TimeoutExpired:
        return False
    return done.returncode == 0


def git(root: Path, *words: str) -> str:
    return subprocess.check_output(["git", "-C", root, *words], text=True)


def main() -> None:
    table = Table((HERE / "parts.toml").read_text())
    match sys.argv[1:]:
        case ["names"]:
            for part in table.parts:
                print(part["name"])
        case ["due"]:
            for part, because in table.due(changed_since_full_check(HERE.parent)):
                print(part["name"], part["seconds"], because, sep="\t")
        case ["none-due"]:
            due = table.due(changed_since_full_check(HERE.parent))
            for part, because in due:
                print(f"{part['name']} has not passed since {because} changed")
            sys.exit(1 if due else 0)
        case _:
            sys.exit(__doc__)


if __name__ == "__main__":
    main()
