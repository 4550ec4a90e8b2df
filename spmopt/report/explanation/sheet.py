"""An explanation for people, in lines of 80 columns."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import pairwise
from textwrap import wrap

import numpy as np

from spmopt.analysis.explanation import Explanation, Transfer, shares
from spmopt.analysis.obstacles import Obstacle
from spmopt.analysis.stalls import Cause
from spmopt.analysis.worth import Worth
from spmopt.core.result import Result
from spmopt.metrics import in_unit
from spmopt.report import quantities
from spmopt.report.explanation.record import GB, KB
from spmopt.report.view import heading

WIDTH = 80
_NAMED = 3
"""Transfers of a step, holders of a full step and moves of a busy one that are named."""
_SHOWN = 5e-4
_PARTS = 10
_LEAST = 0.01
_SOLID = "\N{NO-BREAK SPACE}"


def explanation_lines(
    found: Explanation, worth: Worth | None, result: Result, steps: Sequence[int], *, in_full: bool
) -> list[str]:
    """Lines of at most 80 columns; ``steps`` in detail, with all of their transfers if ``in_full``.

    Names that are longer than a line are not cut.
    """
    title = f"{heading(found.instance, result)}; scheduler {result.scheduler}"
    lines = [*_wrapped(title), "", *_summary(found)]
    lines += _stalls(found, steps, in_full)
    return [*lines, "", *_worth(found, worth)]


def _summary(found: Explanation) -> Iterator[str]:
    figures, clock = found.figures, found.instance.machine.clock_hz
    stall, time = int(figures.stall_cycles.sum()), int(figures.cycles.sum())
    stalled, steps = np.count_nonzero(figures.stall_cycles), figures.cycles.size
    yield from _wrapped(
        f"time       {si(time / clock, 's')}; stall {share(stall / max(1, time))} of it: "
        f"{si(stall / clock, 's')} in {stalled} of {steps} steps",
        11,
    )
    if not stall:
        return
    causes = [(cause.words, int(found.by_cause[cause])) for cause in Cause]
    obstacles = [(kind.words, int(found.by_obstacle[kind])) for kind in Obstacle]
    yield from _wrapped(f"waits for  {_parts(causes)}", 11)
    yield from _wrapped(f"because    {_parts(obstacles)}", 11)


def _stalls(found: Explanation, steps: Sequence[int], in_full: bool) -> Iterator[str]:
    figures = found.figures
    stalled, total = np.count_nonzero(figures.stall_cycles), int(figures.stall_cycles.sum())
    part = int(figures.stall_cycles[list(steps)].sum())
    if not in_full and steps:
        yield ""
        which = "The largest stall" if len(steps) == 1 else f"The {len(steps)} largest stalls"
        yield from _wrapped(f"{which} of {stalled}, {share(part / total)} of all stall:")
    for step in steps:
        yield ""
        yield from _stall(found, step, in_full)


def _stall(found: Explanation, step: int, in_full: bool) -> Iterator[str]:
    figures, clock = found.figures, found.instance.machine.clock_hz
    cycles, stall = int(figures.cycles[step]), int(figures.stall_cycles[step])
    yield from _wrapped(
        f"step {step}, {found.operation(step)}: stall {si(stall / clock, 's')} of "
        f"{si(cycles / clock, 's')}"
    )
    transfers = found.transfers(step)
    shown = len(transfers) if in_full else _NAMED
    told: set[str] = set()
    for transfer in transfers[:shown]:
        yield from _transfer(found, transfer, told)
    more = transfers[shown:]
    if more:
        rest = sum(transfer.stall_cycles for transfer in more)
        yield from _wrapped(f"  {si(rest / clock, 's', fill=True):>9}  {len(more)} more")


def _transfer(found: Explanation, of: Transfer, told: set[str]) -> Iterator[str]:
    """Lines on one transfer; reasons that were ``told`` before are not told again."""
    clock = found.instance.machine.clock_hz
    passes = f", {of.passes} times" if of.passes > 1 else ""
    yield from _wrapped(
        f"  {si(of.stall_cycles / clock, 's', fill=True):>9}  {of.cause.words}: {of.name} "
        f"({si(of.size_bytes, 'B')}{passes})",
        13,
    )
    reasons = _reasons(found, of)
    parts = shares(of.by_obstacle)
    for kind in sorted(Obstacle, key=lambda kind: -of.by_obstacle[kind]):
        if of.by_obstacle[kind]:
            how_much = "" if parts[kind] == 1 else f" {share(parts[kind])}"
            why = "as above" if reasons[kind] in told else reasons[kind]
            yield from _wrapped(f"{' ' * 13}{kind.words}{how_much}: {why}", 15)
            told.add(reasons[kind])


def _reasons(found: Explanation, of: Transfer) -> dict[Obstacle, str]:
    """What is in the way, in words."""
    when = "later" if of.later else "earlier"
    free = f"room and time are free for it {when}"
    if of.anyway_step is not None:
        free += f", or room to keep it {'until' if of.later else 'since'} step {of.anyway_step}"
    no_step = "made by the last step" if of.later else "needed by the first step"
    return {
        Obstacle.CAPACITY: _full(found, of.full_step),
        Obstacle.CHANNEL: _busy(found, of.busy_step),
        Obstacle.DEPENDENCY: no_step,
        Obstacle.AVOIDABLE: free,
    }


def _full(found: Explanation, step: int | None) -> str:
    if step is None:
        return ""
    holders = found.holders(step)
    names = [
        f"{held.name} ({si(held.size_bytes, 'B')} until step {held.until})"
        for held in holders[:_NAMED]
    ]
    rest = sum(held.size_bytes for held in holders[_NAMED:])
    machine = found.instance.machine
    free = machine.spm_pages * machine.page_bytes - int(found.figures.occupied_bytes[step])
    room = f"only {si(free, 'B')} of room" if free else "no room"
    if not holders:
        return f"{room} in step {step}"
    return f"{room} in step {step}, held by " + _listed(names, len(holders), si(rest, "B"))


def _busy(found: Explanation, step: int | None) -> str:
    if step is None:
        return ""
    clock, moves = found.instance.machine.clock_hz, found.moved(step)
    names = [
        f"{moved.cause.words} of {moved.name} ({si(moved.cycles / clock, 's')})"
        for moved in moves[:_NAMED]
    ]
    rest = sum(moved.cycles for moved in moves[_NAMED:])
    text = _listed(names, len(moves), si(rest / clock, "s"))
    return f"the channel has no time in step {step}: {text}" if moves else f"step {step} is short"


def _worth(found: Explanation, worth: Worth | None) -> Iterator[str]:
    if worth is None:
        yield "No prices in this result say what more SPM or bandwidth is worth."
        return
    machine, objective = found.instance.machine, worth.certificate.objective

    def shown(value: Fraction) -> str:
        return si(*in_unit(objective, machine, value))

    yield from _wrapped(f"Worth, by the prices that prove the bound of {shown(worth.bound)}:")
    steps, clock_price = worth.spm_price.size, worth.channel_price
    priced = int(np.count_nonzero(worth.spm_price))
    yield from _wrapped(
        f"  1 KB more SPM     {shown(worth.per_spm_byte * KB)} at most; it has a price in "
        f"{priced} of {steps} steps",
        20,
    )
    yield from _wrapped(
        f"  1 GB/s more DRAM  {shown(worth.per_byte_per_s * GB)} at most; the "
        f"channel sets the pace in {np.count_nonzero(clock_price >= 1 - _LEAST)} steps, the "
        f"engine in {np.count_nonzero(clock_price <= _LEAST)}",
        20,
    )
    if priced:
        yield from _profile(worth)
    yield from _wrapped(
        "With d bytes more of SPM no schedule in this order is below the bound less d times "
        "the price, with d fewer none is below the bound plus as much; d in whole pages."
    )


def _profile(worth: Worth) -> Iterator[str]:
    """The price of the scratchpad along the steps."""
    steps, total = worth.spm_price.size, float(worth.spm_price.sum())
    edges = np.unique(np.linspace(0, steps, _PARTS + 1).astype(int)).tolist()
    parts = [
        (begin, end, float(worth.spm_price[begin:end].sum()) / total)
        for begin, end in pairwise(edges)
    ]
    most, digits = max(part for _, _, part in parts), len(str(steps - 1))
    yield "  price of SPM along the steps:"
    for begin, end, part in parts:
        bar = "█" * round(30 * part / most)
        span = f"{begin:>{digits}} to {end - 1:>{digits}}"
        yield f"    {span}  {quantities.share(part):>7}  {bar}".rstrip()


def si(value: float, unit: str, *, fill: bool = False) -> str:
    """A quantity that no line ends within."""
    return quantities.si(value, unit, fill=fill).replace(" ", _SOLID)


def share(part: float) -> str:
    """A part that no line ends within."""
    return quantities.share(part).replace(" ", _SOLID)


def _listed(names: Sequence[str], count: int, rest: str) -> str:
    more = count - len(names)
    return ", ".join(names) + (f" and {more} more of {rest}" if more else "")


def _parts(amounts: Sequence[tuple[str, int]]) -> str:
    """Names with their shares, largest first."""
    parts = shares([amount for _, amount in amounts])
    order = sorted(range(len(parts)), key=lambda k: -parts[k])
    return ", ".join(f"{share(parts[k])} {amounts[k][0]}" for k in order if parts[k] >= _SHOWN)


def _wrapped(text: str, indent: int = 0) -> list[str]:
    """Lines of at most 80 columns; names are not broken."""
    lines = wrap(
        text,
        WIDTH,
        subsequent_indent=" " * indent,
        break_long_words=False,
        break_on_hyphens=False,
    )
    return [line.replace(_SOLID, " ") for line in lines]
