"""What better replacement does without a new order, and orders in terms of one baseline."""

from __future__ import annotations

from spmopt.studies.gradients.paper import TITLES
from spmopt.studies.gradients.rows import at, average, cycles, saving
from spmopt.studies.gradients.technique import (
    BASELINE,
    BELADY,
    DOUBLE_BUFFER,
    OPTIMAL,
    REPLACEMENTS,
)
from spmopt.studies.rows import Rows, number
from spmopt.studies.study import Sentences
from spmopt.studies.words import listing, percent

_TIME, _TRAFFIC = "time", "traffic"
_SLOWER = 1.01


def relative(
    rows: Rows, machine: str, technique: str, replacement: str, column: str = _TIME
) -> dict[str, float]:
    """Of each network, in terms of the baseline under double buffering.

    ``column`` is ``time``, of both passes, or ``traffic``, of the backward pass.
    """
    found = {}
    for network in rows.texts("network"):
        pair = [
            rows.one(machine=machine, network=network, technique=name, scheduler=by)
            for name, by in ((technique, replacement), (BASELINE, DOUBLE_BUFFER))
        ]
        one, base = (
            cycles(row) if column == _TIME else number(row, "traffic_bytes") for row in pair
        )
        found[network] = one / base
    return found


def sentences(rows: Rows, machines: list[str]) -> Sentences:
    """When orders save, what replacement does alone, and when interleaving pays."""
    told = []
    for machine in machines:
        parts = []
        for replacement in REPLACEMENTS:
            own = at(rows, machine, replacement)
            each = [
                percent(average(saving(own, name))) for name in ("interleaving", "+rearrangement")
            ]
            parts.append(f"{each[0]} and {each[1]} under {replacement}")
        told.append(f"on the {TITLES[machine]} {listing(parts)}")
    hurt = []
    for machine in machines:
        saved = saving(at(rows, machine, DOUBLE_BUFFER), "interleaving")
        worse = [network for network, share in saved.items() if share < 0]
        if worse:
            hurt.append(f"{listing(worse)} on the {TITLES[machine]}")
    return (
        f"Interleaving alone and with rearrangement saves, of the time of both passes, "
        f"{'; '.join(told)}.",
        " ".join(filter(None, (tell(rows, machines) for tell in (_alone, _slower, _more)))),
        "Interleaving pays where the weight is a tile or two: both walks then take dY in the same "
        "order. Where it is many, the usual walks are at different tiles of dY at a time, and each "
        "has half of the room" + (f"; it costs time on {'; '.join(hurt)}." if hurt else "."),
    )


def _alone(rows: Rows, machines: list[str]) -> str:
    """What replacement saves, and where it makes rearrangement pointless."""
    saved = []
    for machine in machines:
        each = [_less(rows, machine, replacement) for replacement in (BELADY, OPTIMAL)]
        saved.append(f"{each[0]} and {each[1]} on the {TITLES[machine]}")
    pointless = {
        machine: [
            network
            for network, share in relative(rows, machine, BASELINE, OPTIMAL, _TRAFFIC).items()
            if share <= relative(rows, machine, "+rearrangement", DOUBLE_BUFFER, _TRAFFIC)[network]
        ]
        for machine in machines
    }
    where = "; ".join(
        f"{listing(some)} on the {TITLES[at]}" for at, some in pointless.items() if some
    )
    still = average(
        average(saving(at(rows, machine, OPTIMAL), "+rearrangement", column="traffic_bytes"))
        for machine in machines
    )
    count, cases = sum(map(len, pointless.values())), len(machines) * len(rows.texts("network"))
    return (
        "Better replacement needs no new order: Belady's rule and optimal residency save "
        f"of the baseline's backward traffic {listing(saved)}. Optimal residency alone moves no "
        f"more than the rearranged order with double buffering in {count} of {cases} cases"
        f"{f' ({where})' if where else ''}; under optimal residency itself rearrangement still "
        f"saves {percent(still)} of the traffic."
    )


def _less(rows: Rows, machine: str, replacement: str) -> str:
    return percent(1 - average(relative(rows, machine, BASELINE, replacement, _TRAFFIC)))


def _slower(rows: Rows, machines: list[str]) -> str:
    """Why the rule that moves less can take longer."""
    slower = []
    for machine in machines:
        times = relative(rows, machine, BASELINE, BELADY)
        if average(times) <= 1:
            continue
        worse = [
            f"{network} {percent(ratio - 1)}" for network, ratio in times.items() if ratio > _SLOWER
        ]
        slower.append(
            f"on the {TITLES[machine]} by {percent(average(times) - 1)} on average"
            f"{f' ({listing(worse)})' if worse else ''}"
        )
    if not slower:
        return ""
    return (
        f"Though it moves less, Belady's rule is slower than double buffering {listing(slower)}: "
        "it looks at the next use, not at time. It fills the scratchpad with what is used again, "
        "so a finished result leaves at once, while the array waits; loads are moved ahead only "
        "afterwards, into idle DMA time and the room that is left, where double buffering keeps "
        "half of the scratchpad for transfers."
    )


def _more(rows: Rows, machines: list[str]) -> str:
    """Where the least time costs bytes."""
    found = []
    for machine in machines:
        by = {
            replacement: {
                column: average(relative(rows, machine, BASELINE, replacement, column))
                for column in (_TIME, _TRAFFIC)
            }
            for replacement in (BELADY, OPTIMAL)
        }
        if by[OPTIMAL][_TRAFFIC] > by[BELADY][_TRAFFIC]:
            more, less = (by[OPTIMAL][name] - by[BELADY][name] for name in (_TRAFFIC, _TIME))
            found.append(
                f"on the {TITLES[machine]} {percent(more)} more of the baseline's bytes for "
                f"{percent(-less)} less of its time"
            )
    if not found:
        return ""
    return (
        f"Optimal residency minimises time, so it may move more than Belady's rule: "
        f"{listing(found)}."
    )
