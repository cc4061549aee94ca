#!/usr/bin/env python3
"""Show what load generators report about misbehaving servers: the tables of docs/hostile-servers.md.

Each misbehaviour is served on the loopback network, and loaded for a second each by `prony load` (over
io_uring and epoll, in closed and open loop), wrk, oha and h2load.

    cargo build --release
    benches/hostile/hostile.py                                  # the tables, on standard output
    benches/hostile/hostile.py --write docs/hostile-servers.md  # the tables, in that file
    benches/hostile/hostile.py --only Chunks --tool prony wrk
"""

import argparse
import sys
from pathlib import Path

from behaviours import GROUPS, Behaviour
from generators import Verdict, generators
from server import Server

ROOT = Path(__file__).resolve().parents[2]
BEGIN = "<!-- begin of the tables: benches/hostile/hostile.py --write -->"
END = "<!-- end of the tables -->"


def verdicts(behaviour: Behaviour, tools: list) -> list[Verdict]:
    """What each generator reports. Each gets a new server, because clients of the last one may linger."""
    said = []
    for tool in tools:
        server = Server(behaviour.converse, behaviour.accepts)
        if not behaviour.listens:
            server.listener.close()
            said.append(tool.load(f"http://127.0.0.1:{server.port}/", behaviour.prony))
            continue
        with server:
            said.append(tool.load(f"http://127.0.0.1:{server.port}/", behaviour.prony))
    return said


def names(verdict: Verdict) -> str:
    """The verdict without its shares, which vary."""
    return ", ".join(
        part.rsplit(" ", 1)[0] if part.endswith("%") else part
        for part in str(verdict).split(", ")
    )


def prony_cell(said: list[Verdict]) -> str:
    """One verdict if all four agree; otherwise one for each shape, or for each shape and event loop."""
    closed_uring, open_uring, closed_epoll, open_epoll = said
    if len({names(verdict) for verdict in said}) == 1:
        return names(said[0])
    if names(closed_uring) == names(closed_epoll) and names(open_uring) == names(
        open_epoll
    ):
        return f"closed loop: {names(closed_uring)}; open loop: {names(open_uring)}"
    labels = ("closed, io_uring", "open, io_uring", "closed, epoll", "open, epoll")
    return "; ".join(
        f"{label}: {names(verdict)}"
        for label, verdict in zip(labels, said, strict=True)
    )


def row(behaviour: Behaviour, columns: dict[str, list]) -> str:
    cells = [behaviour.what]
    ours = None
    for name, tools in columns.items():
        said = verdicts(behaviour, tools)
        if name == "Prony":
            ours = said[0]
            cells.append(prony_cell(said))
        else:
            differs = ours is not None and said[0].kind != ours.kind
            cells.append(f"**{said[0]}**" if differs else str(said[0]))
    cells.append(behaviour.note)
    return "| " + " | ".join(cells) + " |"


def tables(columns: dict[str, list], only: list[str] | None):
    for group, behaviours in GROUPS.items():
        if only and group not in only:
            continue
        yield f"\n### {group}\n"
        yield "| the server's misbehaviour | " + " | ".join(columns) + " | why |"
        yield "|" + "---|" * (len(columns) + 2)
        for behaviour in behaviours:
            yield row(behaviour, columns)
            print(f"{group}: {behaviour.what}", file=sys.stderr)


def write(path: Path, text: str) -> None:
    page = path.read_text()
    before, found, rest = page.partition(BEGIN)
    _, found_end, after = rest.partition(END)
    if not found or not found_end:
        sys.exit(f"{path} has no place for the tables: `{BEGIN}` or `{END}` is missing")
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
        default=["prony", "wrk", "oha", "h2load"],
        help="generators to run: the columns",
    )
    parser.add_argument(
        "--only",
        nargs="+",
        choices=list(GROUPS),
        help="groups of misbehaviours to serve",
    )
    parser.add_argument(
        "--write", type=Path, metavar="PAGE", help="replace the tables in this file"
    )
    arguments = parser.parse_args()
    columns = generators(arguments.prony, arguments.tool)
    if not columns:
        sys.exit(
            f"none of these is installed: {', '.join(arguments.tool)} (Prony: {arguments.prony})"
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
