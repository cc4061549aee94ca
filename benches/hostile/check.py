"""Compares what Prony reports about misbehaviours with the tables of a page."""

import multiprocessing
import re
import sys
from dataclasses import dataclass
from pathlib import Path

from behaviour import Behaviour, Group
from cells import prony_cell, quote, verdicts
from generators import Prony, Verdict, prony_variants

# Loads end sooner here than in the tables' own runs, and some run at the same time.
BRIEF = ("-n200", "-d500ms")
AT_A_TIME = 8
# A busy machine can delay a response beyond the timeout, so a row differs only if each of these loads, one after the
# other and as long as the tables' own, differs as well.
MORE_ATTEMPTS = 5


@dataclass
class Row:
    outcome: str
    detail: str | None
    """What Prony says of the first failure, if the table has that."""

    def __str__(self) -> str:
        return f"{self.outcome} | {self.detail}" if self.detail else self.outcome


@dataclass
class Case:
    group: Group
    behaviour: Behaviour
    written: Row | None
    """What the page says."""

    def load(self, tools: list[Prony]) -> Row | None:
        """What Prony does, if the page says something else."""
        said = verdicts(self.group, self.behaviour, "Prony", tools)
        if self.agrees(said):
            return None
        return Row(prony_cell(said), quote(said) if self.group.quotes_prony else None)

    def agrees(self, said: list[Verdict]) -> bool:
        if self.written is None or prony_cell(said) != self.written.outcome:
            return False
        # Without failures, what Prony says is of a rare one, for instance at the end of the load.
        if self.written.detail is None or self.written.outcome == "ok":
            return True
        # If there are several failures, any can be the first.
        details = {without_days(quote([verdict])) for verdict in said}
        return without_days(self.written.detail) in details


def without_days(detail: str) -> str:
    """The age of a certificate depends on the date."""
    return re.sub(r"\d+ days", "N days", detail)


def rows(text: str) -> dict[tuple[str, str], Row]:
    """Prony's cells in the tables, by group and misbehaviour."""
    found: dict[tuple[str, str], Row] = {}
    group, titles = "", []
    for line in text.splitlines():
        if line.startswith("### "):
            group, titles = line.removeprefix("### "), []
        elif line.startswith("| "):
            cells = [cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]]
            if not titles:
                titles = cells
                continue
            row = dict(zip(titles, cells, strict=True))
            found[group, cells[0]] = Row(row["Prony"], row.get("what Prony says"))
    return found


def unknown(groups: list[Group], written: dict[tuple[str, str], Row]) -> list[str]:
    """The rows that no misbehaviour belongs to, because it was renamed or removed."""
    known = {
        (group.name, behaviour.what)
        for group in groups
        for behaviour in group.behaviours
    }
    return [": ".join(row) for row in written if row not in known]


def check(groups: list[Group], written: dict[tuple[str, str], Row], prony: Path) -> int:
    """The exit status: 1 if rows differ or belong to nothing, which it shows."""
    orphans = unknown(groups, written)
    for group in groups:
        group.prepare()
    cases = [
        Case(group, behaviour, written.get((group.name, behaviour.what)))
        for group in groups
        for behaviour in group.behaviours
    ]
    differences = [
        (case, does)
        for case in brief_suspects(cases, prony)
        if (does := confirmed(case, prony))
    ]
    for case, does in differences:
        print(f"{case.group.name}: {case.behaviour.what}")
        print(f"  the page says {case.written or 'nothing'}")
        print(f"  Prony says    {does}")
    for orphan in orphans:
        print(f"{orphan}\n  the page has this row, but there is no such misbehaviour")
    print(
        f"{len(cases)} misbehaviours, {len(differences)} differ from the tables; "
        f"{len(orphans)} rows are of no misbehaviour"
    )
    return 1 if differences or orphans else 0


def brief_suspects(cases: list[Case], prony: Path) -> list[Case]:
    """Those that differ in brief loads, several at a time, each in a process that inherits the cases."""
    global _cases, _brief
    _cases, _brief = cases, prony_variants(prony, length=BRIEF)
    with multiprocessing.get_context("fork").Pool(AT_A_TIME) as pool:
        differ = pool.map(_differs, range(len(cases)), chunksize=1)
    return [case for case, differs in zip(cases, differ, strict=True) if differs]


_cases: list[Case] = []
_brief: list[Prony] = []


def _differs(number: int) -> bool:
    return _cases[number].load(_brief) is not None


def confirmed(case: Case, prony: Path) -> Row | None:
    for _ in range(MORE_ATTEMPTS):
        does = case.load(prony_variants(prony))
        if does is None:
            return None
        print(f"retrying: {case.group.name}: {case.behaviour.what}", file=sys.stderr)
    return does
