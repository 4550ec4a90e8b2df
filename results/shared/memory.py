"""What the studies of memory technologies share: DeepNVM++ (Inci et al.), Roy et al.

Rows are workloads on scratchpads of the same or other technologies, in three readings: one by one,
as DeepNVM++ counts; in the time of the schedule, whatever the technology; with banks.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from fractions import Fraction
from functools import cache, partial
from itertools import product
from math import ceil
from typing import Any

import pandas as pd
from matplotlib.figure import Figure

from results.shared.common import Row, Study, Tables, points, signed, texts
from results.shared.plots import bar_panels
from spmopt.core.errors import InputError
from spmopt.core.graph import Graph
from spmopt.core.machine import Machine
from spmopt.core.objective import objective_named
from spmopt.core.result import Result
from spmopt.core.scheduler import Request
from spmopt.core.units import Dimension, parse_quantity
from spmopt.frontends.networks import load_network
from spmopt.graph import operators
from spmopt.graph.lower import lower
from spmopt.graph.operators.spec import Style
from spmopt.hardware.energy import energy_report
from spmopt.hardware.machines import load_machine
from spmopt.hardware.scratchpad import with_technology
from spmopt.hardware.technologies import load_technology
from spmopt.hardware.technology import ScratchpadFigures
from spmopt.metrics import in_unit
from spmopt.schedulers.registry import Kind, find
from spmopt.solving import solve

MIB = 2**20
NETWORKS = ("alexnet", "googlenet", "vgg16", "resnet18", "squeezenet")
STAGES = ((False, 4), (True, 64))
SERIAL, EQUAL, BANKS = READINGS = ("one by one", "equal time", "banks")
OPTIMAL = "residency"
RIVALS = ("stt", "sot")
TITLES = {"stt": "STT-MRAM", "sot": "SOT-MRAM", "sram": "SRAM", "relaxed": "STT, relaxed writes"}
WORKLOAD = ("network", "training", "batch")
COUNTS = ("tile", "clock_hz", "banks", "dram_cycles")
ENERGIES = ("spm_read_j", "spm_write_j", "leakage_j", "dram_j", "mac_j")
_DRAM_ACCESS_BYTES = 32  # of GDDR5X


@dataclass(frozen=True, kw_only=True)
class Assumptions:
    """What the papers leave open; each can be given by ``--assume NAME=VALUE``.

    Attributes
    ----------
    sram, stt, sot, relaxed
        Technologies, by name or TOML file; ``relaxed`` has cheaper writes than ``stt``.
    machine
        Preset or TOML file; its scratchpad stands for the L2 cache of the papers.
    tile
        Rows and columns of the block of a matrix product that a core of the GPU computes at a
        time: 128 as the kernels of cuBLAS for single precision mostly have.
    clock_hz
        Of the L2 cache, in whole cycles of which the paper counts latencies (table IV).
    banks
        Accesses that go on at a time where the banks hold back the machine: one of each slice of
        128 KB (table IV: 3 MB are 24).
    dram_cycles
        Of an access to the DRAM, cycles of the same clock: ``-dram_latency`` of the configuration
        of a Pascal GPU that comes with GPGPU-Sim (SM6_TITANX). The paper does not give it.
    policy
        The greedy scheduler: the cache of the paper replaces by LRU (table IV).
    """

    sram: str = "deepnvm-sram"
    stt: str = "deepnvm-stt"
    sot: str = "deepnvm-sot"
    relaxed: str = "relaxed-stt"
    machine: str = "gtx1080ti"
    tile: int = 128
    clock_hz: int = 1481 * 10**6
    banks: int = 24
    dram_cycles: int = 100
    policy: str = "lru"

    def given(self, settings: Mapping[str, str]) -> Assumptions:
        """Return these with some in place of their own; raises InputError."""
        values: dict[str, Any] = dict(settings)
        for name, text in settings.items():
            if name not in {field.name for field in fields(self)}:
                raise InputError(f"no assumption {name!r}; there are {', '.join(asdict(self))}")
            if name == "clock_hz":
                values[name] = parse_quantity(text, Dimension.HERTZ, name)
            elif name in COUNTS:
                if not (text.isascii() and text.isdigit() and 0 < int(text) < 10**9):
                    raise InputError(f"{name}={text}: must be a whole number, 1 or more")
                values[name] = int(text)
        if find(values.get("policy", self.policy)).kind is not Kind.POLICY:
            raise InputError(f"policy={values['policy']}: is no greedy scheduler")
        return replace(self, **values)


PAPER = Assumptions()


@dataclass(frozen=True)
class MemoryCase:
    """A network at a batch size, and scratchpads of one capacity of technologies, by role."""

    network: str
    training: bool
    batch: int
    spm_bytes: int
    roles: Sequence[str]
    assumed: Assumptions
    readings: Sequence[str] = READINGS

    @property
    def about(self) -> dict[str, Any]:
        """What rows of :data:`WORKLOAD` are the same."""
        return {name: getattr(self, name) for name in WORKLOAD}

    def graph(self) -> Graph:
        """Build the network."""
        return load_network(self.network, batch=self.batch, training=self.training)


def memory_study(
    file: str,
    scratchpads: Mapping[int, Sequence[str]],
    tables: Callable[[pd.DataFrame], Tables],
    draw: Callable[[pd.DataFrame], Figure],
    *,
    assumed: Assumptions = PAPER,
    networks: Sequence[str] = NETWORKS,
    stages: Sequence[tuple[bool, int]] = STAGES,
    blocks: Sequence[PaperFigure] = (),
) -> Study:
    """Put a study together: networks and stages with ``scratchpads``, roles by capacity.

    Figures of the rows are what ``blocks`` would be with blocks of other sizes.
    """
    options: dict[str, Any] = {"networks": networks, "stages": stages, "blocks": blocks}
    cases = {
        f"{network} {'T' if training else 'I'} batch {batch} {size} bytes": MemoryCase(
            network, training, batch, size, roles, assumed
        )
        for network, (training, batch) in product(networks, stages)
        for size, roles in scratchpads.items()
    }
    first = next(iter(cases.values()))
    again: Any = partial(memory_study, file, scratchpads, tables, draw, **options)
    return Study(
        file=file,
        cases=lambda: cases,
        work=scheduled,
        quick=replace(first, network="squeezenet", training=False, batch=1, readings=(SERIAL,)),
        tables=tables,
        draw=draw,
        figures=lambda: of_blocks(list(cases.values()), blocks) if blocks else {},
        assume=lambda settings: again(assumed=assumed.given(settings)),
    )


def scheduled(case: MemoryCase) -> list[Row]:
    """Schedule a workload, verified, and say what it takes of each scratchpad."""
    assumed, graph = case.assumed, case.graph()
    plain = replace(load_machine(assumed.machine), spm_bytes=case.spm_bytes)
    accessed = accesses(graph, assumed.tile)

    @cache
    def solved(machine: Machine, scheduler: str, objective: str) -> Result:
        goal = objective_named(objective, machine)
        request = Request(objective=goal, tolerance=1e-2, threads=1)
        return solve(lower(graph, machine, mapper="panel"), scheduler, request)

    rows: list[Row] = []
    for role, reading, is_best in product(case.roles, case.readings, (False, True)):
        technology = load_technology(getattr(assumed, role))
        pad, banks = technology.at(case.spm_bytes), assumed.banks if reading == BANKS else None
        machine = with_technology(plain, technology, banks=banks)
        scheduler, objective = assumed.policy, "time"
        if is_best:
            scheduler, objective = OPTIMAL, "traffic" if reading == SERIAL else "energy"
        # Without banks the technology changes no schedule but one of least energy.
        used = plain if banks is None and objective != "energy" else machine
        result = solved(used, scheduler, objective)
        totals = result.totals
        if totals is None:
            raise ValueError(f"{scheduler} found no schedule of {case.network}")
        found, unit = energy_report(totals, machine), objective_named(objective, machine)
        spent = {
            "time_s": found.time_s,
            "dram_s": 0.0,
            "read_bytes": totals.spm_read_bytes + totals.dram_out_bytes,
            "write_bytes": totals.spm_write_bytes + totals.dram_in_bytes,
            "dram_bytes": totals.traffic_bytes,
            **{name: getattr(found, name) for name in ENERGIES},
            "area_mm2": pad.point.area_mm2,
        }
        if reading == SERIAL:
            spent |= one_by_one(pad, accessed, totals.traffic_bytes, assumed)
        rows.append(
            {
                **case.about,
                "machine": assumed.machine,
                "spm_bytes": case.spm_bytes,
                "role": role,
                "technology": getattr(assumed, role),
                "reading": reading,
                **{name: getattr(assumed, name) for name in COUNTS},
                "objective": objective,
                "scheduler": scheduler,
                **spent,
                "status": str(result.status),
                **{
                    name: None if exact is None else in_unit(unit, machine, exact)[0]
                    for name, exact in (("value", result.value), ("bound", result.bound))
                },
                "verified": result.verified,
            }
        )
    return rows


def one_by_one(
    pad: ScratchpadFigures, accessed: tuple[int, int], dram_bytes: int, assumed: Assumptions
) -> dict[str, float]:
    """Count as DeepNVM++ does (section III-B): accesses in turn, each in whole cycles.

    ``n_r t_r + n_w t_w`` is the time, in which the cache leaks; what the DRAM adds is counted
    apart, and no leakage with it. This is what the paper's figures agree with; it does not say.
    ``accessed`` are bytes that are read and written.
    """
    reads, writes = (Fraction(size, pad.access_bytes) for size in accessed)
    read, write = (
        ceil(latency_ns * 1e-9 * assumed.clock_hz)
        for latency_ns in (pad.point.read_latency_ns, pad.point.write_latency_ns)
    )
    time_s = float((reads * read + writes * write) / assumed.clock_hz)
    waits = Fraction(dram_bytes, _DRAM_ACCESS_BYTES) * assumed.dram_cycles
    return {
        "time_s": time_s,
        "dram_s": float(waits / assumed.clock_hz),
        "read_bytes": accessed[0],
        "write_bytes": accessed[1],
        "spm_read_j": float(reads) * pad.point.read_energy_pj * 1e-12,
        "spm_write_j": float(writes) * pad.point.write_energy_pj * 1e-12,
        "leakage_j": pad.leakage_w * time_s,
    }


def accesses(graph: Graph, tile: int) -> tuple[int, int]:
    """Count bytes that a GPU reads and writes through its L2 cache, of all operators.

    A product of (m, k) by (k, n) is computed in blocks of ``tile`` rows and columns, each by a
    core that reads the rows and columns that it needs: the left matrix is read ``n / tile`` times
    (rounded up), the right one ``m / tile`` times, results are written once. A convolution reads
    its input as the matrix of its windows. What else there is reads its operands and writes its
    results once. Registers and shared memory hold a block; nothing is found in an L1 cache.
    """

    def total(values: Iterable[int]) -> int:
        return sum(graph.values[value].size_bytes for value in dict.fromkeys(values))

    read = written = 0
    for node in graph.nodes:
        spec = operators.lookup(node.operator)
        if spec.style is Style.VIEW:
            continue
        others = node.inputs
        if spec.gemm is not None:
            shapes = graph.shapes(node.inputs), graph.shapes(node.outputs)
            gemm = spec.gemm(*shapes, node.attributes)
            a, b = (graph.values[node.inputs[p[0]]].type for p in (gemm.a, gemm.b))
            read += a.bytes_of(gemm.batch * gemm.m * gemm.k) * -(-gemm.n // tile)
            read += b.bytes_of(gemm.batch * gemm.k * gemm.n) * -(-gemm.m // tile)
            factors = {node.inputs[place] for place in (*gemm.a, *gemm.b)}
            others = tuple(value for value in node.inputs if value not in factors)
        read += total(others)
        written += total(node.outputs)
    return read, written


def measures(rows: pd.DataFrame) -> pd.DataFrame:
    """Add what is compared: energies, delay with the DRAM, energy-delay products (EDP)."""
    dynamic = rows.spm_read_j + rows.spm_write_j
    energy, delay = dynamic + rows.leakage_j, rows.time_s + rows.get("dram_s", 0)
    more = rows.assign(dynamic=dynamic, energy=energy, delay=delay, edp=energy * rows.time_s)
    if "dram_j" not in rows:
        return more
    system = energy + rows.dram_j + rows.mac_j
    return more.assign(system=system, edp_dram=(energy + rows.dram_j) * delay)


def optimal(rows: pd.DataFrame, reading: str) -> pd.DataFrame:
    """Return rows of a reading with the optimal schedule."""
    return rows[(rows.reading == reading) & (rows.scheduler == OPTIMAL)]


def relative(
    rows: pd.DataFrame, role: str, column: str, base: str = "sram", by: Sequence[str] = WORKLOAD
) -> pd.Series:
    """Return of each workload what ``role`` takes over what ``base`` takes.

    Rows are of one reading and scheduler, and have one of each role and workload.
    """
    own, other = (rows[rows.role == each].set_index([*by])[column] for each in (role, base))
    return own / other.reindex(own.index)


def less(ratios: pd.Series) -> float:
    """Return how many times less: one over the mean of ratios, as charts against 1 show it."""
    return float(1 / ratios.mean())


def best(ratios: pd.Series) -> float:
    """Return how many times less where it is least."""
    return float(1 / ratios.min())


def more(ratios: pd.Series) -> float:
    """Return how many times as much, on average."""
    return float(ratios.mean())


def share(rows: pd.DataFrame, part: str, whole: str, role: str = "sram") -> float:
    """Return the part of one measure in another, mean of workloads."""
    own = rows[rows.role == role]
    return float((own[part] / own[whole]).mean())


LIMITS = (5, 10, 20)
"""Deviations that a figure is met within, in percent; :data:`POINTS` those of percentages."""
POINTS = (1, 2, 5)


@dataclass(frozen=True)
class PaperFigure:
    """A figure of a paper.

    Attributes
    ----------
    paper
        In percent if ``is_percent``, else a factor, of how many times less if ``is_less``; None
        where the paper has none: what is found stands by itself.
    found
        The same figure of rows of one reading and scheduler.
    is_input
        Whether it is what the rows were made with, so that it is met by itself.
    why
        What explains it where it is not met; without, it is not explained.
    """

    text: str
    paper: float | None
    found: Callable[[pd.DataFrame], float]
    is_percent: bool = False
    is_less: bool = False
    is_input: bool = False
    why: str = ""

    @property
    def counts(self) -> bool:
        """Whether it can be met or missed: a figure of the paper that nothing here is made of."""
        return self.paper is not None and not self.is_input

    def off(self, value: float) -> float:
        """Return the deviation from the paper, in points or as a part of one."""
        assert self.paper is not None
        return value - self.paper if self.is_percent else value / self.paper - 1

    def deviation(self, value: float) -> str:
        """Return the deviation from the paper."""
        if self.paper is None:
            return "-"
        off = self.off(value)
        return f"{signed(off)} points" if self.is_percent else f"{signed(100 * off)} %"

    def within(self, value: float) -> int | None:
        """Return the least of :data:`LIMITS` that the deviation is within; None if missed."""
        off, limits = abs(self.off(value)), POINTS if self.is_percent else LIMITS
        scale = 1 if self.is_percent else 100
        return next((limit for limit in limits if round(scale * off, 9) <= limit), None)

    def verdict(self, value: float) -> str:
        """Return whether it is met, and within what, or what explains that it is not."""
        if self.is_input or self.paper is None:
            return "input" if self.is_input else "-"
        limit = self.within(value)
        if limit is None:
            return f"missed: {self.why or 'not explained'}"
        unit = ("point" if limit == 1 else "points") if self.is_percent else "%"
        return f"met, within {limit} {unit}"

    def cell(self, value: float) -> str:
        """Return a figure, bold with its deviation from 5 points or 20 % on."""
        if self.paper is None:
            return f"{value:.1f}" if self.is_percent else f"{value:.2f}"
        if self.is_percent:
            return points(value, self.paper)
        is_more = self.is_less and round(1 / value, 2) > 1
        text = f"{1 / value:.2f} times more" if is_more else f"{value:.2f}"
        met = self.within(value) is not None
        return text if met else f"**{text}** ({signed(100 * self.off(value))} %)"


def both(
    text: str,
    paper: Sequence[float | None],
    found: Callable[[str, pd.DataFrame], float],
    **kind: Any,
) -> list[PaperFigure]:
    """Return the same figure of STT-MRAM and of SOT-MRAM; ``found`` is by role and rows."""
    return [
        PaperFigure(f"{TITLES[role]}: {text}", one, partial(found, role), **kind)
        for role, one in zip(RIVALS, paper, strict=True)
    ]


def factor(
    column: str, by: Callable[[pd.Series], float] = less
) -> Callable[[str, pd.DataFrame], float]:
    """Return what a factor against SRAM is found by: less, at best, or more."""
    return lambda role, rows: by(relative(rows, role, column))


def beside_paper(rows: pd.DataFrame, figures: Sequence[PaperFigure]) -> pd.DataFrame:
    """Tabulate figures of the paper by line, readings and schedulers by column, then verdicts.

    Deviation and verdict are of optimal schedules, counted as the paper counts.
    """
    titles = [f"{each.text} (input)" if each.is_input else each.text for each in figures]
    table = pd.DataFrame(index=pd.Index(titles, name="figure"))
    table["paper"] = [
        "-" if each.paper is None else f"{each.paper:.{1 if each.is_percent else 2}f}"
        for each in figures
    ]
    for (reading, scheduler), own in rows.groupby(["reading", "scheduler"], sort=False):
        table[f"{reading}: {scheduler}"] = [each.cell(each.found(own)) for each in figures]
    own = optimal(rows, SERIAL)
    table[f"deviation, {SERIAL}: {OPTIMAL}"] = [each.deviation(each.found(own)) for each in figures]
    table["verdict"] = [each.verdict(each.found(own)) for each in figures]
    return table


def missed(rows: pd.DataFrame, figures: Sequence[PaperFigure]) -> list[str]:
    """List figures that optimal schedules, counted as the paper counts, are too far from."""
    own, real = optimal(rows, SERIAL), [each for each in figures if each.counts]
    return [each.text for each in real if each.within(each.found(own)) is None]


TILES = (32, 64, 128, 256)


def of_blocks(cases: Sequence[MemoryCase], figures: Sequence[PaperFigure]) -> dict[str, float]:
    """Compute figures that no schedule enters, by size of the blocks of products and name."""
    graphs, found = [case.graph() for case in cases], dict[str, float]()
    for tile in TILES:
        rows: list[Row] = []
        for case, graph in zip(cases, graphs, strict=True):
            accessed = accesses(graph, tile)
            for role in case.roles:
                pad = load_technology(getattr(case.assumed, role)).at(case.spm_bytes)
                spent = one_by_one(pad, accessed, 0, case.assumed)
                rows.append({**case.about, "role": role, **spent})
        table = measures(pd.DataFrame(rows))
        found |= {f"{tile}: {each.text}": each.found(table) for each in figures}
    return found


def by_blocks(rows: pd.DataFrame, figures: Sequence[PaperFigure]) -> Tables:
    """Tabulate recorded figures of :func:`of_blocks`, if there are, sizes of blocks by column."""
    found: Mapping[str, float] = rows.attrs["figures"]
    table = pd.DataFrame(
        {
            "figure": [each.text for each in figures],
            "paper": [f"{each.paper:g}" for each in figures],
            **{
                str(tile): [each.cell(found[f"{tile}: {each.text}"]) for each in figures]
                for tile in TILES
                if found
            },
        }
    )
    title = "One by one, with blocks of products of other sizes (rows and columns)"
    return {title: table.set_index("figure")} if found else {}


MEASURES = {
    "dynamic": "dynamic",
    "leakage": "leakage_j",
    "energy": "energy",
    "EDP": "edp",
    "EDP with DRAM": "edp_dram",
    "energy with DRAM and arithmetic": "system",
}


def named(workload: tuple[str, bool, int]) -> str:
    """Name a workload ``vgg16 T``: I for inference, T for training, as in the paper."""
    return f"{workload[0]} {'T' if workload[1] else 'I'}"


def with_mean(
    found: Mapping[str, pd.Series], name: Callable[[tuple[str, bool, int]], str] = named
) -> pd.DataFrame:
    """Return workloads, the mean last."""
    table = pd.DataFrame(found).reindex(next(iter(found.values())).index)
    table.index = table.index.map(name)
    return pd.concat([table, table.mean().to_frame("mean").T])


def by_workload(
    ratios: Mapping[str, pd.Series], head: str = "workload (I: inference, T: training)"
) -> pd.DataFrame:
    """Tabulate ratios of each workload, and their means."""
    return texts(with_mean(ratios), "{:.3f}").rename_axis(head)


def workload_tables(rows: pd.DataFrame) -> Tables:
    """Tabulate every workload's measures over SRAM's, a table for each reading."""
    return {
        f"In terms of SRAM, {reading}, {OPTIMAL}": by_workload(
            {
                f"{title}: {TITLES[role]}": relative(optimal(rows, reading), role, column)
                for title, column in MEASURES.items()
                for role in RIVALS
            }
        )
        for reading in rows.reading.unique()
    }


def draw_workloads(rows: pd.DataFrame, measure: str) -> Figure:
    """Draw bars of one measure, a panel for each reading."""
    panels, rows = {}, measures(rows)
    for reading in READINGS:
        own = optimal(rows, reading)
        found = {TITLES[role]: relative(own, role, MEASURES[measure]) for role in RIVALS}
        panels[reading] = with_mean(found, lambda w: named((SHORT[w[0]], *w[1:])))
    return bar_panels(panels, f"{measure}, SRAM's = 1", 1.0)


SHORT = dict(zip(NETWORKS, ("Alex", "Goog", "VGG", "Res", "Sqz"), strict=True))
