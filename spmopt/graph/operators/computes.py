"""What operators compute whose axes attributes name: texts for :mod:`spmopt.graph.operators.loops`.

``operators.toml`` calls the rules by their names. Each axis has a letter of its own.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import accumulate
from math import prod
from string import ascii_letters

from spmopt.graph.operators.attributes import integer, integers, position, positions, text
from spmopt.graph.operators.resizing import resized
from spmopt.graph.operators.spec import Attributes, Shape, Shapes

_ACCESS = re.compile(r"([xy]\d+)(\[[^\]]*\])")
_MATRIX = str.maketrans("ab", "mn")
Computes = Callable[[Shapes, Shapes, Attributes], str]
"""The text for tensors of these shapes."""


def elementwise(inputs: Shapes, outputs: Shapes, attributes: Attributes) -> str:
    """Broadcast all operands; results that are smaller are sums. Operands that do not are whole."""
    largest = max((*inputs, *outputs), key=lambda shape: (prod(shape), len(shape)))
    reads = [_aligned(f"x{k}", shape, largest) for k, shape in enumerate(inputs)]
    return "; ".join(
        f"{_aligned(f'y{k}', shape, largest)} {'=' if shape == largest else '+='} "
        + " * ".join(reads or ["x0[...]"])
        for k, shape in enumerate(outputs)
    )


def unknown(inputs: Shapes, outputs: Shapes, attributes: Attributes) -> str:
    """Take any element for any other, unless all shapes are equal."""
    if len({*inputs, *outputs}) == 1:
        return elementwise(inputs, outputs, attributes)
    reads = " * ".join(_whole(f"x{k}", shape) for k, shape in enumerate(inputs))
    return "; ".join(f"{_whole(f'y{k}', shape)} = {reads}" for k, shape in enumerate(outputs))


def gemm(inputs: Shapes, outputs: Shapes, attributes: Attributes) -> str:
    """Multiply matrices, either perhaps transposed; a bias broadcasts."""
    a = "k, m" if integer(attributes, "transA", 0) else "m, k"
    b = "n, k" if integer(attributes, "transB", 0) else "k, n"
    return f"y0[m, n] += x0[{a}] * x1[{b}]" + (
        f"; y0[m, n] += {_aligned('x2', inputs[2], outputs[0]).translate(_MATRIX)}"
        if inputs[2:]
        else ""
    )


def matmul(inputs: Shapes, outputs: Shapes, attributes: Attributes) -> str:
    """Multiply matrices of the last two axes, the others broadcast; vectors as numpy takes them."""
    rows = ", m" if len(inputs[0]) > 1 else ""
    columns = ", n" if len(inputs[1]) > 1 else ""
    a = f"x0[...{rows}, k]" if rows else "x0[k]"
    b = f"x1[..., k{columns}]" if columns else "x1[k]"
    if integer(attributes, "transA", 0) and rows:
        a = "x0[..., k, m]"
    if integer(attributes, "transB", 0) and columns:
        b = "x1[..., n, k]"
    return f"y0[...{rows}{columns}] += {a} * {b}"


def softmax(inputs: Shapes, outputs: Shapes, attributes: Attributes) -> str:
    """Take the maximum, the sum, and the quotient of each row."""
    every, _, sums, quotient = _softmax(inputs[0], attributes)
    return f"{sums}; y0[{every}] = {quotient}"


def softmax_gradient(inputs: Shapes, outputs: Shapes, attributes: Attributes) -> str:
    """Add up dY Y of each row; then dX."""
    every, rest = _row(inputs[0], attributes)
    both = f"x0[{every}] * x1[{every}]"
    return f"s[{rest}] += {both}; y0[{every}] = {both} * s[{rest}]"


def loss(inputs: Shapes, outputs: Shapes, attributes: Attributes) -> str:
    """Add up a number of each row of scores and its label."""
    _, rest, sums, quotient = _softmax(inputs[0], attributes)
    return f"{sums}; y0[()] += {quotient} * x1[{rest}]"


def loss_gradient(inputs: Shapes, outputs: Shapes, attributes: Attributes) -> str:
    """Take the softmax of each row again; then dX."""
    every, rest, sums, quotient = _softmax(inputs[0], attributes)
    return f"{sums}; y0[{every}] = {quotient} * x1[{rest}]"


def reduction(inputs: Shapes, outputs: Shapes, attributes: Attributes) -> str:
    """Combine over ``axes``; without them, over what the result lacks."""
    if "axes" not in attributes and "keepdims" not in attributes and outputs[0] != ():
        return elementwise(inputs, outputs, attributes)  # a gradient of what was broadcast
    every, rest = _reduced(inputs[0], outputs[0], attributes)
    return f"y0[{rest}] += x0[{every}]"


def reduction_gradient(inputs: Shapes, outputs: Shapes, attributes: Attributes) -> str:
    """Repeat dY along the axes that were reduced; X and Y are read as they are, too."""
    every, rest = _reduced(outputs[0], inputs[0], attributes)
    more = (
        f" * x{k}[{every if shape == outputs[0] else rest}]" for k, shape in enumerate(inputs) if k
    )
    return f"y0[{every}] = x0[{rest}]{''.join(more)}"


def row_norm(inputs: Shapes, outputs: Shapes, attributes: Attributes) -> str:
    """Add up each row, and its squares; then normalize, scale and shift; statistics are results."""
    shape = inputs[0]
    axis = position(integer(attributes, "axis", -1), len(shape))
    every, rest = _letters(len(shape)), _letters(axis)
    scales = "".join(f" * {_aligned(f'x{k}', each, shape)}" for k, each in enumerate(inputs) if k)
    kept = _join([*rest, *"0" * (len(shape) - axis)])
    x, all_axes, rows = f"x0[{_join(every)}]", _join(every), _join(rest)
    return (
        f"u[{rows}] += {x}; v[{rows}] += {x} * u[{rows}]; "
        f"y0[{all_axes}] = {x} * u[{rows}] * v[{rows}]{scales}; "
        f"y1[{kept}] = u[{rows}]; y2[{kept}] = v[{rows}]"
    )


def norm_gradient(inputs: Shapes, outputs: Shapes, attributes: Attributes) -> str:
    """Of dY, X, scale and statistics: sums over what has one statistic, then dX; sums for the rest.

    Statistics of channels are of one axis, those of rows have all.
    """
    shape, statistics = inputs[0], inputs[3:]
    letters = _letters(len(shape))
    if all(len(each) == 1 for each in statistics) and len(shape) > 1:
        own, rest = f"[{letters[1]}]", f"[{letters[1]}]"
        scales = f" * x2{own}"
    else:
        axis = next((k for k, size in enumerate(statistics[0]) if size == 1), len(shape))
        own = f"[{_join([*letters[:axis], *'0' * (len(shape) - axis)])}]"
        rest, scales = f"[{_join(letters[:axis])}]", f" * {_aligned('x2', inputs[2], shape)}"
    every = _join(letters)
    read = f"x0[{every}] * x1[{every}]{scales}"
    read += "".join(f" * x{k}{own}" for k in range(3, len(inputs)))
    found = []
    for k, each in enumerate(outputs):
        if each == shape:
            found.append(f"s{rest} += {read}; y{k}[{every}] = {read} * s{rest}")
        else:
            target = f"y{k}{own}" if len(each) == 1 < len(shape) and rest == own else None
            found.append(f"{target or _aligned(f'y{k}', each, shape)} += {read}")
    return "; ".join(found)


def concat(inputs: Shapes, outputs: Shapes, attributes: Attributes) -> str:
    """Write each input behind those before it."""
    return "; ".join(
        f"y0[{there}] = x{k}[{here}]" for k, (here, there) in enumerate(_parts(inputs, attributes))
    )


def concat_gradient(inputs: Shapes, outputs: Shapes, attributes: Attributes) -> str:
    """Read the part of each input; anywhere in dY where not all are wanted."""
    axis = position(integer(attributes, "axis", 0), len(inputs[0]))
    if sum(shape[axis] for shape in outputs) != inputs[0][axis]:
        every = _letters(len(inputs[0]))
        there = _join([*every[:axis], ":", *every[axis + 1 :]])
        return "; ".join(
            f"y{k}[{_join(_apart(every, axis, k))}] = x0[{there}]" for k in range(len(outputs))
        )
    return "; ".join(
        f"y{k}[{here}] = x0[{there}]" for k, (here, there) in enumerate(_parts(outputs, attributes))
    )


def split_gradient(inputs: Shapes, outputs: Shapes, attributes: Attributes) -> str:
    """Write the gradient of each part; anywhere in dX where some parts have none."""
    axis = position(integer(attributes, "axis", 0), len(outputs[0]))
    if sum(shape[axis] for shape in inputs) == outputs[0][axis]:
        return concat(inputs, outputs, attributes)
    every = _letters(len(outputs[0]))
    there = _join([*every[:axis], ":", *every[axis + 1 :]])
    return "; ".join(
        f"y0[{there}] = x{k}[{_join(_apart(every, axis, k))}]" for k in range(len(inputs))
    )


def slices(inputs: Shapes, outputs: Shapes, attributes: Attributes) -> str:
    """Read every step-th element from the start of each axis."""
    here, there = _sliced(inputs[0], attributes)
    return f"y0[{here}] = x0[{there}]"


def slices_gradient(inputs: Shapes, outputs: Shapes, attributes: Attributes) -> str:
    """Write dY among zeros."""
    here, there = _sliced(outputs[0], attributes)
    return f"y0[{there}] = x0[{here}]"


def transpose(inputs: Shapes, outputs: Shapes, attributes: Attributes) -> str:
    """Read the axes in the order of ``perm``."""
    here, there = _turned(len(inputs[0]), attributes)
    return f"y0[{here}] = x0[{there}]"


def transpose_gradient(inputs: Shapes, outputs: Shapes, attributes: Attributes) -> str:
    """Write the axes in the order of ``perm``."""
    here, there = _turned(len(inputs[0]), attributes)
    return f"y0[{there}] = x0[{here}]"


def rolled(inputs: Shapes, outputs: Shapes, attributes: Attributes) -> str:
    """Read anywhere along ``axes``."""
    every = _letters(len(inputs[0]))
    axes = positions(integers(attributes, "axes"), len(every))
    there = [":" if axis in axes else letter for axis, letter in enumerate(every)]
    return f"y0[{_join(every)}] = x0[{_join(there)}]"


def pad(inputs: Shapes, outputs: Shapes, attributes: Attributes) -> str:
    """Read behind what is added at the begin of each axis; anywhere if it is no constant."""
    every, there = _letters(len(inputs[0])), _padded(inputs[0], attributes, "-")
    if text(attributes, "mode", "constant") != "constant":
        there = [own if own == letter else ":" for own, letter in zip(there, every, strict=True)]
    return f"y0[{_join(every)}] = x0[{_join(there)}]"


def pad_gradient(inputs: Shapes, outputs: Shapes, attributes: Attributes) -> str:
    """Read behind what was added at the begin of each axis."""
    there = _padded(outputs[0], attributes, "+")
    return f"y0[{_join(_letters(len(outputs[0])))}] = x0[{_join(there)}]"


def gather(inputs: Shapes, outputs: Shapes, attributes: Attributes) -> str:
    """Read any slices along ``axis``."""
    here, table, indices = _gathered(inputs[0], inputs[1], attributes)
    return f"y0[{here}] = x0[{table}] * x1[{indices}]"


def gather_gradient(inputs: Shapes, outputs: Shapes, attributes: Attributes) -> str:
    """Add dY up in any slices along ``axis``."""
    here, table, indices = _gathered(outputs[0], inputs[1], attributes)
    return f"y0[{table}] += x0[{here}] * x1[{indices}]"


def resampled(inputs: Shapes, outputs: Shapes, attributes: Attributes) -> str:
    """Read or write any elements along axes that change their size."""
    small, large = inputs[0], outputs[0]
    ours, theirs = list[str](), list[str]()
    for letter, size, other in zip(_letters(len(large)), large, small, strict=True):
        ours.append(letter if size >= other else ":")
        theirs.append(letter if size == other else ":" if size > other else letter)
    combines = "+=" if ":" in ours else "="
    return f"y0[{_join(ours)}] {combines} x0[{_join(theirs)}]"


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
        return "; ".join(_exchanged(part.strip(), wanted, names) for part in text.split(";")).strip(
            "; "
        )

    return computes


def _exchanged(statement: str, wanted: Mapping[str, str], names: Mapping[str, str]) -> str:
    """Write a statement for the operand that is wanted; nothing where there is none."""
    found = dict(_ACCESS.findall(statement))
    if not found:
        return statement
    targets = [f"{wanted[name]}{axes}" for name, axes in found.items() if name in wanted]
    reads = [f"{names[name]}{axes}" for name, axes in found.items() if name in names]
    return "; ".join(f"{target} += {' * '.join(reads)}" for target in targets)


def _join(parts: Sequence[str]) -> str:
    return ", ".join(parts) or "()"


def _letters(count: int) -> list[str]:
    return list(ascii_letters[:count])


def _whole(name: str, shape: Shape) -> str:
    return f"{name}[{_join([':'] * len(shape))}]"


def _aligned(name: str, shape: Shape, largest: Shape) -> str:
    """Index a tensor that broadcasts to ``largest``, by its letters; all of one that does not."""
    shift = len(largest) - len(shape)
    letters = _letters(len(largest))[shift:]
    if shift < 0 or any(
        size not in (1, other) for size, other in zip(shape, largest[shift:], strict=True)
    ):
        return _whole(name, shape)
    parts = [
        letter if size == other else "0"
        for letter, size, other in zip(letters, shape, largest[shift:], strict=True)
    ]
    return f"{name}[{_join(parts)}]"


def _row(shape: Shape, attributes: Attributes) -> tuple[str, str]:
    """Return the letters of all axes, and of those beside ``axis``."""
    axis = position(integer(attributes, "axis", -1), len(shape))
    every = _letters(len(shape))
    return _join(every), _join(every[:axis] + every[axis + 1 :])


def _softmax(shape: Shape, attributes: Attributes) -> tuple[str, str, str, str]:
    """Return the letters of a row, its maximum and sum as statements, and what is made of them."""
    every, rest = _row(shape, attributes)
    sums = f"m[{rest}] max= x0[{every}]; l[{rest}] += x0[{every}] * m[{rest}]"
    return every, rest, sums, f"x0[{every}] * m[{rest}] * l[{rest}]"


def _reduced(shape: Shape, result: Shape, attributes: Attributes) -> tuple[str, str]:
    """Return the indices of what is reduced along ``axes``, and of the result."""
    every = _letters(len(shape))
    axes = integers(attributes, "axes", ())
    nothing = not axes and integer(attributes, "noop_with_empty_axes", 0)
    gone = () if nothing else positions(axes or tuple(range(len(shape))), len(shape))
    kept = len(result) == len(shape)
    rest = [
        "0" if axis in gone else letter
        for axis, letter in enumerate(every)
        if kept or axis not in gone
    ]
    return _join(every), _join(rest)


def _parts(shapes: Shapes, attributes: Attributes) -> Iterator[tuple[str, str]]:
    """Return the indices of each part along ``axis``, and those in the whole."""
    axis = position(integer(attributes, "axis", 0), len(shapes[0]))
    begins = accumulate((shape[axis] for shape in shapes), initial=0)
    for k, begin in zip(range(len(shapes)), begins, strict=False):
        here = _apart(_letters(len(shapes[0])), axis, k)
        yield _join(here), _join([*here[:axis], f"{here[axis]} + {begin}", *here[axis + 1 :]])


def _apart(letters: Sequence[str], axis: int, part: int) -> list[str]:
    """Give the axis of a part a loop of its own."""
    return [*letters[:axis], f"{letters[axis]}{part}", *letters[axis + 1 :]]


def _sliced(shape: Shape, attributes: Attributes) -> tuple[str, str]:
    every = _letters(len(shape))
    starts, ends = integers(attributes, "starts"), integers(attributes, "ends")
    axes = positions(integers(attributes, "axes", tuple(range(len(starts)))), len(shape))
    steps = integers(attributes, "steps", (1,) * len(starts))
    there = every.copy()
    for axis, start, end, step in zip(axes, starts, ends, steps, strict=True):
        taken = range(*slice(start, end, step).indices(shape[axis]))
        there[axis] = f"{taken.step} * {every[axis]} + {taken.start}"
    return _join(every), _join(there)


def _turned(rank: int, attributes: Attributes) -> tuple[str, str]:
    order = positions(integers(attributes, "perm", tuple(reversed(range(rank)))), rank)
    every = _letters(rank)
    return _join([every[axis] for axis in order]), _join(every)


def _padded(shape: Shape, attributes: Attributes, sign: str) -> list[str]:
    """Return the letters of all axes, plus or minus what is added at the begin of each."""
    axes = positions(integers(attributes, "axes", tuple(range(len(shape)))), len(shape))
    pads = integers(attributes, "pads")
    every = _letters(len(shape))
    for place, axis in enumerate(axes):
        if pads[place] or pads[len(axes) + place]:
            every[axis] = f"{every[axis]} {sign} {pads[place]}"
    return every


def _gathered(data: Shape, indices: Shape, attributes: Attributes) -> tuple[str, str, str]:
    """Return the indices of the result, of the table and of the rows that are looked up."""
    axis = position(integer(attributes, "axis", 0), len(data))
    every = _letters(len(data) + len(indices))
    table, rows = every[: len(data)], every[len(data) :]
    here = [*table[:axis], *rows, *table[axis + 1 :]]
    return _join(here), _join([*table[:axis], ":", *table[axis + 1 :]]), _join(rows)


COMPUTES: dict[str, Computes] = {
    rule.__name__: rule
    for rule in (
        elementwise,
        unknown,
        gemm,
        matmul,
        softmax,
        softmax_gradient,
        loss,
        loss_gradient,
        reduction,
        reduction_gradient,
        row_norm,
        norm_gradient,
        concat,
        concat_gradient,
        split_gradient,
        slices,
        slices_gradient,
        transpose,
        transpose_gradient,
        rolled,
        pad,
        pad_gradient,
        gather,
        gather_gradient,
        resampled,
        resized,
    )
}
"""The rules by name."""
