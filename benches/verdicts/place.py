"""Where things are, and on which CPUs; and how progress is shown."""

import sys
from dataclasses import dataclass
from pathlib import Path

# The server's place, the generator's, and wherever the system puts it.
PLACES = ("server", "load", "free")


@dataclass
class Place:
    root: Path
    """The repository."""
    folder: Path
    """A project of its own, and what is collected."""
    prony: Path
    server_cpu: int
    load_cpu: int

    @property
    def prepared(self) -> Path:
        return self.folder / "prepared.json"

    def runs(self, has_other: bool) -> Path:
        return self.folder / ("other-programs" if has_other else "quiet")

    def cpu_of(self, other: str) -> int | None:
        return {"server": self.server_cpu, "load": self.load_cpu, "free": None}[
            other programs
        ]

    def collected(self, has_other: bool) -> list[Path]:
        """The folders of the runs that are whole, in their order."""
        return sorted(
            file.parent for file in self.runs(has_other).glob("[0-9]*/run.json")
        )


def progress(text: str) -> None:
    """A line that the next one takes the place of; nothing where nobody looks."""
    if sys.stderr.isatty():
        print(f"\r{text:60}\r", end="", file=sys.stderr, flush=True)
