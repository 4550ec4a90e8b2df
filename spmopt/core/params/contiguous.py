"""Parameters of the search for plans whose tensors have contiguous addresses."""

from __future__ import annotations

from dataclasses import dataclass

from spmopt.core.params.record import Amount, Count, Params, Positive


@dataclass(frozen=True, kw_only=True)
class ContiguousParams(Params):
    """Rounds of linear programs from several packings of blocks.

    A cell is a block in a step.

    Attributes
    ----------
    program_cells
        Cells above which windows are improved, not all steps at once.
    window_cells
        Cells of such a window, about.
    fitted_blocks
        Blocks up to which all of them may be placed as they are.
    rounds
        Rounds from each packing, and from the best of them.
    least_gain
        Part of the value that a round must save before another follows.
    failed_starts
        Packings by chance, one after the other, that lead to nothing, and end the search.
    """

    program_cells: Count = 300_000
    window_cells: Positive = 40_000
    fitted_blocks: Count = 400
    rounds: tuple[Count, Count] = (3, 12)
    least_gain: Amount = 2e-4
    failed_starts: Count = 20
