"""A misbehaviour, and a group of them: what each module of misbehaviours is made of."""

from collections.abc import Callable
from dataclasses import dataclass, field

from server import Connection

Converse = Callable[[Connection], None]

HANG, CLOSE, RESET = Connection.hang, Connection.close, Connection.reset


@dataclass
class Behaviour:
    what: str
    """The table's first column, in Markdown."""
    converse: Converse
    prony: list[str] = field(default_factory=list)
    """More arguments for `prony load`."""
    note: str = ""
    """Why the outcome is as it is, if it is a choice."""
    accepts: bool = True
    listens: bool = True
    scheme: str | None = None
    """Of the URL, if it is not that of the group."""
    peers: dict[str, list[str]] = field(default_factory=dict)
    """More arguments for the other generators."""
    instead: dict[str, list[str]] | None = None
    """The arguments of each generator, if not those of the group."""


@dataclass
class Group:
    name: str
    behaviours: list[Behaviour]
    peers: tuple[str, ...] = ("wrk", "oha", "h2load")
    """The generators beside Prony that know the protocol."""
    arguments: dict[str, list[str]] = field(
        default_factory=lambda: {"h2load": ["--h1"]}
    )
    """What tells each generator to use the protocol."""
    scheme: str = "http"
    quotes_prony: bool = False
    """Whether the table has what Prony says of the first failure."""
    prepare: Callable[[], object] = lambda: None
    """Comes before the group's first load."""


def accepted_then(end: Callable[[Connection], None]) -> Converse:
    return lambda connection: end(connection)
