"""Solutions of curves, on disk beside the table: a sweep taken up again does not repeat them.

Removed when the sweep is complete. What is read is not trusted: at every point the verifier
evaluates the prices anew.
"""

from __future__ import annotations

from dataclasses import astuple
from fractions import Fraction
from hashlib import sha256
from pathlib import Path

import numpy as np

from spmopt.core.border import is_file
from spmopt.core.objective import Objective, objective_named
from spmopt.core.result import Certificate
from spmopt.core.table import Ints
from spmopt.experiments.store import Journal
from spmopt.sweeps.cases import Order, Section
from spmopt.sweeps.curve import EnclosedOptimum


class Solutions:
    """Solutions by what was solved; kept in memory alone without a ``path``.

    Parameters
    ----------
    path
        File to add to; one of another sweep than ``head`` is begun anew.
    head
        What all of its solutions depend on.
    objective
        Name of what is minimized.

    Raises
    ------
    InputError
        The file cannot be written.
    """

    def __init__(self, path: Path | None, head: str, objective: str) -> None:
        self._journal, self._objective = Journal(path, head), objective
        self.close, self.remove = self._journal.close, self._journal.remove

    def get(self, section: Section, order: Order, capacity_bytes: int) -> EnclosedOptimum | None:
        """Return the solution at a capacity (bytes, of whole pages), if there is one."""
        record = self._journal.get(_key(section, order, capacity_bytes))
        if record is None:
            return None
        try:
            return _solved(record, objective_named(self._objective, section.case.machine))
        except (KeyError, TypeError, ValueError):
            return None

    def put(self, section: Section, order: Order, solved: EnclosedOptimum) -> None:
        """Keep a solution; raises :class:`InputError` where it cannot be written."""
        self._journal.put(_key(section, order, solved.capacity_bytes), _record(solved))


def solutions_path(table: Path | None, number: int = 0) -> Path | None:
    """Where the solutions of a sweep are whose table is ``table``; of several the ``number``-th."""
    if table is None:
        return None
    return table.with_name(f".{table.name}.{f'{number}.' if number else ''}part")


def count_solutions(path: Path) -> int:
    """Count the solutions that a sweep has left."""
    return max(0, path.read_bytes().count(b"\n") - 1) if is_file(path) else 0


def _key(section: Section, order: Order, capacity_bytes: int) -> str:
    case = section.case
    about = repr((astuple(case.network), astuple(case.machine), order, capacity_bytes))
    return sha256(about.encode()).hexdigest()


def _record(solved: EnclosedOptimum) -> dict[str, object]:
    prices = solved.certificate
    columns: dict[str, object] = {}
    if prices is not None:
        one_channel = np.array_equal(prices.dram_in, prices.dram_out)
        columns = {
            "bits": prices.bits,
            "spm": prices.spm.tolist(),
            "dram_in": prices.dram_in.tolist(),
            "dram_out": None if one_channel else prices.dram_out.tolist(),
        }
    return {
        "capacity_bytes": solved.capacity_bytes,
        "lower": None if solved.lower is None else str(solved.lower),
        "upper": None if solved.upper is None else str(solved.upper),
        "seconds": solved.seconds,
        **columns,
    }


def _solved(record: dict[str, object], objective: Objective) -> EnclosedOptimum:
    """Read a record; raises KeyError, TypeError or ValueError."""
    certificate = None
    if "bits" in record:
        into = _ints(record["dram_in"])
        certificate = Certificate(
            objective=objective,
            bits=int(str(record["bits"])),
            spm=_ints(record["spm"]),
            dram_in=into,
            dram_out=into if record["dram_out"] is None else _ints(record["dram_out"]),
        )
    return EnclosedOptimum(
        capacity_bytes=int(str(record["capacity_bytes"])),
        lower=None if record["lower"] is None else Fraction(str(record["lower"])),
        certificate=certificate,
        upper=None if record["upper"] is None else Fraction(str(record["upper"])),
        seconds=float(str(record["seconds"])),
    )


def _ints(values: object) -> Ints:
    found: Ints = np.array(values, np.int64)
    return found
