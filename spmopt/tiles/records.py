"""Rows as flat records, for programs: JSON, and the lines of a file that a run goes on from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction

from spmopt.core.errors import InputError
from spmopt.core.result import Status
from spmopt.sweep.rows import Columns, Value
from spmopt.tiles.case import Case
from spmopt.tiles.layer import Tile
from spmopt.tiles.run import COUNTS, MATRICES, Moved, Row, Spent

Record = Mapping[str, Value]


@dataclass(frozen=True, slots=True, kw_only=True)
class Counted:
    """A row of ``count`` layers of the same size."""

    row: Row
    count: int = 1


def about(case: Case, count: int) -> Record:
    """What tells rows apart; ``count`` layers are of this size."""
    layer, machine = case.layer, case.machine
    return {
        "layer": layer.name,
        "count": count,
        "m": layer.m,
        "k": layer.k,
        "n": layer.n,
        "groups": layer.groups,
        "input_gradient": case.input_gradient,
        "machine": machine.name,
        "spm_bytes": machine.spm_bytes,
        "dram_bytes_per_s": machine.dram_bytes_per_s,
        "clock_hz": machine.clock_hz,
        "cores": case.cores,
        "element_bytes": case.element_bytes,
        "objective": case.objective,
        "tile_given": case.tile is not None,
        "order": case.order,
        "partition": case.partition,
        "replacement": case.replacement,
    }


def record(counted: Counted) -> Record:
    """Figures of one layer; ``count`` says how many there are of it."""
    row, ran = counted.row, counted.row.ran
    grid, bound = ran.grid, row.spent.order_bound
    rows, inner, columns = grid.shape
    return {
        **about(row.case, counted.count),
        "tile_m": grid.tile.m,
        "tile_k": grid.tile.k,
        "tile_n": grid.tile.n,
        "grid_i": rows,
        "grid_k": inner,
        "grid_j": columns,
        "order_run": ran.order,
        "partition_run": ran.partition,
        "status": str(row.status),
        **figures(row.spent),
        "order_bound": None if bound is None else float(bound),
        "order_gap": row.spent.order_gap(row.case.objective),
        "time_s": row.time_s,
        "solve_s": row.solve_s,
        "note": " ".join("; ".join(row.notes).split()),
    }


def counted_of(record: Record, case: Case) -> Counted:
    """Read what :func:`record` gave for ``case``; of a searched order, not the list of products."""
    tile = Tile(**{axis: _whole(record, f"tile_{axis}") for axis in "mkn"})
    ran = replace(
        case, order=str(record["order_run"]), partition=str(record["partition_run"]), tile=tile
    )
    bound = record["order_bound"]
    spent = Spent(
        moved=Moved(
            read_bytes=tuple(_whole(record, f"{name}_read_bytes") for name in MATRICES),
            written_bytes=tuple(_whole(record, f"{name}_written_bytes") for name in MATRICES),
        ),
        order_bound=Fraction(bound) if isinstance(bound, float) else None,
        **{name: _whole(record, name) for name in COUNTS},
    )
    row = Row(
        case=case,
        ran=ran,
        spent=spent,
        status=Status(str(record["status"])),
        solve_s=float(record["solve_s"] or 0),
        notes=tuple(filter(None, [str(record["note"])])),
    )
    return Counted(row=row, count=_whole(record, "count"))


def _whole(record: Record, name: str) -> int:
    value = record[name]
    if not isinstance(value, int):
        raise InputError(f"{name} is {value!r}, no whole number")
    return value


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


_MOVED = tuple(f"{name}_{way}_bytes" for way in ("read", "written") for name in MATRICES)
COLUMNS = Columns.of(
    {
        "layer": str,
        "count": int,
        **dict.fromkeys(("m", "k", "n", "groups"), int),
        "input_gradient": bool,
        "machine": str,
        **dict.fromkeys(("spm_bytes", "dram_bytes_per_s", "clock_hz"), int),
        **dict.fromkeys(("cores", "element_bytes"), int),
        "objective": str,
        "tile_given": bool,
        **dict.fromkeys(("order", "partition", "replacement"), str),
    },
    {
        **{f"tile_{axis}": int for axis in "mkn"},
        **{f"grid_{axis}": int for axis in "ikj"},
        **dict.fromkeys(("order_run", "partition_run", "status"), str),
        **dict.fromkeys(("products", "traffic_bytes", "dram_in_bytes", "dram_out_bytes"), int),
        **dict.fromkeys(_MOVED, int),
        **dict.fromkeys(("compulsory_bytes", "traffic_bound_bytes"), int),
        "gap": float,
        **dict.fromkeys(("makespan_cycles", "compute_cycles", "dma_cycles"), int),
        "makespan_bound_cycles": int,
        "time_gap": float,
        "bound_by": str,
        **dict.fromkeys(("order_bound", "order_gap", "time_s", "solve_s"), float),
        "note": str,
    },
)
"""Of the records in a file, in the order of :func:`record`."""
