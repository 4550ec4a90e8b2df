"""The naive baseline of Tsai's model: prefetch for the next layer, offload when full.

C.-Y. Tsai, "A performance analytical model for DNN training with focus on memory subsystem",
master thesis, National Taiwan University, 2021, Figures 4.1a and 4.2a. Belady's replacement as in
:mod:`spmopt.policies.tsai`, with the same departures; a tensor is asked for while the layer
before its use runs, and leaves when its room is needed.
"""

from __future__ import annotations

from spmopt.core.instance import Instance
from spmopt.core.result import Outcome
from spmopt.core.scheduler import Request
from spmopt.policies.tsai import tsai


def next_layer(instance: Instance, request: Request) -> Outcome:
    """Schedule in the instance's own order; the modes are the first that fit.

    Raises
    ------
    InfeasibleError
        An operation fits in none of its modes.
    """
    return tsai(instance, request, order="listed", prefetch="next", offload="full")
