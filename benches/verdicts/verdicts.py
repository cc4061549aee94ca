#!/usr/bin/env python3
"""Count how often Prony's verdicts are right, over many runs of servers whose differences are known.

    cargo build --release
    benches/verdicts/verdicts.py prepare                     write the servers, calibrated for this machine
    benches/verdicts/verdicts.py collect --runs 100          measure on a quiet machine
    benches/verdicts/verdicts.py collect --runs 100 --other-program
                                                             ... beside a program that uses a CPU in bursts
    benches/verdicts/verdicts.py judge --markdown table.md   count the right verdicts

The runs are kept under .prony/verdicts, each in its own folder. An interrupted collection continues
where it stopped. `collect -- FLAGS` passes more flags to `prony run`.
"""

import collect
import command_line
import judge
import prepare

if __name__ == "__main__":
    command_line.run(__doc__, "verdicts", [prepare, collect, judge])
