"""Quantized graphs at their true widths.

A file states integer computations of a network by pairs: ``DequantizeLinear`` before an operator
that is said to compute in floating point, ``QuantizeLinear`` after it. No machine runs it so: the
operator reads the integers that the first of them reads, and writes those that the second writes;
scaling and rounding are part of it. Here pairs become that. A quantization of a network's input,
or of a tensor that others read unquantized too, stays an operation of its own, element by element.

Operations that only move elements move integers. Scales for each channel or block of weights are
read with them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from spmopt.core.graph import Node, Value
from spmopt.graph import operators
from spmopt.graph.operators.spec import Style

QUANTIZE, DEQUANTIZE = "QuantizeLinear", "DequantizeLinear"
_MOVES = ("Transpose", "Slice", "Split", "Expand", "Tile", "Gather")
"""Operators whose results hold elements of input 0, and nothing else; views do so as well."""


def quantize(nodes: Sequence[Node], values: list[Value]) -> list[Node]:
    """Return the nodes without conversions that are part of others; ``values`` get other types."""
    if not any(node.operator in (QUANTIZE, DEQUANTIZE) for node in nodes):
        return list(nodes)
    # Reads first: a writer can take its quantized type only once its readers read integers.
    return _write(_read(nodes, values), values)


def _read(nodes: Sequence[Node], values: list[Value]) -> list[Node]:
    """Let operators read their dequantized operands."""
    # Outputs of the network stay in floating point, as the file promises them.
    wanted = _want(nodes, values)
    stored: dict[int, int] = {}
    scales: dict[int, tuple[int, ...]] = {}
    found = []
    for node in nodes:
        source = node.inputs[0] if node.inputs else -1
        if node.operator == DEQUANTIZE and node.outputs[0] not in wanted:
            stored[node.outputs[0]] = stored.get(source, source)
            # A single scale is a constant of the operation; one per channel is an operand.
            vectors = (v for v in node.inputs[1:] if values[v].elements > 1)
            scales[node.outputs[0]] = tuple(vectors)
            continue
        inputs = tuple(stored.get(v, v) for v in node.inputs)
        # The scales go with the elements, to the first operation that computes with them.
        if source in scales and _moves(node):
            for v in node.outputs:
                values[v] = replace(values[v], element_type=values[inputs[0]].element_type)
                scales[v] = scales[source]
        else:
            inputs += _scales_of(node, scales)
        found.append(node if inputs == node.inputs else replace(node, inputs=inputs))
    return found


def _want(nodes: Sequence[Node], values: Sequence[Value]) -> set[int]:
    """Return the values that the network gives back, and those that they are moved from."""
    found = {index for index, value in enumerate(values) if value.keep}
    # Backwards, so that a chain of moves is followed to its beginning.
    for node in reversed(nodes):
        if _moves(node) and not found.isdisjoint(node.outputs):
            found.add(node.inputs[0])
    return found


def _write(nodes: Sequence[Node], values: list[Value]) -> list[Node]:
    """Let operators write their quantized results."""
    uses = Counter(v for node in nodes for v in node.inputs)
    place = {v: k for k, node in enumerate(nodes) for v in node.outputs}
    found: list[Node | None] = list(nodes)
    for k, node in enumerate(nodes):
        if node.operator != QUANTIZE:
            continue
        chain = [node.inputs[0]]
        # Views between writer and quantization take the integer type too.
        while (maker := found[place.get(chain[-1], k)]) is not None and _is_view(maker):
            chain.append(maker.inputs[0])
        # Another reader would still need the floating-point values.
        alone = all(uses[v] == 1 and not values[v].keep for v in chain)
        if not alone or maker is None or maker.operator in (QUANTIZE, DEQUANTIZE):
            continue
        (result,) = node.outputs
        for v in chain:
            values[v] = replace(values[v], element_type=values[result].element_type)
        last = place[chain[0]]
        writer = found[last]
        assert writer is not None
        outputs = tuple(result if v == chain[0] else v for v in writer.outputs)
        found[last] = replace(writer, outputs=outputs)
        place[result] = last
        # Places of later nodes must not move while `place` is in use.
        found[k] = None
    return [node for node in found if node is not None]


def _moves(node: Node) -> bool:
    return node.operator in _MOVES or _is_view(node)


def _is_view(node: Node) -> bool:
    return operators.lookup(node.operator).style is Style.VIEW


def _scales_of(node: Node, scales: dict[int, tuple[int, ...]]) -> tuple[int, ...]:
    """Return the scales of channels or blocks of the two factors of a product."""
    if operators.lookup(node.operator).gemm is None:
        return ()
    factors = node.inputs[:2]
    return tuple(dict.fromkeys(s for v in factors for s in scales.get(v, ())))
