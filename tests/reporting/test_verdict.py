from dataclasses import replace
from fractions import Fraction

from spmopt.core.fusion.certificate import FusionCertificate
from spmopt.core.fusion.fusion_space import FusionSpace
from spmopt.core.machine import Machine
from spmopt.core.objective import MAKESPAN, TRAFFIC, Objective
from spmopt.core.result import ClassBound, Result, Status
from spmopt.reporting.comparison import verdict
from spmopt.reporting.fusion_plans import with_bounds_of_one_plan
from tests.io.samples import schedule

MACHINE = Machine(name="m", spm_bytes=4096, dram_bytes_per_s=1, clock_hz=1000, operations_per_s=1)


def result(
    scheduler: str,
    value: int | None,
    bound: int | None,
    status: Status = Status.FEASIBLE,
    objective: Objective = MAKESPAN,
) -> Result:
    return Result(
        scheduler=scheduler,
        objective=objective,
        status=status,
        solve_s=0.0,
        value=None if value is None else Fraction(value),
        bound=None if bound is None else Fraction(bound),
    )


def test_open_gap_is_told_as_a_range() -> None:
    results = [
        result("belady", 120, 100),
        result("residency", 110, 100),
        result("lp-bound", None, 100),
    ]
    assert verdict(MACHINE, results) == [
        "Optimum: between 100 and 110 ms (gap 10 %).",
        "Belady: 9.09 to 20 % above the optimum.",
    ]


def test_the_best_heuristic_is_named() -> None:
    page = result("residency", 100, 100, Status.OPTIMAL)
    belady, lru = result("belady", 120, 100), result("lru", 130, 100)
    rule = "belady-size:granularity=page"
    nearer = result(rule, 105, 100)
    assert verdict(MACHINE, [belady, lru, page])[1:] == ["Belady: 20 % above the optimum."]
    assert verdict(MACHINE, [belady, lru, nearer, page])[1:] == [
        "Belady: 20 % above the optimum.",
        f"Best heuristic, {rule}: 5 % above the optimum.",
    ]
    assert verdict(MACHINE, [lru, nearer, page])[1:] == [
        f"Best heuristic, {rule}: 5 % above the optimum."
    ]


def test_the_optimum_of_a_class_is_called_so() -> None:
    known = ClassBound(value=110.0, holds_for="whole pages", proved_by="a solver")
    page = replace(result("residency", 110, 100), class_bound=known, tolerance=1e-4)
    (optimum,) = verdict(MACHINE, [page])
    assert optimum == (
        "Optimum for whole pages: 110 ms (residency), by a solver; any schedule: at least 100 ms."
    )


def test_proven_optimum() -> None:
    exact = result("residency", 100, 100, Status.OPTIMAL, TRAFFIC)
    near = result("residency", 10_001, 10_000, Status.OPTIMAL, TRAFFIC)
    belady = result("belady", 12_000, 10_000, objective=TRAFFIC)
    assert verdict(MACHINE, [exact]) == ["Optimum: 100 B (residency), proved."]
    assert verdict(MACHINE, [near, belady]) == [
        "Optimum: 10 kB (gap 0.01 %).",
        "Belady: 20 % above the optimum.",
    ]


def test_belady_may_be_optimal() -> None:
    belady = result("belady", 100, 100, Status.OPTIMAL)
    assert verdict(MACHINE, [belady])[1] == "Belady: optimum."


def test_the_best_schedule_has_no_least_distance() -> None:
    belady = result("belady", 120, 100)
    for others in ([], [result("lru", 130, 100)]):
        said = verdict(MACHINE, [belady, *others])
        assert said[1] == "Belady: at most 20 % above the optimum."


def test_ten_times_the_optimum_is_a_factor() -> None:
    def said(bound: int) -> list[str]:
        return verdict(MACHINE, [result("belady", 1200, bound), result("residency", 105, bound)])

    assert said(100)[1] == "Belady: 11.43 to 12 times the optimum."
    assert said(10) == [
        "Optimum: between 10 and 105 ms (gap 10.5 times the bound).",
        "Belady: 11.43 to 120 times the optimum.",
    ]


def test_without_a_positive_bound_only_the_least_is_known() -> None:
    results = [result("belady", 120, 0), result("residency", 100, 0)]
    assert verdict(MACHINE, results)[1] == "Belady: at least 20 % above the optimum."


def test_with_several_orders_the_lines_name_the_one_that_they_are_about() -> None:
    other = replace(result("tsai", 90, 90), schedule=schedule(1))
    page, lru = result("residency", 110, 100), result("lru", 115, 100)
    belady = result("belady", 120, 100)
    assert verdict(MACHINE, [lru, belady, other, page]) == [
        "Given order: optimum between 100 and 110 ms (gap 10 %).",
        "Belady: 9.09 to 20 % above the optimum.",
        "Best heuristic, lru: 4.55 to 15 % above the optimum.",
    ]
    proven = result("residency", 100, 100, Status.OPTIMAL)
    assert verdict(MACHINE, [proven, other]) == ["Given order: optimum 100 ms (residency), proved."]


def test_nothing_known_nothing_said() -> None:
    assert verdict(MACHINE, [result("lp-bound", None, 5), result("belady", 5, None)]) == []


def test_the_unit_of_a_range_stands_once_unless_there_are_two() -> None:
    across = result("residency", 1100, 900)
    assert verdict(MACHINE, [across]) == ["Optimum: between 900 ms and 1.1 s (gap 22.2 %)."]


def test_of_one_fusion_plan_the_better_bound_counts() -> None:
    """Layer by layer is all that there is, where nothing can be tiled."""
    for counts, gap in (((1,), 0.1), ((1, 2), 0.375)):
        space = FusionSpace(name="all", micro_batches=counts)
        proof = FusionCertificate(
            fusion_space=space, objective=MAKESPAN, bits=0, duals={}, runs={}, carried={}, agreed={}
        )
        raw = replace(result("fusion", 110, 100), fusion_bound=Fraction(80))
        found = with_bounds_of_one_plan([replace(raw, fusion_certificate=proof), raw])
        assert [each.fusion_gap for each in found] == [gap, gap]
