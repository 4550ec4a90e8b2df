"""Each search says why it ended; a policy does not search."""

from dataclasses import replace

import spmopt
from formulations.fusion import schedule as fusion
from spmopt.assemble.cost import residency_plan_value
from spmopt.core.fusion.fused_groups import FusedGroup
from spmopt.core.result import End, Result, Status
from spmopt.core.scheduler import Request
from spmopt.solving import solve
from tests.checked import need
from tests.instances import golden


def end(scheduler: str, name: str = "mlp", **options: object) -> End:
    request = Request(**{"tolerance": 1e-4, "time_limit_s": 30.0, **options})  # type: ignore[arg-type]
    return solve(golden.problem(name), scheduler, request).end


def test_a_policy_has_none() -> None:
    assert end("belady") is End.NONE


def test_a_closed_gap() -> None:
    assert end("residency", tolerance=0.01) is End.CLOSED


def test_a_wide_tolerance_closes_the_gap_but_makes_nothing_optimal() -> None:
    found = solve(golden.problem("random-34"), "residency", Request(tolerance=10.0))
    assert found.end is End.CLOSED
    assert found.status is Status.FEASIBLE


def test_the_best_of_its_class() -> None:
    """Whole pages of this problem cost more than its certificate can prove."""
    assert end("residency", "random-34", tolerance=0.0) is End.OF_CLASS


def test_the_limit() -> None:
    assert end("residency", "lenet5", tolerance=0.0, time_limit_s=0.0) is End.LIMIT


def test_ctrl_c() -> None:
    assert end("residency", "lenet5", tolerance=0.0, stop=lambda: True) is End.STOPPED


def test_nothing_left() -> None:
    """The relaxation proves a bound; there is no schedule whose gap could be closed."""
    assert end("lp-bound") is End.EXHAUSTED


def test_fusion_is_left_out_where_it_cannot_begin_in_time() -> None:
    """The plan layer by layer is shown, and the note says why."""
    problem = spmopt.lower(spmopt.load("mobilenetv2", batch=1), spmopt.machine("ethos-u65"))
    found = solve(problem, "fusion", Request(time_limit_s=1e-3))
    assert found.verified
    assert need(found.fused).fusion_plan == (FusedGroup(begin=0, end=99),)
    assert found.status is Status.FEASIBLE
    assert found.end is End.LIMIT
    assert any("too short to begin with fusion plans of 99 operations" in n for n in found.notes)


def test_a_busy_machine_has_no_time_for_fusion() -> None:
    """At its pace the search would begin after the limit: the list gets what is left."""
    problem = spmopt.lower(spmopt.load("alexnet", batch=2), spmopt.machine("ethos-u65"))
    request = Request(time_limit_s=30.0, tolerance=0.5)
    listed = solve(problem, "residency", request)

    def at_pace(pace: float) -> Result:
        first = replace(listed, solve_s=pace, cpu_s=1.0)
        return fusion.schedule(problem, replace(request, first=lambda _: first))

    idle, busy = at_pace(1.0), at_pace(1e6)
    assert not any("too short" in note for note in idle.notes)
    assert any("too short" in note for note in busy.notes)
    value = residency_plan_value(need(busy.fused), need(busy.residency_plan), request.objective)
    assert value <= need(listed.value)
