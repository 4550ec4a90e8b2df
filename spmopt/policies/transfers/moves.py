"""Loads or stores of residency rows, cut into pieces at page borders."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from spmopt.core.schedule import Plan, Residency, Stores
from spmopt.core.table import Ints, Table
from spmopt.policies.transfers.idle import Pieces
from spmopt.policies.transfers.rows import WholeRows, joined


@dataclass(frozen=True, kw_only=True, eq=False)
class Moves(Table):
    """Pieces by row and step: bytes of ``row`` moved before and after the one in ``step``."""

    row: Ints
    step: Ints
    before: Ints
    after: Ints

    @property
    def size_bytes(self) -> Ints:
        """Bytes of each piece."""
        return self.after - self.before


def load_moves(page_bytes: int, rows: WholeRows, chosen: Ints, pieces: Pieces) -> Moves:
    """Prefixes that grow by ``pieces`` of the rows ``chosen``; the last piece may be short."""
    row, step, pages, first = _cumulated(chosen, pieces)
    after = np.minimum(pages * page_bytes, rows.size_bytes[row])
    return Moves(row=row, step=step, before=_before(after, first), after=after)


def store_moves(page_bytes: int, rows: WholeRows, chosen: Ints, pieces: Pieces) -> Moves:
    """Suffixes that grow downwards; the first piece, at the tensor's end, may be short."""
    row, step, pages, first = _cumulated(chosen, pieces)
    after = rows.size_bytes[row] - (rows.pages[row] - pages) * page_bytes
    return Moves(row=row, step=step, before=_before(after, first), after=after)


def heads(rows: WholeRows, loads: Moves) -> Residency:
    """Residency of what is loaded before the first use, growing piece by piece."""
    following = np.append(loads.step[1:], 0)
    same = np.append(loads.row[1:] == loads.row[:-1], False)
    end = np.where(same, following, rows.first_use[loads.row])
    return Residency(
        tensor=rows.tensor[loads.row], begin=loads.step, end=end, size_bytes=loads.after
    )


def tails(rows: WholeRows, stores: Moves) -> Residency:
    """Residency of what is stored after the last use, shrinking piece by piece."""
    last_use = rows.last_use[stores.row]
    earlier = np.append(0, stores.step[:-1])
    same = np.append(False, stores.row[1:] == stores.row[:-1])
    begin = np.where(same, np.maximum(earlier, last_use), last_use) + 1
    end = stores.step + 1
    late = np.flatnonzero(stores.step > last_use)
    return Residency(
        tensor=rows.tensor[stores.row[late]],
        begin=begin[late],
        end=end[late],
        size_bytes=(rows.size_bytes[stores.row] - stores.before)[late],
    )


def earliest_load(rows: WholeRows, stores: Moves) -> Ints:
    """(k,) First step in which a row may be loaded, once ``stores`` are done.

    One step before it is without the tensor: a load onto what is still there would be no load
    but a part kept, which whole tensors do not know.
    """
    left = rows.last_use + 2
    np.maximum.at(left, stores.row, stores.step + 2)
    before = np.where(rows.previous_row >= 0, left[rows.previous_row], 0)
    earliest: Ints = np.maximum(rows.previous_use + 1, before)
    return earliest


def moved_plan(plan: Plan, rows: WholeRows, stores: Moves, *parts: Residency) -> Plan:
    """``plan`` with the residency of ``parts`` and with ``stores``."""
    tensor = rows.tensor[stores.row]
    order = np.lexsort((tensor, stores.step))
    return Plan(
        operation=plan.operation,
        mode=plan.mode,
        residency=joined(*parts),
        stores=Stores(
            step=stores.step[order], tensor=tensor[order], size_bytes=stores.size_bytes[order]
        ),
    )


def _cumulated(chosen: Ints, pieces: Pieces) -> tuple[Ints, Ints, Ints, Ints]:
    """By row and step, one entry each: row, step, pages so far, and where the row begins."""
    span = int(pieces.step.max(initial=0)) + 1
    keys, slot = np.unique(chosen[pieces.item] * span + pieces.step, return_inverse=True)
    pages = np.zeros(keys.size, np.int64)
    np.add.at(pages, slot, pieces.pages)
    row, step = np.divmod(keys, span)
    heads_row = np.append(True, row[1:] != row[:-1]) if keys.size else np.empty(0, bool)
    first = np.maximum.accumulate(np.where(heads_row, np.arange(keys.size), 0))
    total = np.cumsum(pages)
    return row, step, total - (total - pages)[first], first


def _before(after: Ints, first: Ints) -> Ints:
    before: Ints = np.where(first == np.arange(after.size), 0, np.roll(after, 1))
    return before
