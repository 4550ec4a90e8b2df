"""Work for processes: squares, and a case that kills its process."""

import os
from pathlib import Path

from spmopt.experiments.rows import Columns, Row, Texts

COLUMNS = Columns({"x": int}, {"square": int})
CASES: dict[Texts, int] = {(str(x),): x for x in range(6)}


def square(x: int) -> Row:
    return {"x": x, "square": x * x}


def interrupted_at_3(x: int) -> Row:
    if x == 3:
        raise KeyboardInterrupt
    return square(x)


def dies(case: tuple[int, str]) -> Row:
    """Kill the process, once where a flag names a file."""
    x, flag = case
    path = Path(flag)
    if flag and path.exists():
        return square(x)
    if flag:
        path.touch()
    os._exit(1)
