"""What generators report about one misbehaviour, as the cells of a table."""

from behaviour import Behaviour, Group
from generators import Verdict
from server import Server


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
