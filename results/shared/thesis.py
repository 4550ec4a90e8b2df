"""What the studies of Tsai's thesis (2021), chapter 5, share: conditions, figures, readings."""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from results.shared.common import MB, Study, Tables, sweeps
from spmopt.analysis.analysis import Analysis
from spmopt.core.objective import objective_named
from spmopt.core.problem import TensorKind
from spmopt.core.scheduler import Request
from spmopt.core.units import Dimension, parse_quantity
from spmopt.hardware.machines import load_machine
from spmopt.solving import solve
from spmopt.sweeps.axes import axis
from spmopt.sweeps.cases import Network, SweepCase, lower_network
from spmopt.sweeps.run import Sweep
from spmopt.sweeps.work import SolveOptions

SLOW, FAST = 616 * 10**9, 1555 * 10**9  # bytes/s
FEW, MANY = 13_450 * 10**9, 23_040 * 10**9  # operations/s of RTX 2080 Ti and Radeon 6900 XT
TITLES = {
    **{"resnet50": "ResNet-50", "mobilenetv2": "MobileNetV2"},
    **{"transformer": "Transformer", "gnmt": "GNMT"},
}
QUICKER = ("resnet50", "mobilenetv2", "transformer")  # to schedule
LISTED = "tsai:order=listed"
LIMIT = 10.0  # points of deviation from which on a figure counts as missed
BRIEF = SolveOptions(time_limit_s=1.0)


@dataclass(frozen=True, kw_only=True)
class Reading:
    """What the thesis leaves open.

    Attributes
    ----------
    operations
        To a multiply-accumulate.
    parameters
        Of networks, where they differ from those of the zoo.
    mapper
        What of an operand must be on chip.
    megabyte
        Bytes.
    """

    operations: int = 2
    parameters: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    mapper: str = "ideal"
    megabyte: int = MB


SIZES = {"transformer": {"inner": 1024, "vocabulary": 1}, "gnmt": {"vocabulary": 1}}
_TEXT = Reading(parameters=SIZES, mapper="weights", megabyte=2**20)
PLAIN = "plain"
READINGS: Mapping[str, Reading] = {
    PLAIN: Reading(),
    "sizes": Reading(parameters=SIZES),
    "binary": Reading(megabyte=2**20),
    "weights": Reading(mapper="weights"),
    "text": _TEXT,
    "counting": Reading(operations=1),
    "fitted": replace(_TEXT, operations=1),
}
"""As plain, with single sentences of the thesis, with all of them; the same fitted to figures."""


def case(
    name: str,
    capacities: Sequence[int],
    reading: str = PLAIN,
    *,
    batch: int | None = None,
    bandwidth: int = SLOW,
    throughput: int = FEW,
) -> SweepCase:
    """Return one training step on the thesis's machine; capacities are bytes.

    Operands cross the DRAM boundary once per operation, whatever their size, as its model has it
    (``ideal``); a batch of 32, of the Transformer 128; GNMT of plain operators.
    """
    read = READINGS[reading]
    given = {**({"plain": 1} if name == "gnmt" else {}), **read.parameters.get(name, {})}
    network = Network(
        name=name,
        training=True,
        batch=batch,
        parameters=tuple(given.items()),
        mapper=read.mapper,
    )
    machine = replace(
        load_machine("rtx2080ti"),
        spm_bytes=capacities[0],
        dram_bytes_per_s=bandwidth,
        operations_per_s=throughput * 2 // read.operations,
    )
    return SweepCase(network=network, machine=machine, capacities=tuple(capacities))


def _bytes(text: str, what: str) -> int:
    return parse_quantity(text, Dimension.BYTES, what)


def declared(file: str) -> dict[str, Sweep]:
    """Read the sweeps of a study, which ``sweeps.toml`` beside it has by part.

    Each is of ``networks`` at capacities ``spm`` (as ``spmopt sweep --spm``), under ``schedulers``;
    of ``batches``, ``rates`` of machines, a ``reading`` and options of the ``search`` where given.
    """
    path = Path(file).with_name("sweeps.toml")
    parts: dict[str, Any] = tomllib.loads(path.read_text(encoding="utf-8"))
    return sweeps(
        (
            part,
            case(
                network,
                axis(given["spm"], part, _bytes),
                given.get("reading", PLAIN),
                batch=batch,
                bandwidth=bandwidth,
                throughput=throughput,
            ),
            given["schedulers"],
            SolveOptions(**given.get("search", {})),
        )
        for part, given in parts.items()
        for network in given["networks"]
        for batch in given.get("batches", [None])
        for bandwidth, throughput in given.get("rates", [(SLOW, FEW)])
    )


_TINY = Network(name="alexnet", training=True, batch=1, mapper="panel")
_QUICK = ("quick", replace(case("alexnet", (10 * MB,)), network=_TINY), ("tsai",), BRIEF)
QUICK = next(iter(sweeps([_QUICK]).values()))


def applies(reading: str, network: str) -> bool:
    """Return whether a reading may change anything of a network; the plain one applies to all."""
    return reading != "sizes" or network in SIZES


def thesis_study(file: str, tables: Callable[[pd.DataFrame], Tables], **options: Any) -> Study:
    """Put a study of declared sweeps together; ``options`` are others of it."""
    return Study(file=file, cases=lambda: declared(file), quick=QUICK, tables=tables, **options)


@dataclass(frozen=True, kw_only=True)
class ThesisClaim:
    """A figure of the thesis, in percent.

    ``kind`` is what changes with the capacity from 24 MB on (``traffic``, ``time``), what more
    throughput gives at 24 MB (``faster``), or a share of one schedule, which is in no row
    (``type2``, ``captured``).
    """

    text: str
    kind: str
    network: str
    paper: float
    at_mb: int
    at_most: bool

    @property
    def is_share(self) -> bool:
        """Whether it is of one schedule; of others, changes, the sign is shown."""
        return self.kind in ("type2", "captured")

    @property
    def quoted(self) -> str:
        """The figure as tables show it."""
        return f"{'< ' if self.at_most else ''}{self.paper:{'' if self.is_share else '+'}.4g}"

    def off(self, found: float) -> float:
        """Return the points between what was found and the claim."""
        return max(0.0, found - self.paper) if self.at_most else found - self.paper

    def cell(self, found: float | None, *, bold: bool = False) -> str:
        """Write what was found, bold if it is to be where it misses the claim."""
        if found is None:
            return "-"
        mark = "**" if bold and abs(self.off(found)) > LIMIT else ""
        return f"{mark}{found:{'' if self.is_share else '+'}.1f}{mark}"

    def found(
        self, rows: pd.DataFrame, column: str, part: str, scheduler: str, megabyte: int = MB
    ) -> float:
        """Return the same change by a column of a part's rows, of speed to its ``-faster`` ones."""
        own = rows[(rows.network == self.network) & (rows.scheduler == scheduler)]
        at = own.set_index(["part", "spm_bytes"])[column]
        base = at[part, 24 * megabyte]
        if self.kind == "faster":
            return float(100 * (base / at[f"{part}-faster", 24 * megabyte] - 1))
        return float(100 * (at[part, self.at_mb * megabyte] / base - 1))


CLAIMS = [
    ThesisClaim(**each)
    for each in pd.read_csv(Path(__file__).with_name("thesis_claims.csv")).to_dict("records")
]


def shares(settings: Mapping[str, tuple[str, str]]) -> dict[str, float]:
    """Measure claims that are shares of a schedule, by kind, network and setting.

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


def share(claim: ThesisClaim, reading: str, scheduler: str) -> float:
    """Measure percents of a schedule.

    ``type2``: of the time, in point-wise layers; ``captured``: of the bytes that reuse between
    adjacent layers and within blocks can spare, those that stay on chip.
    """
    size = claim.at_mb * READINGS[reading].megabyte
    given = case(claim.network, (size,), reading)
    problem = lower_network(given.network, given.machine)
    goal = "traffic" if claim.kind == "captured" else "time"
    objective = objective_named(goal, problem.machine)
    request = Request(objective=objective, tolerance=1e-3, time_limit_s=60.0)
    schedule = solve(problem, scheduler, request).schedule
    if schedule is None:
        raise ValueError(f"{scheduler} found no schedule of {claim.network}")
    analysis = Analysis.of(problem, schedule)
    if claim.kind == "type2":
        cycles = analysis.steps.cycles
        return 100 * float(cycles[~analysis.layers.product].sum() / cycles.sum())
    between = between_layers(analysis)
    line, reuse = analysis.steps.view.timeline, analysis.reuse
    reusable = line.size_bytes[line.tensor[reuse.access[between]]].sum()
    return 100 * float(reuse.captured_bytes[between].sum() / reusable)


def between_layers(analysis: Analysis) -> NDArray[np.bool_]:
    """Return (i,) whether reuse is adjacent-layer or block reuse (Tsai, section 3.3).

    Both uses are of one pass but not of one layer; the tensor is no weight that operations of one
    kind use again.
    """
    of, line, problem = analysis.layers, analysis.steps.view.timeline, analysis.problem
    access = analysis.reuse.access
    begin, end = line.step[access], line.step[line.next[access]]
    change = (np.diff(of.layer) != 0) | (of.backward[1:] != of.backward[:-1])
    run = np.concatenate(([0], np.cumsum(change)))
    weights = (TensorKind.WEIGHT, TensorKind.WEIGHT_GRADIENT)
    is_weight = np.array([tensor.kind in weights for tensor in problem.tensors], bool)
    kind = np.array([operation.kind for operation in problem.operations])[line.order]
    recurs = is_weight[line.tensor[access]] & (kind[begin] == kind[end])
    found: NDArray[np.bool_] = (
        (of.backward[begin] == of.backward[end]) & (run[begin] != run[end]) & ~recurs
    )
    return found


def share_of(rows: pd.DataFrame, claim: ThesisClaim, setting: str) -> float | None:
    """Return one of :func:`shares` as it was recorded, if it was."""
    figures: Mapping[str, float] = rows.attrs["figures"]
    return figures.get(f"{claim.kind} {claim.network} {setting}")
