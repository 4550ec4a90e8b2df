"""R2, R3, R4: the loads and streams of a schedule are exactly those that it needs."""

from __future__ import annotations

import numpy as np

from spmopt.core.schedule import Command, Commands
from spmopt.core.table import Bools, Ints
from spmopt.core.timeline import Access
from spmopt.verifier.arrays import ScheduleArrays
from spmopt.verifier.lookup import find_unbalanced, pick
from spmopt.verifier.violation import MAX_PER_CHECK, Violation, find


def rule_r2(view: ScheduleArrays) -> list[Violation]:
    """R2, growth: ``load_t(i)`` is ``[r_t(i-1), r_t(i))``, valid in DRAM at the start of i.

    A blind write sets ``r_t(i)`` without a load.
    """
    line, table = view.timeline, view.schedule.residency
    before = view.resident(table.tensor, table.begin - 1)
    blind = pick(line.kind, view.access(table.tensor, table.begin), -1) == Access.WRITE
    grows = (table.size_bytes > before) & ~blind
    needed = Commands(
        step=table.begin,
        kind=np.full_like(before, Command.LOAD),
        tensor=table.tensor,
        begin=before,
        end=table.size_bytes,
        fetches=np.ones_like(before),
    ).take(grows)
    loads = view.schedule.commands.take(view.schedule.commands.kind == Command.LOAD)
    invalid = line.size_bytes[loads.tensor] - view.suffix.valid(loads.tensor, loads.step)
    return _compare("R2", view, needed, loads) + find(
        "R2",
        loads.begin < invalid,
        loads.step,
        loads.tensor,
        lambda row: (
            f"load of {view.name(int(loads.tensor[row]))} from byte {loads.begin[row]}, "
            f"but only bytes from {invalid[row]} on are valid in DRAM"
        ),
    )


def rule_r3(view: ScheduleArrays) -> list[Violation]:
    """R3, read: ``s_t - r_t(i)`` bytes are streamed in ``p`` times, valid in DRAM.

    A required-resident operand is resident in full.
    """
    line = view.timeline
    reads = line.kind != Access.WRITE
    rest = _rest(view)
    needed = _streams(view, Command.STREAM_IN, reads & ~line.required_resident, line.fetches)
    commands = view.schedule.commands
    blind = pick(line.kind, view.command_access, -1) == Access.WRITE
    streams = commands.take((commands.kind == Command.STREAM_IN) & ~blind)
    valid = view.suffix.valid(line.tensor, line.step)
    return (
        _compare("R3", view, needed, streams)
        + _not_resident("R3", view, reads)
        + find(
            "R3",
            reads & (rest > valid),
            line.step,
            line.tensor,
            lambda row: (
                f"reads {rest[row]} bytes of {view.name(int(line.tensor[row]))} from DRAM, "
                f"where {valid[row]} are valid"
            ),
        )
    )


def rule_r4(view: ScheduleArrays) -> list[Violation]:
    """R4, write: ``s_t - r_t(i)`` bytes are streamed out ``p`` times.

    A blind write with ``p`` fetches streams its partial sums in ``p - 1`` times. Nothing is
    streamed out, nor partial sums in, when the result is dead afterwards. A required-resident
    result is resident in full.
    """
    line, commands = view.timeline, view.schedule.commands
    writes = line.kind != Access.READ
    streamed = writes & line.live_after & ~line.required_resident
    partial_sums = streamed & (line.kind == Access.WRITE) & (line.fetches > 1)
    blind = pick(line.kind, view.command_access, -1) == Access.WRITE
    outs = commands.take(commands.kind == Command.STREAM_OUT)
    ins = commands.take((commands.kind == Command.STREAM_IN) & blind)
    return (
        _compare("R4", view, _streams(view, Command.STREAM_OUT, streamed, line.fetches), outs)
        + _compare(
            "R4", view, _streams(view, Command.STREAM_IN, partial_sums, line.fetches - 1), ins
        )
        + _not_resident("R4", view, writes)
    )


def _rest(view: ScheduleArrays) -> Ints:
    """Return (a,) bytes that an access does not find, or does not leave, in the SPM."""
    return view.timeline.size_bytes[view.timeline.tensor] - view.resident_bytes


def _streams(view: ScheduleArrays, kind: Command, rows: Bools, fetches: Ints) -> Commands:
    """Streams of ``[r_t(i), s_t)`` for these accesses, where that is not empty."""
    line = view.timeline
    streams = Commands(
        step=line.step,
        kind=np.full_like(line.step, kind),
        tensor=line.tensor,
        begin=view.resident_bytes,
        end=line.size_bytes[line.tensor],
        fetches=fetches,
    )
    return streams.take(rows & (_rest(view) > 0))


def _not_resident(rule: str, view: ScheduleArrays, rows: Bools) -> list[Violation]:
    """Return the required-resident operands that are not resident in full."""
    line, rest = view.timeline, _rest(view)
    return find(
        rule,
        rows & line.required_resident & (rest > 0),
        line.step,
        line.tensor,
        lambda row: (
            f"required-resident {view.name(int(line.tensor[row]))} has "
            f"{view.resident_bytes[row]} of "
            f"{view.resident_bytes[row] + rest[row]} bytes resident"
        ),
    )


def _compare(
    rule: str, view: ScheduleArrays, needed: Commands, present: Commands
) -> list[Violation]:
    """Return the commands that are needed and missing, or present and not needed."""
    both = [
        np.concatenate((getattr(needed, name), getattr(present, name)))
        for name in ("step", "tensor", "kind", "begin", "end", "fetches")
    ]
    weight = np.ones(len(needed) + len(present), np.int64)
    weight[len(needed) :] = -1
    rows, left = find_unbalanced(both, weight)
    violations = []
    for row, sign in zip(rows[:MAX_PER_CHECK].tolist(), left.tolist(), strict=False):
        step, tensor, kind, begin, end, fetches = (int(column[row]) for column in both)
        what = "missing" if sign > 0 else "not called for"
        text = (
            f"{Command(kind).name.lower()} of {view.name(tensor)} bytes [{begin}, {end}) "
            f"x {fetches} is {what}"
        )
        violations.append(Violation(rule=rule, step=step, tensor=tensor, message=text))
    return violations
