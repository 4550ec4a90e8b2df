"""Dual values of a byte read and written as whole numbers, so that sums of them are exact."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import gcd, lcm

from spmopt.core.objective import Objective


@dataclass(frozen=True, kw_only=True, eq=False)
class ByteDuals:
    """Integer dual values of a byte read and written, in units of ``unit`` objective units.

    ``exact``: nothing was rounded.
    """

    into: int
    out: int
    unit: Fraction
    exact: bool = True

    @staticmethod
    def of(objective: Objective, largest: int) -> ByteDuals:
        """Take the largest unit that divides both; duals above ``largest`` are rounded down."""
        into, out = objective.dram_in_byte, objective.dram_out_byte
        scale = lcm(into.denominator, out.denominator)
        common = Fraction(gcd(int(into * scale), int(out * scale)) or 1, scale)
        unit = max(common, max(into, out) / largest)
        return ByteDuals(
            into=int(into / unit), out=int(out / unit), unit=unit, exact=unit == common
        )
