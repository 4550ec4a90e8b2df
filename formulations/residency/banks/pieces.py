"""Stripes and pieces: the parts of tensors that the program of banks decides about.

A *stripe* is a run of pages of a tensor that come, leave and are stored together: all of a tensor
in the relaxation, each page in the integer program of a small problem, and those of a residency
plan where only their banks are to be chosen. A *piece* is a stripe in a cell.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from formulations.residency.plain.cells import Cells
from spmopt.core.table import Bools, Ints


@dataclass(frozen=True, kw_only=True, eq=False)
class Stripes:
    """Pages [page, page + pages) of tensors (s,), by tensor; each holds ``page_bytes``."""

    tensor: Ints
    page: Ints
    pages: Ints
    page_bytes: Ints


@dataclass(frozen=True, kw_only=True, eq=False)
class Pieces:
    """Stripes in cells (t,), by cell, then by page.

    Attributes
    ----------
    cell, stripe, pages, page_bytes : (t,)
    before : (t,)
        The same stripe in the step before, or -1 where the tensor has no cell there.
    previous : (t,)
        The same where its contents are inherited, else -1.
    held : (t,) bool
        Bytes of it may be resident.
    dirty_bytes : (t,)
        Dirty after the step; of a residency plan only.
    """

    cell: Ints
    stripe: Ints
    pages: Ints
    page_bytes: Ints
    before: Ints
    previous: Ints
    held: Bools
    dirty_bytes: Ints


@dataclass(frozen=True, kw_only=True, eq=False)
class ChosenCells:
    """Cells in which something is decided; in the others bytes wait as the cell before has them.

    Attributes
    ----------
    every
        All cells (k,) of the timeline.
    place : (k,)
        The chosen cell whose bytes each of them has.
    cells
        The chosen ones.
    """

    every: Cells
    place: Ints
    cells: Cells

    @staticmethod
    def of(every: Cells, chosen: Bools) -> ChosenCells:
        """Take the cells ``chosen`` (k,), among them the first of each run of steps."""
        place = np.cumsum(chosen) - 1
        taken = {name: column[chosen] for name, column in vars(every).items()}
        previous = taken["previous"]
        taken["previous"] = np.where(previous >= 0, place[previous], -1)
        return ChosenCells(every=every, place=place, cells=Cells(**taken))

    @property
    def until(self) -> Ints:
        """(c,) The step after the last one in which bytes are as each chosen cell has them."""
        last = np.searchsorted(self.place, np.arange(len(self.cells)), "right") - 1
        result: Ints = self.every.step[last] + 1
        return result
