"""Bounds with charges, of tensors kept or dropped in full: against the rules, and brute force."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from importlib import import_module
from itertools import combinations

import numpy as np
import pytest

from spmopt.core.errors import InputError
from spmopt.core.objective import MAKESPAN, TRAFFIC, Objective
from spmopt.core.problem import Problem
from spmopt.core.result import KEPT_WHOLE, WHOLE_TENSORS, Certificate, Charges
from spmopt.verifier import bound
from spmopt.verifier.kept_bound import largest
from tests.brute_force import optimum
from tests.strategies import random_problem
from tests.thorough import share, some
from tests.tiny import Op, tiny
from tests.verifier.naive_bound import naive_bound
from tests.verifier.test_bound import duals, objectives, random_duals

MODULE = import_module("spmopt.verifier.kept_bound")
SMALL = {"max_operations": 4, "max_tensors": 3, "max_tensor_pages": 2, "max_mappings": 2}


def charged(certificate: Certificate, rows: dict[tuple[int, int], int]) -> Certificate:
    """With charges by step and tensor."""
    columns = np.array([(*key, dual) for key, dual in rows.items()], np.int64).reshape(-1, 3).T
    charges = Charges(step=columns[0], tensor=columns[1], dual=columns[2])
    return replace(certificate, holds_for=KEPT_WHOLE, charges=charges)


def proved(problem: Problem, certificate: Certificate) -> Fraction:
    return bound(problem, certificate, KEPT_WHOLE)


def random_charges(
    problem: Problem, certificate: Certificate, generator: np.random.Generator
) -> Certificate:
    """On a third of all tensors in all steps, from nothing to the dearest byte."""
    objective, scale = certificate.objective, 2**certificate.bits
    byte = objective.cycle / problem.machine.bytes_per_cycle + objective.dram_in_byte
    rows = {
        (step, tensor): int(byte * scale * Fraction(generator.random()))
        for step in range(len(problem.operations))
        for tensor in range(len(problem.tensors))
        if generator.random() < 1 / 3
    }
    return charged(certificate, rows)


def test_two_of_three_tensors_fit() -> None:
    """x, y and z of 8 bytes, read in turn twice with room for 20: two can stay, and no third part.

    Charges of 1 a byte on each, through the step between, and K = 2 x 8, prove it: 24 and 8 more.
    """
    tensors = dict.fromkeys("xyz", (8, "in"))
    problem = tiny(tensors, [Op(reads="x y z"), Op(), Op(reads="x y z")], spm=20)
    free = duals(TRAFFIC, [0] * 3, [0] * 3)
    rows = {(1, tensor): 1 for tensor in range(3)}
    assert proved(problem, charged(free, rows)) == 24 + 8
    assert proved(problem, charged(free, {})) == 24
    best = optimum(problem, TRAFFIC, residency="kept")
    assert best is not None
    assert best.value == 24 + 8
    # All that prices say for any schedule: 12 of 24 bytes come again beside one page of another.
    assert bound(problem, duals(TRAFFIC, [0, 1, 0], [0] * 3)) == 24 + 4


def test_equal_to_the_bound_from_the_rules() -> None:
    other = 0
    for seed in some(range(150)):
        problem = random_problem(seed, max_operations=5, max_mappings=2, duplex=True, setup=True)
        generator = np.random.default_rng(seed)
        for objective in objectives(problem):
            plain = random_duals(problem, objective, generator)
            certificate = random_charges(problem, plain, generator)
            found = proved(problem, certificate)
            assert found == naive_bound(problem, certificate), seed
            other += found != proved(problem, replace(certificate, charges=None))
    assert other >= share(200)


def climb(problem: Problem, objective: Objective, generator: np.random.Generator) -> Fraction:
    """The best bound of random dual values and charges, those of a step changed for the better."""
    best = random_charges(problem, random_duals(problem, objective, generator, 20), generator)
    value = proved(problem, best)
    for _ in range(60):
        plain = random_duals(problem, objective, generator, 20)
        other = random_charges(problem, plain, generator)
        at = int(generator.integers(best.spm.size))
        step, own, new = np.arange(best.spm.size) == at, best.charges, other.charges
        assert own is not None
        assert new is not None
        rows = {
            (s, t): p
            for table, mine in ((own, False), (new, True))
            for s, t, p in zip(
                table.step.tolist(), table.tensor.tolist(), table.dual.tolist(), strict=True
            )
            if (s == at) is mine
        }
        # Else charges only.
        names = ("spm", "dram_in", "dram_out") if generator.random() < 0.5 else ()
        columns = {
            name: np.where(step, getattr(other, name), getattr(best, name)) for name in names
        }
        trial = charged(replace(best, **columns), rows)
        if (found := proved(problem, trial)) > value:
            best, value = trial, found
    return value


def violations(seeds: Sequence[int]) -> Iterator[int]:
    """Yield problems whose bound is above the optimum of the class, for either objective."""
    for seed in seeds:
        problem = random_problem(seed, **SMALL, duplex=True, setup=True)
        for objective in (MAKESPAN, TRAFFIC):
            best = optimum(problem, objective, residency="kept")
            assert best is not None
            if climb(problem, objective, np.random.default_rng(seed)) > best.value:
                yield seed


def test_below_the_optimum_of_its_class() -> None:
    assert not list(violations(some(range(40))))


@pytest.mark.parametrize("error", ["one tensor fits", "a page less", "all go through"])
def test_a_wrong_proof_is_noticed(error: str, monkeypatch: pytest.MonkeyPatch) -> None:
    right, paths = MODULE._free_pages, MODULE._KeptPaths.leave
    if error == "one tensor fits":
        monkeypatch.setattr(
            MODULE,
            "largest",
            lambda items, room: max((v for p, v in items if p <= room), default=0),
        )
    elif error == "a page less":
        monkeypatch.setattr(MODULE, "_free_pages", lambda *case: max(0, right(*case) - 1))
    else:

        def leave(self: object, tensor: int) -> tuple[int, ...]:
            """As if no byte could leave and be back."""
            n, _, d, u = paths(self, tensor)
            place = MODULE.INFINITE
            return (max(n, place), place, d, u)

        monkeypatch.setattr(MODULE._KeptPaths, "leave", leave)
    assert any(True for _ in violations(range(40)))


def test_the_largest_sum_is_that_of_all_sets(monkeypatch: pytest.MonkeyPatch) -> None:
    generator = np.random.default_rng(1)
    for _ in range(200):
        count, room = int(generator.integers(0, 7)), int(generator.integers(0, 20))
        items = [tuple(row) for row in generator.integers(1, 9, (count, 2)).tolist()]
        sets = (chosen for size in range(count + 1) for chosen in combinations(items, size))
        best = max(sum(v for _, v in c) for c in sets if sum(p for p, _ in c) <= room)
        assert largest(items, room) == best
        with monkeypatch.context() as patch:
            patch.setattr(MODULE, "_MOST_SUMS", 1)
            assert best <= largest(items, room) <= sum(v for _, v in items)


def test_charges_that_prove_nothing_are_refused() -> None:
    problem = tiny({"x": (8, "in")}, [Op(reads="x")], spm=8)
    free = duals(TRAFFIC, [0], [0])
    for rows, message in (
        ({(0, 0): -1}, "must not be negative"),
        ({(1, 0): 1}, "no step 1 or no tensor 0"),
        ({(0, 1): 1}, "no step 0 or no tensor 1"),
        ({(-1, 0): 1}, "no step -1"),
        ({(0, 0): 2**60}, "too large"),
    ):
        with pytest.raises(InputError, match=message):
            proved(problem, charged(free, rows))
    ragged = Charges(
        step=np.zeros(1, np.int64), tensor=np.zeros(2, np.int64), dual=np.zeros(1, int)
    )
    with pytest.raises(InputError, match="a step, a tensor and a dual value each"):
        proved(problem, replace(free, holds_for=KEPT_WHOLE, charges=ragged))
    for name in ("", WHOLE_TENSORS):
        with pytest.raises(InputError, match="charges prove nothing but for"):
            bound(problem, replace(charged(free, {(0, 0): 1}), holds_for=name), name)
