"""Element types of tensors: widths, sums, and graphs in another type."""

from __future__ import annotations

import pytest

from spmopt.core.elements import ELEMENT_TYPES, ElementKind, element_type, sum_type
from spmopt.core.errors import InputError
from spmopt.core.graph import Graph, Value
from spmopt.core.problem import TensorKind
from spmopt.frontends import zoo
from spmopt.frontends.networks import load_network
from spmopt.graph.build import GraphBuilder
from spmopt.graph.elements import with_element_type
from spmopt.graph.training import training_graph


def test_narrow_elements_are_packed() -> None:
    assert Value(name="w", shape=(3, 3), element_type="int4").size_bytes == 5
    assert Value(name="x", shape=(7,), element_type="fp16").size_bytes == 14


@pytest.mark.parametrize("name", ELEMENT_TYPES)
def test_sums_are_no_narrower(name: str) -> None:
    wide = element_type(sum_type(name))
    given = element_type(name)
    assert wide.bits >= given.bits
    assert wide.kind is given.kind
    assert wide.bits >= 32 or given.kind is ElementKind.BOOLEAN


def test_an_unknown_type_is_refused() -> None:
    with pytest.raises(InputError, match="no element type called 'float32'"):
        Value(name="x", shape=(1,), element_type="float32")


def small() -> Graph:
    b = GraphBuilder("small")
    x, labels = b.input("x", (8, 4)), b.input("labels", (8,), element_type="int64")
    h = b.add("Gemm", [x, b.weight("w", (4, 6)), b.weight("bias", (6,))])
    h = b.add("Cast", [b.add("LayerNormalization", [h, b.weight("scale", (6,))])], to="fp32")
    return b.finish([b.add("CrossEntropy", [h, labels])])


def test_floating_point_follows_and_integers_stay() -> None:
    half = with_element_type(small(), "bf16")
    types = {value.name: value.element_type for value in half.values}
    assert types.pop("labels") == "int64"
    assert set(types.values()) == {"bf16"}
    (cast,) = [node for node in half.nodes if node.operator == "Cast"]
    assert cast.attributes["to"] == "bf16"


def test_a_bias_of_integers_is_as_wide_as_sums() -> None:
    values = {value.name: value.element_type for value in with_element_type(small(), "int8").values}
    assert (values["w"], values["bias"], values["x"]) == ("int8", "int32", "int8")


@pytest.mark.parametrize("name", ["bool", "complex64"])
def test_no_network_computes_in_it(name: str) -> None:
    with pytest.raises(InputError, match="use fp32 or bf16"):
        with_element_type(small(), name)


@pytest.mark.parametrize(
    ("dtype", "states"),
    [("fp32", {"first_moment", "second_moment"}), ("bf16", {"master", "first_moment"})],
)
def test_narrow_weights_have_a_master_copy(dtype: str, states: set[str]) -> None:
    step = training_graph(with_element_type(small(), dtype), optimizer="adam")
    kept = {value.name: value for value in step.values if value.kind is TensorKind.STATE}
    of_w = {name.removeprefix("w."): value for name, value in kept.items() if name[:2] == "w."}
    assert states <= of_w.keys()
    assert ("master" in of_w) == (dtype != "fp32")
    assert {value.element_type for value in of_w.values()} == {"fp32"}
    (update,) = [node for node in step.nodes if node.name == "w.update"]
    assert {step.values[v].name for v in update.outputs} == {"w", *(f"w.{s}" for s in of_w)}


def test_statistics_are_kept_as_sums() -> None:
    step = training_graph(with_element_type(small(), "fp16"))
    saved = [
        step.values[v].element_type
        for node in step.nodes
        if node.operator == "LayerNormalizationTraining"
        for v in node.outputs
    ]
    assert saved == ["fp16", "fp32", "fp32"]


def test_integers_are_not_trained() -> None:
    with pytest.raises(InputError, match="is int8; only floating-point types are trained"):
        training_graph(with_element_type(small(), "int8"))


def test_half_the_bytes_of_a_network() -> None:
    whole = sum(value.size_bytes for value in zoo.network("alexnet").values)
    half = sum(value.size_bytes for value in load_network("alexnet", dtype="bf16").values)
    assert 2 * half == whole
