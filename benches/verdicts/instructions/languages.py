"""The servers of a known difference, one per language."""

import argparse
from dataclasses import dataclass
from pathlib import Path

SERVERS = Path(__file__).resolve().parent / "servers"

# The revisions of each server, and how many percent more instructions a request costs than in the base.
REVISIONS = {"base": 0.0, "twin": 0.0, "plus-0.3": 0.3, "plus-1": 1.0}
# What is promised of 1 %.
ONE_PERCENT = {"plus-1": 0.95}


@dataclass(frozen=True)
class Language:
    name: str
    """Also the name of its folder."""
    warm_up: int
    """Requests until a request costs always the same, as far as it ever does."""
    requests: int
    """Requests to count, in each start, to know what a step of work costs."""
    worse_at_least: dict[str, float]
    """What is promised: revisions, and at least how often they must be called worse."""
    source: str | None = None
    """The folder with the sources if its own has only another manifest."""

    @property
    def revisions(self) -> dict[str, float]:
        """Without those of which nothing is promised, except for the one of 1 %."""
        return {
            name: more
            for name, more in REVISIONS.items()
            if more in (0.0, 1.0) or name in self.worse_at_least
        }

    @property
    def folders(self) -> list[Path]:
        """Those with its files; one in a later folder replaces one in an earlier."""
        names = [self.source, self.name] if self.source else [self.name]
        return [SERVERS / name for name in names]


LANGUAGES = {
    language.name: language
    for language in (
        Language("rust", 300, 500, {"plus-0.3": 0.80, **ONE_PERCENT}),
        Language("zig", 300, 500, ONE_PERCENT),
        Language("node", 8000, 1000, ONE_PERCENT),
        Language("python", 300, 200, ONE_PERCENT),
        Language("go", 2000, 1000, {}),
        Language("java", 10_000, 1000, {}),
        Language("java-steady", 8000, 1000, {}, source="java"),
        Language("bun", 5000, 1000, {}),
    )
}


def add_argument(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--languages",
        type=several,
        default=list(LANGUAGES),
        metavar="NAMES",
        help=f"some of {','.join(LANGUAGES)} [all]",
    )


def several(text: str) -> list[str]:
    names = text.split(",")
    if unknown := [name for name in names if name not in LANGUAGES]:
        raise argparse.ArgumentTypeError(f"unknown: {', '.join(unknown)}")
    return names
