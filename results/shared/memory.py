"""What the studies of memory technologies share: DeepNVM++ (Inci et al.), Roy et al.

Rows are workloads on scratchpads of the same or other technologies, in three readings: one by one,
as DeepNVM++ counts; in the time of the schedule, whatever the technology; with banks.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from fractions import Fraction
from functools import partial
from math import ceil
from typing import Any

import pandas as pd
from matplotlib.figure import Figure

from results.shared.common import Row, Study, Table, signed
from results.shared.plots import bar_panels
from spmopt.core.errors import InputError
from spmopt.core.objective import objective_named
from spmopt.core.result import Result
from spmopt.core.scheduler import Request
from spmopt.core.units import Dimension, parse_quantity
from spmopt.frontends.networks import load_network
from spmopt.graph import operators
from spmopt.graph.ir import Graph
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
OPTIMAL = "page"
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


@dataclass(frozen=True, kw_only=True)
class Workload:
    """A network at a batch size, and scratchpads of one capacity of technologies, by role."""

    network: str
    training: bool
    batch: int
    spm_bytes: int
    roles: Sequence[str]
    assumed: Assumptions
    readings: Sequence[str] = READINGS

    def graph(self) -> Graph:
        """Build the network."""
        return load_network(self.network, batch=self.batch, training=self.training)


def memory_study(
    file: str,
    assumed: Assumptions,
    scratchpads: Mapping[int, Sequence[str]],
    tables: Callable[[pd.DataFrame, Mapping[str, float]], Iterable[Table]],
    draw: Callable[[pd.DataFrame, Mapping[str, float]], Figure],
    *,
    networks: Sequence[str] = NETWORKS,
    stages: Sequence[tuple[bool, int]] = STAGES,
    blocks: Sequence[Claim] = (),
) -> Study:
    """Put a study together: networks and stages with ``scratchpads``, roles by capacity.

    Figures of the rows are what ``blocks`` would be with blocks of other sizes.
    """
    names: dict[str, Any] = {"networks": networks, "stages": stages, "blocks": blocks}
    workloads = {
        f"{network} {'T' if training else 'I'} batch {batch} {size} bytes": Workload(
            network=network,
            training=training,
            batch=batch,
            spm_bytes=size,
            roles=roles,
            assumed=assumed,
        )
        for network in networks
        for training, batch in stages
        for size, roles in scratchpads.items()
    }
    first = next(iter(workloads.values()))
    return Study(
        file=file,
        cases=lambda: workloads,
        work=scheduled,
        quick=replace(first, network="squeezenet", training=False, batch=1, readings=(SERIAL,)),
        tables=tables,
        draw=draw,
        figures=lambda: of_blocks(list(workloads.values()), blocks, assumed) if blocks else {},
        assume=lambda settings: memory_study(
            file, assumed.given(settings), scratchpads, tables, draw, **names
        ),
    )


def scheduled(workload: Workload) -> list[Row]:
    """Schedule a workload, verified, and say what it takes of each scratchpad."""
    assumed, graph = workload.assumed, workload.graph()
    plain = replace(load_machine(assumed.machine), spm_bytes=workload.spm_bytes)
    accessed, results = accesses(graph, assumed.tile), dict[Any, Result]()
    rows: list[Row] = []
    for role in workload.roles:
        technology = load_technology(getattr(assumed, role))
        pad = technology.at(workload.spm_bytes)
        for reading in workload.readings:
            banks = assumed.banks if reading == BANKS else None
            machine = with_technology(plain, technology, banks=banks)
            best = "traffic" if reading == SERIAL else "energy"
            for scheduler, objective in ((assumed.policy, "time"), (OPTIMAL, best)):
                # Without banks the technology changes no schedule but one of least energy.
                used = plain if banks is None and objective != "energy" else machine
                key = used, scheduler, objective
                if key not in results:
                    goal = objective_named(objective, used)
                    request = Request(objective=goal, tolerance=1e-2, threads=1)
                    results[key] = solve(lower(graph, used), scheduler, request)
                result = results[key]
                if result.totals is None:
                    raise ValueError(f"{scheduler} found no schedule of {workload.network}")
                found, totals = energy_report(result.totals, machine), result.totals
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
                unit = objective_named(objective, machine)
                value, bound = (
                    None if exact is None else in_unit(unit, machine, exact)[0]
                    for exact in (result.value, result.bound)
                )
                about = {
                    **{name: getattr(workload, name) for name in WORKLOAD},
                    "machine": assumed.machine,
                    "spm_bytes": workload.spm_bytes,
                    "role": role,
                    "technology": getattr(assumed, role),
                    "reading": reading,
                    **{name: getattr(assumed, name) for name in COUNTS},
                    "objective": objective,
                    "scheduler": scheduler,
                }
                proved = {"status": str(result.status), "value": value, "bound": bound}
                rows.append({**about, **spent, **proved, "verified": result.verified})
    return rows


def one_by_one(
    pad: ScratchpadFigures, accessed: tuple[int, int], dram_bytes: int, assumed: Assumptions
) -> dict[str, float]:
    """As DeepNVM++ counts (section III-B): accesses one after another, each in whole cycles.

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
    """Bytes that a GPU reads and writes through its L2 cache, of all operators.

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
            a, b = (graph.values[node.inputs[p[0]]].element_bytes for p in (gemm.a, gemm.b))
            read += gemm.batch * gemm.m * gemm.k * a * -(-gemm.n // tile)
            read += gemm.batch * gemm.k * gemm.n * b * -(-gemm.m // tile)
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
    """Rows of a reading with the optimal schedule."""
    return rows[(rows.reading == reading) & (rows.scheduler == OPTIMAL)]


def relative(
    rows: pd.DataFrame, role: str, column: str, base: str = "sram", by: Sequence[str] = WORKLOAD
) -> pd.Series:
    """Of each workload what ``role`` takes over what ``base`` takes.

    Rows are of one reading and scheduler, and have one of each role and workload.
    """
    own, other = (rows[rows.role == each].set_index([*by])[column] for each in (role, base))
    return own / other.reindex(own.index)


def less(ratios: pd.Series) -> float:
    """How many times less: one over the mean of what is left, as charts against 1 show it."""
    return float(1 / ratios.mean())


def best(ratios: pd.Series) -> float:
    """How many times less where it is least."""
    return float(1 / ratios.min())


def more(ratios: pd.Series) -> float:
    """How many times as much, on average."""
    return float(ratios.mean())


def share(rows: pd.DataFrame, part: str, whole: str, role: str = "sram") -> float:
    """Part of one measure in another, mean of workloads."""
    own = rows[rows.role == role]
    return float((own[part] / own[whole]).mean())


@dataclass(frozen=True, kw_only=True)
class Claim:
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
    """

    text: str
    paper: float | None
    found: Callable[[pd.DataFrame], float]
    is_percent: bool = False
    is_less: bool = False
    is_input: bool = False

    def cell(self, value: float) -> str:
        """Return a figure, bold with its deviation from 5 points or 20 % on."""
        if self.paper is None:
            return f"{value:.1f}" if self.is_percent else f"{value:.2f}"
        if self.is_percent:
            text, off = f"{value:.1f}", value - self.paper
            return text if abs(off) <= 5 else f"**{text}** ({signed(off)})"
        off = value / self.paper - 1
        is_more = self.is_less and round(1 / value, 2) > 1
        text = f"{1 / value:.2f} times more" if is_more else f"{value:.2f}"
        return text if abs(off) <= 0.2 else f"**{text}** ({signed(100 * off)} %)"


def both(
    text: str,
    paper: Sequence[float | None],
    found: Callable[[str, pd.DataFrame], float],
    **kind: bool,
) -> list[Claim]:
    """Claim the same of STT-MRAM and of SOT-MRAM; ``found`` is by role and rows."""
    return [
        Claim(text=f"{TITLES[role]}: {text}", paper=figure, found=partial(found, role), **kind)
        for role, figure in zip(RIVALS, paper, strict=True)
    ]


def factor(
    column: str, by: Callable[[pd.Series], float] = less
) -> Callable[[str, pd.DataFrame], float]:
    """Return what a factor against SRAM is found by: less, at best, or more."""
    return lambda role, rows: by(relative(rows, role, column))


def columns(rows: pd.DataFrame) -> list[tuple[str, str]]:
    """Readings and schedulers of rows, the paper's reading first, the optimal schedule last."""
    found = {(row.reading, row.scheduler) for row in rows.itertuples()}
    return sorted(found, key=lambda each: (READINGS.index(each[0]), each[1] == OPTIMAL))


def claimed(rows: pd.DataFrame, claims: Sequence[Claim]) -> Table:
    """Tabulate claims by line, readings and schedulers by column."""
    shown = columns(rows)
    some = [rows[(rows.reading == r) & (rows.scheduler == s)] for r, s in shown]
    lines = []
    for claim in claims:
        paper = "-" if claim.paper is None else f"{claim.paper:.{1 if claim.is_percent else 2}f}"
        title = f"{claim.text} (input)" if claim.is_input else claim.text
        lines.append([title, paper, *(claim.cell(claim.found(own)) for own in some)])
    heads = ["figure", "paper", *(f"{reading}: {scheduler}" for reading, scheduler in shown)]
    return Table(title="Figures of the paper", heads=heads, lines=lines)


def missed(rows: pd.DataFrame, claims: Sequence[Claim]) -> list[str]:
    """Claims that optimal schedules, counted as the paper counts, are too far from."""
    own, real = optimal(rows, SERIAL), [c for c in claims if c.paper and not c.is_input]
    return [claim.text for claim in real if claim.cell(claim.found(own)).startswith("**")]


TILES = (32, 64, 128, 256)


def of_blocks(
    workloads: Sequence[Workload], claims: Sequence[Claim], assumed: Assumptions
) -> dict[str, float]:
    """What claims that no schedule enters are, by size of the blocks of products and claim."""
    graphs = [(workload, workload.graph()) for workload in workloads]
    found: dict[str, float] = {}
    for tile in TILES:
        rows: list[Row] = []
        for workload, graph in graphs:
            accessed = accesses(graph, tile)
            for role in workload.roles:
                pad = load_technology(getattr(assumed, role)).at(workload.spm_bytes)
                about = {name: getattr(workload, name) for name in WORKLOAD}
                rows.append({**about, "role": role, **one_by_one(pad, accessed, 0, assumed)})
        table = measures(pd.DataFrame(rows))
        found |= {f"{tile}: {claim.text}": claim.found(table) for claim in claims}
    return found


def by_blocks(found: Mapping[str, float], claims: Sequence[Claim]) -> Table:
    """Tabulate claims by line, sizes of blocks by column."""
    lines = [
        [claim.text, f"{claim.paper:g}"]
        + [claim.cell(found[f"{tile}: {claim.text}"]) for tile in TILES]
        for claim in claims
    ]
    title = "One by one, with blocks of products of other sizes (rows and columns)"
    return Table(title=title, heads=["figure", "paper", *map(str, TILES)], lines=lines)


MEASURES = {
    "dynamic": "dynamic",
    "leakage": "leakage_j",
    "energy": "energy",
    "EDP": "edp",
    "EDP with DRAM": "edp_dram",
    "energy with DRAM and arithmetic": "system",
}


def named(workload: tuple[str, bool, int]) -> str:
    """As ``vgg16 T``: I for inference, T for training, as the paper's charts have it."""
    return f"{workload[0]} {'T' if workload[1] else 'I'}"


def by_workload(ratios: Mapping[str, pd.Series], title: str, head: str) -> Table:
    """Tabulate ratios of each workload, and their means."""
    first = next(iter(ratios.values()))
    lines = [[named(w), *(f"{of[w]:.3f}" for of in ratios.values())] for w in first.index]
    lines.append(["mean", *(f"{of.mean():.3f}" for of in ratios.values())])
    return Table(title=title, heads=[head, *ratios], lines=lines)


def workload_tables(rows: pd.DataFrame) -> list[Table]:
    """Tabulate every workload's measures over SRAM's, a table for each reading."""
    return [
        by_workload(
            {
                f"{title}: {TITLES[role]}": relative(own, role, column)
                for title, column in MEASURES.items()
                for role in RIVALS
            },
            f"In terms of SRAM, {reading}, {OPTIMAL}",
            "workload (I: inference, T: training)",
        )
        for reading in rows.reading.unique()
        for own in [optimal(rows, reading)]
    ]


def draw_workloads(rows: pd.DataFrame, measure: str, title: str, sizes: str) -> Figure:
    """Draw bars of one measure, a panel for each reading."""
    panels = {}
    for reading in READINGS:
        own = optimal(rows, reading)
        found = {TITLES[role]: relative(own, role, MEASURES[measure]) for role in RIVALS}
        panels[reading] = with_mean(found, lambda workload: _short(named(workload)))
    heading = (
        f"{title}\nAlexNet, GoogLeNet, VGG-16, ResNet-18 and SqueezeNet, inference with batch 4 "
        f"and training with batch 64\n{sizes}; GTX 1080 Ti; optimal schedules; I: inference, T: "
        f"training\n{UNDER_ONE}\n{READINGS_SHOWN}"
    )
    return bar_panels(heading, panels, f"{measure}, SRAM's = 1", 1.0)


def with_mean(
    found: Mapping[str, pd.Series], name: Callable[[tuple[str, bool, int]], str]
) -> pd.DataFrame:
    """Return groups of workloads, the mean last."""
    table = pd.DataFrame({label: [*of, of.mean()] for label, of in found.items()})
    workloads = next(iter(found.values())).index
    return table.set_axis([*map(name, workloads), "mean"])


def _short(name: str) -> str:
    short = {"alexnet": "Alex", "googlenet": "Goog", "vgg16": "VGG", "resnet18": "Res"}
    network, stage = name.split()
    return f"{short.get(network, 'Sqz')} {stage}"


READINGS_SHOWN = (
    "one by one: accesses one after another, as the paper counts; equal time: in the schedule's "
    "time, whatever the technology;\nbanks: latencies hold back engine and DMA channel"
)
UNDER_ONE = "below 1 the MRAM takes less than SRAM, above 1 more"
OVER_ONE = "above 1 the MRAM takes less than SRAM, below 1 more"
