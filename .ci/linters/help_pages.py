#!/usr/bin/env python3
"""Writes the help page of PROGRAM and of each of its subcommands, as FOLDER/<subcommand>.md."""

import re
import subprocess
import sys
from pathlib import Path

program, folder = sys.argv[1], Path(sys.argv[2])
folder.mkdir(parents=True, exist_ok=True)
pending = [[]]
while pending:
    command = pending.pop()
    page = subprocess.check_output([program, *command, "--help"], text=True)
    # Markdown takes an indented line for code, which is not linted.
    unindented = "".join(line.lstrip() for line in page.splitlines(keepends=True))
    Path(folder, f"{'-'.join(['prony', *command])}.md").write_text(unindented)
    commands = re.search(r"^Commands:\n((?:  .*\n|\n)+)", page, re.MULTILINE)
    names = (
        re.findall(r"^  ([a-z][\w-]*)", commands[1], re.MULTILINE) if commands else []
    )
    pending += [[*command, name] for name in names if name != "help"]
