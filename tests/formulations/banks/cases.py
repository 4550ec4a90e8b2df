"""Small instances with banks for campaigns: the same for the same seed, and none left out.

Their operations touch the scratchpad as often as lowered ones do, so that it matters in which bank
an operand lies; a half have ports, a third pages that tensors do not fill, a quarter operations of
several modes.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np

from spmopt.core.instance import Instance
from spmopt.core.objective import Objective, objective_named
from spmopt.core.operation import Mode
from tests.banked import banked

_OBJECTIVES = ("energy", "time", "traffic", "both")


def campaign_case(seed: int) -> tuple[Instance, Objective]:
    """Return the instance of a seed and what it is to be scheduled for."""
    generator = np.random.default_rng([seed, 20_261])

    def choose(*values: int) -> int:
        return int(generator.choice(values))

    instance = banked(
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
        max_modes=choose(1, 1, 1, 2),
        stationary=choose(0, 1) == 1,
    )
    instance = replace(
        instance,
        operations=tuple(
            replace(operation, modes=tuple(_busy(mode, generator) for mode in operation.modes))
            for operation in instance.operations
        ),
    )
    name = _OBJECTIVES[int(generator.integers(len(_OBJECTIVES)))]
    if name == "both":
        energy = objective_named("energy", instance.machine)
        return instance, replace(energy, name="both", cycle=energy.cycle + Fraction(1, 10**12))
    return instance, objective_named(name, instance.machine)


def _busy(mode: Mode, generator: np.random.Generator) -> Mode:
    """The mode with more reads and writes of the scratchpad."""
    read, write = generator.integers(0, 30, 2).tolist()
    return replace(mode, spm_read_bytes=read, spm_write_bytes=write)
