"""Orders as text, there and back."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spmopt.core.errors import InputError
from spmopt.tiles.layer import Layer
from spmopt.tiles.order import ORDERS, Order, Walk, format_order, parse_order
from tests.tiles.cases import ANY_ORDER

CUBE = Layer(name="cube", m=8, k=8, n=8)


@pytest.mark.parametrize("name", ORDERS)
def test_names(name: str) -> None:
    assert parse_order(name, CUBE) == ORDERS[name]
    assert format_order(ORDERS[name]) == name


@given(ANY_ORDER | st.sampled_from(list(ORDERS.values())))
def test_back_and_forth(order: Order) -> None:
    assert parse_order(format_order(order), CUBE) == order


def test_all_parts() -> None:
    order = parse_order("dw-major:dw=ijk~@4x2x10/kji", CUBE)
    walk = Walk(loops="ijk", block=(4, 2, 10), blocks="kji", boustrophedon=True)
    assert order == Order(dx=Walk(loops="jki"), dw=walk, alternate=True)


def test_algorithm_1_chooses_by_the_layer() -> None:
    assert parse_order("algorithm-1", CUBE) == ORDERS["interleaved"]
    assert parse_order("algorithm-1", Layer(name="t", m=9, k=1, n=1)) == ORDERS["dx-major"]
    wide = parse_order("algorithm-1:dx=ijk", Layer(name="w", m=1, k=9, n=1))
    assert wide == Order(dx=Walk(loops="ijk"), dw=ORDERS["dw-major"].dw, alternate=True)


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("dy-major", "no order called 'dy-major'; did you mean d"),
        ("", "no order called ''; choose one of algorithm-1, "),
        ("interleaved:x=ikj", "'x=ikj' is not dx=WALK or dw=WALK, each once"),
        ("interleaved:dx=ikj:dx=ikj", "'dx=ikj' is not dx=WALK or dw=WALK, each once"),
        ("interleaved:dx", "'dx' is not dx=WALK or dw=WALK, each once"),
        ("interleaved:dx=ikj@4", "walk 'ikj@4': write loops as ikj"),
        ("interleaved:dx=iij", "walk: loops 'iij' are unknown; use ikj"),
        ("interleaved:dx=ikj@0x1x1", "walk: block (0, 1, 1); every size must be at least 1"),
    ],
)
def test_other_text_is_refused(text: str, error: str) -> None:
    with pytest.raises(InputError) as raised:
        parse_order(text, CUBE)
    assert error in str(raised.value)
