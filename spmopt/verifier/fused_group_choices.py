"""Payments of resident bytes where the fusion tiles of an operation choose among mappings.

The claim and its proof are in :mod:`spmopt.verifier.fused_group_bound`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from spmopt.core.compression import ratios_of
from spmopt.core.fusion.fused_groups import FusedGroup
from spmopt.core.operation import OpMapping
from spmopt.verifier.fused_group_uses import Liveness, Use


class StepDuals(NamedTuple):
    """Dual values of the steps of a fusion tile, exact: of bytes held and moved, of computing."""

    hold: list[int]
    load: list[int]
    store: list[int]
    firm_load: list[int]
    firm_store: list[int]
    cycle: list[int]


class Choices:
    """The payments of one class of fusion tiles.

    Attributes
    ----------
    mappings
        Of each step: the common choice of all fusion tiles; none where they have one mapping.
    paid
        By step and tensor, in units of the dual values, of either sign.
    """

    def __init__(
        self, liveness: Liveness, fused_group: FusedGroup, number: int, take: Callable[..., int]
    ) -> None:
        tileable, count = liveness.tileable, fused_group.micro_batches
        every = range(fused_group.begin, fused_group.end)
        self.mappings = [tileable.operations[at].common(count) for at in every]
        self._uses: list[list[Use]] = [
            liveness.uses(at, count) if own else []
            for at, own in zip(every, self.mappings, strict=True)
        ]
        self._sizes, self._count = [each.size_bytes for each in tileable.tensors], count
        self._ratios = ratios_of(tileable.machine, tileable.tensors)
        self._machine = tileable.machine
        self.paid = {
            (step, use.tensor): take("resident in mappings", number, step, place)
            for step, uses in enumerate(self._uses)
            for place, use in enumerate(uses)
        }

    @property
    def most(self) -> int:
        """The most that a byte pays in a fusion tile, of either sign."""
        most = [0] * len(self.mappings)
        for (step, _), payment in self.paid.items():
            most[step] = max(most[step], abs(payment))
        return sum(most)

    def shifted(self, shift: int) -> dict[tuple[int, int], int]:
        """Return the payments without so many digits."""
        return {place: payment >> shift for place, payment in self.paid.items()}

    def earned(self, step: int, mapping: OpMapping, duals: StepDuals, shift: int) -> int | None:
        """Return the least that the bytes of a step's operands leave to it in a mapping.

        No more of them are resident than fit beside its scratch: those that leave it least. None
        where scratch and required operands do not fit, so that no schedule runs the mapping.
        """
        machine, total = self._machine, 0
        room = (machine.spm_pages - machine.pages(mapping.scratch_bytes)) * machine.page_bytes
        gains = list[tuple[int, int]]()
        for use, operand in zip(self._uses[step], mapping.operands, strict=True):
            size = self._sizes[use.tensor] // (1 if use.whole else self._count)
            payment = -(self.paid[step, use.tensor] >> shift << shift)
            if operand.required_resident:
                room, total = room - size, total + size * payment
            else:
                streamed = self._streamed(step, use, operand.fetches, duals)
                total += size * streamed
                gains.append((streamed - payment, size))
        if room < 0:
            return None
        # A fractional knapsack: the greedy choice is the best.
        for gain, size in sorted(gains, reverse=True):
            taken = min(size, room) if gain > 0 else 0
            total, room = total - gain * taken, room - taken
        return total

    def _streamed(self, step: int, use: Use, fetches: int, duals: StepDuals) -> int:
        """Return the least cost of the further fetches of a streamed byte in a mapping."""
        # Of a sum the least is moved by tiles at its ends; each tile moves so much more.
        more = fetches - use.fetches
        moved_in, moved_out = use.reads or use.live, use.writes and use.live
        moved = moved_in * duals.load[step] + moved_out * duals.store[step]
        ratio = self._ratios[use.tensor]
        # Rounded down, in integers: there are millions of these.
        return more * (ratio.numerator * moved // ratio.denominator)
