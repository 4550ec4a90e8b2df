"""Records of results, and what they say of the DMA channel."""

from fractions import Fraction

import pytest

from spmopt.core.objective import MAKESPAN
from spmopt.core.problem import Problem
from spmopt.core.result import Result, Status
from spmopt.core.schedule import Schedule
from spmopt.policies.static import stream
from spmopt.reporting.results import result_parts, result_record
from spmopt.reporting.tables import plain_text
from spmopt.verifier import verify
from tests.analysis.small import scheduled
from tests.tiny import Op, tiny
from tests.verifier.random_plans import random_schedule


def made(problem: Problem, schedule: Schedule) -> Result:
    """A result with this schedule."""
    totals = verify(problem, schedule).totals
    assert totals is not None
    return Result(
        scheduler="residency",
        objective=MAKESPAN,
        status=Status.FEASIBLE,
        schedule=schedule,
        totals=totals,
        value=Fraction(totals.makespan_cycles),
        bound=None,
        certificate=None,
        class_bound=None,
        solve_s=0.0,
        cpu_s=0.0,
        notes=(),
    )


def record(problem: Problem, schedule: Schedule) -> dict[str, object]:
    """What is written of a schedule."""
    return result_record(problem, made(problem, schedule))


def busy(of: dict[str, object]) -> tuple[float, float, float]:
    """Shares of the channel, of its way in and of its way out."""
    shares = [of[name] for name in ("dma_busy", "dma_in_busy", "dma_out_busy")]
    both, inward, outward = (each for each in shares if isinstance(each, float))
    return both, inward, outward


@pytest.mark.parametrize("seed", range(12))
def test_a_channel_is_busy_at_most_all_of_the_time(seed: int) -> None:
    problem, schedule = random_schedule(
        seed, max_operations=8, max_tensors=6, duplex=True, setup=True
    )
    both, inward, outward = busy(record(problem, schedule))
    assert max(both, inward, outward) <= 1
    count = 2 if problem.machine.duplex else 1
    assert both == pytest.approx((inward + outward) / count)


@pytest.mark.parametrize(
    ("duplex", "cycles", "shares"),
    [(True, 8, (0.75, 0.5, 1.0)), (False, 12, (1.0, 4 / 12, 8 / 12))],
)
def test_directions_by_hand(duplex: bool, cycles: int, shares: tuple[float, float, float]) -> None:
    """One step streams 4 bytes in and 8 out, a byte a cycle each way."""
    operation = Op(reads="x", writes="y")
    problem = tiny({"x": (4, "in"), "y": (8, "keep")}, [operation], spm=4, duplex=duplex)
    schedule = scheduled(problem, stream)
    of = record(problem, schedule)
    assert of["makespan_cycles"] == cycles
    assert busy(of) == pytest.approx(shares)
    both, *ways = (f"{100 * part:.3g} %" for part in shares)
    text = plain_text(result_parts(problem, made(problem, schedule)))
    said = f"{ways[0]} in, {ways[1]} out; " if duplex else ""
    assert f"\nDMA busy     {both} ({said}of the makespan)\n" in text
