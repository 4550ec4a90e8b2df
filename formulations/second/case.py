"""What the equations are about: uses of tensors, gaps between them, rates and prices."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import floor, log10

import numpy as np

from formulations.second.names import labels
from spmopt.core.instance import Instance
from spmopt.core.modes import fitting_modes
from spmopt.core.objective import Objective
from spmopt.core.timeline import Access, Timeline, timeline


@dataclass(frozen=True, slots=True, kw_only=True)
class Use:
    """An operation's use of a tensor.

    ``live_after``: what is there after the step is read before it is overwritten, or kept.
    """

    step: int
    tensor: int
    reads: bool
    writes: bool
    passes: int
    stationary: bool
    live_after: bool

    @property
    def streams_in(self) -> int:
        """How often a tensor that is not resident is read (R3, R4)."""
        if self.reads:
            return self.passes
        return self.passes - 1 if self.live_after else 0

    @property
    def streams_out(self) -> int:
        """How often a tensor that is not resident is written (R4)."""
        return self.passes if self.writes and self.live_after else 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Gap:
    """The steps between two uses of a tensor whose contents are needed after them.

    ``before`` is None for what is in DRAM at the start, ``after`` for what is to be kept at the
    end. ``begin`` and ``end`` are the steps of the two uses, or -1 and the number of steps.
    ``written``: the contents were written before, so that DRAM may lack them.
    """

    tensor: int
    begin: int
    end: int
    before: Use | None
    after: Use | None
    written: bool

    @property
    def inside(self) -> range:
        """Steps strictly between the uses."""
        return range(self.begin + 1, self.end)


@dataclass(frozen=True, kw_only=True, eq=False)
class Case:
    """An instance in its order, each operation in its first mode that fits, and an objective."""

    instance: Instance
    objective: Objective
    line: Timeline

    @staticmethod
    def of(instance: Instance, objective: Objective) -> Case:
        """Read an instance.

        Raises
        ------
        InfeasibleError
            Stationary operands and scratch of an operation do not fit the SPM.
        """
        order = np.arange(len(instance.operations), dtype=np.int64)
        line = timeline(instance, order, fitting_modes(instance))
        return Case(instance=instance, objective=objective, line=line)

    @property
    def steps(self) -> int:
        """Number of steps."""
        return self.line.steps

    @cached_property
    def uses(self) -> list[Use]:
        """All uses, by step."""
        line = self.line
        columns = (line.step, line.tensor, line.kind, line.passes, line.stationary, line.live_after)
        return [
            Use(
                step=step,
                tensor=tensor,
                reads=kind != Access.WRITE,
                writes=kind != Access.READ,
                passes=passes,
                stationary=stationary,
                live_after=live_after,
            )
            for step, tensor, kind, passes, stationary, live_after in zip(
                *(column.tolist() for column in columns), strict=True
            )
        ]

    @cached_property
    def gaps(self) -> list[Gap]:
        """All gaps, by the step that ends them and then by tensor."""
        last: dict[int, Use] = {}
        written: set[int] = set()
        found: list[Gap] = []
        for use in self.uses:
            if use.reads:
                found.append(_gap(use.tensor, last.get(use.tensor), use, use.step, written))
            last[use.tensor] = use
            if use.writes:
                written.add(use.tensor)
        kept = [t for t, tensor in enumerate(self.instance.tensors) if tensor.keep and t in written]
        return found + [_gap(t, last[t], None, self.steps, written) for t in kept]

    @cached_property
    def size_bytes(self) -> list[int]:
        """Of each tensor."""
        return [tensor.size_bytes for tensor in self.instance.tensors]

    @cached_property
    def pages(self) -> list[int]:
        """Of each tensor, all of it."""
        page = self.instance.machine.page_bytes
        return [-(-size // page) for size in self.size_bytes]

    @cached_property
    def room(self) -> list[int]:
        """Pages that the scratch of each step leaves (R1)."""
        machine = self.instance.machine
        scratch = self.line.scratch_bytes.tolist()
        return [machine.spm_pages - -(-size // machine.page_bytes) for size in scratch]

    @cached_property
    def spare(self) -> list[int]:
        """Pages that scratch and stationary operands of each step leave."""
        spare = list(self.room)
        for use in self.uses:
            if use.stationary:
                spare[use.step] -= self.pages[use.tensor]
        return spare

    @cached_property
    def cycles(self) -> list[float]:
        """Cycles that the DMA channel takes for each tensor, all of it, once."""
        rate = self.instance.machine.bytes_per_cycle
        return [float(size / rate) for size in self.size_bytes]

    @cached_property
    def unit(self) -> Fraction:
        """Objective units in one of the model's: a power of ten that makes prices near one."""
        prices = (self.objective.cycle, self.objective.dram_in_byte, self.objective.dram_out_byte)
        largest = float(max(prices))
        return Fraction(10) ** floor(log10(largest)) if largest > 0 else Fraction(1)

    @cached_property
    def constant(self) -> Fraction:
        """What every schedule costs, in the objective's units."""
        line, objective = self.line, self.objective
        return (
            objective.spm_read_byte * int(line.spm_read_bytes.sum())
            + objective.spm_write_byte * int(line.spm_write_bytes.sum())
            + objective.mac * int(line.macs.sum())
        )

    @cached_property
    def labels(self) -> list[str]:
        """A name of each tensor that solvers and file formats take."""
        return labels(self.instance.tensor_names)

    def price(self, weight: Fraction) -> float:
        """One of the objective's weights in the model's units."""
        return float(weight / self.unit)

    def gap_steps(self) -> int:
        """Steps of all gaps, on which the size of a model depends."""
        return sum(len(gap.inside) + 1 for gap in self.gaps)


def _gap(tensor: int, before: Use | None, after: Use | None, end: int, written: set[int]) -> Gap:
    return Gap(
        tensor=tensor,
        begin=-1 if before is None else before.step,
        end=end,
        before=before,
        after=after,
        written=tensor in written,
    )
