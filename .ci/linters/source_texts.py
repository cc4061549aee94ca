#!/usr/bin/env python3
"""Writes the comments and strings of each source file to FOLDER/<path>.md, for a linter of prose.

Each text stays on its line, so that a finding's line number is right; code is left out.
"""

import re
import subprocess
import sys
from pathlib import Path

RUST = r"""
    //[/!]?(?P<comment>[^\n]*)
  | r(?P<hashes>\#+)"(?P<raw>.*?)"(?P=hashes)
  | "(?P<string>(?:[^"\\]|\\.)*)"
  | '(?:[^'\\\n]|\\.[^'\n]*)'
"""
HASH = r"""
    \#(?P<comment>[^\n]*)
  | ""\"(?P<raw>.*?)""\"
  | "(?P<string>(?:[^"\\\n]|\\.)*)"
"""
SCRIPT = r"""
    //(?P<comment>[^\n]*)
  | /\*(?P<raw>.*?)\*/
  | (?P<quote>["'`])(?P<string>(?:\\.|(?!(?P=quote))[^\\])*)(?P=quote)
"""
PATTERNS = {
    ".rs": RUST,
    ".json": RUST,
    ".py": HASH,
    ".toml": HASH,
    ".js": SCRIPT,
    ".mjs": SCRIPT,
    ".ts": SCRIPT,
}
EXCLUDED = (
    ".ci/linters/",
    "docs/results/",
    "tests/browser/package-lock.json",
    "workloads/assets/",
)


def texts(source: str, pattern: str) -> str:
    output, end = "", 0
    for match in re.finditer(pattern, source, re.DOTALL | re.VERBOSE):
        output += "\n" * source.count("\n", end, match.start())
        text = match["comment"] or match["raw"] or match["string"] or ""
        # A single word is a name; a line that begins with a blank or a sign may be no
        # prose in Markdown.
        prose = text if re.search(r"\w \w", text) else re.sub(r"[^\n]", "", text)
        output += re.sub(r"(?m)^[ #>]+", "", prose) + " "
        end = match.end()
    return output + "\n"


files = subprocess.check_output(["git", "ls-files"], text=True).splitlines()
for path in map(Path, files):
    if path.suffix in PATTERNS and not str(path).startswith(EXCLUDED):
        target = Path(sys.argv[1], f"{path}.md")
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(texts(path.read_text(), PATTERNS[path.suffix]))
