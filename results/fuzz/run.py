"""Hostile inputs by the hundred thousand, and each cause of old, before and now.

Inputs are run in chunks; a chunk is a line of ``chunks.jsonl`` with the commit that ran it and the
seed, and the same command goes on with those of ``SEED`` that are missing. ``--causes`` runs causes
alone, ``--sources`` with the program of another checkout; ``--again`` runs what was wrong again.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from statistics import median
from time import monotonic, process_time
from typing import Any

from results.shared.page import (
    BEGIN,
    END,
    ROOT,
    comma_separated,
    command_line,
    commit,
    environment,
    markdown,
    replace_tables,
    report,
)
from spmopt.io.document import write_text
from tests.fuzz import bases
from tests.fuzz.campaign import cases, recipe_of
from tests.fuzz.case import Outcome
from tests.fuzz.judge import CPU_S, SLOW
from tests.fuzz.recipes import warm
from tests.fuzz.recipes.causes import CAUSES
from tests.fuzz.workers import run_all

SEED, COUNT, CHUNK, OF_EACH = 29, 200_000, 500, 6
COMMIT_HEADS = (
    *("seed", "commit", "inputs", "wrong", "of these slow once", "wrong only after others"),
    *("CPU s", "wall s", "load", "loop, ms"),
)
CHUNKS, CAUSE_ROWS = "chunks.jsonl", "causes.json"
_LINKS = ("tests", "instances", "results")
Row = dict[str, Any]


def chunk(numbers: Iterable[int]) -> Row:
    """Run inputs; return what came of them by recipe, and each that was wrong."""
    began, found = monotonic(), defaultdict[str, Row](_none)
    wrong: list[Row] = []
    for number, first, alone in run_all(cases(SEED, numbers)):
        name, outcome = recipe_of(SEED, number), alone or first
        _add(found[name], first, outcome)
        if first.wrong:
            said = outcome.stderr.replace(f"{ROOT}/", "")  # records tell nothing of this machine
            last = said.strip().splitlines()[-2:]
            row = {"number": number, "recipe": name, "wrong": outcome.wrong, "said": last}
            wrong.append(row | {"after_others": first.wrong, "cpu_s": outcome.cpu_s})
    return {"recipes": found, "wrong": wrong, "wall_s": round(monotonic() - began, 1)}


def _none() -> Row:
    return {"inputs": 0, "wrong": 0, "after_others": 0, "cpu_s": 0.0, "most_s": 0.0, "mb": 0.0}


def _add(row: Row, first: Outcome, outcome: Outcome) -> None:
    row["inputs"] += 1
    row["wrong"] += bool(outcome.wrong)
    row["after_others"] += bool(first.wrong) and not outcome.wrong
    row["cpu_s"] = round(row["cpu_s"] + outcome.cpu_s, 3)
    row["most_s"] = max(row["most_s"], outcome.cpu_s)
    row["mb"] = max(row["mb"], outcome.memory_mb)
    codes = row.setdefault("codes", {})
    codes[str(outcome.code)] = codes.get(str(outcome.code), 0) + 1


def campaign(output: Path, count: int, part: tuple[int, int] = (0, 1)) -> None:
    """Run the chunks that are missing: every so many from one on, where several run them."""
    path, head = output / CHUNKS, {"commit": commit(), "seed": SEED}
    done = {row["start"] for row in _chunks(output) if row["seed"] == SEED}
    warm()
    first, step = part
    for start in range(first * CHUNK, count, step * CHUNK):
        if start in done:
            continue
        load = round(os.getloadavg()[0], 1)
        row = {"start": start, "count": CHUNK, **head, "load": load, "loop_s": loop_s()}
        row |= (found := chunk(range(start, start + CHUNK)))
        with path.open("a", encoding="utf-8") as rows:
            rows.write(json.dumps(row) + "\n")
        report(f"{start + CHUNK:,} inputs, {len(found['wrong'])} wrong, {found['wall_s']} s")


def loop_s() -> float:
    """Time a fixed loop in CPU s, as a machine that others share has not the same speed all day."""
    began, total = process_time(), 0
    for number in range(2_000_000):
        total += number * number % 7
    return round(process_time() - began, 3)


def again(output: Path) -> None:
    """Run inputs that were wrong once more, and note what comes of each now.

    What was only slow is run twice, if with the same sources; it stays wrong, but is told apart.
    """
    rows, now = _chunks(output), commit()
    warm()
    # Recipes changed with the seed, so that a number of another is another input today.
    wrong = [(row, each) for row in rows if row["seed"] == SEED for each in row["wrong"]]
    for row, each in wrong:
        times = 2 if each["wrong"] == [SLOW] and row["commit"] == now else 1
        runs = [alone or first for _ in range(times) for _, first, alone in _one(each["number"])]
        found = {what for run in runs for what in run.wrong}
        cpu_s = [run.cpu_s for run in runs]
        each["again"] = {"commit": now, "wrong": sorted(found), "cpu_s": cpu_s}
    text = "".join(json.dumps(row) + "\n" for row in rows)
    (output / CHUNKS).write_text(text, encoding="utf-8")


def _one(number: int) -> Iterator[tuple[int, Outcome, Outcome | None]]:
    return run_all(cases(SEED, [number]))


def _slow_once(each: Row) -> bool:
    """Whether what was only slow is not so by the median of this run and two at another time.

    A machine that others share has spells of a minute or two in which all takes twice as long.
    """
    later = _later_s(each)
    slow = each["wrong"] == [SLOW] and len(later) > 1 and {*each["again"]["wrong"]} <= {SLOW}
    return slow and median([each["cpu_s"], *later]) <= CPU_S


def _later_s(each: Row) -> list[float]:
    """CPU seconds of later runs; one only, where records are old."""
    found = each.get("again", {}).get("cpu_s", [])
    return found if isinstance(found, list) else [found]


def causes(only: str = "", *, first: bool = False) -> dict[str, list[Row]]:
    """Run each cause of old in variants, in processes of their own; ``first``: to a wrong one."""
    bases.warm()
    found: dict[str, list[Row]] = {}
    for name in CAUSES:
        for number in range(1 if name.startswith("chain") else OF_EACH) if only in name else ():
            run = next(run_all(cases(SEED, [number], name)))[1]
            row = {"wrong": run.wrong, "code": run.code, "cpu_s": run.cpu_s, "mb": run.memory_mb}
            found.setdefault(name, []).append(row)
            report(f"{name}: {row}")
            if first and run.wrong:
                break
    return found


def elsewhere(sources: Path, only: str) -> dict[str, list[Row]]:
    """Run causes with the program of another checkout."""
    with tempfile.TemporaryDirectory() as folder:
        for name in ("spmopt", "formulations"):
            (Path(folder) / name).symlink_to(sources.resolve() / name)
        for name in _LINKS:
            (Path(folder) / name).symlink_to(ROOT / name)
        words = [sys.executable, str(Path(folder) / "results/fuzz/run.py"), "--causes", "--quick"]
        done = subprocess.run(
            [*words, *(("--only", only) if only else ())],
            env={**os.environ, "PYTHONPATH": folder},
            stdout=subprocess.PIPE,
            check=True,
        )
        found: dict[str, list[Row]] = json.loads(done.stdout)
        return found


def _chunks(output: Path) -> list[Row]:
    path = output / CHUNKS
    lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    return [json.loads(line) for line in lines]


def page(output: Path) -> str:
    """Return the tables."""
    rows = _chunks(output)
    return "\n\n".join([BEGIN, _of_commits([row for row in rows if row["seed"] == SEED]), END])


def publish(output: Path) -> None:
    """Write the page, and the long tables beside it."""
    rows = _chunks(output)
    replace_tables(output / "README.md", page(output))
    last = [row for row in rows if row["seed"] == SEED]
    by_cause = json.loads((output / CAUSE_ROWS).read_text(encoding="utf-8"))
    write_text(output / "causes.csv", _of_causes(by_cause))
    write_text(output / "commits.csv", comma_separated(COMMIT_HEADS, _lines_of_commits(rows)))
    write_text(output / "recipes.csv", _of_recipes(last))
    write_text(output / "wrong.csv", _of_wrong(rows))


def _of_causes(found: Mapping[str, Any]) -> str:
    heads = ["cause", f"before, commit {found['before']['commit'][:8]}"]
    heads.append(f"now, commit {found['now']['commit'][:8]}")
    before, now = (found[name]["causes"] for name in ("before", "now"))
    lines = [[name, _ended(before[name]), _ended(now[name])] for name in now]
    return comma_separated(heads, lines)


def _ended(runs: list[Row]) -> str:
    wrong = [run for run in runs if run["wrong"]]
    if not wrong:
        codes = ", ".join(map(str, sorted({run["code"] for run in runs})))
        most = max(run["cpu_s"] for run in runs), max(run["mb"] for run in runs)
        return f"0 of {len(runs)} wrong; exit status {codes}; {most[0]:.2f} s, {most[1]:,.0f} MB"
    kinds = Counter(what.partition(":")[0] for run in wrong for what in run["wrong"])
    what = ", ".join(kinds)
    most = max(run["cpu_s"] for run in runs), max(run["mb"] for run in runs)
    return f"{len(wrong)} of {len(runs)} wrong: {what}; {most[0]:.1f} s, {most[1]:,.0f} MB"


def _of_commits(rows: list[Row]) -> str:
    return markdown(COMMIT_HEADS, _lines_of_commits(rows), title="Inputs by commit")


def _lines_of_commits(rows: list[Row]) -> list[list[str]]:
    lines = []
    for seed, name in dict.fromkeys((row["seed"], row["commit"]) for row in rows):
        some = [row for row in rows if (row["seed"], row["commit"]) == (seed, name)]
        sums = _summed(some).values()
        keys = ("inputs", "wrong", "slow_once", "after_others")
        parts = (sum(each.get(key, 0) for each in sums) for key in keys)
        cpu, wall = sum(each["cpu_s"] for each in sums), sum(row["wall_s"] for row in some)
        loads = [row["load"] for row in some]
        cells = [f"{part:,}" for part in parts]
        lines.append([str(seed), name[:8], *cells, f"{cpu:,.0f}", f"{wall:,.0f}"])
        lines[-1].append(f"{min(loads):g} to {max(loads):g}")
        loops = [1000 * row["loop_s"] for row in some if "loop_s" in row]
        lines[-1].append(f"{min(loops):.0f} to {max(loops):.0f}" if loops else "")
    return lines


def _of_recipes(rows: list[Row]) -> str:
    heads = ["recipe", "inputs", "wrong", "most CPU s", "most MB", "mean ms", "exit statuses"]
    lines = []
    for name, row in sorted(_summed(rows).items(), key=lambda each: -each[1]["inputs"]):
        codes = ", ".join(f"{code}: {often:,}" for code, often in sorted(row["codes"].items()))
        cells = [f"{row['inputs']:,}", f"{row['wrong']:,}", f"{row['most_s']:.1f}"]
        lines.append(
            [name, *cells, f"{row['mb']:,.0f}", f"{1000 * row['cpu_s'] / row['inputs']:.0f}"]
        )
        lines[-1].append(codes)
    return comma_separated(heads, lines)


def _summed(rows: Iterable[Row]) -> dict[str, Row]:
    found = defaultdict[str, Row](_none)
    rows = list(rows)
    found_once = Counter(w["recipe"] for row in rows for w in row["wrong"] if _slow_once(w))
    for name, row in ((name, row) for each in rows for name, row in each["recipes"].items()):
        into = found[name]
        for key in ("inputs", "wrong", "after_others", "cpu_s"):
            into[key] += row[key]
        for key in ("most_s", "mb"):
            into[key] = max(into[key], row[key])
        into["codes"] = dict(Counter(into.get("codes", {})) + Counter(row["codes"]))
    for name, often in found_once.items():
        found[name]["slow_once"] = often
    return found


def _of_wrong(rows: list[Row]) -> str:
    heads = ["seed", "number", "recipe", "commit", "wrong", "again"]
    lines = [[str(row["seed"]), *cells] for row in rows for cells in _wrong(row)]
    return comma_separated(heads, lines)


def _wrong(row: Row) -> Iterator[list[str]]:
    for each in row["wrong"]:
        what = ", ".join(each["wrong"]) or f"after others: {', '.join(each['after_others'])}"
        if SLOW in each["wrong"]:
            what += f" ({each['cpu_s']:.1f} s)"
        later, told = each.get("again"), ""
        if later is not None:
            told = ", ".join(later["wrong"]) or f"right, {later['commit'][:8]}"
            told += f" ({', '.join(f'{cpu_s:.1f}' for cpu_s in _later_s(each))} s)"
        where = [str(each["number"]), each["recipe"], row["commit"][:8]]
        yield [*where, what.replace("|", "/"), told]


def main() -> int:
    """Do what the command line says."""
    parser = command_line(Path(__file__).parent)
    parser.add_argument("--count", type=int, default=COUNT, help="of inputs, with those done")
    parser.add_argument("--part", default="1/1", help="1/2 and 2/2: two at a time, half each")
    parser.add_argument("--causes", action="store_true", help="run causes of old alone")
    parser.add_argument("--sources", type=Path, help="checkout of the program to run causes with")
    parser.add_argument("--again", action="store_true", help="run what was wrong once more")
    given = parser.parse_args()
    output: Path = given.output
    if given.causes and (given.quick or given.only):
        print(json.dumps(causes(given.only or "", first=True)))
    elif given.causes:
        name, at = ("before", given.sources) if given.sources else ("now", ROOT)
        found = elsewhere(at, "") if given.sources else causes()
        path = output / CAUSE_ROWS
        known = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
        words = ["git", "-C", str(at), "rev-parse", "HEAD"]
        done = subprocess.run(words, capture_output=True, text=True, check=True)
        known[name] = {"commit": done.stdout.strip(), "causes": found, "where": environment()}
        path.write_text(json.dumps(known, indent=1) + "\n", encoding="utf-8")
    elif given.quick:
        warm()
        print(json.dumps(chunk(range(100)), indent=1))
    elif given.again:
        again(output)
    elif not given.page:
        part, parts = map(int, given.part.split("/"))
        campaign(output, given.count, (part - 1, parts))
    if given.page or given.again:
        publish(output)
    return 0


if __name__ == "__main__":
    sys.exit(main())
