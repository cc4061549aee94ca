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

import argparse
import sys
from pathlib import Path

import collect
import judge
import prepare
from place import Place

ROOT = Path(__file__).resolve().parent.parent.parent


def main() -> None:
    arguments = parse()
    place = Place(
        root=ROOT,
        folder=arguments.folder.resolve(),
        prony=arguments.prony.resolve(),
        server_cpu=arguments.server_cpu,
        load_cpu=arguments.load_cpu,
    )
    if not place.prony.is_file():
        sys.exit(f"{place.prony} is missing: run `cargo build --release` first")
    try:
        sys.exit(arguments.do(place, arguments))
    except KeyboardInterrupt:
        print("\nstopped; run the same command to continue", file=sys.stderr)
        sys.exit(130)


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--folder",
        type=Path,
        default=ROOT / ".prony/verdicts",
        help="folder for everything [.prony/verdicts]",
    )
    parser.add_argument("--prony", type=Path, default=ROOT / "target/release/prony")
    parser.add_argument("--server-cpu", type=int, default=0)
    parser.add_argument("--load-cpu", type=int, default=1)
    commands = parser.add_subparsers(required=True)
    for module in (prepare, collect, judge):
        command = commands.add_parser(
            module.__name__, help=module.__doc__, description=module.__doc__
        )
        module.add_arguments(command)
        command.set_defaults(do=module.run)
    return parser.parse_args()


if __name__ == "__main__":
    main()
