#!/usr/bin/env python3
"""Show what load generators report about misbehaving servers: the tables of docs/hostile-servers.md.

Each misbehaviour is served on the loopback network, and loaded for a second each by `prony load` (over
io_uring and epoll, in closed and open loop), and by wrk, oha, h2load or ghz, if they know the protocol.

    cargo build --release
    benches/hostile/hostile.py                                  # the tables, on standard output
    benches/hostile/hostile.py --write docs/hostile-servers.md  # the tables, in that file
    benches/hostile/hostile.py --only Chunks --tool prony wrk
"""

import argparse
import sys
from pathlib import Path

import grpc
import http1
import http2
import tls
from behaviour import Behaviour, Group
from generators import Verdict, generators
from server import Server

GROUPS = [*http1.GROUPS, *tls.GROUPS, *http2.GROUPS, *grpc.GROUPS]
ROOT = Path(__file__).resolve().parents[2]
BEGIN = "<!-- begin of the tables: benches/hostile/hostile.py --write -->"
END = "<!-- end of the tables -->"


def verdicts(
    group: Group, behaviour: Behaviour, name: str, tools: list
) -> list[Verdict]:
    """What each variant of a generator reports. Each gets a new server, because clients of the last one may linger."""
    usual = behaviour.instead or group.arguments
    special = behaviour.prony if name == "Prony" else behaviour.peers.get(name, [])
    arguments = [*usual.get(name, []), *special]
    said = []
    for tool in tools:
        server = Server(behaviour.converse, behaviour.accepts)
        url = f"{behaviour.scheme or group.scheme}://127.0.0.1:{server.port}/"
        if not behaviour.listens:
            server.listener.close()
            said.append(tool.load(url, arguments))
            continue
        with server:
            said.append(tool.load(url, arguments))
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


def quote(said: list[Verdict]) -> str:
    """What Prony says of the first failure, as Markdown shows it unchanged."""
    detail = next((verdict.detail for verdict in said if verdict.detail), "")
    return detail.replace("|", "\\|").replace("<", "&lt;").replace("\n", " ")


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
        default=["prony", "wrk", "oha", "h2load", "ghz"],
        help="generators to run: the columns",
    )
    parser.add_argument(
        "--only",
        nargs="+",
        choices=[group.name for group in GROUPS],
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
