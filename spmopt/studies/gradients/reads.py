"""Figures 5 and 6: what reading dY costs, and what a free second read would save."""

from __future__ import annotations

from pathlib import Path

from spmopt.studies.gradient_networks import LARGE
from spmopt.studies.gradients.names import BATCH_SIZES, networks_of
from spmopt.studies.gradients.orders import MACHINES
from spmopt.studies.gradients.paper import (
    LIMIT,
    SHARE_OF_READS,
    SHARE_OF_READS_DLRM,
    SHARE_OF_TRAFFIC,
    SPEEDUP,
    TITLES,
    bold,
    points,
)
from spmopt.studies.gradients.rows import Sweep, at, average, cycles, measured
from spmopt.studies.gradients.setting import Setting
from spmopt.studies.gradients.technique import (
    BASELINE,
    BELADY,
    DOUBLE_BUFFER,
    OPTIMAL,
    POTENTIAL,
    REPLACEMENTS,
)
from spmopt.studies.rows import Rows, number
from spmopt.studies.study import Figures, Findings, Sentences, Sheet, Study
from spmopt.studies.words import in_percent, listing, percent

_PLAIN, _DLRM = "plain", "dlrm"
SWEEPS = (
    Sweep(
        settings=tuple(Setting(name=_PLAIN, machine=machine) for machine in MACHINES),
        techniques=(BASELINE, POTENTIAL),
        replacements=REPLACEMENTS,
    ),
    Sweep(
        settings=tuple(
            Setting(name=f"batch {size}", machine=LARGE, batch=size) for size in (64, 512, 2048)
        ),
        techniques=(BASELINE,),
        only=(_DLRM,),
    ),
)
"""The figures, and the network that is farthest from the paper's at larger batches."""


def share(rows: Rows, of: str) -> dict[str, float]:
    """Share of dY in a column of the baseline, by network; rows of one machine and replacement."""
    own = rows.where(technique=BASELINE)
    return {str(row["network"]): number(row, "dy_bytes") / number(row, of) for row in own}


def speedup(rows: Rows, *, forward: bool = True) -> dict[str, float]:
    """How many times as fast networks are with the second read free."""
    return {
        network: cycles(rows.one(network=network, technique=BASELINE), forward=forward)
        / cycles(rows.one(network=network, technique=POTENTIAL), forward=forward)
        for network in rows.texts("network")
    }


def find(rows: Rows, figures: Figures) -> Findings:
    """Shares and speed-ups."""
    del figures
    plain, machines = rows.where(setting=_PLAIN), rows.texts("machine")
    return Findings(
        sheets=(
            _means(plain, machines),
            *(_shares(plain, machine) for machine in machines),
            _speedups(plain, machines),
        ),
        sentences=_sentences(plain, machines),
        notes=(
            networks_of(plain),
            *_batches(rows),
            "dY counts whenever it is read; tiles of dX and dW that return are read too.",
            "*Second read free*: products of dW have no operand dY, which needs no room then; "
            "all else, tiles too, is as in the baseline.",
            bold(" (of speed-ups 0.05)"),
        ),
    )


def _batches(rows: Rows) -> tuple[str, ...]:
    """How the share of reads of the network that is farthest from the paper's grows."""
    own = rows.where(network=_DLRM, machine=LARGE, technique=BASELINE, scheduler=DOUBLE_BUFFER)
    shares = [
        f"{percent(number(row, 'dy_bytes') / number(row, 'read_bytes'))} at {row['batch']}"
        for row in own
    ]
    if len(shares) < 2:
        return ()
    return (
        f"**{_DLRM}** has a row of dY for each sample, beside far larger weights. Under double "
        f"buffering its share of reads grows with the batch: {listing(shares)} (`--batch` of "
        f"`spmopt tiles`); the paper's {SHARE_OF_READS_DLRM} % cannot be of batch "
        f"{own.texts('batch')[0]} with one row a sample.",
    )


def _means(rows: Rows, machines: list[str]) -> Sheet:
    lines = []
    if LARGE in machines:
        for name, of, paper in (
            ("dY of traffic, large NPU, %", "traffic_bytes", SHARE_OF_TRAFFIC),
            ("dY of reads, large NPU, %", "read_bytes", SHARE_OF_READS),
        ):
            found = [average(share(at(rows, LARGE, each), of)) for each in REPLACEMENTS]
            cells = [points(found[0], paper), *(in_percent(value) for value in found[1:])]
            lines.append([name, f"{paper:.1f}", *cells])
        dlrm = [share(at(rows, LARGE, each), "read_bytes").get(_DLRM) for each in REPLACEMENTS]
        known = [value for value in dlrm if value is not None]
        if known:
            cells = [points(known[0], SHARE_OF_READS_DLRM)]
            cells += [in_percent(value) for value in known[1:]]
            lines.append(
                [f"dY of reads, {_DLRM}, large NPU, %", f"{SHARE_OF_READS_DLRM:.1f}", *cells]
            )
    for machine in machines:
        found = [average(speedup(at(rows, machine, each))) for each in REPLACEMENTS]
        paper = SPEEDUP[machine]
        name = f"speed-up with the second read free, {TITLES[machine]}"
        lines.append([name, f"{paper:.2f}", _near(found[0], paper), *map(_two, found[1:])])
        found = [average(speedup(at(rows, machine, each), forward=False)) for each in REPLACEMENTS]
        lines.append([f"{name}, backward pass alone", "-", *map(_two, found)])
    return Sheet(title="Means of networks", heads=("figure", "paper", *REPLACEMENTS), rows=lines)


def _two(value: float) -> str:
    return f"{value:.2f}"


def _near(found: float, paper: float) -> str:
    return f"{found:.2f}" if abs(found - paper) <= LIMIT / 100 else f"**{found:.2f}**"


def _shares(rows: Rows, machine: str) -> Sheet:
    found = [
        share(at(rows, machine, each), of)
        for of in ("traffic_bytes", "read_bytes")
        for each in REPLACEMENTS
    ]
    lines = [
        [network, *(in_percent(each[network]) for each in found)]
        for network in rows.texts("network")
    ]
    heads = tuple(f"of {of}: {each}" for of in ("traffic", "reads") for each in REPLACEMENTS)
    return Sheet(
        title=f"Share of dY in the backward pass, {TITLES[machine]}, %",
        heads=("network", *heads),
        rows=lines,
    )


def _speedups(rows: Rows, machines: list[str]) -> Sheet:
    found = [speedup(at(rows, machine, each)) for machine in machines for each in REPLACEMENTS]
    lines = [
        [network, *(f"{each[network]:.2f}" for each in found)] for network in rows.texts("network")
    ]
    heads = tuple(f"{TITLES[machine]}: {each}" for machine in machines for each in REPLACEMENTS)
    return Sheet(
        title="Speed-up with the second read of dY free", heads=("network", *heads), rows=lines
    )


def _sentences(rows: Rows, machines: list[str]) -> Sentences:
    shares, gains = [], []
    for machine in machines:
        own = at(rows, machine, DOUBLE_BUFFER)
        shares.append(
            f"{percent(average(share(own, 'traffic_bytes')))} of the backward traffic and "
            f"{percent(average(share(own, 'read_bytes')))} of what is read on the {TITLES[machine]}"
        )
        each = [average(speedup(at(rows, machine, name))) - 1 for name in (BELADY, OPTIMAL)]
        gains.append(
            f"{percent(average(speedup(own)) - 1)} on the {TITLES[machine]} (under Belady's rule "
            f"{percent(each[0])}, under optimal residency {percent(each[1])})"
        )
    return (
        f"Under double buffering dY is {listing(shares)}.",
        f"A second read of dY that costs nothing makes both passes faster by {listing(gains)}.",
        "It is no bound on what orders can gain: they save reads of X and W, and partial sums, "
        "as well.",
    )


def draw(rows: Rows, figures: Figures, path: Path) -> None:
    """Shares and speed-ups under double buffering."""
    from spmopt.report.plots.bars import BarPanel, Series, save_bars
    from spmopt.report.plots.style import Heading

    del figures
    rows = rows.where(setting=_PLAIN)
    names, machines = tuple(rows.texts("network")), rows.texts("machine")
    own = {machine: at(rows, machine, DOUBLE_BUFFER) for machine in machines}
    parts = (("of traffic", "traffic_bytes"), ("of reads", "read_bytes"))
    shares = tuple(
        Series(
            label=f"{what}, {TITLES[machine]}",
            values=[100 * found[name] for name in names],
        )
        for what, of in parts
        for machine in machines
        for found in [share(own[machine], of)]
    )
    gains = tuple(
        Series(
            label=TITLES[machine],
            values=[100 * (found[name] - 1) for name in names],
            rank=rank,
        )
        for rank, machine in enumerate(machines, start=len(shares))
        for found in [speedup(own[machine])]
    )
    heading = Heading(
        title="Share of dY in the backward pass, and the gain if its second read is free",
        conditions=f"sequential baseline, double buffering; {BATCH_SIZES}, 4 bytes an element",
    )
    save_bars(
        (
            BarPanel(
                title="Share of dY in the backward pass", y_label="%", groups=names, series=shares
            ),
            BarPanel(
                title="Both passes with the second read of dY free",
                y_label="faster by, %",
                groups=names,
                series=gains,
            ),
        ),
        heading,
        path,
    )


STUDY = Study(
    name="gradient-reads",
    title="what reading dY costs",
    about=(
        "The share of dY in the traffic and the reads of the backward pass, and how much faster "
        "both passes are if the weight gradient has dY for nothing: figures 5 and 6 of Kim et al., "
        f"MICRO 2023. Sequential baseline, one core, {BATCH_SIZES}, 4 bytes an element, output "
        "stationary."
    ),
    measured=measured(*SWEEPS),
    find=find,
    draw=draw,
)
