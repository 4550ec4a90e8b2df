"""Whole-tensor residency of least traffic: where time has no price, transfers take no step."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from formulations.second.case import Case, Use
from formulations.second.decisions import (
    Decisions,
    Family,
    Rows,
    linked,
    problem,
    stationary,
    total,
    variable,
)
from formulations.second.names import named


@dataclass(frozen=True, kw_only=True, eq=False)
class Traffic:
    """The model. ``stored``: the version that (tensor, step) writes is stored by itself."""

    case: Case
    decisions: Decisions
    stored: dict[tuple[int, int], Any]

    @staticmethod
    def of(case: Case) -> Traffic:
        """Create its variables."""
        return Traffic(
            case=case,
            decisions=Decisions.of(case),
            stored={
                (use.tensor, use.step): variable(
                    named("stored", case.labels[use.tensor], use.step), 1
                )
                for use in case.uses
                if use.writes and use.live_after
            },
        )


def build(case: Case, families: Sequence[Family[Traffic]] | None = None) -> tuple[Traffic, Any]:
    """The model and its PuLP problem, with the rows of all ``FAMILIES`` or of some."""
    model = Traffic.of(case)
    chosen = FAMILIES if families is None else families
    return model, problem(case, cost(model), chosen, model)


def cost(model: Traffic) -> Any:
    """Bytes in and out at their prices: loads, streams (R3, R4) and stores.

    A use that reads loads ``s (here - kept)`` and streams in ``p s (1 - here)``.
    """
    case, decisions = model.case, model.decisions
    into = case.price(case.objective.dram_in_byte)
    out = case.price(case.objective.dram_out_byte)
    terms: list[Any] = []
    for use in case.uses:
        size, here = case.size_bytes[use.tensor], decisions.is_here(use)
        terms.append((into * use.streams_in + out * use.streams_out) * size * (1 - here))
        if use.reads:
            terms.append(into * size * (here - decisions.gap_to(use)))
    terms += [out * case.size_bytes[tensor] * one for (tensor, _), one in model.stored.items()]
    return total(terms)


def _linked(model: Traffic) -> Rows:
    return linked(model.decisions)


def _stationary(model: Traffic) -> Rows:
    return stationary(model.decisions)


def capacity(model: Traffic) -> Rows:
    """(S3) R1: pages of what is here, or kept through the step, fit beside the scratch."""
    case, decisions = model.case, model.decisions
    held: list[list[Any]] = [[] for _ in range(case.steps)]
    for use in case.uses:
        held[use.step].append(case.pages[use.tensor] * decisions.is_here(use))
    for gap in case.gaps:
        if gap.before is not None and gap.after is not None:
            for step in gap.inside:
                held[step].append(case.pages[gap.tensor] * decisions.is_kept(gap))
    for step, terms in enumerate(held):
        yield f"capacity_s{step}", total(terms) <= case.room[step]


def stored_once(model: Traffic) -> Rows:
    """(S7) R5, R7: a version that was resident when written is stored before it goes.

    ``stored >= here - kept`` for each later gap of the version: in the gap, or for good, it goes
    while it is needed. Once it has been streamed out (``here = 0``) DRAM has it.
    """
    case, decisions = model.case, model.decisions
    writer: dict[int, Use] = {}
    gaps = {(gap.tensor, gap.begin): gap for gap in case.gaps if gap.before is not None}
    for use in case.uses:
        if use.writes:
            writer[use.tensor] = use
        gap = gaps.get((use.tensor, use.step))
        wrote = writer.get(use.tensor)
        if gap is not None and wrote is not None:
            stored = model.stored[wrote.tensor, wrote.step]
            leaves = total([decisions.is_here(wrote), -decisions.is_kept(gap), -stored])
            yield named("stored_once", case.labels[gap.tensor], gap.begin), leaves <= 0


FAMILIES: tuple[Family[Traffic], ...] = (_linked, _stationary, capacity, stored_once)
