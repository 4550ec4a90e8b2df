"""Suites of seconds to a certified gap."""

from __future__ import annotations

from itertools import product

from spmopt.bench.suite import Case, Column, Row, Suite, Target
from spmopt.bench.suites.common import (
    CERTIFIED,
    GNMT,
    NETWORKS,
    OPERATIONS,
    PEAK,
    close,
    relax,
    within,
)

_SIZES = ("24MB", "64MB", "128MB", "296MB", "442MB", "1000MB")
_SECONDS = (Column(figure="wall_s", heading="wall s"), Column(figure="cpu_s", heading="CPU s"))
_CHECKED = (
    Column(figure="verified", heading="verified", form="yes"),
    Column(figure="verify_s", heading="verifier s"),
)
_HOW = (
    "The certified gap is the verifier's value of the schedule over the bound recomputed from its "
    "prices in exact integers; both are checked after the clock has stopped, and the policies "
    "that `spmopt solve` starts from have not run."
)


def page() -> Suite:
    """Three networks, six scratchpads, pages and the relaxation."""
    rows = []
    for network, spm in product(NETWORKS, _SIZES):
        case = Case(network=network, spm=spm)
        page, fluid = close("page", "time", 1e-3, 30.0), relax(30.0)
        rows += [
            Row(case=case, cells=(network, spm, "page"), parts={"": page}, targets=within(1, 1e-3)),
            Row(
                case=case,
                cells=(network, spm, "fluid"),
                parts={"": fluid},
                targets=within(2, 1e-4),
            ),
        ]
    return Suite(
        name="page",
        title="seconds to a certified gap of 0.1 % (page) and 0.01 % (fluid), objective time",
        about="Pages have 4 KiB. The value of `fluid` is that of the relaxation, no schedule. "
        f"{_HOW}",
        heads=("network", "SPM", "scheduler"),
        rows=tuple(rows),
        columns=(OPERATIONS, *_SECONDS, CERTIFIED, PEAK, *_CHECKED),
    )


def whole() -> Suite:
    """Three networks, six scratchpads, whole tensors."""
    targets = (Target(figure="wall_s", value=10), Target(figure="class_gap", value=1e-4))
    rows = [
        Row(
            case=Case(network=network, spm=spm),
            cells=(network, spm),
            parts={
                "": close("whole", "traffic", 1e-4, 30.0),
                "proof": close("whole", "traffic", 0.0, 10.0),
            },
            targets=targets,
        )
        for network, spm in product(NETWORKS, _SIZES)
    ]
    return Suite(
        name="whole",
        title="whole tensors: seconds to a gap of 0.01 %, objective traffic",
        about="The gap of its class is to the integer program's own bound. In a second run, of "
        "10 s, the solver is asked for a proof: 0 is proven optimal. The certified gap is to the "
        "bound for all schedules, also those that keep parts of tensors.",
        heads=("network", "SPM"),
        rows=tuple(rows),
        columns=(
            OPERATIONS,
            *_SECONDS,
            Column(figure="class_gap", heading="gap of its class %", form="%"),
            Column(figure="proof.wall_s", heading="proof s"),
            Column(figure="proof.class_gap", heading="gap after it %", form="%"),
            CERTIFIED,
            *_CHECKED,
        ),
    )


def gnmt() -> Suite:
    """Some 20,000 operations."""
    memory = Target(figure="peak_mb", value=1000)
    rows = tuple(
        Row(
            case=case,
            cells=(case.title, "64MB", f"{100 * gap:g} %"),
            parts={"": close("page", "time", gap, 600.0)},
            targets=within(wall_s, gap, memory),
        )
        for case in (Case(network="gnmt", spm="64MB", parameters=p) for p in GNMT)
        for gap, wall_s in ((1e-2, 60), (2e-3, 120))
    )
    return _large("gnmt", "GNMT of 50 steps and four gates", rows)


def deep() -> Suite:
    """Some 11,000 operations."""
    rows = tuple(
        Row(
            case=Case(network="transformer", spm=spm, parameters={"layers": 96}),
            cells=("transformer, layers=96", spm, "0.1 %"),
            parts={"": close("page", "time", 1e-3, 120.0)},
            targets=within(15, 1e-3),
        )
        for spm in ("64MB", "128MB", "296MB")
    )
    return _large("deep", "a Transformer of 96 layers", rows)


def _large(name: str, title: str, rows: tuple[Row, ...]) -> Suite:
    return Suite(
        name=name,
        title=f"{title}, objective time, page",
        about=f"{_HOW} Memory: of the process when the clock has stopped, and "
        "when the schedule is verified.",
        heads=("network", "SPM", "gap asked"),
        rows=rows,
        columns=(
            OPERATIONS,
            *_SECONDS,
            CERTIFIED,
            PEAK,
            Column(figure="peak_checked_mb", heading="peak MB, verified", form="n"),
            *_CHECKED,
        ),
    )
