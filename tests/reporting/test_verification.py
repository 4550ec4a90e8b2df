from dataclasses import replace
from fractions import Fraction

from spmopt.audit import Audit
from spmopt.audit.repeat import Repeated
from spmopt.core.errors import Conflict
from spmopt.core.objective import MAKESPAN
from spmopt.core.result import OUT_OF_TIME, ClassBound, Result, Status
from spmopt.metrics import in_unit
from spmopt.reporting.quantities import si
from spmopt.reporting.results import result_parts, result_record
from spmopt.reporting.tables import plain_text
from spmopt.reporting.verification import verification_lines, verification_record
from spmopt.verifier import Violation
from tests.io.samples import schedule, stored
from tests.strategies import random_problem

PROBLEM = random_problem(5)
RESULT = Result(
    scheduler="residency:granularity=tensor",
    objective=MAKESPAN,
    status=Status.OPTIMAL,
    solve_s=0.0,
    schedule=schedule(1),
    tolerance=0.25,
    verified=True,
)
FOUND = Audit(violations=(), totals=None, value=Fraction(12), bound=Fraction(10))


def text(result: Result, found: Audit = FOUND) -> str:
    return "\n".join(verification_lines(PROBLEM, result, found))


def test_few_violations_are_printed_and_all_are_in_the_record() -> None:
    broken = [Violation(rule="R1", step=k, tensor=None, message="x") for k in range(9)]
    for count, rest in ((5, False), (6, True), (9, True)):
        found = replace(FOUND, violations=tuple(broken[:count]))
        shown = text(RESULT, found)
        assert shown.count("R1 step") == 5
        assert (f"and {count - 5} more" in shown) is rest
        record = verification_record(PROBLEM, RESULT, found)
        assert record["verified"] is False
        assert isinstance(record["violations"], list)
        assert len(record["violations"]) == count


def test_what_is_not_checked_is_said() -> None:
    plain = text(RESULT)
    assert "optimal: the gap is within the largest tolerance that counts, 0.01" in plain
    asked = text(replace(RESULT, tolerance=1e-3))
    assert "optimal: the gap is within the tolerance asked for, 0.001" in asked
    assert "not checked" not in plain
    of_class = ClassBound(value=11.5, holds_for="whole tensors", proved_by="a solver")
    said = si(*in_unit(RESULT.objective, PROBLEM.machine, Fraction(23, 2)))
    assert said.endswith("s")
    assert (
        f"not checked: the bound for whole tensors, {said}, is as the solver reported it"
        in text(replace(RESULT, class_bound=of_class))
    )
    for known in ("residency:granularity=tensor@pulp:highs", "tsai:prefetch=next"):
        assert "not checked" not in text(replace(RESULT, scheduler=known))
    for unknown in ("magic", "residency:granularity=tensor@magic:cbc", "tsai:prefetch=magic"):
        assert f"no scheduler of this program is called {unknown!r}" in text(
            replace(RESULT, scheduler=unknown)
        )
    assert "the file says of its schedule that it was not verified" in text(
        replace(RESULT, verified=False)
    )


def test_the_bound_of_a_class_is_a_claim_until_it_is_solved_again() -> None:
    known = ClassBound(value=12.0, holds_for="whole pages", proved_by="a solver")
    claim = replace(RESULT, value=Fraction(12), class_bound=known, tolerance=1e-4)
    assert "not checked: the bound for whole pages" in text(claim)
    said = text(claim, replace(FOUND, repeated=Repeated(bound=12.0, solver="another solver")))
    assert "a claim of a solver; another solver finds it again" in said
    assert "solved again in vain" in text(claim, replace(FOUND, repeated=Repeated()))


def test_of_two_bounds_the_larger_is_shown() -> None:
    """A bound over the fusion space holds for each of them."""
    result = replace(RESULT, value=Fraction(12), bound=Fraction(10), fusion_bound=Fraction(11))
    assert result.gap == result.fusion_gap == float(Fraction(1, 11))
    assert result_record(PROBLEM, result)["bound"] == 11
    assert replace(result, fusion_bound=Fraction(9)).best_bound == 10
    found = replace(FOUND, bound=Fraction(10), fusion_bound=Fraction(11))
    assert verification_record(PROBLEM, result, found)["bound"] == 11


def test_an_unfinished_bound_is_called_so() -> None:
    assert OUT_OF_TIME not in text(RESULT)
    assert f"  {OUT_OF_TIME}" in text(replace(RESULT, notes=("a", OUT_OF_TIME))).splitlines()


def test_a_bound_alone_is_called_so() -> None:
    bare = replace(RESULT, schedule=None, status=Status.UNKNOWN, bound=Fraction(10))
    found = replace(FOUND, value=None)
    assert "status    bound" in text(bare, found)
    assert verification_record(PROBLEM, bare, found)["status"] == "unknown"
    sheet = plain_text(result_parts(PROBLEM, replace(bare, scheduler="lp-bound")))
    assert "\nstatus       bound\n" in sheet


def test_why_it_is_infeasible() -> None:
    bare = replace(RESULT, schedule=None, status=Status.INFEASIBLE)
    why = Conflict(
        where="operation q", need="it needs", required_bytes=8, available_bytes=4, members=()
    )
    found = Audit(violations=(), totals=None, value=None, bound=None, infeasible=why)
    shown = text(bare, found)
    assert "proof     operation q: it needs 8 bytes, available are 4, missing are 4" in shown
    assert "nothing to verify" not in shown


def test_there_is_always_a_line_on_the_gap() -> None:
    def gap(value: int, bound: int) -> list[str]:
        found = replace(FOUND, value=Fraction(value), bound=Fraction(bound))
        return [line for line in text(RESULT, found).splitlines() if line.startswith("  gap")]

    assert gap(12, 10) == ["  gap       +20 %"]
    assert gap(0, 0) == ["  gap       0 %"]
    assert gap(12, 0) == ["  gap       none: the bound is 0, or next to it"]


def test_transfers_and_descriptors_are_shown_where_they_were_counted() -> None:
    counted = stored(PROBLEM).result
    assert counted.totals is not None
    many = replace(counted.totals, dma_commands=12345, dma_descriptors=13210)
    sheet = plain_text(result_parts(PROBLEM, replace(counted, schedule=None, totals=many)))
    assert "\nDMA commands 12,345 (in 13,210 DMA descriptors)\n" in sheet
    said = "  transfers 12,345, in 13,210 DMA descriptors"
    assert said in text(RESULT, replace(FOUND, totals=many)).splitlines()
    for record in (
        result_record(PROBLEM, replace(counted, totals=many)),
        verification_record(PROBLEM, RESULT, replace(FOUND, totals=many)),
    ):
        assert (record["dma_commands"], record["dma_descriptors"]) == (12345, 13210)
    older = replace(many, dma_commands=None, dma_descriptors=None)
    assert "descriptors" not in text(RESULT, replace(FOUND, totals=older))
    assert "descriptors" not in plain_text(
        result_parts(PROBLEM, replace(counted, schedule=None, totals=older))
    )
