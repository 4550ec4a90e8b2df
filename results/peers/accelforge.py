"""AccelForge's layer of LLaMA-3 8B: bytes to and from DRAM, and its cycles of Einsums.

AccelForge finds the best mapping of a cascade of Einsums, with fusion, for buffers that the mapping
fills. It has no norms, rotary positions or residual connections, masks nothing, and computes a
softmax element by element; copies and views there are no operations here.

On ``snowcat``, DRAM and one buffer, it minimizes accesses of DRAM. So do we, with fusion, in a
scratchpad of the same size, in pages of 64 bytes and at addresses. On ``tpu_v4i`` it minimizes
latency: the sum over Einsums of the longest of computing, DRAM and each buffer. There our
operations take as long as its Einsums take without DRAM, and we decide residency and prefetch.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import spmopt
from results.peers.cases import ASK, Recorded, ask, figures_of, keep, load, today
from results.shared.bench import BenchLine, Figures
from spmopt.core.costs import OperationCost, with_costs
from spmopt.core.errors import InputError
from spmopt.core.problem import Problem
from spmopt.frontends.zoo.layers import NetworkBuilder

HIDDEN, INNER, GROUPS, EACH, WIDTH = 4096, 14336, 8, 4, 128
"""Sizes of LLaMA-3 8B: key and value heads, query heads of each, and their width."""
PARTS = {"QK": "attention", "QK_softmax": "attention", "AV": "attention"}
"""Einsums that are one operation here."""
CLOCK_HZ = 1.05e9  # of tpu_v4i
LIMIT_S = 60.0


@dataclass(frozen=True)
class Case:
    """A prompt on a machine, and how many loops Einsums may share."""

    machine: str
    tokens: int
    mib: str  # of the global buffer; ``own``: as its file says
    loops: str = "1"  # as in its tutorial; ``any``: no limit

    @property
    def name(self) -> str:
        """Of its record."""
        return f"accelforge-{self.machine}-{self.tokens}-{self.mib}-{self.loops}"

    @property
    def title(self) -> str:
        """What is mapped, and where."""
        size = "" if self.mib == "own" else f", {self.mib} MiB"
        return f"LLaMA-3 8B, one layer, {self.tokens:,} tokens, {self.machine}{size}"

    @property
    def counted(self) -> str:
        """Figure that is counted, and loops that its mapper may share."""
        counted = "bytes of DRAM" if self.machine == "snowcat" else "cycles"
        return f"{counted}, {'one fused loop' if self.loops == '1' else 'any fused loops'}"


CASES = (
    *(Case("snowcat", 1024, mib) for mib in ("4", "8", "16", "32")),
    *(Case("snowcat", 1024, mib, "any") for mib in ("4", "8")),
    Case("tpu_v4i", 128, "own"),
)


def network(tokens: int) -> spmopt.Graph:
    """Build the layer as AccelForge has it; operations have the names of its Einsums."""
    net = NetworkBuilder("llama3_8B", element_type="bf16")
    x, inner = net.input("I", (tokens, HIDDEN)), (1, tokens, GROUPS, WIDTH)
    query, key, value = (
        net.linear(name, x, width, bias=False)
        for name, width in (("Q", HIDDEN), ("K", GROUPS * WIDTH), ("V", GROUPS * WIDTH))
    )
    # Queries of a group, of all tokens, are the rows of one product.
    split, rows = (1, tokens, GROUPS, EACH, WIDTH), (1, GROUPS, tokens * EACH, WIDTH)
    query = net.stride("Q.groups", query, split, (0, 2, 1, 3, 4), rows)
    key = net.stride("K.groups", key, inner, (0, 2, 3, 1))
    value = net.stride("V.groups", value, inner, (0, 2, 1, 3))
    scores = net.layer("MatMul", "QK", query, key)
    x = net.layer("MatMul", "AV", net.layer("Softmax", "QK_softmax", scores, axis=-1), value)
    split = (1, GROUPS, tokens, EACH, WIDTH)
    x = net.stride("AV.joined", x, split, (0, 2, 1, 3, 4), (tokens, HIDDEN))
    x = net.linear("Z", x, HIDDEN, bias=False)
    gate, up = (net.linear(name, x, INNER, bias=False) for name in ("FFG", "FFU"))
    return net.finish([net.linear("FFB", net.layer("Mul", "FFH", gate, up), HIDDEN, bias=False)])


def problem(case: Case, mapper: str = "choose") -> Problem:
    """Lower the layer; the machine has the size of the buffer, bandwidth and rate of tpu_v4i."""
    size = None if case.mib == "own" else f"{case.mib}MiB"
    machine = spmopt.machine("tpuv4i", spm=size, page="64B")
    return spmopt.lower(spmopt.load(network(case.tokens)), machine, mapper=mapper)


def peer(case: Case, python: str | None, sources: str | None) -> Figures:
    """Ask AccelForge, or return its recorded answer."""
    if python is None:
        return load(case.name).shown
    if sources is None:
        raise InputError("--peer: accelforge needs accelforge-sources=FOLDER, a checkout of it")
    options = [case.machine, str(case.tokens), case.mib, case.loops]
    answer = ask([python, str(ASK / "ask_accelforge.py"), sources, *options])
    figure = answer["traffic_bytes"]
    if case.machine != "snowcat":
        figure = answer["latency_s"] * CLOCK_HZ
    found = Recorded(
        version=answer.pop("version"),
        command=" ".join(["ask/ask_accelforge.py SOURCES", *options]),
        date=today(),
        layers=answer.pop("layers"),
        figures={"figure": figure, **answer},
    )
    return keep(case.name, found).shown


def costed(case: Case) -> Problem:
    """Return the problem at the times of AccelForge's Einsums without DRAM."""
    found, cycles = load(case.name), dict[str, float]()
    for name, layer in found.layers.items():
        whole = PARTS.get(name, name)
        cycles[whole] = cycles.get(whole, 0.0) + layer["on_chip_s"] * CLOCK_HZ
    cycles.pop("I")  # a copy
    costs = {name: [OperationCost(cycles=round(value))] for name, value in cycles.items()}
    return with_costs(problem(case, "tiled"), costs, found.version)[0]


def ours(case: Case) -> Figures:
    """Schedule the layer: for the least traffic, with fusion, or at AccelForge's cycles."""
    if case.machine != "snowcat":
        return figures_of(spmopt.solve(costed(case), "residency", time_limit=LIMIT_S))
    found = spmopt.solve(
        problem(case), "fusion", fusion="all", objective="traffic", time_limit=LIMIT_S
    )
    return figures_of(found)


def lines(python: str | None, sources: str | None) -> list[BenchLine]:
    """List prompts and machines; AccelForge is asked once for each."""
    found = []
    for case in CASES:
        parts = {"peer": partial(peer, case, python, sources), "": partial(ours, case)}
        found.append(BenchLine(("AccelForge", case.title, case.counted), parts))
    return found
