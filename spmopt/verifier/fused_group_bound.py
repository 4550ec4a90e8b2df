"""The least that a fused group costs whatever happens outside, from dual values, in exact integers.

**Claim.** For any dual values that :func:`fused_group_bound` accepts, the steps of the fused group
cost at least the number returned, in any legal schedule of any fusion plan that has it.

**Proof.** As that of :mod:`spmopt.verifier.bound`: dual values of the scratchpad's bytes and of the
channel in each step leave a sum over single bytes, of which each pays at least the shortest path.
Dual values are the same in all fusion tiles of a class (all, or the first, those between and the
last). Nothing is known of the bytes on chip when the fused group begins and ends but that they fit:
:mod:`spmopt.verifier.fused_group_ends` prices them. So

* a byte of a tensor that is *cut* takes a path along the steps of all fusion tiles, of which its
  own alone use it; a tensor pays the mean over the places of that fusion tile;
* a byte of a tensor that is *whole* to each fusion tile, as weights and sums are, takes a path that
  uses it in each of them.

Stripes are uneven, and have dual values that are the same in all. Some rows are used in several:
their bytes take a path as those of a cut tensor do, but longer than one fusion tile. Of each
pattern of uses (:class:`~spmopt.core.fusion.stripe_bounds.UsePattern`) it is known how many bytes
begin it in each fusion tile.

Where all fusion tiles of an operation choose among the same mappings, the figures of its uses are
the least of all (:func:`~spmopt.core.operation.relax_mapping`), and any numbers ``r_ti`` prove
more. A byte of t pays ``r_ti`` while it is resident in step i, and the step costs

    min_m (c_m + min sum_t (-r_ti a_t + x_tm (s_t - a_t)))

with ``c_m`` of the cycles, scratch and energy of mapping m, and ``x_tm`` of the fetches of a byte
of t that it has more than the least. The inner minimum is over numbers of resident bytes, ``a_t``
from 0 to ``s_t``, that fit beside the scratch of m; of t that it requires resident, all. In a
schedule that runs m, its own ``a_t`` are such numbers (R1): a resident byte pays ``r_ti``, which
the step takes off; a streamed byte pays less by ``x_tm`` than it costs, which the step adds.

Of a run inside of a fused group, steps of others come before and after each of its fusion tiles:
each begins and ends with any bytes that fit.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import ceil, floor

import numpy as np

from spmopt.core.errors import InputError
from spmopt.core.fusion.certificate import Row
from spmopt.core.fusion.fused_groups import FusedGroup
from spmopt.core.fusion.stripe_bounds import UsePattern
from spmopt.core.fusion.tileable_graph import TileableGraph
from spmopt.core.objective import Objective
from spmopt.core.operation import OpMapping
from spmopt.verifier.carried import Carried
from spmopt.verifier.dual_check import LARGEST, CheckedDuals
from spmopt.verifier.fused_group_choices import Choices, StepDuals
from spmopt.verifier.fused_group_ends import Ends
from spmopt.verifier.fused_group_uses import Liveness
from spmopt.verifier.tile_paths import TilePaths


def fused_group_bound(
    liveness: Liveness,
    fused_group: FusedGroup,
    objective: Objective,
    duals: Mapping[Row, int],
    bits: int,
    *,
    carried: Carried | None = None,
    fine: bool = False,
    inner: bool = False,
    patterns: Mapping[int, Sequence[UsePattern]] | None = None,
) -> int:
    """Return the lower bound on a fused group, in units of ``2**-bits`` objective units.

    Parameters
    ----------
    duals
        Of rows by name, in the same units, positive for rows ``>=``; 0 if missing.
    carried
        Dual values of bytes carried across boundaries, by default none.
    fine
        Rows are of the first fusion tile, those between and the last, and not of all together.
    inner
        It is a run of operations in any fused group of as many fusion tiles.
    patterns
        Of stripes: those of each tensor that is cut.

    Raises
    ------
    InputError
        The dual values leave a cost below any bound, or are of rows that there are not.
    """
    tileable, name = liveness.tileable, f"fused group {fused_group.begin}"
    operations = tileable.operations[fused_group.begin : fused_group.end]
    steps, rows = len(operations), dict(duals)

    def take(*row: str | int) -> int:
        return rows.pop(row, 0)

    paths = TilePaths(liveness, fused_group, patterns)
    ends = Ends(
        Carried(tileable, {}) if carried is None or inner else carried,
        fused_group,
        _count_holdings(tileable, fused_group, inner=inner),
        {*paths.tensors},
    )
    numbers = range(len(paths.tiles)) if fine else range(1)
    parts = [
        _step_duals(tileable, objective, bits, name, number, steps, take) for number in numbers
    ]
    choices = [Choices(liveness, fused_group, number, take) for number in numbers]
    if not fine:
        parts, choices = parts * len(paths.tiles), choices * len(paths.tiles)
    most = ends.read_inner(take) if inner else ends.read(take)
    if rows:
        raise InputError(f"{name}: no row is called {min(map(str, rows))}")
    largest = ceil(tileable.machine.most_moved)
    for each, choice, tiles in zip(parts, choices, paths.tiles, strict=True):
        moved = zip(each.firm_load, each.firm_store, paths.fetches.tolist(), strict=True)
        paid = largest * sum(often * (i + o) for i, o, often in moved)
        most += tiles * (sum(each.hold) + paid + choice.most)
    # Digits are dropped until no path overflows: lower dual values prove a bound as well.
    shift = max(0, most.bit_length() - LARGEST.bit_length() + 1)
    # Tiles of stripes, which have no parts of their own, use bytes of those before.
    checked, costs = _check([*parts, *parts[-1:] * paths.spread], shift), ends.costs(shift)
    paths.pay_residency([each.shifted(shift) for each in choices])
    if inner:
        total = paths.cost_inside(checked, costs)
    else:
        groups = [ends.number(tensor) for tensor in paths.tensors]
        total = paths.cost(checked, costs, groups, ends.untouched)
    total = (total << shift) + ends.constant
    weight = _MappingWeight(tileable, objective, bits, shift)
    for at, (each, tiles, choice) in enumerate(zip(parts, paths.tiles, choices, strict=True)):
        # The first tile has a mapping of its own; the others are alike.
        for step, operation in enumerate(operations):
            both = operation.mappings[fused_group.micro_batches]
            least = weight(each, step, both.later if at else both.first)
            if choice.mappings[step]:
                # The first tile of a sum has other mappings than the later ones.
                costs_of = (
                    (weight(each, step, mapping), choice.earned(step, mapping, each, shift))
                    for mapping in both.of_tile(at)
                )
                run = [cost + earned for cost, earned in costs_of if earned is not None]
                least = min(run, default=least)
            total += tiles * least
    return total


def _count_holdings(
    tileable: TileableGraph, fused_group: FusedGroup, *, inner: bool
) -> tuple[int, int]:
    """Return the bytes that may be on chip at both ends."""
    capacity = tileable.machine.spm_pages * tileable.machine.page_bytes
    if inner:  # of all fusion tiles together
        return capacity * fused_group.micro_batches, capacity * fused_group.micro_batches
    # Before the first operation and after the last nothing is on chip.
    return capacity * (fused_group.begin > 0), capacity * (
        fused_group.end < len(tileable.operations)
    )


def _step_duals(  # noqa: PLR0917
    tileable: TileableGraph,
    objective: Objective,
    bits: int,
    name: str,
    number: int,
    steps: int,
    take: Callable[..., int],
) -> StepDuals:
    """Return the dual values of the steps of a class, checked.

    A step takes as long as its transfers, and as its computing with the transfers that wait for it:
    the latter has what the former leave of the weight of its time.
    """
    machine = tileable.machine
    clock, rate = machine.clock_hz, machine.dram_bytes_per_s
    # Rounded down: a smaller weight makes the bound weaker, never false.
    weight, *more = (
        floor(each * 2**bits)
        for each in (objective.cycle, objective.dram_in_byte, objective.dram_out_byte)
    )
    hold = [-take("capacity", number, step) for step in range(steps)]
    channels = ("inward time", "outward time") if machine.duplex else ("channel time",)
    times = [[take(each, number, step) for step in range(steps)] for each in channels]
    if min(map(min, (hold, *times))) < 0:
        raise InputError(f"{name}: dual values of room and time have the wrong sign")
    taken = [sum(each) for each in zip(*times, strict=True)]
    cycle = [weight - rate * each for each in taken]
    if min(cycle) < 0:
        raise InputError(f"{name}: dual values of the time of a step are too high")
    firm = [clock * dual + clock * left // rate for dual, left in zip(taken, cycle, strict=True)]
    load, store = (
        [clock * dual + byte for dual in column]
        for column, byte in zip((times[0], times[-1]), more, strict=True)
    )
    firm_load, firm_store = ([dual + byte for dual in firm] for byte in more)
    return StepDuals(hold, load, store, firm_load, firm_store, cycle)


def _check(parts: list[StepDuals], shift: int) -> CheckedDuals:
    """Return the dual values of all parts, one after another, without so many digits."""
    hold, load, store, firm_load, firm_store = (
        np.array([dual >> shift for column in columns for dual in column], np.int64)
        for columns in list(zip(*parts, strict=True))[:-1]
    )
    return CheckedDuals(
        hold=hold,
        held=np.append(0, np.cumsum(hold)),
        load=load,
        store=store,
        firm_load=firm_load,
        firm_store=firm_store,
        cycle=[],
    )


class _MappingWeight:
    """Costs of a mapping that no byte's way changes, less the room that it leaves."""

    def __init__(
        self, tileable: TileableGraph, objective: Objective, bits: int, shift: int
    ) -> None:
        self.machine, self.objective = tileable.machine, objective
        self.bits, self.shift = bits, shift

    def __call__(self, duals: StepDuals, step: int, mapping: OpMapping) -> int:
        """Return the cost of a step's computing, and of all that is the same, less its room."""
        machine, objective = self.machine, self.objective
        # R1: the scratch buffer takes whole pages.
        free = machine.spm_pages - machine.pages(mapping.scratch_bytes)
        total = duals.cycle[step] * mapping.compute_cycles
        total -= (duals.hold[step] >> self.shift << self.shift) * free * machine.page_bytes
        if objective.weighs_mappings:
            total += floor(objective.of_mappings(*mapping.unchanging) * 2**self.bits)
        return total
