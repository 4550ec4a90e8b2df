"""From a program of torch to a graph."""

from __future__ import annotations

import operator
from collections import Counter
from collections.abc import Container

import torch

from spmopt.core.errors import InputError
from spmopt.core.graph import Graph, Value
from spmopt.core.instance import TensorKind
from spmopt.frontends.torch_import.emit import Emitter, Result, Results
from spmopt.frontends.torch_import.layout import Arranged, plain
from spmopt.frontends.torch_import.program import (
    CASTS,
    Call,
    Program,
    described,
    name_of,
    operator_of,
    shape_of,
    type_of,
)
from spmopt.frontends.torch_import.rules import RULES
from spmopt.frontends.torch_import.rules.movement import FILLED, VIEWS
from spmopt.graph.training import prune, with_updates

_LABELS = "int64"


def graph_of(program: Program, *, optimizer: str | None = None) -> Graph:
    """Return the graph of a program.

    Raises
    ------
    InputError
        Operators without a rule, all of them named; or a node that its rule does not suit.
    """
    known = _known_before(program)
    _require_rules(program, known)
    walk = _Walk(program, known)
    for node in program.nodes:
        try:
            walk.visit(node)
        except InputError as error:
            raise InputError(f"{described(node)}: {error}") from error
    return walk.finish(optimizer)


def _require_rules(program: Program, known: Container[torch.fx.Node]) -> None:
    calls = [
        node
        for node in program.nodes
        if node.op == "call_function" and node.target is not operator.getitem and node not in known
    ]
    operators = torch._ops.OpOverload | torch._ops.HigherOrderOperator
    if not all(isinstance(node.target, operators) for node in calls):
        raise InputError(
            "computes sizes from data (a mask as an index, nonzero, item); a schedule needs fixed "
            "shapes, so write the network with masks (where) in place of such selections"
        )
    missing = Counter(each for each in map(operator_of, calls) if each not in RULES)
    if missing:
        listed = ", ".join(f"{name} ({count})" for name, count in missing.most_common())
        raise InputError(
            f"operators of torch without a rule: {listed}; write the network without them"
        )


def _known_before(program: Program) -> set[torch.fx.Node]:
    """Return what does not depend on inputs or parameters, but numbers that are repeated."""
    known: set[torch.fx.Node] = set()
    for node in program.nodes:
        if node.op == "placeholder":
            kind, _ = program.sources.get(node, (TensorKind.STATE, ""))
            if kind is TensorKind.STATE and node not in program.tangents:
                known.add(node)
        elif known.issuperset(node.all_input_nodes):
            known.add(node)
    return known


class _Walk(Emitter):
    """Goes through the nodes in order.

    What does not depend on inputs or parameters is known before: one tensor, where it is read.
    """

    def __init__(self, program: Program, known: Container[torch.fx.Node]) -> None:
        super().__init__(program.name)
        self.program, self._known = program, known
        self._several: dict[torch.fx.Node, tuple[Arranged | None, ...]] = {}
        self._repeated: set[torch.fx.Node] = set()
        self._unmade: set[torch.fx.Node] = set()
        self._backward: set[torch.fx.Node] = set()

    def visit(self, node: torch.fx.Node) -> None:
        """Add what a node becomes."""
        if node.op == "placeholder":
            self._source(node)
            return
        sources = node.all_input_nodes
        if not self._backward.isdisjoint(sources):
            self._backward.add(node)
        if node in self._known and not self._repeats(node):
            return
        if operator_of(node) in CASTS and not self._unmade.isdisjoint(sources):
            self._unmade.add(node)  # a running average, in the type of the network
            return
        if node.target is operator.getitem:
            source, place = node.args
            self._put(node, self._several[source][place])
            return
        self.name = name_of(node)
        self.kind = TensorKind.GRADIENT if node in self._backward else TensorKind.ACTIVATION
        found: Results = RULES[operator_of(node)](self, Call(node))
        if isinstance(found, tuple):
            self._several[node] = found
        else:
            self._put(node, found)

    def arranged(self, node: torch.fx.Node) -> Arranged:
        """Return a tensor as it is seen; what is known before is added when it is first read."""
        if node not in self._found:
            if node in self._known:
                index = self.builder.state(node.name, shape_of(node), element_type=type_of(node))
                self._put(node, plain(index, shape_of(node)))
            elif node in self.program.tangents:
                self._put(node, self._seed(node, self.program.tangents[node]))
        return super().arranged(node)

    def finish(self, optimizer: str | None) -> Graph:
        """Return the graph: results are kept, and gradients, or what they update."""
        self.name = ""
        gradients = {
            self.value(parameter): self._gradient(parameter, gradient)
            for parameter, gradient in self.program.gradients.items()
        }
        outputs = [self.value(node) for node in self.program.outputs]
        if not outputs and not gradients:
            raise InputError("no output depends on an input, so there is nothing to schedule")
        if optimizer is None:
            return prune(self.builder.finish((*outputs, *gradients.values())))
        return prune(with_updates(self.builder.finish(outputs), gradients, optimizer))

    def _repeats(self, node: torch.fx.Node) -> bool:
        """Return whether a node is one number repeated, which is kept as that."""
        if node.op == "call_function" and operator_of(node) in FILLED:
            self._repeated.add(node)
        if operator_of(node) in VIEWS and self._repeated.issuperset(node.all_input_nodes):
            self._repeated.add(node)
        return node in self._repeated

    def _put(self, node: torch.fx.Node, found: Arranged | None) -> None:
        if found is None:
            self._unmade.add(node)
        else:
            self._found[node] = found

    def _source(self, node: torch.fx.Node) -> None:
        """Add an input, a parameter or a state."""
        if node in self.program.tangents:
            self._backward.add(node)
            return
        if node not in self.program.sources or not isinstance(node.meta["val"], torch.Tensor):
            return
        kind, name = self.program.sources[node]
        value = Value(name=name, shape=shape_of(node), element_type=type_of(node), kind=kind)
        self._put(node, plain(self.builder.add_value(value), value.shape))

    def _seed(self, node: torch.fx.Node, output: torch.fx.Node) -> Arranged:
        """Return the gradient of an output: of a loss 1; else what output and labels make."""
        shape = shape_of(node)
        if not shape:
            return plain(self.number(1, type_of(node)), ())
        y = self.value(output)
        labels = self.builder.input(f"{output.name}.labels", shape[:-1], element_type=_LABELS)
        name, self.name = self.name, f"{output.name}.loss"
        (found,) = self.emit("LossGradient", [y, labels], [Result(shape, type_of(node))])
        self.name = name
        return plain(found, shape)

    def _gradient(self, parameter: torch.fx.Node, gradient: torch.fx.Node) -> int:
        """Return the gradient of a parameter, as such."""
        self.kind = TensorKind.GRADIENT
        index = self.value(gradient)
        name = self.builder.values[self.value(parameter)].name
        return self.rename(index, f"{name}.gradient", TensorKind.WEIGHT_GRADIENT)
