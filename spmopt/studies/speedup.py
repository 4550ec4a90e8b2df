"""What more bandwidth and more throughput are worth, against capacity."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING

from spmopt.studies.claim import CLAIMS
from spmopt.studies.paper import MACHINE, MB, SMALL, STEP, TITLES, case
from spmopt.studies.rows import Rows
from spmopt.studies.study import Figures, Findings, Part, Sentences, Sheet, Study
from spmopt.studies.words import listing, megabytes, milliseconds, percent, signed
from spmopt.sweep.cases import Case
from spmopt.sweep.work import Search

if TYPE_CHECKING:
    from spmopt.report.plots.lines import Line

CAPACITIES = tuple(size * MB for size in (24, 48, 64, 96, 128, 192, 256, 384, 500, 750, 1000))
GNMT = (24 * MB, 128 * MB, 500 * MB)
SLOW, FAST = 616 * 10**9, 1555 * 10**9
FEW, MANY = 13_450 * 10**9, 23_040 * 10**9
POLICY = "tsai"
_BOUNDS = ("fluid", "page")
UPGRADES: Mapping[str, Mapping[str, int]] = MappingProxyType(
    {
        "bandwidth": {"dram_bytes_per_s": FAST},
        "throughput": {"operations_per_s": MANY},
    }
)
_BASE = {"dram_bytes_per_s": SLOW, "operations_per_s": FEW}
_NEAR = 0.1
_APART = ("mobilenetv2",)
"""Networks whose lines do not converge with more bandwidth, by the thesis."""
CLAIMED = {claim.network: claim for claim in CLAIMS if claim.kind == "faster"}
"""By throughput at 24 MB (chapter 5)."""


def machines(name: str, capacities: Sequence[int]) -> tuple[Case, ...]:
    """A network on the machine of the thesis, with more bandwidth, with more throughput."""
    return (
        case(name, capacities),
        case(name, capacities, bandwidth=FAST),
        case(name, capacities, throughput=MANY),
    )


def parts() -> tuple[Part, ...]:
    """GNMT apart: its bound is that of ``page``, which takes a minute; tsai needs none."""
    gnmt = machines("gnmt", GNMT)
    small = tuple(each for name in SMALL for each in machines(name, CAPACITIES))
    slow = Search(tolerance=1e-2, time_limit_s=120.0)
    return (
        Part(name="small", cases=small, schedulers=(POLICY, "fluid")),
        Part(name="gnmt", cases=gnmt, schedulers=(POLICY,), search=Search(time_limit_s=1.0)),
        Part(name="gnmt optimum", cases=gnmt, schedulers=("page",), search=slow),
    )


def find(rows: Rows, figures: Figures) -> Findings:
    """Speed-ups at every point."""
    del figures
    return Findings(
        sheets=(_sheet(rows),),
        sentences=_sentences(rows),
        notes=(
            "The bound is that of `fluid` in the order as listed, enclosed to 0.1 %; of GNMT the "
            "one that `page` proves, with schedules within "
            f"{percent(_widest(rows))} of it. *At best* is what the bound gains, and so the best "
            "schedules, but for these widths: no bound on the gain of a policy, which can waste "
            "less with the upgrade.",
            "tsai runs in depth-first order: a part of its distance can be that of the order "
            "([ablation.md](ablation.md)). Bounds in its rows of GNMT were cut short after a "
            "second, and are not used.",
            f"With bandwidth alone nothing can gain more than {percent(FAST / SLOW - 1)}, with "
            f"throughput alone no more than {percent(MANY / FEW - 1)}.",
            *_deviations(rows),
        ),
    )


def _deviations(rows: Rows) -> tuple[str, ...]:
    """Where the thesis has another speed-up, and what it may have assumed."""
    told = []
    for name in rows.texts("network"):
        claim = CLAIMED.get(name)
        if claim is None or CAPACITIES[0] not in rows.where(network=name).sizes():
            continue
        found = 100 * gain(rows, name, CAPACITIES[0], POLICY, "throughput")
        if claim.is_missed_by(found):
            told.append(
                f"**{claim.text}**: {found:+.1f} % by tsai here, {claim.told} % in the thesis; "
                "which assumptions bring it nearer: [assumptions.md](assumptions.md)."
            )
    return tuple(told)


def seconds(rows: Rows, name: str, size: int, of: str, upgrade: str | None = None) -> float:
    """Time of the policy, or the bound, with an upgrade."""
    settings = {**_BASE, **(UPGRADES[upgrade] if upgrade else {})}
    found = rows.where(network=name, spm_bytes=size, **settings)
    if of == POLICY:
        return found.number("time_s", scheduler=POLICY)
    bounder = next(row for row in found if row["scheduler"] in _BOUNDS)
    return found.number("bound", scheduler=bounder["scheduler"])


def gain(rows: Rows, name: str, size: int, of: str, upgrade: str) -> float:
    """How much faster it is, as a share: 0.2 for 1.2 times as fast."""
    return seconds(rows, name, size, of) / seconds(rows, name, size, of, upgrade) - 1


def _sheet(rows: Rows) -> Sheet:
    lines = []
    for name in rows.texts("network"):
        for size in rows.where(network=name).sizes():
            cells = [_title(name), megabytes(size)]
            cells += [milliseconds(seconds(rows, name, size, of)) for of in (POLICY, "bound")]
            for upgrade in UPGRADES:
                cells += [
                    signed(100 * gain(rows, name, size, of, upgrade)) for of in (POLICY, "bound")
                ]
            told = upgrade == "throughput" and size == CAPACITIES[0]
            lines.append([*cells, CLAIMED[name].told if told and name in CLAIMED else "-"])
    heads = (
        *("network", "SPM", "tsai, ms", "bound, ms", "1555 GB/s: tsai, %", "at best, %"),
        *("23.04 TFLOP/s: tsai, %", "at best, %", "thesis, tsai, %"),
    )
    return Sheet(heads=heads, rows=lines, left=2)


def _widest(rows: Rows) -> float:
    gaps = [row["gap"] for row in rows if row["scheduler"] == "page"]
    return max((gap for gap in gaps if isinstance(gap, float)), default=0.0)


def _sentences(rows: Rows) -> Sentences:
    names = rows.texts("network")
    sizes = {name: rows.where(network=name).sizes() for name in names}
    least = megabytes(min(rows.sizes()))

    def gains(upgrade: str, of: str) -> str:
        each = [(name, gain(rows, name, sizes[name][0], of, upgrade)) for name in names]
        return listing([f"{_title(name)} {percent(more)}" for name, more in each])

    told = [f"{_title(name)} {CLAIMED[name].told} %" for name in names if name in CLAIMED]
    enough = [
        f"{_title(name)} {_enough(rows, name, POLICY)} by tsai, "
        f"{_enough(rows, name, 'bound')} at best"
        for name in names
    ]
    return (
        f"At {least} 1555 GB/s make tsai faster by: {gains('bandwidth', POLICY)}, the best "
        f"schedules by: {gains('bandwidth', 'bound')}. {_converging(rows, names, sizes)}",
        f"At {least} 23.04 TFLOP/s make tsai faster by: {gains('throughput', POLICY)} "
        f"(thesis: {listing(told)}), the best schedules by: {gains('throughput', 'bound')}.",
        f"1555 GB/s gain less than {percent(_NEAR)} with these scratchpads: {'; '.join(enough)}.",
    )


def _converging(rows: Rows, names: Sequence[str], sizes: Mapping[str, Sequence[int]]) -> str:
    """What is left of the gain in the largest scratchpad that all have, and where there is more."""
    shared = max(set.intersection(*(set(sizes[name]) for name in names)))
    left = {name: gain(rows, name, shared, POLICY, "bandwidth") for name in names}
    apart = [name for name in names if left[name] >= _NEAR]
    gains = listing([f"{_title(name)} {percent(left[name])}" for name in names])
    text = f"With {megabytes(shared)}, the largest that all have, they make tsai faster by: {gains}"
    text += f"; below {percent(_NEAR)}"
    text += f" but for {listing(list(map(_title, apart)))}" if apart else ""
    text += ", as in the thesis" if apart == [n for n in names if n in _APART] else ""
    for name in apart:
        last = sizes[name][-1]
        if last > shared:
            mine, best = (gain(rows, name, last, of, "bandwidth") for of in (POLICY, "bound"))
            text += f"; {_title(name)} with {megabytes(last)} by {percent(mine)}"
            text += f", at best {percent(best)}"
    return f"{text}."


def _title(name: str) -> str:
    return TITLES.get(name, name)


def _enough(rows: Rows, name: str, of: str) -> str:
    """The least scratchpad with which bandwidth gains little."""
    for size in rows.where(network=name).sizes():
        if gain(rows, name, size, of, "bandwidth") < _NEAR:
            return f"from {megabytes(size)}"
    return "none"


def draw(rows: Rows, figures: Figures, path: Path) -> None:
    """Speed-ups against capacity: a row of panels for each upgrade."""
    from spmopt.report.plots.lines import Panel, save_lines
    from spmopt.report.plots.style import Heading

    del figures
    panels = [
        [
            Panel(
                title=_title(name) if upgrade == "bandwidth" else "",
                x_label="scratchpad, MB" if upgrade == "throughput" else "",
                y_label=f"faster with {what}, %" if name == rows.texts("network")[0] else "",
                lines=_lines(rows, name, upgrade),
                ticks=(24, 128, 1000),
                cut=True,
            )
            for name in rows.texts("network")
        ]
        for upgrade, what in zip(UPGRADES, ("1555 GB/s", "23.04 TFLOP/s"), strict=True)
    ]
    heading = Heading(
        title="What 1555 instead of 616 GB/s, and 23.04 instead of 13.45 TFLOP/s, gain",
        conditions=f"{MACHINE}, {STEP}, lowering ideal, objective time",
    )
    save_lines(panels, heading, path)


def _lines(rows: Rows, name: str, upgrade: str) -> tuple[Line, ...]:
    from spmopt.report.plots.lines import Line

    sizes = rows.where(network=name).sizes()
    return tuple(
        Line(
            label=label,
            x=[size / MB for size in sizes],
            y=[100 * gain(rows, name, size, of, upgrade) for size in sizes],
            is_bound=of == "bound",
        )
        for of, label in (("bound", "at best (gain of the bounds)"), (POLICY, POLICY))
    )


STUDY = Study(
    name="speedup",
    title="what more bandwidth and more throughput are worth",
    about=(
        "How much faster one training step is with 1555 instead of 616 GB/s, or with 23.04 "
        "instead of 13.45 TFLOP/s, for tsai and at best, against the capacity (chapter 5 of "
        "Tsai's thesis: with bandwidth the lines converge with capacity, except for MobileNetV2; "
        "with throughput it gives the gain at 24 MB). Batch 32 (Transformer 128), lowering ideal, "
        "two operations to a multiply-accumulate, objective time; GNMT at three capacities, up to "
        "500 MB, the others at eleven, up to 1 GB."
    ),
    parts=parts,
    find=find,
    draw=draw,
)
