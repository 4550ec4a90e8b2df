"""Addresses of pages whose banks are given, and the moves between them."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace
from itertools import accumulate

import numpy as np

from spmopt.assemble.addresses import Allocator, by_tensor
from spmopt.core.machine import Machine
from spmopt.core.schedule import BankRows, Moves, Placements
from spmopt.core.table import Ints
from spmopt.core.timeline import Timeline


def allocate_in_banks(machine: Machine, rows: BankRows) -> Placements:
    """Return the addresses of every row within its bank: one sweep over the steps for each bank.

    In each step the rows that end return their pages first, then those that begin take theirs,
    largest first: never in vain where no bank is too full. Pages that a full bank lacks lie beyond
    the scratchpad, and the verifier says so.
    """
    edges = [0, *accumulate(machine.bank_pages)]
    tables = [
        _place(rows, np.flatnonzero(rows.bank == bank), pages, edges[bank], edges[-1])
        for bank, pages in enumerate(machine.bank_pages)
    ]
    return by_tensor(Placements.together(*tables))


def _place(rows: BankRows, own: Ints, pages: int, first: int, beyond: int) -> Placements:
    """Return the placements of the rows ``own`` of one bank, which begins at SPM page ``first``."""
    allocator = Allocator(pages)
    step = np.concatenate((rows.begin[own], rows.end[own]))
    # Ends sort before begins of the same step: freed pages can be taken at once.
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
    placed = allocator.placements()
    owner = placed.tensor
    return replace(
        placed,
        tensor=rows.tensor[owner],
        tensor_page=placed.tensor_page + rows.tensor_page[owner],
        # Pages that a full bank lacks lie beyond the scratchpad, not in the next bank.
        spm_page=placed.spm_page + np.where(placed.spm_page < pages, first, beyond),
    )


def moves_between(machine: Machine, timeline: Timeline, rows: BankRows) -> Moves:
    """Return a move for the pages whose next row follows at once."""
    page, sizes = machine.page_bytes, timeline.size_bytes.tolist()
    ended: dict[tuple[int, int], list[tuple[int, int]]] = defaultdict(list)
    table = rows.rows()
    for tensor, low, pages, _, _, end in table:
        ended[tensor, end].append((low, low + pages))
    found = sorted(
        (step, tensor, page * max(low, first), min(page * min(low + pages, last), sizes[tensor]))
        for tensor, low, pages, _, step, _ in table
        if tensor >= 0
        for first, last in ended.get((tensor, step), ())
        # The last page of a tensor may be part empty: only its bytes move.
        if max(low, first) < min(low + pages, last)
    )
    return Moves.of_rows(found)
