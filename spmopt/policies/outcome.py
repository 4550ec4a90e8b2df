"""What every greedy scheduler does around its own rule."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from spmopt.core.instance import Instance
from spmopt.core.plan import Plan
from spmopt.core.result import Outcome
from spmopt.core.timeline import Timeline, timeline
from spmopt.policies.modes import SEVERAL_MODES, fitting_modes
from spmopt.policies.prefetch import hide_transfers


def policy_outcome(instance: Instance, decide: Callable[[Timeline], Plan]) -> Outcome:
    """Outcome of the rule ``decide`` in the instance's own order, with transfers hidden.

    Raises
    ------
    InfeasibleError
        An operation fits in none of its modes.
    """
    arrays = timeline(instance, np.arange(len(instance.operations)), fitting_modes(instance))
    several = any(len(operation.modes) > 1 for operation in instance.operations)
    plan = hide_transfers(instance.machine, arrays, decide(arrays))
    return Outcome(plan=plan, notes=(SEVERAL_MODES,) if several else ())
