"""Addresses of pages whose banks are given, and the moves between them."""

from __future__ import annotations

from collections import defaultdict
from itertools import accumulate

import numpy as np

from spmopt.assemble.addresses import Allocator
from spmopt.core.machine import Machine
from spmopt.core.schedule import BankRows, Moves, Placements
from spmopt.core.table import Ints
from spmopt.core.timeline import Timeline

_NAMES = ("tensor", "tensor_page", "pages", "spm_page", "begin", "end")


def place_in_banks(machine: Machine, rows: BankRows) -> Placements:
    """Addresses of every row within its bank: one sweep over the steps for each bank.

    In each step the rows that end return their pages first, then those that begin take theirs,
    largest first: never in vain where no bank is too full. Pages that a full bank lacks lie beyond
    the scratchpad, and the verifier says so.
    """
    edges = [0, *accumulate(machine.bank_pages)]
    tables = [
        _placed(rows, np.flatnonzero(rows.bank == bank), pages, edges[bank], edges[-1])
        for bank, pages in enumerate(machine.bank_pages)
    ]
    table = np.concatenate([np.empty((0, 6), np.int64), *tables])
    table = table[np.lexsort((table[:, 1], table[:, 4], table[:, 0]))]
    return Placements(**{name: table[:, column] for column, name in enumerate(_NAMES)})


def _placed(rows: BankRows, own: Ints, pages: int, first: int, beyond: int) -> Ints:
    """Placements of the rows ``own`` of one bank, which begins at SPM page ``first``."""
    allocator = Allocator(pages)
    step = np.concatenate((rows.begin[own], rows.end[own]))
    begins = np.repeat([1, 0], own.size)
    row = np.tile(own, 2)
    order = np.lexsort((row, -rows.pages[row], begins, step))
    columns = (column[order].tolist() for column in (step, begins, row))
    for now, is_begin, one in zip(*columns, strict=True):
        until = int(rows.end[one])
        if is_begin:
            allocator.grow(now, one, 0, int(rows.pages[one]), until)
        else:
            allocator.shrink(now, one, 0, until)
    table = np.array(allocator.rows, np.int64).reshape(-1, 6)
    row = table[:, 0].copy()
    table[:, 0] = rows.tensor[row]
    table[:, 1] += rows.tensor_page[row]
    table[:, 3] += np.where(table[:, 3] < pages, first, beyond)
    return table


def moves_between(machine: Machine, timeline: Timeline, rows: BankRows) -> Moves:
    """A move for the pages whose next row follows at once."""
    page, sizes = machine.page_bytes, timeline.size_bytes.tolist()
    ended: dict[tuple[int, int], list[tuple[int, int]]] = defaultdict(list)
    columns = [rows.tensor, rows.tensor_page, rows.tensor_page + rows.pages, rows.begin, rows.end]
    table = list(zip(*(column.tolist() for column in columns), strict=True))
    for tensor, low, high, _, end in table:
        ended[tensor, end].append((low, high))
    found = sorted(
        (step, tensor, page * max(low, first), min(page * min(high, last), sizes[tensor]))
        for tensor, low, high, step, _ in table
        if tensor >= 0
        for first, last in ended.get((tensor, step), ())
        if max(low, first) < min(high, last)
    )
    columns = list(np.array(found, np.int64).reshape(-1, 4).T)
    return Moves(step=columns[0], tensor=columns[1], begin=columns[2], end=columns[3])
