"""From a solution to a legal plan: parts rounded down to pages, stores to bytes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from formulations.second.case import Case, Gap
from formulations.second.timed import Timed
from formulations.second.traffic import Traffic
from spmopt.core.schedule import Plan, Residency, Stores

_SLACK = 1e-6  # shares of a tensor that a solver may be off

Bytes = dict[tuple[int, int], int]
"""By tensor and step."""


def plan_of(model: Traffic | Timed) -> Plan:
    """The plan of the values that the model's variables have.

    Rounding down keeps it legal: what is resident takes no more pages, what DRAM lacks is
    resident for as long as it does, rises stay rises, and falls stay falls.
    """
    case, decisions = model.case, model.decisions
    resident = {
        (tensor, step): case.size_bytes[tensor]
        for (tensor, step), here in decisions.here.items()
        if _share(here) > 0.5
    }
    lacking: Bytes = {}
    for gap in case.gaps:
        kept = _share(decisions.is_kept(gap)) > 0.5
        if kept or isinstance(model, Traffic):
            between = dict.fromkeys(gap.inside, case.size_bytes[gap.tensor] if kept else 0)
        else:
            between = dict(_parts(model, gap))
        resident.update({(gap.tensor, step): size for step, size in between.items()})
        if gap.written:
            between[gap.end] = case.size_bytes[gap.tensor] if kept else 0
            _lack(model, gap, between, resident, lacking)
    return _plan(case, resident, _stores(case, resident, lacking))


def _parts(model: Timed, gap: Gap) -> Iterator[tuple[int, int]]:
    """Steps inside a gap that the tensor is not kept through, with the bytes of its parts."""
    size, page = model.case.size_bytes[gap.tensor], model.case.instance.machine.page_bytes
    for step in gap.inside:
        part = _share(model.back.get((gap.tensor, step), 0))
        if gap.written:
            part += _share(model.dirty[gap.tensor, step - 1])  # waits until it is stored
        whole = part >= 1 - _SLACK
        yield step, size if whole else int(size * (part + _SLACK)) // page * page


def _lack(
    model: Traffic | Timed, gap: Gap, between: dict[int, int], resident: Bytes, lacking: Bytes
) -> None:
    """Bytes that DRAM lacks after each step from the gap's first use on."""
    tensor, size = gap.tensor, model.case.size_bytes[gap.tensor]
    for step in range(gap.begin, gap.end):
        had = _had(gap, step, resident, lacking)
        if isinstance(model, Timed):
            wanted = int(size * (_share(model.dirty[tensor, step]) + _SLACK))
        else:
            wanted = 0 if _is_stored(model, gap, step) else had
        lacking[tensor, step] = min(had, wanted, between[step + 1])


def _is_stored(model: Traffic, gap: Gap, step: int) -> bool:
    stored = model.stored.get((gap.tensor, step))
    return stored is not None and _share(stored) > 0.5


def _had(gap: Gap, step: int, resident: Bytes, lacking: Bytes) -> int:
    """Bytes that a step could store."""
    if step == gap.begin and gap.before is not None and gap.before.writes:
        return resident.get((gap.tensor, step), 0)
    return lacking[gap.tensor, step - 1]


def _stores(case: Case, resident: Bytes, lacking: Bytes) -> Bytes:
    return {
        (gap.tensor, step): _had(gap, step, resident, lacking) - lacking[gap.tensor, step]
        for gap in case.gaps
        if gap.written
        for step in range(gap.begin, gap.end)
    }


def _plan(case: Case, resident: Bytes, stores: Bytes) -> Plan:
    rows: list[tuple[int, int, int, int]] = []
    for (tensor, step), size in sorted(resident.items()):
        if not size:
            continue
        if rows and rows[-1][0] == tensor and rows[-1][2:] == (step, size):
            rows[-1] = (tensor, rows[-1][1], step + 1, size)
        else:
            rows.append((tensor, step, step + 1, size))
    moved = sorted((step, tensor, size) for (tensor, step), size in stores.items() if size)
    held = np.array(rows, np.int64).reshape(-1, 4).T
    stored = np.array(moved, np.int64).reshape(-1, 3).T
    return Plan(
        operation=case.line.operation,
        mode=case.line.mode,
        residency=Residency(tensor=held[0], begin=held[1], end=held[2], size_bytes=held[3]),
        stores=Stores(step=stored[0], tensor=stored[1], size_bytes=stored[2]),
    )


def _share(value: Any) -> float:
    """The value of a variable, or a number."""
    found = value if isinstance(value, int) else value.varValue
    return float(found or 0.0)
