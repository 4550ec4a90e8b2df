"""Banks of a residency plan's pages without a program: where they are cheapest and there is room.

Pages remain where they begin, so that pages free as they come are free until they leave: there is
always room. Also the residency plan with all pages in one bank.
"""

from __future__ import annotations

import numpy as np

from formulations.residency.banks.assign import Assignment
from formulations.residency.banks.facts import BankCoefficients
from formulations.residency.banks.segments import PageSegments
from formulations.solver.program import Floats
from spmopt.core.schedule import ResidencyPlan
from spmopt.core.table import Ints


def first_fit(facts: BankCoefficients, residency_plan: ResidencyPlan) -> Assignment:
    """Give pages their banks as they come, those first that most depends on."""
    found = PageSegments(facts, residency_plan)
    room = np.rint(facts.capacity_bytes / facts.page_bytes).astype(np.int64)
    cost = _costs(facts, found)
    first = np.searchsorted(found.interval, np.arange(found.tensor.size))
    last = np.searchsorted(found.interval, np.arange(found.tensor.size), side="right") - 1
    begin, end = found.begin[first], found.end[last]
    order = np.lexsort((cost.min(axis=1) - cost.max(axis=1), begin))
    taken = np.zeros((facts.line.steps + 1, room.size), np.int64)
    pages = np.zeros((found.tensor.size, room.size), np.int64)
    for stay in order.tolist():
        free = room - taken[begin[stay]]
        pages[stay] = _fill(np.argsort(cost[stay], kind="stable"), free, int(found.pages[stay]))
        taken[begin[stay] : end[stay]] += pages[stay]
    scratch = _scratch(facts, room - taken[:-1])
    return Assignment(
        segments=found, pages=pages[found.interval], scratch=scratch, value=float("nan")
    )


def all_in(facts: BankCoefficients, residency_plan: ResidencyPlan, bank: int) -> Assignment:
    """Put everything in one bank, which has room for it."""
    found = PageSegments(facts, residency_plan)
    pages = np.zeros((found.interval.size, facts.bank_count), np.int64)
    pages[:, bank] = found.pages[found.interval]
    scratch = np.zeros((facts.line.steps, facts.bank_count), np.int64)
    scratch[:, bank] = np.rint(facts.scratch_bytes / facts.page_bytes)
    return Assignment(segments=found, pages=pages, scratch=scratch, value=float("nan"))


def _costs(facts: BankCoefficients, found: PageSegments) -> Floats:
    """Return (s, b) the cost of an interval in each bank, ports as if nothing hid their time."""
    read = facts.read_byte + facts.byte_time * facts.read_ratio
    write = facts.write_byte + facts.byte_time * facts.write_ratio
    cost = np.zeros((found.tensor.size, facts.bank_count))
    own = found.read[:, None] * read + found.write[:, None] * write
    np.add.at(cost, found.interval[found.segment], own)
    return cost


def _fill(banks: Ints, free: Ints, pages: int) -> Ints:
    """Share pages out over banks in their order."""
    taken = np.zeros_like(free)
    for bank in banks.tolist():
        taken[bank] = min(int(free[bank]), pages)
        pages -= int(taken[bank])
    return taken


def _scratch(facts: BankCoefficients, free: Ints) -> Ints:
    """Return (n, b) pages of scratch wherever there is room."""
    needed = np.rint(facts.scratch_bytes / facts.page_bytes).astype(np.int64)
    before = np.cumsum(free, axis=1) - free
    taken: Ints = np.clip(needed[:, None] - before, 0, free)
    return taken
