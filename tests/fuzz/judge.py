"""What is wrong with how a command ended.

It knows nothing of the program but its exit codes: 0 done, 1 not verified, 2 bad input, 3
infeasible, 4 nothing found.
"""

from __future__ import annotations

import csv
import re
import unicodedata
from collections.abc import Iterator
from pathlib import Path

from tests.fuzz.case import Case, Outcome

CPU_S, MEMORY_MB = 10.0, 1000.0
CODES = range(5)
LONGEST = 2_000
"""Characters of a line that can be read."""
SLOW = "slow"
OUT, ERR = "out", "err"
"""Files beside the folder of a case, for what it prints."""


def judged(case: Case, found: Outcome) -> Iterator[str]:
    """Say what is wrong with exit status, output, time and memory."""
    lines, everything = found.stderr.splitlines(), found.stdout + found.stderr
    errors = sum(line.startswith("error:") for line in lines)
    if found.code not in CODES:
        yield f"exit status {found.code}"
    if "Traceback" in found.stderr or re.search(r"^\w*(Error|Exception):", found.stderr, re.M):
        yield "traceback"
    if found.code in (0, 2) and errors != (found.code == 2):
        yield f"{errors} lines of errors"
    if found.cpu_s > CPU_S:
        yield SLOW
    if found.memory_mb > MEMORY_MB:
        yield "memory"
    if any(len(line) > LONGEST for line in lines):
        yield "long line"
    odd = not everything.replace("\n", "").isprintable()  # which is quick to know
    if odd and any(unicodedata.category(c) in ("Cc", "Cf") and c != "\n" for c in everything):
        yield "control characters"
    if case.secret and case.secret in everything:
        yield "secret"


def of_files(case: Case, found: Outcome, folder: Path, given: set[str]) -> Iterator[str]:
    """Say what is wrong with the files that a command left in ``folder``, and beside it."""
    top = folder.parent.parent
    beside = {path.name for path in (*top.iterdir(), *folder.parent.iterdir())}
    if beside - {folder.parent.name, folder.name, OUT, ERR}:
        yield "wrote outside of its folder"
    csv.field_size_limit(1 << 30)
    for path in folder.glob("*.csv"):
        if path.name not in given and path.is_file():
            with path.open(newline="", encoding="utf-8", errors="replace") as stream:
                if any(_is_formula(cell) for row in csv.reader(stream) for cell in row):
                    yield "formula in CSV"
    if case.judge is not None and found.code == 0:
        yield from case.judge(folder)


def _is_formula(cell: str) -> bool:
    if cell[:1] not in tuple("=+-@\t\r"):
        return False
    try:
        float(cell)
    except ValueError:
        return cell not in ("", "-")
    return False
