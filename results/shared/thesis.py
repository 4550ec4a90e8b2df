"""What the studies of Tsai's thesis (2021), chapter 5, share: conditions, figures, readings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import pandas as pd

from results.shared.common import MB, Sweep
from spmopt.analysis.analysis import Analysis
from spmopt.analysis.reuse import Scope
from spmopt.core.objective import objective_named
from spmopt.core.scheduler import Request
from spmopt.hardware.machines import load_machine
from spmopt.solving import solve
from spmopt.sweeps.cases import Network, SweepCase, sections
from spmopt.sweeps.work import SolveOptions

SLOW, FAST = 616 * 10**9, 1555 * 10**9  # bytes/s
FEW, MANY = 13_450 * 10**9, 23_040 * 10**9  # operations/s of RTX 2080 Ti and Radeon 6900 XT
TITLES = {
    **{"resnet50": "ResNet-50", "mobilenetv2": "MobileNetV2"},
    **{"transformer": "Transformer", "gnmt": "GNMT"},
}
QUICKER = ("resnet50", "mobilenetv2", "transformer")  # to schedule
LISTED = "tsai:order=listed"
MACHINE = "RTX 2080 Ti (616 GB/s, 13.45 TFLOP/s)"
LIMIT = 10.0  # points of deviation from which on a figure counts as missed
BRIEF, PATIENT = SolveOptions(time_limit_s=1.0), SolveOptions(time_limit_s=150.0, tolerance=5e-3)
Reading = tuple[int, Mapping[str, Mapping[str, int]]]
VOCABULARY = {"transformer": {"vocabulary": 1}, "gnmt": {"vocabulary": 1}}
READINGS: Mapping[str, Reading] = {
    "tsai": (2, {}),
    "counting": (1, {}),
    "width": (2, {"transformer": {"inner": 1024}}),
    "vocabulary": (2, VOCABULARY),
    "all": (1, {**VOCABULARY, "transformer": {"inner": 1024, "vocabulary": 1}}),
}
"""What a multiply-accumulate counts as, and parameters of networks, where the thesis is silent."""


def case(
    name: str,
    capacities: Sequence[int],
    reading: str = "tsai",
    *,
    batch: int | None = None,
    bandwidth: int = SLOW,
    throughput: int = FEW,
) -> SweepCase:
    """One training step of a network on the thesis's machine; capacities are bytes.

    Operands cross the DRAM boundary once per operation, whatever their size, as its model has it
    (``ideal``); a batch of 32, of the Transformer 128; GNMT of plain operators.
    """
    operations, parameters = READINGS[reading]
    given = {**({"plain": 1} if name == "gnmt" else {}), **parameters.get(name, {})}
    return SweepCase(
        network=Network(
            name=name,
            training=True,
            batch=batch,
            parameters=tuple(given.items()),
            lowering="ideal",
        ),
        machine=replace(
            load_machine("rtx2080ti"),
            spm_bytes=capacities[0],
            dram_bytes_per_s=bandwidth,
            operations_per_s=throughput * 2 // operations,
        ),
        capacities=tuple(capacities),
    )


_SMALL = Network(name="alexnet", training=True, batch=1)
QUICK = Sweep("quick", replace(case("alexnet", (10 * MB,)), network=_SMALL), ("tsai",), BRIEF)


def applies(reading: str, network: str) -> bool:
    """Whether a reading is the plain one, or changes anything of a network."""
    operations, parameters = READINGS[reading]
    return reading == "tsai" or operations != 2 or network in parameters


@dataclass(frozen=True, kw_only=True)
class Claim:
    """A figure of the thesis, in percent.

    ``kind`` is what changes with the capacity from 24 MB on (``traffic``, ``time``), what more
    throughput gives at 24 MB (``faster``), or a share of one schedule, which is in no row
    (``type2``, ``captured``).
    """

    kind: str
    network: str
    paper: float
    at_mb: int = 24
    at_most: bool = False

    @property
    def text(self) -> str:
        """What is claimed."""
        return (
            f"{TITLES[self.network]}: "
            + {
                "traffic": f"traffic, 24 to {self.at_mb} MB",
                "time": f"time, 24 to {self.at_mb} MB",
                "faster": "speed, 13.45 to 23.04 TFLOP/s, 24 MB",
                "type2": "point-wise share of time, 24 MB",
                "captured": f"adjacent and block reuse captured, {self.at_mb} MB",
            }[self.kind]
        )

    @property
    def is_share(self) -> bool:
        """Whether it is of one schedule; of others, changes, the sign is shown."""
        return self.kind in ("type2", "captured")

    @property
    def told(self) -> str:
        """The figure as tables show it."""
        return f"{'< ' if self.at_most else ''}{self.paper:{'' if self.is_share else '+'}.4g}"

    def off(self, found: float) -> float:
        """Points between what was found and the claim."""
        return max(0.0, found - self.paper) if self.at_most else found - self.paper

    def cell(self, found: float | None, *, bold: bool = False) -> str:
        """What was found, bold if it is to be where it misses the claim."""
        text = "-" if found is None else f"{found:{'' if self.is_share else '+'}.1f}"
        missed = bold and found is not None and abs(self.off(found)) > LIMIT
        return f"**{text}**" if missed else text

    def found(
        self, rows: pd.DataFrame, column: str, part: str, faster: str, scheduler: str
    ) -> float:
        """The same change by a column of a part's rows, of speed to those of ``faster``."""
        own = rows[(rows.network == self.network) & (rows.scheduler == scheduler)]
        at = own.set_index(["part", "spm_bytes"])[column]
        if self.kind == "faster":
            return float(100 * (at[part, 24 * MB] / at[faster, 24 * MB] - 1))
        return float(100 * (at[part, self.at_mb * MB] / at[part, 24 * MB] - 1))


CLAIMS = (
    Claim(kind="traffic", network="transformer", paper=-67.0, at_mb=128),
    Claim(kind="captured", network="transformer", paper=100.0, at_mb=180),
    Claim(kind="traffic", network="resnet50", paper=-70.0, at_mb=296),
    Claim(kind="traffic", network="mobilenetv2", paper=-70.0, at_mb=442),
    Claim(kind="traffic", network="gnmt", paper=-96.6, at_mb=500),
    Claim(kind="time", network="resnet50", paper=-48.1, at_mb=500),
    Claim(kind="time", network="transformer", paper=-26.5, at_mb=500),
    Claim(kind="time", network="mobilenetv2", paper=-69.6, at_mb=500),
    Claim(kind="time", network="gnmt", paper=-81.1, at_mb=500),
    Claim(kind="faster", network="resnet50", paper=20.0),
    Claim(kind="faster", network="transformer", paper=40.0),
    Claim(kind="faster", network="mobilenetv2", paper=10.0, at_most=True),
    Claim(kind="faster", network="gnmt", paper=10.0, at_most=True),
    Claim(kind="type2", network="resnet50", paper=46.15),
    Claim(kind="type2", network="transformer", paper=26.69),
)


def shares(settings: Mapping[str, tuple[str, str]]) -> dict[str, float]:
    """Claims that are shares of a schedule, by kind, network and setting.

    ``settings`` are readings and schedulers by name; where a reading changes nothing of a network
    it is left out.
    """
    return {
        f"{claim.kind} {claim.network} {name}": share(claim, reading, scheduler)
        for claim in CLAIMS
        if claim.is_share
        for name, (reading, scheduler) in settings.items()
        if applies(reading, claim.network)
    }


def share(claim: Claim, reading: str, scheduler: str) -> float:
    """Percent of a schedule.

    ``type2``: of the time, in point-wise layers; ``captured``: of the bytes that reuse between
    adjacent layers and within blocks can spare, those that stay on chip.
    """
    section = sections(case(claim.network, (claim.at_mb * MB,), reading), lambda _: None)[0]
    instance = section.instance(section.capacities[0])
    goal = "traffic" if claim.kind == "captured" else "time"
    objective = objective_named(goal, instance.machine)
    request = Request(objective=objective, tolerance=1e-3, time_limit_s=60.0)
    schedule = solve(instance, scheduler, request).schedule
    if schedule is None:
        raise ValueError(f"{scheduler} found no schedule of {claim.network}")
    analysis = Analysis.of(instance, schedule)
    if claim.kind == "type2":
        cycles = analysis.types().cycles
        return 100 * float(cycles[1] / cycles.sum())
    scopes = [s for s in analysis.scopes() if s.scope in (Scope.ADJACENT_LAYER, Scope.BLOCK)]
    captured = sum(each.captured_bytes for each in scopes)
    return 100 * captured / sum(each.reusable_bytes for each in scopes)


def at(rows: pd.DataFrame, column: str, **equal: object) -> pd.Series:
    """A column by network and capacity, in the order of the rows, of rows that have values."""
    for name, value in equal.items():
        rows = rows[rows[name] == value]
    return rows.set_index(["network", "spm_bytes"])[column]


def titled(name: str) -> str:
    """A network as tables call it."""
    return TITLES.get(name, name)
