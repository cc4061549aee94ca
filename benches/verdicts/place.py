"""Where files are, which CPUs are used, and how progress is shown."""

import sys
from dataclasses import dataclass
from pathlib import Path

# On the server's CPU, on the generator's, or wherever the system puts it.
PLACES = ("server", "load", "free")


@dataclass
class Place:
    root: Path
    """The repository."""
    folder: Path
    """The project for the runs, and their results."""
    prony: Path
    server_cpu: int
    load_cpu: int

    @property
    def prepared(self) -> Path:
        return self.folder / "prepared.json"

    def runs(self, has_other: bool) -> Path:
        return self.folder / ("other-programs" if has_other else "quiet")

    def cpu_of(self, other: str) -> int | None:
        return {"server": self.server_cpu, "load": self.load_cpu, "free": None}[other]

    def collected(self, has_other: bool) -> list[Path]:
        """The folders of the completed runs, in order."""
        return sorted(
            file.parent for file in self.runs(has_other).glob("[0-9]*/run.json")
        )


def progress(text: str) -> None:
    """Show a line that the next one replaces; nothing if there is no terminal."""
    if sys.stderr.isatty():
        print(f"\r{text:60}\r", end="", file=sys.stderr, flush=True)


def link(target: Path, name: Path) -> None:
    name.parent.mkdir(parents=True, exist_ok=True)
    name.unlink(missing_ok=True)
    name.symlink_to(target)
