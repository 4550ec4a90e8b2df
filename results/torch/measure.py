"""Networks of torch: as torch's own programs, forward and joint, and as ONNX by both exporters.

Multiply-accumulates and bytes of weights are held against torch's. Its counter takes the weight
gradient of a grouped convolution for one over all channels; here it is counted as the product that
it is, which has as many multiply-accumulates as the convolution itself.
"""

from __future__ import annotations

import warnings
from copy import deepcopy
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import torch
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils.flop_counter import FlopCounterMode, conv_flop_count

from results.shared.bench import Figures, peak_mb, timed
from results.torch.differences import differences
from results.torch.networks import NETWORKS
from spmopt.core.errors import InputError
from spmopt.core.graph import Graph
from spmopt.core.instance import TensorKind
from spmopt.frontends.onnx_import import load_onnx
from spmopt.frontends.torch_import import graph_of_module
from spmopt.graph.statistics import macs

OPSET = 18
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


def program(name: str, training: bool) -> Figures:
    """Import torch's own program."""
    warnings.simplefilter("ignore")
    torch.manual_seed(0)
    module, inputs = NETWORKS[name]()
    module.train(training and name not in IN_EVALUATION)
    graph, taken = timed(lambda: graph_of_module(module, inputs, training=training))
    wanted, raw = counted(module, inputs, training=training)
    return {**_gaps(graph, wanted, module), "counter": raw / wanted, **taken, "peak_mb": peak_mb()}


def onnx(name: str, dynamo: bool) -> Figures:
    """Export to ONNX, and import that; a refusal is a text."""
    warnings.simplefilter("ignore")
    torch.manual_seed(0)
    module, inputs = NETWORKS[name]()
    module.eval()
    _told_apart(module)
    with TemporaryDirectory() as folder:
        path = Path(folder) / "net.onnx"
        try:
            torch.onnx.export(module, inputs, str(path), dynamo=dynamo, opset_version=OPSET)
        except Exception as error:  # whatever torch raises
            return {"outcome": "torch fails", "why": f"{type(error).__name__}: {error}"[:200]}
        try:
            graph, taken = timed(lambda: load_onnx(path, warn=lambda text: None))
        except InputError as error:
            return {"outcome": "refused", "why": str(error).partition(": ")[2][:200]}
        parts = differences(path, graph, module)
    wanted, _ = counted(module, inputs, training=False)
    return {"outcome": "imported", **_gaps(graph, wanted, module), **taken, **parts}


def _told_apart(module: Any) -> None:
    """Change parameters that begin as ones or zeros: exporters make one tensor of equal ones."""
    with torch.no_grad():
        for each in module.parameters():
            each.add_(0.01 * torch.rand_like(each))


def measure(name: str) -> Figures:
    """Import a network in all four ways."""
    ways = {
        "forward": partial(program, name, False),
        "joint": partial(program, name, True),
        "dynamo": partial(onnx, name, True),
        "script": partial(onnx, name, False),
    }
    return {f"{way}.{key}": value for way, call in ways.items() for key, value in call().items()}
