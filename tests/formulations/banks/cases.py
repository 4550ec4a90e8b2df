"""Small problems with banks for campaigns: the same for the same seed, and none left out.

Their operations touch the scratchpad as often as lowered ones do, so that it matters in which bank
an operand lies; a half have ports, a third pages that tensors do not fill, a quarter operations of
several mappings.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np

from spmopt.core.objective import Objective, objective_named
from spmopt.core.operation import OpMapping
from spmopt.core.problem import Problem
from tests.banked import banked

_OBJECTIVES = ("energy", "time", "traffic", "both")


def campaign_case(seed: int) -> tuple[Problem, Objective]:
    """Return the problem of a seed and what it is to be scheduled for."""
    generator = np.random.default_rng([seed, 20_261])

    def choose(*values: int) -> int:
        return int(generator.choice(values))

    problem = banked(
        seed,
        banks=choose(2, 2, 3),
        ports=choose(0, 1) == 1,
        duplex=choose(0, 1) == 1,
        setup=choose(0, 1) == 1,
        max_operations=choose(3, 4, 5),
        max_tensors=choose(3, 4),
        max_tensor_pages=choose(2, 3),
        page_bytes=choose(2, 4),
        aligned=choose(0, 1, 1) == 1,
        max_mappings=choose(1, 1, 1, 2),
        required_resident=choose(0, 1) == 1,
    )
    problem = replace(
        problem,
        operations=tuple(
            replace(
                operation,
                mappings=tuple(_busy(mapping, generator) for mapping in operation.mappings),
            )
            for operation in problem.operations
        ),
    )
    name = _OBJECTIVES[int(generator.integers(len(_OBJECTIVES)))]
    if name == "both":
        energy = objective_named("energy", problem.machine)
        return problem, replace(energy, name="both", cycle=energy.cycle + Fraction(1, 10**12))
    return problem, objective_named(name, problem.machine)


def _busy(mapping: OpMapping, generator: np.random.Generator) -> OpMapping:
    """The mapping with more reads and writes of the scratchpad."""
    read, write = generator.integers(0, 30, 2).tolist()
    return replace(mapping, spm_read_bytes=read, spm_write_bytes=write)
