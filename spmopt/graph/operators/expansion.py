"""Operators that repeat elements: broadcasting copies and resampled images."""

from __future__ import annotations

from dataclasses import replace
from math import prod

from spmopt.core.errors import InputError
from spmopt.graph.operators.attributes import broadcast, integers
from spmopt.graph.operators.pointwise import (
    ShapeRule,
    gradient_reads,
    no_operations,
    per_input,
    per_output,
    pointwise,
)
from spmopt.graph.operators.spec import Attributes, OperatorSpec, Shapes


def _expand_shapes(inputs: Shapes, attributes: Attributes) -> Shapes:
    return (broadcast(inputs[0], integers(attributes, "shape")),)


def _tile_shapes(inputs: Shapes, attributes: Attributes) -> Shapes:
    shape, repeats = inputs[0], integers(attributes, "repeats")
    if len(repeats) != len(shape) or min(repeats, default=1) < 1:
        raise InputError(f"repeats {repeats} must be {len(shape)} integers of at least 1")
    return (tuple(size * count for size, count in zip(shape, repeats, strict=True)),)


def _resize_shapes(inputs: Shapes, attributes: Attributes) -> Shapes:
    """``shape`` is the result's; the importer works it out of scales or sizes."""
    shape = integers(attributes, "shape")
    if len(shape) != len(inputs[0]) or prod(shape) < 1:
        raise InputError(f"shape {shape} does not suit an input of shape {inputs[0]}")
    return (shape,)


def _repeating(
    name: str, shapes: ShapeRule, constants: dict[int, str], *, work: int = 0
) -> tuple[OperatorSpec, ...]:
    """An operator, and its gradient, which adds up what was repeated."""
    gradient = f"{name}Gradient"
    operations = per_output(work) if work else no_operations
    forward = pointwise(name, operations, shapes, gradient_reads(gradient, ()))
    return (
        replace(forward, constants=constants),
        pointwise(gradient, per_input(max(1, work)), None),
    )


SPECS: tuple[OperatorSpec, ...] = (
    *_repeating("Expand", _expand_shapes, {1: "shape"}),
    *_repeating("Tile", _tile_shapes, {1: "repeats"}),
    # Bilinear: three weighted means of two numbers. Counted for every mode.
    *_repeating("Resize", _resize_shapes, {1: "roi", 2: "scales", 3: "sizes"}, work=6),
    *_repeating("Upsample", _resize_shapes, {1: "scales"}, work=6),
)
