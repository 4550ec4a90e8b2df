"""Traffic and time of greedy policies and of the optimum against the capacity."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

from spmopt.studies.paper import MACHINE, MB, SMALL, STEP, TITLES, case
from spmopt.studies.rows import Rows, number
from spmopt.studies.study import Figures, Findings, Part, Sentences, Sheet, Study
from spmopt.studies.words import listing, megabytes, percent
from spmopt.sweep.work import Search

if TYPE_CHECKING:
    from spmopt.report.plots.lines import Line

TABLE = tuple(size * MB for size in (24, 64, 128, 256, 500, 1000))
FINE = tuple(sorted({*range(24 * MB, 1000 * MB + 1, 8 * MB), *TABLE}))
POLICIES = ("tsai", "msa")
_TRAFFIC = Search(objective="traffic")
_COLUMN = {"time": "time_s", "traffic": "traffic_bytes"}
_UNIT = {"time": 1e-3, "traffic": 1e9}
_PATIENT = Search(time_limit_s=150.0, tolerance=1e-2)
_BRIEF = Search(time_limit_s=1.0)


def parts() -> tuple[Part, ...]:
    """Policies and bounds at many capacities, the optimiser at some, GNMT at few."""
    fine, some = (tuple(case(name, sizes) for name in SMALL) for sizes in (FINE, TABLE))
    gnmt = (case("gnmt", TABLE),)
    return (
        Part(name="time", cases=fine, schedulers=(*POLICIES, "fluid")),
        Part(name="traffic", cases=fine, schedulers=("fluid",), search=_TRAFFIC),
        Part(name="time-page", cases=some, schedulers=("page",)),
        Part(name="traffic-page", cases=some, schedulers=("page",), search=_TRAFFIC),
        Part(name="gnmt-policies", cases=gnmt, schedulers=POLICIES, search=_BRIEF),
        Part(
            name="traffic-gnmt",
            cases=gnmt,
            schedulers=("fluid",),
            search=replace(_PATIENT, objective="traffic"),
        ),
        Part(name="time-gnmt", cases=gnmt, schedulers=("fluid",), search=_PATIENT),
    )


def _line(rows: Rows, network: str, scheduler: str, what: str) -> dict[int, float]:
    """Seconds or bytes by capacity; of the optimiser and the bound, for that objective."""
    found = rows.where(network=network, scheduler=scheduler)
    column = "bound" if scheduler == "fluid" else _COLUMN[what]
    if scheduler not in POLICIES:
        found = found.where(objective=what)
    return {int(number(row, "spm_bytes")): number(row, column) for row in found}


def rises(line: dict[int, float]) -> list[tuple[int, float]]:
    """Capacities at which more is spent than at the next smaller one, and the ratio."""
    points = sorted(line.items())
    return [(size, value / less) for (_, less), (size, value) in pairwise(points) if value > less]


def find(rows: Rows, figures: Figures) -> Findings:
    """Tables of time and traffic, and where a policy is not monotone."""
    del figures
    networks = rows.texts("network")
    sheets = tuple(_sheet(rows, networks, what) for what in ("time", "traffic"))
    return Findings(
        sheets=(*sheets, _anomalies(rows, networks)),
        sentences=_sentences(rows, networks),
        notes=(
            "`page` was not asked for GNMT (-).",
            "Bounds are those of the rows of `fluid`; the ones in GNMT's rows of tsai and msa were "
            "cut short after a second, and are not used.",
        ),
    )


def _sheet(rows: Rows, networks: list[str], what: str) -> Sheet:
    lines = []
    for name in networks:
        found = [_line(rows, name, each, what) for each in (*POLICIES, "page", "fluid")]
        for size in TABLE:
            cells = [f"{line[size] / _UNIT[what]:.4g}" if size in line else "-" for line in found]
            lines.append([TITLES.get(name, name), megabytes(size), *cells])
    unit = "ms" if what == "time" else "GB"
    return Sheet(
        title=f"{what.capitalize()}, {unit}",
        heads=("network", "SPM", *POLICIES, "page", "bound"),
        rows=lines,
        left=2,
    )


def _anomalies(rows: Rows, networks: list[str]) -> Sheet:
    lines = []
    for name in networks:
        for scheduler in (*POLICIES, "fluid"):
            cells = []
            for what in ("time", "traffic"):
                line = _line(rows, name, scheduler, what)
                found = rises(line)
                worst = max(found, key=lambda rise: rise[1], default=None)
                cells.append(f"{len(found)} of {len(line) - 1}")
                cells.append(f"{_small(worst[1] - 1)} at {megabytes(worst[0])}" if worst else "-")
            label = "bound" if scheduler == "fluid" else scheduler
            lines.append([TITLES.get(name, name), label, *cells])
    return Sheet(
        title="Where more capacity costs more: steps to the next capacity that raise",
        heads=("network", "scheduler", "time", "most", "traffic", "most"),
        rows=lines,
        left=2,
    )


def _small(share: float) -> str:
    """A share of one that may be far below a percent."""
    return percent(share) if share >= 1e-3 else f"{100 * share:.1g} %"


def _sentences(rows: Rows, networks: list[str]) -> Sentences:
    worst = {}
    for scheduler in POLICIES:
        gaps = []
        for name in networks:
            bound = _line(rows, name, "fluid", "time")
            for size, value in _line(rows, name, scheduler, "time").items():
                if size in bound:
                    gaps.append((value / bound[size] - 1, name, size))
        worst[scheduler] = max(gaps)
    told = [
        f"{scheduler} {percent(gap)} ({TITLES.get(name, name)} at {megabytes(size)})"
        for scheduler, (gap, name, size) in worst.items()
    ]
    steps = sum(len(_line(rows, name, POLICIES[0], "traffic")) - 1 for name in networks)
    raised = [_raised(rows, networks, scheduler) for scheduler in (*POLICIES, "fluid")]
    enough = [f"{TITLES.get(name, name)} {_equal(rows, name)}" for name in networks]
    return (
        f"At worst, time is above the bound of the listed order by {listing(told)}.",
        f"Of {steps} steps to a larger scratchpad, these raise the traffic: {listing(raised)}. "
        "A schedule for a small one is legal in a larger one too, so that the optimum never rises: "
        "that more room hurts is a rule's doing. Which part of the rule's is not measured here.",
        f"The least of these capacities at which the bound is within tsai's time at 500 MB: "
        f"{listing(enough)}.",
    )


def _raised(rows: Rows, networks: list[str], scheduler: str) -> str:
    """How often the next larger capacity costs more traffic, and how much at most."""
    lines = [_line(rows, name, scheduler, "traffic") for name in networks]
    found = [ratio for line in lines for _, ratio in rises(line)]
    most = f" (by up to {_small(max(found) - 1)})" if found else ""
    label = "the bound" if scheduler == "fluid" else scheduler
    return f"{len(found)} of {label}{most}"


def _equal(rows: Rows, network: str) -> str:
    """Least capacity at which the bound is within tsai's time at 500 MB."""
    goal = _line(rows, network, "tsai", "time")[500 * MB]
    bound = sorted(_line(rows, network, "fluid", "time").items())
    least = megabytes(next(size for size, value in bound if value <= goal))
    return least if len(bound) > len(TABLE) else f"{least} (of {len(bound)})"


def draw(rows: Rows, figures: Figures, path: Path) -> None:
    """Time above, traffic below, a column for each network."""
    from spmopt.report.plots.lines import Panel, save_lines
    from spmopt.report.plots.style import Heading

    del figures
    names = rows.texts("network")
    panels = [
        [
            Panel(
                title=TITLES.get(name, name) if what == "time" else "",
                x_label="scratchpad, MB" if what == "traffic" else "",
                y_label=label if name == names[0] else "",
                ticks=(24, 64, 256, 1000),
                lines=_lines(rows, name, what),
                cut=True,
            )
            for name in names
        ]
        for what, label in (("time", "time, ms"), ("traffic", "traffic, GB"))
    ]
    heading = Heading(
        title="Time and traffic against the capacity of the scratchpad",
        conditions=f"{MACHINE}, {STEP}, lowering ideal",
    )
    save_lines(panels, heading, path)


def _lines(rows: Rows, name: str, what: str) -> tuple[Line, ...]:
    from spmopt.report.plots.lines import Line

    found = {each: _line(rows, name, each, what) for each in (*POLICIES, "page", "fluid")}
    lines = [
        Line(
            label=each,
            x=[size / MB for size in sorted(line)],
            y=[line[size] / _UNIT[what] for size in sorted(line)],
            rank=rank,
            is_bound=each == "fluid",
        )
        for rank, (each, line) in enumerate(found.items())
        if line
    ]
    return tuple(
        replace(
            line,
            label="certified bound" + (", every 8 MB" if line.is_dense else ", at single sizes"),
        )
        if line.is_bound
        else line
        for line in lines
    )


STUDY = Study(
    name="capacity",
    title="traffic and time against the capacity",
    about=(
        "How do traffic and time fall with the capacity, of the greedy policies tsai and msa, of "
        "the optimiser page, and of the certified bound in the listed order? One training step, "
        "batch 32 (Transformer 128), 616 GB/s, 13.45 TFLOP/s, lowering ideal. Of the three smaller "
        "networks policies and bounds every 8 MB, page at the capacities of the tables; of GNMT "
        "policies and bounds at these capacities (bounds within 1 %), and no page. Traffic of "
        "page and of the bound is with objective traffic, time with objective time; tsai runs in "
        "depth-first order, the bound is of the listed one."
    ),
    parts=parts,
    find=find,
    draw=draw,
)
