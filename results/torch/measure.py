"""Networks of torch through its ONNX exporter, forward and as a derived training step.

Multiply-accumulates and bytes of weights are held against torch's. Its counter takes the weight
gradient of a grouped convolution for one over all channels; here it is counted as the product that
it is, which has as many multiply-accumulates as the convolution itself.
"""

from __future__ import annotations

import warnings
from copy import deepcopy
from typing import Any

import torch
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils.flop_counter import FlopCounterMode, conv_flop_count

from results.shared.bench import Figures, peak_mb, timed
from results.torch.networks import NETWORKS
from spmopt.core.graph import Graph
from spmopt.core.problem import TensorKind
from spmopt.frontends.torch_import import graph_of_module
from spmopt.graph.statistics import macs
from spmopt.graph.training import training_graph

IN_EVALUATION = ("Whisper",)
"""In training mode it drops layers at random, which torch.export refuses."""


def _convolution_backward(*given: Any, **other: Any) -> int:
    """Count as many for each gradient that is wanted as the convolution has."""
    dy, x, w, *_, transposed, _padding, _groups, mask = given
    return int(sum(mask[:2])) * int(conv_flop_count(x, w, dy, transposed=transposed))


def counted(module: Any, inputs: Any, *, training: bool) -> tuple[int, int]:
    """Return torch's multiply-accumulates, grouped convolutions mended and as they are."""
    meta = deepcopy(module).to("meta")
    try:
        return _counted(meta, [each.to("meta") for each in inputs], training)
    except RuntimeError:  # what has no rule for shapes alone: recurrent networks, autocast
        return _counted(module, inputs, training)


def _counted(module: Any, inputs: Any, training: bool) -> tuple[int, int]:
    found = []
    own = {torch.ops.aten.convolution_backward: _convolution_backward}
    for mapping in (own, None):
        counter = FlopCounterMode(display=False, custom_mapping=mapping)
        with counter, sdpa_kernel(SDPBackend.MATH), torch.backends.mkldnn.flags(enabled=False):
            result = module(*inputs)
            if training:
                result.sum().backward()
        found.append(int(counter.get_total_flops()) // 2)
    return found[0], found[1]


def weight_bytes(module: Any) -> int:
    """Return the bytes of all parameters."""
    return sum(each.numel() * each.element_size() for each in module.parameters())


def _gaps(graph: Graph, wanted: int, module: Any) -> dict[str, Any]:
    weights = [v.size_bytes for v in graph.values if v.kind is TensorKind.WEIGHT]
    return {
        "operations": len(graph.nodes),
        "macs": macs(graph),
        "macs_off": macs(graph) / wanted - 1,
        "weights_off": sum(weights) / weight_bytes(module) - 1,
    }


def measure(name: str) -> Figures:
    """Import a network in training mode, and derive its training step."""
    warnings.simplefilter("ignore")
    torch.manual_seed(0)
    module, inputs = NETWORKS[name]()
    module.train(name not in IN_EVALUATION)
    graph, taken = timed(lambda: graph_of_module(module, inputs))
    found = {"": graph, "training.": training_graph(graph)}
    result: dict[str, Any] = {**taken, "peak_mb": peak_mb()}
    for prefix, each in found.items():
        wanted, raw = counted(module, inputs, training=bool(prefix))
        gaps = {**_gaps(each, wanted, module), "counter": raw / wanted}
        result |= {f"{prefix}{key}": value for key, value in gaps.items()}
    return result
