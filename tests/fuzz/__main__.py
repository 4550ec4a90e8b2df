"""``python -m tests.fuzz --count N --seed S``: run inputs, print what is wrong."""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path

from tests.fuzz.bases import warm
from tests.fuzz.check import Case, run
from tests.fuzz.inputs import Random, Recipe, drawn


def main() -> int:
    """Run inputs ``--start`` to ``--start`` plus ``--count``; exit status 1 if any is wrong."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz")
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--start", type=int, default=0)
    parser.add_argument("--only", default="", help="a part of the name of a recipe")
    parser.add_argument("--rows", type=Path, help="file for a JSON line an input")
    given = parser.parse_args()
    warm()
    kinds, wrong, codes = Counter[str](), Counter[str](), Counter[int]()
    rows = given.rows.open("a") if given.rows else None
    for number in range(given.start, given.start + given.count):
        recipe, rng = drawn(given.seed, number)
        if given.only not in recipe.__name__:
            continue
        case, found = run(_maker(recipe, rng))
        kinds[recipe.__name__] += 1
        codes[found.code] += 1
        last = found.stderr.strip().splitlines()[-3:]
        if found.wrong:
            wrong[recipe.__name__] += 1
            words = [word[:80] for word in case.words]
            print(f"{number} {recipe.__name__} {found.wrong} {words}", flush=True)
            print("".join(f"    {line[:300]!r}\n" for line in last), end="")
        if rows is not None:
            row = {"seed": given.seed, "number": number, "recipe": recipe.__name__}
            more = {"cpu_s": round(found.cpu_s, 2), "mb": round(found.memory_mb)}
            rows.write(json.dumps({**row, "code": found.code, **more, "wrong": found.wrong}) + "\n")
            rows.flush()
    ended = dict(sorted(codes.items()))
    print(f"{kinds.total()} inputs, {wrong.total()} wrong; exit status {ended}")
    print({name: f"{wrong[name]} of {count}" for name, count in sorted(kinds.items())})
    return 1 if wrong else 0


def _maker(recipe: Recipe, rng: Random) -> Callable[[Path], Case]:
    return lambda folder: recipe(folder, rng)


if __name__ == "__main__":
    sys.exit(main())
