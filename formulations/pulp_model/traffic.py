"""Whole-tensor residency of least traffic: where time has no dual value, transfers take no step."""

from __future__ import annotations

from typing import Any

from formulations.pulp_model.model import (
    ReuseInterval,
    Rows,
    TensorUse,
    WholeModel,
    WholeTensorCase,
    fits,
    keep_required_operands,
    link,
    share,
    total,
    variable,
)


class TrafficPulpModel(WholeModel):
    """The model. ``stored``: the version that (tensor, step) writes is stored by itself."""

    def __init__(self, case: WholeTensorCase) -> None:
        super().__init__(case)
        self.stored = {
            (use.tensor, use.step): variable(
                self.with_name("stored", use.tensor, use.step), 1, integer=True
            )
            for use in case.uses
            if use.writes and use.live_after
        }

    def cost(self) -> Any:
        """Bytes in and out at their dual values: loads, streams (R3, R4) and stores.

        A use that reads loads ``s (here - kept)`` and streams in ``p s (1 - here)``.
        """
        case = self.case
        into = case.dual(case.objective.dram_in_byte)
        out = case.dual(case.objective.dram_out_byte)
        terms: list[Any] = []
        for use in case.uses:
            size, here = case.size_bytes[use.tensor], self.is_here(use)
            terms.append((into * use.streams_in + out * use.streams_out) * size * (1 - here))
            if use.reads:
                terms.append(into * size * (here - self.kept.get((use.tensor, use.step), 0)))
        terms += [out * case.size_bytes[tensor] * one for (tensor, _), one in self.stored.items()]
        return total(terms)

    def between(self, interval: ReuseInterval) -> dict[int, int]:
        """Nothing."""
        return dict.fromkeys(interval.inside, 0)

    def lacking(self, interval: ReuseInterval, step: int, most: int) -> int:
        """All of it until it is stored."""
        stored = self.stored.get((interval.tensor, step))
        return 0 if stored is not None and share(stored) > 0.5 else most


def capacity(model: TrafficPulpModel) -> Rows:
    """(S3) R1: pages of tensors here, or kept through the step, fit beside the scratch."""
    pages = model.case.pages
    return fits(model, lambda one, step: [pages[one.tensor] * model.is_kept(one)])


def require_one_store(model: TrafficPulpModel) -> Rows:
    """(S7) R5, R7: a version that was resident when written is stored before it goes.

    ``stored >= here - kept`` for each later interval of the version: in it, or for good, it goes
    while it is needed. Once it has been streamed out (``here = 0``) DRAM has it.
    """
    writer: dict[int, TensorUse] = {}
    following = {(one.tensor, one.begin): one for one in model.case.intervals if one.before}
    for use in model.case.uses:
        if use.writes:
            writer[use.tensor] = use
        one, wrote = following.get((use.tensor, use.step)), writer.get(use.tensor)
        if one is not None and wrote is not None:
            stored = model.stored[wrote.tensor, wrote.step]
            leaves = total([model.is_here(wrote), -model.is_kept(one), -stored])
            yield model.with_name("stored_once", one.tensor, one.begin), leaves <= 0


TrafficPulpModel.families = (link, keep_required_operands, capacity, require_one_store)
