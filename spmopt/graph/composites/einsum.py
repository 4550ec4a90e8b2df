"""``Einsum`` of any equation, as products of two operands, sums and transpositions."""

from __future__ import annotations

from collections.abc import Container
from string import ascii_letters

from spmopt.core.errors import InputError
from spmopt.graph.composites.call import Call, Results

Term = tuple[int, str]
"""A value, and a label for each of its axes."""


def einsum(call: Call) -> Results:
    """Contract from left to right, as it is written."""
    labels, result, sizes = _labels(call)
    terms = [_squeeze(call, (call.value(k), of), sizes) for k, of in enumerate(labels)]
    done = terms[0]
    for k, term in enumerate(terms[1:], start=1):
        # A label of a later operand must outlive this product, though the result may lack it.
        later = "".join(of for _, of in terms[k + 1 :])
        done = _product(call, done, term, result, later)
    value, of = _sum(call, done, result)
    return [call.transpose(value, *(of.index(label) for label in result))]


def _labels(call: Call) -> tuple[list[str], str, dict[str, int]]:
    """Return the labels of operands and result, dots written out, and how far each goes."""
    given = call.text("equation", "").replace(" ", "")
    left, arrow, result = given.partition("->")
    operands = left.split(",")
    shapes = [call.operand(k).shape for k in range(len(operands))]
    if len(operands) != len(call.operands):
        raise InputError(f"equation {given!r} does not suit {len(call.operands)} operands")
    # The dots may stand for fewer axes in one operand than in another: they broadcast.
    wide = max(
        (
            len(shape) - len(of.replace("...", ""))
            for of, shape in zip(operands, shapes, strict=True)
            if "..." in of
        ),
        default=0,
    )
    free = [each for each in ascii_letters if each not in given]
    if wide > len(free):
        raise InputError(f"equation {given!r} has too many axes")
    dots = "".join(free[:wide])
    written = []
    for of, shape in zip(operands, shapes, strict=True):
        more = len(shape) - len(of.replace("...", ""))
        if more < 0 or (more and "..." not in of):
            raise InputError(f"equation {given!r} does not suit shapes {shapes}")
        labels = of.replace("...", "")
        if len(set(labels)) < len(labels):
            raise InputError(f"equation {given!r} names a label twice in an operand; cut it before")
        # Broadcasting aligns axes at the end, so an operand with fewer takes the last labels.
        written.append(of.replace("...", dots[wide - more :] if more else ""))
    if not arrow:
        # The implicit form of numpy: labels that stand once, in alphabetical order, after the dots.
        every = "".join(operands).replace("...", "")
        once = sorted(label for label in set(every) if every.count(label) == 1)
        result = "..." * ("..." in left) + "".join(once)
    result = result.replace("...", dots)
    sizes: dict[str, int] = {}
    for of, shape in zip(written, shapes, strict=True):
        for label, size in zip(of, shape, strict=True):
            if 1 not in (size, sizes.get(label, 1)) and sizes[label] != size:
                raise InputError(f"equation {given!r}: {label} differs in shapes {shapes}")
            # Size 1 broadcasts against any other, so the larger one is the label's.
            sizes[label] = max(size, sizes.get(label, 1))
    if any(label not in sizes for label in result) or len(set(result)) < len(result):
        raise InputError(f"equation {given!r}: its result must name labels of operands, each once")
    return written, result, sizes


def _squeeze(call: Call, term: Term, sizes: dict[str, int]) -> Term:
    """Drop axes of size 1 whose label goes further elsewhere: they broadcast."""
    value, of = term
    shape = call.shape(value)
    kept = [k for k, label in enumerate(of) if shape[k] == sizes[label]]
    return (
        call.reshape(value, *(shape[k] for k in kept)),
        "".join(of[k] for k in kept),
    )


def _product(call: Call, one: Term, other: Term, result: str, later: str) -> Term:
    """Multiply two terms, and sum over axes that nothing else has."""
    wanted = set(result) | set(later)
    # Sums over labels of one operand alone come first: they shrink the product.
    one = _sum(call, one, [*wanted, *other[1]])
    other = _sum(call, other, [*wanted, *one[1]])
    (a, of_a), (b, of_b) = one, other
    every = "".join(dict.fromkeys(of_a + of_b))
    kept = "".join(label for label in every if label in wanted)
    if not later:
        # The last product writes the order of the result, which saves a transposition.
        kept = "".join(sorted(kept, key=result.index))
    if kept == every or set(kept) == set(every):  # nothing to sum: no product of matrices
        order = kept
        aligned = (_align(call, term, order) for term in (one, other))
        return call.add("Mul", *aligned, part="multiply"), order
    y = call.add("Einsum", a, b, part="product", equation=f"{of_a},{of_b}->{kept}")
    return y, kept


def _align(call: Call, term: Term, order: str) -> int:
    """Return the term with its axes in an order, of size 1 where it lacks a label."""
    value, of = term
    own = [label for label in order if label in of]
    value = call.transpose(value, *(of.index(label) for label in own))
    sizes = dict(zip(own, call.shape(value), strict=True))
    return call.reshape(value, *(sizes.get(label, 1) for label in order))


def _sum(call: Call, term: Term, wanted: Container[str]) -> Term:
    """Sum over labels that nothing else has."""
    value, of = term
    axes = tuple(k for k, label in enumerate(of) if label not in wanted)
    if not axes:
        return term
    left = "".join(label for label in of if label in wanted)
    return call.add("ReduceSum", value, part="sum", axes=axes, keepdims=0), left
