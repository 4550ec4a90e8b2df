"""Rules of attention as one operation: scores, softmax and context, of which none are stored.

``first`` is the equation of queries and keys, ``second`` the equation of probabilities and values.
The first operand of ``second`` has the labels of the scores; keys are the last of these labels.
``between`` lists the operations on scores before their softmax, one a word: ``Mul:s,3`` multiplies
scores by operand 3. Operands are queries, keys, values, then those of ``between``.

A softmax is *causal* where each query sees the keys up to its own alone. Attribute ``causal`` says
how many rows of scores in a row are of one token, ``hidden`` how many keys are after the last.
"""

from __future__ import annotations

from collections.abc import Iterator
from string import ascii_lowercase, ascii_uppercase

import numpy as np

from spmopt.core.errors import InputError
from spmopt.core.table import Ints
from spmopt.graph.operators.attributes import integer, text
from spmopt.graph.operators.products import einsum_product, einsum_shapes, equation
from spmopt.graph.operators.spec import Attributes, Gemm, Shape, Shapes

SCORES = "s"
"""Scores, among the operands of an operation of ``between``."""
CAUSAL = "causal", "hidden"
"""Attributes of a causal softmax."""


def stages(attributes: Attributes) -> Iterator[tuple[str, list[int | None]]]:
    """Yield the operations between scores and softmax: names, and operands; None are scores."""
    for word in text(attributes, "between", "").split():
        name, _, operands = word.partition(":")
        yield name, [None if each == SCORES else int(each) for each in operands.split(",")]


def visible_keys(attributes: Attributes, rows: int, keys: int) -> Ints | None:
    """Return how many keys each of the last rows of scores sees (rows,); None if it sees all."""
    each = integer(attributes, "causal", 0)
    if not each:
        return None
    last = keys - integer(attributes, "hidden", 0)
    behind = (rows - 1 - np.arange(rows)) // each
    return np.clip(last - behind, 0, keys)


def attention_shapes(inputs: Shapes, attributes: Attributes) -> Shapes:
    """Multiply queries by keys, and the softmax of that by values."""
    if len(inputs) < 3:
        raise InputError("takes queries, keys and values")
    scores = _scores(inputs, attributes)
    return einsum_shapes((scores, inputs[2]), {"equation": text(attributes, "second", "")})


def attention_computes(inputs: Shapes, outputs: Shapes, attributes: Attributes) -> str:
    """Multiply queries by keys, take the softmax of each row, and multiply that by values."""
    (queries, keys, scores), (_, values, result) = _labels(attributes)
    every, rest = ", ".join(scores), ", ".join(scores[:-1])
    shape = dict(zip(scores, _scores(inputs, attributes), strict=True))
    found = [f"s[{every}] += x0[{', '.join(queries)}] * x1[{', '.join(keys)}]"]
    last = "s"
    for place, (_, operands) in enumerate(stages(attributes)):
        reads = [
            f"{last}[{every}]" if each is None else f"x{each}[{_broadcast(inputs[each], shape)}]"
            for each in operands
        ]
        last = f"t{place}"
        found.append(f"{last}[{every}] = {' * '.join(reads)}")
    found += [
        f"m[{rest}] max= {last}[{every}]",
        f"l[{rest}] += {last}[{every}] * m[{rest}]",
        f"p[{every}] = {last}[{every}] * m[{rest}] * l[{rest}]",
        f"y0[{', '.join(result)}] += p[{every}] * x2[{', '.join(values)}]",
    ]
    return "; ".join(found)


def attention_product(inputs: Shapes, outputs: Shapes, attributes: Attributes) -> Gemm:
    """Return the product of queries and keys; its result is no tensor."""
    given = {"equation": text(attributes, "first", "")}
    found = einsum_product(inputs[:2], (_scores(inputs, attributes),), given)
    return Gemm(m=found.m, k=found.k, n=found.n, batch=found.batch, c=(), slices=found.slices)


def attention_context_product(inputs: Shapes, outputs: Shapes, attributes: Attributes) -> Gemm:
    """Return the product of probabilities and values."""
    operands = _scores(inputs, attributes), inputs[2]
    found = einsum_product(operands, outputs, {"equation": text(attributes, "second", "")})
    return Gemm(
        m=found.m, k=found.k, n=found.n, batch=found.batch, a=(), b=(2,), slices=found.slices
    )


def score_axes(inputs: Shapes, attributes: Attributes) -> tuple[Shape, tuple[bool, ...]]:
    """Return the shape of scores, and which of its axes tell heads: queries and keys have them."""
    queries, keys, scores = equation({"equation": text(attributes, "first", "")})
    heads = tuple(each in queries and each in keys for each in scores)
    return _scores(inputs, attributes), heads


def _scores(inputs: Shapes, attributes: Attributes) -> Shape:
    (found,) = einsum_shapes(inputs[:2], {"equation": text(attributes, "first", "")})
    return found


def _labels(attributes: Attributes) -> tuple[tuple[str, str, str], tuple[str, str, str]]:
    """Return the labels of both equations, where equal ones are equal loops."""
    first = equation({"equation": text(attributes, "first", "")})
    second = equation({"equation": text(attributes, "second", "")})
    free = iter(each for each in ascii_lowercase + ascii_uppercase if each not in "".join(first))
    loop = dict(zip(second[0], first[2], strict=True))
    # Others of the second equation are loops of their own, whatever the first one calls its own.
    for label in second[1] + second[2]:
        loop[label] = loop.get(label) or next(free)
    renamed = ["".join(map(loop.__getitem__, part)) for part in second]
    return first, (renamed[0], renamed[1], renamed[2])


def _broadcast(shape: Shape, of: dict[str, int]) -> str:
    """Return the indices of an operand that broadcasts to scores, by label and size."""
    labels = list(of.items())[len(of) - len(shape) :]
    found = [
        "0" if size == 1 < of_scores else label
        for size, (label, of_scores) in zip(shape, labels, strict=True)
    ]
    return ", ".join(found) or "()"
