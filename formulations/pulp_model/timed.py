"""Whole-tensor residency of least time (or energy): when each piece of a tensor moves."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from formulations.pulp_model.model import (
    SLACK,
    At,
    ReuseInterval,
    Rows,
    WholeModel,
    WholeTensorCase,
    fits,
    keep_required_operands,
    link,
    share,
    total,
    variable,
)


class TimedPulpModel(WholeModel):
    """The model; shares of a tensor by (tensor, step).

    Attributes
    ----------
    load, store
        Loads and stores of the step.
    back
        Bytes loaded for the next use, in a step before it.
    dirty
        Bytes that DRAM lacks after the step.
    waiting
        Bytes that have to remain in the step until stored, of a tensor that is not kept.
    occupied
        Pages that a tensor takes in a step between uses, where that is no multiple of its share;
        none with ``spread``: then pages are in proportion to the share, as in the first model.
    cycles
        Of each step.
    """

    def __init__(self, case: WholeTensorCase, *, spread: bool = False) -> None:
        super().__init__(case)
        page = case.problem.machine.page_bytes

        def shares(what: str, steps: Iterable[tuple[ReuseInterval, range]]) -> dict[At, Any]:
            return {
                (one.tensor, step): variable(self.with_name(what, one.tensor, step), 1)
                for one, some in steps
                for step in some
            }

        back = [one for one in case.intervals if one.after is not None]
        lost = [one for one in case.intervals if one.written]
        # A load for a use may be in any step after the use before, its own included.
        self.load = shares("load", ((one, range(one.begin + 1, one.end + 1)) for one in back))
        # A store may be in the step that writes, or in any before the bytes leave.
        self.store = shares("store", ((one, range(one.begin, one.end)) for one in lost))
        self.back = shares("back", ((one, one.inside) for one in back))
        self.dirty = shares("dirty", ((one, range(one.begin, one.end)) for one in lost))
        self.waiting = shares("waiting", ((one, one.inside) for one in lost))
        self.occupied = {
            (one.tensor, step): variable(self.with_name("occupied", one.tensor, step))
            for one in case.intervals
            if not spread and case.pages[one.tensor] > 1 and case.size_bytes[one.tensor] % page
            for step in one.inside
        }
        self.cycles = [variable(f"cycles_s{step}") for step in range(case.steps)]

    def resident(self, interval: ReuseInterval, step: int) -> list[Any]:
        """Shares resident in a step of an interval: kept, back again, waiting to be stored."""
        at = interval.tensor, step
        return [self.is_kept(interval), self.back.get(at, 0), self.waiting.get(at, 0)]

    def cost(self) -> Any:
        """Durations and bytes at their dual values."""
        case, objective = self.case, self.case.objective
        terms = [case.dual(objective.cycle) * one for one in self.cycles]
        for weight, moves in (
            (objective.dram_in_byte, _moves(self, inward=True)),
            (objective.dram_out_byte, _moves(self, inward=False)),
        ):
            if weight:
                dual = case.dual(weight)
                terms += [dual * case.size_bytes[one.tensor] * one.share for one in moves]
        return total(terms)

    def between(self, interval: ReuseInterval) -> dict[int, int]:
        """Bytes back, and bytes waiting to be stored, in whole pages."""
        size, page = self.case.size_bytes[interval.tensor], self.case.problem.machine.page_bytes
        found = {}
        for step in interval.inside:
            part = share(self.back.get((interval.tensor, step), 0))
            if interval.written:
                part += share(self.dirty[interval.tensor, step - 1])
            whole = part >= 1 - SLACK
            found[step] = size if whole else int(size * (part + SLACK)) // page * page
        return found

    def lacking(self, interval: ReuseInterval, step: int, most: int) -> int:
        """Dirty bytes."""
        size = self.case.size_bytes[interval.tensor]
        return min(most, int(size * (share(self.dirty[interval.tensor, step]) + SLACK)))


def capacity(model: TimedPulpModel) -> Rows:
    """(S3) R1: resident pages fit beside the scratch."""

    def inside(one: ReuseInterval, step: int) -> list[Any]:
        own = model.occupied.get((one.tensor, step))
        pages = model.case.pages[one.tensor]
        return [pages * part for part in model.resident(one, step)] if own is None else [own]

    return fits(model, inside)


def part_pages(model: TimedPulpModel) -> Rows:
    """(S3) Least pages of a part: ``bytes / g``, and more from the last full page on.

    The convex hull of ``ceil(bytes / g)``: never more than a part takes, and all pages for all.
    """
    case, page = model.case, model.case.problem.machine.page_bytes
    for one in case.intervals:
        size, full = case.size_bytes[one.tensor], case.pages[one.tensor] - 1
        rest = size - full * page
        for step in one.inside:
            own = model.occupied.get((one.tensor, step))
            if own is None:
                continue
            parts = model.resident(one, step)
            even = total(size / page * part for part in parts)
            steep = total(size / rest * part for part in parts)
            yield model.with_name("bytes", one.tensor, step), own >= even
            yield (
                model.with_name("page", one.tensor, step),
                own - steep >= full - full * page / rest,
            )


def growth(model: TimedPulpModel) -> Rows:
    """(S4) R2: bytes back grow by loads, and are all of it, unless kept, at a use.

    ``back(q) = back(q - 1) + load(q)``; at the use ``back(q - 1) + load(q) = here - kept``.
    """
    for one in model.case.intervals:
        if one.after is None:
            continue
        for step in range(one.begin + 1, one.end + 1):
            came = [model.back.get((one.tensor, step - 1), 0)] if step - 1 > one.begin else []
            came.append(model.load[one.tensor, step])
            # At the use itself the bytes that came are all that was not kept.
            if step < one.end:
                due = [-model.back[one.tensor, step]]
            else:
                due = [model.is_kept(one), -model.is_here(one.after)]
            yield model.with_name("growth", one.tensor, step), total(came + due) == 0


def dirt(model: TimedPulpModel) -> Rows:
    """(S5) R5: bytes that DRAM lacks are those written here, less those stored.

    ``dirty(i) = here - store(i)`` where ``i`` writes, else ``dirty(i - 1) - store(i)``.
    """
    for one in model.case.intervals:
        for step in range(one.begin, one.end) if one.written else ():
            at = one.tensor, step
            wrote = one.before if step == one.begin else None
            if wrote is not None and wrote.writes:
                # A streamed result is in DRAM when its step ends (R4).
                there = model.is_here(wrote)
            else:
                there = model.dirty[one.tensor, step - 1]
            name = model.with_name("dirt", one.tensor, step)
            yield name, total([model.dirty[at], model.store[at], -there]) == 0


def nothing_lost(model: TimedPulpModel) -> Rows:
    """(S6) R3, R5: bytes that DRAM lacks remain until stored: kept, or waiting.

    ``waiting(q) >= dirty(q - 1) - kept`` in an interval, and ``dirty <= kept`` at its end: bytes
    streamed in, or loaded, are in DRAM (R3). After the last use ``dirty = 0`` (R7).
    """
    for one in model.case.intervals:
        for step in range(one.begin + 1, one.end + 1) if one.written else ():
            left = model.dirty[one.tensor, step - 1]
            wait = model.waiting[one.tensor, step] if step < one.end else 0
            name = model.with_name("nothing_lost", one.tensor, step)
            yield name, total([left, -model.is_kept(one), -wait]) <= 0


def one_copy(model: TimedPulpModel) -> Rows:
    """(S8) A piece comes back after it left: ``kept + back + waiting <= 1``."""
    for one in model.case.intervals:
        if one.written and one.after is not None:
            for step in one.inside:
                name = model.with_name("one_copy", one.tensor, step)
                yield name, total(model.resident(one, step)) <= 1


def channel(model: TimedPulpModel) -> Rows:
    """(S9) R6: ``cycles >= X``; with ``duplex`` ``cycles >= in + S`` and ``cycles >= L + out``."""
    into, out = (list(_moves(model, inward=inward)) for inward in (True, False))
    if not model.case.problem.machine.duplex:
        yield from _lasts(model, "channel", [*into, *out])
        return
    yield from _lasts(model, "channel_in", [*into, *(move for move in out if move.serial)])
    yield from _lasts(model, "channel_out", [*out, *(move for move in into if move.serial)])


def serial(model: TimedPulpModel) -> Rows:
    """(S9) R6: ``cycles >= L + c + S``: resident loads, computing and resident stores."""
    moves = (
        move for inward in (True, False) for move in _moves(model, inward=inward) if move.serial
    )
    computing = [float(cycles) for cycles in model.case.line.compute_cycles.tolist()]
    return _lasts(model, "serial", moves, computing)


TimedPulpModel.families = (
    link,
    keep_required_operands,
    capacity,
    part_pages,
    growth,
    dirt,
    nothing_lost,
    one_copy,
    channel,
    serial,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Move:
    """A share of a tensor (more than 1 with several fetches) crosses the channel in a step.

    ``serial``: the operation waits for it, or it for the operation (R6, R10).
    """

    step: int
    tensor: int
    share: Any
    serial: bool = False


def _moves(model: TimedPulpModel, *, inward: bool) -> Iterator[_Move]:
    """Bytes into the SPM, loads and streams; or out of it, stores and streams."""
    uses = model.case.uses
    held = {
        (use.tensor, use.step) for use in uses if use.required_resident and (inward or use.writes)
    }
    for (tensor, step), part in (model.load if inward else model.store).items():
        yield _Move(step=step, tensor=tensor, share=part, serial=(tensor, step) in held)
    for use in uses:
        fetches = use.streams_in if inward else use.streams_out
        if fetches:
            yield _Move(step=use.step, tensor=use.tensor, share=fetches * (1 - model.is_here(use)))


def _lasts(
    model: TimedPulpModel, name: str, moves: Iterable[_Move], computing: list[float] | None = None
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
