"""The backward pass that AOTAutograd traces beside the one that is derived, as a table.

Both begin at the same forward pass, without dropout: torch's joint graph, and the training graph
that ``spmopt`` derives of torch's forward graph. What is saved are results of the forward pass that
the backward pass reads.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable

import torch
import torchvision
import transformers
from torch import nn

from results.shared.page import markdown
from results.torch import handwritten
from results.torch.networks import Network, _Wrapped
from spmopt.core.graph import Graph
from spmopt.core.instance import TensorKind
from spmopt.frontends.torch_import import graph_of_module
from spmopt.graph import operators
from spmopt.graph.operators.spec import Style
from spmopt.graph.statistics import macs
from spmopt.graph.training import training_graph

BACKWARD = (TensorKind.GRADIENT, TensorKind.WEIGHT_GRADIENT)


def saved_bytes(graph: Graph) -> int:
    """Return the bytes of results of the forward pass that the backward pass reads."""
    root = list(range(len(graph.values)))
    forward, saved = set[int](), set[int]()
    for node in graph.nodes:
        if operators.lookup(node.operator).style is Style.VIEW:
            root[node.outputs[0]] = root[node.inputs[0]]
        elif any(graph.values[value].kind in BACKWARD for value in node.outputs):
            saved.update(forward.intersection(root[value] for value in node.inputs))
        else:
            forward.update(root[value] for value in node.outputs)
    return sum(graph.values[value].size_bytes for value in saved)


def _computing(graph: Graph) -> int:
    styles = [operators.lookup(node.operator).style for node in graph.nodes]
    return sum(style is not Style.VIEW for style in styles)


def _resnet() -> Network:
    return torchvision.models.resnet18(weights=None), (torch.randn(8, 3, 224, 224),)


def _bert() -> Network:
    config = transformers.BertConfig(
        hidden_size=256,
        num_hidden_layers=4,
        num_attention_heads=4,
        intermediate_size=1024,
        hidden_dropout_prob=0.0,
        attention_probs_dropout_prob=0.0,
    )
    network = transformers.BertModel(config, add_pooling_layer=False)
    return _Wrapped(network, "input_ids"), (torch.randint(0, 1000, (8, 128)),)


CASES: dict[str, Callable[[], Network]] = {
    "ResNet-18": _resnet,
    "BERT, 4 layers of 256": _bert,
    "LLaMA block": handwritten.llama_block,
}


def main() -> None:
    """Print the table."""
    warnings.simplefilter("ignore")
    lines = []
    for name, build in CASES.items():
        module, inputs = build()
        joint = graph_of_module(module.train(), inputs, training=True)
        for part in module.modules():
            part.training = isinstance(part, nn.Dropout)
        ours = training_graph(graph_of_module(module.eval(), inputs))
        for what, graph in (("AOTAutograd", joint), ("derived", ours)):
            cells = (_computing(graph), macs(graph), saved_bytes(graph) / 1e6)
            lines.append(
                [name, what, *(f"{each:,.{k}f}" for each, k in zip(cells, (0, 0, 2), strict=True))]
            )
    heads = ["network", "backward pass", "operations", "MACs", "saved MB"]
    print(markdown(heads, lines, left=2))


if __name__ == "__main__":
    main()
