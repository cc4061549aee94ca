"""Comparisons of starts that are drawn at random from all that were collected."""

import json
import random
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path


class Pool:
    """The starts of a base and of a revision in the runs of some files."""

    def __init__(self, files: list[Path]) -> None:
        self.whole: dict = {}
        trials: list[dict] = []
        for file in files:
            self.whole = json.loads(file.read_text())
            trials += self.whole["trials"]
        servers = (one["id"] for one in self.whole["run"]["servers"])
        self.base, self.new = (server for server in servers if "@" in server)
        self.trials: dict[str, list[dict]] = defaultdict(list)
        for one in trials:
            if one["result"]["result"] == "measured":
                self.trials[one["trial"]["server"]].append(one)

    def keep_one_warm_up(self, rounds: int) -> None:
        """Keep the starts after the most common warm-up, if there are that many of each side.

        Each comparison searches its own number of requests, and some servers respond with less work after more.
        """
        common = Counter(
            requests
            for trials in self.trials.values()
            for requests in map(warm_up, trials)
        ).most_common(1)[0][0]
        kept = {
            side: [one for one in trials if warm_up(one) == common]
            for side, trials in self.trials.items()
        }
        if min(map(len, kept.values())) >= rounds:
            self.trials = defaultdict(list, kept)

    @property
    def starts(self) -> int:
        """Of the side that has fewer."""
        return min(len(self.trials[side]) for side in (self.base, self.new))

    def counts(self) -> dict[str, list[float]]:
        """Instructions per request in each start."""
        counted = {
            side: [one["result"]["user_instructions"] for one in trials]
            for side, trials in self.trials.items()
        }
        return {
            side: [one["instructions"] / one["requests"] for one in counts]
            for side, counts in counted.items()
        }

    def draw(self, number: int, rounds: int, folder: Path) -> Iterator[Path]:
        """Write files with that many different starts of each side, as if they were a run.

        The two sides are compared unpaired, so it does not matter which start is in which round.
        """
        chance = random.Random(number)
        for index in range(number):
            trials = []
            for side in (self.base, self.new):
                drawn = chance.sample(self.trials[side], rounds)
                for place, one in enumerate(drawn, start=1):
                    trials.append({**one, "trial": {**one["trial"], "round": place}})
            file = folder / f"{index}.json"
            file.write_text(json.dumps({**self.whole, "trials": trials}))
            yield file


def warm_up(trial: dict) -> int:
    return trial["result"]["user_instructions"]["warm_up_requests"]
