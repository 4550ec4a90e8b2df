"""The suites: of training steps on rtx2080ti, small networks, buffers, tiles, machines."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from spmopt.bench.suite import Suite
from spmopt.bench.suites.certified import deep, gnmt, page, whole
from spmopt.bench.suites.contiguous import contiguous
from spmopt.bench.suites.front import front
from spmopt.bench.suites.gradients import gradients
from spmopt.bench.suites.joint import joint
from spmopt.bench.suites.models import plain, settings
from spmopt.bench.suites.placement import place
from spmopt.bench.suites.policies import gaps, walk
from spmopt.bench.suites.tiles import tiles
from spmopt.bench.suites.tune import tune
from spmopt.core.errors import unknown

_ALL = (
    *(gaps(), page(), whole(), gnmt(), deep(), walk(), plain(), settings()),
    *(contiguous(), joint(), place(), gradients(), tiles(), front(), tune()),
)
SUITES: Mapping[str, Suite] = MappingProxyType({suite.name: suite for suite in _ALL})


def find(name: str) -> Suite:
    """The suite called ``name``.

    Raises
    ------
    InputError
        No such suite; names the nearest.
    """
    if name not in SUITES:
        raise unknown("suite", name, SUITES)
    return SUITES[name]
