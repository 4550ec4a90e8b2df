"""Layers, passes over the network and types of the operations of a schedule.

The records know operations only.

* A *layer* is an operation with its gradient operations, as in the tables of Tsai (2021): those
  of the backward pass that are called ``conv1.d0``, ``conv1.d1`` and so on belong to ``conv1``.
  Fusion tiles of an operation are one.
* An operation is of the *backward* pass when it touches a gradient: sums of gradients and
  updates of weights are too.
* It is of *type I* (Tsai, section 5.2: convolutions, fully-connected layers) when it multiplies
  matrices, else of type II (point-wise).
"""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np

from spmopt.core.problem import Problem, TensorKind
from spmopt.core.table import Bools, Ints
from spmopt.core.timeline import Timeline
from spmopt.verifier.durations import per_step

_GRADIENTS = (TensorKind.GRADIENT, TensorKind.WEIGHT_GRADIENT)
_GRADIENT_NAME = re.compile(r"(.+)\.d\d+(?:_\d+)?")


@dataclass(frozen=True, kw_only=True, eq=False)
class StepLayers:
    """Group of each step of a schedule.

    Attributes
    ----------
    names : layers, in the order in which they first run.
    layer : (n,) index into ``names``.
    backward : (n,) bool
    product : (n,) bool, type I.
    """

    names: tuple[str, ...]
    layer: Ints
    backward: Bools
    product: Bools


def layers(problem: Problem, line: Timeline) -> StepLayers:
    """Find the layers of a schedule whose steps are ``line``."""
    operations = [problem.operations[index] for index in line.order.tolist()]
    gradient = np.array([tensor.kind in _GRADIENTS for tensor in problem.tensors], bool)
    backward = np.zeros(line.steps, bool)
    backward[line.step[gradient[line.tensor]]] = True
    names = [problem.tile_of.get(operation.name, operation.name) for operation in operations]
    forward = {name for name, back in zip(names, backward.tolist(), strict=True) if not back}
    order: dict[str, int] = {}
    layer = [order.setdefault(_layer(name, forward), len(order)) for name in names]
    return StepLayers(
        names=tuple(order),
        layer=np.array(layer, np.int64),
        backward=backward,
        product=line.macs > 0,
    )


def bytes_touched(line: Timeline, group: Ints, count: int) -> Ints:
    """Return (count,) bytes of all tensors that the steps of each group touch, each tensor once."""
    tensors = line.size_bytes.size
    # A tensor that several steps of a group touch counts once.
    pairs = np.unique(group[line.step] * tensors + line.tensor)
    return per_step(line.size_bytes[pairs % tensors], pairs // tensors, count)


def _layer(name: str, forward: set[str]) -> str:
    """Return the forward operation that an operation is a gradient of, or itself, by name."""
    match = _GRADIENT_NAME.fullmatch(name)
    # A forward operation may itself be called ``x.d0``: then it is no gradient.
    if match and match[1] in forward and name not in forward:
        return match[1]
    return name
