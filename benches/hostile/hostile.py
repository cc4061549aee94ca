#!/usr/bin/env python3
"""Show what load generators report about misbehaving servers: the tables of benches/hostile/README.md.

Each misbehaviour is served on the loopback network, and loaded for a second each by `prony load` (over
io_uring and epoll, in closed and open loop), and by wrk, oha, h2load or ghz, if they know the protocol.

    cargo build --release
    benches/hostile/hostile.py                                    # the tables, on standard output
    benches/hostile/hostile.py --write benches/hostile/README.md  # the tables, in that file
    benches/hostile/hostile.py --only Chunks --tool prony wrk
    benches/hostile/hostile.py --check benches/hostile/README.md  # whether Prony still does what its tables say
"""

import argparse
import sys
from pathlib import Path

import grpc
import http1
import http2
import tls
from behaviour import Behaviour, Group
from cells import prony_cell, quote, verdicts
from check import check, rows
from generators import generators

GROUPS = [*http1.GROUPS, *tls.GROUPS, *http2.GROUPS, *grpc.GROUPS]
TOOLS = ["prony", "wrk", "oha", "h2load", "ghz"]
ROOT = Path(__file__).resolve().parents[2]
BEGIN = "<!-- begin of the tables: benches/hostile/hostile.py --write -->"
END = "<!-- end of the tables -->"


def row(group: Group, behaviour: Behaviour, columns: dict[str, list]) -> str:
    cells = [behaviour.what]
    ours = None
    for name, tools in columns.items():
        said = verdicts(group, behaviour, name, tools)
        if name == "Prony":
            ours = said[0]
            cells.append(prony_cell(said))
            if group.quotes_prony:
                cells.append(quote(said))
        else:
            differs = ours is not None and said[0].kind != ours.kind
            cells.append(f"**{said[0]}**" if differs else str(said[0]))
    cells.append(behaviour.note)
    return "| " + " | ".join(cells) + " |"


def titles(group: Group, columns: dict[str, list]) -> list[str]:
    said = ["what Prony says"] if group.quotes_prony and "Prony" in columns else []
    ours = [name for name in columns if name == "Prony"]
    peers = [name for name in columns if name != "Prony"]
    return ["the server's misbehaviour", *ours, *said, *peers, "why"]


def tables(columns: dict[str, list], only: list[str] | None):
    for group in GROUPS:
        if only and group.name not in only:
            continue
        known = {
            name: tools
            for name, tools in columns.items()
            if name == "Prony" or name in group.peers
        }
        heading = titles(group, known)
        yield f"\n### {group.name}\n"
        yield "| " + " | ".join(heading) + " |"
        yield "|" + "---|" * len(heading)
        group.prepare()
        for behaviour in group.behaviours:
            yield row(group, behaviour, known)
            print(f"{group.name}: {behaviour.what}", file=sys.stderr)


def split(path: Path) -> tuple[str, str, str]:
    """The page before its tables, the tables, and the page after them."""
    before, found, rest = path.read_text().partition(BEGIN)
    text, found_end, after = rest.partition(END)
    if not found or not found_end:
        sys.exit(f"{path} has no place for the tables: `{BEGIN}` or `{END}` is missing")
    return before, text, after


def write(path: Path, text: str) -> None:
    before, _, after = split(path)
    path.write_text(f"{before}{BEGIN}\n{text}\n{END}{after}")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--prony",
        type=Path,
        default=ROOT / "target/release/prony",
        help="the prony program to run",
    )
    parser.add_argument(
        "--tool",
        nargs="+",
        metavar="TOOL",
        help=f"generators to run: the columns [default: {' '.join(TOOLS)}]",
    )
    parser.add_argument(
        "--only",
        nargs="+",
        choices=[group.name for group in GROUPS],
        help="groups of misbehaviours to serve",
    )
    what = parser.add_mutually_exclusive_group()
    what.add_argument(
        "--write", type=Path, metavar="PAGE", help="replace the tables in this file"
    )
    what.add_argument(
        "--check",
        type=Path,
        metavar="PAGE",
        help="run Prony alone, more briefly, and list the rows of this file's tables that no longer match",
    )
    arguments = parser.parse_args()
    if arguments.check:
        if arguments.tool:
            parser.error("--check runs Prony alone; leave out --tool")
        if not arguments.prony.is_file():
            sys.exit(f"{arguments.prony} is missing: run `cargo build --release` first")
        _, text, _ = split(arguments.check)
        only = arguments.only
        groups = [group for group in GROUPS if not only or group.name in only]
        written = {
            row: says for row, says in rows(text).items() if not only or row[0] in only
        }
        sys.exit(check(groups, written, arguments.prony))
    tools = arguments.tool or TOOLS
    columns = generators(arguments.prony, tools)
    if not columns:
        sys.exit(
            f"none of these is installed: {', '.join(tools)} (Prony: {arguments.prony})"
        )
    lines = []
    for line in tables(columns, arguments.only):
        lines.append(line)
        if not arguments.write:
            print(line, flush=True)
    if arguments.write:
        write(arguments.write, "\n".join(lines))


if __name__ == "__main__":
    main()
