"""Statements of the computations of operators, as text.

Shared by the rules, and those of gradients. A rule ``..._computes`` gets the shapes of inputs and
results and the attributes, and returns a text that :mod:`spmopt.graph.operators.loops` reads. Each
axis of a tensor has a letter of its own.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from string import ascii_letters

from spmopt.graph.operators.attributes import integer, position
from spmopt.graph.operators.spec import Attributes, Computes, Shape, Shapes

_ACCESS = re.compile(r"([xy]\d+)(\[[^\]]*\])")


def gradient(source: Computes, wanted: Mapping[str, str], names: Mapping[str, str]) -> Computes:
    """Return the rule of a gradient of a product: the same maps, another operand written.

    Parameters
    ----------
    source
        Of the product, of its own operands.
    wanted, names
        Operands of the product that the gradient writes and reads, and their names there.
    """
    old = {new: name for name, new in {**wanted, **names}.items()}

    def computes(inputs: Shapes, outputs: Shapes, attributes: Attributes) -> str:
        given = {f"x{k}": shape for k, shape in enumerate(inputs)}
        given |= {f"y{k}": shape for k, shape in enumerate(outputs)}
        known = {old[name]: shape for name, shape in given.items() if name in old}
        shapes = tuple(known[f"x{k}"] for k in range(3) if f"x{k}" in known)
        text = source(shapes, (known["y0"],), attributes)
        return "; ".join(_exchange(part.strip(), wanted, names) for part in text.split(";")).strip(
            "; "
        )

    return computes


def _exchange(statement: str, wanted: Mapping[str, str], names: Mapping[str, str]) -> str:
    """Write a statement for the operand that is wanted; nothing where there is none."""
    found = dict(_ACCESS.findall(statement))
    if not found:
        return statement
    targets = [f"{wanted[name]}{axes}" for name, axes in found.items() if name in wanted]
    reads = [f"{names[name]}{axes}" for name, axes in found.items() if name in names]
    return "; ".join(f"{target} += {' * '.join(reads)}" for target in targets)


def turn_round(copy: Computes) -> Computes:
    """Return the rule of the gradient of a copy: the same places, in the other direction."""
    names = {"x": "y", "y": "x"}

    def computes(inputs: Shapes, outputs: Shapes, attributes: Attributes) -> str:
        parts = (part.split(" = ") for part in copy(outputs, inputs, attributes).split("; "))
        return "; ".join(
            f"{names[source[0]]}{source[1:]} = {names[target[0]]}{target[1:]}"
            for target, source in parts
        )

    computes.__module__ = copy.__module__  # the home of both rules
    return computes


def complete(source: str) -> str:
    """Return a text that makes result 0 of complete sums: partial sums do not fit its type."""
    found = _ACCESS.match(source)
    assert found is not None
    return f"{source.replace('y0[', 's[')}; y0{found[2]} = s{found[2]}"


def join(parts: Sequence[str]) -> str:
    """Write indices beside each other; those of a scalar are ``()``."""
    return ", ".join(parts) or "()"


def axis_letters(count: int) -> list[str]:
    """Return a letter for each axis."""
    return list(ascii_letters[:count])


def row(shape: Shape, attributes: Attributes) -> tuple[str, str]:
    """Return the letters of all axes, and of those beside ``axis``."""
    axis = position(integer(attributes, "axis", -1), len(shape))
    every = axis_letters(len(shape))
    return join(every), join(every[:axis] + every[axis + 1 :])


def whole(name: str, shape: Shape) -> str:
    """Index all of a tensor."""
    return f"{name}[{join([':'] * len(shape))}]"


def align(name: str, shape: Shape, largest: Shape) -> str:
    """Index a tensor that broadcasts to ``largest``, by its letters; all of one that does not."""
    shift = len(largest) - len(shape)
    letters = axis_letters(len(largest))[shift:]
    if shift < 0 or any(
        size not in (1, other) for size, other in zip(shape, largest[shift:], strict=True)
    ):
        return whole(name, shape)
    parts = [
        letter if size == other else "0"
        for letter, size, other in zip(letters, shape, largest[shift:], strict=True)
    ]
    return f"{name}[{join(parts)}]"
