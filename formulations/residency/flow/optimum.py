"""The optimum where intervals depend on each other by the capacity alone."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from formulations.residency.bound.prices import CostCoefficients, Multipliers, certificate
from formulations.residency.flow.network import Packed, Packing, pack
from formulations.residency.flow.plan import kept_plan
from formulations.residency.flow.savings import SavingIntervals, spare_units
from formulations.solver.program import Floats
from spmopt.assemble.cost import plan_cost
from spmopt.core.instance import Instance, Operation
from spmopt.core.result import Certificate
from spmopt.core.schedule import Plan
from spmopt.core.scheduler import Request
from spmopt.core.table import Ints
from spmopt.core.timeline import Timeline, fitting_timeline

_PARTS = 4  # of a page, where prices suffice


@dataclass(frozen=True, kw_only=True, eq=False)
class Optimum:
    """A plan of least ``value``, and prices that prove it but for ``gap`` (not exact)."""

    plan: Plan
    value: Fraction
    gap: float
    certificate: Certificate


def page_optimum(instance: Instance, request: Request) -> Optimum | None:
    """Best plan in pages; None where :class:`SavingIntervals` do not apply or time is too short.

    The bound knows bytes, not pages: where last pages are not full it may be less than the value.
    If it is by more than the tolerance, a second flow, of parts of pages, gives prices for it.

    Raises
    ------
    InfeasibleError
        An operation's stationary operands and scratch do not fit the SPM.
    """
    case = _Case.of(instance, request)
    found = None if case is None else case.in_pages()
    if case is None or found is None:
        return None
    kept_bytes, prices = found
    if case.optimum(kept_bytes, prices).gap > request.tolerance:
        finer = case.prices_of_parts()
        prices = prices if finer is None else finer
    return case.optimum(kept_bytes, prices)


def fluid_optimum(instance: Instance, request: Request) -> Optimum | None:
    """Best plan in bytes that spread over pages at will, which is no legal one."""
    case = _Case.of(instance, request)
    found = None if case is None else case.in_bytes()
    if case is None or found is None:
        return None
    return case.optimum(*found)


@dataclass(frozen=True, kw_only=True, eq=False)
class _Case:
    instance: Instance
    request: Request
    line: Timeline
    stays: SavingIntervals
    coefficients: CostCoefficients

    @staticmethod
    def of(instance: Instance, request: Request) -> _Case | None:
        # Most instances need no more than a look.
        if request.objective.cycle or not all(map(_rigid, instance.operations)):
            return None
        line = fitting_timeline(instance)
        stays = SavingIntervals.of(line, request.objective)
        if stays is None:
            return None
        coefficients = CostCoefficients.of(instance, line, request.objective)
        return _Case(
            instance=instance, request=request, line=line, stays=stays, coefficients=coefficients
        )

    def in_pages(self) -> tuple[Ints, Floats] | None:
        """(k,) bytes kept, and (n,) prices of a byte: full pages, and last ones by themselves."""
        stays, page = self.stays, self.instance.machine.page_bytes
        full, rest = stays.size_bytes // page, stays.size_bytes % page
        whole, part = np.flatnonzero(full), np.flatnonzero(rest)
        stay = np.concatenate((whole, part))
        packing = Packing(
            capacity=self._spare(page),
            begin=stays.begin[stay],
            end=stays.end[stay],
            most=np.concatenate((full[whole], np.ones_like(part))),
            saving=np.concatenate((stays.saving[whole] * page, stays.saving[part] * rest[part])),
        )
        packed = pack(packing, self.request)
        if packed is None:
            return None
        pages = np.zeros_like(full)
        np.add.at(pages, stay, packed.kept)
        prices: Floats = (packed.price / page).astype(np.float64) * float(stays.unit)
        return np.minimum(pages * page, stays.size_bytes), prices

    def in_bytes(self) -> tuple[Ints, Floats] | None:
        """(k,) bytes kept, and (n,) prices of a byte."""
        unit = self._common_bytes()
        packed = self._in_units(unit)
        return None if packed is None else (packed.kept * unit, self._byte_prices(packed))

    def prices_of_parts(self) -> Floats | None:
        """(n,) Prices of a byte, nearly the best; exact ones would take several times as long."""
        part = self.instance.machine.page_bytes // _PARTS
        packed = self._in_units(max(part, self._common_bytes()))
        return None if packed is None else self._byte_prices(packed)

    def _in_units(self, unit_bytes: int) -> Packed | None:
        """SavingIntervals in whole units, to the nearest; pages may be shared."""
        stays = self.stays
        packing = Packing(
            capacity=self._spare(1) // unit_bytes,
            begin=stays.begin,
            end=stays.end,
            most=(stays.size_bytes + unit_bytes // 2) // unit_bytes,
            saving=stays.saving,
        )
        return pack(packing, self.request)

    def _byte_prices(self, packed: Packed) -> Floats:
        return packed.price.astype(np.float64) * float(self.stays.unit)

    def _common_bytes(self) -> int:
        """The largest unit that every size is a multiple of."""
        line, page = self.line, self.instance.machine.page_bytes
        return int(np.gcd.reduce(line.size_bytes[line.tensor], initial=page))

    def _spare(self, unit_bytes: int) -> Ints:
        return spare_units(self.instance.machine, self.line, unit_bytes)

    def optimum(self, kept_bytes: Ints, prices: Floats) -> Optimum:
        """Plan and proof; the gap is to what other stays could save more at these prices."""
        stays, unit = self.stays, float(self.stays.unit)
        plan = kept_plan(self.line, stays, kept_bytes)
        value = plan_cost(self.instance.machine, self.line, plan).value(
            self.request.objective, self.line
        )
        upto = np.concatenate(([0.0], np.cumsum(prices)))
        gain = stays.saving * unit - (upto[stays.end] - upto[stays.begin])
        most = float((prices * self._spare(1)).sum())
        most += float((np.maximum(gain, 0.0) * stays.size_bytes).sum())
        excess = most - unit * float((stays.saving * kept_bytes).sum())
        bound = float(value) - excess
        nothing = np.zeros_like(prices)
        multipliers = Multipliers.legal(self.coefficients, prices, nothing, nothing)
        return Optimum(
            plan=plan,
            value=value,
            gap=0.0 if excess <= 0 else excess / bound if bound > 0 else np.inf,
            certificate=certificate(
                self.instance, self.request.objective, self.coefficients, multipliers
            ),
        )


def _rigid(operation: Operation) -> bool:
    """Whether it has one mode, and that keeps every operand resident."""
    first = operation.modes[0]
    return len(operation.modes) == 1 and all(operand.stationary for operand in first.operands)
