"""The optimum, and the best of 200 random legal schedules, of 1,000 problems of ``cases.py``.

``python -m tests.formulations.banks.references`` writes ``references.csv`` anew, in hours.
"""

from __future__ import annotations

import csv
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import NamedTuple

import numpy as np

from tests.checked import need, value_of
from tests.formulations.banks.brute_force import TooLargeError, optimum
from tests.formulations.banks.cases import campaign_case
from tests.verifier.random_banks import random_banked

SEEDS, RANDOM, MOST_TRIES = 1000, 200, 12_000_000
FILE = Path(__file__).with_name("references.csv")


class Reference(NamedTuple):
    """Values of one seed; ``optimum`` is None where there are too many choices."""

    random: Fraction
    optimum: Fraction | None


def compute(seed: int, often: int = RANDOM, most_tries: int = MOST_TRIES) -> Reference:
    """Compute both values of a seed; the optimum is checked against its own plan."""
    problem, objective = campaign_case(seed)
    generator = np.random.default_rng(seed)
    least = min(
        value_of(problem, objective, random_banked(problem, generator)) for _ in range(often)
    )
    try:
        best = need(optimum(problem, objective, most_tries=most_tries))
    except TooLargeError:
        return Reference(least, None)
    assert value_of(problem, objective, best.residency_plan) == best.value
    return Reference(least, best.value)


@cache
def references() -> list[Reference]:
    """Read the file."""
    with FILE.open(encoding="utf-8", newline="") as file:
        return [
            Reference(Fraction(row["random"]), Fraction(row["optimum"]) if row["optimum"] else None)
            for row in csv.DictReader(file)
        ]


def write() -> None:
    """Write the file, a line at a time."""
    with FILE.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["seed", "random", "optimum"])
        for seed in range(SEEDS):
            found = compute(seed)
            writer.writerow([seed, found.random, "" if found.optimum is None else found.optimum])
            file.flush()


if __name__ == "__main__":
    write()
