"""Operators by our own rules: their names, their operands, and shapes of their results."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import onnx

from spmopt.core.errors import InputError
from spmopt.core.graph import Attribute
from spmopt.frontends.onnx_import.facts import NUMBERS, Fact, Shape, node_attributes
from spmopt.frontends.onnx_import.rules import plain_attributes
from spmopt.frontends.onnx_import.topology import describe
from spmopt.graph import operators
from spmopt.graph.build import GraphBuilder
from spmopt.graph.composites import COMPOSITES, WITH_MORE_RESULTS, Call, Composite, Operand
from spmopt.graph.operators.spec import OperatorSpec


def rule_name(node: onnx.NodeProto) -> str:
    """Return the name of a node's operator in rules: ``domain.Name`` outside ONNX's own domain."""
    return f"{node.domain}.{node.op_type}" if node.domain else node.op_type


def rule_of(node: onnx.NodeProto) -> OperatorSpec | None:
    """Return the rule of the operator of a node, or None if there is none."""
    return operators.SPECS.find(rule_name(node))


def composite_of(node: onnx.NodeProto, wanted: Sequence[bool]) -> Composite | None:
    """Return how the operator of a node is taken apart, if it is."""
    name = rule_name(node)
    if name in operators.SPECS.added:  # of a user, in place of what the program makes of it
        return None
    # Statistics or a mask are written only where something reads them.
    if name in WITH_MORE_RESULTS and any(wanted[1:]):
        return WITH_MORE_RESULTS[name]
    return COMPOSITES.get(name)


def call_attributes(node: onnx.NodeProto) -> dict[str, Attribute]:
    """Return the attributes of a node; texts in a row are one, with commas between."""
    raw = node_attributes(node)
    texts = {name: _join(value) for name, value in raw.items() if isinstance(value, list)}
    return plain_attributes({**raw, **{k: v for k, v in texts.items() if v is not None}})


def _join(value: Sequence[Any]) -> str | None:
    if not value or not all(isinstance(item, bytes) for item in value):
        return None
    return ",".join(item.decode(errors="replace") for item in value)


def _operands_of(spec: OperatorSpec, operands: Sequence[Operand | None]) -> list[Operand]:
    """Return the operands that are there, scales behind the others; without single known ones."""
    there = {place: each for place, each in enumerate(operands) if each is not None}
    return [each for place, each in there.items() if place not in spec.scales] + [
        there[place]
        for place in spec.scales
        if place in there
        if there[place].elements > 1 or there[place].contents is None
    ]


def results_by_rule(
    node: onnx.NodeProto, inputs: Sequence[Fact | None], opsets: Mapping[str, int]
) -> list[tuple[int, Shape] | None] | None:
    """Return the element type and shape of each result, or None where there is no rule.

    Raises
    ------
    InputError
        Operands that do not suit the operator.
    """
    wanted = [bool(name) for name in node.output]
    composite, spec = composite_of(node, wanted), operators.SPECS.find(rule_name(node))
    if composite is None and (spec is None or spec.refused or spec.shapes is None):
        return None
    # A scratch graph: only the shapes of its results are read.
    builder = GraphBuilder("shapes")
    operands = [
        None if fact is None else _operand(builder, k, fact) for k, fact in enumerate(inputs)
    ]
    attributes = call_attributes(node)
    try:
        if composite is None and spec is not None:
            given = _operands_of(spec, operands)
            shapes = tuple(each.shape for each in given)
            types = tuple(each.element_type for each in given)
            found = operators.results(spec.name, shapes, types, attributes)
            return [(NUMBERS[kind], shape) for shape, kind in found]
        call = Call(
            builder=builder,
            name=node.op_type,
            operands=operands,
            attributes=attributes,
            wanted=wanted,
            opset=opsets.get(node.domain, 1),
        )
        values = [] if composite is None else composite(call)
    except InputError as error:
        raise InputError(f"{describe(node)}: {error}") from error
    return [
        None
        if index is None
        else (NUMBERS[builder.values[index].element_type], builder.shape(index))
        for index in values
    ]


def _operand(builder: GraphBuilder, place: int, fact: Fact) -> Operand:
    return Operand(
        shape=fact.shape,
        element_type=fact.type_name,
        index=partial(builder.input, f"x{place}", fact.shape, element_type=fact.type_name),
        contents=fact.data,
    )
