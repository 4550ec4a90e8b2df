"""What the studies of gradients share: networks, settings and techniques of Kim et al., MICRO 2023.

Its Table 4 gives names and parameters of networks only. Six of the names (FasterRCNN, Googlenet,
NCF-recommendation, Resnet50, DLRM, Mobilenet) are those of topologies that come with SCALE-Sim,
which its simulator is built on. Millions of parameters:

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

Of DLRM and NCF only the rows that are looked up are moved; sizes of tables change no layer.

Nor does it give sizes of inputs. Published: images of 224 x 224 (goo, res, mob), 416 x 416
(yolov2-tiny) and 640 x 640 (yolov5l), a row of each table a sample (ncf, dlrm). Assumed: 320 x 320,
the least side of torchvision's small variant, and 512 regions (rcnn); 512 tokens, the longest input
(bert); 512 and 114 tokens, as in pre-training (T5).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cache
from math import isqrt
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from numpy.typing import NDArray

from results.shared.common import Row, Study, in_percent, signed
from results.shared.plots import bar_panels
from spmopt.core.errors import ScheduleError
from spmopt.core.instance import Instance, Operation
from spmopt.core.machine import Machine
from spmopt.core.objective import MAKESPAN
from spmopt.core.result import Totals
from spmopt.core.schedule import Schedule
from spmopt.core.scheduler import Request
from spmopt.experiments.queue import TaskQueue
from spmopt.frontends import zoo
from spmopt.hardware.machines import load_machine
from spmopt.schedulers.registry import find
from spmopt.tiles.batch import run_all
from spmopt.tiles.case import BEST, WHOLE, LayerCase, instance_of
from spmopt.tiles.layer import Layer, Tile, TileGrid
from spmopt.tiles.networks import first_layers, layers_of
from spmopt.tiles.order import Order, Walk
from spmopt.tiles.partition import Partition, on_cores, scaled
from spmopt.tiles.passes import BY_ROWS, forward, forward_on_cores, forward_order, mirrored_layer
from spmopt.tiles.run import LayerResult as Ran
from spmopt.tiles.run import matrix_traffic, solved
from spmopt.tiles.tiling import choose_tile

SMALL, LARGE = MACHINES = ("small-npu", "large-npu")
TITLES = {SMALL: "small NPU", LARGE: "large NPU"}
BATCHES = {SMALL: 4, LARGE: 8}  # of the large one for each core (section 6.1)
DOUBLE_BUFFER, BELADY, OPTIMAL = REPLACEMENTS = ("double-buffer", "belady", "page")
BASELINE, POTENTIAL, IDEAL, LAST = (
    *("baseline", "second dY free", "+rearrangement, ideal", "+partitioning"),
)
TECHNIQUES = {  # orders, the best of which for each layer is taken
    BASELINE: ("sequential",),
    POTENTIAL: ("sequential",),
    "interleaving": ("interleaved",),
    "+rearrangement": ("algorithm-1",),
    IDEAL: ("interleaved", "dx-major", "dw-major"),
    LAST: ("algorithm-1",),  # and the layer is cut
}
SAVED = {  # percent of the time of both passes in the paper (sections 4.3, 6.2)
    (SMALL, "interleaving"): 0.8,
    (SMALL, "+rearrangement"): 23.8,
    (SMALL, IDEAL): 25.1,
    (SMALL, LAST): 29.3,
    (LARGE, "interleaving"): 7.4,
    (LARGE, "+rearrangement"): 10.9,
    (LARGE, IDEAL): 12.4,
    (LARGE, LAST): 14.5,
}
SPEEDUP = {SMALL: 1.70, LARGE: 1.43}  # with the second read of dY free (section 3.3)
SHARE_OF_TRAFFIC, SHARE_OF_READS, SHARE_OF_READS_DLRM = 39.0, 51.4, 68.3  # of dY (section 3.2)
ASSUMED = ("element_bytes", "dataflow", "reuse", "add_early", "tiles")
LIMIT = 5.0  # points of deviation from which on a figure is bold
IN_WORDS = {DOUBLE_BUFFER: "double buffering", OPTIMAL: "optimal residency (page)"}
_REQUEST: dict[str, Any] = {"tolerance": 1e-2, "time_limit_s": 5.0}  # of an optimizer, for a layer
_DY = 0


@dataclass(frozen=True, kw_only=True)
class PaperNetwork:
    """A network of the paper on one of the two machines: abbreviation there, name in the zoo."""

    abbreviation: str
    machine: str
    name: str
    parameters: tuple[tuple[str, int], ...] = ()


_BOTH = {
    **{"rcnn": "faster-rcnn", "goo": "googlenet", "ncf": "ncf", "res": "resnet50"},
    **{"dlrm": "dlrm", "mob": "mobilenet"},
}
NETWORKS = [
    PaperNetwork(
        abbreviation=short,
        machine=machine,
        name=name,
        parameters=(("sequence", 512),) if short == "bert" else (),
    )
    for machine, own in (
        (SMALL, {"yolo": "yolov2-tiny", "bert": "tinybert", "T5": "t5-small"}),
        (LARGE, {"yolo": "yolov5l", "bert": "bert-large", "T5": "t5-large"}),
    )
    for short, name in {**_BOTH, **own}.items()
]


@dataclass(frozen=True, kw_only=True)
class Counted:
    """``count`` layers of a size; ``number`` of the first in its network, from 1 on."""

    layer: Layer
    count: int
    number: int
    input_gradient: bool


@cache
def counted(name: str, batch: int, parameters: tuple[tuple[str, int], ...]) -> list[Counted]:
    """Layers of a network of the zoo by size; those without dX are apart from the others."""
    graph = zoo.network(name, batch=batch, **dict(parameters))
    first, found = first_layers(graph), dict[tuple[int, int, int, int, bool], Counted]()
    for number, layer in enumerate(layers_of(graph), start=1):
        needed = layer.name not in first
        one = Counted(layer=layer, count=0, number=number, input_gradient=needed)
        known = found.setdefault((layer.m, layer.k, layer.n, layer.groups, needed), one)
        found[layer.m, layer.k, layer.n, layer.groups, needed] = replace(
            known, count=known.count + 1
        )
    return list(found.values())


@dataclass(frozen=True, kw_only=True)
class Setting:
    """Under which conditions gradients are computed.

    Attributes
    ----------
    cores, bandwidth, batch
        Cores; share of the preset's DRAM bandwidth; samples a core, None for the paper's.
    reuse
        Of double buffering, in the schedules.
    tiles
        ``own``: every technique has the best tile for it; ``baseline``: that for the baseline;
        ``square``: as many rows and columns along M, K and N as multiples of the array that let
        three such tiles fit in half of the scratchpad.
    """

    name: str
    machine: str = LARGE
    cores: int = 1
    bandwidth: Fraction = Fraction(1)
    batch: int | None = None
    element_bytes: int = 4
    dataflow: str = "os"
    reuse: str = "shared"
    add_early: bool = False
    tiles: str = "own"

    def hardware(self) -> Machine:
        """All cores together."""
        machine = load_machine(self.machine)
        if machine.array is not None:
            machine = replace(machine, array=replace(machine.array, dataflow=self.dataflow))
        rate = int(machine.dram_bytes_per_s * self.bandwidth)
        return scaled(replace(machine, dram_bytes_per_s=rate), self.cores)

    def square(self) -> Tile:
        """The tile of ``square``, by one core's share of the scratchpad."""
        machine = load_machine(self.machine)
        unit = max(machine.array.rows, machine.array.columns) if machine.array else 1
        most = isqrt(machine.spm_bytes // (2 * 3 * self.element_bytes))
        side = max(unit, most // unit * unit)
        return Tile(m=side, k=side, n=side)

    def networks(self) -> list[PaperNetwork]:
        """The paper's networks on this machine."""
        return [network for network in NETWORKS if network.machine == self.machine]

    def layers(self, network: PaperNetwork) -> list[Counted]:
        """Layers of a network at this batch size, equal ones together."""
        batch = self.cores * (self.batch or BATCHES[self.machine])
        return counted(network.name, batch, network.parameters)

    def scheduler(self, replacement: str) -> str:
        """A replacement with its options."""
        own = replacement == DOUBLE_BUFFER and self.reuse != "shared"
        return f"{replacement}:reuse={self.reuse}" if own else replacement

    def cases(self, technique: str, layer: Counted, tile: Tile | None = None) -> list[LayerCase]:
        """Cases of a layer under double buffering, of which the best one counts.

        Several cores have shares of the batch in all techniques but the last. A layer without dX
        is computed as in the baseline: there is nothing to interleave.
        """
        chosen = technique if layer.input_gradient else BASELINE
        shares = WHOLE if self.cores == 1 else f"m/{self.cores}"
        plain = LayerCase(
            layer=layer.layer,
            machine=self.hardware(),
            order=TECHNIQUES[chosen][0],
            replacement=self.scheduler(DOUBLE_BUFFER),
            partition=BEST if chosen == LAST else shares,
            cores=self.cores,
            tile=tile,
            element_bytes=self.element_bytes,
            input_gradient=layer.input_gradient,
            add_early=self.add_early,
        )
        return [replace(plain, order=order) for order in TECHNIQUES[chosen]]


def other(ran: LayerCase, replacement: str) -> LayerCase:
    """What ran (order, tile, partition) under another replacement."""
    return replace(ran, replacement=replacement, **_REQUEST)


def best_of(groups: Sequence[Sequence[LayerCase]]) -> list[Ran]:
    """Of each group of cases the row that takes least time, then least traffic; all verified."""
    with TaskQueue() as pool:
        flat = [case for group in groups for case in group]
        rows = {number: row for some in run_all(flat, pool) for number, row in some}
    numbers = iter(range(len(flat)))
    return [
        min(
            (rows[next(numbers)] for _ in group),
            key=lambda row: (row.cost.makespan_cycles, row.cost.traffic_bytes),
        )
        for group in groups
    ]


@dataclass(frozen=True, kw_only=True)
class Asked:
    """Techniques under replacements for a network in a setting."""

    setting: Setting
    network: PaperNetwork
    ways: tuple[tuple[str, str], ...]


def asked(
    settings: Iterable[Setting],
    techniques: Sequence[str],
    replacements: Sequence[str] = (DOUBLE_BUFFER,),
    *more: tuple[str, str],
    only: str = "",
) -> dict[str, Asked]:
    """Techniques under replacements for every network, and ``more``, by setting and network."""
    ways = (*((t, r) for r in replacements for t in techniques), *more)
    return {
        f"{setting.name} {setting.machine} {network.abbreviation}": Asked(
            setting=setting, network=network, ways=ways
        )
        for setting in settings
        for network in setting.networks()
        if only in ("", network.abbreviation)
    }


def measured(each: Asked) -> list[Row]:
    """Sums over a network, a row for each technique and replacement.

    Everything is chosen by time under double buffering.
    """
    setting, layers = each.setting, each.setting.layers(each.network)
    tiles: list[Tile | None] = [setting.square() if setting.tiles == "square" else None] * len(
        layers
    )
    if setting.tiles == "baseline":
        chosen = best_of([setting.cases(BASELINE, layer) for layer in layers])
        tiles = [row.ran.grid.tile for row in chosen]
    both = list(zip(layers, tiles, strict=True))
    techniques = list(dict.fromkeys(technique for technique, _ in each.ways))
    found = best_of([setting.cases(t, layer, tile) for t in techniques for layer, tile in both])
    runs = {
        (technique, DOUBLE_BUFFER): found[k * len(layers) : (k + 1) * len(layers)]
        for k, technique in enumerate(techniques)
    }
    others = [way for way in each.ways if way[1] != DOUBLE_BUFFER]
    again = best_of([[other(row.ran, r)] for t, r in others for row in runs[t, DOUBLE_BUFFER]])
    for k, way in enumerate(others):
        runs[way] = again[k * len(layers) : (k + 1) * len(layers)]
    counts = np.array([layer.count for layer in layers])
    hardware = setting.hardware()
    rows: list[Row] = []
    for technique, replacement in each.ways:
        own = runs[technique, replacement]
        costs = [free(row) if technique == POTENTIAL else of_row(row) for row in own]
        scheduler = setting.scheduler(replacement)
        fore = [
            forward_pass(
                replace(layer.layer, name="layer"),
                hardware,
                setting.cores,
                scheduler,
                setting.element_bytes,
            )
            for layer in layers
        ]
        back, ahead = (list(map(int, counts @ np.array(passes))) for passes in (costs, fore))
        rows.append(
            {
                "setting": setting.name,
                "machine": setting.machine,
                "cores": setting.cores,
                "dram_bytes_per_s": hardware.dram_bytes_per_s,
                "batch": setting.batch or BATCHES[setting.machine],
                **{name: getattr(setting, name) for name in ASSUMED},
                "network": each.network.abbreviation,
                "technique": technique,
                "scheduler": replacement,
                "spm_bytes": hardware.spm_bytes,
                "layers": int(counts.sum()),
                "backward_cycles": back[0],
                "forward_cycles": ahead[0],
                "traffic_bytes": back[1],
                "forward_bytes": ahead[1],
                **dict(zip(("read_bytes", "dy_bytes", "compulsory_bytes"), back[2:5], strict=True)),
                "value": float(back[1]),
                "bound": 0.0 if technique == POTENTIAL else float(back[5]),
                "verified": True,
            }
        )
    return rows


Cost = NDArray[np.int64]  # cycles, traffic, reads, reads of dY, compulsory traffic, bound on it


def of_row(row: Ran) -> Cost:
    """What a verified backward pass costs."""
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
    """Y of all groups of a layer, its tile chosen under double buffering; verified."""
    mirrored = Order(dx=BY_ROWS, dw=Walk(loops="kji"), alternate=False)
    cut = Partition(axis="k", parts=cores)
    tile = choose_tile(
        mirrored_layer(layer),
        machine,
        order=lambda grid: (
            mirrored.through(grid, input_gradient=False)
            if cores == 1
            else on_cores(grid, cut, mirrored, cores, input_gradient=False)
        ),
        element_bytes=element_bytes,
        cores=cores,
    ).tile
    grid = TileGrid(layer=layer, tile=Tile(m=tile.k, k=tile.m, n=tile.n))
    order = forward_order(grid) if cores == 1 else forward_on_cores(grid, cores)
    instance = forward(grid, machine, order, element_bytes=element_bytes)
    return layer.groups * _of_totals(verified(instance, replacement)[1])


def free(row: Ran) -> Cost:
    """The case of a sequential order, but that dW has dY for nothing (section 3.3).

    dX reads dY as ever; a product of dW then has two operands, X and dW. What is measured is the
    backward pass of all groups.
    """
    if not row.ran.input_gradient:
        return of_row(row)
    instance = without_second_read(instance_of(row.ran))
    schedule, totals = verified(instance, row.ran.replacement)
    dy_bytes = matrix_traffic(instance, schedule)[0][_DY]
    cost = row.ran.layer.groups * _of_totals(totals, dy_bytes)
    return np.append(cost[:4], of_row(row)[4:])


def without_second_read(instance: Instance) -> Instance:
    """Return a backward pass on one core in which products of dW have no operand dY."""
    names = instance.tensor_names

    def less(operation: Operation) -> Operation:
        if operation.kind != "dW":
            return operation
        reads = tuple(t for t in operation.reads if not names[t].startswith("dY["))
        mode = operation.modes[0]
        operands = mode.operands[: len({*reads, *operation.writes})]
        return replace(operation, reads=reads, modes=(replace(mode, operands=operands),))

    return replace(instance, operations=tuple(map(less, instance.operations)))


def verified(instance: Instance, replacement: str) -> tuple[Schedule, Totals]:
    """Schedule for time; raises ScheduleError where there is no legal schedule."""
    request = Request(objective=MAKESPAN, threads=1, **_REQUEST)
    found = solved(instance, find(replacement), request)
    if found.schedule is None or found.totals is None:
        raise ScheduleError(f"{instance.name}: {replacement} found no schedule")
    return found.schedule, found.totals


QUICK = Asked(
    setting=Setting(name="quick", machine=SMALL, batch=1),
    network=PaperNetwork(abbreviation="alex", machine=SMALL, name="alexnet"),
    ways=((BASELINE, DOUBLE_BUFFER),),
)


def network_study(file: str, cases: Mapping[str, Asked], tables: Any, draw: Any = None) -> Study:
    """Put a study of whole networks together."""
    return Study(
        file=file, cases=lambda: cases, work=measured, quick=QUICK, tables=tables, draw=draw
    )


def with_cycles(rows: pd.DataFrame) -> pd.DataFrame:
    """Add the cycles of both passes."""
    return rows.assign(cycles=rows.backward_cycles + rows.forward_cycles)


def under(rows: pd.DataFrame, replacement: str, **equal: str) -> pd.DataFrame:
    """Rows under a replacement, and of a machine or setting."""
    for name, value in {"scheduler": replacement, **equal}.items():
        rows = rows[rows[name] == value]
    return rows


def of(rows: pd.DataFrame, technique: str, column: str) -> pd.Series:
    """A column of a technique by network; rows are of one setting and one replacement."""
    return rows[rows.technique == technique].set_index("network")[column]


def saving(rows: pd.DataFrame, technique: str, column: str = "cycles") -> pd.Series:
    """What a technique saves of the baseline's time, or of a column, by network."""
    return 1 - of(rows, technique, column) / of(rows, BASELINE, column)


def relative(
    rows: pd.DataFrame, machine: str, technique: str, replacement: str, column: str = "cycles"
) -> pd.Series:
    """A column in terms of the baseline under double buffering, by network."""
    base = of(under(rows, DOUBLE_BUFFER, machine=machine), BASELINE, column)
    return of(under(rows, replacement, machine=machine), technique, column) / base


def share(rows: pd.DataFrame, column: str) -> pd.Series:
    """Share of dY in a column of the baseline, by network."""
    return of(rows, BASELINE, "dy_bytes") / of(rows, BASELINE, column)


def faster(rows: pd.DataFrame, column: str = "cycles") -> pd.Series:
    """How many times as fast networks are with the second read free."""
    return of(rows, BASELINE, column) / of(rows, POTENTIAL, column)


def points(found: float, paper: float) -> str:
    """A share in percent, bold with its deviation where it is too far from the paper's."""
    text, off = in_percent(found), 100 * found - paper
    return text if abs(off) <= LIMIT else f"**{text}** ({signed(off)})"


HEADS = [f"{what}: {r}" for what in ("time", "backward traffic") for r in REPLACEMENTS]


def saved(rows: pd.DataFrame, technique: str, paper: float, **equal: str) -> list[str]:
    """What a technique saves of :data:`HEADS`, means of networks, beside the paper's percents."""
    cells = []
    for column in ("cycles", "traffic_bytes"):
        for replacement in REPLACEMENTS:
            own = under(rows, replacement, **equal)
            if technique not in set(own.technique):
                cells.append("-")
                continue
            found = saving(own, technique, column).mean()
            compared = column == "cycles" and replacement == DOUBLE_BUFFER
            cells.append(points(found, paper) if compared else in_percent(found))
    return cells


def by_network(found: Mapping[str, pd.Series], form: Any = in_percent) -> list[list[str]]:
    """Lines of a table: networks, and what was found of each."""
    table = pd.DataFrame(dict(enumerate(found.values())))
    table = table.reindex(next(iter(found.values())).index)
    return [[name, *map(form, values)] for name, *values in table.itertuples()]


def draw_savings(title: str, panels: Mapping[str, Mapping[str, pd.Series]], *marks: str) -> Figure:
    """Draw time saved of the baseline's, of networks and on average."""
    shown = {}
    for name, found in panels.items():
        table = 100 * pd.DataFrame(found).reindex(next(iter(found.values())).index)
        shown[name] = pd.concat([table, table.mean().to_frame("mean").T])
    return bar_panels(title, shown, "time saved, %", 0.0, marks)
