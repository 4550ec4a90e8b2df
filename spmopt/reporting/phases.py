"""Phases of steps (forward and backward pass, update), and layers whose names begin alike."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np

from spmopt.analysis import Analysis
from spmopt.core.problem import TensorKind
from spmopt.core.table import Ints
from spmopt.core.timeline import Access

PHASES = ("forward", "backward", "update")
FORWARD, BACKWARD, UPDATE = range(3)
_FEW, _MANY = 3, 40  # groups of layers that say something; that find room in a sentence and a table


def phases(analysis: Analysis) -> Ints:
    """Return (n,) number of the phase of each step; an *update* writes a weight.

    The other steps are of the pass that :mod:`spmopt.analysis.layers` says.
    """
    line, tensors = analysis.steps.view.timeline, analysis.problem.tensors
    is_weight = np.array([tensor.kind == TensorKind.WEIGHT for tensor in tensors], bool)
    found = analysis.steps.layers.backward.astype(np.int64) * BACKWARD
    # Last: an update touches gradients too, and would count as backward.
    found[line.step[is_weight[line.tensor] & (line.kind != Access.READ)]] = UPDATE
    return found


def layer_groups(names: Sequence[str]) -> tuple[list[str], Ints]:
    """Group layers by how their names begin: ``stage1`` for ``stage1.0.conv`` and its like.

    As many parts of names count as it takes to tell three groups apart, if so many parts there
    are and groups do not become too many.

    Returns
    -------
    names, group
        Of the groups, in order of their first layer; (layers,) the group of each layer.
    """
    parts = [[part for part in re.split(r"[./]", name) if part] or [name] for name in names]
    most = max(map(len, parts), default=1)
    heads: list[str] = []
    for depth in range(1, most + 1):
        longer = [".".join(each[:depth]) for each in parts]
        if heads and len({*longer}) > _MANY:
            break
        heads = longer
        if len({*heads}) >= _FEW:
            break
    order: dict[str, int] = {}
    group = [order.setdefault(head, len(order)) for head in heads]
    return list(order), np.array(group, np.int64)
