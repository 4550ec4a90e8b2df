"""The second model against brute force, and each of its families of rows."""

from __future__ import annotations

from typing import Any

import pytest

from formulations.pulp_model import model, timed, traffic
from formulations.pulp_model.timed import TimedPulpModel
from formulations.pulp_model.traffic import TrafficPulpModel
from spmopt.core.objective import MAKESPAN, TRAFFIC
from tests.formulations.pulp_model.models import second
from tests.formulations.small import small_optimum as best
from tests.formulations.whole.cases import verified_value
from tests.strategies import random_problem
from tests.thorough import share, some
from tests.tiny import Op, tiny

SMALL = {"max_operations": 4, "max_tensors": 3, "duplex": True, "setup": True}
EXACT = {"max_operations": 4, "max_tensors": 3, "whole_cycles": True}
BYTES = {**EXACT, "max_operations": 5, "page_bytes": 1, "max_tensor_pages": 6}


def test_time_is_nearly_always_that_of_brute_force() -> None:
    # Not always: fusion tiles of a byte, and fusion tiles that leave one by one, are not tried
    # there.
    same = reached = 0
    for seed in some(range(30)):
        case = random_problem(seed, **BYTES)
        found, optimum = second(case, MAKESPAN), best(case, MAKESPAN, "whole").value
        same += found.value == pytest.approx(float(optimum))
        reached += verified_value(case, MAKESPAN, found.residency_plan) <= optimum
    assert same >= share(20) - 1
    assert reached >= share(28)


NEEDED = [
    (TrafficPulpModel, model.link, (6, EXACT), 35, 28),
    (TrafficPulpModel, model.keep_required_operands, (44, EXACT), 32, 28),
    (TrafficPulpModel, traffic.capacity, (19, BYTES), 9, 6),
    (TrafficPulpModel, traffic.require_one_store, (0, EXACT), 4, 0),
    (TimedPulpModel, model.link, (14, EXACT), 31, 21),
    (TimedPulpModel, model.keep_required_operands, (13, EXACT), 35, 29),
    (TimedPulpModel, timed.capacity, (19, BYTES), 27, 18),
    (TimedPulpModel, timed.part_pages, (28, EXACT), 44, 41),
    (TimedPulpModel, timed.growth, (5, EXACT), 45, 15),
    (TimedPulpModel, timed.dirt, (0, EXACT), 12, 11),
    (TimedPulpModel, timed.nothing_lost, (0, EXACT), 12, 11),
    (TimedPulpModel, timed.channel, (0, EXACT), 12, 11),
    (TimedPulpModel, timed.serial, (0, BYTES), 11, 6),
]
"""A model, a family of it, a problem, and the optimum with and without its rows."""


@pytest.mark.parametrize(("of", "family", "drawn", "with_it", "without"), NEEDED)
def test_each_family_is_needed(
    of: type[TrafficPulpModel | TimedPulpModel],
    family: Any,
    drawn: tuple[int, dict[str, Any]],
    with_it: int,
    without: int,
) -> None:
    problem = random_problem(drawn[0], **drawn[1])
    objective = TRAFFIC if of is TrafficPulpModel else MAKESPAN
    others = [other for other in of.families if other is not family]
    assert best(problem, objective, "whole").value == with_it
    assert second(problem, objective).value == pytest.approx(with_it)
    assert second(problem, objective, families=others).value == pytest.approx(without)


def test_a_piece_returns_after_it_left() -> None:
    # Of x's 8 bytes 4 are stored beside step 1, 4 beside step 2. They wait in step 2, so that only
    # the first 4 can be back there, although 6 would fit step 3 beside its scratch, and 10 cross
    # the channel: 4 are left to load while nothing computes.
    operations = [
        Op(writes="x", required_resident="x"),
        Op(cycles=4),
        Op(cycles=10),
        Op(scratch=4),
        Op(reads="x", required_resident="x"),
    ]
    problem = tiny({"x": (8, "")}, operations, spm=10, page_bytes=1)
    others = [family for family in TimedPulpModel.families if family is not timed.one_copy]
    assert second(problem, MAKESPAN).value == pytest.approx(4 + 10 + 4)
    assert second(problem, MAKESPAN, families=others).value == pytest.approx(4 + 10 + 2)


def test_every_family_has_a_test() -> None:
    tested = {row[:2] for row in NEEDED} | {(TimedPulpModel, timed.one_copy)}
    known = {(of, family) for of in (TrafficPulpModel, TimedPulpModel) for family in of.families}
    assert tested == known


def test_a_part_takes_its_own_pages() -> None:
    # Five bytes of two pages: four of them take one page, not 1.6, and can be loaded ahead.
    operations = [Op(cycles=4), Op(reads="x", required_resident="x")]
    tensors = {"x": (5, "in"), "y": (4, "in")}
    operations.insert(0, Op(reads="y", required_resident="y"))
    operations[1] = Op(reads="y", required_resident="y", cycles=4)
    problem = tiny(tensors, operations, spm=8)
    assert second(problem, MAKESPAN).value == pytest.approx(4 + 4 + 1)
    assert second(problem, MAKESPAN, spread=True).value == pytest.approx(4 + 4 + 2.5)
    assert verified_value(problem, MAKESPAN, second(problem, MAKESPAN).residency_plan) == 4 + 4 + 1
