"""From a solution to a legal plan: parts rounded down to pages, stores to bytes."""

from __future__ import annotations

from formulations.pulp_model.model import At, WholeModel, WholeProblem, share
from spmopt.core.schedule import Plan, Residency, Stores

Bytes = dict[At, int]


def plan_of(model: WholeModel) -> Plan:
    """Return the plan of the values that the model's variables have.

    Rounding down keeps it legal: what is resident takes no more pages, what DRAM lacks is
    resident for as long as it does, rises stay rises, and falls stay falls.
    """
    case = model.case
    resident = {
        (tensor, step): case.size_bytes[tensor]
        for (tensor, step), here in model.here.items()
        if share(here) > 0.5
    }
    lacking: Bytes = {}
    stores: Bytes = {}
    for one in case.intervals:
        size = case.size_bytes[one.tensor] if share(model.is_kept(one)) > 0.5 else 0
        between = dict.fromkeys(one.inside, size) if size else model.between(one)
        resident.update({(one.tensor, step): held for step, held in between.items()})
        between[one.end] = size
        for step in range(one.begin, one.end) if one.written else ():
            if step == one.begin and one.before is not None and one.before.writes:
                had = resident.get((one.tensor, step), 0)
            else:
                had = lacking[one.tensor, step - 1]
            left = min(model.lacking(one, step, had), between[step + 1])
            lacking[one.tensor, step], stores[one.tensor, step] = left, had - left
    return _plan(case, resident, stores)


def _plan(case: WholeProblem, resident: Bytes, stores: Bytes) -> Plan:
    rows: list[tuple[int, int, int, int]] = []
    for (tensor, step), size in sorted(resident.items()):
        if not size:
            continue
        if rows and rows[-1][0] == tensor and rows[-1][2:] == (step, size):
            rows[-1] = (tensor, rows[-1][1], step + 1, size)
        else:
            rows.append((tensor, step, step + 1, size))
    moved = sorted((step, tensor, size) for (tensor, step), size in stores.items() if size)
    return Plan(
        steps=case.line.chosen,
        residency=Residency.of_rows(rows),
        stores=Stores.of_rows(moved),
    )
