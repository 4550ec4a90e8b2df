"""Which assumption brings the paper's means nearer."""

from __future__ import annotations

from collections.abc import Mapping

from spmopt.studies.gradient_networks import LARGE
from spmopt.studies.gradients.names import BATCH_SIZES, networks_of
from spmopt.studies.gradients.orders import MACHINES
from spmopt.studies.gradients.paper import (
    LIMIT,
    SAVED,
    SHARE_OF_READS,
    SHARE_OF_TRAFFIC,
    SPEEDUP,
    TITLES,
)
from spmopt.studies.gradients.reads import share, speedup
from spmopt.studies.gradients.rows import Sweep, average, measured, saving
from spmopt.studies.gradients.setting import Setting
from spmopt.studies.gradients.technique import BASELINE, POTENTIAL
from spmopt.studies.rows import Rows
from spmopt.studies.study import Figures, Findings, Sentences, Sheet, Study
from spmopt.studies.words import signed

_TECHNIQUES = ("interleaving", "+rearrangement")
_PLAIN, _BACKWARD = "as everywhere", "backward pass alone"
READINGS: Mapping[str, tuple[str, dict[str, str | int]]] = {
    _PLAIN: ("", {}),
    "2 bytes an element": ("--element-bytes 2", {"element_bytes": 2}),
    "weight stationary": ("--set array.dataflow=ws", {"dataflow": "ws"}),
    "the baseline's tiles": ("--tile", {"tiles": "baseline"}),
    "square tiles": ("--tile", {"tiles": "square"}),
    "no re-use between batches": ("--replacement double-buffer:reuse=none", {"reuse": "none"}),
}
"""What is varied, how on the command line of ``spmopt tiles``, and as a setting."""


def setting(name: str, machine: str) -> Setting:
    """A machine under an assumption."""
    given = READINGS[name][1]
    plain = Setting(name=name, machine=machine)
    return Setting(
        name=name,
        machine=machine,
        element_bytes=int(given.get("element_bytes", plain.element_bytes)),
        dataflow=str(given.get("dataflow", plain.dataflow)),
        reuse=str(given.get("reuse", plain.reuse)),
        tiles=str(given.get("tiles", plain.tiles)),
    )


def _short(machine: str) -> str:
    return TITLES[machine].removesuffix(" NPU")


SWEEP = Sweep(
    settings=tuple(setting(name, machine) for name in READINGS for machine in MACHINES),
    techniques=(BASELINE, POTENTIAL, *_TECHNIQUES),
)
PAPER: Mapping[str, float] = {
    "dY of traffic, large": SHARE_OF_TRAFFIC,
    "dY of reads, large": SHARE_OF_READS,
    **{
        f"second read free, {_short(machine)}": 100 * (1 - 1 / SPEEDUP[machine])
        for machine in MACHINES
    },
    **{
        f"{name}, {_short(machine)}": SAVED[machine, name]
        for machine in MACHINES
        for name in _TECHNIQUES
    },
}
"""Means in the paper, percent; a speed-up as the time saved."""


def means(rows: Rows, reading: str) -> dict[str, float]:
    """The same means here, percent; networks that the rows have."""
    forward = reading != _BACKWARD
    own = rows.where(setting=_PLAIN if reading == _BACKWARD else reading)
    found: dict[str, float] = {}
    large = own.where(machine=LARGE)
    if len(large):
        found["dY of traffic, large"] = 100 * average(share(large, "traffic_bytes"))
        found["dY of reads, large"] = 100 * average(share(large, "read_bytes"))
    for machine in own.texts("machine"):
        short = _short(machine)
        some = own.where(machine=machine)
        faster = speedup(some, forward=forward).values()
        found[f"second read free, {short}"] = 100 * (1 - 1 / average(faster))
        for name in _TECHNIQUES:
            found[f"{name}, {short}"] = 100 * average(saving(some, name, forward=forward))
    return {name: found[name] for name in PAPER if name in found}


def deviation(found: Mapping[str, float]) -> float:
    """Points from the paper, mean of all figures."""
    return average(abs(value - PAPER[name]) for name, value in found.items())


def find(rows: Rows, figures: Figures) -> Findings:
    """A line for each figure, a column for each assumption."""
    del figures
    readings = (*rows.texts("setting"), _BACKWARD)
    found = {reading: means(rows, reading) for reading in readings}
    lines = []
    for name in found[_PLAIN]:
        cells = [_cell(found[reading][name], PAPER[name]) for reading in readings]
        near = min(found, key=lambda each: abs(found[each][name] - PAPER[name]))
        deviates = signed(found[near][name] - PAPER[name])
        lines.append([name, f"{PAPER[name]:.1f}", *cells, f"{near} ({deviates})"])
    nearest = min(found, key=lambda each: deviation(found[each]))
    deviations = [f"{deviation(each):.1f}" for each in found.values()]
    lines.append(["mean deviation, points", "-", *deviations, nearest])
    options = [f"{name}: `{READINGS[name][0]}`" for name in readings if _option(name)]
    heads = ("mean of networks, %", "paper", *readings, "nearest (points from the paper)")
    return Findings(
        sheets=(Sheet(heads=heads, rows=lines),),
        sentences=_sentences(found, nearest),
        notes=(
            f"Bold: more than {LIMIT:g} points from the paper. A speed-up by a free second read "
            "is shown as the time that it saves.",
            *([f"On the command line of `spmopt tiles`: {'; '.join(options)}."] if options else []),
            "*Square tiles*: the same length along M, K and N, a multiple of the array's, three "
            "of which fit in half of the scratchpad, for all techniques.",
            "Partitions are left out, for the time that their choice takes.",
            "That an assumption brings a figure nearer does not prove that it was made.",
            _second_read(),
            networks_of(rows),
        ),
    )


def _option(name: str) -> bool:
    return name in READINGS and bool(READINGS[name][0])


def _cell(found: float, paper: float) -> str:
    text = f"{found:.1f}"
    return text if abs(found - paper) <= LIMIT else f"**{text}**"


def _sentences(found: Mapping[str, Mapping[str, float]], nearest: str) -> Sentences:
    plain = found[_PLAIN]
    missed = [name for name, value in plain.items() if abs(value - PAPER[name]) > LIMIT]
    low = sum(plain[name] < PAPER[name] for name in missed)
    left = [
        name
        for name in plain
        if all(abs(each[name] - PAPER[name]) > LIMIT for each in found.values())
    ]
    return (
        f"Of {len(plain)} means {len(missed)} are more than {LIMIT:g} points from the paper's, "
        f"{'all' if low == len(missed) else low} of them below.",
        f"{len(left)} of them stay so under every single assumption; nearest on the whole is "
        f"{nearest}, {deviation(found[nearest]):.1f} points off on average "
        f"({deviation(plain):.1f} {_PLAIN}).",
        "The paper's tiles and its baseline's re-use are not published and are the likeliest "
        "reason; bytes at a constant bandwidth hardly explain its own figures (notes).",
    )


def _second_read() -> str:
    """Whether the paper's own shares of traffic explain its speed-ups by a free second read."""
    saved = 100 * (1 - 1 / SPEEDUP[LARGE])
    return (
        f"Bytes at a constant bandwidth hardly explain the paper's figure 6 by its figure 5: on "
        f"the large NPU all reads of dY are {SHARE_OF_TRAFFIC:.1f} % of the backward traffic, and "
        f"without those for dW both passes take {saved:.1f} % less. That needs "
        f"{100 * saved / SHARE_OF_TRAFFIC:.0f} % of the reads of dY to be for dW, in a backward "
        "pass that waits for memory all the time and a forward pass that takes none. Its simulator "
        "has costs of access that are not published (its section 3.3 names bursts)."
    )


STUDY = Study(
    name="gradient-assumptions",
    title="which assumption brings which figure on orders of gradients nearer",
    about=(
        "Means of figures 5, 6 and 12 of Kim et al., MICRO 2023, as everywhere (4 bytes an "
        "element, output stationary, re-use between batches, each technique with its best tile, "
        "both passes) and with one assumption changed at a time. Double buffering, one core, the "
        f"paper's networks, {BATCH_SIZES}."
    ),
    measured=measured(SWEEP),
    find=find,
)
