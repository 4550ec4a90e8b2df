"""Names of columns and rows of the plain model: kind or law, tensor and step."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

import numpy as np

from formulations.residency.plain.model import PlainModel
from spmopt.core.table import Ints

_ILLEGAL = re.compile(r"[^A-Za-z0-9_]")
_LONGEST = 60  # characters of a name in a file of the program
_BY_CELL = ("resident", "load", "dirty", "store", "full", "pages")
_BY_PART = (
    *("part_resident", "part_load", "part_store"),
    *("load_command", "store_command", "stream_command"),
    *("load_cycles", "store_cycles", "in_cycles", "out_cycles"),
)
_STEP_LAWS = ("capacity", "channel", "serial")


def names_of(model: PlainModel, tensors: Iterable[str]) -> tuple[list[str], list[str]]:
    """Return names of columns, as ``load_conv1_w_s7``, and of rows, as ``growth_x_s7``."""
    label = labels(tensors)
    columns = [""] * model.program.cost.size
    for kind, where, number in _columns(model, label):
        # A part that is all of a cell has the cell's columns.
        for place in np.flatnonzero(number >= 0).tolist():
            columns[number[place]] = columns[number[place]] or f"{kind}_{where[place]}"
    return different(columns), different(_rows(model, columns))


def _columns(model: PlainModel, label: list[str]) -> Iterator[tuple[str, list[str], Ints]]:
    """Yield kinds of columns: where each of them is, and their numbers."""
    cells, parts, choices, gaps = model.cells, model.parts, model.choices, model.gaps
    pairs = zip(cells.tensor.tolist(), cells.step.tolist(), strict=True)
    at = [f"{label[tensor]}_s{step}" for tensor, step in pairs]
    for kind in _BY_CELL:
        yield kind, at, getattr(model, kind)
    mapping = np.append(choices.mapping, -1)[parts.choice].tolist()
    pairs = zip(parts.cell.tolist(), mapping, strict=True)
    of_part = [at[cell] + (f"_m{one}" if one >= 0 else "") for cell, one in pairs]
    for kind in _BY_PART:
        yield kind, of_part, getattr(model, kind)
    every = model.every
    ends = zip(gaps.first.tolist(), gaps.last.tolist(), strict=True)
    between = [f"{label[every.tensor[a]]}_s{every.step[a]}_s{every.step[b]}" for a, b in ends]
    yield "kept", between, model.kept
    steps = zip(choices.step.tolist(), choices.mapping.tolist(), strict=True)
    yield "mapping", [f"s{step}_m{one}" for step, one in steps], model.chosen
    yield "time", [f"s{model.begin + k}" for k in range(model.time.size)], model.time


def _rows(model: PlainModel, columns: list[str]) -> list[str]:
    """Return a law and a step, or the first column: of one tensor in one step, as that is."""
    matrix = model.program.matrix
    first = matrix.start[:-1].tolist()
    index = [*matrix.index.tolist(), -1]
    found: list[str] = []
    for law, rows in model.law_rows.items():
        for row in rows:
            if law in _STEP_LAWS:
                found.append(f"{law}_s{model.begin + (row - rows.start) % model.steps}")
            else:
                found.append(f"{law}_{columns[index[first[row]]]}")
    return found


def labels(names: Iterable[str]) -> list[str]:
    """Make each name legal and short; a number is added where two would be the same."""
    # File formats allow few characters, and names of limited length.
    return different([_ILLEGAL.sub("_", name)[:_LONGEST] for name in names])


def different(names: Iterable[str]) -> list[str]:
    """Return names that all differ: a place is added to a name that was taken."""
    taken: set[str] = set()
    found = []
    for place, name in enumerate(names):
        one = name
        while one in taken:
            one = f"{one}_t{place}"
        taken.add(one)
        found.append(one)
    return found
