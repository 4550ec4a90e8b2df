"""What more scratchpad and bandwidth are worth, for people."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from itertools import pairwise

import numpy as np

from spmopt.analysis.worth import Worth, held_by_banks
from spmopt.core.machine import Machine
from spmopt.metrics import in_unit
from spmopt.report.explanation.lines import Line, share, si
from spmopt.report.explanation.record import GB, KB

_PARTS = 10
_LEAST = 0.01
_SMALL = 100
"""What is added is at most such a part of what the machine has."""


def worth_lines(machine: Machine, worth: Worth | None) -> Iterator[Line]:
    """Slopes of the bound at a small change of the machine, and where they come from."""
    if worth is None:
        yield Line("No prices in this result say what more SPM or bandwidth is worth.")
        return
    bound = _shown(machine, worth, worth.bound)
    yield Line(f"Worth, by the prices that prove the bound of {bound}:")
    rows = [_scratchpad(machine, worth)]
    if worth.certificate.objective.cycle:
        rows.append(_bandwidth(machine, worth))
    wide = max(len(label) for label, _ in rows)
    for label, text in rows:
        yield Line(f"  {label:<{wide}}  {text}", wide + 4)
    if worth.counted.any():
        yield from _profile(worth)
    yield Line(
        "With d bytes more of SPM no schedule in this order is below the bound less d times "
        "the price, with d fewer none is below the bound plus as much; d in whole pages of "
        f"{si(machine.page_bytes, 'B')}."
    )
    if machine.memory is not None:
        yield Line("Speed of its banks, energies and leakage stay those of this SPM.")


def _scratchpad(machine: Machine, worth: Worth) -> tuple[str, str]:
    page = machine.page_bytes
    size, label = KB, "1 kB more SPM"
    if machine.spm_bytes < _SMALL * KB:
        size = -(-machine.spm_bytes // (_SMALL * page)) * page
        label = f"{si(size, 'B')} more SPM"
    priced, steps = int(np.count_nonzero(worth.counted)), worth.spm_price.size
    if not priced:
        return label, "nothing that counts: no step has a price"
    value = f"{_most(machine, worth, worth.per_spm_byte * size)} at most"
    if page > size:
        one = _most(machine, worth, worth.per_spm_byte * page)
        value += f" (less than a page of {si(page, 'B')}: {one})"
    return label, f"{value}; it has a price in {priced} of {steps} steps"


def _bandwidth(machine: Machine, worth: Worth) -> tuple[str, str]:
    rate, price = machine.dram_bytes_per_s, worth.channel_price
    more, label = Fraction(GB), "1 GB/s more DRAM"
    if rate < _SMALL * GB:
        more = Fraction(rate, _SMALL)
        label = f"{si(float(more), 'B/s')} more DRAM"
    if held_by_banks(machine):
        return label, "nothing: banks of the SPM hold the channel back"
    most = _most(machine, worth, worth.per_byte_per_s * more)
    channel, engine = np.count_nonzero(price >= 1 - _LEAST), np.count_nonzero(price <= _LEAST)
    return label, (
        f"{most} at most; the channel sets the pace in {channel} steps, the engine in {engine}"
    )


def _most(machine: Machine, worth: Worth, value: Fraction) -> str:
    """No more than all of the bound can be gained."""
    return _shown(machine, worth, max(Fraction(0), min(value, worth.bound)))


def _shown(machine: Machine, worth: Worth, value: Fraction) -> str:
    return si(*in_unit(worth.certificate.objective, machine, value))


def _profile(worth: Worth) -> Iterator[Line]:
    """The price of the scratchpad along the steps."""
    price = np.where(worth.counted, worth.spm_price, 0.0)
    steps, total = price.size, float(price.sum())
    edges = np.unique(np.linspace(0, steps, _PARTS + 1).astype(int)).tolist()
    parts = [(begin, end, float(price[begin:end].sum()) / total) for begin, end in pairwise(edges)]
    most, digits = max(part for _, _, part in parts), len(str(steps - 1))
    yield Line("  price of SPM along the steps:")
    for begin, end, part in parts:
        bar = "█" * round(30 * part / most)
        span = f"{begin:>{digits}} to {end - 1:>{digits}}"
        yield Line(f"    {span}  {share(part):>7}  {bar}".rstrip(), fixed=True)
