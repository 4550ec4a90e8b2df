"""Forward operands of a gradient operation, by names.

Nodes do not say them. Training names a gradient after its operation (``conv.d1``) and its results
after their forward operands (``weight.gradient``). Graphs of other origin lack such names.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from spmopt.core.graph import Graph, Node

_GRADIENT = re.compile(r"(.*)\.d\d+(_\d+)?")
_OF_VALUE = re.compile(r"(.*)\.(gradient|sum)(_\d+)?")


@dataclass(frozen=True, kw_only=True)
class Line:
    """Forward operands and results of a gradient; empty where names do not say.

    Attributes
    ----------
    of, above
        Position of the forward operand of each result; of the forward result of each of the first
        operands.
    given
        Shapes of the operands of the operation.
    """

    of: tuple[int, ...] = ()
    above: tuple[int, ...] = ()
    given: tuple[tuple[int, ...], ...] = ()


class Lineage:
    """The operations of a graph by name."""

    def __init__(self, graph: Graph) -> None:
        self._values = graph.values
        self._nodes = {node.name: node for node in graph.nodes}

    def of(self, node: Node) -> Line:
        """Return the forward operands and results of a node."""
        match = _GRADIENT.fullmatch(node.name)
        forward = self._nodes.get(match[1]) if match else None
        if forward is None:
            return Line()
        operands, results = list(map(self._name, forward.inputs)), []
        for value in node.outputs:
            base = self._base(value)
            # A name that training did not make: nothing is known, rather than a guess.
            if base not in operands:
                return Line()
            results.append(operands.index(base))
        made = list(map(self._name, forward.outputs))
        above = list[int]()
        for value in node.inputs[: len(made)]:
            base = self._base(value)
            if base not in made:
                break
            above.append(made.index(base))
        return Line(
            of=tuple(results),
            above=tuple(above),
            given=tuple(self._values[v].shape for v in forward.inputs),
        )

    def _name(self, value: int) -> str:
        return self._values[value].name

    def _base(self, value: int) -> str:
        match = _OF_VALUE.fullmatch(self._name(value))
        return match[1] if match else ""
