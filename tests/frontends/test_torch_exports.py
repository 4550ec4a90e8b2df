"""ONNX files by both exporters of torch: products and parameters are the module's."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

torch: Any = pytest.importorskip("torch", reason="torch is not installed (spmopt[test-torch])")

from spmopt.core.instance import TensorKind  # noqa: E402
from spmopt.frontends.onnx_import import load_onnx  # noqa: E402
from spmopt.frontends.torch_import import graph_of_module  # noqa: E402
from spmopt.graph.statistics import macs  # noqa: E402

nn = torch.nn


class Tiny(torch.nn.Module):
    """One of each product: convolution, recurrence, attention, linear."""

    def __init__(self) -> None:
        super().__init__()
        self.conv = nn.Conv2d(3, 8, 3, stride=2, padding=1)
        self.recurrent = nn.GRU(16, 8, batch_first=True)
        self.attention = nn.MultiheadAttention(8, 2, batch_first=True)
        self.last = nn.Linear(8, 5)
        with torch.no_grad():  # exporters make one tensor of equal ones
            for each in self.parameters():
                each.add_(torch.rand_like(each))

    def forward(self, x: Any) -> Any:
        y = torch.relu(self.conv(x)).flatten(2).transpose(1, 2)
        y, _ = self.recurrent(torch.cat([y, y], -1))
        y, _ = self.attention(y, y, y, need_weights=False)
        return self.last(y)


@pytest.mark.parametrize("dynamo", [False, True], ids=["TorchScript", "dynamo"])
@pytest.mark.filterwarnings("ignore")
def test_both_exporters_give_the_products_and_parameters_of_the_module(
    dynamo: bool, tmp_path: Path
) -> None:
    if dynamo:
        pytest.importorskip("onnxscript", reason="onnxscript is not installed (test-torch)")
    module, x = Tiny().eval(), torch.randn(2, 3, 8, 8)
    path = tmp_path / "net.onnx"
    torch.onnx.export(module, (x,), str(path), dynamo=dynamo, opset_version=18, verbose=False)
    graph = load_onnx(path, warn=lambda text: None)
    assert macs(graph) == macs(graph_of_module(module, (x,))) > 0
    weights = [v.size_bytes for v in graph.values if v.kind is TensorKind.WEIGHT]
    wanted = sum(each.nbytes for each in module.parameters())
    assert abs(sum(weights) / wanted - 1) < 0.02  # biases and masks in other forms
