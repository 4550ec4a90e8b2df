"""Parameters of the search for addresses of buffers."""

from __future__ import annotations

from dataclasses import dataclass

from spmopt.core.params.record import Count, Factor, Params, Positive


@dataclass(frozen=True, kw_only=True)
class PlacementParams(Params):
    """Effort of depth-first searches, of CP-SAT and of dives, for each part of the buffers.

    Effort is counted in nodes: buffers that a search puts in place.

    Attributes
    ----------
    search_nodes
        Nodes of a first search, for each buffer; each round doubles them.
    conflicts
        Conflicts of a first call of CP-SAT; each call has three times as many.
    alone_nodes
        Nodes of searches before CP-SAT is called.
    learning_share
        Most effort of CP-SAT, in units of the searches.
    dive_nodes
        Nodes of a dive, for each buffer.
    stale_dives
        Dives that lead no lower, after which a new start is made, at least.
    greedy_buffers
        Buffers of a part above which greedy placements come first.
    patience
        Steps at the bound before all else, where no part is that large.
    feasible_effort
        Effort under a capacity before dives, and before greedy placements of small parts.
    heights
        Heights between the bound and the best that are searched in turns, at least.
    effort
        Proportion of efforts at the bound, at those heights, and of dives.
    """

    search_nodes: Factor = 1.3
    conflicts: Positive = 80
    alone_nodes: Count = 24_000
    learning_share: Positive = 3
    dive_nodes: Factor = 1.5
    stale_dives: Count = 25
    greedy_buffers: Count = 500
    patience: Count = 20
    feasible_effort: Count = 60_000
    heights: Positive = 24
    effort: tuple[Positive, Positive, Positive] = (4, 1, 8)
