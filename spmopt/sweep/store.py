"""Solutions of curves, on disk beside the table: a sweep taken up again does not repeat them.

One JSON value a line, the first says of which sweep; removed when the sweep is complete. What is
read is not trusted: at every point the verifier evaluates the prices anew.
"""

from __future__ import annotations

import json
from contextlib import suppress
from fractions import Fraction
from hashlib import sha256
from pathlib import Path

import numpy as np

from spmopt.core.errors import InputError
from spmopt.core.objective import Objective, objective_named
from spmopt.core.result import Certificate
from spmopt.core.table import Ints
from spmopt.sweep.cases import Order, Section
from spmopt.sweep.curve import Solved


class Store:
    """Solutions by what was solved; kept in memory alone without a ``path``.

    Parameters
    ----------
    path
        File to add to; lines of another sweep than ``head`` are dropped.
    head
        What all of its solutions depend on.
    objective
        Name of what is minimised.

    Raises
    ------
    InputError
        The file cannot be written.
    """

    def __init__(self, path: Path | None, head: str, objective: str) -> None:
        self._path, self._objective = path, objective
        self._records: dict[str, dict[str, object]] = {}
        self._added = 0
        if path is not None:
            lines = self._read(path, head)
            self._write("w", "".join(f"{line}\n" for line in (head, *lines)))

    def __len__(self) -> int:
        """Solutions on disk."""
        return len(self._records) + self._added

    def get(self, section: Section, order: Order, capacity_bytes: int) -> Solved | None:
        """Return the solution at a capacity (bytes, of whole pages), if there is one."""
        record = self._records.get(_key(section, order, capacity_bytes))
        if record is None:
            return None
        try:
            return _solved(record, objective_named(self._objective, section.case.machine))
        except (KeyError, TypeError, ValueError):
            return None

    def put(self, section: Section, order: Order, solved: Solved) -> None:
        """Keep a solution; raises :class:`InputError` where it cannot be written."""
        if self._path is None:
            return
        key = _key(section, order, solved.capacity_bytes)
        self._write("a", json.dumps({"key": key, **_record(solved)}) + "\n")
        self._added += 1

    def remove(self) -> None:
        """Remove the file: the sweep is complete."""
        if self._path is not None:
            self._path.unlink(missing_ok=True)

    def _read(self, path: Path, head: str) -> list[str]:
        """Lines that can be read, up to the first that was cut off."""
        lines: list[str] = []
        with suppress(OSError, UnicodeDecodeError):
            first, *rest = path.read_text(encoding="utf-8").splitlines() or [""]
            for line in rest if first == head else ():
                try:
                    record = json.loads(line)
                    self._records[record["key"]] = record
                except (ValueError, TypeError, KeyError):
                    break
                lines.append(line)
        return lines

    def _write(self, mode: str, text: str) -> None:
        if self._path is None:
            return
        try:
            with self._path.open(mode, encoding="utf-8") as file:
                file.write(text)
        except OSError as error:
            raise InputError(f"{self._path}: cannot be written ({error.strerror})") from None


def _key(section: Section, order: Order, capacity_bytes: int) -> str:
    case = section.case
    about = repr((case.network, case.machine, order, capacity_bytes))
    return sha256(about.encode()).hexdigest()


def _record(solved: Solved) -> dict[str, object]:
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


def _solved(record: dict[str, object], objective: Objective) -> Solved:
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
    return Solved(
        capacity_bytes=int(str(record["capacity_bytes"])),
        lower=None if record["lower"] is None else Fraction(str(record["lower"])),
        certificate=certificate,
        upper=None if record["upper"] is None else Fraction(str(record["upper"])),
        seconds=float(str(record["seconds"])),
    )


def _ints(values: object) -> Ints:
    found: Ints = np.array(values, np.int64)
    return found
