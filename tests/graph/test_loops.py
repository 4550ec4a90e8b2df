"""Loops that operators declare: products, windows and cuts (kernels: execution/)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod

import pytest

from spmopt.core.errors import InputError
from spmopt.core.graph import Attribute, Graph
from spmopt.core.loops import LoopNest
from spmopt.frontends import zoo
from spmopt.graph import operators
from spmopt.graph.operators.loops import loop_nest
from spmopt.graph.operators.spec import Shape, Shapes, Style
from spmopt.graph.training import training_graph


def nest_of(
    operator: str,
    inputs: Sequence[Shape],
    outputs: Sequence[Shape],
    attributes: Mapping[str, Attribute],
) -> LoopNest:
    rule = operators.lookup(operator).computes
    assert rule is not None
    shapes = tuple(inputs), tuple(outputs)
    return loop_nest(rule(*shapes, attributes), *shapes, attributes)


def macs(nest: LoopNest) -> int:
    """Return the multiply-accumulates of statements that add up products."""
    adding = [each for each in nest.statements if each.combines and len(each.reads) > 1]
    return sum(prod(nest.extents[loop] for loop in each.loops) for each in adding)


def nodes(graph: Graph) -> list[tuple[str, tuple[Shapes, Shapes], Mapping[str, Attribute]]]:
    """Operators with their shapes and attributes, views left out, each once."""
    found = {}
    for node in graph.nodes:
        shapes = graph.shapes(node.inputs), graph.shapes(node.outputs)
        if operators.lookup(node.operator).style is not Style.VIEW:
            found[node.operator, shapes, tuple(node.attributes.items())] = (
                node.operator,
                shapes,
                node.attributes,
            )
    return list(found.values())


@pytest.mark.parametrize(
    "network",
    ["resnet18", "mobilenetv2", "t5-small", "dlrm", "ncf"],
)
def test_multiplications_of_products_are_those_of_their_loops(network: str) -> None:
    forward = zoo.network(network)
    products = 0
    for graph in (forward, training_graph(forward, optimizer="adam")):
        for operator, shapes, attributes in nodes(graph):
            nest = nest_of(operator, *shapes, attributes)
            spec = operators.lookup(operator)
            for k, shape in enumerate(shapes[1]):
                assert nest.accesses(f"y{k}"), (operator, k)
                assert prod(shape) >= 1
            if spec.gemm is not None:
                products += 1
                assert macs(nest) == spec.gemm(*shapes, attributes).macs, operator
    assert products > 5


def test_what_is_combined_and_read_again_cannot_be_cut() -> None:
    shapes = [(4, 3, 5), (3,), (3,)]
    results = [(4, 3, 5), (3,), (3,)]
    nest = nest_of("BatchNormalizationTraining", shapes, results, {})
    assert not nest.can_cut("n")
    assert nest.can_cut("c")
    rows = nest_of("Softmax", [(4, 6)], [(4, 6)], {"axis": -1})
    assert rows.can_cut("a")
    assert not rows.can_cut("b")
    weights = nest_of("ConvWeightGradient", [(4, 8, 6, 6), (4, 3, 6, 6)], [(8, 3, 1, 1)], {})
    assert weights.can_cut("n")
    assert weights.axis("y0", "n") is None


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("y0[n] = x0[n", "never closed"),
        ("y0[n] + x0[n]", "neither an assignment nor a limit"),
        ("y0[n] = x0[m]", "combined over loops"),
        ("y0[n, m] = x0[n]", "2 indices for a tensor of shape"),
        ("y0[n*n] = x0[n]", "no affine index"),
        ("y0[n*size] = x0[n]", "attribute size is no number"),
        ("y0[n] = x0[k+1]", "nothing says how far k runs"),
        ("y0[n] = x0[n]; g < groups", "attribute groups is no number"),
        ("3 = x0[n]", "neither"),
    ],
)
def test_a_text_that_says_nothing_is_refused(text: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        loop_nest(text, ((5,),), ((4,),) if "m]" in text else ((5,),), {})
