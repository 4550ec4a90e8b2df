"""Facts of every name, one node at a time.

Going node by node with concrete sizes lets the batch change: whatever the file states about
intermediate shapes is not used, except for operators that ONNX does not know. Nodes that
stand for others, as loops do, are replaced by them here, where trip counts and shapes are known.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import onnx

from spmopt.core.errors import InputError
from spmopt.frontends.onnx_import.batch import repeat_constants, rescale_shape_input
from spmopt.frontends.onnx_import.doubts import Doubts
from spmopt.frontends.onnx_import.evaluate import constant_node, evaluate, shape_value
from spmopt.frontends.onnx_import.facts import Array, Fact, array_fact, node_attributes
from spmopt.frontends.onnx_import.infer import infer, open_shape
from spmopt.frontends.onnx_import.modelfile import NODES
from spmopt.frontends.onnx_import.network import Declared, ModelParts
from spmopt.frontends.onnx_import.topology import (
    describe,
    first_result,
    order_nodes,
    subgraphs,
)

Facts = dict[str, Fact]


@dataclass(frozen=True, slots=True, kw_only=True)
class Written:
    """Facts at the batch size of the file, and that size and the new one."""

    facts: Mapping[str, Fact]
    batches: tuple[int, int]


Control = Callable[["Deduction", onnx.NodeProto, dict[str, str], str], None]
"""Takes a node of control flow, or on sequences, apart: the walk, the node, what names stand for,
and a prefix."""


def deduce(
    network: ModelParts,
    inputs: Mapping[str, Fact],
    doubts: Doubts,
    control: Mapping[str, Control],
    written: Written | None = None,
) -> tuple[ModelParts, Facts]:
    """Return the model without control flow, and the facts of all its names.

    Parameters
    ----------
    network
        The model.
    inputs
        Facts of its inputs.
    doubts
        Notes errors of the file.
    control
        Replacements of nodes with subgraphs and of those on sequences, by operator.
    written
        Given when ``inputs`` have another batch size than the file: it tells which constants
        have the file's baked in.

    Raises
    ------
    InputError
        Shapes that do not fit together, or a result that is not a dense tensor.
    """
    step = Deduction(
        opsets=network.opsets,
        declared=_declare(network, written),
        facts={**network.constants, **inputs},
        doubts=doubts,
        control=control,
        written=written,
    )
    called: dict[str, str] = {}
    step.walk(network.nodes, called)
    outputs = tuple(called.get(name, name) for name in network.outputs)
    for written_name, name in zip(network.outputs, outputs, strict=True):
        if name in step.sequences:
            raise InputError(
                f"output {written_name} is a sequence of tensors; export its tensors as outputs"
            )
    nodes = step.nodes
    if step.replaced:
        given = step.facts.keys() - {name for node in nodes for name in node.output}
        # Nodes that unrolling added for iterations may feed nothing.
        nodes = order_nodes(nodes, given, outputs)
    return replace(network, nodes=tuple(nodes), outputs=outputs), step.facts


@dataclass(kw_only=True)
class Deduction:
    """A walk over nodes in the order in which they run.

    ``made``: nodes by their first results.
    ``sequences``: tensors of each sequence by name; it has no place in memory, and
    stands for the tensors that it holds.
    """

    opsets: Mapping[str, int]
    declared: Mapping[str, Declared]
    facts: Facts
    doubts: Doubts
    control: Mapping[str, Control]
    written: Written | None = None
    nodes: list[onnx.NodeProto] = field(default_factory=list)
    made: dict[str, onnx.NodeProto] = field(default_factory=dict)
    sequences: dict[str, tuple[str, ...]] = field(default_factory=dict)
    replaced: bool = False

    def walk(
        self,
        nodes: Iterable[onnx.NodeProto],
        names: dict[str, str],
        prefix: str = "",
    ) -> None:
        """Work out the facts of nodes.

        Parameters
        ----------
        nodes
            In the order in which they run.
        names
            What names stand for here, where that is another name; names that nodes of control flow
            define are added.
        prefix
            Of the names that these nodes define: they are in a subgraph.
        """
        for node in nodes:
            expand = None if node.domain else self.control.get(node.op_type)
            if expand is not None or (node.attribute and subgraphs(node)):
                self.replaced = True
                if expand is None:
                    raise InputError(
                        f"{describe(node)}: holds a subgraph, and is no If, Loop or Scan; "
                        "export without it"
                    )
                expand(self, node, names, prefix)
                continue
            # The main graph has no names to replace, so that nodes need not be copied.
            own = _rename(node, names, prefix) if names or prefix else node
            if self.sequences and own.op_type == "Identity" and self.sequences.keys() & own.input:
                self.sequences[own.output[0]] = self.sequences[own.input[0]]
                continue
            self._take(own)

    def fact(self, name: str, node: onnx.NodeProto) -> Fact:
        """Return the fact of a name that ``node`` reads."""
        if name in self.sequences:
            raise InputError(f"{describe(node)}: reads {name}, a sequence of tensors, as a tensor")
        found = self.facts.get(name)
        if found is None:
            raise open_shape(node, name)
        return found

    def _take(self, node: onnx.NodeProto) -> None:
        inputs = [self.fact(name, node) if name else None for name in node.input]
        if self.written is not None:
            inputs = _rescale(node, inputs, self.written)
        self.facts |= _results(node, inputs, self.opsets, self.declared, self.doubts)
        self.nodes.append(node)
        self.made[first_result(node)] = node
        # Checked in the walk: an unrolled loop grows it long before the end.
        if len(self.nodes) > NODES:
            raise InputError(
                f"{describe(node)}: over {NODES} nodes once loops are unrolled; import a model "
                "with fewer iterations, and scale its schedule"
            )


def _rename(node: onnx.NodeProto, names: dict[str, str], prefix: str) -> onnx.NodeProto:
    """Return a copy of a node of a subgraph, by the names that the whole model knows."""
    copy = onnx.NodeProto()
    copy.CopyFrom(node)
    # Names of nodes must differ between iterations, as results do.
    copy.name = prefix + (node.name or first_result(node))
    if prefix:
        names.update((name, prefix + name) for name in node.output if name)
    copy.input[:] = [names.get(name, name) for name in node.input]
    copy.output[:] = [names.get(name, name) if name else "" for name in node.output]
    return copy


def _declare(network: ModelParts, written: Written | None) -> Mapping[str, Declared]:
    """Return shapes that the file states, a leading batch of its own replaced by the new one."""
    if written is None:
        return network.declared
    old, new = written.batches
    return {
        name: replace(entry, dimensions=(new, *entry.dimensions[1:]))
        if entry.dimensions and entry.dimensions[0] == old
        else entry
        for name, entry in network.declared.items()
    }


def _rescale(
    node: onnx.NodeProto, inputs: Sequence[Fact | None], written: Written
) -> list[Fact | None]:
    """Return the inputs with the constant that bakes the file's batch size replaced."""
    before = [written.facts.get(name) for name in node.input]
    outcome = written.facts.get(first_result(node))
    if outcome is None:  # of an iteration that there is at this batch size only
        return list(inputs)
    if node.op_type == "Concat":
        return repeat_constants(node, inputs, before, written.batches)
    result = list(inputs)
    found = rescale_shape_input(node, inputs, before, outcome.shape, written.batches)
    if found is not None:
        position, target = found
        result[position] = array_fact(np.array(target, np.int64))
    return result


def _results(
    node: onnx.NodeProto,
    inputs: Sequence[Fact | None],
    opsets: Mapping[str, int],
    declared: Mapping[str, Declared],
    doubts: Doubts,
) -> Facts:
    """Return the facts of a node's results."""
    present = [fact for fact in inputs if fact is not None]
    if node.op_type == "Constant" and node.output:
        return {node.output[0]: constant_node(node, node_attributes(node))}
    # They need no contents, so they are constants even of data.
    if node.op_type in ("Shape", "Size") and len(present) == len(node.output) == 1:
        return {node.output[0]: array_fact(shape_value(node, present[0], node_attributes(node)))}
    live = any(fact.live for fact in present)
    found = infer(node, inputs, opsets, declared, doubts)
    facts = {
        name: Fact(element_type=kind, shape=shape, live=live)
        for name, (kind, shape) in found.items()
    }
    result = facts[first_result(node)]
    # Only short constants: contents of weights are never read.
    if result.worth_reading and present and all(fact.data is not None for fact in present):
        data = _work_out(node, inputs, opsets)
        if data is not None:
            facts[first_result(node)] = array_fact(data)
    return facts


def _work_out(
    node: onnx.NodeProto, inputs: Sequence[Fact | None], opsets: Mapping[str, int]
) -> Array | None:
    """Return the contents of the first result, if ONNX can work them out."""
    arrays = [None if fact is None else fact.data for fact in inputs]
    try:
        return evaluate(node, arrays, opsets)
    except ValueError as error:
        raise InputError(f"{describe(node)}: cannot be worked out ({error})") from None
