"""Tensors in whole pages with set-ups: against every byte, and against legal schedules."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from formulations.residency import fluid
from formulations.residency.plain.search import relax
from spmopt.assemble import assemble
from spmopt.core.errors import InputError
from spmopt.core.objective import TRAFFIC
from spmopt.core.scheduler import Request
from spmopt.core.timeline import timeline_in_order
from spmopt.verifier import bound, verify
from tests.checked import need
from tests.thorough import some
from tests.tiny import Op, tiny
from tests.verifier.naive_page_bound import naive_page_bound
from tests.verifier.random_plans import random_residency_plan
from tests.verifier.test_bound import leave_pages_out, objectives, random_duals
from tests.verifier.test_setup_bounds import drawn


@pytest.mark.parametrize("duplex", [False, True])
def test_as_much_as_states_of_any_bytes(duplex: bool) -> None:
    """Whole pages suffice, and the larger of both theorems is taken."""
    compared = 0
    for seed in some(range(60)):
        generator = np.random.default_rng(seed)
        problem = drawn(seed, generator)
        problem = replace(problem, machine=replace(problem.machine, duplex=duplex))
        if any(each.size_bytes > 24 for each in problem.tensors) or problem.machine.banks:
            continue
        for objective in objectives(problem):
            try:
                certificate = random_duals(problem, objective, generator)
                proved = bound(problem, certificate)
            except InputError:  # at extreme rates some are not legal
                continue
            expected = naive_page_bound(problem, certificate)
            # Quotients are rounded down to a unit, a few times for each byte and command, and
            # prices of large tensors to fit 64 bits.
            moved = sum(each.size_bytes for each in problem.tensors) + len(problem.tensors) * (
                problem.machine.dma_setup_cycles
            )
            moved *= len(problem.operations)
            slack = Fraction(20 * moved + 10_000, 2**certificate.bits) + abs(expected) / 10**9
            assert proved >= expected - slack, (seed, objective.name)
            compared += 1
    assert compared > 8


def test_no_legal_schedule_costs_less() -> None:
    for seed in some(range(600)):
        generator = np.random.default_rng(seed)
        problem = drawn(seed, generator)
        plan = random_residency_plan(problem, generator, free_order=False)
        totals = need(verify(problem, assemble(problem, plan)).totals)
        for objective in objectives(problem):
            try:
                certificate = random_duals(problem, objective, generator)
                proved = bound(problem, certificate)
            except InputError:  # at extreme rates some are not legal
                continue
            assert proved <= totals.value(objective), (seed, objective.name)


def test_a_partly_filled_page_takes_its_room(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two tensors of five bytes take two pages each, of three: bytes alone would both stay."""
    turns = [Op(reads="x"), Op(reads="y"), Op(reads="x"), Op(reads="y")]
    problem = tiny({"x": (5, "in"), "y": (5, "in")}, turns, spm=12)
    found = need(relax(problem, Request(objective=TRAFFIC), timeline_in_order(problem)))
    assert bound(problem, found.certificate) == 5 + 5 + 1
    leave_pages_out(monkeypatch)
    assert bound(problem, found.certificate) <= 5 + 5


def test_long_problems_are_left_to_bytes() -> None:
    """Tables of a tensor of 10**11 pages would not fit the memory."""
    problem = tiny({"x": (4 * 10**11, "in")}, [Op(reads="x")], spm=4)
    found = fluid.schedule(problem, Request(objective=TRAFFIC))
    assert bound(problem, need(found.certificate)) == 4 * 10**11
