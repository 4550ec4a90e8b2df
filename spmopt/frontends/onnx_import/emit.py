"""From deduced facts to a graph: one node for every operator that moves data."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from math import prod

import onnx

from spmopt.core.errors import InputError
from spmopt.core.graph import Attribute, Graph
from spmopt.frontends.onnx_import.by_rule import (
    call_attributes,
    composite_of,
    rule_name,
    rule_of,
)
from spmopt.frontends.onnx_import.constants import Constants
from spmopt.frontends.onnx_import.facts import Fact, Shape, node_attributes
from spmopt.frontends.onnx_import.network import ModelParts
from spmopt.frontends.onnx_import.rules import (
    FLATTENED,
    RESIZED,
    SHAPED,
    plain_attributes,
    resampling,
    settle,
)
from spmopt.frontends.onnx_import.topology import describe, first_result
from spmopt.graph.build import GraphBuilder
from spmopt.graph.composites import Call, Composite, Operand
from spmopt.graph.operators.attributes import integer, position
from spmopt.graph.operators.spec import OperatorSpec


@dataclass(kw_only=True)
class Emitter:
    """Walks the nodes in order and adds those that move data to a graph builder.

    An operator without a rule is taken for point-wise.
    """

    network: ModelParts
    facts: Mapping[str, Fact]
    assume_pointwise: bool = False

    def __post_init__(self) -> None:
        self._builder = GraphBuilder(self.network.name)
        self._index: dict[str, int] = {}
        self._constants = Constants(self.network, self.facts)
        self._read = set(self.network.outputs).union(*[n.input for n in self.network.nodes])
        self._read.discard("")

    def graph(self) -> Graph:
        """Return the whole graph.

        Raises
        ------
        InputError
            An operator that cannot be used so, or no output that depends on an input.
        """
        for name in self.network.inputs:
            fact = self.facts[name]
            # Empty inputs (the cache before the first token) hold nothing to move.
            if fact.live and fact.elements:
                kind = fact.type_name
                self._index[name] = self._builder.input(name, fact.shape, element_type=kind)
        for node in self.network.nodes:
            if self._computes(node):
                self._emit(node)
        outputs = [self._index[name] for name in self.network.outputs if name in self._index]
        if not outputs:
            raise InputError(
                "no output depends on an input with elements (every size must be at least 1), so "
                "there is nothing to schedule"
            )
        return self._builder.finish(outputs)

    def _computes(self, node: onnx.NodeProto) -> bool:
        """Whether a node works on data; constants are added where they are first read."""
        result = self.facts[first_result(node)]
        return result.live and result.data is None and result.elements > 0

    def _emit(self, node: onnx.NodeProto) -> None:
        wanted = [bool(name) and name in self._read for name in node.output]
        composite = composite_of(node, wanted)
        spec = None if composite else rule_of(node)
        if spec is not None and spec.refused:
            if not self.assume_pointwise:
                name = rule_name(node)
                raise InputError(f"{describe(node)}: operator {name}: {spec.refused}")
            spec = None
        results: Sequence[int | None]
        if composite is not None:
            names = list(node.output)
            results = self._take_apart(node, composite, wanted)
        elif spec is None:
            inputs = [self._operand(name, node) for name in node.input if name]
            names = [name for name in node.output if name]
            shapes = [self.facts[name].shape for name in names]
            # Reads all operands and writes all results once: the least that it can move.
            results = self._builder.assume_pointwise(
                inputs, shapes, name=_name(node), operator=rule_name(node)
            )
        else:
            names = list(node.output)
            results = self._known(node, spec)
        for name, index in zip(names, results, strict=False):
            if index is None:
                continue
            self._check(node, name, self._builder.shape(index))
            if name in self.facts:
                # ONNX knows types that our rules take from operand 0.
                self._builder.set_type(index, self.facts[name].type_name)
            self._index[name] = index
        missing = [name for name in names if name in self._read and name not in self._index]
        if missing:
            raise InputError(
                f"{describe(node)}: its result {missing[0]} is used, but the rule of "
                f"{node.op_type} does not give it; export without it"
            )

    def _take_apart(
        self, node: onnx.NodeProto, composite: Composite, wanted: Sequence[bool]
    ) -> Sequence[int | None]:
        """Add the nodes of an operator that is several."""
        call = Call(
            builder=self._builder,
            name=_name(node),
            operands=[self._give(name, node) if name else None for name in node.input],
            attributes=call_attributes(node),
            wanted=wanted,
            opset=self.network.opsets.get(node.domain, 1),
        )
        try:
            return composite(call)
        except InputError as error:
            raise InputError(f"{describe(node)}: {error}") from error

    def _give(self, name: str, node: onnx.NodeProto) -> Operand:
        fact = self.facts[name]
        # A constant that is in the graph already is one tensor and cannot be split.
        own = name not in self._index and self._constants.is_own(name)
        return Operand(
            shape=fact.shape,
            element_type=fact.type_name,
            index=partial(self._operand, name, node),
            contents=fact.data,
            live=fact.live,
            own=own,
        )

    def _known(self, node: onnx.NodeProto, spec: OperatorSpec) -> Sequence[int | None]:
        """Add a node of an operator that has a rule."""
        # Of a join empty operands are left out below; others would make a constant.
        if node.op_type != "Concat":
            self._require_elements(node)
        attributes = plain_attributes(node_attributes(node))
        constants = spec.constants or {}
        operands = []
        scales = [node.input[k] for k in spec.scales if k < len(node.input)]
        for place, name in enumerate(node.input):
            if place in spec.scales:
                continue
            # Unknown contents arrive with the data: the operand is then read like any other.
            if name and place in spec.loose and self.facts[name].data is None:
                scales.append(name)
                continue
            if place not in constants:
                operands.append(name)
            # Shapes of these are known by inference, whatever form their argument has.
            elif name and node.op_type not in SHAPED:
                contents = self._constants.contents(node, name)
                attributes |= plain_attributes({constants[place]: contents})
        operands = [name for name in (*operands, *scales) if name]  # some may be left out
        operands = [n for n in operands if n not in scales or self._is_several(n)]
        result = self.facts[first_result(node)].shape
        opset = self.network.opsets.get(node.domain, 1)
        attributes = settle(node, attributes, opset, result)
        if node.op_type in RESIZED:
            given = [self.facts[name] if name else None for name in node.input]
            attributes |= resampling(node, opset, given, result)
        if node.op_type == "Concat":
            operands = [name for name in operands if self.facts[name].elements]
        inputs = [self._operand(name, node) for name in operands]
        # All other operands were empty.
        if node.op_type == "Concat" and len(inputs) == 1:
            return self._builder.add_many("Identity", inputs, name=_name(node))
        if node.op_type == "Concat":
            inputs = self._repeat(inputs, attributes["axis"])
        if spec.stated:
            return self._state(node, spec, inputs, attributes)
        if node.op_type in FLATTENED and opset < 13:
            return self._flatten(node, inputs[0], attributes)
        return self._builder.add_many(spec.name, inputs, name=_name(node), **attributes)

    def _flatten(
        self, node: onnx.NodeProto, value: int, attributes: dict[str, Attribute]
    ) -> Sequence[int]:
        """Add a softmax of rows that all axes from one on make up, as before operator set 13."""
        shape, name = self._builder.shape(value), _name(node)
        axis = position(integer(attributes, "axis", 1), len(shape))
        rows = prod(shape[:axis]), prod(shape[axis:])
        if rows[1] == shape[axis]:
            return self._builder.add_many(node.op_type, [value], name=name, **attributes)
        flat = self._builder.add("Reshape", [value], name=f"{name}.rows", shape=rows)
        found = self._builder.add(node.op_type, [flat], name=f"{name}.of_rows", axis=1)
        return self._builder.add_many("Reshape", [found], name=name, shape=shape)

    def _require_elements(self, node: onnx.NodeProto) -> None:
        """Raise :class:`InputError` where the first operand is empty: the result is a constant."""
        name = next((name for name in node.input if name), "")
        if name and not self.facts[name].elements:
            raise InputError(f"{describe(node)}: its operand {name} has no elements")

    def _is_several(self, name: str) -> bool:
        """Return whether a scale is more than one number that is known beforehand."""
        fact = self.facts[name]
        return fact.live or fact.elements > 1

    def _state(
        self,
        node: onnx.NodeProto,
        spec: OperatorSpec,
        inputs: Sequence[int],
        attributes: Mapping[str, Attribute],
    ) -> Sequence[int | None]:
        """Add a node whose results are as ONNX or the file says."""
        known = [name for name in node.output if name and name in self.facts]
        results = [(self.facts[name].shape, self.facts[name].type_name) for name in known]
        found = self._builder.add_stated(spec.name, inputs, results, name=_name(node), **attributes)
        places = dict(zip(known, found, strict=True))
        return [places.get(name) for name in node.output]

    def _operand(self, name: str, reader: onnx.NodeProto) -> int:
        """Return the index of a value; a constant is added when it is first read."""
        if name not in self._index:
            if not self.facts[name].elements:
                raise InputError(f"{describe(reader)}: its operand {name} has no elements")
            node = self._constants.keep_node(name)
            if node is None:
                self._index[name] = self._constants.add(self._builder, name, reader)
            else:
                self._emit(node)
        return self._index[name]

    def _repeat(self, inputs: list[int], axis: Attribute) -> list[int]:
        """Inputs of a ``Concat``; constants of the file's batch size repeated to the new one."""
        shapes = [self._builder.shape(index) for index in inputs]
        # Constants kept as nodes still have the file's batch size.
        batch = max(shape[0] for shape in shapes)
        if axis in (0, -len(shapes[0])):
            return inputs
        return [
            index
            if shape[0] == batch
            else self._builder.add("Expand", [index], shape=(batch, *shape[1:]))
            for index, shape in zip(inputs, shapes, strict=True)
        ]

    def _check(self, node: onnx.NodeProto, name: str, shape: Shape) -> None:
        """Our rule and the inference of ONNX must agree."""
        expected = self.facts[name].shape if name in self.facts else shape
        if shape != expected:
            raise InputError(
                f"{describe(node)}: {name} has shape {list(expected)} by ONNX, but "
                f"{list(shape)} by the rule of {node.op_type}; please report this model"
            )


def _name(node: onnx.NodeProto) -> str:
    return node.name or first_result(node)
