"""Buffers of feature maps in tiles: never less than a walk over all elements needs."""

from __future__ import annotations

from dataclasses import replace

import pytest

from spmopt.graph.tiles import LACKS
from tests.graph.loop_nests import (
    FORWARD,
    INPUT_GRADIENT,
    WEIGHT_GRADIENT,
    Convolution,
    Nest,
    least_room,
    tiles_of,
)
from tests.thorough import THOROUGH

LAYERS = [
    Convolution(shape=(1, 2, 5, 4), kernel=(3, 3), pads=(1, 1)),
    Convolution(shape=(1, 3, 6, 5), kernel=(3, 3)),
    Convolution(shape=(2, 2, 4, 3), kernel=(3, 3)),
    Convolution(shape=(2, 2, 4, 4), kernel=(3, 3), pads=(1, 1)),
    Convolution(shape=(1, 2, 7, 7), kernel=(3, 3), strides=(2, 2), pads=(1, 1)),
    Convolution(shape=(2, 1, 7, 6), kernel=(3, 2), strides=(2, 1)),
    Convolution(shape=(1, 2, 6, 6), kernel=(1, 1), strides=(2, 2)),
    Convolution(shape=(1, 2, 4, 7), kernel=(3, 3), pads=(1, 1)),
    Convolution(shape=(1, 2, 8, 4), kernel=(5, 1), pads=(2, 0)),
    Convolution(shape=(1, 2, 7, 5), kernel=(3, 3), pads=(2, 2), dilations=(2, 2)),
    Convolution(shape=(1, 2, 9, 5), kernel=(3, 3), pads=(1, 0)),
    Convolution(shape=(2, 2, 6, 5), kernel=(2, 1)),
    Convolution(shape=(1, 2, 5, 6), kernel=(3, 2), pads=(1, 1)),
    Convolution(shape=(1, 2, 2, 2), kernel=(3, 3), pads=(1, 1)),
    Convolution(shape=(2, 2, 3, 3), kernel=(3, 3)),
    Convolution(shape=(1, 2, 9, 5), kernel=(5, 3), strides=(3, 2), pads=(2, 1)),
]
OPERATORS = (FORWARD, INPUT_GRADIENT, WEIGHT_GRADIENT)
CASES = [
    (layer, operator)
    for number, layer in enumerate(LAYERS)
    for operator in (OPERATORS if THOROUGH else OPERATORS[number % 3 : number % 3 + 1])
]


@pytest.mark.parametrize(("layer", "operator"), CASES)
def test_tiles_have_the_room_that_their_elements_take(layer: Convolution, operator: str) -> None:
    found = layer.product(operator)
    for kept in range(3):
        for tile in tiles_of(found, kept):
            nest = Nest(layer=layer, operator=operator, product=found, kept=kept, tile=tile)
            alone = replace(found, buffered=(nest.map,))
            for copies in (2, 1) if kept == nest.map else (2,):
                stated = int(alone.buffers(tile, kept, copies))
                assert stated >= least_room(nest, copies), (kept, tile, copies)


@pytest.mark.parametrize(("layer", "operator"), CASES)
def test_rows_past_a_whole_operand_have_so_too(layer: Convolution, operator: str) -> None:
    found = layer.product(operator)
    for kept in range(3):
        sides = [*found.dimensions]
        sides[LACKS[kept]] = 1
        tile = sides[0], sides[1], sides[2]
        nest = Nest(layer=layer, operator=operator, product=found, kept=kept, tile=tile)
        if kept != nest.map:
            stated = replace(found, buffered=(nest.map,)).row_buffers(kept)
            assert stated >= least_room(nest, 2), kept
