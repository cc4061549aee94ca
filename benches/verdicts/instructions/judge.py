"""Count how many verdicts on the collected comparisons are right."""

import argparse
import json
import math
import statistics
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

import comparisons
from comparisons import DIFFERENT, Tally
from place import Place, progress
from shares import share

from instructions import collection, languages
from instructions.draws import Pool
from instructions.languages import LANGUAGES, REVISIONS, Language

METRIC = "user-instructions"
# What is promised: at most this share of false calls, and comparisons within this time.
FALSE_AT_MOST = 0.01
SECONDS = 60.0
# With fewer rounds, `prony ab` does not end.
FEWEST_ROUNDS = 3


def add_arguments(parser: argparse.ArgumentParser) -> None:
    languages.add_argument(parser)
    parser.add_argument(
        "--markdown", type=Path, metavar="FILE", help="write the tables"
    )
    parser.add_argument(
        "--json", type=Path, metavar="FILE", help="write every comparison"
    )
    parser.add_argument(
        "--draws",
        type=int,
        metavar="N",
        help="judge N comparisons of starts drawn from all that were collected, instead of the comparisons themselves",
    )
    parser.add_argument(
        "--rounds",
        type=int,
        metavar="N",
        default=FEWEST_ROUNDS,
        help=f"starts of each side in a draw [{FEWEST_ROUNDS}, the fewest that decide]",
    )
    parser.add_argument(
        "flags", nargs="*", help="more flags for `prony compare`, with --draws"
    )


@dataclass
class Pair:
    """A revision compared with the base, over all comparisons of one kind."""

    language: Language
    revision: str
    has_other: bool
    true_ratio: float
    tally: Tally = field(default_factory=Tally)
    all_starts: int = 0
    starts: int = 0
    """Those after the most common warm-up."""
    spread: float | None = None
    round_seconds: float = 0.0
    """CPU time of a round: a start of each side, also without the emulator in some rounds."""
    rounds: int | None = None
    """Of each draw."""

    @property
    def name(self) -> str:
        return f"{self.language.name} {self.revision}"

    @property
    def called_different(self) -> int:
        return self.tally.called(*DIFFERENT)


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
        drawn = " drawn from all starts" if arguments.draws else ""
        texts.append(
            f"## {kind}: {count} comparisons{drawn}\n\n{table(pairs)}\n{lines}"
        )
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
    """Add the verdicts of `prony ab`, or those of `prony compare` on starts drawn from its runs."""
    done = [json.loads((folder / "done.json").read_text()) for folder in folders]
    pool = Pool([folder / "run.json" for folder in folders])
    pair.all_starts = pair.starts = pool.starts
    pair.round_seconds = sum(one["cpu_seconds"] for one in done) / pool.starts
    pool.keep_one_warm_up(2 * arguments.rounds)
    pair.starts, pair.spread = pool.starts, spread(pool)
    if not arguments.draws:
        for folder in folders:
            document = json.loads((folder / "comparison.json").read_text())
            add(pair, comparisons.comparisons_of(document))
        return
    pair.rounds = arguments.rounds
    if pair.rounds > pool.starts:
        sys.exit(f"{pair.name}: {pool.starts} starts are fewer than {pair.rounds}")
    with tempfile.TemporaryDirectory() as scratch:
        for file in pool.draw(arguments.draws, pair.rounds, Path(scratch)):
            progress(f"{pair.name}: {file.stem} of {arguments.draws}")
            found = comparisons.compare(
                place, file, pool.base, pool.new, arguments.flags
            )
            add(pair, found)
            file.unlink()


def spread(pool: Pool) -> float | None:
    """How much starts of the same revision differ: the standard deviation of their logarithms."""
    deviations = [
        statistics.stdev(math.log(count) for count in counts)
        for counts in pool.counts().values()
        if len(counts) > 1
    ]
    squares = [deviation**2 for deviation in deviations]
    return math.sqrt(statistics.mean(squares)) if squares else None


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
        "starts": pair.starts,
        "standard_deviation": pair.spread,
        "cpu_seconds_of_a_round": pair.round_seconds,
        "rounds": pair.rounds,
        "verdicts": dict(pair.tally.verdicts),
        "ratios": pair.tally.ratios,
        "intervals": pair.tally.intervals,
    }


def table(pairs: list[Pair]) -> str:
    lines = [
        "| server | compared with the base | true change | starts of each | they differ by (standard deviation) "
        "| rounds | CPU time | worse | improved | no change seen | inconclusive | median estimate |",
        "|---|---|" + "---:|" * 10,
    ]
    return "\n".join([*lines, *(row(pair) for pair in pairs)]) + "\n"


def row(pair: Pair) -> str:
    tally = pair.tally
    rounds = pair.rounds or pair.all_starts / tally.count
    cells = [
        pair.language.name,
        pair.revision,
        percents(pair.true_ratio - 1),
        str(pair.starts),
        "" if pair.spread is None else f"{pair.spread:.3%}",
        f"{rounds:.3g}",
        f"{rounds * pair.round_seconds:.0f} s",
        f"{tally.called('worse')} of {tally.count}",
        str(tally.called("improved")),
        str(tally.called("no-change-seen")),
        str(tally.called("inconclusive", "limited")),
        percents(statistics.median(tally.ratios) - 1) if tally.ratios else "",
    ]
    return "| " + " | ".join(cells) + " |"


def percents(change: float) -> str:
    return f"{change:+.3%}" if change else "0"


def promises(pairs: list[Pair]) -> tuple[str, bool]:
    """The promises, line by line, and whether all are kept."""
    lines, held = [], True
    is_drawn = any(pair.rounds for pair in pairs)

    def line(what: str, hits: int, count: int, kept: bool | None) -> None:
        nonlocal held
        held &= kept is not False
        mark = {True: ": kept", False: ": not kept", None: ""}[kept]
        # Draws share starts, so an interval would be too narrow.
        shown = f"{hits} of {count}" if is_drawn else share(hits, count)
        lines.append(f"- {what}: {shown}{mark}")

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
    late = [
        pair.name for pair in promised if FEWEST_ROUNDS * pair.round_seconds > SECONDS
    ]
    held &= not late
    lines.append(f"- three rounds within {SECONDS:.0f} s of CPU time: {verdict(late)}")
    return "\n".join(lines) + "\n", held


def verdict(late: list[str]) -> str:
    return f"not kept for {', '.join(late)}" if late else "kept"


def unpromised(pairs: list[Pair]) -> list[Pair]:
    return [pair for pair in pairs if not pair.language.worse_at_least]
