"""Building networks by name: structure, parameters, messages."""

from __future__ import annotations

import pytest

from spmopt.core.errors import InputError
from spmopt.core.graph import Graph
from spmopt.frontends import zoo
from spmopt.graph.lower import lower
from spmopt.graph.training import training_graph

from .figures import MACHINE, macs, moving, parameters

SMALL = {
    "gnmt": {"steps": 3, "layers": 3, "hidden": 32, "vocabulary": 100},
    "transformer": {"layers": 1, "hidden": 64, "vocabulary": 100},
    "t5-large": {"layers": 3},
    "llama": {"layers": 2},
    "llama3": {"layers": 2},
    "gpt2": {"layers": 2},
    "stable-diffusion": {"width": 32, "image": 64},
    "faster-rcnn": {"regions": 16},
}


@pytest.mark.parametrize("name", zoo.names())
def test_every_network_trains_and_lowers(name: str) -> None:
    forward = zoo.network(name, batch=2, **SMALL.get(name, {}))
    step = training_graph(forward)
    problem = lower(step, MACHINE, mapper="panel")  # which takes every node as it stands
    assert len(problem.operations) == moving(step).total()
    # dX and dW of every product, except dX at the network's inputs.
    forward_macs, products = macs(forward), macs(step)
    assert 2 * forward_macs < products <= 3 * forward_macs
    gradients = [v for v in step.values if v.kind.value == "weight_gradient"]
    assert sum(v.elements for v in gradients) == parameters(forward)
    assert all(v.keep for v in gradients)


@pytest.mark.parametrize("name", zoo.names())
def test_every_network_is_described(name: str) -> None:
    entry = zoo.entry(name)
    assert entry.name == name
    assert entry.description.count("\n") == 0
    assert any(str(year) in entry.paper for year in range(2012, 2025))


def test_unknown_network_suggests_the_closest() -> None:
    with pytest.raises(InputError, match="no network called 'resnet5'; did you mean resnet50"):
        zoo.network("resnet5")
    with pytest.raises(InputError, match="choose one of alexnet, bert-large"):
        zoo.network("quux")


def test_wrong_parameters() -> None:
    with pytest.raises(InputError, match="no parameter of gnmt called 'step'; did you mean steps"):
        zoo.network("gnmt", step=3)
    with pytest.raises(InputError, match="gnmt: steps must be an integer of at least 1, is 0"):
        zoo.network("gnmt", steps=0)
    with pytest.raises(InputError, match="resnet50: batch must be an integer of at least 1, is -4"):
        zoo.network("resnet50", batch=-4)
    with pytest.raises(InputError, match="hidden size 100 is not a multiple of 16 heads"):
        zoo.network("transformer", hidden=100)
    for wrong in ({"groups": 6}, {"heads": 3}, {"hidden": 64}):
        with pytest.raises(InputError, match="llama: heads must be of an even width and as many"):
            zoo.network("llama", **wrong)
    for name, most in (("bert-large", 512), ("gpt2", 1024)):
        with pytest.raises(InputError, match=f"sequence must be at most {most}, is 1025"):
            zoo.network(name, sequence=1025)
    for wrong in ({"image": 100}, {"width": 48}):
        with pytest.raises(InputError, match="image must be a multiple of 64 and width of 32"):
            zoo.network("stable-diffusion", **wrong)
    with pytest.raises(InputError, match="past must be an integer of at least 0, is -1"):
        zoo.network("llama3", past=-1)
    with pytest.raises(InputError, match="tables must be at most 26, is 27"):
        zoo.network("dlrm", tables=27)
    with pytest.raises(InputError, match="faster-rcnn: regions must be even, is 3"):
        zoo.network("faster-rcnn", regions=3)
    with pytest.raises(InputError, match=r"node .*kernel"):
        zoo.network("alexnet", image=8)


def _positions(graph: Graph, *names: str) -> list[int]:
    where = {node.name: index for index, node in enumerate(graph.nodes)}
    return [where[name] for name in names]


def test_gnmt_runs_layer_by_layer_or_step_by_step() -> None:
    small = SMALL["gnmt"]
    by_layer = zoo.network("gnmt", batch=2, **small)
    by_step = zoo.network("gnmt", batch=2, stepwise=1, **small)
    assert moving(by_layer) == moving(by_step)
    last_of_one, first_of_two = _positions(by_layer, "encoder1.2.i", "encoder2.0.i")
    assert last_of_one < first_of_two
    last_of_one, first_of_two = _positions(by_step, "encoder1.2.i", "encoder2.0.i")
    assert first_of_two < last_of_one


def test_gnmt_attention_asks_with_the_lowest_layer_of_the_step_before() -> None:
    graph = zoo.network("gnmt", batch=2, **SMALL["gnmt"])
    nodes = {node.name: node for node in graph.nodes}
    query = nodes["attention.1.query"].inputs[0]
    assert query == nodes["decoder0.0.update"].outputs[1]
    first = nodes["attention.0.query"].inputs[0]
    assert graph.values[first].name == "initial"


def test_gnmt_residuals_begin_at_the_third_layer() -> None:
    names = {node.name for node in zoo.network("gnmt", batch=2, **SMALL["gnmt"]).nodes}
    assert {"encoder2.residual0", "decoder2.residual2"} <= names
    assert not any(name.startswith(("encoder1.res", "decoder1.res")) for name in names)
    plain = zoo.network("gnmt", batch=2, plain=1, **SMALL["gnmt"])
    assert moving(plain)["LSTMCell"] == 2 * 3 * 3
    assert moving(plain)["Concat"] == 3 + 2  # context of each step; memory; decoded


def test_attention_is_one_node_an_operation() -> None:
    graph = zoo.network("transformer", batch=2, sequence=5, layers=1, hidden=64, heads=4)
    nodes = {node.name: node for node in graph.nodes}
    scores = nodes["decoder0.cross.scores"]
    assert graph.shapes(scores.inputs) == ((2, 4, 5, 16), (2, 4, 16, 5))
    assert graph.shapes(nodes["decoder0.cross.context"].outputs) == ((2, 4, 5, 16),)
    counts = moving(graph)
    assert counts["LayerNormalization"] == counts["Add"] - 2 == 5
    assert counts["Softmax"] == 3 + 1
    # Embeddings (2), attention weights (3), sublayers (5), all shape-only at inference.
    assert sum(node.operator == "Dropout" for node in graph.nodes) == 10


def test_tied_embedding_has_one_gradient() -> None:
    step = training_graph(zoo.network("transformer", batch=2, layers=1, hidden=64))
    table = [v for v in step.values if v.shape == (37_000, 64) and v.keep]
    assert len(table) == 1
