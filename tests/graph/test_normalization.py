"""Normalizations in two operations compute the same, with the same work, and can be cut."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from spmopt.core.graph import Graph
from spmopt.core.problem import TensorKind
from spmopt.core.scheduler import Request
from spmopt.frontends import zoo
from spmopt.graph.build import GraphBuilder
from spmopt.graph.lower import lower
from spmopt.graph.normalization import split_normalizations
from spmopt.graph.statistics import macs, operations
from spmopt.graph.tileable import tileable
from spmopt.graph.training import training_graph
from spmopt.hardware.machines import load_machine
from spmopt.solving import solve

Array = NDArray[np.float64]
EPSILON = 1e-5


def rows(x: Array) -> Array:
    """(C, N ...) What each channel holds."""
    return np.moveaxis(x, 1, 0).reshape(x.shape[1], -1)


def channels(v: Array, like: Array) -> Array:
    return v.reshape(-1, *[1] * (like.ndim - 2))


def statistics(x: Array) -> list[Array]:
    return [rows(x).mean(1), 1 / np.sqrt(rows(x).var(1) + EPSILON)]


def normalized(x: Array, scale: Array, bias: Array, mean: Array, deviation: Array) -> list[Array]:
    hat = (x - channels(mean, x)) * channels(deviation, x)
    return [hat * channels(scale, x) + channels(bias, x)]


def forward(x: Array, scale: Array, bias: Array) -> list[Array]:
    return [*normalized(x, scale, bias, *statistics(x)), *statistics(x)]


def partial_sums(dy: Array, x: Array, mean: Array, deviation: Array) -> list[Array]:
    hat = (x - channels(mean, x)) * channels(deviation, x)
    return [rows(dy * hat).sum(1), rows(dy).sum(1)]


def applied(*operands: Array) -> list[Array]:
    dy, x, scale, mean, deviation, ds, db = operands
    hat, count = (x - channels(mean, x)) * channels(deviation, x), rows(x).shape[1]
    inner = dy - channels(db / count, x) - hat * channels(ds / count, x)
    return [channels(scale * deviation, x) * inner]


def differentiated(dy: Array, x: Array, scale: Array, mean: Array, deviation: Array) -> list[Array]:
    """All gradients, by differences: the split must agree with what the operator is to give."""
    bias, step = np.zeros_like(scale), 1e-6
    found = []
    for operand in (x, scale, bias):
        slope = np.empty_like(operand)
        for at in np.ndindex(operand.shape):
            before, ends = operand[at], []
            for sign in (1, -1):
                operand[at] = before + sign * step
                ends.append((dy * forward(x, scale, bias)[0]).sum())
            operand[at] = before
            slope[at] = (ends[0] - ends[1]) / (2 * step)
        found.append(slope)
    return found


RUN: dict[str, Callable[..., list[Array]]] = {
    "BatchNormalizationTraining": forward,
    "BatchNormalizationStatistics": statistics,
    "BatchNormalization": normalized,
    "NormalizationGradient": differentiated,
    "NormalizationGradientSums": partial_sums,
    "NormalizationGradientApply": applied,
    "LossGradient": lambda y, labels: [y - labels[..., None]],
    "Relu": lambda x: [np.maximum(x, 0)],
    "ReluGradient": lambda dy, y: [dy * (y > 0)],
}


def run(graph: Graph, seed: int) -> dict[str, Array]:
    """Run all nodes on random inputs; give results by name."""
    held: dict[int, Array] = {}
    for node in graph.nodes:
        for index in node.inputs:
            if index not in held:
                value = graph.values[index]
                name = sum(value.name.encode())
                held[index] = np.random.default_rng([seed, name]).normal(size=value.shape)
        found = RUN[node.operator](*(held[index] for index in node.inputs))
        held.update(zip(node.outputs, found, strict=False))
    return {graph.values[index].name: array for index, array in held.items()}


def network(shape: tuple[int, ...], layers: int) -> Graph:
    b = GraphBuilder("net")
    x = b.input("x", shape)
    for k in range(layers):
        weights = [b.weight(f"{name}{k}", shape[1:2]) for name in ("scale", "bias")]
        states = [b.state(f"{name}{k}", shape[1:2]) for name in ("mean", "variance")]
        x = b.add("BatchNormalization", [x, *weights, *states], name=f"norm{k}")
        x = b.add("Relu", [x], name=f"relu{k}")
    return training_graph(b.finish([x]))


@settings(max_examples=20, deadline=None)
@given(
    shape=st.sampled_from([(2, 3), (2, 2, 3), (3, 1, 2, 2)]),
    layers=st.integers(1, 2),
    seed=st.integers(0, 99),
)
def test_both_parts_compute_what_the_one_does(
    shape: tuple[int, ...], layers: int, seed: int
) -> None:
    before = network(shape, layers)
    after = split_normalizations(before)
    assert len(after.nodes) == len(before.nodes) + 2 * layers - 1  # no dX of the first
    one, two = run(before, seed), run(after, seed)
    for value in before.values:
        assert np.allclose(one[value.name], two[value.name], atol=1e-4), value.name
    assert (macs(after), operations(after)) == (macs(before), operations(before))


def test_a_graph_without_training_norms_is_left_alone() -> None:
    graph = zoo.network("resnet18", batch=2)
    assert split_normalizations(graph) is graph


def test_every_operation_of_a_cnn_can_be_cut() -> None:
    machine = load_machine("rtx2080ti")
    graph = training_graph(zoo.network("resnet18", batch=4))
    stuck, parts = (
        {op.kind for op in tileable(each, machine, mapper="panel").operations if not op.cut}
        for each in (graph, split_normalizations(graph))
    )
    assert stuck == {"BatchNormalizationTraining", "NormalizationGradient"}
    assert parts == set()


def test_sums_that_nobody_asked_for_are_not_kept() -> None:
    """A frozen scale has no gradient; dX needs its sum all the same."""
    b = GraphBuilder("net")
    x = b.add("Gemm", [b.input("x", (4, 3)), b.weight("w", (3, 2))])
    states = [b.state(name, (2,)) for name in ("scale", "bias", "mean", "variance")]
    graph = training_graph(b.finish([b.add("BatchNormalization", [x, *states])]))
    after = split_normalizations(graph)
    assert operations(after) == operations(graph)
    new = after.values[len(graph.values) :]
    assert [(v.name, v.kind, v.keep) for v in new] == [
        ("scale.gradient", TensorKind.GRADIENT, False),
        ("bias.gradient", TensorKind.GRADIENT, False),
    ]


@pytest.mark.parametrize("spm", ["4MB", "24MB"])
def test_x_is_read_once_more(spm: str) -> None:
    graph = training_graph(zoo.network("resnet18", batch=4))
    machine = load_machine("rtx2080ti", {"spm": spm})
    before, after = (
        sum(op.mappings[0].spm_read_bytes for op in lower(each, machine, mapper="panel").operations)
        for each in (graph, split_normalizations(graph))
    )
    extra = 0
    for node in graph.nodes:
        sizes = [graph.values[v].size_bytes for v in node.inputs]
        if node.operator == "BatchNormalizationTraining":
            extra += sizes[0] + 2 * sizes[1]  # X and the statistics
        elif node.operator == "NormalizationGradient" and len(node.outputs) == 3:
            extra += sizes[0] + sizes[1] + 4 * sizes[2]  # dY, X, statistics and sums
    assert after - before == extra


@pytest.mark.parametrize(("spm", "least_ms"), [("4MB", 91.87), ("24MB", 83.23)])
def test_what_two_readings_cost_at_best(spm: str, least_ms: float) -> None:
    """ResNet-50 trains in 85.53 and 78.94 ms where a normalization is one operation."""
    graph = split_normalizations(training_graph(zoo.network("resnet50", batch=32)))
    problem = lower(graph, load_machine("rtx2080ti", {"spm": spm}), mapper="panel")
    found = solve(problem, "residency", Request(tolerance=3e-4, threads=1))
    assert found.value is not None
    time_ms = 1e3 * float(found.value) / problem.machine.clock_hz
    assert time_ms == pytest.approx(least_ms, rel=5e-4)
    assert found.bound is not None
    assert float(found.value / found.bound) < 1.0005
