"""R8 on a machine with banks: a page gets another address by a move, and only so."""

from __future__ import annotations

import numpy as np

from spmopt.core.table import Bools, Ints
from spmopt.verify.view import View
from spmopt.verify.violation import MAX_PER_CHECK, Violation

_NOWHERE = -1


def rule_moved(view: View) -> list[Violation]:
    """Pages whose address changes between two steps are those that the later step moves.

    A page is moved if it is resident in both steps. Page by page, and so for tables that other
    parts of R8 refuse as well.
    """
    placed, moves = view.schedule.placements, view.schedule.moves
    begins = (placed.tensor >= 0) & (placed.begin > 0)
    keys = np.concatenate(
        (
            np.stack((placed.begin[begins], placed.tensor[begins]), axis=1),
            np.stack((moves.step, moves.tensor), axis=1),
        )
    )
    violations: list[Violation] = []
    for step, tensor in np.unique(keys, axis=0).tolist():
        before = _addresses(view, tensor, step - 1)
        after = _addresses(view, tensor, step)
        both = (before != _NOWHERE) & (after != _NOWHERE)
        changed: Bools = both & (before != after)
        violations += _compare(view, step, tensor, changed, _moved(view, tensor, step))
        if len(violations) >= MAX_PER_CHECK:
            break
    return violations


def _compare(view: View, step: int, tensor: int, changed: Bools, moved: Bools) -> list[Violation]:
    """The first page that differs."""
    wrong = np.flatnonzero(changed != moved)
    if not wrong.size:
        return []
    page = int(wrong[0])
    what = (
        "gets another address without a move"
        if changed[page]
        else "is moved, but is not at two addresses"
    )
    text = f"page {page} of {view.name(tensor)} {what}"
    return [Violation(rule="R8", step=step, tensor=tensor, message=text)]


def _addresses(view: View, tensor: int, step: int) -> Ints:
    """SPM page of every page of a tensor in a step."""
    table = view.schedule.placements
    found = np.full(_pages(view, tensor), _NOWHERE, np.int64)
    here = (table.tensor == tensor) & (table.begin <= step) & (step < table.end)
    for row in np.flatnonzero(here).tolist():
        first, count = int(table.tensor_page[row]), int(table.pages[row])
        found[first : first + count] = table.spm_page[row] + np.arange(count)
    return found


def _moved(view: View, tensor: int, step: int) -> Bools:
    """Pages of a tensor that moves of a step cover."""
    moves, page = view.schedule.moves, view.page_bytes
    found = np.zeros(_pages(view, tensor), bool)
    for row in np.flatnonzero((moves.tensor == tensor) & (moves.step == step)).tolist():
        found[int(moves.begin[row]) // page : -(-int(moves.end[row]) // page)] = True
    return found


def _pages(view: View, tensor: int) -> int:
    return -(-view.instance.tensors[tensor].size_bytes // view.page_bytes)
