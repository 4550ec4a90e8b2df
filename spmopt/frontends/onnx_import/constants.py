"""Constants of a model: which become weights, which are attributes, which are folded away."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

import onnx

from spmopt.core.errors import InputError
from spmopt.frontends.onnx_import.by_rule import rule_of
from spmopt.frontends.onnx_import.facts import Array, Fact
from spmopt.frontends.onnx_import.network import ModelParts
from spmopt.frontends.onnx_import.topology import describe
from spmopt.graph.build import GraphBuilder
from spmopt.graph.quantization import DEQUANTIZE


class Constants:
    """Values that do not depend on a network input.

    A subgraph of constants (a weight made by ``ConstantOfShape``, an ``Unsqueeze`` of a weight)
    is folded to one tensor, unless the initializer it comes from is read elsewhere too:
    then its nodes stay, so that the initializer remains one tensor.
    """

    def __init__(self, network: ModelParts, facts: Mapping[str, Fact]) -> None:
        self._facts = facts
        self._producer: dict[str, onnx.NodeProto] = {}
        self._roots: dict[str, frozenset[str]] = {}
        self._wide: dict[str, bool] = {}
        self._reads = Counter[str]()
        read: set[str] = set()
        dead = {name for name, fact in facts.items() if not fact.live}
        for node in network.nodes:
            results, operands = node.output[:], node.input[:]
            if dead.isdisjoint(results) and dead.isdisjoint(operands):
                continue
            live = False
            for name in filter(None, results):
                live = live or facts[name].live
                if not live:
                    self._producer[name] = node
            # Constants that only constants read are counted through their roots.
            known = [name for name in operands if name and not facts[name].live]
            if known:
                self._reads.update(known)
                read.update(known if live else ())
        self._readers = Counter(root for name in read for root in self.roots(name))

    def roots(self, name: str) -> frozenset[str]:
        """Return the initializers (or constants made from nothing) that ``name`` comes from."""
        if name not in self._roots:
            node = self._producer.get(name)
            sources: frozenset[str] = frozenset()
            # The shape that it is filled to is no part of its contents.
            if node is not None and node.op_type != "ConstantOfShape":
                known = [self.roots(source) for source in node.input if source]
                sources = frozenset().union(*known)
            self._roots[name] = sources or frozenset((name,))
        return self._roots[name]

    def keep_node(self, name: str) -> onnx.NodeProto | None:
        """Return the node that must stay to produce the constant ``name``, or None to fold it."""
        node = self._producer.get(name)
        # Folding would turn stored int4 or int8 into floats, and multiply the traffic.
        if self._facts[name].elements > 1 and self._is_dequantized(name):
            return node
        shared = any(
            self._readers[root] > 1 and self._facts[root].elements > 1
            for root in self.roots(name)
            if root != name
        )
        return node if shared and self._facts[name].data is None else None

    def _is_dequantized(self, name: str) -> bool:
        """Whether a constant comes from one that is stored in fewer bits."""
        if name not in self._wide:
            node = self._producer.get(name)
            self._wide[name] = node is not None and (
                node.op_type == DEQUANTIZE
                or any(self._is_dequantized(source) for source in node.input if source)
            )
        return self._wide[name]

    def is_own(self, name: str) -> bool:
        """Return whether ``name`` is a weight that one node alone reads, once."""
        fact = self._facts[name]
        alone = all(self._readers[root] == 1 for root in self.roots(name))
        return not fact.live and fact.floating and alone and self._reads[name] == 1

    def contents(self, node: onnx.NodeProto, name: str) -> Array:
        """Return the contents of an input of ``node`` that says something about shapes.

        Raises
        ------
        InputError
            They depend on data.
        """
        data = self._facts[name].data
        if data is None:
            raise InputError(
                f"{describe(node)}: {name} is not a constant known beforehand; a schedule needs "
                "fixed shapes, so export the model with constant arguments here"
            )
        return data

    def add(self, builder: GraphBuilder, name: str, reader: onnx.NodeProto) -> int:
        """Add the constant ``name`` as one tensor.

        Real numbers are weights, and integers of a product; single and random numbers are not.
        """
        fact = self._facts[name]
        producer = self._producer.get(name)
        # Random numbers (noise, dropout masks) are drawn anew in each run: no parameter.
        drawn = producer is not None and producer.op_type.startswith("Random")
        spec = rule_of(reader)
        stored = reader.op_type == DEQUANTIZE or (spec is not None and spec.gemm is not None)
        trained = (fact.floating or stored) and fact.elements > 1 and not drawn
        source = builder.weight if trained else builder.state
        return source(name, fact.shape, element_type=fact.type_name)
