"""Rows as flat records, for programs: JSON, and the lines of a file that a run goes on from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from fractions import Fraction
from hashlib import sha256

from spmopt.core.errors import InputError
from spmopt.experiments.rows import Columns, Value
from spmopt.tiles.case import LayerCase
from spmopt.tiles.run import COUNTS, MATRICES, LayerCost, LayerResult

Record = Mapping[str, Value]
_READ, _WRITTEN = (tuple(f"{name}_{way}_bytes" for name in MATRICES) for way in ("read", "written"))
_FIGURES: Mapping[str, type] = {
    **dict.fromkeys(("products", "traffic_bytes", "dram_in_bytes", "dram_out_bytes"), int),
    **dict.fromkeys((*_READ, *_WRITTEN), int),
    **dict.fromkeys(("compulsory_bytes", "traffic_bound_bytes"), int),
    "gap": float,
    **dict.fromkeys(("makespan_cycles", "compute_cycles", "dma_cycles"), int),
    "makespan_bound_cycles": int,
    "time_gap": float,
    "bound_by": str,
}
_OF_MACHINE = ("spm_bytes", "dram_bytes_per_s", "clock_hz")
_ASKED = ("order", "partition", "replacement")
COLUMNS = Columns(
    {
        "layer": str,
        **dict.fromkeys(("count", "m", "k", "n", "groups"), int),
        "input_gradient": bool,
        "machine": str,
        **dict.fromkeys(_OF_MACHINE, int),
        **dict.fromkeys(("cores", "element_bytes"), int),
        "objective": str,
        "tile_given": bool,
        **dict.fromkeys(_ASKED, str),
    },
    {
        **{f"tile_{axis}": int for axis in "mkn"},
        **{f"grid_{axis}": int for axis in "ikj"},
        **dict.fromkeys(("order_run", "partition_run", "status"), str),
        **_FIGURES,
        **dict.fromkeys(("order_bound", "order_gap", "time_s", "solve_s"), float),
        "note": str,
    },
)
"""Of the records, in their order."""


def about(case: LayerCase, count: int) -> Record:
    """Return the key of records; ``count`` layers are of this size."""
    layer, machine = case.layer, case.machine
    return {
        "layer": layer.name,
        "count": count,
        **{name: getattr(layer, name) for name in ("m", "k", "n", "groups")},
        "input_gradient": case.input_gradient,
        "machine": machine.name,
        **{name: getattr(machine, name) for name in _OF_MACHINE},
        **{name: getattr(case, name) for name in ("cores", "element_bytes", "objective")},
        "tile_given": case.tile is not None,
        **{name: getattr(case, name) for name in _ASKED},
    }


def digest(cases: tuple[LayerCase, ...]) -> str:
    """Return the key of tuples of cases, independent of class names."""
    return sha256(_write(cases, "").encode()).hexdigest()[:16]


_KINDS = {
    "": "Case",
    "layer": "Layer",
    "machine": "Machine",
    "tile": "Tile",
    "array": "SystolicArray",
    "energy": "Energy",
    "area": "Area",
    "memory": "Memory",
    "banks": "Bank",
    "types": "Typed",
    "window": "Window",
}
"""Name of a record in digests, by the field that it is in: as in the files there are."""


def _write(value: object, name: str) -> str:
    if isinstance(value, tuple):
        inner = "".join(f"{_write(each, name)}, " for each in value)
        return f"({inner.removesuffix(' ' if len(value) == 1 else ', ')})"
    if not is_dataclass(value):
        return repr(value)
    # What machines may have since there are such files is told where they have it.
    newer = {each.name for each in fields(value) if each.metadata} - {"banks"}
    own = {each.name: getattr(value, each.name) for each in fields(value)}
    own = {key: item for key, item in own.items() if item or key not in newer}
    parts = [f"{key}={_write(item, key)}" for key, item in own.items()]
    if not name:  # files have a field that no case has any more
        parts.insert([*own].index("tile") + 1, "listed=None")
    return f"{_KINDS[name]}({', '.join(parts)})"


def record(row: LayerResult, count: int = 1) -> Record:
    """Return figures of one layer; ``count`` says how many there are of it."""
    grid, bound = row.ran.grid, row.cost.order_bound
    return {
        **about(row.case, count),
        **dict(zip(("tile_m", "tile_k", "tile_n"), grid.tile.sizes, strict=True)),
        **dict(zip(("grid_i", "grid_k", "grid_j"), grid.shape, strict=True)),
        "order_run": row.ran.order,
        "partition_run": row.ran.partition,
        "status": str(row.status),
        **figures(row.cost),
        "order_bound": None if bound is None else float(bound),
        "order_gap": row.cost.order_gap(row.case.objective),
        "time_s": row.time_s,
        "solve_s": row.solve_s,
        "note": " ".join("; ".join(row.notes).split()),
    }


def figures(cost: LayerCost) -> Record:
    """Return figures that add up, and ratios of them."""
    moved = dict(zip(_READ, cost.read_bytes, strict=True))
    moved |= zip(_WRITTEN, cost.written_bytes, strict=True)
    return {name: moved[name] if name in moved else getattr(cost, name) for name in _FIGURES}


def cost_of(found: Record) -> LayerCost:
    """Read the figures of a record; raises :class:`InputError` where one is missing."""
    bound = found["order_bound"]
    return LayerCost(
        read_bytes=tuple(whole(found, name) for name in _READ),
        written_bytes=tuple(whole(found, name) for name in _WRITTEN),
        order_bound=Fraction(bound) if isinstance(bound, float) else None,
        **{name: whole(found, name) for name in COUNTS},
    )


def whole(found: Record, name: str) -> int:
    """Return a whole number of a record; raises :class:`InputError` where it is missing."""
    value = found[name]
    if not isinstance(value, int):
        raise InputError(f"{name} is {value!r}, no whole number")
    return value
