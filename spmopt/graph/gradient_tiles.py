"""Tilings of the two gradients of a layer, in one operation that reads dY for both.

Of Y (m, n) = X (m, k) W (k, n) the products of tiles of both gradients, ``dX[i,k] += dY[i,j]
W[k,j]ᵀ`` and ``dW[k,j] += X[i,k]ᵀ dY[i,j]``, are one loop nest over i, k and j, as of a
product of three operands: X with dX (m, k), W with dW (k, n), and dY (m, n). The innermost loop
keeps a tile of one of them:

* X and dX: dX is complete before the next tile, and partial sums of dW spill (*dX-major*);
* W and dW: partial sums of dX spill (*dW-major*);
* dY, and partial sums of both spill.

So fetches and buffers follow the rules of :mod:`.tiles`, with two tensors in place of one. Beside
that, each gradient may go in tiles of its own: one after the other (*sequential*), in the larger
room of both; or in turns, with a tile of dX and one of dW, neither of which spills (*interleaved*),
in the room of both. dY is then fetched for each of them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import product

import numpy as np

from spmopt.core.machine import Machine
from spmopt.core.operation import REQUIRED_RESIDENT, STREAMED, Operand
from spmopt.graph.tile_choice import other_tilings, pareto_rows, rooms_of
from spmopt.graph.tiles import Product, ProductTensors, budget_bytes, least_traffic
from spmopt.graph.tiling import Tiling

_NEARLY_SQUARE = 4
_KEPT = {"dx-major": 0, "dw-major": 1}
"""Operands whose tile the innermost loop keeps: X with dX, or W with dW."""


def algorithm_1(m: int, k: int, n: int) -> str:
    """Choose the order of both gradients by the shape of a layer (Kim et al., algorithm 1).

    ``interleaved`` where ``max(M, K, N) < 4 min(M, K, N)``, else ``dw-major`` where K is the
    greatest, else ``dx-major``.
    """
    sizes = (m, k, n)
    if max(sizes) < _NEARLY_SQUARE * min(sizes):
        return "interleaved"
    return "dw-major" if k > n and k > m else "dx-major"


@dataclass(frozen=True, kw_only=True)
class GradientTensors(ProductTensors):
    """The operands of both gradients of a layer, whose product is ``gemm``.

    ``together``: the tensors of X and dX, of W and dW, and of dY.
    """

    together: tuple[list[int], ...]

    @classmethod
    def of(cls, dx: ProductTensors, dw: ProductTensors) -> GradientTensors:
        """Return the operands of two products that read the same dY."""
        (dy, w, result), (x, _, weights) = dx.roles, dw.roles
        # Of dX, (m, n) by (n, k), the layer is (m, k) by (k, n).
        of, (m, k, n) = dx.gemm, dx.gemm.taps
        gemm = replace(of, k=of.n, n=of.k, slices=of.slices[::-1], taps=(m, n, k))
        given = {name: getattr(dw, name) for name in ProductTensors.__dataclass_fields__}
        return cls(**{**given, "gemm": gemm}, together=([*x, *result], [*w, *weights], dy))

    @property
    def roles(self) -> tuple[list[int], ...]:
        """The tensors of X and dX, of W and dW, and of dY."""
        return self.together

    @property
    def product(self) -> Product:
        """Their sizes. A result moves twice a pass, but once in the first."""

        def passing(role: Sequence[int], results: int) -> int:
            return sum(self.moving_bytes(t) * (results if t in self.outputs else 1) for t in role)

        return replace(
            super().product,
            # Half of what moves, as a third operand that is added to counts twice.
            moved=tuple(
                passing(role, 2) * (1 if place == 2 else 2) for place, role in enumerate(self.roles)
            ),
            added=True,
            serial=tuple(
                passing(role, 1) + sum(self.moving_bytes(t) for t in role if t in self.adds)
                for role in self.roles
            ),
        )

    @property
    def adds(self) -> set[int]:
        """Results that are added to: a tile of them comes in first."""
        return {*self.inputs} & {*self.outputs}


def gradient_tilings(
    dx: ProductTensors, dw: ProductTensors, machine: Machine, *, several: bool
) -> list[Tiling]:
    """Return tilings of both gradients; the first by algorithm 1, in the room of first tilings.

    ``several``: and those that are best for some use of the scratchpad, up to all of it.
    """
    pair, products = GradientTensors.of(dx, dw), (dx, dw)
    first = _first(pair, products, machine)
    if not several:
        return [first]
    found = [_together(pair, each) for each in other_tilings(pair, machine)]
    return [first, *_leave_best([*found, *_sequential(products, machine)], pair, machine)]


def _sequential(products: Sequence[ProductTensors], machine: Machine) -> Iterator[Tiling]:
    """Yield tilings of one gradient after the other, those that move least in some room."""
    others = [other_tilings(each, machine) for each in products]
    for room in rooms_of(machine.spm_pages * machine.page_bytes).tolist():
        # Buffers of tiles that do not fit would shrink to the room.
        if not all(_fits_one(each, room) for each in products):
            continue
        every = [
            [least_traffic(each, machine, room), *(o for o in more if o.scratch_bytes <= room)]
            for each, more in zip(products, others, strict=True)
        ]
        # Operands that stay for either may not fit together, and tiles of one buffer wait.
        for held, waits in product((True, False), repeat=2):
            some = [
                [o for o in own if (held or not o.residents) and (waits or not o.serial_bytes)]
                for own in every
            ]
            if all(some):
                best = [
                    min(own, key=partial(_count_moved, tensors))
                    for tensors, own in zip(products, some, strict=True)
                ]
                yield _apart(products, best, max(each.scratch_bytes for each in best))


def _count_moved(tensors: ProductTensors, tiling: Tiling) -> int:
    """Return the bytes that a tiling of one product moves."""
    total = 0
    for tensor in {t for role in tensors.roles for t in role} - tiling.residents:
        times = tiling.operands.get(tensor, STREAMED).fetches
        if tensor in tensors.outputs:
            times = 2 * times - (tensor not in tensors.inputs)
        total += times * tensors.moving_bytes(tensor)
    return total


def _fits_one(tensors: ProductTensors, room: int) -> bool:
    """Return whether the least tiles fit in a room."""
    # As `least_traffic` does, other buffers shrink.
    return tensors.product.least_buffers + min(tensors.others, room // 4) <= room


def _first(pair: GradientTensors, products: Sequence[ProductTensors], machine: Machine) -> Tiling:
    """Return a tiling of the order that algorithm 1 chooses."""
    order = algorithm_1(pair.gemm.m, pair.gemm.k, pair.gemm.n)
    if order not in _KEPT:
        # Each keeps its result, in half of the room: partial sums of neither spill.
        half = budget_bytes(machine) // 2
        halves = [least_traffic(replace(each, keep=(2,)), machine, half) for each in products]
        return _apart(products, halves, sum(each.scratch_bytes for each in halves))
    # Partial sums of the other gradient stay on chip in full, or spill.
    whole, tiled = (
        least_traffic(replace(pair, keep=(kept,)), machine)
        for kept in (1 - _KEPT[order], _KEPT[order])
    )
    return _together(pair, whole if whole.residents else tiled)


def _together(pair: GradientTensors, tiling: Tiling) -> Tiling:
    """Return a tiling of the loop nest of both: each tile of dY that comes is read by both."""
    counts = {t: tiling.operands.get(t, STREAMED).fetches for t in pair.roles[2]}
    return replace(tiling, reads={t: (count, count) for t, count in counts.items()})


def _apart(
    products: Sequence[ProductTensors], tilings: Sequence[Tiling], scratch_bytes: int
) -> Tiling:
    """Return a tiling in which each gradient has tiles of its own."""
    uses = [
        {t: tiling.operands.get(t, STREAMED) for role in tensors.roles for t in role}
        for tensors, tiling in zip(products, tilings, strict=True)
    ]
    operands, shared = {**uses[0], **uses[1]}, uses[0].keys() & uses[1].keys()
    for tensor in shared:
        found = [each[tensor] for each in uses]
        if any(each.required_resident for each in found):
            operands[tensor] = REQUIRED_RESIDENT
        else:
            operands[tensor] = Operand(fetches=sum(each.fetches for each in found))
    return Tiling(
        operands=operands,
        scratch_bytes=scratch_bytes,
        serial_bytes=sum(each.serial_bytes for each in tilings),
        reads={t: (uses[0][t].fetches, uses[1][t].fetches) for t in shared},
    )


def _leave_best(tilings: Sequence[Tiling], pair: GradientTensors, machine: Machine) -> list[Tiling]:
    """Return the tilings that fit, none worse than another with the same operands on chip."""
    tensors = [t for role in pair.roles for t in role]
    able, figures = list[Tiling](), list[list[int]]()
    for each in tilings:
        used = [each.operands.get(t, STREAMED) for t in tensors]
        whole = [pair.sizes[tensor] for tensor in each.residents]
        pages = sum(map(machine.pages, (each.scratch_bytes, *whole)))
        if pages <= machine.spm_pages:
            able.append(each)
            # Held and not held are no better than each other: equal in both columns.
            signs = [sign * use.required_resident for use in used for sign in (1, -1)]
            fetches = [use.fetches for use in used]
            figures.append([each.scratch_bytes, each.serial_bytes, *fetches, *signs])
    return [able[k] for k in pareto_rows(np.array(figures, np.int64))] if able else []
