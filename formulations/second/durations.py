"""How long a step takes (R6): what crosses the channel in it, and what must wait for what."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from formulations.second.decisions import Rows, total

if TYPE_CHECKING:
    from formulations.second.timed import Timed


@dataclass(frozen=True, slots=True, kw_only=True)
class Move:
    """A share of a tensor (more than 1 with several passes) crosses the channel in a step.

    ``serial``: the operation waits for it, or it for the operation (R6, R10).
    """

    step: int
    tensor: int
    share: Any
    serial: bool = False


def reads(model: Timed) -> Iterator[Move]:
    """What crosses into the SPM: loads and streams."""
    fixed = {(use.tensor, use.step) for use in model.case.uses if use.stationary}
    for (tensor, step), load in model.load.items():
        yield Move(step=step, tensor=tensor, share=load, serial=(tensor, step) in fixed)
    for use in model.case.uses:
        if use.streams_in:
            share = use.streams_in * (1 - model.decisions.is_here(use))
            yield Move(step=use.step, tensor=use.tensor, share=share)


def writes(model: Timed) -> Iterator[Move]:
    """What crosses out of the SPM: stores and streams."""
    results = {(use.tensor, use.step) for use in model.case.uses if use.stationary and use.writes}
    for (tensor, step), store in model.store.items():
        yield Move(step=step, tensor=tensor, share=store, serial=(tensor, step) in results)
    for use in model.case.uses:
        if use.streams_out:
            share = use.streams_out * (1 - model.decisions.is_here(use))
            yield Move(step=use.step, tensor=use.tensor, share=share)


def channel(model: Timed) -> Rows:
    """R6: ``cycles >= X``; with ``duplex`` ``cycles >= in + S`` and ``cycles >= L + out``."""
    into, out = list(reads(model)), list(writes(model))
    if not model.case.instance.machine.duplex:
        yield from _lasts(model, "channel", [*into, *out])
        return
    yield from _lasts(model, "channel_in", [*into, *(move for move in out if move.serial)])
    yield from _lasts(model, "channel_out", [*out, *(move for move in into if move.serial)])


def serial(model: Timed) -> Rows:
    """R6: ``cycles >= L + c + S``."""
    moves = (move for way in (reads(model), writes(model)) for move in way if move.serial)
    computing = [float(cycles) for cycles in model.case.line.compute_cycles.tolist()]
    return _lasts(model, "serial", moves, computing)


def _lasts(
    model: Timed, name: str, moves: Iterable[Move], computing: list[float] | None = None
) -> Rows:
    """Each step lasts at least as long as its computing and ``moves``, one after the other."""
    busy: list[list[Any]] = [[] for _ in range(model.case.steps)]
    for move in moves:
        busy[move.step].append(model.case.cycles[move.tensor] * move.share)
    for step, terms in enumerate(busy):
        if computing is not None:
            yield f"{name}_s{step}", model.cycles[step] - total(terms) >= computing[step]
        elif terms:
            yield f"{name}_s{step}", model.cycles[step] - total(terms) >= 0
