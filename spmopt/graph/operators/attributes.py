"""Checked access to attributes and shapes, with one clear line for a wrong one."""

from __future__ import annotations

from spmopt.core.errors import InputError
from spmopt.graph.operators.spec import Attributes, Shape, Shapes


def integer(attributes: Attributes, name: str, default: int | None = None) -> int:
    """Return the integer attribute ``name``; without a default it must be there."""
    value = attributes.get(name, default)
    if value is None:
        raise InputError(f"attribute {name} is missing; give it as an integer")
    if not isinstance(value, int):
        raise InputError(f"attribute {name} must be an integer, is {value!r}")
    return value


def integers(
    attributes: Attributes, name: str, default: tuple[int, ...] | None = None
) -> tuple[int, ...]:
    """Return the attribute ``name`` as a tuple of integers; without a default it must be there."""
    value = attributes.get(name, default)
    if value is None:
        raise InputError(f"attribute {name} is missing; give it as integers")
    if isinstance(value, int):
        return (value,)
    if not isinstance(value, tuple) or not all(isinstance(item, int) for item in value):
        raise InputError(f"attribute {name} must be integers, is {value!r}")
    return value


def number(attributes: Attributes, name: str, default: float) -> float:
    """Return the attribute ``name`` as a real number."""
    value = attributes.get(name, default)
    if not isinstance(value, int | float):
        raise InputError(f"attribute {name} must be a number, is {value!r}")
    return float(value)


def text(attributes: Attributes, name: str, default: str) -> str:
    """Return the attribute ``name`` as text."""
    value = attributes.get(name, default)
    if not isinstance(value, str):
        raise InputError(f"attribute {name} must be text, is {value!r}")
    return value


def position(axis: int, rank: int) -> int:
    """Return ``axis`` counted from the front; ``rank`` may be one more than the tensor's."""
    if not -rank <= axis < rank:
        raise InputError(f"axis {axis} is outside a tensor of {rank} dimensions")
    return axis % rank


def positions(axes: tuple[int, ...], rank: int) -> tuple[int, ...]:
    """Return several axes counted from the front, each once."""
    result = tuple(position(axis, rank) for axis in axes)
    if len(set(result)) != len(result):
        raise InputError(f"axes {axes} name a dimension twice")
    return result


def broadcast_shape(*shapes: Shape) -> Shape:
    """Return the shape of an element-wise result (multidirectional broadcasting of ONNX)."""
    rank = max(map(len, shapes))
    padded = [(1,) * (rank - len(shape)) + shape for shape in shapes]
    result = []
    for column in zip(*padded, strict=True):
        sizes = set(column) - {1}
        if len(sizes) > 1:
            joined = " and ".join(map(str, shapes))
            raise InputError(f"shapes {joined} do not broadcast")
        result.append(sizes.pop() if sizes else 1)
    return tuple(result)


def expect_rank(shape: Shape, least: int, what: str) -> None:
    """Check that ``shape`` has at least ``least`` dimensions."""
    if len(shape) < least:
        raise InputError(f"{what} of shape {shape} needs at least {least} dimensions")


def first_two(inputs: Shapes) -> Shapes:
    """Return the operands of a product, which other inputs may follow."""
    if len(inputs) < 2:
        raise InputError(f"takes 2 operands or more, was given {len(inputs)}")
    return inputs[:2]
