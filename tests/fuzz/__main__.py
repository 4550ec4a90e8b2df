"""``python -m tests.fuzz --count N --seed S``: run inputs, print what is wrong."""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter, defaultdict
from dataclasses import asdict
from pathlib import Path

from tests.fuzz.campaign import cases, recipe_of
from tests.fuzz.recipes import ALL, warm
from tests.fuzz.workers import run_all


def main() -> int:
    """Run inputs ``--start`` to ``--start`` plus ``--count``; exit status 1 if any is wrong."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz")
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--start", type=int, default=0)
    parser.add_argument("--only", default="", help="one recipe, with numbers of its own")
    parser.add_argument("--slow", type=float, default=5.0, help="print what takes so many seconds")
    parser.add_argument("--rows", type=Path, help="file for a JSON line an input")
    given = parser.parse_args()
    if given.only and given.only not in ALL:
        parser.error("--only takes one of: " + "; ".join(ALL))
    warm()
    count, wrong, codes = Counter[str](), Counter[str](), Counter[int]()
    cpu_s: defaultdict[str, float] = defaultdict(float)
    numbers = range(given.start, given.start + given.count)
    for number, first, alone in run_all(cases(given.seed, numbers, given.only)):
        name, found = given.only or recipe_of(given.seed, number), alone or first
        count[name] += 1
        codes[found.code] += 1
        cpu_s[name] += found.cpu_s
        wrong[name] += bool(found.wrong)
        if first.wrong or found.cpu_s > given.slow:
            print(
                f"{number} {name} {found.cpu_s} s {found.memory_mb} MB, first {first.wrong}, ",
                end="",
            )
            print(f"alone {alone.wrong}, {alone.cpu_s} s" if alone else "")
            lines = found.stderr.strip().splitlines()[-3:]
            print("".join(f"    {line[:300]!r}\n" for line in lines), end="", flush=True)
        if given.rows is not None:
            with given.rows.open("a") as rows:
                rows.write(json.dumps([number, name, asdict(found)]) + "\n")
    print(
        f"{count.total()} inputs, {wrong.total()} wrong; exit status {dict(sorted(codes.items()))}"
    )
    for name, often in sorted(count.items(), key=lambda each: -cpu_s[each[0]]):
        each = 1000 * cpu_s[name] / often
        print(f"{name:40} {wrong[name]:4} of {often:6}  {each:8.1f} ms each {cpu_s[name]:8.1f} s")
    return 1 if wrong.total() else 0


if __name__ == "__main__":
    sys.exit(main())
