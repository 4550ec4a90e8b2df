"""Choice of the operand of a matrix product that stays in the SPM, and the cost for the others.

The rule of PROBLEM.md, section 1, ``panel``, with its open choices decided here:

* A and B are the inputs of the product, C its result (:class:`~.operators.spec.Gemm`). The
  smallest of the three is kept; of equals B before C before A. The other two are streamed once,
  by rows of the axis shared with it: rows of A and C past B, of B and C past A, of A and B past C.
* Sizes are those of the tensors, so a convolution counts its feature map and not its im2col
  matrix. A role made up of several tensors (x and h of an LSTM gate) is kept as a whole.
* A role in several slices (a batched product) keeps one slice in scratch, the largest share if
  they are uneven, and all its tensors stream once. Groups of a convolution are not slices: a row
  holds the channels of every group.
* A role that takes more than half of the SPM's pages, its tensors each rounded up to pages, goes
  through a scratch panel instead: ``p = ceil(size / half)`` panels of ``ceil(size / p)`` bytes.
  It is streamed once and the other input p times. With C in panels that may be either input (by
  rows or by columns): the smaller one.
* Bypassing tensors are not kept: the smallest of the others is.
* On an SPM of one page half is that page, for panels, and nothing is kept required-resident. So the
  required-resident operand and the scratch always fit.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

from spmopt.core.machine import Machine
from spmopt.core.operation import REQUIRED_RESIDENT, Operand
from spmopt.graph.operators.spec import Gemm


@dataclass(frozen=True, slots=True, kw_only=True)
class Tiling:
    """How operands are used: by tensor, those not listed are streamed once.

    ``serial_bytes``: moved while nothing is computed, of a tile with one buffer.
    ``reads``: of an operation of several products, how often each of them reads an operand from the
    scratchpad, by tensor; as often as it is fetched where nothing is said.
    """

    operands: dict[int, Operand]
    scratch_bytes: int = 0
    serial_bytes: int = 0
    reads: Mapping[int, tuple[int, ...]] = field(default_factory=dict)

    @property
    def residents(self) -> set[int]:
        """Tensors that are required resident."""
        return {tensor for tensor, use in self.operands.items() if use.required_resident}


def tile(
    gemm: Gemm,
    inputs: Sequence[int],
    outputs: Sequence[int],
    sizes: Sequence[int] | Mapping[int, int],
    machine: Machine,
    *,
    bypassing: Collection[int] = (),
) -> Tiling:
    """Choose the required-resident operand (see the module).

    Parameters
    ----------
    inputs, outputs
        Tensors of the node, in the positions that ``gemm`` names.
    sizes
        Bytes of every tensor.
    bypassing
        Tensors that are never in the SPM.
    """
    roles = gemm.roles(inputs, outputs)
    whole = [sum(sizes[t] for t in role) for role in roles]
    units = [-(-size // count) for size, count in zip(whole, gemm.slices, strict=True)]
    may_stay = [k for k in (1, 2, 0) if not any(t in bypassing for t in roles[k])]
    # `min` takes the first of equals: B before C before A.
    kept = min(may_stay, key=units.__getitem__)
    half_pages = machine.spm_pages // 2
    if gemm.slices[kept] == 1:
        pages = sum(-(-sizes[t] // machine.page_bytes) for t in roles[kept])
        if pages <= half_pages:
            return Tiling(operands=dict.fromkeys(roles[kept], REQUIRED_RESIDENT))
    # As many panels as half of the scratchpad needs; of equal size, which takes least room.
    fetches = -(-units[kept] // (max(half_pages, 1) * machine.page_bytes))
    scratch_bytes = -(-units[kept] // fetches)
    if fetches == 1:
        return Tiling(operands={}, scratch_bytes=scratch_bytes)
    # C in panels: rows of C pass all of B again, columns all of A.
    other = {0: 1, 1: 0, 2: min((0, 1), key=whole.__getitem__)}[kept]
    again = Operand(fetches=fetches)
    return Tiling(operands=dict.fromkeys(roles[other], again), scratch_bytes=scratch_bytes)
