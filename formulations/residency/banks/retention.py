"""Banks whose contents last for some time only (R12): which pages may not lie in them.

Contents that an operation or a load writes are needed until they are written anew or leave. Where
that takes longer than a bank keeps them, they may not lie in the bank. A move would write them
anew, so that this forbids more than the rule does; never less.
"""

from __future__ import annotations

from math import inf

import numpy as np

from formulations.residency.banks.model import BankModel
from formulations.solver.program import Floats
from spmopt.core.machine import Machine
from spmopt.core.table import Bools


class Retention:
    """Limits of the banks of a machine.

    Attributes
    ----------
    limits : (b,)
        Cycles that contents last, infinite where they always do.
    binds
        Whether any bank forgets.
    lasting_pages
        Pages of the banks that do not forget.
    """

    def __init__(self, machine: Machine) -> None:
        self.limits = np.array([inf if each is None else each for each in machine.retention_cycles])
        forgets = np.isfinite(self.limits)
        self.binds = bool(forgets.any())
        self.lasting_pages = int(np.array(machine.bank_pages)[~forgets].sum())

    def bar(self, model: BankModel, step_cycles: Floats) -> tuple[Bools, Bools]:
        """Return pieces (b, t) and scratch (b, n) that need a bank for longer than it lasts.

        ``step_cycles`` (n,): durations of the steps.
        """
        limits = self.limits[:, None]
        return cycles_of_contents(model, step_cycles) > limits, step_cycles > limits


def cycles_of_contents(model: BankModel, step_cycles: Floats) -> Floats:
    """Return (t,) for how long the contents of each piece of a residency plan must last."""
    own, cells = model.pieces, model.cells
    ends = np.concatenate(([0.0], np.cumsum(step_cycles)))
    order = np.lexsort((own.cell, own.stripe))
    order = order[own.held[order]]
    # A stretch begins where contents come or are written anew, and ends before the next.
    cell, stripe = own.cell[order], own.stripe[order]
    begin, until = cells.step[cell], model.chosen_cells.until[cell]
    written = cells.written[cell]
    follows = np.zeros(order.size, bool)
    follows[1:] = (np.diff(stripe) == 0) & (begin[1:] == until[:-1])
    fresh = ~follows | written
    # An update reads the contents that were there before, until its step is over.
    updates = np.append(follows & written & ~cells.blind[cell], False)
    firsts = np.flatnonzero(fresh)
    last = np.append(firsts[1:], order.size)[: firsts.size] - 1
    high = np.where(updates[last + 1], np.append(begin, 0)[last + 1] + 1, until[last])
    stretch = ends[high] - ends[begin[firsts]]
    number = np.cumsum(fresh) - 1
    longest = stretch[number]
    longest = np.where(updates[:-1], np.maximum(longest, stretch[number - 1]), longest)
    needed = np.zeros(own.cell.size)
    needed[order] = longest
    return needed
