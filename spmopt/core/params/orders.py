"""Parameters of the search for an order of operations."""

from __future__ import annotations

from dataclasses import dataclass

from spmopt.core.params.record import Amount, Count, Params, Positive, Share


@dataclass(frozen=True, kw_only=True)
class OrderParams(Params):
    """Orders that are compared, and moves of runs of operations from the best of them.

    Attributes
    ----------
    compared_operations
        Operations that are scheduled in all orders compared, but for the first four.
    compared_gap
        Gap of the optimizer where it compares orders of several kinds, or mappings.
    order_s
        Seconds of the optimizer for each order, at most, where an order is asked for by name.
    moved_operations
        Operations that are scheduled there for moves, and a thousandth of those judged.
    run_lengths
        Operations of a run that moves.
    least_gain
        Part of the value that a move must promise, and a schedule must save.
    failed_moves
        Moves that are scheduled in vain before others are made from the best order so far.
    parallel_operations
        Operations from which it pays to schedule orders in processes of their own.
    """

    compared_operations: Count = 60_000
    compared_gap: Amount = 0.01
    order_s: Amount = 10.0
    moved_operations: Count = 3_000
    run_lengths: tuple[Positive, ...] = (1, 2, 3, 4, 6, 8, 12, 16)
    least_gain: Share = 2e-5
    failed_moves: Count = 12
    parallel_operations: Count = 150
