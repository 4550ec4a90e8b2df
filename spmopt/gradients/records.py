"""Rows as flat records, for programs: JSON, and the lines of a CSV file."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from io import StringIO
from pathlib import Path
from typing import TextIO

from spmopt.core.errors import InputError
from spmopt.gradients.run import Row
from spmopt.gradients.spent import MATRICES, Spent
from spmopt.io.document import write_text

Value = str | int | float | bool | None
Record = Mapping[str, Value]


@dataclass(frozen=True, slots=True, kw_only=True)
class Counted:
    """A row of ``count`` layers of the same size."""

    row: Row
    count: int = 1


def record(counted: Counted) -> Record:
    """Figures of one layer; ``count`` says how many there are of it."""
    row, case, ran = counted.row, counted.row.case, counted.row.ran
    layer, grid = case.layer, ran.grid
    rows, inner, columns = grid.shape
    return {
        "layer": layer.name,
        "count": counted.count,
        "m": layer.m,
        "k": layer.k,
        "n": layer.n,
        "groups": layer.groups,
        "input_gradient": case.input_gradient,
        "machine": case.machine.name,
        "spm_bytes": case.machine.spm_bytes,
        "dram_bytes_per_s": case.machine.dram_bytes_per_s,
        "cores": case.cores,
        "element_bytes": case.element_bytes,
        "objective": case.objective,
        "tile_m": grid.tile.m,
        "tile_k": grid.tile.k,
        "tile_n": grid.tile.n,
        "tile_given": case.tile is not None,
        "grid_i": rows,
        "grid_k": inner,
        "grid_j": columns,
        "order": case.order,
        "order_run": ran.order,
        "partition": case.partition,
        "partition_run": ran.partition,
        "replacement": case.replacement,
        "status": str(row.status),
        **figures(row.spent),
        "order_bound": None if row.spent.order_bound is None else float(row.spent.order_bound),
        "order_gap": row.spent.order_gap(case.objective),
        "time_s": row.time_s,
        "solve_s": row.solve_s,
        "note": "; ".join(row.notes),
    }


def figures(spent: Spent) -> Record:
    """Figures that add up, and ratios of them."""
    moved = spent.moved
    read = {
        f"{name}_read_bytes": size for name, size in zip(MATRICES, moved.read_bytes, strict=True)
    }
    written = {
        f"{name}_written_bytes": size
        for name, size in zip(MATRICES, moved.written_bytes, strict=True)
    }
    return {
        "products": spent.products,
        "traffic_bytes": spent.traffic_bytes,
        "dram_in_bytes": spent.dram_in_bytes,
        "dram_out_bytes": spent.dram_out_bytes,
        **read,
        **written,
        "compulsory_bytes": spent.compulsory_bytes,
        "traffic_bound_bytes": spent.traffic_bound_bytes,
        "gap": spent.gap,
        "makespan_cycles": spent.makespan_cycles,
        "compute_cycles": spent.compute_cycles,
        "dma_cycles": spent.dma_cycles,
        "makespan_bound_cycles": spent.makespan_bound_cycles,
        "time_gap": spent.time_gap,
        "bound_by": spent.bound_by,
    }


class RowsFile:
    """A CSV file that gets rows as they are finished, and is put in order at the end.

    Nothing is written before the first row.

    Raises
    ------
    InputError
        The file cannot be written.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._file: TextIO | None = None

    def add(self, rows: Iterable[Counted]) -> None:
        """Write rows, at once."""
        text = csv_text(rows, head=self._file is None)
        if not text:
            return
        try:
            if self._file is None:
                self._file = self._path.open("w", encoding="utf-8", newline="")
            self._file.write(text)
            self._file.flush()
        except OSError as error:
            raise InputError(f"{self._path}: cannot be written ({error.strerror})") from None

    def close(self, rows: Iterable[Counted]) -> None:
        """Write ``rows``, those added in their order, in place of what there is."""
        if self._file is not None:
            self._file.close()
            write_text(self._path, csv_text(rows))


def csv_text(rows: Iterable[Counted], *, head: bool = True) -> str:
    """Lines of a CSV file; empty without rows. What is not known is left empty."""
    records = [record(counted) for counted in rows]
    if not records:
        return ""
    text = StringIO()
    writer = csv.writer(text, lineterminator="\n")
    if head:
        writer.writerow(records[0])
    writer.writerows([_text(value) for value in each.values()] for each in records)
    return text.getvalue()


def _text(value: Value) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return "" if value is None else str(value)
