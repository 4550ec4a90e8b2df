"""A search by hand: time against area, one member with a gap, one trial excluded by proof."""

from __future__ import annotations

from dataclasses import replace

from spmopt.reporting.search.front import Axis, Front, Limit, Share, Trial
from spmopt.search.records import ResourceDuals

TIME = Axis(key="time_s", label="time", unit="s", is_objective=True, of_schedules=True)
AREA = Axis(
    key="area_mm2",
    label="area_mm2",
    is_objective=True,
    limits=(Limit(text="area_mm2 <= 9", value=9.0),),
)
NUMBER = Axis(key="trial", label="trial")


def trial(number: int, time_s: float, area: float, name: str = "") -> Trial:
    """One that was solved to the optimum and holds the constraint."""
    return Trial(
        number=number,
        state="solved",
        is_feasible=True,
        fields={"technology": name or f"t{number}"},
        figures={"time_s": time_s, "area_mm2": area, "trial": float(number)},
        least={"time_s": time_s, "area_mm2": area},
        texts={"time_s": f"{time_s} s", "area_mm2": f"{area}"},
        gap=0.0,
    )


def front(name: str = "") -> Front:
    """Members 0, 1 (with a gap of 25 %); 2 is solved, 3 breaks the constraint, 4 and 5 are not."""
    member = replace(
        trial(1, 2.0, 5.0, name),
        least={"time_s": 1.6, "area_mm2": 5.0},
        gap=0.25,
        said=("~ 1: within the gap of trial 2",),
        machine={"spm": "4 MB", "technology": name},
        networks=("net: page, feasible",),
    )
    excluded = replace(
        trial(4, 3.0, 7.0),
        state="excluded by proof",
        is_feasible=False,
        figures={"area_mm2": 7.0, "trial": 4.0},
        least={"time_s": 3.0},
        said=("excluded: any schedule has at least time_s 3 s",),
        gap=None,
    )
    failed = replace(excluded, number=5, state="failed", figures={"trial": 5.0}, least={})
    duals = ResourceDuals(unit="s", bound=1.0, per_mb=0.1, per_gbps=0.2, per_pe=None)
    return Front(
        name=f"study{name}",
        subject="net",
        lines=("6 trials: 4 solved", "networks: net"),
        axes=(TIME, AREA, NUMBER),
        trials=(
            trial(0, 1.0, 8.0),
            member,
            trial(2, 2.5, 6.0),
            replace(trial(3, 0.5, 10.0), is_feasible=False),
            excluded,
            failed,
        ),
        members=(0, 1),
        shares=(
            Share(objective="time_s", rests="by 12 solved", parts={"spm": 0.75, "bw": 0.25}),
            Share(objective="area_mm2", rests="by the space", parts={"spm": 1.0}),
        ),
        shadow_prices=((0, "net", duals),),
    )
