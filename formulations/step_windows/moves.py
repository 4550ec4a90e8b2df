"""The commands that a step of a window may have, each in its turn of the step's queue."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from operator import attrgetter

from formulations.step_windows.program import Literal, Number, WindowProgram
from spmopt.assemble.commands import Turn

LOADS = (Turn.REQUIRED_RESIDENT_LOAD, Turn.OWN_LOAD, Turn.EARLY_LOAD)
STORES = (Turn.REQUIRED_RESIDENT_STORE, Turn.OWN_STORE, Turn.OLDER_STORE)
"""Of tensors that the operation uses as required-resident, uses, and does not use."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Move:
    """A command that may be: ``time`` on the channel if ``present``."""

    turn: Turn
    tensor: int
    outward: bool
    time: Number
    present: Literal


def moves(program: WindowProgram, step: int) -> Iterator[Move]:
    """Yield the commands that a step may have."""
    for move in _all_moves(program, step):
        # A command that never is needs no row.
        if move.present.index != program.false.index:
            yield move


def _all_moves(program: WindowProgram, step: int) -> Iterator[Move]:
    for tensor in range(len(program.window.tensors)):
        uses = program.uses(step, tensor)
        reading, writing = (
            [(literal, use.required_resident) for literal, use in uses if uses_so(use)]
            for uses_so in (attrgetter("reads"), attrgetter("writes"))
        )
        load = (*program.load(step, tensor), reading, LOADS)
        store = (program.stored[tensor][step], program.stores(step, tensor), writing, STORES)
        for pages, some, own, turns in (load, store):
            time = program.transfer(tensor) * pages + program.setup * some
            for turn, how in zip(turns, _ways(program, own), strict=True):
                present, long = _if(program, how, some, time)
                yield Move(
                    turn=turn,
                    tensor=tensor,
                    outward=own is writing,
                    time=long,
                    present=present,
                )
        for outward in (False, True):
            streamed, some = program.stream(step, tensor, outward=outward)
            yield Move(
                turn=Turn.STREAM,
                tensor=tensor,
                outward=outward,
                time=streamed + program.setup * some,
                present=some,
            )


def _ways(
    program: WindowProgram, own: list[tuple[Literal, bool]]
) -> tuple[Literal, Literal, Literal]:
    """Return literals that a tensor is used as required-resident, used otherwise, or not used."""
    fixed, free = (
        program.any([literal for literal, required_resident in own if required_resident == wanted])
        for wanted in (True, False)
    )
    return fixed, free, ~program.any([literal for literal, _ in own])


def _if(
    program: WindowProgram, how: Literal, some: Literal, time: Number
) -> tuple[Literal, Number]:
    """Return whether a command is in its turn, and its time there."""
    if how.index == program.true.index:
        return some, time
    if program.false.index in (how.index, some.index):
        return program.false, 0
    here, long = program.cp.new_bool_var(""), program.time()
    program.cp.add_bool_or(~how, ~some, here)
    program.when(long >= time, here)
    return here, long
