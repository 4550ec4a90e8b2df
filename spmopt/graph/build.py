"""Building a graph node by node, with shapes inferred by the operators' rules."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from spmopt.core.errors import InputError
from spmopt.core.graph import Attribute, Graph, Node, Value
from spmopt.core.problem import TensorKind
from spmopt.graph import operators
from spmopt.graph.naming import Names, find_unused
from spmopt.graph.operators.spec import Shape


class GraphBuilder:
    """Collects values and nodes; values are named by their index.

    Parameters
    ----------
    name
        Of the graph.
    element_type
        Of inputs and weights, unless they say otherwise.
    """

    def __init__(self, name: str, *, element_type: str = "fp32") -> None:
        self.name = name
        self.element_type = element_type
        self.values: list[Value] = []
        self.nodes: list[Node] = []
        self.value_names = Names()
        self.node_names = Names()

    def input(self, name: str, shape: Shape, *, element_type: str | None = None) -> int:
        """Add a network input and return its index."""
        return self._source(name, shape, element_type, TensorKind.INPUT)

    def weight(self, name: str, shape: Shape, *, element_type: str | None = None) -> int:
        """Add a trained tensor and return its index."""
        return self._source(name, shape, element_type, TensorKind.WEIGHT)

    def state(self, name: str, shape: Shape, *, element_type: str | None = None) -> int:
        """Add a tensor that is in DRAM but not trained (a constant, a running mean)."""
        return self._source(name, shape, element_type, TensorKind.STATE)

    def shape(self, value: int) -> Shape:
        """Return the shape of a value."""
        return self.values[value].shape

    def set_type(self, value: int, element_type: str) -> None:
        """Return the element type of a value, where its operator's rule does not."""
        if self.values[value].element_type != element_type:
            self.values[value] = replace(self.values[value], element_type=element_type)

    def add(
        self, operator: str, inputs: Sequence[int], *, name: str = "", **attributes: Attribute
    ) -> int:
        """Add a node with one result; return the result's index.

        Raises
        ------
        InputError
            An unknown operator, or inputs and attributes that do not suit it.
        """
        results = self.add_many(operator, inputs, name=name, **attributes)
        if len(results) != 1:
            raise InputError(f"{operator} has {len(results)} results; use add_many")
        return results[0]

    def add_many(
        self, operator: str, inputs: Sequence[int], *, name: str = "", **attributes: Attribute
    ) -> tuple[int, ...]:
        """Add a node and return the indices of all its results, as :meth:`add` does for one."""
        name = name or f"{operator.lower()}_{len(self.nodes)}"
        spec = operators.lookup(operator)
        operands = [self.values[index] for index in inputs]
        shapes = tuple(value.shape for value in operands)
        types = tuple(value.element_type for value in operands)
        try:
            results = operators.results(operator, shapes, types, attributes)
        except InputError as error:
            raise InputError(f"node {name} ({operator}): {error}") from error
        # Kinds are settled here, as a builder cannot know beforehand how a weight will be used.
        for index in [inputs[k] for k in spec.states if k < len(inputs)]:
            # A weight in the place of a running statistic is not trained.
            if self.values[index].kind is TensorKind.WEIGHT:
                self.values[index] = replace(self.values[index], kind=TensorKind.STATE)
        return self._results(name, operator, inputs, results, attributes)

    def add_stated(
        self,
        operator: str,
        inputs: Sequence[int],
        results: Sequence[tuple[Shape, str]],
        *,
        name: str = "",
        **attributes: Attribute,
    ) -> tuple[int, ...]:
        """Add a node whose results are stated: the shape and the element type of each.

        Raises
        ------
        InputError
            An unknown operator.
        """
        operators.lookup(operator)
        return self._results(name, operator, inputs, results, attributes)

    def assume_pointwise(
        self,
        inputs: Sequence[int],
        shapes: Sequence[Shape],
        *,
        name: str = "",
        operator: str = "",
    ) -> tuple[int, ...]:
        """Add a node of an ``operator`` without a rule, with results of the given ``shapes``."""
        name = name or f"assumed_{len(self.nodes)}"
        # Without a rule nothing says how types change; that of the first operand is the assumption.
        first = self.values[inputs[0]].element_type if inputs else self.element_type
        of: Mapping[str, Attribute] = {"operator": operator} if operator else {}
        return self._results(name, "AssumedPointwise", inputs, [(s, first) for s in shapes], of)

    def finish(self, outputs: Iterable[int]) -> Graph:
        """Return the graph, with ``outputs`` kept in DRAM at the end."""
        kept = set(outputs)
        values = tuple(
            replace(value, keep=True) if index in kept else value
            for index, value in enumerate(self.values)
        )
        return Graph(name=self.name, values=values, nodes=tuple(self.nodes))

    def add_value(self, value: Value) -> int:
        """Add a value, under another name where its own is taken; return its index."""
        name = find_unused(value.name, self.value_names)
        self.values.append(value if name == value.name else replace(value, name=name))
        return len(self.values) - 1

    def add_node(
        self,
        name: str,
        operator: str,
        inputs: Sequence[int],
        outputs: Sequence[int],
        attributes: Mapping[str, Attribute],
    ) -> str:
        """Add a node whose results are there; return its name, another where its own is taken."""
        name = find_unused(name, self.node_names)
        self.nodes.append(
            Node(
                name=name,
                operator=operator,
                inputs=tuple(inputs),
                outputs=tuple(outputs),
                attributes=attributes,
            )
        )
        return name

    def take_over(self, graph: Graph) -> None:
        """Take over the values of a graph, and the names of its nodes."""
        self.values.extend(graph.values)
        self.value_names.update(value.name for value in graph.values)
        self.node_names.update(node.name for node in graph.nodes)

    def _results(
        self,
        name: str,
        operator: str,
        inputs: Sequence[int],
        results: Sequence[tuple[Shape, str]],
        attributes: Mapping[str, Attribute],
    ) -> tuple[int, ...]:
        """Add a node and its results."""
        outputs = tuple(range(len(self.values), len(self.values) + len(results)))
        name = name or f"{operator.lower()}_{len(self.nodes)}"
        unique = self.add_node(name, operator, inputs, outputs, attributes)
        for k, (shape, kind) in enumerate(results):
            # The first result has the node's name, by which users of results know it.
            own = f"{unique}:{k}" if k else unique
            self.add_value(Value(name=own, shape=shape, element_type=kind))
        return outputs

    def _source(self, name: str, shape: Shape, element_type: str | None, kind: TensorKind) -> int:
        of = self.element_type if element_type is None else element_type
        return self.add_value(Value(name=name, shape=shape, element_type=of, kind=kind))


def renumber(
    name: str, values: Sequence[Value], nodes: Iterable[Node], kept: Iterable[int]
) -> Graph:
    """Return a graph of the nodes and of those values that are kept, in this order."""
    place = {old: new for new, old in enumerate(kept)}
    return Graph(
        name=name,
        values=tuple(values[old] for old in place),
        nodes=tuple(
            Node(
                name=node.name,
                operator=node.operator,
                inputs=tuple([place[value] for value in node.inputs]),
                outputs=tuple([place[value] for value in node.outputs]),
                attributes=node.attributes,
            )
            for node in nodes
        ),
    )
