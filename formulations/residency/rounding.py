"""From bytes of columns to a legal plan in whole pages.

The columns of a tensor add up to two profiles over the steps: ``r``, resident bytes, and
``d``, dirty bytes (``s - Z``), with ``d <= r`` while the tensor is live. Rounding both down to
pages keeps that, never raises occupancy, and keeps rises rises and falls falls: the loads and
stores of the plan are the differences of the rounded profiles. Dirty bytes are the lower ones,
so that what a load brings lies in the suffix that DRAM holds.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from formulations.residency.columns import Columns, Kind
from formulations.residency.gaps import Gaps
from formulations.residency.master import usage
from formulations.residency.rangemin import Floats
from spmopt.core.plan import Plan, Residency, Stores
from spmopt.core.table import Bools, Ints
from spmopt.core.timeline import Access, Timeline

_SHRINK = (0.0, 1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 0.1)
_NEARLY_WHOLE = 1e-5


@dataclass(frozen=True, kw_only=True, eq=False)
class Profiles:
    """Step functions of all tensors: from ``step`` on, until the next row of the tensor.

    Attributes
    ----------
    tensor, step : (k,)
        Sorted; every access and the step after it have a row.
    resident, dirty : (k,)
        Bytes, as the program gave them.
    version : (k,)
        Grows by one after each write of a tensor.
    fixed : (k,)
        The row is the step of a stationary operand.
    blind : (k,)
        The row is the step of a blind write.
    access : (k,)
        Position of the access in that step, or -1.
    size_bytes : (k,)
    """

    tensor: Ints
    step: Ints
    resident: Floats
    dirty: Floats
    version: Ints
    access: Ints
    fixed: Bools
    blind: Bools
    size_bytes: Ints


def profiles(gaps: Gaps, line: Timeline, columns: Columns, amounts: Floats) -> Profiles:
    """Add up the columns."""
    use, access = usage(gaps, columns), columns.access
    some = (use.end > use.begin) & (amounts > 0)
    tensor = gaps.tensor[access]
    dirty = some & np.isin(columns.kind, (Kind.HOLD_DIRTY, Kind.DROP, Kind.CLEAN, Kind.FINAL))
    own_final = columns.kind == Kind.FINAL
    since = np.where(own_final, gaps.step[access] + 1, gaps.begin[access])
    until = np.where(columns.kind == Kind.HOLD_DIRTY, gaps.step[access], columns.step) + 1
    span = gaps.steps + 2
    own = np.arange(gaps.step.size)
    keys = [gaps.tensor * span + gaps.step, gaps.tensor * span + gaps.step + 1]
    keys += [(tensor * span + x)[some] for x in (use.begin, use.end)]
    keys += [(tensor * span + x)[dirty] for x in (since, until)]
    counts = [key.size for key in keys]
    nothing, amount = np.zeros(2 * own.size), amounts[some]
    held = np.concatenate((nothing, amount, -amount, np.zeros(2 * int(dirty.sum()))))
    newer = np.concatenate((np.zeros(sum(counts[:4])), amounts[dirty], -amounts[dirty]))
    unique, inverse = np.unique(np.concatenate(keys), return_inverse=True)
    tensors, steps = unique // span, unique % span
    at = np.full(unique.size, -1, np.int64)
    at[inverse[: own.size]] = own
    written = (at >= 0) & (gaps.kind[at] != Access.READ)
    return Profiles(
        tensor=tensors,
        step=steps,
        resident=_summed(np.bincount(inverse, held, unique.size).astype(np.float64), tensors),
        dirty=_summed(np.bincount(inverse, newer, unique.size).astype(np.float64), tensors),
        version=np.concatenate(([0], np.cumsum(written)[:-1])),
        access=at,
        fixed=(at >= 0) & gaps.stationary[at],
        blind=(at >= 0) & (gaps.kind[at] == Access.WRITE),
        size_bytes=line.size_bytes[tensors],
    )


def _summed(change: Floats, tensor: Ints) -> Floats:
    """Running sums, from zero for each tensor."""
    total: Floats = np.cumsum(change)
    first = np.flatnonzero(np.concatenate(([True], tensor[1:] != tensor[:-1])))
    base = np.concatenate(([0.0], total))[first]
    result: Floats = total - np.repeat(base, np.diff(np.append(first, tensor.size)))
    return result


def to_plan(
    gaps: Gaps, line: Timeline, profile: Profiles, *, page_bytes: int, capacity_pages: Ints
) -> Plan | None:
    """Round down to pages; None if even a shrunken profile does not fit.

    Where the program's solution is slightly over the capacity (it was solved to a
    tolerance), everything but stationary operands shrinks by a small fraction.
    """
    for shrink in _SHRINK:
        resident = _resident(profile, page_bytes, shrink)
        if _fits(profile, resident, page_bytes, capacity_pages):
            dirty = _dirty(profile, resident, page_bytes, shrink)
            return Plan(
                operation=line.operation,
                mode=np.maximum(line.mode, 0),
                residency=_rows(profile, resident, gaps.steps),
                stores=_stores(gaps, profile, resident, dirty),
            )
    return None


def _floor(amount: Floats, size_bytes: Ints, page_bytes: int, shrink: float) -> Ints:
    """Down to pages; nearly whole tensors become whole."""
    whole = amount >= size_bytes * (1 - _NEARLY_WHOLE) - 0.5
    if shrink > 1e-3:
        whole &= False
    pages = np.floor((np.maximum(amount, 0.0) * (1 - shrink) + 1e-3) / page_bytes)
    floored = np.minimum(pages.astype(np.int64) * page_bytes, size_bytes)
    return np.where(whole, size_bytes, floored)


def _resident(profile: Profiles, page_bytes: int, shrink: float) -> Ints:
    resident = _floor(profile.resident, profile.size_bytes, page_bytes, shrink)
    return np.where(profile.fixed, profile.size_bytes, resident)


def _fits(profile: Profiles, resident: Ints, page_bytes: int, capacity_pages: Ints) -> bool:
    pages = -(-resident // page_bytes)
    before = np.concatenate(([0], pages[:-1]))
    before[np.concatenate(([True], profile.tensor[1:] != profile.tensor[:-1]))] = 0
    change = np.bincount(profile.step, pages - before, capacity_pages.size + 2)
    occupied = np.cumsum(change)[: capacity_pages.size]
    return bool((occupied <= capacity_pages + 0.5).all())


def _dirty(profile: Profiles, resident: Ints, page_bytes: int, shrink: float) -> Ints:
    """Dirty bytes: at most the resident ones, never growing within a version."""
    dirty = np.minimum(_floor(profile.dirty, profile.size_bytes, page_bytes, shrink), resident)
    same = np.concatenate(([False], profile.version[1:] == profile.version[:-1]))
    same &= np.concatenate(([False], profile.tensor[1:] == profile.tensor[:-1]))
    # A new version is dirty at most where its writer left it resident.
    fresh = ~same
    dirty[1:] = np.where(fresh[1:], np.minimum(dirty[1:], resident[:-1]), dirty[1:])
    segment = np.cumsum(fresh)
    big = int(profile.size_bytes.max(initial=0)) + 1
    lowest: Ints = np.minimum.accumulate(dirty - segment * big) + segment * big
    return lowest


def _rows(profile: Profiles, resident: Ints, steps: int) -> Residency:
    tensor = profile.tensor
    new = np.concatenate(([True], (tensor[1:] != tensor[:-1]) | (resident[1:] != resident[:-1])))
    first = np.flatnonzero(new)
    last = np.append(first[1:], tensor.size)
    # A tensor's final row holds nothing, so the next row's step ends each row that matters.
    end = np.where(last < tensor.size, profile.step[np.minimum(last, tensor.size - 1)], steps)
    some = (resident[first] > 0) & (profile.step[first] < steps)
    rows = first[some]
    return Residency(
        tensor=tensor[rows],
        begin=profile.step[rows],
        end=np.minimum(end[some], steps),
        size_bytes=resident[rows],
    )


def _stores(gaps: Gaps, profile: Profiles, resident: Ints, dirty: Ints) -> Stores:
    """What is dirty before a step (or written in it), and no longer after it."""
    here, later = np.arange(profile.tensor.size - 1), np.arange(1, profile.tensor.size)
    same = profile.tensor[here] == profile.tensor[later]
    at = profile.access[here]
    written = (at >= 0) & (gaps.kind[at] != Access.READ)
    before = np.where(written, resident[here], dirty[here])
    amount = before - dirty[later]
    dead = (at >= 0) & gaps.dead[at]
    some = same & (amount > 0) & ~dead
    step, tensor, size = profile.step[later][some] - 1, profile.tensor[here][some], amount[some]
    order = np.lexsort((tensor, step))
    return Stores(step=step[order], tensor=tensor[order], size_bytes=size[order])
