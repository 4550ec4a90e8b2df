"""Both gradients of a layer in turns, and Belady's rule between operations.

J. Kim et al., "Improving Data Reuse in NPU On-chip Memory with Interleaved Gradient Order for DNN
Training", MICRO 2023: dX and dW of a layer share tiles of dY. Which walk through these is taken
follows from the shape of the layer, by their algorithm 1
(:func:`spmopt.graph.gradient_tiles.algorithm_1`). So the policy schedules another problem, in which
both gradients are one operation, in its first mapping.
"""

from __future__ import annotations

from functools import partial

from spmopt.core.errors import InputError
from spmopt.core.graph import Graph
from spmopt.core.problem import Problem
from spmopt.core.result import Result
from spmopt.core.scheduler import Request
from spmopt.graph.preparation import INTERLEAVED
from spmopt.graph.tileable import lower_listed
from spmopt.policies.belady import belady

_NONE = "scheduler interleaved: {}; name another scheduler, as belady"


def interleave(problem: Problem, request: Request, *, granularity: str = "tensor") -> Result:
    """Schedule a problem of :func:`with_gradients_interleaved` as :func:`.belady` does.

    Raises
    ------
    InputError
        It is another problem.
    InfeasibleError
        An operation fits in none of its mappings.
    """
    if problem.mapper not in INTERLEAVED.values():
        raise InputError(_NONE.format("takes layer by layer networks that train, and no others"))
    return belady(problem, request, granularity=granularity)


def with_gradients_interleaved(problem: Problem) -> Problem:
    """Return the problem of the same network and machine with layers' gradients as one operation.

    Raises
    ------
    InputError
        The network is not known, as of a stored problem; or it has no such gradients.
    """
    if problem.mapper in INTERLEAVED.values():
        return problem
    made_by = problem.listed
    if not isinstance(made_by, partial) or not isinstance(made_by.args[0], Graph):
        raise InputError(_NONE.format("needs the network; this problem has its operations alone"))
    if problem.mapper not in INTERLEAVED:
        known = " or ".join(INTERLEAVED)
        raise InputError(_NONE.format(f"takes mapper {known}, not {problem.mapper}"))
    mapper = INTERLEAVED[problem.mapper]
    found = lower_listed(made_by.args[0], problem.machine, mapper=mapper)
    if len(found.operations) == len(problem.operations):
        why = "no layer has two gradients that share dY (--training)"
        if problem.machine.bypass:
            why = "with bypass the gradients of a layer stay apart; leave it out"
        raise InputError(_NONE.format(why))
    return found.label(name=problem.name, source=problem.source, listed=found.listed)
