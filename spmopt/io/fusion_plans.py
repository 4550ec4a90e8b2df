"""Fusion plans from outside: which operations are computed together, and in how many fusion tiles.

A TOML file has a table ``[[fused_groups]]`` for each, in the order of the tileable graph, a JSON
file the same names in a list; a fused result is a file of its fusion plan, too. An operation goes
by its name (``first``, ``last``) or by its position (``begin``, ``end``: the first one, and the one
after the last, counted from 0). ``axis`` is the name of the axis that is tiled, by default the
first of the graph, ``tiles`` (or ``micro_batches``) in how many fusion tiles. ``stripes`` are those
of rows that each of these is cut into, 1 by default; ``axis = "rows"`` cuts each image so.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from spmopt.core.errors import InputError, nearest, unknown
from spmopt.core.filetypes import kind_of_file
from spmopt.core.fusion.fused_groups import FusedGroup, FusionPlan
from spmopt.core.fusion.tileable_graph import TileableGraph
from spmopt.core.validation import is_folder, read_json, read_toml
from spmopt.io.files import read_result
from spmopt.io.renames import rename_fields

_KEYS = ("first", "last", "begin", "end", "tiles", "micro_batches", "stripes", "axis")
_ROWS = -1
"""Number of the axis that stripes cut, which tileable graphs have none for."""


def read_fusion_plan(path: Path, tileable: TileableGraph) -> FusionPlan:
    """Read a fusion plan of a tileable graph.

    Raises
    ------
    InputError
        The file cannot be read, names operations or keys that there are not, leaves operations out
        or has them twice, or cuts an operation that cannot be cut; the line says which fused group,
        and why.
    """
    if path.suffix.lower() != ".json":
        document: Any = rename_fields(_read_toml(path))
    else:
        document = rename_fields(read_json(path))
        if isinstance(document, dict) and document.get("format") == "spmopt-result":
            document = {"fused_groups": _of_result(path)}
    try:
        return _fusion_plan(document, tileable)
    except InputError as error:
        raise InputError(f"{path}: {error}") from None


def _read_toml(path: Path) -> dict[str, Any]:
    if path.suffix.lower() != ".toml" or is_folder(path):
        other = kind_of_file(path) or "is no file of a fusion plan"
        raise InputError(f"{path}: {other}; give one in TOML (.toml) or JSON (.json)")
    return read_toml(path, str(path))


def _of_result(path: Path) -> list[dict[str, object]]:
    """Return the fused groups of a fused result, by the names of their operations."""
    fusion = read_result(path).fusion
    if fusion is None:
        raise InputError(f"{path}: its schedule is layer by layer, which has no fusion plan")
    return [
        {
            "first": loop.operations[0],
            "last": loop.operations[-1],
            "micro_batches": loop.micro_batches,
            "stripes": len(loop.rows[0]) - 1 if loop.rows else 1,
            **({"axis": loop.along} if loop.along else {}),
        }
        for loop in fusion.loops
    ]


def _fusion_plan(document: object, tileable: TileableGraph) -> FusionPlan:
    tables = document.get("fused_groups") if isinstance(document, dict) else None
    if not isinstance(tables, list) or not tables:
        raise InputError("must have fused groups: in TOML a table [[fused_groups]] for each")
    for key in document if isinstance(document, dict) else ():
        if key != "fused_groups":
            raise InputError(str(unknown("key", key, ("fused_groups",))))
    at = {operation.name: place for place, operation in enumerate(tileable.operations)}
    # Its name in reports is "the batch".
    axes = {each.along.removeprefix("the "): number for number, each in enumerate(tileable.axes)}
    if any(operation.rows is not None for operation in tileable.operations):
        axes.setdefault("rows", _ROWS)
    fusion_plan = tuple(
        _read_fused_group(table, f"fused_groups[{number}]", at, axes, tileable.batch)
        for number, table in enumerate(tables)
    )
    tileable.require(fusion_plan)
    return fusion_plan


def _read_fused_group(
    table: object, where: str, at: Mapping[str, int], axes: Mapping[str, int], batch: int
) -> FusedGroup:
    """Read a fused group; ``at``: positions by name; ``axes``: numbers by name."""
    if not isinstance(table, dict):
        raise InputError(f"{where}: must be a table, as {{first = ..., last = ..., tiles = ...}}")
    for key in table:
        if key not in _KEYS:
            raise InputError(f"{where}: {unknown('key', key, _KEYS)}")
    begin = _place(table, where, ("first", "begin"), at)
    end = _place(table, where, ("last", "end"), at)
    # A name is the last operation itself; a position is the one after it.
    end += "last" in table
    if end <= begin:
        raise InputError(f"{where}: ends before it begins")
    if "tiles" in table and "micro_batches" in table:
        raise InputError(f"{where}: give tiles or micro_batches, one of them")
    tiles = _count(table, where, "tiles" if "tiles" in table else "micro_batches")
    stripes = _count(table, where, "stripes")
    axis = 0
    if "axis" in table:
        name = str(table["axis"]).removeprefix("the ")
        if name not in axes:
            raise InputError(f"{where}.axis: {unknown('axis', name, axes)}")
        axis = axes[name]
    if axis and stripes > 1:
        raise InputError(f"{where}.stripes: are of the first axis; leave axis or stripes out")
    if axis == _ROWS:
        # Stripes are of single images only.
        axis, tiles, stripes = 0, batch if tiles > 1 else 1, tiles
    return FusedGroup(begin=begin, end=end, micro_batches=tiles, stripes=stripes, axis=axis)


def _place(
    table: Mapping[str, object], where: str, keys: tuple[str, str], at: Mapping[str, int]
) -> int:
    """Return a position that is given by the name of an operation, or as it is."""
    name, number = keys
    if (name in table) == (number in table):
        raise InputError(f"{where}: give {name} (a name) or {number} (a position), one of them")
    if number in table:
        found = _whole(table[number], f"{where}.{number}")
        if not 0 <= found <= len(at):
            raise InputError(f"{where}.{number}: must be 0 to {len(at)}, is {found}")
        return found
    text = table[name]
    if not isinstance(text, str):
        raise InputError(f"{where}.{name}: must be the name of an operation")
    if text not in at:
        # Networks have hundreds of operations: all their names would be no line to read.
        near = nearest(text, at)
        hint = f"did you mean {near}?" if near else "'spmopt problem NETWORK -o FILE' lists them"
        raise InputError(f"{where}.{name}: no operation called {text!r}; {hint}")
    return at[text]


def _count(table: Mapping[str, object], where: str, key: str) -> int:
    found = _whole(table.get(key, 1), f"{where}.{key}")
    if found < 1:
        raise InputError(f"{where}.{key}: must be at least 1, is {found}")
    return found


def _whole(value: object, where: str) -> int:
    # TOML and JSON have true and false, which are integers to Python.
    if type(value) is not int:
        raise InputError(f"{where}: must be a whole number")
    return value
