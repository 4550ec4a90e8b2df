"""From a solution to a legal residency plan: parts rounded down to pages, stores to bytes."""

from __future__ import annotations

from formulations.pulp_model.model import At, WholeModel, WholeTensorCase, share
from spmopt.core.schedule import Residency, ResidencyPlan, Stores

Bytes = dict[At, int]


def residency_plan_of(model: WholeModel) -> ResidencyPlan:
    """Return the residency plan of the values that the model's variables have.

    Rounding down keeps it legal: resident tensors take no more pages, contents that DRAM lacks are
    resident for as long as it lacks them, rises remain rises, and falls remain falls.
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
            # R5: no more stays dirty than the next step holds.
            left = min(model.lacking(one, step, had), between[step + 1])
            lacking[one.tensor, step], stores[one.tensor, step] = left, had - left
    return _residency_plan(case, resident, stores)


def _residency_plan(case: WholeTensorCase, resident: Bytes, stores: Bytes) -> ResidencyPlan:
    rows: list[tuple[int, int, int, int]] = []
    for (tensor, step), size in sorted(resident.items()):
        if not size:
            continue
        if rows and rows[-1][0] == tensor and rows[-1][2:] == (step, size):
            rows[-1] = (tensor, rows[-1][1], step + 1, size)
        else:
            rows.append((tensor, step, step + 1, size))
    # Plans have their stores by step, then tensor.
    moved = sorted((step, tensor, size) for (tensor, step), size in stores.items() if size)
    return ResidencyPlan(
        steps=case.line.chosen,
        residency=Residency.of_rows(rows),
        stores=Stores.of_rows(moved),
    )
