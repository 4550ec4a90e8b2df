"""An explanation for people, in lines that fit the terminal."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from spmopt.analysis.explanation import Explanation, Transfer, shares
from spmopt.analysis.obstacles import Obstacle
from spmopt.analysis.stalls import Cause
from spmopt.analysis.worth import Worth
from spmopt.core.result import Result
from spmopt.report.explanation.lines import SMALL, Line, share, si
from spmopt.report.explanation.worth import worth_lines
from spmopt.report.view import barrier_notes, heading

_ALONE = (
    "Avoidable: each transfer is judged alone, all others where they are; several may count on the "
    "same free room and time, so not all of it need be avoidable together."
)
_NAMED = 3
"""Transfers of a step, holders of a full step and moves of a busy one that are named."""


def explanation_lines(
    found: Explanation,
    worth: Worth | None,
    result: Result,
    steps: Sequence[int],
    *,
    in_full: bool,
    width: int | None,
) -> list[str]:
    """Lines; ``steps`` in detail, with all of their transfers if ``in_full``.

    They are of at most ``width`` characters, as far as can be; None for no limit.
    """
    title = f"{heading(found.instance, result)}; scheduler {result.scheduler}"
    lines = [Line(title), *map(Line, barrier_notes(result)), Line(""), *_summary(found)]
    lines += _stalls(found, steps, in_full)
    if found.by_obstacle[Obstacle.AVOIDABLE]:
        lines += [Line(""), Line(_ALONE)]
    lines += [Line(""), *worth_lines(found.instance.machine, worth)]
    return [part for line in lines for part in line.fit(width)]


def _summary(found: Explanation) -> Iterator[Line]:
    figures, clock = found.figures, found.instance.machine.clock_hz
    stall, time = int(figures.stall_cycles.sum()), int(figures.cycles.sum())
    stalled, steps = np.count_nonzero(figures.stall_cycles), figures.cycles.size
    yield Line(
        f"time       {si(time / clock, 's')}; stall {share(stall / max(1, time))} of it: "
        f"{si(stall / clock, 's')} in {stalled} of {steps} steps",
        11,
    )
    if not stall:
        return
    causes = [(cause.words, int(found.by_cause[cause])) for cause in Cause]
    obstacles = [(kind.words, int(found.by_obstacle[kind])) for kind in Obstacle]
    yield Line(f"waits for  {_parts(causes)}", 11)
    yield Line(f"because    {_parts(obstacles)}", 11)


def _stalls(found: Explanation, steps: Sequence[int], in_full: bool) -> Iterator[Line]:
    figures = found.figures
    stalled, total = np.count_nonzero(figures.stall_cycles), int(figures.stall_cycles.sum())
    part = int(figures.stall_cycles[list(steps)].sum())
    if not in_full and steps:
        yield Line("")
        which = "The largest stall" if len(steps) == 1 else f"The {len(steps)} largest stalls"
        yield Line(f"{which} of {stalled}, {share(part / total)} of all stall:")
    for step in steps:
        yield Line("")
        yield from _stall(found, step, in_full)


def _stall(found: Explanation, step: int, in_full: bool) -> Iterator[Line]:
    figures, clock = found.figures, found.instance.machine.clock_hz
    cycles, stall = int(figures.cycles[step]), int(figures.stall_cycles[step])
    yield Line(
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
        yield Line(f"  {si(rest / clock, 's', fill=True):>9}  {_counted(len(more))}")


def _transfer(found: Explanation, of: Transfer, told: set[str]) -> Iterator[Line]:
    """Lines on one transfer; reasons that were ``told`` before are not told again."""
    clock = found.instance.machine.clock_hz
    passes = f", {of.passes} times" if of.passes > 1 else ""
    yield Line(
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
            yield Line(f"{' ' * 13}{kind.words}{how_much}: {why}", 15)
            told.add(reasons[kind])


def _reasons(found: Explanation, of: Transfer) -> dict[Obstacle, str]:
    """What is in the way, in words."""
    when = "later" if of.later else "earlier"
    free = f"room and time are free for it {when}"
    if of.needed_step is not None:
        free = f"time is free for it later, until step {of.needed_step}"
    elif of.anyway_step is not None:
        free += f", or room to keep it {'until' if of.later else 'since'} step {of.anyway_step}"
    no_step = "made by the last step" if of.later else "needed by the first step"
    if of.cause is Cause.PREFETCH and not of.later:
        no_step = "no step is before it, and the next one needs it to begin"
    return {
        Obstacle.CAPACITY: _full(found, of),
        Obstacle.CHANNEL: _busy(found, of.busy_step),
        Obstacle.DEPENDENCY: no_step,
        Obstacle.AVOIDABLE: free,
    }


def _counted(more: int) -> str:
    return "1 more transfer" if more == 1 else f"{more} more transfers"


def _full(found: Explanation, of: Transfer) -> str:
    step, machine = of.full_step, found.instance.machine
    if step is None:
        return ""
    holders = found.holders(step)
    capacity = machine.spm_pages * machine.page_bytes
    large = of.size_bytes > capacity
    if large and not holders:
        return f"it is larger than the SPM of {si(capacity, 'B')}"
    names = [
        f"{held.name} ({si(held.size_bytes, 'B')} until step {held.until})"
        for held in holders[:_NAMED]
    ]
    rest = sum(held.size_bytes for held in holders[_NAMED:])
    free = capacity - int(found.figures.occupied_bytes[step])
    room = f"only {si(free, 'B')} of room" if free else "no room"
    if large:
        room = f"it is larger than the SPM of {si(capacity, 'B')}, with {room}"
    return f"{room} in step {step}, held by " + _listed(names, len(holders), si(rest, "B"))


def _busy(found: Explanation, step: int | None) -> str:
    if step is None:
        return ""
    clock, moves = found.instance.machine.clock_hz, found.moved(step)
    lasts = si(int(found.figures.cycles[step]) / clock, "s")
    names = [
        f"{moved.cause.words} of {moved.name} ({si(moved.cycles / clock, 's')})"
        for moved in moves[:_NAMED]
    ]
    rest = sum(moved.cycles for moved in moves[_NAMED:])
    text = _listed(names, len(moves), si(rest / clock, "s"))
    if not moves:
        return f"step {step}, which moves nothing, is too short ({lasts})"
    return f"the channel has no time in step {step}: {text}"


def _listed(names: Sequence[str], count: int, rest: str) -> str:
    more = count - len(names)
    return ", ".join(names) + (f" and {more} more ({rest} together)" if more else "")


def _parts(amounts: Sequence[tuple[str, int]]) -> str:
    """Names with their shares, largest first."""
    parts = shares([amount for _, amount in amounts])
    order = sorted(range(len(parts)), key=lambda k: -parts[k])
    return ", ".join(f"{share(parts[k])} {amounts[k][0]}" for k in order if parts[k] >= SMALL / 2)
