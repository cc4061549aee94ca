#!/usr/bin/env python3
"""Lists the tests that are ignored, with their reasons.

ignored_tests.py          for readers
ignored_tests.py --names  the names of those that the full check runs: their reasons begin with "full check:"
"""

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
IGNORED = re.compile(
    r'#\[ignore = "(?P<reason>[^"]*)"\](?:\s*#\[[^\n]*\])*\s*(?:pub )?fn (?P<name>\w+)'
)


def ignored() -> list[tuple[str, str, str]]:
    """File, name and reason of each."""
    files = subprocess.check_output(
        ["git", "-C", ROOT, "ls-files", "crates/*.rs"], text=True
    )
    found = []
    for file in files.splitlines():
        path = ROOT / file
        text = path.read_text() if path.exists() else ""
        matches = list(IGNORED.finditer(text))
        if len(matches) != text.count("#[ignore"):
            sys.exit(
                f"{file}: an ignored test has no reason, or is written in a way that this script does not know"
            )
        found += [(file, match["name"], match["reason"]) for match in matches]
    return found


def main() -> None:
    for file, name, reason in ignored():
        if sys.argv[1:] == ["--names"]:
            if reason.startswith("full check:"):
                print(name)
        else:
            print(f"{file}: {name}: {reason}")


if __name__ == "__main__":
    main()
