"""Layouts of views give each element the place that it has in memory."""

from __future__ import annotations

from math import prod

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from spmopt.graph.build import GraphBuilder
from spmopt.graph.layouts import Layout, first_run, layouts
from spmopt.graph.training import training_graph
from tests.graph.test_fusion_plan import joined


def places(layout: Layout) -> np.ndarray:
    """Where the elements of a view are."""
    found = np.zeros((), np.int64)
    for factors in layout:
        along = np.zeros(1, np.int64)
        for size, stride in factors:
            along = (along[:, None] + stride * np.arange(size)).reshape(-1)
        found = found[..., None] + along
    return found


@given(st.data())
def test_elements_of_views_are_where_numpy_has_them(data: st.DataObject) -> None:
    sizes = st.lists(st.sampled_from([1, 2, 3, 4]), min_size=1, max_size=4)
    b = GraphBuilder("views")
    split = tuple(data.draw(sizes))
    x = b.weight("x", split)
    expected = np.arange(prod(split)).reshape(split)
    y, arrays = b.add("Identity", [x]), [expected]
    for _ in range(data.draw(st.integers(1, 3))):
        flags = st.lists(st.booleans(), min_size=len(split), max_size=len(split))
        perm = tuple(data.draw(st.permutations(range(len(split)))))
        shape = joined(tuple(split[axis] for axis in perm), data.draw(flags))
        y = b.add("StridedView", [y], split=split, perm=perm, shape=shape)
        arrays.append(arrays[-1].reshape(split).transpose(perm).reshape(shape))
        split = shape
    found = layouts(b.finish([y]))
    for value, array in zip(range(x + 1, y + 1), arrays, strict=True):
        layout = found[value]
        if layout is not None:
            np.testing.assert_array_equal(places(layout), array)
        assert (layout is not None) or value > x + 2, "one view of a whole tensor has a layout"


def test_gradients_of_views_are_where_their_operands_are() -> None:
    """What the product writes as a gradient of heads is seen as one of rows of columns."""
    b = GraphBuilder("heads")
    x = b.add("Relu", [b.input("x", (2, 6, 20))], name="x'")
    z = b.add(
        "StridedView", [x], name="z", split=(2, 6, 4, 5), perm=(0, 2, 1, 3), shape=(2, 4, 6, 5)
    )
    w = b.add("Relu", [b.weight("w", (2, 6, 20))], name="w'")
    keys = b.add("StridedView", [w], split=(2, 6, 4, 5), perm=(0, 2, 3, 1), shape=(2, 4, 5, 6))
    graph = training_graph(b.finish([b.add("MatMul", [z, keys], name="y")]))
    found = layouts(graph)
    assert found[z] == (((2, 120),), ((4, 5),), ((6, 20),), ((5, 1),))
    views = [node for node in graph.nodes if node.operator == "StridedViewGradient"]
    assert [found[node.inputs[0]] for node in views] == [
        (((2, 120),), ((4, 30),), ((5, 6),), ((6, 1),))
    ]
    assert [found[node.outputs[0]] for node in views] == [(((2, 120),), ((6, 1),), ((20, 6),))]


def test_the_first_run_of_an_axis_ends_where_its_memory_jumps() -> None:
    assert first_run(((6, 20), (4, 5))) == (24, 5)
    assert first_run(((6, 20), (4, 2))) == (6, 20)
    assert first_run(()) == (1, 1)
