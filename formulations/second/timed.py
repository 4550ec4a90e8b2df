"""Whole-tensor residency of least time (or energy): when each piece of a tensor moves."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from formulations.second import durations
from formulations.second.case import Case, Gap
from formulations.second.decisions import (
    Decisions,
    Family,
    Rows,
    linked,
    problem,
    share,
    stationary,
    total,
    variable,
)
from formulations.second.names import named

At = tuple[int, int]
"""A tensor and a step."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Timed:
    """The model; shares of a tensor by (tensor, step).

    Attributes
    ----------
    load, store
        What the step loads, and stores.
    back
        What has been loaded for the next use, in a step before it.
    dirty
        What DRAM lacks after the step.
    waiting
        What has to stay in the step until it is stored, of a tensor that is not kept.
    occupied
        Pages that a tensor takes in a step between uses, where that is no multiple of its share.
    cycles
        Of each step.
    spread
        Take pages in proportion to the share, as the first model does, in place of (S3)'s least.
    """

    case: Case
    decisions: Decisions
    load: dict[At, Any]
    store: dict[At, Any]
    back: dict[At, Any]
    dirty: dict[At, Any]
    waiting: dict[At, Any]
    occupied: dict[At, Any]
    cycles: list[Any]
    spread: bool

    @staticmethod
    def of(case: Case, *, spread: bool = False) -> Timed:
        """Create its variables."""
        label = case.labels

        def shares(what: str, gaps: Iterator[tuple[Gap, range]]) -> dict[At, Any]:
            return {
                (gap.tensor, step): share(named(what, label[gap.tensor], step))
                for gap, steps in gaps
                for step in steps
            }

        back = [gap for gap in case.gaps if gap.after is not None]
        lost = [gap for gap in case.gaps if gap.written]
        uneven = [] if spread else [gap for gap in case.gaps if _uneven(case, gap)]
        return Timed(
            case=case,
            decisions=Decisions.of(case),
            load=shares("load", ((gap, range(gap.begin + 1, gap.end + 1)) for gap in back)),
            store=shares("store", ((gap, range(gap.begin, gap.end)) for gap in lost)),
            back=shares("back", ((gap, gap.inside) for gap in back)),
            dirty=shares("dirty", ((gap, range(gap.begin, gap.end)) for gap in lost)),
            waiting=shares("waiting", ((gap, gap.inside) for gap in lost)),
            occupied={
                (gap.tensor, step): variable(named("occupied", label[gap.tensor], step))
                for gap in uneven
                for step in gap.inside
            },
            cycles=[variable(f"cycles_s{step}") for step in range(case.steps)],
            spread=spread,
        )

    def resident(self, gap: Gap, step: int) -> list[Any]:
        """Shares that are resident in a step of a gap: kept, back again, waiting to be stored."""
        at = gap.tensor, step
        return [self.decisions.is_kept(gap), self.back.get(at, 0), self.waiting.get(at, 0)]


def build(
    case: Case, families: Sequence[Family[Timed]] | None = None, *, spread: bool = False
) -> tuple[Timed, Any]:
    """The model and its PuLP problem, with the rows of all ``FAMILIES`` or of some."""
    model = Timed.of(case, spread=spread)
    chosen = FAMILIES if families is None else families
    return model, problem(case, cost(model), chosen, model)


def cost(model: Timed) -> Any:
    """Durations and bytes at their prices."""
    case, objective = model.case, model.case.objective
    terms = [case.price(objective.cycle) * one for one in model.cycles]
    for weight, moves in (
        (objective.dram_in_byte, durations.reads(model)),
        (objective.dram_out_byte, durations.writes(model)),
    ):
        if weight:
            price = case.price(weight)
            terms += [price * case.size_bytes[one.tensor] * one.share for one in moves]
    return total(terms)


def _linked(model: Timed) -> Rows:
    return linked(model.decisions)


def _stationary(model: Timed) -> Rows:
    return stationary(model.decisions)


def capacity(model: Timed) -> Rows:
    """(S3) R1: pages of what is resident fit beside the scratch."""
    case = model.case
    held: list[list[Any]] = [[] for _ in range(case.steps)]
    for use in case.uses:
        held[use.step].append(case.pages[use.tensor] * model.decisions.is_here(use))
    for gap in case.gaps:
        pages = case.pages[gap.tensor]
        for step in gap.inside:
            own = model.occupied.get((gap.tensor, step))
            held[step] += (
                [pages * part for part in model.resident(gap, step)] if own is None else [own]
            )
    for step, terms in enumerate(held):
        yield f"capacity_s{step}", total(terms) <= case.room[step]


def part_pages(model: Timed) -> Rows:
    """(S3) Least pages of a part: ``bytes / g``, and more from the last full page on.

    The convex hull of ``ceil(bytes / g)``: never more than a part takes, and all pages for all.
    """
    case, page = model.case, model.case.instance.machine.page_bytes
    for gap in case.gaps:
        size, full = case.size_bytes[gap.tensor], case.pages[gap.tensor] - 1
        rest = size - full * page
        for step in gap.inside:
            own = model.occupied.get((gap.tensor, step))
            if own is None:
                continue
            parts, label = model.resident(gap, step), case.labels[gap.tensor]
            steep = [size / rest * part for part in parts]
            yield named("bytes", label, step), own >= total(size / page * part for part in parts)
            yield named("page", label, step), own - total(steep) >= full - full * page / rest


def growth(model: Timed) -> Rows:
    """(S4) R2: what is back grows by what is loaded, and is all of it, unless kept, at a use.

    ``back(q) = back(q - 1) + load(q)``; at the use ``back(q - 1) + load(q) = here - kept``.
    """
    for gap in model.case.gaps:
        if gap.after is None:
            continue
        label = model.case.labels[gap.tensor]
        for step in range(gap.begin + 1, gap.end + 1):
            came = [model.back.get((gap.tensor, step - 1), 0)] if step - 1 > gap.begin else []
            came.append(model.load[gap.tensor, step])
            if step < gap.end:
                due = [-model.back[gap.tensor, step]]
            else:
                due = [model.decisions.is_kept(gap), -model.decisions.is_here(gap.after)]
            yield named("growth", label, step), total(came + due) == 0


def dirt(model: Timed) -> Rows:
    """(S5) R5: what DRAM lacks is what was written here, less what is stored.

    ``dirty(i) = here - store(i)`` where ``i`` writes, else ``dirty(i - 1) - store(i)``.
    """
    for gap in model.case.gaps:
        if not gap.written:
            continue
        for step in range(gap.begin, gap.end):
            at = gap.tensor, step
            wrote = gap.before if step == gap.begin else None
            if wrote is not None and wrote.writes:
                there = model.decisions.is_here(wrote)
            else:
                there = model.dirty[gap.tensor, step - 1]
            name = named("dirt", model.case.labels[gap.tensor], step)
            yield name, total([model.dirty[at], model.store[at], -there]) == 0


def nothing_lost(model: Timed) -> Rows:
    """(S6) R3, R5: what DRAM lacks stays until it is stored: kept, or waiting.

    ``waiting(q) >= dirty(q - 1) - kept`` in a gap, and ``dirty <= kept`` at its end: what is
    streamed in, or was loaded, is in DRAM (R3). After the last use ``dirty = 0`` (R7).
    """
    for gap in model.case.gaps:
        if not gap.written:
            continue
        label, kept = model.case.labels[gap.tensor], model.decisions.is_kept(gap)
        for step in range(gap.begin + 1, gap.end + 1):
            left = model.dirty[gap.tensor, step - 1]
            wait = model.waiting[gap.tensor, step] if step < gap.end else 0
            yield named("nothing_lost", label, step), total([left, -kept, -wait]) <= 0


def one_copy(model: Timed) -> Rows:
    """(S8) A piece comes back after it left: ``kept + back + waiting <= 1``."""
    for gap in model.case.gaps:
        if gap.written and gap.after is not None:
            for step in gap.inside:
                name = named("one_copy", model.case.labels[gap.tensor], step)
                yield name, total(model.resident(gap, step)) <= 1


def channel(model: Timed) -> Rows:
    """(S9) R6: a step takes as long as the transfers that share a channel."""
    return durations.channel(model)


def serial(model: Timed) -> Rows:
    """(S9) R6: a step takes as long as stationary loads, computing and stationary stores."""
    return durations.serial(model)


def _uneven(case: Case, gap: Gap) -> bool:
    """Whether parts of the tensor take other pages than their share of them."""
    size = case.size_bytes[gap.tensor]
    return case.pages[gap.tensor] > 1 and size % case.instance.machine.page_bytes != 0


FAMILIES: tuple[Family[Timed], ...] = (
    _linked,
    _stationary,
    capacity,
    part_pages,
    growth,
    dirt,
    nothing_lost,
    one_copy,
    channel,
    serial,
)
