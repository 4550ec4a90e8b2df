"""Orders as text, for command lines and records: ``dx-major``, ``sequential:dx=kij~:dw=jki@4x2x4``.

An order is a name of :data:`~spmopt.tiles.order.ORDERS`, or ``algorithm-1``, then what differs from
it: ``:dx=WALK``, ``:dw=WALK``. A walk is its loops, ``~`` if it turns round (boustrophedon), and
``@4x2x4`` if it goes by blocks of so many tiles along i, k and j, with ``/jik`` for the loops over
blocks if they are not ``ikj``.
"""

from __future__ import annotations

import re
from dataclasses import replace

from spmopt.core.errors import InputError, unknown
from spmopt.tiles.layer import Layer
from spmopt.tiles.order import ORDERS, Order, algorithm_1
from spmopt.tiles.walk import LOOPS, Walk

ALGORITHM_1 = "algorithm-1"
"""The order that fits a layer's shape."""
_SIZE = r"([0-9]{1,9})"
_WALK = re.compile(rf"([ikj]{{3}})(~?)(?:@{_SIZE}x{_SIZE}x{_SIZE}(?:/([ikj]{{3}}))?)?")


def parse_order(text: str, layer: Layer) -> Order:
    """Read an order; ``algorithm-1`` is the one that fits ``layer``.

    Raises
    ------
    InputError
        No such order, or a part of it cannot be used.
    """
    name, *options = text.split(":")
    if name != ALGORITHM_1 and name not in ORDERS:
        raise unknown("order", name, (*ORDERS, ALGORITHM_1))
    walks: dict[str, Walk] = {}
    for option in options:
        key, _, walk = option.partition("=")
        if key not in ("dx", "dw") or key in walks or not walk:
            raise InputError(f"order {text!r}: {option!r} is not dx=WALK or dw=WALK, each once")
        walks[key] = parse_walk(walk)
    order = ORDERS[algorithm_1(layer) if name == ALGORITHM_1 else name]
    return replace(order, dx=walks.get("dx", order.dx), dw=walks.get("dw", order.dw))


def format_order(order: Order) -> str:
    """Text that :func:`parse_order` reads back, for any layer."""
    for name, known in ORDERS.items():
        if order == known:
            return name
    name = "interleaved" if order.alternate else "sequential"
    return f"{name}:dx={format_walk(order.dx)}:dw={format_walk(order.dw)}"


def parse_walk(text: str) -> Walk:
    """Read a walk.

    Raises
    ------
    InputError
        It is none.
    """
    found = _WALK.fullmatch(text)
    if found is None:
        raise InputError(
            f"walk {text!r}: write loops as ikj, then ~ to turn round, then @4x2x4 for blocks and "
            "/jik for the loops over them"
        )
    loops, turns, *block, blocks = found.groups()
    return Walk(
        loops=loops,
        block=None if block[0] is None else (int(block[0]), int(block[1]), int(block[2])),
        blocks=blocks or LOOPS[0],
        boustrophedon=bool(turns),
    )


def format_walk(walk: Walk) -> str:
    """Text that :func:`parse_walk` reads back."""
    text = walk.loops + "~" * walk.boustrophedon
    if walk.block is None:
        return text
    over = "" if walk.blocks == LOOPS[0] else f"/{walk.blocks}"
    return f"{text}@{'x'.join(map(str, walk.block))}{over}"
