"""A training step as a graph: forward, backward, and the optimizer's updates."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from spmopt.core.elements import ElementKind, sum_type
from spmopt.core.errors import InputError
from spmopt.core.graph import Graph, Node, Value
from spmopt.core.problem import TensorKind
from spmopt.graph import operators
from spmopt.graph.build import GraphBuilder, renumber
from spmopt.graph.operators.spec import GradientRule, OperatorSpec, Style

_OPTIMIZERS: dict[str, tuple[str, tuple[str, ...]]] = {
    "sgd": ("SGD", ()),
    "momentum": ("Momentum", ("velocity",)),
    "adam": ("Adam", ("first_moment", "second_moment")),
}
_LABELS = "int64"
_WITHOUT_GRADIENT = ("bool", "int64")
"""Types of conditions and positions, which are constant but for jumps."""


def require_optimizer(name: str) -> None:
    """Raise :class:`InputError` unless there is an optimizer called ``name``."""
    if name not in _OPTIMIZERS:
        known = ", ".join(_OPTIMIZERS)
        raise InputError(f"optimizer {name!r} is unknown; use one of {known}")


def training_graph(forward: Graph, *, optimizer: str | None = None) -> Graph:
    """Return one training step of ``forward``.

    * The backward pass begins at the losses among the graph's outputs. If there are none,
      a ``LossGradient`` node for each output gives dY from the output and from labels (a new
      input of the output's shape without its last axis).
    * Gradient nodes follow in reverse order: for each node those of its weights, then that of
      its input. Only nodes that lead to a weight get a gradient: no dX for network inputs, nor for
      anything that is computed from inputs alone.
    * A tensor with several readers gets the sum of their gradients, as one ``Sum`` node when
      the last one is there. Instead, gradients of a shared weight, and those that the gates of
      LSTM cells add to x and h, are accumulated in place: the first writes, the others update.
    * Weight gradients are kept in DRAM; with an optimizer they are consumed by it instead, and
      the updated weights and the optimizer's states are kept. A weight is updated as soon as
      its gradient is complete and its last reader is through. States of weights narrower than
      32 bits are in fp32, and a master copy of the weight is one of them (Micikevicius et al.,
      Mixed Precision Training, ICLR 2018): the update reads and writes both.
    * Of the forward pass only losses stay outputs; nodes that then lead to nothing are left out.

    Parameters
    ----------
    forward
        A graph as built or imported, without gradient nodes.
    optimizer
        ``None``, ``"sgd"``, ``"momentum"`` or ``"adam"``.

    Raises
    ------
    InputError
        An unknown optimizer, a graph without outputs or trained weights, or an operator
        without a gradient on the way to a weight.
    """
    if optimizer is not None:
        require_optimizer(optimizer)
    step = _TrainingStep(forward, optimizer)
    step.seed()
    for node, spec in zip(reversed(step.forward), reversed(step.specs), strict=True):
        step.backward(node, spec)
    return prune(step.finish(()))


class _TrainingStep(GraphBuilder):
    """The growing graph. ``contributions`` of a value are gradients still to be summed."""

    def __init__(self, forward: Graph, optimizer: str | None) -> None:
        super().__init__(forward.name)
        self.optimizer = optimizer
        self.take_over(forward)
        self.contributions: dict[int, list[int]] = {}
        self.accumulators: dict[int, int] = {}
        self.seeds: set[int] = set()
        # Shapes of saved statistics are needed before the backward pass reads them.
        self.forward = tuple(self._training_form(node) for node in forward.nodes)
        self.specs = tuple(operators.lookup(node.operator) for node in self.forward)
        self.nodes.extend(self.forward)
        for value in self.values:
            if value.kind is TensorKind.WEIGHT and value.type.kind is not ElementKind.FLOAT:
                raise InputError(
                    f"graph {self.name}: weight {value.name} is {value.element_type}; only "
                    "floating-point types are trained (--dtype bf16)"
                )
        self.trained = self._find_trained()
        # A weight may be updated only after its last forward use has had its gradient.
        self.readers = Counter(v for node in self.forward for v in set(node.inputs))

    def seed(self) -> None:
        """Begin at the losses, or at gradients made from the outputs."""
        outputs = [index for index, value in enumerate(self.values) if value.keep]
        losses = {
            index
            for node, spec in zip(self.forward, self.specs, strict=True)
            if spec.loss
            for index in node.outputs
        }
        # A loss that is no output takes no part in training.
        self.seeds = losses.intersection(outputs)
        if not any(index in self.trained for index in self.seeds or outputs):
            raise InputError(
                f"graph {self.name}: no output depends on a weight; there is nothing to train"
            )
        for index in outputs:
            if index not in self.seeds:
                # Predictions are not results of a training iteration.
                self.values[index] = replace(self.values[index], keep=False)
                if not self.seeds and index in self.trained:
                    self._seed_output(index)

    def backward(self, node: Node, spec: OperatorSpec) -> None:
        """Append the gradient nodes of ``node``, then the updates that they complete."""
        reached = any(v in self.contributions or v in self.seeds for v in node.outputs)
        # No gradient for inputs of the network: nothing would read it.
        needed = frozenset(k for k, v in enumerate(node.inputs) if v in self.trained)
        if reached and needed:
            if spec.gradients is None:
                raise InputError(
                    f"node {node.name}: operator {node.operator} has no gradient rule; use the "
                    "graph for inference, or give it one (--operators rules.toml)"
                )
            shapes = self._shapes(node.inputs), self._shapes(node.outputs)
            for output in node.outputs:
                self._join(output)
            for rule in spec.gradients(*shapes, node.attributes, needed):
                self._gradient(node, rule)
        for value in set(node.inputs):
            self.readers[value] -= 1
            if not self.readers[value] and self.values[value].kind is TensorKind.WEIGHT:
                self._complete_weight(value)

    def _gradient(self, node: Node, rule: GradientRule) -> None:
        """Append one gradient node."""
        spec = operators.lookup(rule.operator)
        inputs = [self.contributions[v][0] for v in node.outputs if v in self.contributions]
        for place, position in rule.reads:
            inputs.append((node.inputs if place == "x" else node.outputs)[position])
        outputs: list[int] = []
        for position in rule.of:
            value = node.inputs[position]
            weight = self.values[value].kind is TensorKind.WEIGHT
            # A view has no operation that could add.
            in_place = (weight or spec.accumulates) and spec.style is not Style.VIEW
            total = self.accumulators.get(value)
            # One node cannot update a tensor twice; its second gradient is a term of its own.
            if not in_place or total is None or total in outputs:
                result = self._contribute(value)
                if in_place and total is None:
                    self.accumulators[value] = result
            else:
                result = total
                inputs.append(result)
            outputs.append(result)
        name = f"{node.name}.d{rule.of[0]}"
        self.add_node(name, rule.operator, inputs, outputs, node.attributes)

    def _contribute(self, value: int) -> int:
        """Return a new gradient of ``value``, to be summed with the others."""
        weight = self.values[value].kind is TensorKind.WEIGHT
        kind = TensorKind.WEIGHT_GRADIENT if weight else TensorKind.GRADIENT
        gradient = self._like(value, f"{self.values[value].name}.gradient", kind)
        self.contributions.setdefault(value, []).append(gradient)
        return gradient

    def _join(self, value: int) -> None:
        """Sum the contributions to a value's gradient into one."""
        parts = self.contributions.get(value, [])
        if len(parts) < 2:
            return
        total = self._like(value, f"{self.values[value].name}.sum", self.values[parts[0]].kind)
        self.add_node(f"{self.values[value].name}.sum", "Sum", parts, [total], {})
        self.contributions[value] = [total]

    def _complete_weight(self, weight: int) -> None:
        # A weight on no path to a loss has no gradient.
        if weight not in self.contributions:
            return
        self._join(weight)
        (gradient,) = self.contributions[weight]
        if self.optimizer is None:
            self.values[gradient] = replace(self.values[gradient], keep=True)
            return
        _add_update(self, weight, gradient, self.optimizer)

    def _seed_output(self, output: int) -> None:
        value = self.values[output]
        labels = self.add_value(
            Value(
                name=f"{value.name}.labels",
                # Labels are class numbers: the last axis holds the classes.
                shape=value.shape[:-1],
                element_type=_LABELS,
                kind=TensorKind.INPUT,
            )
        )
        gradient = self._contribute(output)
        self.add_node(f"{value.name}.loss", "LossGradient", [output, labels], [gradient], {})

    def _training_form(self, node: Node) -> Node:
        """Return the node with the additions for training: masks, saved statistics."""
        form = operators.lookup(node.operator).training
        if form is None:
            return node
        inputs = tuple(node.inputs[k] for k in form.inputs if k < len(node.inputs))
        types = tuple(self.values[index].element_type for index in inputs)
        shapes = self._shapes(inputs)
        results = operators.results(form.operator, shapes, types, node.attributes)
        outputs = node.outputs + tuple(
            self.add_value(Value(name=f"{node.name}:{k}", shape=shape, element_type=kind))
            for k, (shape, kind) in enumerate(results)
            if k >= len(node.outputs)
        )
        return replace(node, operator=form.operator, inputs=inputs, outputs=outputs)

    def _find_trained(self) -> set[int]:
        """Return the values that are weights or are computed from one."""
        trained = {i for i, v in enumerate(self.values) if v.kind is TensorKind.WEIGHT}
        for node in self.forward:
            if not trained.isdisjoint(node.inputs):
                trained.update(
                    v for v in node.outputs if self.values[v].element_type not in _WITHOUT_GRADIENT
                )
        return trained

    def _shapes(self, indices: Sequence[int]) -> tuple[tuple[int, ...], ...]:
        return tuple(self.values[index].shape for index in indices)

    def _like(self, value: int, name: str, kind: TensorKind) -> int:
        return self.add_value(replace(self.values[value], name=name, kind=kind, keep=False))


def _add_update(step: GraphBuilder, weight: int, gradient: int, optimizer: str) -> None:
    """Append the update of a weight, and its states."""
    operator, states = _OPTIMIZERS[optimizer]
    value = replace(step.values[weight], keep=True)
    step.values[weight] = value
    updated = [weight]
    wide = sum_type(value.element_type)
    if wide != value.element_type:
        # Mixed precision: an update below the resolution of bf16 would be lost without it.
        states = ("master", *states)
    for state in states:
        name = f"{value.name}.{state}"
        like = replace(value, name=name, element_type=wide, kind=TensorKind.STATE)
        updated.append(step.add_value(like))
    inputs = [weight, gradient, *updated[1:]]
    step.add_node(f"{value.name}.update", operator, inputs, updated, {})


def prune(graph: Graph) -> Graph:
    """Drop nodes whose results are neither read nor kept, and values that no node touches.

    Kept values stay. A node that updates a value in place is needed when the value is kept or
    read later.
    """
    wanted = {index for index, value in enumerate(graph.values) if value.keep}
    nodes = []
    # Backwards: an operand is wanted if any later node that is wanted reads it.
    for node in reversed(graph.nodes):
        if not wanted.isdisjoint(node.outputs):
            nodes.append(node)
            wanted.update(node.inputs)
    nodes.reverse()
    touched = wanted.union(*(node.outputs for node in nodes))
    return renumber(graph.name, graph.values, nodes, sorted(touched))
