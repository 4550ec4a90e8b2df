"""How long a whole curve takes: the bound and a policy at hundreds of capacities."""

from __future__ import annotations

from collections.abc import Sequence
from resource import RUSAGE_CHILDREN, RUSAGE_SELF, getrusage
from time import monotonic

from spmopt.experiments.executors import processors
from spmopt.experiments.queue import TaskQueue
from spmopt.experiments.rows import Row
from spmopt.experiments.store import Table
from spmopt.studies.paper import MB, SMALL, TITLES, case
from spmopt.studies.rows import Rows, number
from spmopt.studies.study import Figures, Findings, Part, Sentences, Sheet, Study
from spmopt.studies.words import listing, megabytes, percent
from spmopt.sweep.cases import Case
from spmopt.sweep.rows import Columns
from spmopt.sweep.run import Sweep, run_sweeps
from spmopt.sweep.work import Search

CAPACITIES = tuple(range(24 * MB, 1000 * MB + 1, 2 * MB))
GNMT = (24 * MB, 500 * MB)
SCHEDULERS = ("tsai", "fluid")
TOLERANCE = 1e-3
TARGET_S = 240.0
COMMAND = (
    "spmopt sweep resnet50 mobilenetv2 transformer --training --lowering ideal "
    "--spm 24MB:1000MB:2MB -s tsai,fluid --tolerance 1e-3 -o curves.csv"
)
"""Writes what is timed."""


def figures() -> Figures:
    """Measure the three curves, one after the other, on all processors."""
    found = {"processors": float(processors())}
    for name in SMALL:
        measured = measure(case(name, CAPACITIES), processors())
        found |= {f"{name} {figure}": value for figure, value in measured.items()}
    return found


def measure(curve: Case, jobs: int) -> dict[str, float]:
    """Run one curve in memory: what it takes, from the network's name to the last row.

    Of ``fluid`` the gap is that between the two ends of the relaxation's optimum.
    """
    search = Search(tolerance=TOLERANCE)
    wall, cpu = monotonic(), _cpu_s()
    table = Table(None, Columns(), {})
    sweep = Sweep(cases=(curve,), schedulers=SCHEDULERS, search=search)
    with TaskQueue(jobs) as queue:
        done = run_sweeps([sweep], table, queue)
    spent = {"wall_s": monotonic() - wall, "cpu_s": _cpu_s() - cpu}
    rows = table.rows
    return {
        "points": float(len({row["spm_bytes"] for row in rows})),
        "verified": float(sum(row["verified"] is True for row in rows)),
        "solves": float(done.solves),
        **spent,
        **{f"{name} gap": largest_gap(rows, name) for name in SCHEDULERS},
    }


def largest_gap(rows: Sequence[Row], scheduler: str) -> float:
    """Of one scheduler; raises :class:`InputError` where a point has none."""
    return max(number(row, "gap") for row in rows if row["scheduler"] == scheduler)


def _cpu_s() -> float:
    """Of this process and of those that it has ended, all threads."""
    used = [getrusage(who) for who in (RUSAGE_SELF, RUSAGE_CHILDREN)]
    return sum(each.ru_utime + each.ru_stime for each in used)


def parts() -> tuple[Part, ...]:
    """GNMT, whose solutions take minutes: few capacities, to half a percent."""
    return (
        Part(
            name="gnmt",
            cases=(case("gnmt", GNMT),),
            schedulers=SCHEDULERS,
            search=Search(tolerance=5e-3, time_limit_s=150.0),
        ),
    )


def find(rows: Rows, figures: Figures) -> Findings:
    """What the curves took, together and each."""
    names = [name.removesuffix(" wall_s") for name in figures if name.endswith(" wall_s")]
    return Findings(
        sheets=(_curves(names, figures), _points(rows)),
        sentences=_sentences(names, rows, figures),
        notes=(
            "Seconds run from the name of a network to its last row: building, lowering, the "
            f"starts of {figures['processors']:.0f} processes, all solutions, schedules and "
            "verification. Wall seconds are those of a computer that may have had other work.",
            f"The points of the curves: `{COMMAND}`.",
            "A curve of tsai needs a second one of the relaxation, in depth-first order: solutions "
            "are of both.",
        ),
    )


def _curves(names: Sequence[str], figures: Figures) -> Sheet:
    lines = [
        [
            TITLES.get(name, name),
            f"{figures[f'{name} points']:.0f}",
            f"{figures[f'{name} verified']:.0f}",
            f"{figures[f'{name} solves']:.0f}",
            f"{figures[f'{name} wall_s']:.1f}",
            f"{figures[f'{name} cpu_s']:.1f}",
            f"{100 * figures[f'{name} fluid gap']:.3f}",
            f"{100 * figures[f'{name} tsai gap']:.1f}",
        ]
        for name in names
    ]
    together = [
        f"{_total(names, figures, figure):.{digits}f}"
        for figure, digits in (
            *(("points", 0), ("verified", 0), ("solves", 0)),
            *(("wall_s", 1), ("cpu_s", 1)),
        )
    ]
    heads = (
        *("network", "capacities", "schedules, verified", "solutions", "wall s", "CPU s"),
        *("optimum enclosed to, %", "largest gap of tsai, %"),
    )
    return Sheet(heads=heads, rows=[*lines, ["all", *together, "", ""]])


def _total(names: Sequence[str], figures: Figures, figure: str) -> float:
    return sum(figures[f"{name} {figure}"] for name in names)


def _points(rows: Rows) -> Sheet:
    lines = [
        [
            TITLES.get(str(row["network"]), str(row["network"])),
            megabytes(number(row, "spm_bytes")),
            str(row["scheduler"]),
            f"{number(row, 'value'):.5g}",
            f"{number(row, 'bound'):.5g}",
            f"{100 * number(row, 'gap'):.3g}",
            "-" if row["solve_s"] is None else f"{number(row, 'solve_s'):.1f}",
        ]
        for row in rows
    ]
    heads = ("network", "SPM", "scheduler", "value, s", "bound, s", "gap, %", "wall s")
    return Sheet(title="GNMT, point by point", heads=heads, rows=lines, left=3)


def _sentences(names: Sequence[str], rows: Rows, figures: Figures) -> Sentences:
    wall, cpu, points, solves = (
        _total(names, figures, figure) for figure in ("wall_s", "cpu_s", "points", "solves")
    )
    widest = max(figures[f"{name} fluid gap"] for name in names)
    share = cpu / wall / figures["processors"]
    met = "within" if wall <= TARGET_S else "not within"
    slow = rows.where(scheduler="fluid")
    seconds = [number(row, "solve_s") for row in slow if row["solve_s"] is not None]
    gaps = [number(row, "gap") for row in slow]
    each = [f"{TITLES.get(name, name)} {figures[f'{name} solves']:.0f}" for name in names]
    return (
        f"{points:.0f} points of {len(names)} networks take {cpu:.0f} s of CPU time and "
        f"{wall:.0f} s of wall time, {met} the target of {TARGET_S:.0f} s, with {percent(share)} "
        f"of the processors ({percent(1 - share)} idle, or at other work).",
        f"{solves:.0f} solutions ({listing(each)}) enclose the optimum of the relaxation at every "
        f"point to within {100 * widest:.2g} %, because prices found at one capacity prove a bound "
        "at all, and the optimum is convex in the capacity.",
        f"GNMT is another matter: a solution of its relaxation takes up to {max(seconds):.0f} s, "
        f"and encloses the optimum to within {100 * max(gaps):.2g} %.",
    )


STUDY = Study(
    name="curve-time",
    title="how long a whole curve takes",
    about=(
        "The bound and tsai at 489 capacities, 24 to 1000 MB by 2 MB, for one training step of "
        "three networks (batch 32, Transformer 128; 616 GB/s, 13.45 TFLOP/s, lowering ideal, "
        "objective time), every point certified to 0.1 %: the target is 4 minutes on 2 cores. GNMT "
        "apart, at two capacities."
    ),
    parts=parts,
    find=find,
    figures=figures,
    kept=(
        "{csv} has the rows of GNMT; of the three curves, which are timed, it keeps the figures of "
        "this page, in its first line, and not the points. Every schedule of both is verified."
    ),
)
