"""Why the resident bytes came there, and why it went, in words."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from spmopt.analysis import Cause
from spmopt.core.schedule import Command
from spmopt.core.table import Ints
from spmopt.reporting.schedule_view.residencies import Came, Left, next_use
from spmopt.reporting.trace.events import Event, Group

KEPT = -1
"""Beside :class:`Came` and :class:`Left`: more or less of a tensor than before stays."""
_CAME: dict[int, str] = {
    KEPT: "kept from before",
    Came.LOADED: "loaded from DRAM",
    Came.WRITTEN: "written by {}",
    Came.SCRATCH: "scratch of {}",
    Came.MOVED: "moved from another address",
}
_LEFT: dict[int, str] = {
    KEPT: "kept on, more or less of it",
    Left.DEAD: "no longer needed",
    Left.EVICTED: "evicted, though needed again",
    Left.END: "end of the schedule",
    Left.OUT: "needed in DRAM only from then on",
    Left.MOVED: "moved to another address",
}
_LOADED = {
    Cause.REQUIRED_RESIDENT: " before {} computes",
    Cause.PREFETCH: " ahead of its use",
    Cause.LOAD: " while {} computes",
}


def reasons(
    group: Group, tensor: Ints, begin: Ints, end: Ints, ends: tuple[Ints, Ints]
) -> list[Event]:
    """Return, for the resident bytes in steps [begin, end), why and what uses it next.

    ``ends`` are its :class:`Came` and :class:`Left`, or :data:`KEPT`. ``used next``: after the
    step in which it came; ``needed again``: after it went.
    """
    view, operations = group.picture.view, group.operations
    columns = (next_use(view, tensor, begin), next_use(view, tensor, end - 1), ends[1])
    came = _came_words(group, tensor, begin, ends[0])
    rows = zip(*(each.tolist() for each in columns), strict=True)
    return [
        {
            "came": said,
            "went": _LEFT[left],
            "used next": step_words(operations, following),
            "needed again": step_words(operations, later),
        }
        for said, (following, later, left) in zip(came, rows, strict=True)
    ]


def step_words(operations: Sequence[str], step: int) -> str:
    """Return an operation with its step; -1: there is none."""
    return "never" if step < 0 else f"{operations[step]} (step {step})"


def _came_words(group: Group, tensor: Ints, begin: Ints, came: Ints) -> list[str]:
    cause, words = _causes(group), []
    for which, step, kind in zip(tensor.tolist(), begin.tolist(), came.tolist(), strict=True):
        text = _CAME[kind]
        if kind == Came.LOADED:
            text += _LOADED.get(cause.get((which, step), Cause.NONE), "")
        words.append(text.format(group.operations[step]))
    return words


def _causes(group: Group) -> dict[tuple[int, int], Cause]:
    """Return why a tensor is loaded in a step: the cause of its first load there."""
    commands = group.picture.view.schedule.commands
    found = group.picture.analysis.steps.stalls.cause
    loads = np.flatnonzero(commands.kind == Command.LOAD)[::-1]  # the first one stays
    columns = (commands.tensor[loads], commands.step[loads], found[loads])
    rows = zip(*(each.tolist() for each in columns), strict=True)
    return {(tensor, step): Cause(cause) for tensor, step, cause in rows}
