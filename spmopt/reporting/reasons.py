"""Why one schedule of a problem is faster than another, in three to six sentences."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from spmopt.analysis.obstacles import Obstacle, obstacles
from spmopt.analysis.stalls import Cause
from spmopt.analysis.steps import Reals, sums
from spmopt.core.table import Ints
from spmopt.metrics import in_unit
from spmopt.reporting.contrast import (
    KeptOtherwise,
    gaps,
    next_groups,
    step_of_operation,
)
from spmopt.reporting.phases import FORWARD, PHASES, UPDATE, layer_groups, phases
from spmopt.reporting.quantities import percent, share, si, usage
from spmopt.reporting.schedule_view import ScheduleView

_SAME = 1e-4  # relative difference below which two figures are called the same
_FEW = 0.05  # of a difference: a part that is less is not named
# Least share of the bytes kept that a kind in a group of layers needs to be named.
_LARGE = 0.1
_NAMED = 3  # tensors, kinds and causes that are named at most
_AWAITED = {
    Cause.NONE: "nothing",
    Cause.REQUIRED_RESIDENT: "required-resident operands and results",
    Cause.PREFETCH: "loads for later steps",
    Cause.LOAD: "loads for the step",
    Cause.STREAM_IN: "operands that pass through",
    Cause.STORE: "stores",
    Cause.STREAM_OUT: "results that pass through",
    Cause.PORT: "ports of banks",
}


def reasons(first: ScheduleView, second: ScheduleView) -> list[str]:
    """Return sentences on the savings of B, the second, against A, the first.

    Both are of one problem, in times of one kind.
    """
    found = [_time(first, second), _where(first, second), _waits(first, second)]
    found += [_traffic(first, second), _keep(first, second), _room(first, second)]
    return [text for text in found if text]


def _time(first: ScheduleView, second: ScheduleView) -> str:
    """Say which is faster, and how near the bound both are."""
    seconds = [each.times.cycles / each.problem.machine.clock_hz for each in (first, second)]
    one, other = (si(each, "s") for each in seconds)
    if abs(seconds[1] - seconds[0]) <= _SAME * seconds[0]:
        head = f"A and B take the same time, {one}"
    else:
        less = seconds[1] < seconds[0]
        apart = f"{si(abs(seconds[1] - seconds[0]), 's')}, {_part(*seconds)}"
        head = f"B takes {other}, {'less' if less else 'more'} than A by {apart}"
    return f"{head}{_above_bound(first, second)}."


def _above_bound(first: ScheduleView, second: ScheduleView) -> str:
    results = first.result, second.result
    one, other = (each.fusion_gap if each.fused is not None else each.gap for each in results)
    # Gaps to bounds of two objectives do not compare.
    if one is None or other is None or results[0].objective != results[1].objective:
        return ""
    bounds = {each.fusion_bound if each.fused is not None else each.bound for each in results}
    least = ""
    if len(bounds) == 1 and (bound := bounds.pop()) is not None:
        machine = first.problem.machine
        least = f" of {si(*in_unit(results[0].objective, machine, bound))}"
    first_text = percent(one, by="above", of=f"the certified bound{least}").removeprefix("+")
    return f"; A is {first_text}, B {percent(other).removeprefix('+')}"


def _where(first: ScheduleView, second: ScheduleView) -> str:
    """Say in which operations the time is saved: by kind and phase, and by layers."""
    # By operations: the same step may run different ones in the two orders.
    order, clock = step_of_operation(first), first.problem.machine.clock_hz
    saved = (first.times.duration[order] - second.times.duration[step_of_operation(second)]) / clock
    if abs(saved.sum()) <= _SAME * first.times.cycles / clock:
        return ""
    layers, phase = first.analysis.steps.layers, phases(first.analysis)[order]
    kind = np.where(phase == UPDATE, 2, layers.product[order])
    names = ["point-wise operations", "matrix products", "updates of weights"]
    if (phase != FORWARD).any():
        names = [*(f"{name} of the {way} pass" for name in names[:2] for way in PHASES[:2])]
        names.append("updates of weights")
        kind = np.where(phase == UPDATE, 4, 2 * kind + phase)
    groups, group = layer_groups(layers.names)
    by_group = sums(saved, group[layers.layer[order]], len(groups))
    where = f"; by layers: {_parts([f'in {g}' for g in groups], by_group, 's')}"
    parts = _parts([f"in {name}" for name in names], sums(saved, kind, len(names)), "s")
    return f"B spends {parts}{where * (len(groups) > 1)}."


def _waits(first: ScheduleView, second: ScheduleView) -> str:
    """Compare waiting by cause, and say how much of A's is avoidable."""
    clock = first.problem.machine.clock_hz
    stalls = [each.times.stall_by_cause.sum(axis=1) / clock for each in (first, second)]
    one, other = (float(each.stall.sum()) / clock for each in (first, second))
    if abs(one - other) <= _SAME * max(one, other):
        return ""
    parts = _parts([f"for {_AWAITED[cause]}" for cause in Cause], stalls[0] - stalls[1], "s")
    free = obstacles(first.analysis.steps).by_obstacle[Obstacle.AVOIDABLE].sum() / clock
    avoidable = ""
    # Obstacles are those of the step model; the replay has none.
    if first.times.timing == "step" and free > _FEW * one:
        avoidable = f"; {share(free / one)} of A's waiting is avoidable with all else as it is"
    return f"The engine waits {si(one, 's')} in A and {si(other, 's')} in B: {parts}{avoidable}."


def _traffic(first: ScheduleView, second: ScheduleView) -> str:
    """Say of which kinds of tensors less is moved."""
    moved = []
    for each in (first, second):
        tensors = each.analysis.by_tensor()
        moved.append(tensors["dram_in_bytes"] + tensors["dram_out_bytes"])
    one, other = (int(each.sum()) for each in moved)
    if abs(one - other) <= _SAME * max(one, other):
        return f"Both move {si(one, 'B')} over the DRAM boundary." if one else ""
    kinds, group = _kinds(first)
    saved = sums((moved[0] - moved[1]).astype(float), group, len(kinds))
    parts = _parts([f"of {kind}" for kind in kinds], saved, "B")
    less = "less" if other < one else "more"
    return (
        f"B moves {si(abs(one - other), 'B')} ({_part(one, other)}) {less} over the DRAM boundary "
        f"than A, {si(other, 'B')} in all: {parts}."
    )


def _keep(first: ScheduleView, second: ScheduleView) -> str:
    """Name tensors that one alone keeps between two uses, and the saving of the channel."""
    found = gaps(first, second)
    rate = first.problem.machine.dram_bytes_per_s
    said = []
    for name, other, sign, most in (("B", "A", 1, _NAMED), ("A", "B", -1, 2)):
        saved = np.maximum(sign * found.bytes_saved, 0).astype(float)
        if saved.any():
            size, moved = float(saved.sum()), first.problem.moved.ratio[found.tensor] * saved
            said.append(
                f"{name} keeps {si(size, 'B')} between two uses that {other} does not, which saves "
                f"{si(float(moved.sum()) / rate, 's')} of the DRAM channel: "
                f"{_largest(found, saved, first, most)}"
            )
    return f"{'; '.join(said)}." if said else ""


def _largest(found: KeptOtherwise, saved: Reals, picture: ScheduleView, most: int) -> str:
    """Name kinds of tensors by the layers that use them next, each with its largest tensor."""
    kinds, kind = _kinds(picture)
    groups, group = next_groups(found, picture)
    ratio = picture.problem.moved.ratio[found.tensor]
    time = ratio * saved / picture.problem.machine.dram_bytes_per_s
    both = group * len(kinds) + kind[found.tensor]
    amount = sums(time, both, len(groups) * len(kinds))
    if amount.max() < _LARGE * time.sum():  # spread over many layers
        groups, both = [""], kind[found.tensor]
        amount = sums(time, both, len(kinds))
    order = np.argsort(-amount, kind="stable").tolist()[:most]
    named = [each for each in order if amount[each] > _FEW * time.sum()] or order[:1]
    said = [
        f"{si(float(amount[each]), 's')} by {kinds[each % len(kinds)]}"
        f"{f' for {group}' if (group := groups[each // len(kinds)]) else ''} "
        f"({_first(found, time * (both == each), picture)})"
        for each in named
    ]
    rest = float(time.sum() - amount[named].sum())
    return ", ".join([*said, *([f"{si(rest, 's')} by others"] if rest > _FEW * time.sum() else [])])


def _first(found: KeptOtherwise, time: Reals, picture: ScheduleView) -> str:
    """Name the tensor that saves most, and say how many more there are."""
    by_tensor = sums(time, found.tensor, len(picture.problem.tensors))
    more, largest = int(np.count_nonzero(by_tensor)) - 1, int(by_tensor.argmax())
    own = f"{picture.view.name(largest)} {si(float(by_tensor[largest]), 's')}"
    return f"{own}, {more} more" if more else own


def _room(first: ScheduleView, second: ScheduleView) -> str:
    """Say how full the scratchpad is, on average over time."""
    size = first.problem.machine.spm_bytes
    one, other = (
        float(each.analysis.steps.occupied_bytes @ each.times.duration) / max(1, each.times.cycles)
        for each in (first, second)
    )
    return (
        f"On average over time A fills {usage(one, size)} on chip ({share(one / size)}), "
        f"B {usage(other, size)} ({share(other / size)})."
    )


def _kinds(picture: ScheduleView) -> tuple[list[str], Ints]:
    """Return names of kinds of tensors, and (m,) the kind of each tensor."""
    kinds = [tensor.kind.replace("_", " ") + "s" for tensor in picture.problem.tensors]
    names = sorted(set(kinds))
    return names, np.array([names.index(kind) for kind in kinds], np.int64)


def _parts(names: Sequence[str], saved: Reals, unit: str) -> str:
    """Name the parts where B saves, or loses, the largest first; small ones are left out."""
    total = float(np.abs(saved).sum())
    order = np.argsort(-np.abs(saved), kind="stable").tolist()[:_NAMED]
    return ", ".join(
        f"{si(abs(float(saved[k])), unit)} {'less' if saved[k] > 0 else 'more'} {names[k]}"
        for k in order
        if abs(saved[k]) > _FEW * total
    )


def _part(one: float, other: float) -> str:
    return "all" if not one else share(abs(other - one) / one)
