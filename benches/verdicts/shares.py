"""Shares with their intervals."""

import math


def share(hits: int, count: int) -> str:
    if count == 0:
        return "–"
    low, high = binomial_interval(hits, count)
    return f"{hits} ({hits / count:.1%}; {low:.1%}–{high:.1%})"


def binomial_interval(hits: int, count: int) -> tuple[float, float]:
    """The 95 % interval of the true share (Clopper and Pearson, 1934)."""
    tail = 0.025
    low = 0.0 if hits == 0 else solve(lambda p: 1 - at_most(hits - 1, count, p), tail)
    high = 1.0 if hits == count else solve(lambda p: -at_most(hits, count, p), -tail)
    return low, high


def at_most(hits: int, count: int, p: float) -> float:
    """The chance of at most that many hits."""
    return sum(
        math.comb(count, k) * p**k * (1 - p) ** (count - k) for k in range(hits + 1)
    )


def solve(rising, value: float) -> float:
    """Where a function that rises between 0 and 1 reaches a value."""
    low, high = 0.0, 1.0
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if rising(middle) < value else (low, middle)
    return low
