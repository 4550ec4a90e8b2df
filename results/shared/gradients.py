"""What the studies of gradients share: networks, settings and techniques of Kim et al., MICRO 2023.

Its Table 4 gives names and parameters of networks only. Six of the names (FasterRCNN, Googlenet,
NCF-recommendation, Resnet50, DLRM, Mobilenet) are those of topologies that come with SCALE-Sim,
which its simulator is built on ("building upon SCALE-Sim", section 6.1): these are taken, from
``instances/scalesim``. In them DLRM has 1,024 rows a sample, Mobilenet's depth-wise layers are
convolutions with one filter, NCF multiplies rows of 138,000 by its tables, and FasterRCNN is the
first three stages of ResNet-50 and the proposals; of each the first layer needs no dX. Others, and
all for the study of assumptions, are published networks. Millions of parameters:

| name | paper | here | zoo | why they differ |
|---|--:|--:|---|---|
| rcnn | 19 | 19.4 | faster-rcnn | torchvision's 19,386,354, and 24,400 that it freezes (1) |
| goo | 62 | 6.6 | googlenet | published: 6.6, or 13.0 with its auxiliary classifiers (2) |
| ncf | 3000 | 586.3 | ncf | MLPerf's widths, 192 a row, on its largest tables (3) |
| res | 25 | 25.6 | resnet50 | rounded down |
| dlrm | 25000 | 24036.6 | dlrm | MLPerf's 187,767,399 rows of 128, "25+ billion" elsewhere |
| mob | 13 | 4.2 | mobilenet | published: 4.2, for the widest (2) |
| yolo | 47 | 46.6 | yolov5l | rounded up |
| yolo | 11 | 11.2 | yolov2-tiny | rounded down |
| bert | 340 | 335.1 | bert-large | its paper says 340, the checkpoint with pooler holds 335.1 |
| bert | 14 | 14.4 | tinybert | TinyBERT of 4 layers; BERT-tiny, of 2, has 4.4 |
| T5 | 770 | 737.7 | t5-large | its paper says 770, the checkpoint holds 737.7 |
| T5 | 60 | 60.5 | t5-small | rounded down |

1. The scales and shifts of batch normalization. SCALE-Sim's FasterRCNN, the first three stages of
   ResNet-50 and the proposals, has 13.3 (``faster-rcnn-resnet50``), and may be what was run.
2. 62 fits AlexNet (61.1); 13 fits SCALE-Sim's FasterRCNN and the full GoogLeNet. Rows of the
   paper's table may be mixed up.
3. 3,053,001 users and items; 3000 would take 983 a row.

Of the published DLRM and NCF only rows that are looked up are moved; tables change no layer.

Nor does it give sizes of inputs. Published: images of 224 x 224 (goo, res, mob), 416 x 416
(yolov2-tiny) and 640 x 640 (yolov5l), a row of each table a sample (ncf, dlrm). Assumed: 320 x 320,
the least side of torchvision's small variant, and 512 regions (rcnn); 512 tokens, the longest input
(bert); 512 and 114 tokens, as in pre-training (T5).
"""

from __future__ import annotations

import tomllib
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from numpy.typing import NDArray

from results.shared.common import (
    Row,
    Study,
    Tables,
    in_percent,
    points,
    signed,
    tabulated,
    texts,
)
from results.shared.forward import forward_on_cores, forward_order
from results.shared.plots import bar_panels
from spmopt.core.errors import ScheduleError
from spmopt.core.machine import Machine
from spmopt.core.objective import MAKESPAN
from spmopt.core.operation import Operation
from spmopt.core.problem import Problem
from spmopt.core.result import Totals
from spmopt.core.schedule import Schedule
from spmopt.core.scheduler import Request
from spmopt.core.table import Ints
from spmopt.experiments.queue import TaskQueue
from spmopt.frontends import zoo
from spmopt.hardware.machines import load_machine
from spmopt.hardware.settings import Setting
from spmopt.schedulers.registry import find
from spmopt.tiles.batch import run_all
from spmopt.tiles.case import BEST, WHOLE, LayerCase, problem_of
from spmopt.tiles.fetches import forward
from spmopt.tiles.layer import Layer, TileGrid
from spmopt.tiles.networks import first_layers, layers_of
from spmopt.tiles.order import ALGORITHM_1, algorithm_1
from spmopt.tiles.partition import scale
from spmopt.tiles.run import LayerResult, matrix_traffic, solve_layer
from spmopt.tiles.scalesim import read_topology
from spmopt.tiles.tiling import choose_tile

Key = TypeVar("Key", bound=Hashable)
Cost = NDArray[np.int64]  # cycles, traffic, reads, reads of dY, compulsory traffic, bound on it
PAPER: Mapping[str, Any] = tomllib.loads(
    Path(__file__).with_suffix(".toml").read_text(encoding="utf-8")
)
BATCHES, NETWORKS, TECHNIQUES = PAPER["batches"], PAPER["networks"], PAPER["techniques"]
SAVED, SPEEDUP, SHARES = PAPER["saved"], PAPER["speedup"], PAPER["shares"]
SMALL, LARGE = MACHINES = ("small-npu", "large-npu")
TITLES = {SMALL: "small NPU", LARGE: "large NPU"}
DOUBLE_BUFFER, BELADY, OPTIMAL = REPLACEMENTS = ("double-buffer", "belady", "residency")
BASELINE, POTENTIAL, *_, IDEAL, LAST = TECHNIQUES
TOPOLOGIES = Path(__file__).parents[2] / "instances" / "scalesim"
LIMIT = 5.0  # points of deviation from which on a figure is bold
IN_WORDS = {DOUBLE_BUFFER: "double buffering", OPTIMAL: "optimal residency (page)"}
_REQUEST: dict[str, Any] = {"tolerance": 1e-2, "time_limit_s": 5.0}  # of an optimizer, for a layer
_DY = 0


@dataclass(frozen=True, kw_only=True)
class Counted:
    """``count`` layers of a size; ``number`` of the first in its network, from 1 on."""

    layer: Layer
    count: int = 1
    number: int = 1
    input_gradient: bool = True


@cache
def counted(name: str, batch: int, *, im2col: bool = False) -> list[Counted]:
    """Count layers of a network by size; those without dX are apart.

    A name with ``.csv`` is that of a topology, whose first layer needs no dX; others are of the
    zoo.
    """
    if name.endswith(".csv"):
        layers = read_topology(TOPOLOGIES / name, batch)
        first = frozenset({layers[0].name})
    else:
        graph = zoo.network(name, batch=batch, **PAPER["parameters"].get(name, {}))
        layers, first = layers_of(graph), first_layers(graph)
    found = dict[tuple[Layer, bool], Counted]()
    for number, each in enumerate(layers, start=1):
        layer = replace(each, window=None) if im2col else each
        needed = layer.name not in first
        key = replace(layer, name=""), needed
        known = found.get(key)
        found[key] = (
            replace(known, count=known.count + 1)
            if known
            else Counted(layer=layer, number=number, input_gradient=needed)
        )
    return list(found.values())


@dataclass(frozen=True, kw_only=True)
class NpuSetting:
    """Under which conditions gradients are computed.

    Attributes
    ----------
    cores, bandwidth, batch
        Cores; share of the preset's DRAM bandwidth; samples a core, None for the paper's.
    reuse
        Of double buffering, in the schedules.
    im2col
        Move X and dX as matrices.
    pipelined
        Let folds of the array overlap.
    published
        Take all networks as published, from the zoo; else those that SCALE-Sim has from it.
    dw
        The walk of dW in the baseline and where orders are only interleaved; "": their own.
    """

    name: str
    machine: str = LARGE
    cores: int = 1
    bandwidth: Fraction = Fraction(1)
    batch: int | None = None
    element_bytes: int = 4
    dataflow: str = "os"
    reuse: str = "sums"
    im2col: bool = False
    pipelined: bool = False
    published: bool = False
    dw: str = ""

    @property
    def samples(self) -> int:
        """Batch size of a core."""
        return self.batch or int(BATCHES[self.machine])

    def hardware(self) -> Machine:
        """Return all cores together."""
        array: dict[str, Setting] = {
            "array.dataflow": self.dataflow,
            "array.pipelined": self.pipelined,
        }
        machine = load_machine(self.machine, array)
        rate = int(machine.dram_bytes_per_s * self.bandwidth)
        return scale(replace(machine, dram_bytes_per_s=rate), self.cores)

    def layers(self, name: str) -> list[Counted]:
        """Return layers of one of the paper's networks at this batch size, equal ones together."""
        source = NETWORKS[self.machine].get(name, name)
        if not self.published:
            source = PAPER["topologies"].get(name, source)
        return counted(source, self.cores * self.samples, im2col=self.im2col)

    def scheduler(self, replacement: str) -> str:
        """Name a replacement with its options."""
        own = replacement == DOUBLE_BUFFER and self.reuse != "shared"
        return f"{replacement}:reuse={self.reuse}" if own else replacement

    def cases(self, technique: str, layer: Counted) -> list[LayerCase]:
        """Return cases of a layer under double buffering, of which the best one counts.

        Several cores have shares of the batch in all techniques but the last. A layer without dX
        is computed as in the baseline: there is nothing to interleave.
        """
        chosen = technique if layer.input_gradient else BASELINE
        shares = WHOLE if self.cores == 1 else f"m/{self.cores}"
        return [
            LayerCase(
                layer=layer.layer,
                machine=self.hardware(),
                order=self.walked(order, layer.layer),
                replacement=self.scheduler(DOUBLE_BUFFER),
                partition=BEST if chosen == LAST else shares,
                cores=self.cores,
                element_bytes=self.element_bytes,
                input_gradient=layer.input_gradient,
            )
            for order in TECHNIQUES[chosen]
        ]

    def walked(self, order: str, layer: Layer) -> str:
        """Name an order with the walk of dW that is asked for."""
        if not self.dw:
            return order
        name = algorithm_1(layer) if order == ALGORITHM_1 else order
        return f"{name}:dw={self.dw}" if name in ("sequential", "interleaved") else name


def other(ran: LayerCase, replacement: str) -> LayerCase:
    """Return what ran (order, tile, partition) under another replacement."""
    return replace(ran, replacement=replacement, **_REQUEST)


def best_of(groups: Mapping[Key, Sequence[LayerCase]]) -> dict[Key, LayerResult]:
    """Run groups of cases; of each return the row of least time, then traffic; all verified."""
    flat = [case for cases in groups.values() for case in cases]
    with TaskQueue() as queue:
        rows = {number: row for some in run_all(flat, queue) for number, row in some}
    numbers = iter(range(len(flat)))
    return {
        key: min(
            (rows[next(numbers)] for _ in cases),
            key=lambda row: (row.cost.makespan_cycles, row.cost.traffic_bytes),
        )
        for key, cases in groups.items()
    }


Way = tuple[str, str]
"""A technique under a replacement."""


def cases(
    settings: Iterable[NpuSetting],
    techniques: Sequence[str],
    replacements: Sequence[str] = (DOUBLE_BUFFER,),
    *more: Way,
    only: str = "",
) -> dict[str, tuple[NpuSetting, str, Sequence[Way]]]:
    """Declare techniques under replacements for every network, and ``more``."""
    ways = (*((t, r) for r in replacements for t in techniques), *more)
    return {
        f"{setting.name} {setting.machine} {network}": (setting, network, ways)
        for setting in settings
        for network in NETWORKS[setting.machine]
        if only in ("", network)
    }


def measured(case: tuple[NpuSetting, str, Sequence[Way]]) -> list[Row]:
    """Sum over a network, a row for each technique and replacement.

    Everything is chosen by time under double buffering.
    """
    setting, network, ways = case
    layers = setting.layers(network)
    numbers = range(len(layers))
    techniques = dict.fromkeys(technique for technique, _ in ways)
    found = best_of(
        {
            (technique, DOUBLE_BUFFER, k): setting.cases(technique, layers[k])
            for technique in techniques
            for k in numbers
        }
    )
    found |= best_of(
        {
            (technique, by, k): [other(found[technique, DOUBLE_BUFFER, k].ran, by)]
            for technique, by in ways
            if by != DOUBLE_BUFFER
            for k in numbers
        }
    )
    counts, hardware = np.array([layer.count for layer in layers]), setting.hardware()
    rows: list[Row] = []
    for technique, by in ways:
        own = [found[technique, by, k] for k in numbers]
        scheduler, cost = setting.scheduler(by), free if technique == POTENTIAL else of_row
        ahead = [
            forward_pass(
                replace(layer.layer, name="layer"),
                hardware,
                setting.cores,
                scheduler,
                setting.element_bytes,
            )
            for layer in layers
        ]
        spent = counts @ np.array([cost(row) for row in own])
        cycles, traffic, read, dy, compulsory, bound = spent.tolist()
        forward_cycles, forward_bytes, *_ = (counts @ np.array(ahead)).tolist()
        rows.append(
            {
                "setting": setting.name,
                "machine": setting.machine,
                "cores": setting.cores,
                "dram_bytes_per_s": hardware.dram_bytes_per_s,
                "batch": setting.samples,
                "element_bytes": setting.element_bytes,
                "dataflow": setting.dataflow,
                "reuse": setting.reuse,
                "add_early": False,
                "im2col": setting.im2col,
                "pipelined": setting.pipelined,
                "published": setting.published,
                "dw": setting.dw or "own",
                "network": network,
                "technique": technique,
                "scheduler": by,
                "spm_bytes": hardware.spm_bytes,
                "layers": int(counts.sum()),
                "backward_cycles": cycles,
                "forward_cycles": forward_cycles,
                "traffic_bytes": traffic,
                "forward_bytes": forward_bytes,
                "read_bytes": read,
                "dy_bytes": dy,
                "compulsory_bytes": compulsory,
                "value": float(traffic),
                "bound": 0.0 if technique == POTENTIAL else float(bound),
                "verified": True,
            }
        )
    return rows


def of_row(row: LayerResult) -> Cost:
    """Return what a verified backward pass costs."""
    spent = row.cost
    found = (spent.makespan_cycles, spent.traffic_bytes, spent.dram_in_bytes)
    dy = spent.read_bytes[_DY]
    return np.array([*found, dy, spent.compulsory_bytes, spent.traffic_bound_bytes])


def _of_totals(totals: Totals, dy_bytes: int = 0) -> Cost:
    traffic = totals.dram_in_bytes + totals.dram_out_bytes
    return np.array([totals.makespan_cycles, traffic, totals.dram_in_bytes, dy_bytes, 0, 0])


@cache
def forward_pass(
    layer: Layer, machine: Machine, cores: int, replacement: str, element_bytes: int
) -> Cost:
    """Compute Y of all groups of a layer, tile chosen under double buffering; verified."""

    def order(grid: TileGrid) -> Ints:
        return forward_order(grid) if cores == 1 else forward_on_cores(grid, cores)

    tile = choose_tile(layer, machine, order=order, element_bytes=element_bytes, cores=cores).tile
    grid = TileGrid(layer=layer, tile=tile)
    problem = forward(grid, machine, order(grid), element_bytes=element_bytes)
    return layer.groups * _of_totals(verified(problem, replacement)[1])


def free(row: LayerResult) -> Cost:
    """Cost a sequential order in which dW has dY for nothing (section 3.3).

    dX reads dY as ever; a product of dW then has two operands, X and dW. What is measured is the
    backward pass of all groups.
    """
    if not row.ran.input_gradient:
        return of_row(row)
    problem = without_second_read(problem_of(row.ran))
    schedule, totals = verified(problem, row.ran.replacement)
    dy_bytes = matrix_traffic(problem, schedule)[0][_DY]
    cost = row.ran.layer.groups * _of_totals(totals, dy_bytes)
    return np.append(cost[:4], of_row(row)[4:])


def without_second_read(problem: Problem) -> Problem:
    """Return a backward pass on one core in which products of dW have no operand dY."""
    names = problem.tensor_names

    def less(operation: Operation) -> Operation:
        if operation.kind != "dW":
            return operation
        reads = tuple(t for t in operation.reads if not names[t].startswith("dY["))
        mapping = operation.mappings[0]
        operands = mapping.operands[: len({*reads, *operation.writes})]
        return replace(operation, reads=reads, mappings=(replace(mapping, operands=operands),))

    return replace(problem, operations=tuple(map(less, problem.operations)))


def verified(problem: Problem, replacement: str) -> tuple[Schedule, Totals]:
    """Schedule for time; raises ScheduleError where there is no legal schedule."""
    request = Request(objective=MAKESPAN, threads=1, **_REQUEST)
    found = solve_layer(problem, find(replacement), request)
    if found.schedule is None or found.totals is None:
        raise ScheduleError(f"{problem.name}: {replacement} found no schedule")
    return found.schedule, found.totals


QUICK = (NpuSetting(name="quick", machine=SMALL, batch=1), "alexnet", [(BASELINE, DOUBLE_BUFFER)])


def network_study(file: str, cases: Mapping[str, Any], **options: Any) -> Study:
    """Put a study of whole networks together; ``options`` are others of it."""
    return Study(file=file, cases=lambda: cases, work=measured, quick=QUICK, **options)


def of(rows: pd.DataFrame, technique: str, column: str = "cycles", **equal: str) -> pd.Series:
    """Return a column of a technique by network; ``cycles`` of both passes.

    What is left is of one setting, machine and replacement.
    """
    for name, value in {"technique": technique, **equal}.items():
        rows = rows[rows[name] == value]
    own = rows.assign(cycles=rows.backward_cycles + rows.forward_cycles)
    return own.set_index("network")[column]


def saving(rows: pd.DataFrame, technique: str, column: str = "cycles", **equal: str) -> pd.Series:
    """Return what a technique saves of the baseline's time, or of a column, by network."""
    return 1 - of(rows, technique, column, **equal) / of(rows, BASELINE, column, **equal)


def relative(
    rows: pd.DataFrame, machine: str, technique: str, replacement: str, column: str = "cycles"
) -> pd.Series:
    """Return a column in terms of the baseline under double buffering, by network."""
    base = of(rows, BASELINE, column, machine=machine, scheduler=DOUBLE_BUFFER)
    return of(rows, technique, column, machine=machine, scheduler=replacement) / base


def share(rows: pd.DataFrame, column: str, **equal: str) -> pd.Series:
    """Return the share of dY in a column of the baseline, by network."""
    return of(rows, BASELINE, "dy_bytes", **equal) / of(rows, BASELINE, column, **equal)


def faster(rows: pd.DataFrame, column: str = "cycles", **equal: str) -> pd.Series:
    """Return how many times as fast networks are with the second read free."""
    return of(rows, BASELINE, column, **equal) / of(rows, POTENTIAL, column, **equal)


HEADS = [f"{what}: {r}" for what in ("time", "backward traffic") for r in REPLACEMENTS]


def beside_paper(
    rows: pd.DataFrame, level: str, papers: Mapping[tuple[str, str], float]
) -> list[list[str]]:
    """Write lines of :data:`HEADS`: savings, means of networks, beside the paper's percents.

    ``papers`` are by machine or setting (``level``), and technique.
    """
    lines = []
    for (name, technique), paper in papers.items():
        lines.append([name, technique, f"{paper}"])
        for column in ("cycles", "traffic_bytes"):
            for by in REPLACEMENTS:
                found = 100 * saving(rows, technique, column, scheduler=by, **{level: name}).mean()
                compared = column == "cycles" and by == DOUBLE_BUFFER
                plain = "-" if pd.isna(found) else f"{found:z.1f}"
                lines[-1].append(points(found, paper) if compared else plain)
    return lines


def by_network(found: Mapping[str, pd.Series], form: Any = in_percent) -> pd.DataFrame:
    """Tabulate networks, and what was found of each."""
    table = pd.DataFrame(found).reindex(next(iter(found.values())).index)
    return texts(table, form).rename_axis("network")


def draw_savings(panels: Mapping[str, Mapping[str, pd.Series]], *marks: str) -> Figure:
    """Draw time saved of the baseline's, of networks and on average."""
    shown = {}
    for name, found in panels.items():
        table = 100 * pd.DataFrame(found).reindex(next(iter(found.values())).index)
        shown[name] = pd.concat([table, table.mean().to_frame("mean").T])
    return bar_panels(shown, "time saved, %", 0.0, marks)


def scale_study(
    file: str, settings: Mapping[str, Mapping[str, Any]], papers: Sequence[float]
) -> Study:
    """Hold settings of the large NPU against the paper's savings of time (figures 14 to 16)."""

    def tables(rows: pd.DataFrame) -> Tables:
        """Tabulate means beside the paper's, then networks."""
        lines = []
        for name, paper in aims.items():
            time, alone, traffic = (
                100 * saving(rows, LAST, column, setting=name).mean()
                for column in ("cycles", "backward_cycles", "traffic_bytes")
            )
            off = [points(time, paper).partition(" ")[0], signed(time - paper)]
            lines.append([name, f"{paper}", *off, f"{alone:z.1f}", f"{traffic:z.1f}"])
        heads = ["setting", "paper: time", "time", "points off"]
        heads += ["time of the backward pass alone", "its traffic"]
        found = {name: saving(rows, LAST, setting=name) for name in settings}
        return {
            f"Saved by {LAST} under double buffering, mean of networks, %": tabulated(heads, lines),
            "Time saved, %": by_network(found),
        }

    def draw(rows: pd.DataFrame) -> Figure:
        """Draw time saved, a color for each setting."""
        found = {name: saving(rows, LAST, setting=name) for name in settings}
        return draw_savings({IN_WORDS[DOUBLE_BUFFER]: found})

    aims = dict(zip(settings, papers, strict=True))
    asked = [NpuSetting(name=name, **given) for name, given in settings.items()]
    return network_study(file, cases(asked, (BASELINE, LAST)), tables=tables, draw=draw)
