"""Count how many random faults the tests notice, in the verifier and in the formulations.

``python results/mutants/run.py [--package verifier] [--count 100] [--seed 1]`` draws places of the
package at random, one of the mutations of cosmic-ray (extra ``mutants``) at each, and runs
those tests of its folders that execute the statement, on a copy of the repository, the
cheapest first, until one fails. ``mutants.csv`` keeps a row for each, and a run that was stopped
goes on with those that have none. ``note`` is written by hand, of those that survived: "killed
since" by a test that was added, or "same behavior" and why.
"""

from __future__ import annotations

import argparse
import ast
import os
import random
import re
import resource
import shutil
import signal
import subprocess
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path
from queue import SimpleQueue

import pandas as pd
from cosmic_ray.ast import ast_nodes, get_ast
from cosmic_ray.mutating import mutate_code
from cosmic_ray.plugins import get_operator, operator_names

from results.mutants.reach import PYTEST, Reach, measured

ROOT = Path(__file__).parents[2]
ROWS = Path(__file__).with_name("mutants.csv")
PACKAGES = {
    # Bounds over the fusion space are tested with the duals that a search finds for them.
    "verifier": ("spmopt/verifier", ("tests/verifier", "tests/formulations/fusion")),
    "formulations": ("formulations", ("tests/formulations",)),
}
"""Sources, and folders of the tests that must notice a fault."""
MUTATIONS = re.compile("core/(AddNot|Number|Replace(?!Variable)|Zero)")
"""What may be mutated: operators, comparisons, conditions, constants, loops."""
NOT_FOUND = 4
"""What pytest returns if a test that is named does not exist."""
MEMORY_BYTES = 8 << 30
"""Address space of a process: a mutant may ask for any amount."""
KEY = ["package", "file", "line", "column", "operator", "occurrence"]


def main() -> None:
    """Draw mutants, test those without a row, and print the share that was killed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--package", choices=PACKAGES, default="verifier")
    parser.add_argument("--count", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=1, help="mutants that are tested at a time")
    parser.add_argument("--traces", type=Path, help="folder of traces of tests, to use again")
    options = parser.parse_args()
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))
    rows = pd.read_csv(ROWS).fillna({"note": ""}).to_dict("records") if ROWS.exists() else []
    known = {tuple(row[name] for name in KEY): row for row in rows}
    mutants = drawn(options.package, options.count, options.seed)
    others = [row for key, row in known.items() if key not in mutants]
    with tempfile.TemporaryDirectory() as name, ThreadPoolExecutor(options.jobs) as pool:
        copies = [_copied(Path(name) / str(job)) for job in range(options.jobs)]
        free: SimpleQueue[Path] = SimpleQueue()
        for copy in copies:
            free.put(copy)
        traces = options.traces or Path(name)
        reach = measured(copies[0], *PACKAGES[options.package], options.jobs, traces)
        print(f"{len(reach.seconds)} tests, {sum(reach.seconds.values()):.0f} s", flush=True)
        left = [mutant for mutant in mutants if mutant not in known]
        futures = [pool.submit(tested, mutant, free, reach) for mutant in left]
        for future in as_completed(futures):
            row, said = future.result()
            known[tuple(row[name] for name in KEY)] = row
            mine = [known[mutant] for mutant in mutants if mutant in known]
            pd.DataFrame(others + mine).to_csv(ROWS, index=False)
            print(*row.values(), said, flush=True)
    same = sum(str(row["note"]).startswith("same behavior") for row in mine)
    killed = sum(row["outcome"] != "survived" or "killed" in str(row["note"]) for row in mine)
    print(f"{options.package}: {killed} of {len(mine) - same} killed, {same} change nothing")


def _copied(copy: Path) -> Path:
    shutil.copytree(ROOT, copy, ignore=shutil.ignore_patterns(".git", "*cache*", ".venv"))
    return copy


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


def tested(
    mutant: tuple[object, ...], free: SimpleQueue[Path], reach: Reach
) -> tuple[dict[str, object], str]:
    """Run the tests that execute a mutated statement; also return which of them failed."""
    row = dict(zip(KEY, mutant, strict=True))
    copy = free.get()
    path = copy / str(row["file"])
    source = path.read_text()
    operator = get_operator(str(row["operator"]))()
    mutated = mutate_code(source, operator, row["occurrence"])
    path.write_text(mutated)
    began = time.monotonic()
    tests = reach.of(str(row["file"]), int(str(row["line"])), source)
    outcome, said = "survived", "no test executes it"
    try:
        while tests and outcome == "survived":
            code, said = _run(tests, copy, max(120.0, 10 * sum(reach.seconds[t] for t in tests)))
            if code == NOT_FOUND:  # names of tests depend on what was mutated
                files = list(dict.fromkeys(test.split("::")[0] for test in tests))
                code, said = _run(files, copy, 10 * sum(reach.seconds.values()))
            if not code:
                break
            path.write_text(source)
            if said in tests and _run([said], copy, 10 * reach.seconds[said] + 120)[0]:
                tests = tests[tests.index(said) + 1 :]  # fails on its own: a busy machine
                path.write_text(mutated)
            else:
                outcome = "killed"
    except subprocess.TimeoutExpired:
        outcome = "timeout"
    finally:
        path.write_text(source)
        shutil.rmtree(copy / ".hypothesis", ignore_errors=True)
        free.put(copy)
    seconds = round(time.monotonic() - began, 1)
    return {**row, "outcome": outcome, "seconds": seconds, "note": ""}, said


def _run(tests: list[str], copy: Path, timeout_s: float) -> tuple[int, str]:
    listed = copy / "tests.txt"
    listed.write_text("\n".join(tests))
    with subprocess.Popen(
        [*PYTEST, "-x", f"@{listed.name}"],
        cwd=copy,
        env=_alone(copy),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    ) as process:
        try:
            printed, _ = process.communicate(timeout=timeout_s)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            raise
    said = f"{len(tests)} tests"
    for line in printed.splitlines():
        if line.startswith(("FAILED ", "ERROR ")):
            said = line.partition(" ")[2].partition(" - ")[0]
    return process.returncode, said


def _alone(copy: Path) -> dict[str, str]:
    """The environment in which the copy is what is imported."""
    return {**os.environ, "PYTHONPATH": str(copy), "PYTHONDONTWRITEBYTECODE": "1"}


if __name__ == "__main__":
    main()
