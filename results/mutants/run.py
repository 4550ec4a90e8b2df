"""Count how many random faults the tests notice, in the verifier and in the formulations.

``python results/mutants/run.py [--package verifier] [--count 100] [--seed 1]`` draws places of the
package at random, one of the mutations of cosmic-ray (extra ``mutants``) at each, and runs
the tests of the package's folder on a copy of the repository. ``mutants.csv`` keeps a row for each,
and a run that was stopped goes on with those that have none. ``note`` is written by hand, of those
that survived: "killed since" by a test that was added, or "same behavior" and why.
"""

from __future__ import annotations

import argparse
import ast
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import pandas as pd
from cosmic_ray.ast import ast_nodes, get_ast
from cosmic_ray.mutating import mutate_code
from cosmic_ray.plugins import get_operator, operator_names

ROOT = Path(__file__).parents[2]
ROWS = Path(__file__).with_name("mutants.csv")
PACKAGES = {
    "verifier": ("spmopt/verifier", "tests/verifier"),
    "formulations": ("formulations", "tests/formulations"),
}
MUTATIONS = re.compile("core/(AddNot|Number|Replace(?!Variable)|Zero)")
"""What may be mutated: operators, comparisons, conditions, constants, loops."""
KEY = ["package", "file", "line", "column", "operator", "occurrence"]


def main() -> None:
    """Draw mutants, test those without a row, and print the share that was killed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--package", choices=PACKAGES, default="verifier")
    parser.add_argument("--count", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--timeout", type=float, default=900.0, help="seconds a mutant may take")
    options = parser.parse_args()
    rows = pd.read_csv(ROWS).fillna({"note": ""}).to_dict("records") if ROWS.exists() else []
    known = {tuple(row[name] for name in KEY) for row in rows}
    with tempfile.TemporaryDirectory() as name:
        copy = Path(name) / "copy"
        shutil.copytree(ROOT, copy, ignore=shutil.ignore_patterns(".git", "*cache*", ".venv"))
        for mutant in drawn(options.package, options.count, options.seed):
            if mutant in known:
                continue
            rows.append(tested(mutant, copy, options.timeout))
            pd.DataFrame(rows).to_csv(ROWS, index=False)
            print(*rows[-1].values(), flush=True)
    mine = [row for row in rows if row["package"] == options.package]
    same = sum(str(row["note"]).startswith("same behavior") for row in mine)
    killed = sum("killed" in f"{row['outcome']} {row['note']}" for row in mine)
    print(f"{options.package}: {killed} of {len(mine) - same} killed, {same} change nothing")


def drawn(package: str, count: int, seed: int) -> list[tuple[object, ...]]:
    """Draw places without replacement, and a mutation for each; the same for the same sources."""
    places: dict[tuple[str, int, int], list[tuple[str, int]]] = defaultdict(list)
    for path in sorted((ROOT / PACKAGES[package][0]).rglob("*.py")):
        silent = set(_annotations(path))
        tree = get_ast(path.read_text())
        for name in filter(MUTATIONS.match, sorted(operator_names())):
            occurrence = 0
            for node in ast_nodes(tree):
                for (line, column), _ in get_operator(name)().mutation_positions(node):
                    if line not in silent:
                        file = path.relative_to(ROOT).as_posix()
                        places[file, line, column].append((name, occurrence))
                    occurrence += 1
    generator = random.Random(seed)
    chosen = generator.sample(sorted(places), min(count, len(places)))
    return [(package, *place, *generator.choice(places[place])) for place in chosen]


def _annotations(path: Path) -> Iterator[int]:
    """Lines that hold type annotations or aliases: nothing there runs."""
    for node in ast.walk(ast.parse(path.read_text())):
        found: list[ast.expr | None] = []
        if isinstance(node, ast.arg | ast.AnnAssign):
            found = [node.annotation]
        elif isinstance(node, ast.FunctionDef):
            found = [node.returns]
        for each in found:
            if each is not None:
                yield from range(each.lineno, (each.end_lineno or each.lineno) + 1)


def tested(mutant: tuple[object, ...], copy: Path, timeout_s: float) -> dict[str, object]:
    """Run the tests of a package with one mutation in place."""
    row = dict(zip(KEY, mutant, strict=True))
    path = copy / str(row["file"])
    source = path.read_text()
    operator = get_operator(str(row["operator"]))()
    path.write_text(mutate_code(source, operator, row["occurrence"]))
    began = time.monotonic()
    tests = Path(PACKAGES[str(row["package"])][1])
    nearest = tests / path.parent.relative_to(copy / PACKAGES[str(row["package"])][0])
    folders = [str(each) for each in dict.fromkeys((nearest, tests)) if (copy / each).is_dir()]
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", *folders]
    try:
        done = subprocess.run(
            command, cwd=copy, capture_output=True, timeout=timeout_s, check=False, env=_alone(copy)
        )
        outcome = "killed" if done.returncode else "survived"
    except subprocess.TimeoutExpired:
        outcome = "timeout"
    finally:
        path.write_text(source)
    seconds = round(time.monotonic() - began, 1)
    return {**row, "outcome": outcome, "seconds": seconds, "note": ""}


def _alone(copy: Path) -> dict[str, str]:
    """The environment in which the copy is what is imported."""
    return {**os.environ, "PYTHONPATH": str(copy), "PYTHONDONTWRITEBYTECODE": "1"}


if __name__ == "__main__":
    main()
