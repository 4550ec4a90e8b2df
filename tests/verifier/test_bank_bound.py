"""The bound of a scratchpad with banks equals one computed byte by byte, whatever the duals."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spmopt.core.errors import InputError
from spmopt.core.objective import Objective
from spmopt.core.problem import Problem
from spmopt.core.result import BankDuals, Certificate
from spmopt.verifier import bound
from tests.banked import banked
from tests.thorough import share
from tests.verifier.naive_bank_bound import NaiveBankBound
from tests.verifier.test_bound import objectives, random_duals


def random_bank_duals(
    problem: Problem, objective: Objective, generator: np.random.Generator
) -> Certificate:
    """Legal duals: of memory in each bank, and of ports what the channel leaves of a cycle."""
    bits = int(generator.choice([2, 8, 20])) + (44 if objective.name == "energy" else 0)
    certificate = random_duals(problem, objective, generator, bits=bits)
    most = objective.cycle * 2**bits / problem.machine.bytes_per_cycle
    used = certificate.dram_in + (certificate.dram_out if problem.machine.duplex else 0)
    left = [max(0, int(most) - int(dual)) for dual in used.tolist()]
    count = len(problem.machine.banks)
    banks = []
    for _ in range(count):
        share = generator.random(len(left)) * generator.integers(0, 2, len(left)) / count
        port = [int(Fraction(s) * rest) for s, rest in zip(share.tolist(), left, strict=True)]
        spm = generator.integers(0, 2 + int(certificate.spm.max()), len(left))
        spm *= generator.integers(0, 2, len(left))
        banks.append(BankDuals(spm=spm, port=np.array(port, np.int64)))
    return replace(certificate, banks=tuple(banks))


def cheap_moves(problem: Problem) -> Objective:
    """Time, and a little for what banks read and write: duals of memory then make bytes move."""
    count = len(problem.machine.banks)
    return Objective(
        name="moves",
        unit="",
        cycle=Fraction(1),
        dram_in_byte=Fraction(1, 3),
        bank_read_byte=tuple(Fraction(1 + bank, 64) for bank in range(count)),
        bank_write_byte=tuple(Fraction(2 + bank, 48) for bank in range(count)),
    )


@settings(max_examples=share(200), deadline=None)
@given(
    seed=st.integers(0, 10**6),
    ports=st.booleans(),
    banks=st.integers(1, 3),
    which=st.integers(0, 7),
)
def test_it_equals_the_bound_byte_by_byte(seed: int, ports: bool, banks: int, which: int) -> None:
    problem = banked(seed, banks=banks, ports=ports)
    objective = objectives(problem)[which] if which < 4 else cheap_moves(problem)
    duals = random_bank_duals(problem, objective, np.random.default_rng(seed))
    assert bound(problem, duals) == NaiveBankBound(problem, duals).value()


def _uneven(**features: Any) -> tuple[Problem, Certificate]:
    problem = banked(3, banks=2, ports=True, **features)
    objective = objectives(problem)[0]
    return problem, random_bank_duals(problem, objective, np.random.default_rng(0))


def test_duals_of_another_number_of_banks_are_refused() -> None:
    problem, duals = _uneven()
    with pytest.raises(InputError, match="dual values of 1 banks, the machine has 2"):
        bound(problem, replace(duals, banks=duals.banks[:1]))


def test_weights_of_another_number_of_banks_are_refused() -> None:
    problem, duals = _uneven()
    weights = (Fraction(1),) * 3
    objective = replace(duals.objective, bank_read_byte=weights, bank_write_byte=weights)
    with pytest.raises(InputError, match="must have weights of 2 banks"):
        bound(problem, replace(duals, objective=objective))


def test_duals_that_would_overflow_are_refused() -> None:
    problem, duals = _uneven()
    large = np.full(len(problem.operations), 2**60, np.int64)
    banks = tuple(replace(bank, spm=large) for bank in duals.banks)
    with pytest.raises(InputError, match="too large for 64 bits"):
        bound(problem, replace(duals, banks=banks))


def test_no_duals_of_banks_are_duals_of_zero() -> None:
    problem, duals = _uneven()
    none = np.zeros(len(problem.operations), np.int64)
    zero = tuple(BankDuals(spm=none, port=none) for _ in duals.banks)
    expected = bound(problem, replace(duals, banks=zero))
    assert bound(problem, replace(duals, banks=())) == expected
