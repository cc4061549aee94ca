#!/usr/bin/env python3
"""Count how often the verdicts of `prony ab --by instructions` are right, on servers whose differences are known.

    cargo build --release
    benches/verdicts/by_instructions.py prepare              write a repository per language, calibrated here
    benches/verdicts/by_instructions.py collect --runs 20    compare each revision with the base
    benches/verdicts/by_instructions.py collect --runs 20 --other-program
                                                             ... beside a program that uses a CPU in bursts
    benches/verdicts/by_instructions.py judge --markdown table.md
                                                             count the right verdicts

Everything is kept under .prony/verdicts-instructions. An interrupted collection continues where it stopped.
"""

import command_line
from instructions import collect, judge, prepare

if __name__ == "__main__":
    command_line.run(__doc__, "verdicts-instructions", [prepare, collect, judge])
