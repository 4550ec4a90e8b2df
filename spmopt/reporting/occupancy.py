"""Who takes the room of the scratchpad, step by step; and that in one line of block characters."""

from __future__ import annotations

import numpy as np

from spmopt.core.problem import Problem, TensorKind
from spmopt.core.schedule import Schedule
from spmopt.core.table import Ints
from spmopt.reporting.quantities import capacity, capacity_unit, si
from spmopt.verifier import ScheduleArrays
from spmopt.verifier.durations import durations

SCRATCH = "scratch"
KINDS = (*(kind.replace("_", " ") for kind in TensorKind), SCRATCH)
"""As people read them; what an operation needs for itself comes last."""


def kind_numbers(problem: Problem) -> Ints:
    """Return (m,) the place of each tensor's kind in :data:`KINDS`."""
    number = {kind: place for place, kind in enumerate(TensorKind)}
    return np.array([number[tensor.kind] for tensor in problem.tensors], np.int64)


def bytes_occupied(view: ScheduleArrays) -> Ints:
    """Return (kinds, n) bytes of the pages in use; their sums are those of rule R1."""
    table, kind = (
        view.schedule.residency,
        kind_numbers(view.problem)[view.schedule.residency.tensor],
    )
    pages = view.pages(table.size_bytes)
    change = np.zeros((len(KINDS), view.timeline.steps + 1), np.int64)
    np.add.at(change, (kind, table.begin), pages)
    np.subtract.at(change, (kind, table.end), pages)
    found = np.cumsum(change, axis=1)[:, :-1]
    found[-1] = view.pages(view.timeline.scratch_bytes)
    held: Ints = found * view.page_bytes
    return held


BLOCKS = "▁▂▃▄▅▆▇█"
"""From nearly empty to full; a blank is empty."""


def occupancy_lines(problem: Problem, schedule: Schedule, width: int) -> tuple[str, str]:
    """Return a bar of ``width`` characters, and what it shows.

    From left to right the bar is the makespan, a character for each equal part of it: the most
    bytes of pages that are in use in that part (rule R1, scratch included), against the capacity.
    """
    view = ScheduleArrays.of(problem, schedule)
    occupied = bytes_occupied(view).sum(axis=0)
    cycles = durations(view).step
    machine = problem.machine
    bar = sparkline(fullest(occupied, cycles, max(1, width - 2)), machine.spm_bytes)
    unit = capacity_unit([machine.spm_bytes])
    peak, full = (
        capacity(value, unit) for value in (int(occupied.max(initial=0)), machine.spm_bytes)
    )
    span = si(int(cycles.sum()) / machine.clock_hz, "s")
    legend = f"bytes on chip over {span}, left to right; a full block is {full}, the peak {peak}"
    return f"|{bar}|", legend


def fullest(occupied: Ints, cycles: Ints, parts: int) -> Ints:
    """Return (parts,) the most of ``occupied`` in equal parts of the sum of ``cycles``.

    Steps of no time count where they are. Where all of them are, every step is as long as any.
    """
    cycles = cycles if cycles.any() else np.ones_like(cycles)
    end = np.cumsum(cycles)
    total = int(end[-1]) if end.size else 1
    # In Python's integers: the products may need more than 64 bits.
    first = ((end - cycles).astype(object) * parts // total).astype(np.int64)
    first = np.minimum(first, parts - 1)
    last = np.maximum((end.astype(object) * parts - 1) // total, first).astype(np.int64)
    found = np.zeros(parts, np.int64)
    np.maximum.at(found, first, occupied)
    np.maximum.at(found, last, occupied)
    for step in np.flatnonzero(last > first + 1).tolist():
        inner = slice(int(first[step]) + 1, int(last[step]))
        found[inner] = np.maximum(found[inner], occupied[step])
    return found


def sparkline(values: Ints, full: int) -> str:
    """Write a character for each value, by its share of ``full``: from a blank to a full block."""
    level = np.ceil(values / full * len(BLOCKS)).astype(np.int64)
    return "".join((" " + BLOCKS)[min(each, len(BLOCKS))] for each in level.tolist())
