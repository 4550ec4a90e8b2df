"""SCALE-Sim's topologies on its machine: layers one after another, each from DRAM to DRAM.

SCALE-Sim loads a layer's operands ahead of it, then counts its cycles and stalls with double
buffers of its own for each operand; nothing stays on chip from a layer to the next, and none is
loaded ahead of the one before. Here the same layers, none of which reads what another wrote,
share one scratchpad of the size of its three, and one channel of their three interfaces.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

import spmopt
from results.peers.cases import ASK, Recorded, ask, figures_of, keep, load, today
from results.shared.bench import BenchLine, Figures
from results.shared.page import ROOT
from spmopt.core.problem import Problem
from spmopt.frontends.zoo.layers import NetworkBuilder

OWN = ROOT / "instances" / "scalesim"


@dataclass(frozen=True)
class Config:
    """Array, SRAMs of input, filter and result in KiB, words a cycle of each."""

    name: str
    rows: int
    columns: int
    sram_kib: tuple[int, int, int]
    words: int
    dataflow: str

    def text(self) -> str:
        """Return the configuration as SCALE-Sim reads it."""
        inputs, filters, results = self.sram_kib
        return _CONFIG.format(self=self, inputs=inputs, filters=filters, results=results)

    def machine(self) -> spmopt.Machine:
        """Return the machine that it describes here, at 1 GHz."""
        array = f'{{ rows = {self.rows}, columns = {self.columns}, dataflow = "{self.dataflow}" }}'
        settings = (
            f'name = "SCALE-Sim, {self.name}"',
            f'spm = "{sum(self.sram_kib)}KiB"',
            f'bandwidth = "{3 * self.words}GB/s"',
            'clock = "1GHz"',
            f"array = {array}",
        )
        with TemporaryDirectory() as folder:
            path = Path(folder, "machine.toml")
            path.write_text("\n".join(settings), encoding="utf-8")
            return spmopt.machine(path)


_CONFIG = """[general]
run_name = run

[architecture_presets]
ArrayHeight = {self.rows}
ArrayWidth = {self.columns}
IfmapSramSzkB = {inputs}
FilterSramSzkB = {filters}
OfmapSramSzkB = {results}
IfmapOffset = 0
FilterOffset = 10000000
OfmapOffset = 20000000
Bandwidth = {self.words}
Dataflow = {self.dataflow}
ReadRequestBuffer = 32
WriteRequestBuffer = 32

[layout]
IfmapCustomLayout = False
FilterCustomLayout = False
IfmapSRAMBankBandwidth = 10
IfmapSRAMBankNum = 10
IfmapSRAMBankPort = 2
FilterSRAMBankBandwidth = 10
FilterSRAMBankNum = 10
FilterSRAMBankPort = 2

[sparsity]
SparsitySupport = false
SparseRep = ellpack_block
OptimizedMapping = false
BlockSize = 8
RandomNumberGeneratorSeed = 40

[run_presets]
InterfaceBandwidth = USER
UseRamulatorTrace = False
"""
SMALL = Config("32 x 32", 32, 32, (64, 64, 64), 10, "ws")
CASES = (
    ("LeNet-5", "lenet5.csv", 5),
    ("encoder of BERT-tiny", "encoder.csv", 6),
    ("first 7 of 27 layers of MobileNet", "mobilenet.csv", 7),
    ("first 4 of 10 layers of DLRM", "DLRM.csv", 4),
)
"""Network, topology, how many of its first layers."""


def problem(topology: Path, config: Config, count: int) -> Problem:
    """Lower ``count`` layers that share nothing, of 8 bits an element."""
    net, results = NetworkBuilder(topology.stem), []
    header, *rows = topology.read_text(encoding="utf-8").splitlines()
    rows = [row for row in rows if row.strip(" ,")][:count]
    for number, row in enumerate(rows):
        name, *cells = (cell.strip() for cell in row.split(","))
        sizes = [int(cell) for cell in cells if cell]
        add = _convolution if "IFMAP" in header else _product
        results.append(add(net, f"{name}.{number}", sizes))
    workload = spmopt.load(net.finish(results), dtype="int8")
    return spmopt.lower(workload, config.machine(), mapper="tiled")


def _convolution(net: NetworkBuilder, name: str, sizes: list[int]) -> int:
    height, width, rows, columns, channels, filters, *strides = sizes
    down, right = strides[0], strides[-1]
    # A window that the stride leaves only partly inside counts as a whole one.
    below, beside = (-(height - rows) % down, -(width - columns) % right)
    x = net.input(f"{name}.x", (1, channels, height, width))
    weight = net.weight(f"{name}.weight", (filters, channels, rows, columns))
    shape = {"kernel_shape": (rows, columns), "strides": (down, right)}
    return net.layer("Conv", name, x, weight, **shape, pads=(0, 0, below, beside))


def _product(net: NetworkBuilder, name: str, sizes: list[int]) -> int:
    m, n, k = sizes
    return net.linear(name, net.input(f"{name}.x", (m, k)), n, bias=False)


def peer(file: str, count: int, python: str | None) -> Figures:
    """Run SCALE-Sim, or return what was recorded."""
    name = f"scalesim-{Path(file).stem}"
    if python is None:
        return load(name).shown
    topology = OWN / file
    gemm = ["gemm"] * ("IFMAP" not in topology.read_text(encoding="utf-8").splitlines()[0])
    with TemporaryDirectory() as scratch:
        path = Path(scratch, "machine.cfg")
        path.write_text(SMALL.text(), encoding="utf-8")
        words = [str(ASK / "ask_scalesim.py"), str(topology), str(path), scratch, str(count)]
        answer = ask([python, *words, *gemm])
    layers = answer.pop("layers")
    found = Recorded(
        version=answer.pop("version"),
        command=" ".join(["ask/ask_scalesim.py", file, SMALL.name, str(count), *gemm]),
        date=today(),
        figures=answer,
        layers=layers,
        problems={"": problem(topology, SMALL, count)},
    )
    return keep(name, found).shown


def traffic(file: str) -> Figures:
    """Return what was recorded, with bytes over the DRAM boundary for the figure."""
    found = load(f"scalesim-{Path(file).stem}")
    shown = {k: v for k, v in found.shown.items() if k != "alone"}
    return {**shown, "figure": found.figures["traffic_bytes"]}


def ours(file: str, objective: str) -> Figures:
    """Schedule the recorded layers."""
    found = load(f"scalesim-{Path(file).stem}")
    return figures_of(spmopt.solve(found.problems[""], scheduler="residency", objective=objective))


def lines(python: str | None) -> list[BenchLine]:
    """List topologies, each by cycles and by bytes; SCALE-Sim is asked once."""
    found = []
    for network, file, count in CASES:
        of = f"{network}, {SMALL.name}"
        parts = {"peer": partial(peer, file, count, python), "": partial(ours, file, "time")}
        found.append(BenchLine(("SCALE-Sim", of, "each layer by itself"), parts))
        parts = {"peer": partial(traffic, file), "": partial(ours, file, "traffic")}
        found.append(BenchLine(("SCALE-Sim", of, "bytes to and from DRAM"), parts))
    return found
