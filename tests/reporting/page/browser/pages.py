"""Pages to look at: of schedules (30,000 operations and awkward names too), sweep and search."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cache
from typing import Any

from spmopt.reporting.ablation import page_record
from spmopt.reporting.curves import Curves
from spmopt.reporting.differences import contrast_record
from spmopt.reporting.page import page
from spmopt.reporting.page.curves import curves_page
from spmopt.reporting.page.front import TrialCommands, front_page
from spmopt.reporting.page.story import ablation_page
from spmopt.reporting.schedule_view import ScheduleView, schedule_record
from spmopt.reporting.search.front import Front, Limit
from tests import banks_by_hand
from tests.ablations import in_full
from tests.reporting.curves.rows import curves, relaxed, schedule
from tests.reporting.samples import AWKWARD, awkward, picture
from tests.reporting.schedule_view.small import result_of
from tests.reporting.search.fronts import AREA, NUMBER, TIME, front, trial

Record = Any
LONG_REMARK = " ".join(["within the gap of another trial"] * 8)
_MANY = 30_000
_CYCLES = ("start", "stop", "compute_start")
_STEPS = ("begin", "end", "next", "step", "operation", "uses_step")
"""Columns that count from the start of the schedule."""


@cache
def record(scheduler: str) -> Record:
    """All that is shown of one schedule."""
    return schedule_record(picture(scheduler))


@cache
def contrast() -> Record:
    """The differences of two."""
    return contrast_record(picture("belady"), picture("residency"))


def html(name: str) -> str:
    """The page of this name; raises :class:`KeyError`."""
    makers: dict[str, Callable[[], str]] = {
        "one": lambda: page("One schedule", [record("residency")]),
        "two": lambda: page("Two schedules", [record("belady"), record("residency")], contrast()),
        "awkward": _awkward,
        "banks": _banks,
        "many": lambda: page("Many operations", [repeated(record("residency"))]),
        "sweep": lambda: curves_page(sweep()),
        "search": _search,
        "ablation": _ablation,
        "far": lambda: front_page(far_front()),
        "close": lambda: curves_page(close_sweep()),
    }
    return makers[name]()


def _ablation() -> str:
    ablation = in_full()
    return ablation_page(page_record(ablation.problem, ablation.decisions))


def _awkward() -> str:
    found = awkward("page")
    return page(found.problem.name, [schedule_record(found)])


def _banks() -> str:
    stored = result_of(banks_by_hand.problem(), banks_by_hand.moving())
    return page("Two memories", [schedule_record(ScheduleView.of(stored))])


def _search() -> str:
    opened = TrialCommands(trial=0, network="net", commands=("spmopt report x.json",))
    return front_page(front(AWKWARD[0]), [opened])


def far_front() -> Front:
    """A front of many members that are near each other, and constraints far beyond them."""
    found = front()
    limits = (Limit(text="area_mm2 <= 1000", value=1000.0), Limit(text="area_mm2 >= 1", value=1.0))
    members = tuple(trial(k, 1 + 0.002 * k, 60 - 0.02 * k) for k in range(12))
    return replace(
        found,
        axes=(TIME, replace(AREA, limits=limits), NUMBER),
        trials=(*members, replace(trial(12, 1.2, 65.0), said=(LONG_REMARK,))),
        members=tuple(range(12)),
    )


def close_sweep() -> Curves:
    """Curves that fall to an eighth, 4 % above the bound."""
    sizes = range(1, 9)
    return curves(
        *(schedule("residency", 1.0 / size, 1 / size, spm_bytes=4096 * size) for size in sizes),
        *(schedule("lru", 1.04 / size, 1 / size, spm_bytes=4096 * size) for size in sizes),
    )


def sweep() -> Curves:
    """Two schedulers and the relaxation at four sizes of the scratchpad."""
    sizes = range(1, 5)
    return curves(
        *(relaxed(1.1 / size, 1 / size, spm_bytes=4096 * size) for size in sizes),
        *(schedule("residency", 1.1 / size, 1 / size, spm_bytes=4096 * size) for size in sizes),
        *(schedule(AWKWARD[1], 1.5 / size, 1 / size, spm_bytes=4096 * size) for size in sizes),
    )


def repeated(found: Record) -> Record:
    """A schedule over and over again, until it has as many operations as a large network.

    The headline stays that of one: this page is to be fast, not true.
    """
    times = -(-_MANY // len(found["steps"]["name"]))
    strides = {
        **dict.fromkeys(_CYCLES, found["cycles"]),
        **dict.fromkeys(_STEPS, len(found["steps"]["name"])),
        "tensor": len(found["tensors"]["name"]),
    }
    parts = ("steps", "tensors", "residencies", "commands")
    longer = {
        part: {name: _column(name, values, times, strides) for name, values in found[part].items()}
        for part in parts
    }
    uses = found["tensors"]["uses_first"]
    first = [start + k * uses[-1] for k in range(times) for start in uses[:-1]]
    longer["tensors"]["uses_first"] = [*first, times * uses[-1]]
    tables = {
        name: {
            "columns": table["columns"],
            "rows": [[f"{row[0]}.{k}", *row[1:]] for k in range(times) for row in table["rows"]],
        }
        for name, table in found["tables"].items()
    }
    return {**found, **longer, "cycles": found["cycles"] * times, "tables": tables}


def _column(name: str, values: Any, times: int, strides: dict[str, int]) -> Any:
    """A column ``times`` times; numbers that count from the start go on, names differ."""
    if values is None:
        return None
    if values and isinstance(values[0], list):
        return [row * times for row in values]
    if name == "pass":
        return values * times
    if values and isinstance(values[0], str):
        return [f"{value}.{k}" for k in range(times) for value in values]
    by = strides.get(name, 0)
    return [value + k * by if value >= 0 else value for k in range(times) for value in values]
