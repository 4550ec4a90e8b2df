"""SoMa's ResNet-50 on its machine, fused and split by us.

SoMa (Cai et al., HPCA 2025) anneals fusion, fusion tiles and the time of every transfer for energy
times delay. Its network and its count of cycles are rebuilt here from its paper and its sources: a
product takes the fewest cycles of six ways to share out 4 x 4 units of 16 x 32 multipliers.
"""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from unittest.mock import patch

import spmopt
from results.peers.cases import Recorded, figures_of, keep, load, today
from results.shared.bench import BenchLine, Figures
from spmopt.core.fusion.fused_groups import FusedGroup
from spmopt.core.machine import Machine
from spmopt.frontends.zoo.layers import NetworkBuilder
from spmopt.graph.cycles import compute_cycles
from spmopt.graph.operators.spec import Gemm

MACHINE = Path(__file__).with_name("soma.toml")
OPERATORS = Path(__file__).with_name("soma_operators.toml")
BLOCKS = ((3, 64, 56), (4, 128, 28), (6, 256, 14), (3, 512, 7))  # how many, channels, width
UNITS, CHANNELS, FILTERS = 4, 16, 32  # units a side, multipliers of one
SEED = 849779186  # that of the example in its README
LIMIT_S = 60.0
FusionPlan = tuple[tuple[int, int, int], ...]
"""Fused groups: first operation, the one after the last, micro-batches."""


def network(batch: int) -> spmopt.Graph:
    """Build ResNet-50 as SoMa has it, within :func:`counted`.

    Rectifiers and normalization are no layers; sums count two operations an element.
    """
    net = NetworkBuilder("resnet50")
    x = net.conv("conv1", net.image(batch, 224), 64, 7, stride=2, pad=3)
    x = net.max_pool("pool1", x, 3, 2, pad=1)
    for stage, (blocks, width, _) in enumerate(BLOCKS, start=2):
        for block in range(blocks):
            name, stride = f"conv_{stage}_{block}", 2 if block == 0 and stage > 2 else 1
            inner = net.conv(f"{name}_a", x, width, 1, stride=stride)
            inner = net.conv(f"{name}_b", inner, width, 3, pad=1)
            inner = net.conv(f"{name}_c", inner, 4 * width, 1)
            if block == 0:
                x = net.conv(f"conv_{stage}_br", x, 4 * width, 1, stride=stride)
            x = net.layer("soma.Sum", f"{name}_res", x, inner)
    return net.finish([net.linear("fc", net.global_pool("pool5", x), 1000, bias=False)])


def product_cycles(channels: int, kernel: int, filters: int, box: tuple[int, int, int]) -> int:
    """Return the fewest cycles of a convolution with ``box`` images, rows and columns.

    The units of a side share out channels, images, rows or columns, the other side's the filters
    or columns; within a unit 16 channels of 32 filters are one cycle.
    """
    images, rows, columns = box
    least = []
    for along in ("ck", "cb", "bk", "cw", "hk", "hw"):
        shared = {name: UNITS if name in along else 1 for name in "ckbhw"}
        loops = (
            (channels, CHANNELS * shared["c"]),
            (filters, FILTERS * shared["k"]),
            (images, shared["b"]),
            (rows, shared["h"]),
            (columns, shared["w"]),
        )
        cycles = kernel * kernel
        for size, step in loops:
            cycles *= -(-size // step)
        least.append(cycles)
    return min(least)


def _layers() -> dict[tuple[int, int], tuple[int, int, int]]:
    """Return channels, kernel and width of the result of layers by the sizes k and n."""
    found, before = {(147, 64): (3, 7, 112), (2048, 1000): (2048, 1, 1)}, 64
    for _, width, side in BLOCKS:
        for inputs, kernel, filters in (
            *((before, 1, width), (before, 1, 4 * width), (4 * width, 1, width)),
            *((width, 3, width), (width, 1, 4 * width)),
        ):
            found[inputs * kernel * kernel, filters] = (inputs, kernel, side)
        before = 4 * width
    return found


_LAYERS = _layers()


def soma_cycles(
    machine: Machine, operations: int, gemm: Gemm | None, of_type: str | None = None
) -> int:
    """Return cycles as SoMa counts them, of layers and of their parts along any axis.

    A part that several layers may have counts as the one that takes longest.
    """
    if gemm is None:
        return compute_cycles(machine, operations, None, of_type)
    whole = _LAYERS.get((gemm.k, gemm.n))
    return max(
        _box_cycles(gemm, kernel, side)
        for (k, n), (_, kernel, side) in ([((gemm.k, gemm.n), whole)] if whole else _LAYERS.items())
        if k % gemm.k == 0 and n % gemm.n == 0 and gemm.k % kernel**2 == 0
    )


def _box_cycles(gemm: Gemm, kernel: int, side: int) -> int:
    """Return cycles of a product as images, rows and columns of a convolution."""
    images, rest = divmod(gemm.m, side * side)
    box = (1, gemm.m // side, side) if rest else (images, side, side)
    return product_cycles(gemm.k // kernel**2, kernel, gemm.n, box)


@contextmanager
def counted() -> Iterator[None]:
    """Lower, cut and verify with SoMa's count of cycles."""
    spmopt.register_operators(OPERATORS)
    with patch("spmopt.graph.lower.compute_cycles", soma_cycles):
        yield


def peer(batch: int, spm_mib: int, program: str | None) -> Figures:
    """Run SoMa, or return what was recorded."""
    name = f"soma-resnet50-{batch}-{spm_mib}"
    if program is None:
        return load(name).shown
    words = f"2 2 512 1 {spm_mib} {batch} 1 4 256 512 {SEED}"
    with TemporaryDirectory() as folder:
        for part in ("log", "enc", "json"):
            os.mkdir(Path(folder, part))
        done = subprocess.run(
            [program, *words.split(), folder], capture_output=True, text=True, check=False
        )
        files = [*Path(folder, "json").glob("*.json")]
        figures: dict[str, float | str] = {"ended": done.returncode}
        if files:
            document = json.loads(files[0].read_text(encoding="utf-8"))
            figures |= _figures(document)
    found = Recorded(
        version="SoMa 6e808366", command=f"soma {words}", date=today(), figures=figures
    )
    return keep(name, found).shown


def _figures(document: dict[str, Any]) -> dict[str, float | str]:
    """Return cycles of the schedule and of all computing; none where it found nothing."""
    total = document.get("Summary", {}).get("Total", {})
    if not total:
        status = document.get("Status") or document.get("Error") or "no result"
        return {"status": str(status)}
    return {"figure": total["time"], "computing": document["Results"][0]["arch_time"]}


def ours(
    batch: int, spm_mib: int, fusion_space: str, fusion_plan: FusionPlan | None = None
) -> Figures:
    """Fuse, split and schedule the same network, or take a fusion plan by hand."""
    with counted():
        machine = spmopt.machine(MACHINE, spm=f"{spm_mib}MiB")
        problem = spmopt.lower(spmopt.load(network(batch), dtype="int8"), machine, mapper="tiled")
        if fusion_plan is None:
            return figures_of(spmopt.solve(problem, fusion=fusion_space, time_limit=LIMIT_S))
        fused_groups = [FusedGroup(begin=a, end=b, micro_batches=k) for a, b, k in fusion_plan]
        return figures_of(
            spmopt.solve(problem, "residency", fusion_plan=fused_groups, time_limit=LIMIT_S)
        )


def by_hand() -> FusionPlan:
    """Return a fusion plan of ResNet-50 at batch 4.

    Images up to stage 3, sums of stage 4 with theirs. Where a block's last product and the sum with
    its input take the batch in fusion tiles, no more than two feature maps are on chip at once,
    which leaves room to load weights of stage 5 ahead.
    """
    found, at = [(0, 32, 4)], 32
    for begin, end in ((34, 37), *((begin, begin + 2) for begin in range(39, 56, 4))):
        found += [(at, begin, 1), (begin, end, 4)]
        at = end
    return (*found, (at, 72, 1))


def lines(program: str | None) -> list[BenchLine]:
    """List batches and scratchpads, each with ways to find a fusion plan; SoMa is asked once."""
    found = []
    for batch, spm_mib in ((1, 8), (4, 8), (1, 2), (4, 2)):
        ways: list[tuple[str, str, FusionPlan | None]] = [("all", "fusion tiles and stripes", None)]
        if batch > 1:
            ways.insert(0, ("batch", "micro-batches", None))
        if (batch, spm_mib) == (4, 8):
            ways.append(("all", "our cover made by hand", by_hand()))
        for number, (fusion_space, counted_as, fusion_plan) in enumerate(ways):
            parts = {"peer": partial(peer, batch, spm_mib, None if number else program)}
            parts[""] = partial(ours, batch, spm_mib, fusion_space, fusion_plan)
            of = f"ResNet-50, batch {batch}, {spm_mib} MiB"
            found.append(BenchLine(("SoMa", of, counted_as), parts))
    return found
