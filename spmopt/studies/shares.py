"""Shares of a schedule that are in no row: of point-wise layers in time, of reuse captured."""

from __future__ import annotations

from collections.abc import Mapping

from spmopt.analysis.analysis import Analysis
from spmopt.analysis.reuse import Scope
from spmopt.core.objective import objective_named
from spmopt.core.scheduler import Request
from spmopt.solve import solve
from spmopt.studies.claim import CLAIMS
from spmopt.studies.paper import MB, case
from spmopt.studies.readings import PLAIN, Reading
from spmopt.sweep.cases import Case, sections


def measure(settings: Mapping[str, tuple[Reading, str]]) -> dict[str, float]:
    """Percent by kind, network and setting, as ``type2 resnet50 tsai``.

    ``settings`` are readings and schedulers by name; where a reading changes nothing of a network
    it is left out.
    """
    found: dict[str, float] = {}
    for claim in (each for each in CLAIMS if each.is_share):
        goal = "traffic" if claim.kind == "captured" else "time"
        for name, (reading, scheduler) in settings.items():
            if reading == PLAIN or reading.applies(claim.network):
                at = reading.of(case(claim.network, (claim.at_mb * MB,)))
                key = f"{claim.kind} {claim.network} {name}"
                found[key] = share(at, scheduler, goal, claim.kind)
    return found


def share(case: Case, scheduler: str, objective: str, kind: str) -> float:
    """Percent of the schedule at the least capacity of ``case``.

    ``type2``: of the time, in point-wise layers; ``captured``: of the bytes that reuse between
    adjacent layers and within blocks can spare, those that stay on chip.
    """
    section = sections(case, lambda _: None)[0]
    instance = section.instance(section.capacities[0])
    request = Request(
        objective=objective_named(objective, instance.machine), tolerance=1e-3, time_limit_s=60.0
    )
    schedule = solve(instance, scheduler, request).schedule
    if schedule is None:
        raise ValueError(f"{scheduler} found no schedule of {case.network.name}")
    analysis = Analysis.of(instance, schedule)
    if kind == "type2":
        cycles = analysis.types().cycles
        return 100 * float(cycles[1] / cycles.sum())
    scopes = [
        each for each in analysis.scopes() if each.scope in (Scope.ADJACENT_LAYER, Scope.BLOCK)
    ]
    possible = sum(each.reusable_bytes for each in scopes)
    return 100 * sum(each.captured_bytes for each in scopes) / possible
