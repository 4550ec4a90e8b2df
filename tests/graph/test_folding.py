"""Folded graphs give the same outputs, do the same products, and stay as they are."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spmopt.core.graph import Graph
from spmopt.core.problem import TensorKind
from spmopt.frontends import zoo
from spmopt.graph.build import GraphBuilder
from spmopt.graph.folding import fold
from spmopt.graph.lower import lower
from spmopt.graph.preparation import LOWERINGS, TILED, prepare, with_name
from spmopt.graph.statistics import macs, operations, parameters
from spmopt.graph.tileable import tileable
from spmopt.graph.training import training_graph
from spmopt.hardware.machines import load_machine
from tests.execution.called import evaluated
from tests.graph.networks import attention, convolution, lstm, mlp, residual
from tests.thorough import some

Arrays = dict[str, np.ndarray[Any, Any]]
EPSILON = 1e-5


def random(graph: Graph, seed: int) -> Arrays:
    generator = np.random.default_rng(seed)
    written = {v for node in graph.nodes for v in node.outputs}
    return {
        value.name: generator.uniform(0.5, 1.5, value.shape).astype(np.float32)
        for index, value in enumerate(graph.values)
        if index not in written
    }


def constants(before: Graph, after: Graph, known: Arrays) -> Arrays:
    """What a folded graph is given: weights as the module says, all else as it was."""
    given = {
        value.name: known[value.name]
        for index, value in enumerate(after.values)
        if value.name in known and all(index not in node.outputs for node in after.nodes)
    }
    made = {after.values[node.outputs[0]].name: node for node in after.nodes}
    producer = {v: node for node in before.nodes for v in node.outputs}
    for node in before.nodes:
        result = before.values[node.outputs[0]].name
        product = made.get(result)
        if node.operator != "BatchNormalization" or product is None:
            continue
        if product.operator == node.operator:
            continue
        scale, shift, mean, variance = (known[before.values[v].name] for v in node.inputs[1:])
        factor = scale / np.sqrt(variance + EPSILON)
        source = node.inputs[0]
        while producer[source].operator in ("Dropout", "Identity"):
            source = producer[source].inputs[0]
        old = producer[source]
        weight, axis = before.values[old.inputs[1]].name, 0 if old.operator == "Conv" else 1
        turned = factor.reshape([-1 if k == axis else 1 for k in range(known[weight].ndim)])
        given[weight] = known[weight] * turned
        bias = known[before.values[old.inputs[2]].name] if old.inputs[2:] else 0.0
        given[after.values[product.inputs[2]].name] = (bias - mean) * factor + shift
    return given


def normalized(b: GraphBuilder, x: int, tag: str) -> int:
    channels = (b.shape(x)[1],)
    weights = [b.weight(f"{name}{tag}", channels) for name in ("scale", "shift")]
    states = [b.state(f"{name}{tag}", channels) for name in ("mean", "variance")]
    return b.add("BatchNormalization", [x, *weights, *states], name=f"norm{tag}")


def network(bias: bool, dropout: bool, transposed: bool) -> Graph:
    """Convolutions and layers, each with a normalization, and a constant that is computed."""
    b = GraphBuilder("net")
    x = b.input("x", (2, 3, 6, 6))
    operator, shape = ("ConvTranspose", (3, 4, 3, 3)) if transposed else ("Conv", (4, 3, 3, 3))
    first = [x, b.weight("w", shape)] + [b.weight("b", (4,))] * bias
    y = b.add(operator, first, name="c", pads=(1, 1, 1, 1))
    y = b.add("Dropout", [y], name="d") if dropout else y
    y = b.add("Relu", [normalized(b, y, "0")], name="r")
    twice = b.add("Conv", [y, b.weight("v", (4, 4, 1, 1))], name="twice")
    y = b.add("Add", [normalized(b, twice, "1"), twice], name="sum")  # read by two: stays
    y = b.add("Flatten", [y], name="f")
    table = b.add("Transpose", [b.weight("u", (5, b.shape(y)[1]))], name="t", perm=(1, 0))
    y = b.add("Identity", [b.add("MatMul", [y, table], name="m")], name="i")
    return b.finish([normalized(b, y, "2")])


@settings(max_examples=16, deadline=None)
@given(bias=st.booleans(), dropout=st.booleans(), transposed=st.booleans(), seed=st.integers(0, 99))
def test_outputs_stay(bias: bool, dropout: bool, transposed: bool, seed: int) -> None:
    before = network(bias, dropout, transposed)
    after = fold(before)
    kinds = [node.operator for node in after.nodes]
    assert kinds == [
        "ConvTranspose" if transposed else "Conv",
        *("Relu", "Conv", "BatchNormalization", "Add", "Flatten", "Gemm"),
    ]
    known = evaluated(before, random(before, seed))
    found = evaluated(after, constants(before, after, known))
    outputs = [value.name for value in before.values if value.keep]
    assert outputs == [value.name for value in after.values if value.keep]
    for name in outputs:
        assert np.allclose(found[name], known[name], rtol=1e-3), name


NETWORKS = ("resnet18", "mobilenetv2", "googlenet", "bert-tiny", "ncf")


@pytest.mark.parametrize("name", NETWORKS)
def test_products_stay_and_a_second_time_changes_nothing(name: str) -> None:
    graph = zoo.network(name, batch=2)
    once = fold(graph)
    assert fold(once) is once
    assert macs(once) == macs(graph)
    assert operations(once) <= operations(graph)
    kept = [value.name for value in graph.values if value.keep]
    assert kept == [value.name for value in once.values if value.keep]
    left = {node.operator for node in once.nodes}
    assert not left & {"Dropout", "Identity"}
    if name in ("resnet18", "mobilenetv2"):
        assert "BatchNormalization" not in left
        norms = [node for node in graph.nodes if node.operator == "BatchNormalization"]
        scales = sum(graph.values[node.inputs[1]].elements for node in norms)
        assert parameters(once) == parameters(graph) - scales  # scale and shift became a bias


def test_weights_that_others_read_too_stay() -> None:
    b = GraphBuilder("shared")
    x, w = b.input("x", (1, 4, 6, 6)), b.weight("w", (4, 4, 1, 1))
    y = normalized(b, b.add("Conv", [x, w]), "0")
    graph = b.finish([normalized(b, b.add("Conv", [y, w]), "1")])
    assert fold(graph) is graph


def test_a_result_that_is_kept_stays() -> None:
    b = GraphBuilder("kept")
    x = b.input("x", (1, 4, 6, 6))
    y = b.add("Conv", [x, b.weight("w", (4, 4, 1, 1))], name="y")
    d = b.add("Dropout", [normalized(b, y, "0")], name="d")
    c = b.add("Transpose", [b.weight("u", (2, 3))], name="c", perm=(1, 0))
    graph = b.finish([y, d, c])
    assert fold(graph) is graph


def test_a_constant_is_trained_if_what_it_comes_from_is() -> None:
    b = GraphBuilder("constants")
    x = b.input("x", (2, 3))
    w = b.add("Neg", [b.add("Reshape", [b.weight("w", (6,))], shape=(2, 3))], name="w'")
    s = b.add("Neg", [b.state("s", (2, 3))], name="s'")
    rows = b.add("Lookup", [b.weight("rows", (2, 3))], table=10)
    y = b.add("Add", [b.add("Add", [x, w]), b.add("Add", [s, b.add("Neg", [rows])])])
    after = fold(b.finish([y]))
    kinds = {value.name: value.kind for value in after.values}
    assert sorted(node.operator for node in after.nodes) == ["Add", "Add", "Add", "Lookup", "Neg"]
    assert (kinds["w'"], kinds["s'"]) == (TensorKind.WEIGHT, TensorKind.STATE)
    assert not {"w", "s"} & kinds.keys()


@pytest.mark.parametrize("make", some([convolution, attention, mlp, residual, lstm], 3))
@pytest.mark.parametrize("training", [False, True])
@pytest.mark.parametrize("mapper", sorted({*LOWERINGS, *TILED}))
def test_a_prepared_graph_is_lowered_as_it_is(make: object, training: bool, mapper: str) -> None:
    assert callable(make)
    machine = load_machine("rtx2080ti", {"spm": "1MB"})
    graph = training_graph(make(), optimizer="sgd") if training else make()
    once = prepare(graph, mapper)
    assert prepare(once, mapper) is once
    assert lower(once, machine, mapper=mapper) == lower(graph, machine, mapper=mapper)
    found = tileable(graph, machine, mapper=mapper)
    assert found.graph == once
    assert found.graph is not None
    assert tileable(found.graph, machine, mapper=found.mapper) == found


def test_names_say_what_is_not_folded() -> None:
    assert (with_name(), with_name("tiled"), with_name("panel")) == ("choose", "tiled", "panel")
    for name in ("choose", "tiled"):
        unfolded = f"{name}-unfolded"
        assert with_name(name, fold=False) == unfolded == with_name(unfolded)
    assert with_name(fold=False) == "choose-unfolded"
    assert with_name("ideal", fold=False) == "ideal"
    graph = convolution()
    machine = load_machine("rtx2080ti", {"spm": "1MB"})
    plain, kept = (lower(graph, machine, mapper=with_name(fold=fold)) for fold in (True, False))
    assert (plain.mapper, kept.mapper) == ("choose", "choose-unfolded")
    assert len(kept.operations) == len(plain.operations) + 1
