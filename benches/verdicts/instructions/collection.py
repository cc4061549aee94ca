"""Where the collected comparisons are."""

from pathlib import Path

from place import Place


def pair(place: Place, has_other: bool, language: str, revision: str) -> Path:
    """The folder for the comparisons of a revision with the base."""
    return place.runs(has_other) / language / revision


def complete(folder: Path) -> list[Path]:
    """The folders of the comparisons that were completed, in order."""
    return sorted(file.parent for file in folder.glob("[0-9]*/done.json"))
