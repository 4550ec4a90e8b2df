"""Scheduler ``banks`` against the optimum, and against blind random schedules, of 1,000 problems.

    python -m tests.formulations.banks.campaign --references
    python -m tests.formulations.banks.campaign [first last]

The first writes ``references.csv``: of each seed the best of 200 random legal schedules, and the
optimum where it can be enumerated. The second solves all, or some, and counts.
"""

from __future__ import annotations

import csv
import sys
from collections import Counter
from fractions import Fraction
from pathlib import Path
from typing import NamedTuple

import numpy as np

from spmopt.core.scheduler import Request
from spmopt.solving import solve
from spmopt.verifier import require_legal
from tests.formulations.banks.cases import campaign_case
from tests.formulations.banks.exact import TooLargeError, exact
from tests.verifier.random_banks import random_banked

SEEDS, RANDOM = 1000, 200
FILE = Path(__file__).with_name("references.csv")
NEAR = Fraction(1, 1000)


class Reference(NamedTuple):
    """Values of one seed; ``optimum`` is None where there are too many choices."""

    random: Fraction
    optimum: Fraction | None


def reference(seed: int) -> Reference:
    """Compute both values of a seed."""
    problem, objective = campaign_case(seed)
    generator = np.random.default_rng(seed)
    values = []
    for _ in range(RANDOM):
        totals = require_legal(problem, random_banked(problem, generator)).totals
        assert totals is not None
        values.append(totals.value(objective))
    try:
        best = exact(problem, objective, at_most=min(values))
    except TooLargeError:
        return Reference(min(values), None)
    assert best is not None
    return Reference(min(values), best.value)


def references() -> list[Reference]:
    """Read the file."""
    with FILE.open(encoding="utf-8", newline="") as file:
        return [
            Reference(Fraction(row["random"]), Fraction(row["optimum"]) if row["optimum"] else None)
            for row in csv.DictReader(file)
        ]


def write_references() -> None:
    """Write the file, a line at a time."""
    with FILE.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["seed", "random", "optimum"])
        for seed in range(SEEDS):
            found = reference(seed)
            writer.writerow([seed, found.random, "" if found.optimum is None else found.optimum])
            file.flush()


def compare(seed: int, known: Reference) -> set[str]:
    """Solve a seed; return what is so of its schedule."""
    problem, objective = campaign_case(seed)
    found = solve(problem, "banks", Request(objective=objective, threads=1))
    assert found.value is not None
    assert found.bound is not None
    best = known.optimum
    true = {
        "beaten by a random schedule": known.random < found.value,
        "below the optimum": best is not None and found.value < best,
        "bound above a legal schedule": found.bound
        > min(found.value, known.random, best or known.random),
        "optimum known": best is not None,
        "within 1e-3 of the optimum": best is not None and found.value <= best * (1 + NEAR),
        "optimum": best is not None and found.value == best,
    }
    return {name for name, holds in true.items() if holds}


def main(arguments: list[str]) -> None:
    """Write references, or solve and count."""
    if arguments == ["--references"]:
        write_references()
        return
    known = references()
    seeds = range(*map(int, arguments)) if arguments else range(len(known))
    counts: Counter[str] = Counter()
    for seed in seeds:
        found = compare(seed, known[seed])
        counts.update(found)
        if "beaten by a random schedule" in found:
            print(f"seed {seed}: beaten by a random schedule", flush=True)
        elif "optimum known" in found and "within 1e-3 of the optimum" not in found:
            print(f"seed {seed}: not within 1e-3 of the optimum", flush=True)
    print(f"{len(seeds)} problems")
    for name, count in sorted(counts.items()):
        print(f"{count:5d} {name}")


if __name__ == "__main__":
    main(sys.argv[1:])
