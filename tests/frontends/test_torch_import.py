"""Programs of torch, by its ONNX exporter: products and parameters are those that torch counts."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

torch: Any = pytest.importorskip("torch", reason="torch is not installed (spmopt[test-torch])")
pytest.importorskip("onnxscript", reason="onnxscript is not installed (spmopt[test-torch])")

import spmopt  # noqa: E402
from spmopt.core.errors import InputError  # noqa: E402
from spmopt.core.graph import Graph  # noqa: E402
from spmopt.core.problem import TensorKind  # noqa: E402
from spmopt.frontends.torch_import import graph_of_module, load_torch  # noqa: E402
from spmopt.graph.statistics import macs, parameters  # noqa: E402
from spmopt.graph.training import training_graph  # noqa: E402

nn, F = torch.nn, torch.nn.functional


class Calls(torch.nn.Module):
    """A function of its inputs and of parameters of given shapes."""

    def __init__(self, function: Any, *shapes: tuple[int, ...]) -> None:
        super().__init__()
        self.function = function
        self.weights = nn.ParameterList(torch.randn(shape) for shape in shapes)

    def forward(self, *inputs: Any) -> Any:
        return self.function(*inputs, *self.weights)


class First(torch.nn.Module):
    """The first result of a recurrent network."""

    def __init__(self, network: Any) -> None:
        super().__init__()
        self.network = network

    def forward(self, x: Any) -> Any:
        return self.network(x)[0]


def _attention(x: Any, w: Any) -> Any:
    q, k, v = (x @ w).view(2, 8, 4, 48).transpose(1, 2).split(16, -1)
    return F.scaled_dot_product_attention(q, k, v, is_causal=True)


def _grouped(q: Any, k: Any, w: Any) -> Any:
    return F.scaled_dot_product_attention(q @ w, k, k, enable_gqa=True)


CASES = {
    "conv": (nn.Conv2d(4, 6, 3, stride=2, padding=1), (2, 4, 9, 9)),
    "conv1d": (nn.Conv1d(4, 6, 3, dilation=2), (2, 4, 12)),
    "transposed conv": (nn.ConvTranspose2d(4, 6, 3, stride=2, output_padding=1), (2, 4, 5, 5)),
    "linear": (nn.Linear(12, 5), (3, 4, 12)),
    "bmm": (Calls(torch.bmm, (3, 5, 7)), (3, 4, 5)),
    "transposed bmm": (Calls(lambda x, w: x @ w.mT, (3, 7, 5)), (3, 4, 5)),
    "baddbmm": (Calls(lambda x, w, b: torch.baddbmm(b, x, w), (3, 5, 7), (4, 7)), (3, 4, 5)),
    "einsum": (Calls(lambda x, w: torch.einsum("bik,jk->bij", x, w), (7, 5)), (3, 4, 5)),
    "attention": (Calls(_attention, (64, 192)), (2, 8, 64)),
    "LSTM": (First(nn.LSTM(6, 8, num_layers=2, bidirectional=True)), (5, 3, 6)),
    "GRU": (First(nn.GRU(6, 8)), (5, 3, 6)),
    "norms": (
        nn.Sequential(
            *(nn.Conv2d(3, 8, 3), nn.BatchNorm2d(8), nn.ReLU(), nn.MaxPool2d(2)),
            *(nn.GroupNorm(2, 8), nn.GELU(), nn.Dropout(0.1), nn.AdaptiveAvgPool2d(1)),
            *(nn.Flatten(), nn.LayerNorm(8), nn.Linear(8, 4), nn.RMSNorm(4)),
        ),
        (2, 3, 10, 10),
    ),
}


def _graph(module: Any, *inputs: Any, training: bool = False) -> Graph:
    graph = graph_of_module(module, inputs, training=training)
    return training_graph(graph) if training else graph


def _counted(module: Any, x: Any, *, training: bool) -> int:
    """Multiply-accumulates by torch, of attention as products and of recurrence as steps."""
    from torch.nn.attention import SDPBackend, sdpa_kernel
    from torch.utils.flop_counter import FlopCounterMode

    counter = FlopCounterMode(display=False)
    with counter, sdpa_kernel(SDPBackend.MATH), torch.backends.mkldnn.flags(enabled=False):
        result = module(x)
        if training:
            result.sum().backward()
    return int(counter.get_total_flops()) // 2


@pytest.mark.parametrize("training", [False, True], ids=["forward", "training"])
@pytest.mark.parametrize("name", CASES)
def test_macs_and_parameters_are_those_of_torch(name: str, training: bool) -> None:
    module, shape = CASES[name]
    x = torch.randn(shape)
    graph = _graph(module.train(training), x, training=training)
    assert macs(graph) == _counted(module, x, training=training) > 0
    weights = [value for value in graph.values if value.kind is TensorKind.WEIGHT]
    assert sum(value.size_bytes for value in weights) == sum(
        each.numel() * each.element_size() for each in module.parameters()
    )
    assert parameters(graph) == sum(each.numel() for each in module.parameters())


@pytest.mark.parametrize("name", CASES)
def test_every_parameter_gets_a_gradient_and_the_step_is_scheduled(name: str) -> None:
    module, shape = CASES[name]
    workload = spmopt.from_torch(module.train(), (torch.randn(shape),), training=True)
    assert workload.graph is not None
    values = workload.graph.values
    gradients = [v for v in values if v.kind is TensorKind.WEIGHT_GRADIENT]
    # Shapes may be others: the exporter transposes weights, and joins those of a recurrent layer.
    assert sum(v.elements for v in gradients) == sum(each.numel() for each in module.parameters())
    assert all(v.keep for v in gradients)
    solution = spmopt.solve(spmopt.lower(workload, spmopt.machine(spm="64KiB")), "belady")
    assert solution.gap is not None


def test_grouped_queries_repeat_keys() -> None:
    q, k = torch.randn(1, 8, 4, 16), torch.randn(1, 2, 6, 16)
    graph = graph_of_module(Calls(_grouped, (16, 16)), (q, k))
    assert macs(graph) == 8 * 4 * 16 * 16 + 2 * 8 * 4 * 6 * 16


def test_element_types_are_those_of_the_module() -> None:
    module = nn.Sequential(nn.Embedding(10, 8), nn.Linear(8, 4)).to(torch.bfloat16)
    graph = graph_of_module(module, (torch.zeros(2, 3, dtype=torch.int32),))
    assert {v.element_type for v in graph.values if v.kind is TensorKind.WEIGHT} == {"bf16"}
    assert [v.element_type for v in graph.values if v.kind is TensorKind.INPUT] == ["int32"]
    assert [v.element_type for v in graph.values if v.keep] == ["bf16"]


def test_a_loss_of_the_module_begins_the_backward_pass() -> None:
    module = Calls(lambda x, y, w: F.cross_entropy(x @ w, y), (8, 5))
    graph = _graph(module, torch.randn(4, 8), torch.zeros(4, dtype=int), training=True)
    kept = [v for v in graph.values if v.keep and v.kind is TensorKind.ACTIVATION]
    assert [v.shape for v in kept] == [()]
    assert len([v for v in graph.values if v.kind is TensorKind.INPUT]) == 2  # no labels besides


def test_an_optimizer_updates_every_parameter_in_place() -> None:
    module, x = nn.Sequential(nn.Linear(8, 8), nn.ReLU(), nn.Linear(8, 2)), torch.randn(4, 8)
    graph = spmopt.from_torch(module, (x,), training=True, optimizer="adam").graph
    assert graph is not None
    updates = [node for node in graph.nodes if node.operator == "Adam"]
    assert len(updates) == 4
    assert all(set(node.outputs) < set(node.inputs) for node in updates)
    assert not any(v.keep for v in graph.values if v.kind is TensorKind.WEIGHT_GRADIENT)


def test_dynamic_dimensions_of_a_file_stay_open(tmp_path: Path) -> None:
    path, x = tmp_path / "net.pt2", torch.randn(2, 8, 8)
    sizes = {0: torch.export.Dim("batch", min=1, max=64), 1: torch.export.Dim("rows", min=2)}
    program = torch.export.export(nn.Linear(8, 4), (x,), dynamic_shapes=(sizes,))
    torch.export.save(program, path)
    with pytest.raises(
        InputError, match=r"1 dimension is open: s\d+ \(dimension 1 of input\)"
    ) as e:
        load_torch(path)
    (name,) = set(re.findall(r"--param (s\d+)=", str(e.value)))
    told: list[str] = []
    assert macs(load_torch(path, sizes={name: 3}, warn=told.append)) == 3 * 8 * 4
    assert "taken as 1" in told[0]
    parameters = {name: 3}
    workload = spmopt.load(path, batch=16, parameters=parameters, training=True, optimizer="sgd")
    assert workload.graph is not None
    assert macs(workload.graph) == 2 * 3 * 16 * 8 * 4  # forward and weight gradient


def test_weights_are_neither_read_nor_needed(tmp_path: Path) -> None:
    """A module without memory, as large as 16 GB, is imported as any other."""
    with torch.device("meta"):
        module, x = nn.Linear(1 << 16, 1 << 16), torch.randn(2, 1 << 16)
    graph = graph_of_module(module, (x,))
    assert macs(graph) == 2 << 32
    assert parameters(graph) == (1 << 32) + (1 << 16)


def test_what_cannot_be_used_is_said_in_one_line(tmp_path: Path) -> None:
    broken = tmp_path / "broken.pt2"
    broken.write_bytes(b"PK no archive")
    calls: list[tuple[Callable[[], object], str]] = [
        (lambda: load_torch(broken), "no program of torch.export"),
        (lambda: load_torch(tmp_path / "none.pt2"), "no such file"),
        (lambda: _graph(nn.ReLU(), torch.randn(2), training=True), "nothing to train"),
        (lambda: graph_of_module(Calls(torch.linalg.inv, (2, 2)), ()), "linalg_inv"),
    ]
    for call, text in calls:
        with pytest.raises(InputError, match=text) as found:
            call()
        assert "\n" not in str(found.value)


def _net() -> Any:
    return nn.Sequential(
        *(nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.ReLU(), nn.Dropout(), nn.Flatten()),
        nn.Linear(4 * 36, 5),
    )


def _saved(module: Any, path: Path) -> Path:
    torch.export.save(torch.export.export(module, (torch.randn(2, 3, 8, 8),)), path)
    return path


def test_a_training_step_in_another_element_type(tmp_path: Path) -> None:
    path = _saved(_net().train(), tmp_path / "net.pt2")
    found = spmopt.load(path, training=True, optimizer="adam", dtype="bf16").graph
    assert found is not None
    kinds = (TensorKind.WEIGHT, TensorKind.WEIGHT_GRADIENT, TensorKind.INPUT)
    assert {v.element_type for v in found.values if v.kind in kinds} == {"bf16", "int64"}
    states = [v for v in found.values if v.kind is TensorKind.STATE and len(v.shape) > 1]
    assert {v.element_type for v in states} == {"fp32"}  # moments and master weights


def test_training_what_was_exported_for_evaluation_is_warned_of(tmp_path: Path) -> None:
    told: list[str] = []
    for mode, lacks in ((True, ""), (False, "1 normalizations .* and 1 dropouts .*exported for")):
        path = _saved(_net().train(mode), tmp_path / "net.pt2")
        load_torch(path, warn=told.append)
        assert not told
        load_torch(path, training=True, warn=told.append)
        assert len(told) == (not mode)
        assert re.search(lacks, " ".join(told))
    with pytest.warns(UserWarning, match="stored statistics"):
        graph_of_module(_net().eval(), (torch.randn(2, 3, 8, 8),), training=True)


PICKS: dict[str, Any] = {
    "argmax": lambda x, i: x.argmax(-1),
    "max": lambda x, i: x.max(1)[0],
    "min, and where": lambda x, i: sum(x.min(1, keepdim=True)),
    "sort": lambda x, i: x.sort(1, descending=True)[0],
    "topk": lambda x, i: x.topk(2, -1)[0],
    "cumsum": lambda x, i: x.cumsum(1),
    "gather": lambda x, i: x.gather(1, i),
    "scatter": lambda x, i: torch.zeros(4, 6).scatter(1, i, x[:, :3]),
    "scatter_add": lambda x, i: torch.zeros(4, 6).scatter_add(1, i, x[:, :3]),
    "index_put": lambda x, i: x.index_put((i[0],), x[:3]),
    "index_put, sum": lambda x, i: torch.zeros(4, 6).index_put((i[0],), x[:3], accumulate=True),
}


@pytest.mark.parametrize("name", PICKS)
def test_what_picks_elements_has_a_rule_and_a_gradient(name: str) -> None:
    module = Calls(lambda x, i, w: PICKS[name](x @ w, i), (6, 6))
    inputs = torch.randn(4, 6), torch.zeros(4, 3, dtype=int)
    assert macs(graph_of_module(module, inputs)) == 4 * 6 * 6
    if "arg" not in name:
        assert macs(_graph(module, *inputs, training=True)) == 2 * 4 * 6 * 6


def test_sizes_that_depend_on_data_are_said_to_be() -> None:
    with pytest.raises(InputError, match="depends on data"):
        graph_of_module(Calls(lambda x, w: (x @ w)[x > 0], (6, 6)), (torch.randn(4, 6),))
