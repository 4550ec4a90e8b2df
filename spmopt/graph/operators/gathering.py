"""Windows that an operator writes through, seen from its results.

A transposed convolution adds each row of its input to several rows of its result,
``y0[2*x + r - 1] += x0[x] * x1[r]``. Fusion tiles of ``x`` would share rows of the result. Solved
for ``x`` the same sum is ``y0[y] += x0[(y - r + 1) / 2] * x1[r]``, where that quotient is whole:
fusion tiles of ``y`` write rows of their own, and read a window of ``x0``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from spmopt.core.loops import Access, Index, LoopNest, Statement
from spmopt.graph.operators.spec import Shape

_MAP = "x0"
"""The operand whose loops are solved for: the feature map; the other is the kernel."""


def gather(nest: LoopNest, shapes: Mapping[str, Shape]) -> LoopNest:
    """Return statements that sum through windows of their results as sums for each result.

    Parameters
    ----------
    shapes
        Of the operands, by name.
    """
    extents, statements = dict(nest.extents), list[Statement]()
    for each in nest.statements:
        statement = each
        for axis, index in enumerate(each.target.axes):
            loop = None if index is None else _solvable(each, index)
            if index is None or loop is None:
                continue
            plain = (access.axes[axis] for access in nest.accesses(each.target.tensor))
            own = next((i.loop for i in plain if i is not None and i.loop), f"{loop}'")
            extents[own] = shapes[each.target.tensor][axis]
            extents.pop(loop, None)
            statement = _solve(statement, axis, index, loop, own)
        statements.append(statement)
    return LoopNest(extents=extents, statements=tuple(statements))


def _solvable(statement: Statement, index: Index) -> str | None:
    """Return the loop that an index of combined values can be solved for, if there is one."""
    if not statement.combines or len(index.terms) < 2 or index.divisor > 1:
        return None
    terms = dict(index.terms)
    elsewhere = [
        each
        for access in (statement.target, *statement.reads)
        for each in access.axes
        if each is not None and each != index
    ]
    for access in statement.reads:
        for each in access.axes if access.tensor == _MAP else ():
            loop = None if each is None else each.loop
            if loop is None or terms.get(loop, 0) < 1:
                continue
            if all(i.loop == loop or loop not in dict(i.terms) for i in elsewhere):
                return loop
    return None


def _solve(statement: Statement, axis: int, index: Index, loop: str, own: str) -> Statement:
    """Give the results along an axis a loop of their own, and solve their index for another."""
    terms = dict(index.terms)
    step = terms.pop(loop)
    position = Index(
        terms=tuple(sorted([*((name, -each) for name, each in terms.items()), (own, 1)])),
        offset=-index.offset,
        divisor=step,
        exact=step > 1,
    )

    def solve_access(access: Access) -> Access:
        axes = (position if i is not None and i.loop == loop else i for i in access.axes)
        return replace(access, axes=tuple(axes))

    target = list(statement.target.axes)
    target[axis] = Index(terms=((own, 1),))
    return replace(
        statement,
        target=replace(statement.target, axes=tuple(target)),
        reads=tuple(map(solve_access, statement.reads)),
    )
