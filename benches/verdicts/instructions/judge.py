"""Count how many verdicts on the collected comparisons are right."""

import argparse
import json
import statistics
import sys
import tempfile
from dataclasses import asdict, dataclass, field
from pathlib import Path

import comparisons
from comparisons import DIFFERENT, Tally
from instructions import collection, languages
from instructions.languages import LANGUAGES, REVISIONS, Language
from place import Place, progress
from shares import share

METRIC = "user-instructions"
# What is promised: at most this share of false calls, and comparisons within this time.
FALSE_AT_MOST = 0.01
SECONDS = 60.0


def add_arguments(parser: argparse.ArgumentParser) -> None:
    languages.add_argument(parser)
    parser.add_argument(
        "--markdown", type=Path, metavar="FILE", help="write the tables"
    )
    parser.add_argument(
        "--json", type=Path, metavar="FILE", help="write every comparison"
    )
    parser.add_argument(
        "--rounds",
        type=int,
        metavar="N",
        help="judge N rounds at a time: join the rounds of all comparisons of a revision, and cut "
        "them into parts of N",
    )
    parser.add_argument(
        "flags", nargs="*", help="more flags for `prony compare`, with --rounds"
    )


@dataclass
class Pair:
    """A revision compared with the base, over all comparisons of one kind."""

    language: Language
    revision: str
    has_other: bool
    true_ratio: float
    tally: Tally = field(default_factory=Tally)
    seconds: list[float] = field(default_factory=list)

    @property
    def called_different(self) -> int:
        return self.tally.called(*DIFFERENT)

    def spread(self) -> float | None:
        """The standard deviation of the estimates of the change."""
        ratios = self.tally.ratios
        return statistics.stdev(ratios) if len(ratios) > 1 else None


def run(place: Place, arguments: argparse.Namespace) -> int:
    texts, everything, held = [], [], True
    for has_other in (False, True):
        pairs = collected(place, arguments, has_other)
        if not pairs:
            continue
        lines, kept = promises(pairs)
        held &= kept
        kind = "Beside another program" if has_other else "Without another program"
        count = sum(pair.tally.count for pair in pairs)
        of = f", each of {arguments.rounds} rounds" if arguments.rounds else ""
        texts.append(f"## {kind}: {count} comparisons{of}\n\n{table(pairs)}\n{lines}")
        everything += [described(pair) for pair in pairs]
    if not texts:
        sys.exit("there are no comparisons: run `by_instructions.py collect` first")
    text = "\n".join(texts)
    print(text)
    if arguments.markdown:
        arguments.markdown.write_text(text)
    if arguments.json:
        arguments.json.write_text(json.dumps(everything, indent=1) + "\n")
    return 0 if held else 1


def collected(
    place: Place, arguments: argparse.Namespace, has_other: bool
) -> list[Pair]:
    pairs = []
    for name in arguments.languages:
        language = LANGUAGES[name]
        for revision in language.revisions:
            folder = collection.pair(place, has_other, name, revision)
            if folders := collection.complete(folder):
                progress(f"{name} {revision}")
                true = json.loads((place.folder / f"{name}.json").read_text())
                ratio = true["true_ratio"][revision]
                pair = Pair(language, revision, has_other, ratio)
                judge(place, arguments, pair, folders)
                pairs.append(pair)
    progress("")
    return pairs


def judge(
    place: Place, arguments: argparse.Namespace, pair: Pair, folders: list[Path]
) -> None:
    """Add the verdicts of `prony ab`, or those of `prony compare` on parts of the same rounds."""
    done = [json.loads((folder / "done.json").read_text()) for folder in folders]
    pair.seconds = [one["seconds"] for one in done]
    if not arguments.rounds:
        for folder in folders:
            document = json.loads((folder / "comparison.json").read_text())
            add(pair, comparisons.comparisons_of(document))
        return
    with tempfile.TemporaryDirectory() as scratch:
        files = [folder / "run.json" for folder in folders]
        for file in comparisons.parts(files, arguments.rounds, Path(scratch)):
            base, new = sides(file)
            add(pair, comparisons.compare(place, file, base, new, arguments.flags))


def sides(file: Path) -> tuple[str, str]:
    """The ids of the base and of the revision, in the order of `prony ab`."""
    servers = [one["id"] for one in json.loads(file.read_text())["run"]["servers"]]
    base, new = (server for server in servers if "@" in server)
    return base, new


def add(pair: Pair, found: list[dict]) -> None:
    for comparison in found:
        if comparison["metric"] == METRIC:
            pair.tally.add(comparison)


def described(pair: Pair) -> dict:
    return {
        "language": pair.language.name,
        "revision": pair.revision,
        "other_program": pair.has_other,
        "true_ratio": pair.true_ratio,
        "seconds": pair.seconds,
        **asdict(pair.tally),
    }


def table(pairs: list[Pair]) -> str:
    lines = [
        "| server | compared with the base | true change | worse | improved | no change seen "
        "| inconclusive | estimates: median | standard deviation | seconds: median | longest |",
        "|---|---|" + "---:|" * 9,
    ]
    return "\n".join([*lines, *(row(pair) for pair in pairs)]) + "\n"


def row(pair: Pair) -> str:
    tally = pair.tally
    spread = pair.spread()
    cells = [
        pair.language.name,
        pair.revision,
        percents(pair.true_ratio - 1),
        share(tally.called("worse"), tally.count),
        share(tally.called("improved"), tally.count),
        str(tally.called("no-change-seen")),
        str(tally.called("inconclusive", "limited")),
        percents(statistics.median(tally.ratios) - 1) if tally.ratios else "",
        "" if spread is None else f"{spread:.3%}",
        f"{statistics.median(pair.seconds):.0f}",
        f"{max(pair.seconds):.0f}",
    ]
    return "| " + " | ".join(cells) + " |"


def percents(change: float) -> str:
    return f"{change:+.3%}" if change else "0"


def promises(pairs: list[Pair]) -> tuple[str, bool]:
    """The promises, line by line, and whether all are kept."""
    lines, held = [], True

    def line(what: str, hits: int, count: int, kept: bool | None) -> None:
        nonlocal held
        held &= kept is not False
        mark = {True: ": kept", False: ": not kept", None: ""}[kept]
        lines.append(f"- {what}: {share(hits, count)}{mark}")

    promised = [pair for pair in pairs if pair.language.worse_at_least]
    for some, is_promised in ((promised, True), (unpromised(pairs), None)):
        twins = [pair for pair in some if REVISIONS[pair.revision] == 0]
        hits = sum(pair.called_different for pair in twins)
        count = sum(pair.tally.count for pair in twins)
        if count:
            names = ", ".join(pair.language.name for pair in twins)
            kept = is_promised and hits <= FALSE_AT_MOST * count
            line(f"the twin called different ({names}), at most 1 %", hits, count, kept)
    for pair in promised:
        least = pair.language.worse_at_least.get(pair.revision)
        if least is not None:
            hits, count = pair.tally.called("worse"), pair.tally.count
            what = f"{pair.language.name}, {pair.revision} called worse, at least {least:.0%}"
            line(what, hits, count, hits >= least * count)
    times = [seconds for pair in promised for seconds in pair.seconds]
    hits = sum(seconds <= SECONDS for seconds in times)
    line("comparisons within 60 s", hits, len(times), hits == len(times))
    return "\n".join(lines) + "\n", held


def unpromised(pairs: list[Pair]) -> list[Pair]:
    return [pair for pair in pairs if not pair.language.worse_at_least]
