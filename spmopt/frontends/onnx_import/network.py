"""A model taken apart: true inputs, constants, and the nodes that its outputs need."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import onnx

from spmopt.core.errors import InputError, unknown
from spmopt.frontends.onnx_import.facts import Fact, Shape, constant_fact
from spmopt.frontends.onnx_import.topology import describe, ordered_nodes

Dimensions = tuple[int | str | None, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Declared:
    """A tensor type as the file writes it: dimensions are sizes, symbols, or unknown."""

    element_type: int
    dimensions: Dimensions


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelParts:
    """The parts of a model that matter.

    ``inputs`` are true inputs: before IR version 4 a file lists its initializers among the
    inputs too. ``declared`` are shapes that the file states for other values.
    """

    name: str
    inputs: Mapping[str, Declared]
    constants: Mapping[str, Fact]
    nodes: tuple[onnx.NodeProto, ...]
    outputs: tuple[str, ...]
    declared: Mapping[str, Declared]
    opsets: Mapping[str, int]


def take_apart(model: onnx.ModelProto, folder: Path) -> ModelParts:
    """Return the parts of ``model``, whose file lies in ``folder``.

    Raises
    ------
    InputError
        Control flow, cycles, names without a producer, inputs that are not dense tensors.
    """
    graph = model.graph
    if graph.sparse_initializer:
        raise InputError("the model has sparse initializers; convert them to dense ones")
    constants = {tensor.name: constant_fact(tensor, folder) for tensor in graph.initializer}
    given = {value.name: value for value in graph.input if value.name not in constants}
    outputs = tuple(value.name for value in graph.output)
    nodes = ordered_nodes(graph.node, {*given, *constants}, outputs)
    for node in nodes:
        node.domain = _domain(node.domain)
        if any(attribute.HasField("g") or attribute.graphs for attribute in node.attribute):
            raise InputError(
                f"{describe(node)}: holds a subgraph (control flow); a schedule needs one fixed "
                "sequence, so export without it or fold it away (onnx-simplifier)"
            )
    used = {*outputs, *(name for node in nodes for name in node.input)}
    inputs = {name: _declared(value) for name, value in given.items() if name in used}
    return ModelParts(
        name=graph.name or "model",
        inputs=inputs,
        constants=constants,
        nodes=tuple(nodes),
        outputs=outputs,
        declared={
            value.name: _declared(value)
            for value in (*graph.value_info, *graph.output)
            if value.type.tensor_type.HasField("shape")
        },
        opsets={_domain(entry.domain): entry.version for entry in model.opset_import},
    )


def _domain(name: str) -> str:
    """The standard domain has two names."""
    return "" if name == "ai.onnx" else name


def _declared(value: onnx.ValueInfoProto) -> Declared:
    tensor = value.type.tensor_type
    if not value.type.HasField("tensor_type") or not tensor.elem_type:
        raise InputError(f"input {value.name}: is not a dense tensor; only those are supported")
    if not tensor.HasField("shape"):
        raise InputError(f"input {value.name}: has no shape; export the model with input shapes")
    dimensions = tuple(
        entry.dim_value
        if entry.HasField("dim_value") and entry.dim_value > 0
        else (entry.dim_param or None)
        for entry in tensor.shape.dim
    )
    return Declared(element_type=tensor.elem_type, dimensions=dimensions)


def written_batch(inputs: Mapping[str, Declared]) -> int | str | None:
    """Return the batch size (or its symbol) of the file: the first dimension of the first input."""
    return next((entry.dimensions[0] for entry in inputs.values() if entry.dimensions), None)


def input_shapes(
    inputs: Mapping[str, Declared], batch: int | None, sizes: Mapping[str, int]
) -> dict[str, Shape]:
    """Return the concrete shape of every input.

    The batch is that of :func:`written_batch`; every other input that begins with
    the same size or symbol follows it. ``sizes`` fixes other symbolic dimensions by name.

    Raises
    ------
    InputError
        A dimension that nothing fixes, or a name in ``sizes`` that no input uses.
    """
    first = written_batch(inputs)
    symbols = {d for entry in inputs.values() for d in entry.dimensions if isinstance(d, str)}
    for name in sizes:
        if name not in symbols:
            raise unknown("symbolic dimension", name, symbols)
    shapes: dict[str, Shape] = {}
    for name, entry in inputs.items():
        shape: list[int] = []
        for axis, written in enumerate(entry.dimensions):
            is_batch = written == first and (axis == 0 or isinstance(written, str))
            size = batch if is_batch and batch is not None else written
            size = sizes.get(size, size) if isinstance(size, str) else size
            if not isinstance(size, int):
                raise InputError(f"input {name}: {_remedy(axis, size, is_batch)}")
            shape.append(size)
        shapes[name] = tuple(shape)
    return shapes


def _remedy(axis: int, symbol: str | None, is_batch: bool) -> str:
    if is_batch:
        return "the batch size is left open; give it (--batch 32)"
    if symbol is None:
        return (
            f"dimension {axis} is left open and has no name; write a size into the file "
            "(onnx.tools.update_model_dims) and import it again"
        )
    return f"dimension {axis} is the symbol {symbol!r}; give its size (--param {symbol}=128)"
