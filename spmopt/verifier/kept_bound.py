"""The bound of tensors that are whole at each use, and kept or dropped in full between two.

**Claim.** Charges ``q_t(i) >= 0`` on a byte of a tensor that is *there* in a step may join the
dual values of a certificate: each byte pays ``q_t(i)`` at a use in whose step it is resident, and
in all steps that it is resident through from one use to the next. The sum of payments is then less
by sum_i K_i,   K_i = the most that tensors which fit step i together are charged in it.

**Proof.** Say ``t`` is there in step i if i uses it and ``r_t(i) > 0``, or if i lies between two
uses, one after the other, and a byte is resident in both and in all steps between. By the
definition of the class ``r_t(i) = s_t`` in both cases. So by R1, with R3 and R4 for
required-resident operands, the tensors that are there fit in whole pages beside scratch and
required-resident operands of the step's mapping: their charges ``sum_t s_t q_t(i)`` are at most
``K_i``, the most of any mapping. Hence the sum of all charges less ``sum_i K_i`` is not positive,
and may be added to the cost of a schedule of the class. A byte that is resident all the time from
one use to the next makes its tensor there in each of these steps; any other has been in N in one of
them. Tensors that fit in no mapping are never there. The rest is weak duality, as in
:mod:`spmopt.verifier.bound`.

``K_i`` is a knapsack, solved exactly: sums of pages with the most charges for each. One of too many
sums takes its linear relaxation, rounded up, which is no less.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from math import ceil

import numpy as np

from spmopt.core.errors import InputError
from spmopt.core.operation import OpMapping
from spmopt.core.problem import Problem
from spmopt.core.result import Certificate
from spmopt.core.table import Ints
from spmopt.core.timeline import Timeline
from spmopt.verifier.dual_check import INFINITE, LARGEST, CheckedDuals
from spmopt.verifier.paths import D, access_costs, final_store, never_resident, resident_duals

_MOST_SUMS = 20_000
State = tuple[int, int, int, int]
"""Least cost of a byte up to now, by where it is: N, R, D, U."""
ChargesOfStep = Mapping[int, int]
"""Charge of a byte of each tensor that is charged."""


def keep_paths(
    problem: Problem, certificate: Certificate, line: Timeline, duals: CheckedDuals
) -> int:
    """Return ``sum_t s_t DP_t - sum_i K_i``."""
    charged = _charges(problem, certificate)
    waiting, final = _KeptPaths(problem, line), final_store(duals).tolist()
    arcs = _arcs(problem, line, duals, charged)
    first, tensor, size = line.first.tolist(), line.tensor.tolist(), line.size_bytes.tolist()
    followed = (line.next >= 0).tolist()
    total = 0
    for step, charges in enumerate(charged):
        total -= _most(problem, step, charges) if charges else 0
        here = range(first[step], first[step + 1])
        tables = arcs[:, :, first[step] : first[step + 1]].T.tolist()
        before = [waiting.leave(tensor[access]) for access in here]
        waiting.pass_charged(step, duals, charges)
        for access, (n, r, d, u), table in zip(here, before, tables, strict=True):
            state = [min(n + a, r + b, d + c, u + e, INFINITE) for a, b, c, e in table]
            if followed[access]:
                waiting.enter(tensor[access], state)
            else:
                state[D] += final[step + 1]
                total += size[tensor[access]] * min(state)
    return total


def _arcs(
    problem: Problem, line: Timeline, duals: CheckedDuals, charged: list[dict[int, int]]
) -> Ints:
    """Return (4, 4, a) costs of each access, from state to state, with its charge."""
    pairs = zip(line.step.tolist(), line.tensor.tolist(), strict=True)
    charge = np.array([charged[step].get(tensor, 0) for step, tensor in pairs], np.int64)
    # An absent byte costs infinitely much; the sum with a charge stays within 64 bits.
    resident = np.minimum(resident_duals(line, duals, never_resident(problem)) + charge, INFINITE)
    start = np.where(np.eye(4, dtype=bool), 0, INFINITE)[:, :, None]
    old = tuple(np.repeat(state, line.step.size, axis=1) for state in start)
    return access_costs(line, np.arange(line.step.size), duals, resident, old)


def _charges(problem: Problem, certificate: Certificate) -> list[dict[int, int]]:
    """Return the charges of each step, checked."""
    steps, tensors = len(problem.operations), len(problem.tensors)
    found: list[dict[int, int]] = [{} for _ in range(steps)]
    if certificate.charges is None:
        return found
    columns = certificate.charges.step, certificate.charges.tensor, certificate.charges.dual
    if any(column.ndim != 1 or column.size != columns[0].size for column in columns):
        raise InputError("certificate: charges need a step, a tensor and a dual value each")
    of_tensor = [0] * tensors
    for step, tensor, dual in zip(*(column.tolist() for column in columns), strict=True):
        if not (0 <= step < steps and 0 <= tensor < tensors):
            raise InputError(f"certificate: no step {step} or no tensor {tensor} to charge")
        if dual < 0:
            raise InputError("certificate: charges must not be negative")
        found[step][tensor] = found[step].get(tensor, 0) + dual
        of_tensor[tensor] += dual
    if max(of_tensor, default=0) > LARGEST:
        raise InputError("certificate: charges are too large for 64 bits; give fewer bits")
    return found


def _most(problem: Problem, step: int, charges: ChargesOfStep) -> int:
    """Return ``K_i``: the most of any mapping; of all tensors where no mapping fits."""
    operation = problem.operations[step]
    values = {tensor: problem.tensors[tensor].size_bytes * q for tensor, q in charges.items()}
    most = -1
    for mapping in operation.mappings:
        fixed = _fix(operation.tensors, mapping)
        room = _free_pages(problem, mapping, fixed)
        if room >= 0:
            items = [(_pages(problem, t), v) for t, v in values.items() if t not in fixed]
            most = max(most, sum(values.get(t, 0) for t in fixed) + largest(items, room))
    return sum(values.values()) if most < 0 else most


def _fix(tensors: tuple[int, ...], mapping: OpMapping) -> set[int]:
    pairs = zip(tensors, mapping.operands, strict=True)
    return {tensor for tensor, operand in pairs if operand.required_resident}


def _pages(problem: Problem, tensor: int) -> int:
    return -(-problem.tensors[tensor].size_bytes // problem.machine.page_bytes)


def _free_pages(problem: Problem, mapping: OpMapping, fixed: set[int]) -> int:
    """Return the pages that scratch and resident operands leave; negative if they do not fit."""
    page_bytes = problem.machine.page_bytes
    scratch = -(-mapping.scratch_bytes // page_bytes)
    return (
        problem.machine.spm_bytes // page_bytes
        - scratch
        - sum(_pages(problem, tensor) for tensor in fixed)
    )


def largest(items: list[tuple[int, int]], room: int) -> int:
    """Return the largest sum of values of a set of ``(pages, value)`` in ``room`` pages, or more.

    More only where it would take too long: then it is that of a set with one item in part.
    """
    best = [(0, 0)]  # more pages, more value
    for pages, value in items:
        more = [(p + pages, v + value) for p, v in best if p + pages <= room]
        merged, best = sorted(best + more, key=lambda each: (each[0], -each[1])), []
        for each in merged:
            if not best or each[1] > best[-1][1]:
                best.append(each)
        if len(best) > _MOST_SUMS:
            return _in_part(items, room)
    return best[-1][1]


def _in_part(items: list[tuple[int, int]], room: int) -> int:
    """Return the value of the linear relaxation, rounded up.

    By weak duality ``dual * room + sum max(0, value - dual * pages)`` is one bound for any dual
    value of a page; the least is that of the first item, by value a page, that does not fit.
    """
    left, dual = room, Fraction(0)
    for pages, value in sorted(items, key=lambda each: each[1] / each[0], reverse=True):
        if pages > left:
            dual = Fraction(value, pages)
            break
        left -= pages
    beyond = [max(Fraction(0), value - dual * pages) for pages, value in items]
    return ceil(sum(beyond, dual * room))


class _KeptPaths:
    """States of the tensors between two accesses; bytes that remain through to the next are apart.

    ``n``: in DRAM only. ``lr``, ``ld``: there since the access, clean or dirty, to leave before the
    next one. ``a``: loaded after it was gone. ``kr``, ``kd``: remains from the access to the next.

    Before its first access a tensor is in DRAM (N, at no cost, or R, loaded ahead: the same cost
    for all of them), or it does not exist (U). In U, that is while dead, nothing costs anything.
    """

    _ROWS = 6

    def __init__(self, problem: Problem, line: Timeline) -> None:
        count = line.size_bytes.size
        self._in_dram: list[bool] = line.in_dram.tolist()
        self._place: dict[int, int] = {}
        self._unused: dict[int, int] = {}
        self._free = list(range(count))[::-1]
        self._top = 0
        self._states = np.full((self._ROWS, count), INFINITE, np.int64)
        self._loaded_ahead = INFINITE
        self._pages_at = np.zeros(count, np.int64)
        self._pages = [_pages(problem, tensor) for tensor in range(count)]
        self._room = [
            max(_free_pages(problem, mapping, _fix(op.tensors, mapping)) for mapping in op.mappings)
            for op in problem.operations
        ]

    def leave(self, tensor: int) -> State:
        """Take a tensor out for an access."""
        place = self._place.pop(tensor, None)
        if place is not None:
            self._free.append(place)
            n, lr, _, a, kr, kd = self._states[:, place].tolist()
            return (n, min(a, kr), kd, lr)
        if tensor in self._unused:
            return (INFINITE, INFINITE, INFINITE, self._unused.pop(tensor))
        if self._in_dram[tensor]:
            return (0, self._loaded_ahead, INFINITE, INFINITE)
        return (INFINITE, INFINITE, INFINITE, 0)

    def enter(self, tensor: int, state: Sequence[int]) -> None:
        """Put it back after the access."""
        n, r, d, unused = state
        if unused < INFINITE:
            self._unused[tensor] = unused
            return
        place = self._place[tensor] = self._free.pop()
        self._top = max(self._top, place + 1)
        self._states[:, place] = (n, r, d, INFINITE, r, d)
        self._pages_at[place] = self._pages[tensor]

    def pass_charged(self, step: int, duals: CheckedDuals, charges: ChargesOfStep) -> None:
        """A step that does not touch them, some of them charged."""
        hold, load, store = (int(of[step]) for of in (duals.hold, duals.load, duals.store))
        n, lr, ld, a, kr, kd = self._states[:, : self._top]
        extra = self._extra(step, charges)
        comes = np.minimum(n + load, a) + hold
        np.minimum(np.minimum(n, lr), a, out=n)
        lr[:] = np.minimum(lr, ld + store) + hold
        ld += hold
        a[:] = comes
        kr[:] = np.minimum(kr, kd + store) + hold + extra
        kd += hold + extra
        np.minimum(self._states, INFINITE, out=self._states)
        self._loaded_ahead = min(self._loaded_ahead, load) + hold

    def _extra(self, step: int, charges: ChargesOfStep) -> Ints:
        """Return the cost of staying at each place beside ``hold``.

        Infinite where it does not fit.
        """
        extra = np.where(self._pages_at[: self._top] > self._room[step], INFINITE, 0)
        for tensor, charge in charges.items():
            place = self._place.get(tensor)
            if place is not None and extra[place] < INFINITE:
                extra[place] = charge
        return extra
