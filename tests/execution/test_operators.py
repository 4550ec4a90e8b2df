"""Every operator beside ONNX's reference, and every gradient beside differences of its loss."""

from __future__ import annotations

import numpy as np
import pytest
from onnx import defs

import spmopt
from spmopt.core.errors import InputError
from spmopt.core.graph import Graph, Node
from spmopt.execution.computations import tileable_graph_for
from spmopt.execution.kernels import KERNELS, kernel_of
from spmopt.execution.kernels.onnx_reference import onnx_kernel
from spmopt.execution.values import initial_values
from spmopt.graph.build import GraphBuilder
from spmopt.graph.elements import with_element_type
from spmopt.graph.operators import SPECS, lookup
from spmopt.graph.operators.spec import Style
from spmopt.graph.tileable import lower_listed
from spmopt.graph.training import training_graph
from tests.execution.called import results_of
from tests.execution.operator_cases import graphs, names
from tests.execution.slopes import check_slopes

MACHINE = spmopt.machine(spm="256KiB")
OTHERWISE = (
    *("Bernoulli", "Multinomial", "RandomNormal", "RandomUniform"),  # other random numbers
    *("GlobalLpPool", "Scatter", "Upsample"),  # no reference
    *("LRN", "LpNormalization of magnitudes"),  # faults of the reference
    *(
        "Cast",
        "GroupNormalization of groups",
        "Resize",
        "RotaryEmbedding",
    ),  # other attributes or operands
)
"""Cases, by how they begin, that ONNX's reference does not compute so."""
NO_SLOPES = {
    "AssumedPointwise": "nothing says what it computes",
    "NegativeLogLikelihoodLoss of sums": "its gradient does not read the weights of classes",
    "Pad reflected": "its gradient leaves out what was reflected",
    **dict.fromkeys(("ReduceMean (1, 2)", "ReduceSum (1, 2)"), "a loss is the same if all grow"),
    "StridedView": "a loss reads its elements in the order of memory",
}
"""Gradients that are none of the function, and why."""


def test_every_operator_has_a_kernel() -> None:
    lacking = []
    for name in SPECS.names():
        if name in SPECS.added:  # by another test of this process
            continue
        try:
            computes = lookup(name).style is not Style.VIEW
        except InputError:  # refused
            continue
        if computes and kernel_of(Node(name="", operator=name, inputs=(), outputs=())) is None:
            lacking.append(name)
    assert not lacking


def of_onnx(name: str) -> bool:
    """Return whether ONNX has the operator of a case, with operands where ours has them."""
    operator = node_of(graphs(name)[0]).operator
    own = operator in KERNELS.own and not name.startswith(OTHERWISE)
    return own and defs.has(operator) and not lookup(operator).scales


def node_of(graph: Graph) -> Node:
    """Return the node that a case is about."""
    return next((node for node in graph.nodes if node.name == "it"), graph.nodes[-1])


@pytest.mark.parametrize("name", [each for each in names() if of_onnx(each)])
def test_kernels_compute_what_onnx_does(name: str) -> None:
    graph = graphs(name)[0]
    values = initial_values(graph, "normal", 0)
    for node in graph.nodes:
        values |= results_of(graph, node, values)
        if node == node_of(graph):
            break
    reference = onnx_kernel(node)
    assert reference is not None
    for place, expected in results_of(graph, node, values, reference).items():
        found = values[place]
        assert found.shape == expected.shape
        np.testing.assert_allclose(found.astype(float), expected.astype(float), 1e-4, 1e-5)


def is_trained(name: str) -> bool:
    """Return whether a case has a training step whose gradients are slopes."""
    return len(graphs(name)) > 1 and name not in NO_SLOPES


@pytest.mark.parametrize("name", [each for each in names() if is_trained(each)])
def test_gradients_are_slopes(name: str) -> None:
    graph = with_element_type(graphs(name)[1], "fp64")
    tileable = tileable_graph_for(lower_listed(graph, MACHINE), None)
    assert tileable is not None
    assert check_slopes(tileable, 1e-5) >= 1


@pytest.mark.parametrize(
    ("operator", "operands"),
    [("Mul", "ww"), *((each, "xw") for each in ("Div", "Max", "Mul", "PRelu", "Sub"))],
)
def test_a_gradient_is_added_to_that_of_the_same_weight_elsewhere(
    operator: str, operands: str
) -> None:
    b = GraphBuilder("shared")
    values = {"x": b.input("x", (3, 3)), "w": b.weight("w", (3, 3))}
    y = b.add(operator, [values[each] for each in operands], name="y")
    graph = training_graph(b.finish([b.add("MatMul", [y, values["w"]], name="z")]))
    assert any({*node.inputs} & {*node.outputs} for node in graph.nodes)
    graph = with_element_type(graph, "fp64")
    tileable = tileable_graph_for(lower_listed(graph, MACHINE), None)
    assert tileable is not None
    assert check_slopes(tileable, 1e-5) == 1
